"""Traffic: probes a second in both ways to draw, and what a second process brings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

from allais.traffic import grid_problem, record, sumo
from benchmarks.timing import markdown_table

FRESH, STREAM, BLOCKS = 20, 256, 4


def run() -> str:
    if not sumo.is_installed():
        return "## Traffic\n\nNot measured: Eclipse SUMO is not installed."
    fresh, stream = grid_problem("fresh"), grid_problem("stream")
    fresh.draw(0, np.random.default_rng(0), 1)  # saves its moments
    one_by_one = _seconds(lambda: fresh.draw(0, np.random.default_rng(1), FRESH)) / FRESH
    together = _seconds(lambda: stream.draw(0, np.random.default_rng(1), STREAM)) / STREAM
    alone, pair = (_seconds(partial(record, stream, BLOCKS, seed=1, hours=2.0, n_jobs=jobs)) for jobs in (1, 2))
    rows = [
        ("fresh draws", f"{1 / one_by_one:.1f} probes a second", "", ""),
        ("stream", f"{1 / together:.0f} probes a second", "fresh draws", f"{one_by_one / together:.0f} times faster"),
        ("recording, two processes", f"{pair:.1f} s", f"one process {alone:.1f} s", f"{alone / pair:.2f} times faster"),
    ]
    return "## Traffic\n\n" + markdown_table(("what", "speed", "compared with", "ratio"), rows)


def _seconds(task: Callable[[], object]) -> float:
    start = perf_counter()
    task()
    return perf_counter() - start


if __name__ == "__main__":
    print(run())
