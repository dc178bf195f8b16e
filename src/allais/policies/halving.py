"""Sequential halving: drop the worse half after each phase, and reuse every sample (Karnin et al. 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from allais.errors import IntArray
from allais.policies.base import Policy, RewardsOfArms, check_settings, worth_of
from allais.policies.wsr import WSRRule, WSRState, check_budget, check_phase, fresh_state
from allais.preferences import Preference


@dataclass(frozen=True)
class SequentialHalving(Policy):
    """The best arm within a budget of samples: drop the worse half after each phase.

    The budget is shared evenly among phases. Values are estimated from all samples of an arm, not
    only those of the last phase, so that nothing is thrown away.

    The bold choice: an arm whose rare gain was not seen in the first phase is gone, and nothing warns of it
    (docs/choosing.md). `PatientRejects` looks longer before it rejects.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(problem, SequentialHalving(Preference(TverskyKahneman(0.61)), budget=10_000), seed=1).arm
    0
    """

    preference: Preference
    budget: int
    rewards: RewardsOfArms | None = None  # to check what is told; SubGaussian truncates the estimate
    name: str = field(default="sequential halving", repr=False)

    goal: ClassVar[str] = "budget"

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards, needs_rewards=False)
        object.__setattr__(self, "budget", check_budget(self.budget))

    def rule(self, n_arms: int) -> WSRRule:
        """The settings as the kernels read them: those of W-SR, which rejects one arm after another."""
        ends = halving_phases(self.budget, n_arms)
        return WSRRule(worth_of(self.preference, self.rewards_of(n_arms), n_arms), ends)

    def state(self, n_arms: int) -> WSRState:
        """The state before the first round."""
        return fresh_state(n_arms)

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a phase that is not there."""
        check_phase(rule, state)


def halving_phases(budget: int, n_arms: int) -> IntArray:
    """How often an arm that is still alive has been pulled when each arm is rejected, one entry an arm.

    Arms that are dropped together have the same entry.

    >>> halving_phases(96, 4)  # two of four after 12 pulls each, one of two after 24 more
    array([12, 12, 36])
    """
    rounds = max(math.ceil(math.log2(n_arms)), 1) if n_arms > 1 else 0
    if budget < n_arms * rounds:
        raise ValueError(
            f"budget must give every arm a sample in each of {rounds} phases; got {budget} samples for {n_arms} arms. "
            f"Give at least {n_arms * rounds}."
        )
    ends: list[int] = []
    alive, told = n_arms, 0
    for _ in range(rounds):
        told += budget // (alive * rounds)
        survivors = math.ceil(alive / 2)
        ends += [told] * (alive - survivors)
        alive = survivors
    return np.array(ends, dtype=np.int64)
