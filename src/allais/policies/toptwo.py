"""Top-two: sample the leader or its closest challenger, and stop on a joint likelihood ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import brief, share
from allais._kernels import kernel, verb
from allais.bands import Betting
from allais.bands._joint_test import TOGETHER, WHOLE, DistributionRule, apart, distribution_rule, few_values
from allais.bands._order_statistics import Duel, QuantileRule, duel_of, meeting, quantile_rule
from allais.bands._wagers import Parted, no_wagers, none_parted
from allais.bands._wealth import is_parted, note_parted, place_of_leader
from allais.bands.base import anytime_rule, no_interval, widen
from allais.policies.core.base import KArmed, Promise, no_worse, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of, share_of_delta
from allais.policies.core.knowledge import as_list, first_pulls, fitting_band
from allais.policies.core.state import require_place
from allais.policies.core.steps import issue, judged, pick_highest, survey
from allais.policies.core.verbs import SETTLED, bracket, choose, exponent
from allais.policies.wagers import EitherRule, WagerRule, check_parted, check_wagers, wager_rule
from allais.policies.wsr import floor_of_budget, more_than_arms, spent, whole_budget
from allais.preferences.named import level_of
from allais.rewards import SubGaussian
from allais.samples.draws import stream_of, uniform
from allais.samples.memory import Worth

RAREST = 0.1  # of two arms that are compared, each gets this share of samples at least
AUTO = "auto"  # evidence: chosen by what is declared and told first, or by a function of what was seen:
BY_RATIOS = MIXED, RATIOS = "mixed", "ratios"
LOOKS = 128  # it looks whether to stop after every 1 / LOOKS of all samples: a look costs more than a sample


def evidence_of(name: str, given: Any) -> Betting | str:
    """How pairs are separated: by bets, by likelihood ratios, or by what takes fewer samples."""
    if isinstance(given, Betting) or (isinstance(given, str) and given in (AUTO, *BY_RATIOS)):
        return given
    raise TypeError(f'{name} must be "auto", "mixed", "ratios" or Betting(); got {brief(given)}. Leave it out.')


@dataclass(frozen=True)
class TopTwo(KArmed):
    """The best arm at a given confidence: two arms are judged together, often in fewer samples than W-LUCB needs.

    A sample goes to the arm with the highest value, the leader, or to the challenger that is hardest to distinguish
    from it; more often to the one with the wider half-interval. The policy stops when the leader is separated from
    every challenger: whenever the challenger is the better of the two, what was seen is too unlikely
    (docs/theory/best-arm.md). Arms with up to four values are judged by their whole distribution, others by the tails
    at each of their outcomes or by bets on the value, and percentiles by how many outcomes lie below.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.
        evidence: How pairs of arms are separated. "auto" is "mixed" where few values are declared, and "ratios" for
            percentiles and sub-Gaussian rewards; elsewhere the first outcomes decide between ratios (few values) and
            bets. "ratios" takes the product of both arms' likelihood ratios. "mixed" also takes the ratio of one arm
            alone, and remembers which pairs were separated. Both accept outcomes from elsewhere, other preferences and
            wider bounds, after which "mixed" forgets its pairs. `Betting()` always bets.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> policy = TopTwo(Preference(TverskyKahneman(0.61)), Finite([0, 7, 50]), delta=0.05)
    >>> answer = best_arm(policy, problem, seed=1)
    >>> answer.arm, answer.settled, answer.samples < 3_000
    (0, True, True)
    """

    delta: float = setting(check=share)
    tolerance: float = setting(0.0, no_worse)
    evidence: Betting | str = setting(AUTO, evidence_of)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "top-two"
    goal: ClassVar[str] = "confidence"
    opened_by: ClassVar[str] = 'evidence="ratios"'
    needs_rewards: ClassVar[bool] = True
    promises: ClassVar[Promise] = "proven"

    def check(self) -> None:
        """Refuse rewards for which no band holds."""
        assert self.rewards is not None
        band = self.evidence if isinstance(self.evidence, Betting) else fitting_band(self.rewards)
        band.rule(self.preference, as_list(self.rewards))
        if self.evidence == AUTO and not self._may_bet:  # for good: another preference or wider bounds change no state
            object.__setattr__(self, "evidence", MIXED if few_values(as_list(self.rewards)) else RATIOS)
        if self.evidence not in BY_RATIOS:  # bets follow its own choices, for one preference and its bounds
            object.__setattr__(self, "open_to_data", False)

    @property
    def _may_bet(self) -> bool:
        """Whether bets may take fewer samples, as far as is declared."""
        known, weights = as_list(self.rewards or ()), (self.preference.gains, self.preference.losses)
        ratios = few_values(known) or any(isinstance(one, SubGaussian) for one in known)
        smooth = all(weight.is_monotone and not weight.breaks for weight in weights)
        return smooth and not ratios and level_of(self.preference) is None

    def rule(self, n_arms: int) -> Any:
        """The settings as the kernels read them."""
        known, worth, delta = self.rewards_of(n_arms), self.worth(n_arms), share_of_delta(self)

        def by_bets(part: float) -> WagerRule:
            return wager_rule(worth, self.preference, known, part * delta, self.tolerance)

        if isinstance(self.evidence, Betting):
            return by_bets(1.0)
        band: Any = quantile_rule(self.preference, known, always=True)
        if band is None:
            cuts = anytime_rule(fitting_band(known), self.preference, known)
            band = distribution_rule(cuts, self.preference, known)
        beta, log_share = math.log(max(n_arms - 1, 1) / delta), math.log(n_arms / delta)
        ratios = TopTwoRule(worth, band, beta, log_share, self.tolerance, first_pulls(known))
        if self.evidence == MIXED and isinstance(band, DistributionRule):
            mixed = ratios._replace(band=band.mixed(max(n_arms - 1, 1)), beta=beta - math.log(TOGETHER))
            return TopTwoOnceRule(*mixed)
        if self.evidence in BY_RATIOS:
            return ratios
        band = band._replace(few=band.whole)  # no share is left to cuts: bets do better
        whole = TopTwoOnceRule(*ratios._replace(band=band, beta=beta - math.log(WHOLE)))
        return EitherRule(worth, band, whole, by_bets(1.0), by_bets(1.0 - WHOLE), log_share + math.log(2.0))

    def own(self, n_arms: int) -> Any:
        """The bets and their wealth; which pairs were separated; of percentiles, which two are compared."""
        if self.evidence not in BY_RATIOS:
            return no_wagers(n_arms)
        whole = self.evidence == MIXED and level_of(self.preference) is None
        return none_parted(n_arms) if whole else duel_of(self.preference)

    def reopened(self, own: Any, n_arms: int) -> Any:
        """Forget which pairs were separated."""
        fresh = self.own(n_arms)
        return fresh if isinstance(own, Parted) or type(own) is not type(fresh) else own

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse saved bets with invalid indices."""
        if isinstance(state.own, Parted):
            check_parted(state.own, state.asked.size)
        elif self.evidence in BY_RATIOS:
            check_duel(state)
        else:
            check_wagers(state.own, state.asked.size)


class TopTwoRule(NamedTuple):
    """The settings of top-two."""

    worth: Worth
    band: Any
    beta: float  # log((K - 1) / delta): what the ratios of a pair must reach together
    log_share: float  # log(K / delta), for the intervals that are shown
    tolerance: float
    first: int


class TopTwoOnceRule(NamedTuple):
    """The same, where a pair that was parted once stays so, and only rivals that are left take samples (`Parted`)."""

    worth: Worth
    band: Any
    beta: float
    log_share: float
    tolerance: float
    first: int


def _all_apart(rule, state, leader, looks):
    """Whether the leader is parted from every eligible rival; without a look, whether it is known to be."""


@kernel
def _apart_at_once(rule, state, leader, looks):
    for k in range(state.asked.size):
        if looks and state.eligible[k]:
            looks = apart(rule.band, state.kept, state.memory, leader, k, rule.beta, rule.tolerance)
    return looks


all_apart = verb(_all_apart, default=_apart_at_once)


@all_apart.of(TopTwoOnceRule)
def _(rule, state, leader, looks):
    done, place, new = True, place_of_leader(state.own, leader), state.score
    for k in range(state.asked.size):
        new[k] = 0.0
        if not state.eligible[k] or is_parted(state.own, place, k):
            state.eligible[k] = False
        elif looks and apart(rule.band, state.kept, state.memory, leader, k, rule.beta, rule.tolerance):
            state.eligible[k], new[k] = False, 1.0
        else:
            done = False
    for k in range(state.asked.size):  # only with a choice: to ask in vain changes nothing, since no event tells of it
        if new[k] > 0.0 and not done:
            note_parted(state.own, leader, k)
    return done


@kernel
def all_parted(rule, state, leader):
    """Whether the leader is parted from every challenger."""
    told = state.memory.pulls.sum()
    looks = told % max(told // LOOKS, 1) == 0
    return all_apart(rule, state, leader, looks) and judged(rule.first, state)


def check_duel(state: Any) -> None:
    """Refuse a pair that does not exist."""
    if isinstance(state.own, Duel):
        for arm in state.own.pair[:2].tolist():
            require_place("arm", arm, -1, state.asked.size - 1)


def _leader_or_rival(band, beta, tolerance, state, leader, u):
    """The leader, or the eligible arm that is hardest to tell from it."""


@kernel
def _by_widths(band, beta, tolerance, state, leader, u):
    """The leader, or the eligible arm that is hardest to tell from it, by the half-intervals at exponent beta / 2."""
    widen(band, state.kept, state.memory, 0.5 * beta, state.low, state.high)
    down = state.memory.value[leader] - state.low[leader]
    for k in range(state.asked.size):
        state.score[k] = -np.inf
        if not state.eligible[k]:
            continue
        gap = max(state.memory.value[leader] - state.memory.value[k], 0.0) + tolerance  # to be parted by
        up = state.high[k] - state.memory.value[k]
        spread = down * down + up * up
        # Z of two normal distributions with these widths; it says whom to sample, not when to stop
        cost = 0.5 * beta * gap * gap / spread if spread > 0.0 else (np.inf if gap > 0.0 else 0.0)
        state.score[k] = -cost - np.log(state.memory.pulls[k])
    rival = pick_highest(state, state.score, u)
    if rival < 0:
        return leader
    # Samples in proportion to the squares of the two widths lead to where their sum of squares is least
    # (docs/theory/best-arm.md). Ties were broken by u itself, so the coin comes from its stream.
    up = state.high[rival] - state.memory.value[rival]
    coin, _ = uniform(stream_of(u))
    return rival if coin * (down * down + up * up) >= down * down else leader


leader_or_rival = verb(_leader_or_rival, default=_by_widths)


@leader_or_rival.of(DistributionRule)
def _(band, beta, tolerance, state, leader, u):
    # where outcomes were set aside, samples are in proportion to those that count: with one arm of twenty short of its
    # share, all would take a tenth more before it is parted
    for k in range(state.asked.size):
        pulls, aside = state.memory.pulls[k], 0
        for outcome in state.kept.aside[k]:
            aside += not np.isnan(outcome)
        if aside > 0:
            wider = np.sqrt(pulls / max(pulls - aside, 0.5))
            state.low[k] = state.memory.value[k] - wider * (state.memory.value[k] - state.low[k])
            state.high[k] = state.memory.value[k] + wider * (state.high[k] - state.memory.value[k])
    return _by_widths(band, beta, tolerance, state, leader, u)


@leader_or_rival.of(QuantileRule)
def _(band, beta, tolerance, state, leader, u):
    # widths of intervals jump where distributions have atoms or gaps: the pair, and the share of each, are those of
    # what the two have shown against meeting where that is likeliest (information-directed: You et al. 2023)
    pair, told = state.own.pair, 0
    for pulls in state.memory.pulls:
        told += pulls
    if told >= pair[2] or pair[0] != leader or pair[1] < 0 or not state.eligible[pair[1]]:
        for k in range(state.asked.size):
            state.score[k] = -np.inf
            if state.eligible[k]:
                down, up = meeting(band, state.memory, leader, k, tolerance)
                state.score[k] = -down - up - np.log(state.memory.pulls[k])
        rival = pick_highest(state, state.score, u)
        if rival < 0:
            return leader
        down, up = meeting(band, state.memory, leader, rival, tolerance)
        pair[0], pair[1], pair[2] = leader, rival, told + max(told // LOOKS, 1)
        state.own.chance[0] = min(max(down / (down + up), RAREST), 1.0 - RAREST) if down + up > 0.0 else 0.5
    coin, _ = uniform(stream_of(u))
    return leader if coin < state.own.chance[0] else pair[1]


@choose.of(TopTwoRule, TopTwoOnceRule)
def _(rule, state, u):
    arm, _ = survey(rule.first, state)
    if arm < 0:
        leader = pick_highest(state, state.memory.value, u)
        state.eligible[leader] = False
        if all_parted(rule, state, leader):
            return SETTLED
        arm = leader_or_rival(rule.band, rule.beta, rule.tolerance, state, leader, u)
    return issue(state, arm)


@exponent.of(TopTwoRule, TopTwoOnceRule)
def _(rule, state):
    return rule.log_share


EXPONENT = 15.0  # of the intervals that say which arm to sample; nothing is concluded from them


@dataclass(frozen=True)
class PatientTopTwo(KArmed):
    """The best arm within a budget, where bounds or values of the rewards are known: the default for that goal.

    A share of the budget is spread evenly over all arms, so that rare events can show. Then a sample goes to the arm of
    the highest value or to the challenger that is hardest to tell from it, as `TopTwo` does. No arm is ever rejected: a
    leader that shows a rare loss gives way to the next arm, and an arm whose interval is still wide comes back.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        budget: The number of samples in all.
        floor: The share of the budget that is spread evenly over all arms first, in (0, 1]; at 1 it is uniform
            sampling.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> policy = PatientTopTwo(Preference(TverskyKahneman(0.61)), Bounded(0, 50), budget=10_000)
    >>> best_arm(policy, problem, seed=1).arm
    0
    """

    budget: int = setting(check=whole_budget)
    floor: float = setting(0.25, floor_of_budget)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "patient top-two"
    goal: ClassVar[str] = "budget"
    needs_rewards: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse rewards for which no band holds."""
        assert self.rewards is not None
        fitting_band(self.rewards).rule(self.preference, as_list(self.rewards))

    def rule(self, n_arms: int) -> PatientTopTwoRule:
        """The settings as the kernels read them."""
        assert self.rewards is not None
        known = self.rewards_of(n_arms)
        least = first_pulls(known)
        more_than_arms(self.budget, least * n_arms)
        band = anytime_rule(fitting_band(self.rewards), self.preference, known)
        each = max(int(self.floor * self.budget) // n_arms, least)
        return PatientTopTwoRule(self.worth(n_arms), band, self.budget if n_arms > 1 else 0, each)

    def own(self, n_arms: int) -> Any:
        """Of percentiles, which two are compared."""
        return duel_of(self.preference)

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a pair that does not exist."""
        check_duel(state)


class PatientTopTwoRule(NamedTuple):
    """The settings of patient top-two."""

    worth: Worth
    band: Any
    budget: int
    each: int  # samples per arm before two are singled out


@choose.of(PatientTopTwoRule)
def _(rule, state, u):
    end = spent(rule.budget, state)
    if end != 0:
        return end
    arm, _ = survey(rule.each, state)
    if arm < 0:
        leader = pick_highest(state, state.memory.value, u)
        state.eligible[leader] = False
        arm = leader_or_rival(rule.band, 2.0 * EXPONENT, 0.0, state, leader, u)
    return issue(state, arm)


@bracket.of(PatientTopTwoRule)
def _(rule, state, low, high):
    no_interval(rule.band, state.kept, state.memory, 0.0, low, high)  # a budget gives no interval
