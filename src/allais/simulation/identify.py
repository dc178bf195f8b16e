"""The best arm of a problem, by a policy that stops."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from allais._random import Seed
from allais.bands.base import Interval
from allais.learner import Learner
from allais.policies.base import Policy
from allais.problems import Problem
from allais.simulation.rollout import Rollout
from allais.simulation.runs import _count, _root


@dataclass(frozen=True, eq=False)
class BestArm:
    """What a policy recommends, and how sure it is."""

    arm: Hashable
    value: float  # the estimated value of that arm, as felt
    settled: bool  # False: the samples ran out first, and delta says nothing
    delta: float | None  # the chance that a settled answer is wrong, for fixed confidence
    samples: int
    pulls: dict[Hashable, int]
    intervals: dict[Hashable, Interval]
    learner: Learner  # all that was learned; it can go on asking

    def __str__(self) -> str:
        sure = "settled" if self.settled else "not settled"
        if self.settled and self.delta is not None:
            sure += f" at delta = {self.delta:g}"
        return f"{self.arm!r} ({sure}, value {self.value:.4g}, {self.samples} samples)"


def best_arm(problem: Problem, policy: Policy, seed: Seed, max_samples: int | None = None) -> BestArm:
    """Run a policy until it settles on the best arm, or until `max_samples`.

    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> answer = best_arm(problem, LUCB(Bounded(0, 1), delta=0.05), seed=1)
    >>> answer.arm, answer.settled, answer.delta
    (0, True, 0.05)
    """
    if policy.goal == "regret":
        raise ValueError(
            f"best_arm needs a policy that stops; {type(policy).__name__} keeps regret low for ever. "
            "Use WLUCB or TopTwo (a confidence), or SequentialHalving (a budget)."
        )
    limit = np.iinfo(np.int64).max if max_samples is None else _count("max_samples", max_samples)
    rollout = Rollout(policy, problem, _root(seed))
    rollout.run(int(limit))
    learner = Learner(policy, problem.arms, rollout.rng)
    learner._rule, learner._state = rollout.rule, rollout.state
    answer = learner.recommend()
    return BestArm(
        answer.arm,
        answer.value,
        rollout.stopped,
        policy.error_rate,
        rollout.samples,
        learner.pulls,
        learner.intervals(),
        learner,
    )
