"""Threads for one kind of work, so that no kind keeps another from its turn."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from allais.serve.core.errors import Refused

Result = TypeVar("Result")
PAUSE = 2  # seconds after which a caller who was too many should ask again


class Pool:
    """So many threads, and so many calls that may be under way, or wait for one of them."""

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
