"""How well workers are used: runs a second of an expensive simulator, on one worker and on several."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from allais import WLUCB, Bounded, Preference, Program, Simulator, TverskyKahneman, best_arm
from allais.problems import Problem
from benchmarks.timing import markdown_table

RUN = 0.1  # seconds of a run
ARMS = 8
RUNS_A_WORKER = 24
Pool = type[ProcessPoolExecutor | ThreadPoolExecutor]
POLICY = WLUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1), delta=0.05)


def timed(arm: int, rng: np.random.Generator) -> float:
    """A simulator that takes 100 ms by the clock, whatever else the machine does."""
    time.sleep(RUN)
    return float(rng.random() < 0.1 * (arm + 1))


def busy(arm: int, rng: np.random.Generator) -> float:
    """A simulator that works for 100 ms of a core."""
    end = time.thread_time() + RUN
    while time.thread_time() < end:
        pass
    return float(rng.random() < 0.1 * (arm + 1))


def run() -> str:
    asleep = Program(f"{sys.executable} -S -c 'import time; time.sleep({RUN}); print({{arm}} * {{seed}} * 0)'", ARMS)
    best_arm(Simulator(timed, ARMS), POLICY, seed=1, executor=ThreadPoolExecutor(8), max_samples=16)  # compiles
    rows = [
        _row("processes, a simulator that takes 100 ms", ProcessPoolExecutor, Simulator(timed, ARMS), 2, 1.8),
        _row("threads, an external program that sleeps 100 ms", ThreadPoolExecutor, asleep, 4, 3.5),
        _against_a_bare_pool(),
    ]
    header = ("what", "one worker", "workers", "runs a second", "ratio", "claim", "holds")
    return "## Workers of `best_arm`, 8 arms, with a journal\n\n" + markdown_table(header, rows)


def _row(what: str, kind: Pool, problem: Problem, workers: int, claim: float) -> tuple[str, ...]:
    one, many = (_runs_a_second(kind, problem, count) for count in (1, workers))
    ratio = many / one
    verdict = "yes" if ratio >= claim else "NO"
    return (what, f"{one:.1f} a second", str(workers), f"{many:.1f}", f"{ratio:.2f}", f"at least {claim}", verdict)


def _against_a_bare_pool() -> tuple[str, ...]:
    """Work that fills the cores can be no faster than the cores that are free: compare with a pool that only works."""
    rounds = [(_runs_a_second(ProcessPoolExecutor, Simulator(busy, ARMS), 2), _bare(2)) for _ in range(3)]
    ours, bare = (max(speeds) for speeds in zip(*rounds, strict=True))
    verdict = "yes" if ours >= 0.9 * bare else "NO"
    what = "processes, a simulator that works 100 ms, against a bare pool"
    return (what, f"bare pool of 2: {bare:.1f}", "2", f"{ours:.1f}", f"{ours / bare:.2f}", "at least 0.9", verdict)


def _bare(workers: int) -> float:
    runs = RUNS_A_WORKER * workers
    with ProcessPoolExecutor(workers) as executor:
        _warm(executor, workers)
        start = time.perf_counter()
        list(executor.map(busy, [0] * runs, [np.random.default_rng(1)] * runs))
        return runs / (time.perf_counter() - start)


def _runs_a_second(kind: Pool, problem: Problem, workers: int) -> float:
    runs = RUNS_A_WORKER * workers
    with TemporaryDirectory() as folder, kind(workers) as executor:
        _warm(executor, workers)
        start = time.perf_counter()
        path = Path(folder) / "runs.jsonl"
        answer = best_arm(problem, POLICY, seed=1, executor=executor, journal=path, max_samples=runs)
        assert answer.samples == runs
        return runs / (time.perf_counter() - start)


def _warm(executor: Executor, workers: int) -> None:
    """Starting a process, and importing in it, is no part of a run."""
    for future in [executor.submit(time.sleep, 0.3) for _ in range(workers)]:
        future.result()
