"""A worker process that turns large learners into documents, so that callers need not wait while it writes.

Python's threads share one lock, and writing a hundred thousand numbers as JSON holds it for half a second. The scribe
gets a copy of the learner through a pipe, and ends when the pipe does, so it never outlives its service.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
import threading
from typing import IO

from allais.learner import Learner
from allais.serve.core.loading import document_bytes

LARGE = 2_000  # distinct outcomes, from which on it takes more time to write than to send
SIZE = struct.Struct("<Q")
PATIENCE = 5  # how much less of the processor it asks for than the service


class Scribe:
    """Makes documents; the process is started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def document(self, learner: Learner) -> bytes:
        """A learner as a snapshot has it; the learner must be nobody else's."""
        if learner._lines_worth_a_snapshot() >= LARGE:
            with self._lock, contextlib.suppress(OSError, EOFError):  # a scribe that died is replaced the next time
                return self._written(learner)
        return document_bytes(learner)

    def _written(self, learner: Learner) -> bytes:
        if self._process is None or self._process.poll() is not None:
            self.close()
            command = [sys.executable, "-m", "allais.serve.snapshot_worker"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        there, back = self._process.stdin, self._process.stdout
        assert there is not None
        assert back is not None
        send(there, pickle.dumps(learner, pickle.HIGHEST_PROTOCOL))
        return receive(back)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):  # what was not read when it died
                self._process.communicate()
            self._process = None


def send(pipe: IO[bytes], content: bytes) -> None:
    """Write a message."""
    pipe.write(SIZE.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Read a message, or raise EOFError: also where only a part came, since the other process died in mid-word."""
    head = pipe.read(SIZE.size)
    if len(head) < SIZE.size:
        raise EOFError
    size = SIZE.unpack(head)[0]
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


def main() -> None:
    """Write documents until the pipe ends."""
    if hasattr(os, "nice"):
        os.nice(PATIENCE)
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            send(sys.stdout.buffer, document_bytes(pickle.loads(receive(sys.stdin.buffer))))


if __name__ == "__main__":
    main()
