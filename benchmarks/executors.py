"""How well workers are used: runs per second of an expensive simulator, on one worker and on several."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from allais import WLUCB, Bounded, Preference, Program, Simulator, TverskyKahneman, search
from allais.problems import Problem
from benchmarks.tables import Table
from benchmarks.timing import bare_speed, fastest

RUN = 0.1  # seconds of a run
ARMS = 8
RUNS_A_WORKER = 12  # a second or so: short trials find the quiet moments of a shared machine
ROUNDS = 10  # one worker and several take turns, and the best of each counts
Pool = type[ProcessPoolExecutor | ThreadPoolExecutor]
POLICY = WLUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1), delta=0.05)


def asleep(arm: int, rng: np.random.Generator) -> float:
    """A simulator that takes 100 ms by the clock, whatever else the machine does."""
    time.sleep(RUN)
    return float(rng.random() < 0.1 * (arm + 1))


def busy(arm: int, rng: np.random.Generator) -> float:
    """A simulator that works for 100 ms of a core."""
    work()
    return float(rng.random() < 0.1 * (arm + 1))


def work() -> None:
    end = time.thread_time() + RUN
    while time.thread_time() < end:
        pass


def run() -> str:
    program = Program(f"{sys.executable} -S -c 'import time; time.sleep({RUN}); print({{arm}} * {{seed}} * 0)'", ARMS)
    search(POLICY, Simulator(asleep, ARMS), seed=1, executor=ThreadPoolExecutor(8), max_runs=16)  # compiles
    table = Table("what", "one worker", "workers", "runs per second", "ratio", "claim", "holds")
    _busy(table)
    _idle(table, "processes, a simulator that sleeps 100 ms", ProcessPoolExecutor, Simulator(asleep, ARMS), 2, 1.8)
    _idle(table, "threads, an external program that sleeps 100 ms", ThreadPoolExecutor, program, 4, 3.5)
    return f"## Workers of `best_arm`, 8 arms, with a journal\n\n{table}"


def _busy(table: Table) -> None:
    """Work that fills the cores can be no faster than the cores are, so bare processes are measured in turn with it."""
    ours = [partial(_runs_a_second, ProcessPoolExecutor, Simulator(busy, ARMS), count) for count in (1, 2)]
    bare = [partial(bare_speed, work, RUNS_A_WORKER, count) for count in (1, 2)]
    one, two, alone, pair = fastest(ROUNDS, *ours, *bare)
    held = "yes" if two / one >= 1.8 else f"NO: the cores gave {pair / alone:.2f}"
    table.add("processes, a simulator that works 100 ms", f"{one:.1f} a second", "2", f"{two:.1f}",
              f"{two / one:.2f}", "at least 1.8", held)  # fmt: skip
    table.add("the same work in bare processes, in turn with it", f"{alone:.1f} a second", "2", f"{pair:.1f}",
              f"{pair / alone:.2f}", "", "")  # fmt: skip


def _idle(table: Table, what: str, kind: Pool, problem: Problem, workers: int, claim: float) -> None:
    one, many = fastest(2, *(partial(_runs_a_second, kind, problem, count) for count in (1, workers)))
    table.add(what, f"{one:.1f} a second", str(workers), f"{many:.1f}", f"{many / one:.2f}", f"at least {claim}",
              many / one >= claim)  # fmt: skip


def _runs_a_second(kind: Pool, problem: Problem, workers: int) -> float:
    runs = RUNS_A_WORKER * workers
    with TemporaryDirectory() as folder, kind(workers) as executor:
        _warm(executor, workers)
        start = time.perf_counter()
        path = Path(folder) / "runs.jsonl"
        answer = search(POLICY, problem, seed=1, executor=executor, journal=path, max_runs=runs)
        assert answer.samples == runs
        return runs / (time.perf_counter() - start)


def _warm(executor: Executor, workers: int) -> None:
    """Starting a process, and importing in it, is no part of a run."""
    for future in [executor.submit(time.sleep, 0.3) for _ in range(workers)]:
        future.result()
