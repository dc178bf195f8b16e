"""W-LUCB: sample the leader and its strongest rival until their intervals part (Algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import IntArray, positive, share
from allais._kernels import by_reference
from allais.bands import Band, Holder
from allais.bands.base import anytime_rule
from allais.bands.betting import Followed, SequenceRule
from allais.policies.core.base import Policy, Promise, Propensity, no_worse, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of, share_of_delta
from allais.policies.core.knowledge import RewardsOfArms
from allais.policies.core.state import require_place
from allais.policies.core.steps import anticipate, bounds_at, fewest_asked, issue, judged, pick_highest, survey
from allais.policies.core.verbs import SETTLED, choose, exponent
from allais.policies.wagers import check_wagers
from allais.preferences import Preference
from allais.samples.memory import Worth

PAPER_UNION = math.pi**2 / 3.0 + 1.0  # the constant of the union bound in gamma'


@dataclass(frozen=True)
class WLUCB(Policy):
    """W-LUCB, the best arm at a given confidence (Algorithm 3).

    The band is `KL`, or `Envelope` for sub-Gaussian rewards; with `band=Asymptotic(rarest=...)` no rewards need be
    declared, and the promise is asymptotic. With `band=Betting()` intervals follow the order of outcomes, and are far
    narrower for many values; `TopTwo` judges two arms together, in still fewer samples.
    `as_printed` is the paper's own algorithm.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        band: How values are bounded; by default the narrowest band that holds for the rewards.
        of_mean: Whether w(mean) takes the place of the value, as in the WE heuristics.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.
        union: The constant in the exponent log(m^4 K union / delta), for a band of one round.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.1)])
    >>> answer = best_arm(WLUCB(expected_value(), Bounded(0, 1), delta=0.1), problem, seed=1)
    >>> answer.arm, answer.settled
    (0, True)
    """

    rewards: RewardsOfArms | None = None
    band: Band = setting(None)
    of_mean: bool = setting(False, repr=False)
    delta: float = setting(check=share)
    tolerance: float = setting(0.0, no_worse)
    union: float = setting(PAPER_UNION, positive, repr=False)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "W-LUCB"
    goal: ClassVar[str] = "confidence"
    needs_rewards: ClassVar[bool] = True
    promises: ClassVar[Promise] = "proven"
    propensity: ClassVar[Propensity] = "one"
    takes_bets: ClassVar[bool] = True

    @classmethod
    def as_printed(cls, preference: Preference, rewards: RewardsOfArms, **settings: Any) -> WLUCB:
        """The paper's algorithm to the letter: the Hölder band at exponent log(m^4 K (pi^2/3 + 1) / delta).

        Args:
            preference: What is maximised.
            rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
            **settings: Other settings, such as `delta`.

        >>> WLUCB.as_printed(expected_value(), Bounded(0, 1), delta=0.1).band
        Holder(undistorted=False)
        """
        return cls(preference, rewards, band=Holder(), **settings)

    def rule(self, n_arms: int) -> WLUCBRule:
        known, worth, first = self.rewards_of(n_arms), self.worth(n_arms), self.first(n_arms)
        always = anytime_rule(self.band, self.preference, known)
        if always is not None:  # the band itself holds in all rounds
            log_share = math.log(n_arms / share_of_delta(self))
            always = always.at(log_share) if isinstance(always, SequenceRule) else always
            least = getattr(always, "least", None)  # samples before a band judges an arm: no leader before them
            first = first if least is None else max(first, least(log_share))
            # an error is an end of one arm's interval: the upper one of the best arm's, the lower one of any other's
            one_end = getattr(always, "one_end", None)
            spared = 0.0 if one_end is None else log_share - one_end(log_share)
            return WLUCBRule(worth, always, log_share, 0.0, spared, self.tolerance, first)
        band, log_share = self.band.rule(self.preference, known), math.log(n_arms * self.union / share_of_delta(self))
        return WLUCBRule(worth, band, log_share, 4.0, 0.0, self.tolerance, first)

    def own(self, n_arms: int) -> Pair:
        return Pair(np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int64))

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a second arm that does not exist."""
        require_place("arm", int(state.own.second[0]), -1, state.asked.size - 1)
        require_place("round", int(state.own.rounds[0]), 0, 2**62)
        if isinstance(state.kept, Followed):
            check_wagers(state.kept.followed, state.asked.size)


class WLUCBRule(NamedTuple):
    """W-LUCB's settings."""

    worth: Worth
    band: Any
    log_share: float  # log(K (pi^2/3 + 1) / delta), or log(K / delta) where the band holds in all rounds
    growth: float  # the factor of log m in the exponent: 4, or 0 where the band holds in all rounds
    spared: float  # of the exponent, where an interval's ends hold together and only one of them counts
    tolerance: float
    first: int


@by_reference
class Pair(NamedTuple):
    """A round has two pulls: which arm is second, and how many rounds there were."""

    rounds: IntArray  # m - 1, (1,)
    second: IntArray  # l_m, still to be pulled in this round, or -1; (1,)


@exponent.of(WLUCBRule)
def confidence(rule, state):
    """The exponent of gamma', log(m^4 K (pi^2/3 + 1) / delta), or log(K / delta) where the band holds in all rounds."""
    # An arm has at most m samples in round m of the rule; first pulls beyond one and data from elsewhere move m
    # up so that this stays true.
    if rule.growth == 0.0:
        return rule.log_share
    m = state.own.rounds[0] + 1
    for pulls in state.memory.pulls:
        m = max(m, pulls)
    return rule.growth * np.log(m) + rule.log_share


@choose.of(WLUCBRule)
def _(rule, state, u):
    arm, _ = survey(rule.first, state)
    if arm < 0 and state.own.second[0] >= 0:
        arm = state.own.second[0] if state.active[state.own.second[0]] else -1  # else it broke a guardrail meanwhile
        state.own.second[0] = -1
    if arm < 0:
        bounds_at(rule, state, confidence(rule, state) - rule.spared)
        leader = pick_highest(state, state.memory.value, u)  # h_m
        state.eligible[leader] = False
        rival = pick_highest(state, state.high, u)  # l_m
        apart = rival < 0 or state.high[rival] - state.low[leader] <= rule.tolerance  # one arm is the best
        if apart and judged(rule.first, state):
            return SETTLED
        # told results alone decide when to stop; where to look next may count on what is out
        if anticipate(state):
            rival = pick_highest(state, state.high, u)
        state.own.rounds[0] += 1
        state.own.second[0] = rival if rival >= 0 else fewest_asked(state, leader)
        arm = leader
    return issue(state, arm)
