"""The best arm of a problem, by a policy that stops, at compiled speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from allais._checks import brief, whole
from allais._random import Seed
from allais.bands import Interval
from allais.learner import Learner
from allais.policies.base import Policy
from allais.policies.promises import Promise
from allais.preferences.sure import sure_amount
from allais.problems import Problem
from allais.problems.base import require_rivals
from allais.simulation.confidence import as_bad_as_can_be, holds_without, intervals_without, reached_delta
from allais.simulation.history import NOTHING, Kept, Moment, Repeated, noted
from allais.simulation.rollout import Rollout
from allais.simulation.simulate import root_of
from allais.simulation.suitability import fitted, lotteries_of

Past = Callable[[], tuple[Moment, ...]]


class Failure(NamedTuple):
    """A run of an expensive simulator that failed, and what it counted as."""

    arm: Hashable
    number: int
    seed: int
    reason: str
    reward: float | None  # None: the run was left out


class Origin(NamedTuple):
    """When and how an answer was found: what a report says about itself."""

    seed: str
    finished: float  # seconds since 1970
    seconds: float  # how many the call took
    run_seconds: float | None = None  # the sum over all runs, where each is expensive
    continued: bool = False  # whether a journal was continued, so that the call was only the last part

    @classmethod
    def since(
        cls, started: float, root: np.random.SeedSequence, run_seconds: float | None = None, continued: bool = False
    ) -> Origin:
        """The origin of an answer that is found now; `started` is on the monotonic clock."""
        seed = str(root.entropy) + (f", {root.spawn_key}" if root.spawn_key else "")
        return cls(seed, time.time(), time.monotonic() - started, run_seconds, continued)


@dataclass(frozen=True, eq=False)
class BestArm:
    """What a policy recommends, and how sure it is.

    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)], arms=["A21", "A28"])
    >>> print(best_arm(TopTwo(expected_value(), Finite([0, 1]), delta=0.05), problem, seed=1))
    'A21' (settled at delta = 0.05, feels like 1 for sure, 19 samples)
    """

    arm: Hashable
    value: float  # the estimated value of that arm, as felt
    settled: bool  # False: a limit came first, and delta says nothing
    delta: float | None  # the chance that a settled answer is wrong, for fixed confidence; None where it is withdrawn
    samples: int
    pulls: dict[Hashable, int]
    intervals: dict[Hashable, Interval]
    learner: Learner  # all that was learned; it can go on asking
    failures: tuple[Failure, ...] = ()  # the runs that failed, of an expensive problem
    past: Past = NOTHING  # what `history` is made from
    origin: Origin | None = None  # when and how it was found
    excluded: Mapping[Hashable, int] = field(default_factory=dict)  # runs of each arm that failed and were left out

    @cached_property
    def history(self) -> tuple[Moment, ...]:
        """How the intervals closed: where they were after growing numbers of samples, up to the end."""
        return self.past()

    @property
    def reached_delta(self) -> float | None:
        """The least chance of a wrong answer that the samples support; None if they support none below 1.

        Runs that were left out count as what speaks most against the answer.
        """
        if not self.excluded:
            return reached_delta(self.learner)
        worst = as_bad_as_can_be(self.learner, self.arm, self.excluded)
        return reached_delta(worst) if worst is not None and worst.recommend().arm == self.arm else None

    @property
    def withdrawn(self) -> bool:
        """Whether runs that were left out might overturn the answer, so that its policy's promise does not hold."""
        return self.delta is None and self.learner.policy.error_rate is not None

    @property
    def promise(self) -> Promise:
        """What a settled answer rests on: "proven", "asymptotic" or "none", as its policy says.

        It is "none" after runs were left out that might overturn the answer.

        >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
        >>> best_arm(TopTwo(expected_value(), Finite([0, 1]), delta=0.05), problem, seed=1).promise
        'proven'
        """
        return "none" if self.withdrawn else self.learner.policy.promise

    def __str__(self) -> str:
        sure = "settled" if self.settled else "not settled"
        if self.settled and self.delta is not None:
            sure += f" at delta = {self.delta:g}"
        if self.withdrawn:
            sure += f", promise withdrawn as {sum(self.excluded.values())} runs were left out"
        policy = self.learner.policy
        of_mean = getattr(policy, "of_mean", False)  # such a policy compares w(mean), which is no value of outcomes
        felt = math.nan if of_mean else sure_amount(policy.preference, self.value)
        worth = f"value {self.value:.4g}" if math.isnan(felt) else f"feels like {felt:.4g} for sure"
        return f"{self.arm!r} ({sure}, {worth}, {self.samples} samples)"


def best_arm(
    policy: Policy, problem: Problem, *, seed: Seed, max_samples: int | None = None, exact: bool = False
) -> BestArm:
    """Run a policy until it settles on the best arm, or until `max_samples`, in one compiled loop.

    With `exact=True` every outcome is kept, also where an arm has more than 16,384 distinct ones. For a simulator
    that takes long and runs on many workers, use `search`.

    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> answer = best_arm(LUCB(Bounded(0, 1), delta=0.05), problem, seed=1)
    >>> answer.arm, answer.settled, answer.delta
    (0, True, 0.05)
    """
    policy = stopping(policy, problem, "best_arm")
    limit = np.iinfo(np.int64).max if max_samples is None else whole("max_samples", max_samples)
    started, root = time.monotonic(), root_of(seed)
    rollout = Rollout(policy, problem, root_of(root), exact=exact)
    past: Past
    if lotteries_of(problem):
        rollout.run(int(limit))
        past = Repeated(policy, problem, root, exact, rollout.samples)
    else:
        past = Kept(noted(rollout, int(limit)))
    return answer_of(rollout.learner(), rollout.stopped, past, Origin.since(started, root))


def stopping(policy: Policy, problem: Problem, caller: str) -> Policy:
    """The policy for a problem, or an error before anything runs: it must stop, and there must be a choice."""
    if isinstance(problem, Policy) or isinstance(policy, Problem):
        raise TypeError(f"{caller} takes a policy, then a problem; got them the other way round. Swap the two.")
    if isinstance(policy, type) and issubclass(policy, Policy) and policy.goal != "regret":
        raise TypeError(
            f"a policy comes with its settings; got the class {policy.__name__}. Write {policy.__name__}(...)."
        )
    kind = policy if isinstance(policy, type) else type(policy)
    if not issubclass(kind, Policy):
        raise TypeError(f"{caller} runs a policy; got {brief(policy)}. Write WLUCB(preference, rewards, delta=0.05).")
    if policy.goal == "regret":
        raise ValueError(
            f"{caller} needs a policy that stops; {kind.__name__} keeps regret low for ever. "
            "Use WLUCB or TopTwo (a confidence), or PatientTopTwo (a budget)."
        )
    policy = fitted(policy, problem)
    require_rivals(problem.arms)
    return policy


def answer_of(
    learner: Learner,
    settled: bool,
    past: Past,
    origin: Origin,
    failures: tuple[Failure, ...] = (),
    excluded: Mapping[Hashable, int] | None = None,
) -> BestArm:
    """What a learner recommends, with all that it knows; a promise that `excluded` runs might break is withdrawn."""
    answer, left_out = learner.recommend(), excluded or {}
    kept = not left_out or holds_without(learner, answer.arm, left_out, settled=settled)
    return BestArm(
        answer.arm,
        answer.value,
        settled,
        learner.policy.error_rate if kept else None,
        learner.samples,
        learner.pulls,
        intervals_without(learner, left_out) if left_out else learner.intervals(),
        learner,
        failures,
        past,
        origin,
        left_out,
    )
