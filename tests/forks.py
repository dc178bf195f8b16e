"""Code that runs in a process of its own, each a fork of one that has loaded what all of them need.

For tests of what a program says and how it ends. Loading takes most of the time of a new process, so one is started
only where the start itself is the point, or where there are no forks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SERVER = """
import json, os, sys, traceback

for name in sys.argv[1:]:
    __import__(name)
for line in sys.stdin:
    told = json.loads(line)
    child = os.fork()
    if not child:
        end = 0
        os.chdir(told["cwd"])
        for number, path, way in ((0, os.devnull, 0), (1, told["out"], os.O_WRONLY), (2, told["err"], os.O_WRONLY)):
            os.dup2(os.open(path, way), number)
        try:
            exec(compile(told["code"], "<test>", "exec"), {"__name__": "__main__"})
        except SystemExit as left:
            end = left.code or 0
        except BaseException:
            traceback.print_exc()
            end = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
Done = subprocess.CompletedProcess[str]


class Forks:
    """Runs code; `process` is what forks, or None where nothing can."""

    def __init__(self, process: subprocess.Popen[str] | None, folder: Path) -> None:
        self._process, self._folder = process, folder

    def run(self, code: str, cwd: Path) -> Done:
        """How the code ended, and what it said."""
        if self._process is None:
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, check=False)
        told: dict[str, Any] = {"code": code, "cwd": str(cwd)}
        for name in ("out", "err"):
            told[name] = str(self._folder / name)
            Path(told[name]).write_text("")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(told), file=self._process.stdin, flush=True)
        code_of_exit = int(self._process.stdout.readline())
        return Done([], code_of_exit, *(Path(told[name]).read_text() for name in ("out", "err")))


@contextmanager
def forks(folder: Path, *loaded: str) -> Iterator[Forks]:
    """Forks of a process that has loaded these modules; the folder is for what they say."""
    if not hasattr(os, "fork"):
        yield Forks(None, folder)
        return
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SERVER, *loaded], **pipes) as process:
        yield Forks(process, folder)
