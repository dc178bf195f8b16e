"""An external program under way: with everything that it starts, it ends when its run does."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import time

from allais._system.guard import end_group, end_marked
from allais._system.processes import guard, marked_environment

MOST_KEPT = 1 << 16  # bytes at the end of an output: a program may print without limit
LONGEST_WAIT = 3600.0  # seconds that every selector accepts


class Output:
    """The end of what a program printed."""

    def __init__(self) -> None:
        self.size = 0
        self._kept = bytearray()

    def add(self, printed: bytes) -> None:
        """Take in what comes next."""
        self.size += len(printed)
        self._kept += printed
        if len(self._kept) > 2 * MOST_KEPT:
            del self._kept[:-MOST_KEPT]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was dropped."""
        return self.size <= MOST_KEPT

    @property
    def text(self) -> str:
        """All of it, or its end."""
        return bytes(self._kept[-MOST_KEPT:]).decode(errors="replace")

    @property
    def whole_lines(self) -> str:
        """All of it, or its end without the line that lacks its beginning."""
        return self.text if self.is_whole else self.text.partition("\n")[2]


class Execution:
    """One program, started in a process group of its own and known to the guard."""

    def __init__(self, words: list[str], folder: str | None) -> None:
        self._guard = guard()
        self._mark = self._guard.mark()
        self.out, self.err = Output(), Output()
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env=marked_environment(self._mark),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._guard.watch(self._process.pid)

    def wait(self, time_limit: float | None) -> int:
        """The exit code, once the program has ended and its output too; a `TimeoutError` if that takes too long."""
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        try:
            if os.name == "posix":
                self._read(deadline)
            else:  # pragma: no cover
                out, err = self._process.communicate(timeout=time_limit)
                self.out.add(out)
                self.err.add(err)
            return self._process.wait(None if time_limit is None else max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def _read(self, deadline: float) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ, self.out)
            selector.register(self._process.stderr, selectors.EVENT_READ, self.err)
            while selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0.0:
                    raise TimeoutError
                for key, _ in selector.select(min(left, LONGEST_WAIT)):
                    printed = os.read(key.fd, MOST_KEPT)
                    if printed:
                        key.data.add(printed)
                    else:
                        selector.unregister(key.fileobj)

    def end(self) -> None:
        """Kill the program and all that it started, even what left its group."""
        if self._process.returncode is None:
            self._kill()
            end_marked(self._mark)

    def close(self) -> None:
        """End what a run that is over left in its group."""
        with self._process:  # closes the pipes, and waits
            self._kill()
        self._guard.leave(self._process.pid)

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            end_group(self._process.pid)
        elif self._process.returncode is None:  # pragma: no cover
            self._process.send_signal(signal.SIGTERM)
