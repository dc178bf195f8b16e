"""Ends what a process started when that process has died, however it died.

This file is run as a program of its own, which outlives the process that it guards (`processes.Guard`): its input
ends when that process ends, even if it was killed. A line `+123` says that the process group 123 has begun, and
`-123` that it has ended. It must be small and need nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

MARK = "ALLAIS_STARTED_BY"  # the variable by which whatever a run starts is known, also outside of its group
ROUNDS, PAUSE = 10, 0.1  # seconds; a program may be about to begin, or begin another, while others are ended


def end_group(group: int) -> None:
    """Kill a process group, if there is one left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def end_marked(mark: str) -> int:
    """Kill the processes whose mark begins so, and say how many there were; they can be found on Linux only."""
    wanted = f"{MARK}={mark}".encode()
    found = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):  # another user's, or gone
                with open(f"/proc/{name}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
                if any(variable.startswith(wanted) for variable in variables):
                    os.kill(int(name), signal.SIGKILL)
                    found += 1
    return found


def main() -> None:
    """Wait for the end of the input, then end what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups = set[int]()
    rounds = ROUNDS
    for line in sys.stdin.buffer:
        if line == b"done\n":  # the process ends in order: nothing of it is about to begin
            rounds = 1
        elif line.startswith(b"+"):
            groups.add(int(line[1:]))
        else:
            groups.discard(int(line[1:]))
    for round_ in range(rounds):
        time.sleep(PAUSE if round_ else 0.0)
        for group in groups:
            end_group(group)
        end_marked(sys.argv[1])


if __name__ == "__main__":
    main()
