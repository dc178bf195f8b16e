"""Servers by fork: a process that has loaded everything and makes a server of itself for each line that it reads.

Loading takes seconds; a server that is killed hundreds of times should not. A forked server is as dead after a kill.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from allais.serve.core.parse_settings import learner_from_settings
from allais.serve.running import serve
from allais.serve.settings_file import read_settings


def say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    settings = read_settings(Path(sys.argv[1]))
    for one in settings.experiments.values():  # what it compiles, children find in memory
        learner = learner_from_settings(one)
        for step in range(300):
            learner.tell(learner.ask(), 50.0 * ((step * 0.618) % 1.0))
        learner.copy().save(Path(sys.argv[1]).with_suffix(".warm"))
    for _ in sys.stdin:
        pid = os.fork()
        if not pid:
            os.close(0)
            say(f"pid {os.getpid()}")
            serve(settings, say)
            os._exit(0)
        os.waitpid(pid, 0)
        say("ended")


if __name__ == "__main__":
    main()
