"""The coordinator of a search: runs per second by itself, and how busy it keeps workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from allais import WLUCB, WSR, Bounded, PairwiseScreening, Simulator, cvar, expected_value, search
from allais._checks import FloatArray
from allais.policies import Policy
from allais.problems.base import OneByOne
from benchmarks.simulators import JOBS, WARM_JOBS, flow_lines, shared_throughput, throughput
from benchmarks.tables import Table, error_of
from benchmarks.timing import most_megabytes

MS10, RUNS_OF_10 = 0.01, 3_000
RUNS_OF_LINES = 30_000  # of 10 ms, 150 s: some hundred thousand settle it, which takes the better part of an hour
LARGE = 57_624
LINES = flow_lines(30)


class Nothing(OneByOne):
    """A simulator that takes no time."""

    def __repr__(self) -> str:
        return f"Nothing({self.n_arms})"

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        return np.zeros(size)

    def run(self, arm: int, seed: int) -> float:
        return (seed >> 8) % 1000 / 2000.0 + 0.5 * arm / self.n_arms


class Here(Executor):
    """An executor of two workers that does everything at once, in this very process."""

    _max_workers = 2

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **named))
        return future


def asleep(arm: int, rng: np.random.Generator) -> float:
    """10 ms by the clock."""
    time.sleep(MS10)
    return float(rng.random() + 0.02 * arm)


def working(arm: int, rng: np.random.Generator) -> float:
    """10 ms of a core."""
    end = time.thread_time() + MS10
    while time.thread_time() < end:
        pass
    return float(rng.random() + 0.02 * arm)


def run() -> str:
    return "\n\n".join(["## The coordinator of searches", _alone(), _busy()])


def _alone() -> str:
    mean = expected_value()
    cases: list[tuple[str, int, Policy, int]] = [
        ("W-LUCB", 8, WLUCB(mean, Bounded(0, 1), delta=1e-9), 9_000),
        ("W-SR", 8, WSR(mean, budget=50_000), 50_000),
        ("W-LUCB", 10_000, WLUCB(mean, Bounded(0, 1), delta=0.05), 30_000),
        ("pairwise screening", 10_000, PairwiseScreening(mean, delta=0.05, rarest=0.25), 200_000),
        ("pairwise screening", LARGE, PairwiseScreening(mean, delta=0.05, rarest=0.25), 200_000),
    ]
    table = Table("policy", "options", "runs", "runs per second", "per second of its core", "claim", "holds")
    for name, options, policy, runs in cases:
        search(policy, Nothing(options), seed=1, executor=Here(), max_runs=min(runs, 9_000))  # compiles, trees too
        with TemporaryDirectory() as folder:
            begin, core = time.perf_counter(), time.process_time()
            answer = search(
                policy, Nothing(options), seed=1, executor=Here(), max_runs=runs, journal=Path(folder) / "runs.jsonl"
            )
            seconds, core = time.perf_counter() - begin, time.process_time() - core
        speed = answer.samples / seconds
        table.add(name, f"{options:,}", f"{answer.samples:,}", f"{speed:,.0f}", f"{answer.samples / core:,.0f}",
                  "at least 5,000", speed >= 5_000)  # fmt: skip
    return (
        "The coordinator alone: a simulator that takes no time, batches chosen by the search, every run in a journal:"
        f"\n\n{table}"
    )


def line_of_10(arm: int, rng: np.random.Generator) -> float:
    """A run of the flow line, as a program that takes 10 ms."""
    end = time.perf_counter() + MS10
    found = throughput(LINES[arm], rng)
    time.sleep(max(end - time.perf_counter(), 0.0))
    return found


def _busy() -> str:
    table = Table("a simulator that", "batch", "runs", "share of time that two workers are busy", "claim", "holds")
    for kind, preference, common in (("mean", expected_value(), False), ("CVaR .1", cvar(0.1), True)):
        policy = PairwiseScreening(preference, delta=0.05, rarest=0.25, tolerance=0.5, common_random_numbers=common)
        samples, share = _share(policy, Simulator(line_of_10, len(LINES)), RUNS_OF_LINES, None)
        name = f"is a flow line of 11,774 options at 10 ms, {kind}{', common random numbers' if common else ''}"
        table.add(name, "by the search", f"{samples:,}", f"{share:.1%}", "at least 90%", share >= 0.9)
    for name, simulator in (("sleeps 10 ms", asleep), ("works 10 ms", working)):
        for batch in (None, 1):
            policy = PairwiseScreening(expected_value(), delta=1e-6, rarest=0.01)
            samples, share = _share(policy, Simulator(simulator, 8), RUNS_OF_10, batch)
            claim = ("", "") if batch else ("at least 90%", share >= 0.9)
            table.add(name, str(batch or "by the search"), f"{samples:,}", f"{share:.1%}", *claim)
    return f"Workers, two processes, every run in a journal:\n\n{table}"


def _share(policy: Policy, problem: Simulator, runs: int, batch: int | None) -> tuple[int, float]:
    """Runs, and the share of time in which two workers were busy with them."""
    with TemporaryDirectory() as folder, ProcessPoolExecutor(2) as executor:
        for future in [executor.submit(time.sleep, 0.5) for _ in range(2)]:
            future.result()
        begin = time.perf_counter()
        answer = search(
            policy, problem, seed=1, executor=executor, batch=batch, max_runs=runs, journal=Path(folder) / "runs.jsonl"
        )
        seconds = time.perf_counter() - begin
    assert answer.origin is not None
    return answer.samples, (answer.origin.run_seconds or 0.0) / (2.0 * seconds)


def behind(options: list[Any], chosen: Any) -> tuple[float, float]:
    """How much less a flow line is worth than the best one, and the standard error, by runs of their own.

    All options are run under a few common seeds, then the best of them and the chosen one under many others.
    """

    def runs_of(lines: Any, seeds: range) -> FloatArray:
        work = (np.random.default_rng([2, seed]).standard_exponential((WARM_JOBS + JOBS, 3)) for seed in seeds)
        return np.array([shared_throughput(lines, one) for one in work])

    lines = np.array(options)
    best = np.argsort(runs_of(lines, range(40)).mean(axis=0))[-500:]
    runs = runs_of(np.vstack([np.array(chosen)[None], lines[best]]), range(40, 2_040))
    lost = runs[:, 1 + int(runs[:, 1:].mean(axis=0).argmax())] - runs[:, 0]
    return float(lost.mean()), error_of(lost)


def largest() -> str:
    """57,624 options, once."""
    options = flow_lines(50)
    policy = PairwiseScreening(expected_value(), delta=0.05, rarest=0.5, tolerance=0.5, common_random_numbers=True)
    with ProcessPoolExecutor(2) as executor:
        begin, core = time.perf_counter(), time.process_time()
        answer = search(policy, Simulator(throughput, options), seed=1, executor=executor)
        seconds, core = time.perf_counter() - begin, time.process_time() - core
    assert answer.origin is not None
    share = (answer.origin.run_seconds or 0.0) / (2.0 * seconds)
    lost, error = behind(options, answer.arm)
    each = 1e6 * (answer.origin.run_seconds or 0.0) / answer.samples
    return (
        f"The flow line of L = 50, {len(options):,} options, mean, indifference .5, rarest .5, common random "
        f"numbers, two processes, once: {answer.samples:,} runs ({answer.samples / len(options):.0f} per option) in "
        f"{seconds:.0f} s, settled: {answer.settled}, option {answer.arm}, throughput {answer.value:.2f}; by 2,000 "
        f"runs of its own it is {lost:.3f} ± {error:.3f} behind the best. A run takes "
        f"{each:.0f} us; "
        f"workers were busy for {share:.0%} of the time, and the coordinator took {1e6 * core / answer.samples:.0f} "
        f"us of its core per run and {most_megabytes():.0f} MB."
    )
