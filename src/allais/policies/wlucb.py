"""W-LUCB: sample the leader and its strongest rival until their intervals part (Algorithm 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray, not_negative, positive, share
from allais._kernels import kernel
from allais.bands import Band
from allais.bands.base import anytime_rule, widen
from allais.policies.base import (
    Policy,
    RewardsOfArms,
    as_list,
    check_band,
    check_settings,
    check_unit_interval,
    first_pulls,
    fitting_band,
    require_place,
    worth_of,
)
from allais.policies.steps import anticipate, fewest_asked, judged, learn_with_band, recommend_best, survey
from allais.policies.verbs import SETTLED, register
from allais.preferences import Preference
from allais.samples.memory import Memory, Worth, empty_memory, pick

PAPER_UNION = math.pi**2 / 3.0 + 1.0  # of the union bound in gamma'


@dataclass(frozen=True)
class WLUCB(Policy):
    """W-LUCB, the best arm at a given confidence (Algorithm 3).

    The recommendation is wrong with probability below `delta`. Two arms that are truly equal are
    never told apart: give a `tolerance` within which either will do. The band is `KL()`, or
    `Envelope()` for sub-Gaussian rewards; the paper's own is `Holder()`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.1)])
    >>> answer = best_arm(WLUCB(expected_value(), Bounded(0, 1), delta=0.1), problem, seed=1)
    >>> answer.arm, answer.settled
    (0, True)
    """

    preference: Preference
    rewards: RewardsOfArms
    delta: float
    tolerance: float = 0.0
    band: Band = None  # type: ignore[assignment]  # replaced by the one that fits the rewards
    union: float = field(default=PAPER_UNION, repr=False)  # log(m^4 K union / delta), where a band knows one round
    of_mean: bool = field(default=False, repr=False)  # the WE heuristic: see `WELUCB`
    name: str = field(default="W-LUCB", repr=False)

    goal: ClassVar[str] = "confidence"

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards)
        object.__setattr__(self, "delta", share("delta", self.delta))
        object.__setattr__(self, "union", positive("union", self.union))
        slack = not_negative("tolerance", self.tolerance, "0 asks for the best arm itself.")
        object.__setattr__(self, "tolerance", slack)
        if self.band is None:
            object.__setattr__(self, "band", fitting_band(self.rewards))
        check_band(self.band)
        self.band.rule(self.preference, as_list(self.rewards))  # refuses what does not fit
        if self.of_mean:
            check_unit_interval(self.preference, self.rewards)

    @property
    def error_rate(self) -> float:
        """The chance of a wrong recommendation that is allowed: delta."""
        return self.delta

    def rule(self, n_arms: int) -> WLUCBRule:
        """The settings as the kernels read them."""
        known = self.rewards_of(n_arms)
        worth = worth_of(self.preference, known, n_arms, of_mean=self.of_mean)
        always = anytime_rule(self.band, self.preference, known)
        if always is not None:  # the band itself holds in all rounds
            return WLUCBRule(worth, always, math.log(n_arms / self.delta), 0.0, self.tolerance, first_pulls(known))
        band, log_share = self.band.rule(self.preference, known), math.log(n_arms * self.union / self.delta)
        return WLUCBRule(worth, band, log_share, 4.0, self.tolerance, first_pulls(known))

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a second arm that is not there."""
        require_place("arm", int(state.second[0]), -1, state.asked.size - 1)
        require_place("round", int(state.rounds[0]), 0, 2**62)

    def state(self, n_arms: int) -> WLUCBState:
        """The state before the first round."""
        return WLUCBState(
            empty_memory(n_arms),
            np.zeros(n_arms, dtype=np.int64),
            np.ones(n_arms, dtype=np.bool_),
            np.zeros(1),
            np.zeros(1, dtype=np.int64),
            np.full(1, -1, dtype=np.int64),
            np.zeros(n_arms),
            np.zeros(n_arms),
            np.ones(n_arms, dtype=np.bool_),
        )


class WLUCBRule(NamedTuple):
    """W-LUCB's settings."""

    worth: Worth
    band: Any
    log_share: float  # log(K (pi^2/3 + 1) / delta), or log(K / delta) where the band holds in all rounds
    growth: float  # of the exponent with log m: 4, or 0 where the band holds in all rounds
    tolerance: float
    first: int


class WLUCBState(NamedTuple):
    """W-LUCB's memory."""

    memory: Memory
    asked: IntArray
    active: Any
    ticket: FloatArray
    rounds: IntArray  # m - 1: rounds of two pulls, (1,)
    second: IntArray  # l_m, still to be pulled in this round, or -1; (1,)
    low: FloatArray
    high: FloatArray
    eligible: Any


@kernel
def _exponent(rule, state):
    # gamma': log(m^4 K (pi^2/3 + 1) / delta). An arm has at most m samples in round m of the rule;
    # first pulls beyond one and data from elsewhere move m up so that this stays true.
    if rule.growth == 0.0:
        return rule.log_share
    m = state.rounds[0] + 1
    for pulls in state.memory.pulls:
        m = max(m, pulls)
    return rule.growth * np.log(m) + rule.log_share


@kernel
def _choose(rule, state, u):
    arm, _ = survey(rule.first, state)
    if arm < 0 and state.second[0] >= 0:
        arm = state.second[0]
        state.second[0] = -1
    if arm < 0:
        widen(rule.band, state.memory, _exponent(rule, state), state.low, state.high)
        leader = pick(state.memory.value, state.eligible, state.asked, u)  # h_m
        state.eligible[leader] = False
        rival = pick(state.high, state.eligible, state.asked, u)  # l_m
        apart = rival < 0 or state.high[rival] - state.low[leader] <= rule.tolerance  # one arm is the best
        if apart and judged(rule.first, state):
            return SETTLED
        # told results alone decide when to stop; where to look next may count on what is out
        if anticipate(state):
            rival = pick(state.high, state.eligible, state.asked, u)
        state.rounds[0] += 1
        state.second[0] = rival if rival >= 0 else fewest_asked(state, leader)
        arm = leader
    state.asked[arm] += 1
    return arm


@kernel
def _bracket(rule, state, low, high):
    widen(rule.band, state.memory, _exponent(rule, state), low, high)


register(WLUCBRule, choose=_choose, learn=learn_with_band, recommend=recommend_best, bracket=_bracket)
