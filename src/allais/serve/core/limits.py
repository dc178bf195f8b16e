"""How often somebody may call, how much work is under way at a time, and the clock by which decisions expire."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from allais.serve.core.errors import Refused

Result = TypeVar("Result")
PAUSE = 2  # seconds after which a caller who was too many should ask again
MOST = 10_000  # callers that a rate limit remembers
BOOT: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # it goes on while a machine sleeps; Linux has it


class RateLimit:
    """A token bucket for each caller: so many calls in so many seconds, all of them at once if need be."""

    def __init__(self, calls: float, seconds: float, rule: str) -> None:
        """`rule` is the sentence of a refusal; {:g} in it is the number of calls."""
        self._most, self._per_second, self._rule = max(calls, 1.0), calls / seconds, rule.format(calls)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # calls that are left, and when

    def take(self, caller: str) -> None:
        """Count one call, or refuse it."""
        now = time.monotonic()
        left, then = self._left.get(caller, (self._most, now))
        left = min(self._most, left + (now - then) * self._per_second)
        allowed = left >= 1.0
        self._left[caller] = (left - 1.0 if allowed else left, now)
        self._left.move_to_end(caller)
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        if not allowed:
            raise Refused(429, self._rule, math.ceil((1.0 - left) / self._per_second))

    def charge(self, caller: str, calls: int) -> None:
        """Count further calls that came in one which was taken: whoever sends too many waits the longer."""
        left, then = self._left[caller]
        self._left[caller] = (left - calls, then)


class Pool:
    """Threads for one kind of work, so that no kind keeps another waiting; and how many calls may be under way."""

    def __init__(self, what: str, threads: int, most: int = sys.maxsize) -> None:
        self.what, self.most = what, most
        self.under_way = 0
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"allais-{what.replace(' ', '-')}")

    @contextmanager
    def place(self, most: int | None = None) -> Iterator[None]:
        """Within: one of the calls that are under way; refused where there are as many as there may be."""
        most = self.most if most is None else most
        if self.under_way >= most:
            raise Refused(
                503, f"{most} {self.what} may be under way at a time; there are as many. Repeat the call in a moment.",
                retry_after=PAUSE,
            )  # fmt: skip
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    async def run(self, work: Callable[[], Result]) -> Result:
        """What a function returns, called by one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def steady() -> float:
    """Seconds since some moment that is the same for the whole process."""
    return time.monotonic() if BOOT is None else time.clock_gettime(BOOT)


class Clock:
    """The clock of one experiment, in seconds: it neither jumps nor goes back, whatever the machine's clock does.

    Within a process it goes by the time that has passed. It begins at the time of day, less what that was ahead of this
    clock at the last decision on disk: a jump that was lived through is not caught up with after a restart. It never
    begins before that decision, so that decisions are in the order of their numbers.
    """

    def __init__(self, last: tuple[float, float] | None = None) -> None:
        """`last`: when the last decision was asked, by the time of day and by this clock."""
        now, began = time.time(), -float("inf")
        if last is not None:
            now, began = now - (last[0] - last[1]), last[1]
        self._ahead = max(now, began) - steady()

    def now(self) -> float:
        """What it shows."""
        return steady() + self._ahead
