"""Run policies on problems: many runs, true regret, the same numbers for any number of workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, overload

import numpy as np

from allais._checks import IntArray, Seed, root_of, whole
from allais._system.extras import Progress
from allais._system.processes import process_pool
from allais.policies.core.base import Policy
from allais.policies.core.guardrails import OPEN
from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.problems import ContextualBandit, Problem
from allais.simulation.contextual import ContextualResults, simulate_contexts
from allais.simulation.population import People, SharedResults, simulate_people
from allais.simulation.python_policy import PythonPolicy, PythonRollout, as_policy, say_that_it_is_slow
from allais.simulation.results import Results
from allais.simulation.rollout import Rollout, fitted, lotteries_of, new_record

MOST_RUNS = 10_000_000  # each has a seed and results of its own, which are held in memory
CHECKPOINTS = 200  # enough for a smooth curve on a log axis


Checkpoints = Sequence[int] | int | None


@overload
def simulate(
    policy: Policy, problem: ContextualBandit, n_rounds: int, n_runs: int = 1, seed: Seed = 0, *,
    checkpoints: Checkpoints = None, judge: Preference | None = None, progress: bool | None = None, exact: bool = False,
) -> ContextualResults: ...  # fmt: skip
@overload
def simulate(
    policy: Policy, problem: Problem, n_rounds: int, n_runs: int = 1, seed: Seed = 0, n_jobs: int = 1,
    executor: Executor | None = None, checkpoints: Checkpoints = None, trace: bool = False,
    judge: Preference | None = None, progress: bool | None = None, exact: bool = False, people: None = None,
) -> Results: ...  # fmt: skip
@overload
def simulate(
    policy: Policy, problem: Problem, n_rounds: int, n_runs: int = 1, seed: Seed = 0, *,
    checkpoints: Checkpoints = None, progress: bool | None = None, exact: bool = False, people: People,
) -> SharedResults: ...  # fmt: skip
def simulate(
    policy: Policy,
    problem: Problem,
    n_rounds: int,
    n_runs: int = 1,
    seed: Seed = 0,
    n_jobs: int = 1,
    executor: Executor | None = None,
    checkpoints: Checkpoints = None,
    trace: bool = False,
    judge: Preference | None = None,
    progress: bool | None = None,
    exact: bool = False,
    people: People | None = None,
) -> Results | SharedResults:
    """Run a policy on a problem; results hold pulls and recommendations at checkpoints, and true regret.

    The same seed gives the same numbers for any `n_jobs` and any `executor`, and lets different policies meet the same
    outcomes.

    With `people`, each round is for one of them, drawn at random: all share what was learned, and the regret is each
    person's own, by her weights and her utility; direction and reference are those of the policy's preference
    (`Preference.in_frame_of`). These runs are one after the other, through a learner, about a hundred times slower than
    those of one preference.

    So are runs on a `ContextualBandit`: a policy that takes contexts sees those of the rounds, a linear one the rows of
    the problem's `features`, and any other plays without; the result is a `ContextualResults`.

    Args:
        policy: How to explore.
        problem: The arms.
        n_rounds: The number of rounds of each run.
        n_runs: The number of independent runs.
        seed: The seed of choices and outcomes.
        n_jobs: How many processes run side by side; -1 for one per core.
        executor: Where to run instead, by the `concurrent.futures` protocol.
        checkpoints: Rounds at which results are kept, or how many of them, log-spaced; by default 200.
        trace: Whether to keep every choice.
        judge: Whose regret it is; by default the policy's own preference.
        progress: Whether to show a progress bar; by default on a terminal.
        exact: Whether to keep every outcome, also where an arm has more than 16,384 distinct ones.
        people: Preferences that share one memory, in a list or by name; the result is then a `SharedResults`.

    >>> problem = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    >>> results = simulate(UCB1(Bounded(0, 1)), problem, n_rounds=1000, n_runs=10, seed=1)
    >>> results.regret.shape
    (10, 131)
    """
    rounds, runs = whole("n_rounds", n_rounds), whole("n_runs", n_runs, most=MOST_RUNS)
    marks = _checkpoints(checkpoints, rounds)
    if people is not None:
        if n_jobs != 1 or executor is not None or trace or judge is not None:
            raise ValueError(
                "people are simulated one run after the other, each judged by herself; got n_jobs, executor, trace or "
                "judge. Leave them out."
            )
        return simulate_people(as_policy(policy), problem, people, marks, root_of(seed).spawn(runs), progress, exact)
    if isinstance(problem, ContextualBandit):
        if n_jobs != 1 or executor is not None:
            raise ValueError(
                "problems with contexts are simulated one run after the other; got n_jobs or executor. Leave them out."
            )
        return simulate_contexts(as_policy(policy), problem, marks, root_of(seed).spawn(runs), judge, progress, exact)
    policy = fitted(as_policy(policy), problem)  # or refused, before anything runs
    if isinstance(policy, PythonPolicy):
        say_that_it_is_slow(policy)
    seeds = root_of(seed).spawn(runs)
    # one run each when serial, else a few chunks per worker
    pieces = runs if executor is None and workers(n_jobs) == 1 else min(runs, 8 * max(workers(n_jobs), 2))
    edges = np.linspace(0, runs, pieces + 1).astype(int)
    chunks = [range(low, high) for low, high in pairwise(edges) if high > low]
    tasks = [(policy, problem, marks, [seeds[run] for run in chunk], trace, exact) for chunk in chunks]
    parts: list[dict[str, Any]] = [{} for _ in chunks]
    with Progress(runs, policy.name, progress) as bar, _workers(n_jobs, executor, policy, problem) as play:
        for index, part in play(tasks):
            parts[index] = part
            bar.advance(len(chunks[index]))
    judged_by = policy.preference if judge is None else judge
    values = problem.true_values(judged_by)
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return Results(
        policy=repr(policy),
        label=policy.name,
        arms=tuple(problem.arms),
        checkpoints=marks,
        values=values,
        bound=policy.regret_bound(values, marks) if values is not None and judged_by == policy.preference else None,
        judge=in_words(judged_by),
        kept=_kept(policy, problem),
        **joined,
    )


def _kept(policy: Policy, problem: Problem) -> IntArray | None:
    """What is true of each arm and the guardrails that the answer must keep; None where that is not known."""
    lotteries, judged = lotteries_of(problem), []
    for one in policy.guardrails if lotteries else ():
        strict = replace(one, tolerance=0.0)
        each = [one.preference.value(lottery) for lottery in lotteries]
        if one.drop:
            judged.append([min(one.judge(v, v), max(strict.judge(v, v), OPEN)) for v in each])
    return np.array(judged).min(axis=0) if judged else None


def _play(
    policy: Policy,
    problem: Problem,
    marks: IntArray,
    seeds: list[np.random.SeedSequence],
    trace: bool,
    exact: bool,
    given_up: threading.Event | None = None,
) -> dict[str, Any]:
    """Some runs, one after the other: what a worker does."""
    records = [new_record(marks, problem.n_arms, int(marks[-1]) if trace else 0) for _ in seeds]
    rule = None if isinstance(policy, PythonPolicy) else policy.rule(problem.n_arms)  # one for all runs
    samples, stopped = np.zeros(len(seeds), dtype=np.int64), np.zeros(len(seeds), dtype=np.bool_)
    for run, (seed, record) in enumerate(zip(seeds, records, strict=True)):
        rollout = (
            PythonRollout(policy, problem, seed) if isinstance(policy, PythonPolicy)
            else Rollout(policy, problem, seed, rule=rule, exact=exact)
        )  # fmt: skip
        rollout.run(int(marks[-1]), record, given_up)
        samples[run], stopped[run] = rollout.samples, rollout.stopped
    return {
        "pulls": np.array([record.pulls for record in records]),
        "recommended": np.array([record.recommended for record in records]),
        "samples": samples,
        "stopped": stopped,
        "choices": np.array([record.choices for record in records]),
    }


def _checkpoints(wanted: Sequence[int] | int | None, rounds: int) -> IntArray:
    if wanted is None or isinstance(wanted, int | np.integer):
        how_many = CHECKPOINTS if wanted is None else whole("checkpoints", int(wanted))
        return np.unique(np.geomspace(1, rounds, min(how_many, rounds)).round().astype(np.int64))
    marks = np.unique(np.array(wanted, dtype=np.int64))
    if marks.size == 0 or marks[0] < 1 or marks[-1] > rounds:
        raise ValueError(f"checkpoints must lie between 1 and n_rounds = {rounds}; got {list(wanted)}. Repair them.")
    return np.unique(np.append(marks, rounds))


def workers(n_jobs: int) -> int:
    """How many workers are meant; -1 is every core that this process may use."""
    if not (isinstance(n_jobs, int | np.integer) and n_jobs == -1):
        return whole("n_jobs", n_jobs, "1 or more, or -1 for every core")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


Task = tuple[Any, ...]
Play = Callable[[list[Task]], Iterator[tuple[int, dict[str, Any]]]]  # the number of a task, and what came of it


@contextmanager
def _workers(n_jobs: int, executor: Executor | None, policy: Policy, problem: Problem) -> Iterator[Play]:
    """A way to play tasks; after an error or an interruption, what is not finished is given up."""
    if executor is not None:  # the caller's own: it is not shut down here
        yield partial(_by_callers, executor)
    elif workers(n_jobs) == 1:
        yield lambda tasks: ((index, _play(*task)) for index, task in enumerate(tasks))
    elif problem.batch > 1 and not isinstance(policy, PythonPolicy):  # kernels release the interpreter's lock
        # compiled here, since only the main thread can be interrupted while it compiles
        Rollout(policy, problem, np.random.SeedSequence(0)).run(0)
        given_up = threading.Event()
        with ThreadPoolExecutor(workers(n_jobs)) as threads:
            try:
                yield lambda tasks: _by(threads, [(*task, given_up) for task in tasks])
            except BaseException:
                given_up.set()
                threads.shutdown(wait=False, cancel_futures=True)
                raise
    else:  # a simulator or a policy in Python holds the lock
        with process_pool(workers(n_jobs)) as processes:
            yield partial(_by, processes)


def _by(executor: Executor, tasks: list[Task]) -> Iterator[tuple[int, dict[str, Any]]]:
    waiting: dict[Future[dict[str, Any]], int] = {
        executor.submit(_play, *task): index for index, task in enumerate(tasks)
    }
    for future in as_completed(waiting):
        yield waiting[future], future.result()


def _by_callers(executor: Executor, tasks: list[Task]) -> Iterator[tuple[int, dict[str, Any]]]:
    futures = [executor.submit(_play, *task) for task in tasks]
    try:  # in the order given: an executor's own futures need not be known to `as_completed`
        for index, future in enumerate(futures):
            yield index, future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise
