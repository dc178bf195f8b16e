"""What a first interview compiles, compiled by another process: the service's own threads would stand still meanwhile.

The process leaves its code in the folder of compiled code, with a mark, and ends when the service does.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

from allais._kernels import CACHE
from allais.people.interview.precompile import warm_interview
from allais.serve.core.errors import Refused

MARK = "interviews"  # a file that says that the folder has all an interview needs
PATIENCE = 5  # how much less of the processor it asks for than the service
PAUSE = 5  # seconds after which a caller should ask again


class Warming:
    """Compiles ahead, once per machine."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start the process, unless there is nothing left to do, or no folder for it."""
        if CACHE is not None and not (Path(CACHE) / MARK).exists():
            command = [sys.executable, "-m", "allais.serve.precompile"]
            nobody = subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nobody, stderr=nobody)

    def require_done(self) -> None:
        """Refuse an interview that would have to wait; if the process failed, the service compiles itself."""
        if self._process is not None and self._process.poll() is None:
            raise Refused(
                503, "a first interview needs code that is compiled once; it is not ready yet. Repeat the call soon.",
                retry_after=PAUSE,
            )  # fmt: skip

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):
                self._process.communicate()
            self._process = None


def compile_ahead() -> None:
    """Leave compiled code in the folder, and the mark."""
    warm_interview()
    if CACHE is not None:
        (Path(CACHE) / MARK).touch()


def _end_with_the_service() -> None:
    os.read(0, 1)  # not by `sys.stdin`, whose lock an end of the interpreter would wait for
    os._exit(1)


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(PATIENCE)
    threading.Thread(target=_end_with_the_service, daemon=True).start()
    compile_ahead()
