"""Two processes beside a service, since Python's threads share one lock. Both end when the service does.

- `snapshots` turns large learners into documents: a hundred thousand numbers as JSON would hold the lock for half a
  second. It gets a copy of the learner through a pipe.
- `compile` leaves the code that a first interview needs in the folder of compiled code, with a mark.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from allais._kernels import CACHE
from allais.learner import Learner
from allais.people.interview.interview import warm_interview
from allais.serve.core.errors import Refused
from allais.serve.core.restore import document_bytes, learner_of

NICE = 5  # how much less of the processor they ask for than the service
LARGE = 2_000  # distinct outcomes, from which on a learner takes more time to write than to send
MANY_TERMS = 150  # from which on a linear learner does
SIZE = struct.Struct("<Q")
MARK = "interviews"  # a file that says that the folder has all an interview needs
PAUSE = 5  # seconds after which a caller should ask again


class Worker:
    """A process that is started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, task: str, output: int) -> subprocess.Popen[bytes]:
        """Start the process."""
        command = [sys.executable, "-m", "allais.serve.workers", task]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output)
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):  # what was not read when it ended
                self._process.communicate()
            self._process = None


class SnapshotWorker(Worker):
    """Turns learners into documents."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def document(self, learner: Learner, terms: int = 0, *, read_back: bool = False) -> bytes:
        """A learner as a snapshot has it; the learner must be nobody else's.

        `terms` is how many a linear learner has, whose document holds a square of them. With `read_back`, a document
        that cannot be read again raises an error.
        """
        if terms >= MANY_TERMS or learner.memory_size >= LARGE:
            with self._lock, contextlib.suppress(OSError, EOFError):  # a process that ended is replaced the next time
                return self._written(learner, read_back=read_back)
        return document_of(learner, read_back=read_back)

    def _written(self, learner: Learner, *, read_back: bool) -> bytes:
        process = self._process
        if process is None or process.poll() is not None:
            self.close()
            process = self.start("snapshots", subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        send(process.stdin, pickle.dumps((learner, read_back), pickle.HIGHEST_PROTOCOL))
        return receive(process.stdout)


class Precompiler(Worker):
    """Compiles ahead, once per machine."""

    def begin(self) -> None:
        """Start the process, unless there is nothing left to do, or no folder for it."""
        if CACHE is not None and not (Path(CACHE) / MARK).exists():
            self.start("compile", subprocess.DEVNULL)

    def require_done(self) -> None:
        """Refuse an interview that would have to wait; if the process failed, the service compiles itself."""
        if self._process is not None and self._process.poll() is None:
            raise Refused(
                503, "a first interview needs code that is compiled once; it is not ready yet. Repeat the call soon.",
                retry_after=PAUSE,
            )  # fmt: skip


def document_of(learner: Learner, *, read_back: bool) -> bytes:
    """A learner as a snapshot has it, which can be read again if that is asked for."""
    document = document_bytes(learner)
    if read_back:
        learner_of(document)
    return document


def send(pipe: IO[bytes], content: bytes) -> None:
    """Write a message."""
    pipe.write(SIZE.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Read a message, or raise EOFError: also where only a part came, since the other process ended halfway."""
    head = pipe.read(SIZE.size)
    if len(head) < SIZE.size:
        raise EOFError
    size = SIZE.unpack(head)[0]
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


def write_snapshots() -> None:
    """Write documents until the pipe ends."""
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            learner, read_back = pickle.loads(receive(sys.stdin.buffer))
            send(sys.stdout.buffer, document_of(learner, read_back=read_back))


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
        os.nice(NICE)
    if sys.argv[1] == "snapshots":
        write_snapshots()
    else:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # what it says is nobody's
        threading.Thread(target=_end_with_the_service, daemon=True).start()
        compile_ahead()
