"""The service after a million decisions: its memory, and a start after a kill."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.serve import server

MILLION = 1_000_000


def million() -> tuple[list[float], float, float]:
    """Memory over many decisions, and the seconds (by the clock and of the processor) of a start after a kill."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "million.db")
        command = [sys.executable, "-m", "benchmarks.serve_million", file, str(MILLION)]
        memory = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with server("allais.cli", "serve", "--database", file, "--port", "0", folder=folder) as (_, _, _, seconds):
            pass
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return memory, seconds, used


def run() -> str:
    """The section of the results."""
    memory, seconds, used = million()
    return (
        f"## The service, after {MILLION:,} decisions\n\n"
        f"Memory over {MILLION:,} decisions with as many different outcomes, in MB, after each tenth:"
        f" {', '.join(f'{one:.0f}' for one in memory)}. A start after a kill at that point takes {seconds:.1f} s by the"
        f" clock and {used:.1f} s of the processor."
    )
