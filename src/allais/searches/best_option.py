"""Search the best option of an expensive simulator: on many workers, none of its runs lost."""

from __future__ import annotations

import time
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from allais._checks import positive
from allais._random import Seed
from allais.policies.base import Policy
from allais.problems import Problem
from allais.searches.asynchronous import Search
from allais.searches.cluster import PATIENCE
from allais.searches.drive import Watch, drive
from allais.searches.journal import RunJournal, identity
from allais.searches.runs import Failures
from allais.simulation.best_arm import BestArm, Origin, answer_of, stopping
from allais.simulation.history import Kept
from allais.simulation.simulate import root_of, whole_count


def search(
    policy: Policy,
    problem: Problem,
    *,
    seed: Seed,
    executor: Executor | None = None,
    workers: int | None = None,
    journal: str | Path | None = None,
    failures: Failures | None = None,
    max_runs: int | None = None,
    max_hours: float | None = None,
    patience: float = PATIENCE,
    watch: Watch | None = None,
    exact: bool = False,
) -> BestArm:
    """The best option of an expensive problem: run after run until the policy settles, or until a limit.

    Runs are done on an `executor` (the `concurrent.futures` protocol: threads, processes, or Dask's
    `client.get_executor()`), `workers` of them at the same time, by default as many as it has workers. Without an
    executor they are done on threads, one by default. The guarantee holds whatever order results come in
    (docs/theory/asynchronous.md). Each run has a seed of its own, from `seed`, its arm and its number.

    A `journal` is a file that every finished run is written to before it is used; the next call continues from it.
    If the policy has changed in between, wider bounds for instance, the search begins anew and uses the finished
    runs instead of repeating them. A cluster whose scheduler is silent, or which has no workers left, is waited for
    up to `patience` seconds: 0 stops at once, `math.inf` never. With `exact=True` every outcome is kept, also where
    an arm has more than 16,384 distinct ones.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> with ThreadPoolExecutor(4) as threads:
    ...     answer = search(LUCB(Bounded(0, 1), delta=0.05), problem, seed=1, executor=threads, journal="runs.jsonl")
    >>> answer.arm, answer.settled
    (0, True)
    """
    policy = stopping(policy, problem, "search")
    limit = np.inf if max_runs is None else whole_count("max_runs", max_runs)
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not patience >= 0.0:
        raise ValueError(f"patience must be a number of seconds, 0 or more; got {patience!r}. math.inf waits for ever.")
    hours = np.inf if max_hours is None else positive("max_hours", max_hours)
    at_once = None if workers is None else whole_count("workers", workers)
    started, root = time.monotonic(), root_of(seed)
    progress = Search(policy, problem.arms, root, exact=exact)
    with ExitStack() as stack:
        # the caller's own executor is not shut down here
        pool = stack.enter_context(ThreadPoolExecutor(at_once or 1)) if executor is None else executor
        book = None
        if journal is not None:
            book = stack.enter_context(RunJournal(Path(journal), identity(problem, policy, root)))
            book.repeat(progress)
        before = progress.learner.samples
        drive(
            progress,
            problem,
            pool,
            at_once=at_once,
            journal=book,
            failures=failures,
            max_runs=limit,
            max_seconds=3600.0 * hours,
            patience=patience,
            watch=watch,
        )
    origin = Origin.since(started, root, progress.run_seconds, continued=before > 0)
    learner = progress.learner
    past = Kept(progress.history.up_to(learner.samples, (learner.pulls, learner.intervals())))
    return answer_of(learner, progress.settled, past, origin, tuple(progress.failures))
