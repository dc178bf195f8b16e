"""The best arm of a problem, by a policy that stops."""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from allais._random import Seed
from allais.bands.base import Interval
from allais.errors import positive
from allais.experiment import Failures, RunJournal, Search, drive, reached_delta
from allais.experiment.cluster import PATIENCE
from allais.experiment.drive import Watch
from allais.experiment.journal import identity
from allais.experiment.runs import Failure
from allais.learner import Learner
from allais.policies.base import Policy
from allais.problems import Problem
from allais.problems.base import require_rivals
from allais.simulation.fit import fitted
from allais.simulation.rollout import Rollout
from allais.simulation.runs import _count, _root


@dataclass(frozen=True, eq=False)
class BestArm:
    """What a policy recommends, and how sure it is.

    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)], arms=["A21", "A28"])
    >>> print(best_arm(problem, TopTwo(expected_value(), Finite([0, 1]), delta=0.05), seed=1))
    'A21' (settled at delta = 0.05, value 1, 19 samples)
    """

    arm: Hashable
    value: float  # the estimated value of that arm, as felt
    settled: bool  # False: a limit came first, and delta says nothing
    delta: float | None  # the chance that a settled answer is wrong, for fixed confidence
    samples: int
    pulls: dict[Hashable, int]
    intervals: dict[Hashable, Interval]
    learner: Learner  # all that was learned; it can go on asking
    failures: tuple[Failure, ...] = ()  # the runs that failed, of an expensive problem

    @property
    def reached_delta(self) -> float | None:
        """The chance of a wrong answer that the samples really support; None if they support none below 1."""
        return reached_delta(self.learner)

    def __str__(self) -> str:
        sure = "settled" if self.settled else "not settled"
        if self.settled and self.delta is not None:
            sure += f" at delta = {self.delta:g}"
        return f"{self.arm!r} ({sure}, value {self.value:.4g}, {self.samples} samples)"


def best_arm(
    problem: Problem,
    policy: Policy,
    seed: Seed,
    max_samples: int | None = None,
    *,
    executor: Executor | None = None,
    at_once: int | None = None,
    journal: str | Path | None = None,
    failures: Failures | None = None,
    max_hours: float | None = None,
    patience: float = PATIENCE,
    watch: Watch | None = None,
    exact: bool = False,
) -> BestArm:
    """Run a policy until it settles on the best arm, or until `max_samples` or `max_hours`.

    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> answer = best_arm(problem, LUCB(Bounded(0, 1), delta=0.05), seed=1)
    >>> answer.arm, answer.settled, answer.delta
    (0, True, 0.05)

    An expensive problem runs on an `executor` (the `concurrent.futures` protocol: threads, processes,
    or Dask's `client.get_executor()`), `at_once` runs at the same time, by default as many as it has
    workers. The guarantee holds whatever order results come in (docs/theory/asynchronous.md). Each
    run has a seed of its own, from `seed`, its arm and its number. A `journal` is a file that every finished
    run is written to before it is used; the next call continues from it. If the policy has changed in between,
    wider bounds for instance, the search begins anew and uses the finished runs instead of repeating them.
    A cluster whose scheduler is silent, or which has no workers left, is waited for up to `patience` seconds: 0
    stops at once, `math.inf` never. With `exact=True` every outcome is kept, also where an arm has more than
    16,384 distinct ones.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(4) as workers:
    ...     answer = best_arm(problem, LUCB(Bounded(0, 1), delta=0.05), seed=1, executor=workers, journal="runs.jsonl")
    >>> answer.arm, answer.settled
    (0, True)
    """
    if policy.goal == "regret":
        raise ValueError(
            f"best_arm needs a policy that stops; {type(policy).__name__} keeps regret low for ever. "
            "Use WLUCB or TopTwo (a confidence), or PatientTopTwo (a budget)."
        )
    limit = np.iinfo(np.int64).max if max_samples is None else _count("max_samples", max_samples)
    policy = fitted(policy, problem)  # or refused, before anything runs
    require_rivals(problem.arms)
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not patience >= 0.0:
        raise ValueError(f"patience must be a number of seconds, 0 or more; got {patience!r}. math.inf waits for ever.")
    hours = np.inf if max_hours is None else positive("max_hours", max_hours)
    if executor is None and journal is None and max_hours is None and failures is None and watch is None:
        rollout = Rollout(policy, problem, _root(seed), exact=exact)
        rollout.run(int(limit))
        learner = Learner(policy, problem.arms, rollout.rng)
        learner._rule, learner._state = rollout.rule, rollout.state
        return _answer(learner, rollout.stopped, ())
    root = _root(seed)
    search = Search(policy, problem.arms, root, exact=exact)
    with ExitStack() as stack:
        # the caller's own executor is not shut down here
        workers = stack.enter_context(ThreadPoolExecutor(at_once or 1)) if executor is None else executor
        book = None
        if journal is not None:
            book = stack.enter_context(RunJournal(Path(journal), identity(problem, policy, root)))
            book.repeat(search)
        drive(
            search,
            problem,
            workers,
            at_once=None if at_once is None else _count("at_once", at_once),
            journal=book,
            failures=failures,
            max_runs=limit,
            max_seconds=3600.0 * hours,
            patience=patience,
            watch=watch,
        )
    return _answer(search.learner, search.settled, tuple(search.failures))


def _answer(learner: Learner, settled: bool, failures: tuple[Failure, ...]) -> BestArm:
    answer = learner.recommend()
    return BestArm(
        answer.arm,
        answer.value,
        settled,
        learner.policy.error_rate,
        learner.samples,
        learner.pulls,
        learner.intervals(),
        learner,
        failures,
    )
