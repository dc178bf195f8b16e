"""NPTS: value each arm under a random reweighting of what was seen, and play the best (Baudry et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel
from allais.bands.base import bounds_of, refresh, refuse_unbounded
from allais.policies.base import Policy, RewardsOfArms, as_list, check_settings, worth_of
from allais.policies.bins import Bins, bins_for, draw_value
from allais.policies.steps import learn_without_band, no_interval, recommend_best, survey
from allais.policies.verbs import register
from allais.preferences import Preference
from allais.samples.draws import stream_of
from allais.samples.memory import Memory, Worth, empty_memory, pick


@dataclass(frozen=True)
class NPTS(Policy):
    """Non-parametric Thompson sampling, low regret: play the arm that is best under a random reweighting.

    Each outcome seen gets a weight from Gamma(how often), the best outcome that could occur one from
    Gamma(1); the arm is worth what that law is worth.

    An arm with more than 128 distinct outcomes is drawn in bins: single outcomes at both ends, and at most an
    eighth of the samples beyond it in any other. So no event is too rare to be drawn. The probabilities beyond
    each bin are drawn exactly; what bins lack against the value of all samples is known, and added
    (`policies/bins.py`). Logarithmic regret is proven for means (Riou & Honda 2020) and for conditional values
    at risk (Baudry et al. 2021), without bins; for other weights, and in bins, it is measured (docs/choosing.md).

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> people = Preference(TverskyKahneman(0.61))
    >>> ours = simulate(NPTS(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> papers = simulate(WUCB(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> bool(ours.mean_regret[-1] < 0.25 * papers.mean_regret[-1])
    True
    """

    preference: Preference
    rewards: RewardsOfArms
    name: str = field(default="NPTS", repr=False)

    goal: ClassVar[str] = "regret"
    open_to_arms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards)
        refuse_unbounded("NPTS", as_list(self.rewards))

    def rule(self, n_arms: int) -> NPTSRule:
        """The settings as the kernels read them."""
        known = self.rewards_of(n_arms)
        tops = [bounds_of(self.preference, one)[1] for one in known]
        return NPTSRule(worth_of(self.preference, known, n_arms), bins_for(self.preference, np.array(tops)))

    def state(self, n_arms: int) -> NPTSState:
        """The state before the first round."""
        return NPTSState(
            empty_memory(n_arms),
            np.zeros(n_arms, dtype=np.int64),
            np.ones(n_arms, dtype=np.bool_),
            np.zeros(1),
            np.zeros(n_arms),
            np.ones(n_arms, dtype=np.bool_),
        )


class NPTSRule(NamedTuple):
    """The settings of NPTS."""

    worth: Worth
    bins: Bins


class NPTSState(NamedTuple):
    """The memory of NPTS."""

    memory: Memory
    asked: IntArray
    active: Any
    ticket: FloatArray
    worth: FloatArray  # scratch: the values drawn, (n_arms,)
    eligible: Any


@kernel
def _choose(rule, state, u):
    arm, _ = survey(1, state)
    if arm < 0:
        stream = stream_of(u)
        for k in range(state.asked.size):
            if state.eligible[k]:
                if state.memory.pulls[k] == 0:  # nothing was told of any arm yet
                    state.worth[k] = np.inf
                    continue
                state.worth[k], stream = draw_value(rule.bins, rule.worth, state.memory, k, stream)
        arm = pick(state.worth, state.eligible, state.asked, u)
    state.asked[arm] += 1
    return arm


@kernel
def _learn(rule, state, arm, felt, raw, ticket):
    learn_without_band(rule, state, arm, felt, raw, ticket)
    refresh(rule.bins, state.memory, arm)


@kernel
def _bracket(rule, state, low, high):
    no_interval(low, high)  # it draws values, and keeps no interval


register(NPTSRule, choose=_choose, learn=_learn, recommend=recommend_best, bracket=_bracket)
