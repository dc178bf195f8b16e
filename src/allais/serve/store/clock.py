"""The clock by which decisions expire: it neither jumps nor goes back, whatever happens to that of the machine."""

from __future__ import annotations

import time

BOOT: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # it goes on while a machine sleeps; Linux has it


def steady() -> float:
    """Seconds since some moment that is the same for the whole process."""
    return time.monotonic() if BOOT is None else time.clock_gettime(BOOT)


class Clock:
    """The clock of one experiment, in seconds.

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
