"""Patient rejects: successive rejects after a floor of samples for every arm, so that rare events can show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from allais.errors import IntArray, share
from allais.policies.base import Policy, RewardsOfArms, check_settings, worth_of
from allais.policies.wsr import WSRRule, WSRState, check_budget, check_phase, enough_for, fresh_state, phases
from allais.preferences import Preference


@dataclass(frozen=True)
class PatientRejects(Policy):
    """The best arm within a budget, where outcomes may be rare and no bounds are known: the default for that goal.

    An arm that is rejected before its rare gain was seen never comes back, and one that is kept needs many samples to
    show its rare loss. So a share `floor` of the budget is spread evenly over all arms before any is rejected, and
    the rest is spent as W-SR spends it (Audibert et al. 2010), one rejection after the other. A rare gain of
    probability p is missed in about exp(-p m) of runs, where m, the samples of an arm before the first rejection, is
    about half of budget / arms for 16 arms.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(problem, PatientRejects(Preference(TverskyKahneman(0.61)), budget=10_000), seed=1).arm
    0
    """

    preference: Preference
    budget: int
    rewards: RewardsOfArms | None = None  # to check what is told; SubGaussian truncates the estimate
    floor: float = 0.25  # near 0 it is W-SR, at 1 uniform sampling; chosen in docs/choosing.md
    name: str = field(default="patient rejects", repr=False)

    goal: ClassVar[str] = "budget"

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards, needs_rewards=False)
        object.__setattr__(self, "budget", check_budget(self.budget))
        advice = "Give the share of the budget that is spread evenly."
        object.__setattr__(self, "floor", share("floor", self.floor, one=True, advice=advice))

    def rule(self, n_arms: int) -> WSRRule:
        """The settings as the kernels read them: those of W-SR."""
        ends = patient_phases(self.budget, n_arms, self.floor)
        return WSRRule(worth_of(self.preference, self.rewards_of(n_arms), n_arms), ends)

    def state(self, n_arms: int) -> WSRState:
        """The state before the first round."""
        return fresh_state(n_arms)

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a phase that is not there."""
        check_phase(rule, state)


def patient_phases(budget: int, n_arms: int, floor: float) -> IntArray:
    """How often an arm that is still alive has been pulled when each arm is rejected, one entry an arm.

    >>> patient_phases(200, 3, 0.5)  # 33 each, then the phases of W-SR with the 101 that are left
    array([58, 70])
    """
    enough_for(budget, n_arms)
    each = int(floor * budget) // n_arms
    rest = budget - each * n_arms
    return each + phases(max(rest, n_arms), n_arms)


def UniformSampling(  # noqa: N802
    preference: Preference, budget: int, rewards: RewardsOfArms | None = None
) -> PatientRejects:
    """Uniform sampling: every arm the same share of the budget, and the best estimate is recommended.

    A yardstick: nothing else sees rare gains of every arm as well, and nothing is worse with many ordinary arms.

    >>> from allais import Bandit, best_arm
    >>> answer = best_arm(Bandit([Bernoulli(0.9), Bernoulli(0.2)]), UniformSampling(expected_value(), 100), seed=1)
    >>> answer.arm, answer.pulls
    (0, {0: 50, 1: 50})
    """
    return PatientRejects(preference, budget, rewards, floor=1.0, name="uniform sampling")
