"""Traffic: probes per second in both ways to draw, what a second process brings, and what the cores could give."""

from __future__ import annotations

import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import perf_counter

import numpy as np

from allais.report.markup import markdown_table
from allais.traffic import TrafficProblem, grid_problem, record, sumo
from benchmarks.executors import work
from benchmarks.timing import bare_speed, fastest

FRESH, BLOCKS, HOURS = 12, 2, 3.0  # fresh draws a task, and blocks of a recording: two tasks, on one process or on two
ROUNDS = 4


def run() -> str:
    if not sumo.is_installed():
        return "## Traffic\n\nNot measured: Eclipse SUMO is not installed."
    fresh, stream = grid_problem("fresh"), grid_problem("stream")
    fresh.moments  # noqa: B018  # saved once
    rows = [
        _row("fresh draws", lambda jobs: _fresh(fresh, jobs)),
        _row("recording of streams", lambda jobs: _recorded(stream, jobs)),
    ]
    header = ("what", "one process", "CPU a probe", "two processes", "CPU a probe", "ratio", "bare processes, in turn")
    return (
        "## Traffic\n\nProbes a second, best of "
        f"{ROUNDS}; the last column is what the cores gave to two processes that only count.\n\n"
        + markdown_table(header, rows)
    )


def _row(what: str, speed: Callable[[int], tuple[float, float]]) -> tuple[str, ...]:
    spent: dict[int, list[float]] = {1: [], 2: []}

    def measured(jobs: int) -> float:
        rate, cpu = speed(jobs)
        spent[jobs].append(cpu)
        return rate

    ours = [partial(measured, jobs) for jobs in (1, 2)]
    one, two, alone, pair = fastest(ROUNDS, *ours, *(partial(bare_speed, work, 20, jobs) for jobs in (1, 2)))
    each = [f"{1e3 * min(spent[jobs]):.1f} ms" for jobs in (1, 2)]
    return (what, f"{one:.1f}", each[0], f"{two:.1f}", each[1], f"{two / one:.2f}", f"{pair / alone:.2f}")


def _fresh(problem: TrafficProblem, jobs: int) -> tuple[float, float]:
    def work() -> int:
        with ProcessPoolExecutor(jobs) as pool:
            return sum(pool.map(partial(_drawn, problem), range(2)))

    return _speed(work)


def _drawn(problem: TrafficProblem, seed: int) -> int:
    return problem.draw(0, np.random.default_rng(seed), FRESH).size


def _recorded(problem: TrafficProblem, jobs: int) -> tuple[float, float]:
    return _speed(lambda: record(problem, BLOCKS, seed=1, hours=HOURS, n_jobs=jobs).delay.size)


def _speed(task: Callable[[], int]) -> tuple[float, float]:
    """Probes a second by the clock, and seconds of processors a probe."""
    begun, start = _cpu(), perf_counter()
    probes = task()
    return probes / (perf_counter() - start), (_cpu() - begun) / probes


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    print(run())
