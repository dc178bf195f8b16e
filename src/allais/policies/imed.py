"""IMED: play the arm whose being best would surprise the least (Honda and Takemura 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import kernel
from allais.bands.base import NoBand
from allais.numerics.k_inf import QUICK, DistributionOfThree, k_inf_of_three
from allais.policies.core.base import KArmed, Propensity, setting
from allais.policies.core.knowledge import Fading, Recent, as_list, floors, least_probabilities, remembering
from allais.policies.core.steps import best_value, issue_with_floor, pick_highest, survey
from allais.policies.core.verbs import choose
from allais.rewards import Finite
from allais.samples.memory import Worth

MOST_VALUES = 3  # beyond that, K_inf is a search in more than one dimension, and no longer fast


@dataclass(frozen=True)
class IMED(KArmed):
    """Indexed minimum empirical divergence, low regret: play the arm with the least N K_inf(F, best value) + log N.

    K_inf is the least divergence from what was seen to a distribution on the same values that is worth as much as
    the best arm. It needs `Finite` rewards of up to three values, and monotone weights.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        memory: What is remembered where outcomes change, `Recent` or `Fading`; None for everything.
        floor: The least probability of every arm in play, for logs from which other policies are evaluated; or a list
            with that of each arm, such as [0.1, 0] for a control share.

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> policy = IMED(Preference(TverskyKahneman(0.61)), [Finite([0, 50]), Finite([7])])
    >>> bool(simulate(policy, problem, n_rounds=10_000, n_runs=5, seed=1).mean_regret[-1] < 2_000)
    True
    """

    memory: Recent | Fading | None = setting(None, remembering)
    floor: float | tuple[float, ...] = setting(0.0, least_probabilities)

    called: ClassVar[str] = "IMED"
    goal: ClassVar[str] = "regret"
    open_to_arms: ClassVar[bool] = True
    propensity: ClassVar[Propensity] = "ticket"
    needs_rewards: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse rewards and weights for which K_inf is a long search."""
        assert self.rewards is not None
        for known in as_list(self.rewards):
            if not isinstance(known, Finite) or len(known.values) > MOST_VALUES:
                raise ValueError(
                    f"IMED needs Finite rewards of at most {MOST_VALUES} values; got {known!r}. Use NPTS for others."
                )
        for weight in (self.preference.gains, self.preference.losses):
            if not weight.is_monotone:
                raise ValueError(f"IMED needs monotone weights; {weight!r} is not. Use NPTS.")

    def rule(self, n_arms: int) -> IMEDRule:
        known = self.rewards_of(n_arms)
        outcomes = np.zeros((n_arms, MOST_VALUES))
        for arm, one in enumerate(known):
            utility = np.unique(self.preference.utilities(np.array(one.values)))  # type: ignore[attr-defined]
            outcomes[arm] = np.pad(utility, (0, MOST_VALUES - utility.size), mode="edge")  # a gap of 0 weighs nothing
        return IMEDRule(self.worth(n_arms), NoBand(), outcomes, floors(self.floor, n_arms))


class IMEDRule(NamedTuple):
    """The settings of IMED."""

    worth: Worth
    band: NoBand
    outcomes: FloatArray  # v_1 <= v_2 <= v_3 as a utility, the last repeated where there are fewer; (n_arms, 3)
    floor: FloatArray  # the least probability of each arm in play


@kernel
def _share(memory, outcomes, arm, which):
    """The share of an arm's samples that are its value number `which`."""
    seen = 0
    for i in range(memory.sizes[arm]):
        if memory.utility[arm, i] == outcomes[arm, which]:
            seen += memory.counts[arm, i]
    return seen / memory.pulls[arm]


@kernel
def _index(rule, state, arm, target):
    memory = state.memory
    pulls = memory.pulls[arm]
    if memory.value[arm] >= target:
        return np.log(pulls)
    p1, p3 = _share(memory, rule.outcomes, arm, 0), _share(memory, rule.outcomes, arm, 2)
    v1, v2, v3 = rule.outcomes[arm, 0], rule.outcomes[arm, 1], rule.outcomes[arm, 2]
    distribution = DistributionOfThree(
        rule.worth.gains.table, rule.worth.losses.table, v1, v2, v3, p1, max(1.0 - p1 - p3, 0.0), p3
    )
    return pulls * k_inf_of_three(distribution, target, QUICK) + np.log(pulls)


@choose.of(IMEDRule)
def _(rule, state, u):
    arm, _ = survey(1, state)
    state.ticket[0] = 1.0
    if arm < 0:
        leader = best_value(state)
        for k in range(state.asked.size):
            if state.eligible[k] and state.memory.pulls[k] > 0:
                state.score[k] = -_index(rule, state, k, state.memory.value[leader])
            else:
                state.score[k] = np.inf
        arm = pick_highest(state, state.score, u)
    return issue_with_floor(state, arm, rule.floor, state.score, u)
