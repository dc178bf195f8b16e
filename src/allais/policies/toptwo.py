"""Top-two: sample the leader or its closest challenger, and stop on a joint likelihood ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import share
from allais._kernels import kernel, routine
from allais.bands import Betting
from allais.bands._joint_test import distribution_rule, reach
from allais.bands._tail_walks import IDLE
from allais.bands._wagers import no_wagers
from allais.bands.base import anytime_rule, no_interval
from allais.policies.core.base import KArmed, Promise, no_worse, setting
from allais.policies.core.knowledge import as_list, first_pulls, fitting_band
from allais.policies.core.steps import bounds_at, issue, judged, pick_highest, survey
from allais.policies.core.verbs import SETTLED, bracket, choose, exponent
from allais.policies.wagers import check_wagers, wager_rule
from allais.policies.wsr import floor_of_budget, more_than_arms, spent, whole_budget
from allais.samples.draws import stream_of, uniform
from allais.samples.memory import Worth

WHOLE = 0.8  # the share of a pair's ratio that is about distributions as a whole; the rest is about cuts
LOOKS = 128  # it looks whether to stop after every 1 / LOOKS of all samples: a look costs more than a sample
TRIED = (0.5, 0.4, 0.6, 0.25, 0.75)  # shares of the exponent to try before a certificate is made
SMALLEST_STEP = 1.0 / 64.0  # in the exponent: finer cells would save less than one sample in 500


def betting_or_none(name: str, given: Any) -> Betting | None:
    """How pairs are parted: by bets, or by likelihood ratios (None)."""
    if given is None or isinstance(given, Betting):
        return given
    raise TypeError(f"{name} must be Betting() or None; got {given!r}. Write evidence=Betting().")


@dataclass(frozen=True)
class TopTwo(KArmed):
    """The best arm at a given confidence: two arms are judged together, often in fewer samples than W-LUCB needs.

    A sample goes to the arm of the highest value or to the challenger that is hardest to tell from it, to the one whose
    half-interval is wider the more often. It stops when no pair of distributions in which a challenger is better is
    likely enough: for all splits of log((K-1)/delta) into y and y', the leader's lower end at y lies above the
    challenger's upper end at y' (docs/theory/best-arm.md). Arms with up to four values are judged by their distribution
    as a whole, others by the tails at each of their outcomes.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.
        evidence: `Betting()` to part pairs by bets, which many values take far fewer samples by; by default likelihood
            ratios, which are for few values and for sub-Gaussian rewards.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> policy = TopTwo(Preference(TverskyKahneman(0.61)), Finite([0, 7, 50]), delta=0.05)
    >>> answer = best_arm(policy, problem, seed=1)
    >>> answer.arm, answer.settled, answer.samples < 3_000
    (0, True, True)
    """

    delta: float = setting(check=share)
    tolerance: float = setting(0.0, no_worse)
    evidence: Betting | None = setting(None, betting_or_none)

    called: ClassVar[str] = "top-two"
    goal: ClassVar[str] = "confidence"
    needs_rewards: ClassVar[bool] = True
    promises: ClassVar[Promise] = "proven"

    def check(self) -> None:
        """Refuse rewards for which no band holds."""
        assert self.rewards is not None
        (self.evidence or fitting_band(self.rewards)).rule(self.preference, as_list(self.rewards))
        if self.evidence is not None:  # bets follow the order of its own choices, for one preference and its bounds
            object.__setattr__(self, "open_to_data", False)

    def rule(self, n_arms: int) -> TopTwoRule:
        """The settings as the kernels read them."""
        assert self.rewards is not None
        known = self.rewards_of(n_arms)
        if self.evidence is not None:
            by_bets: Any = wager_rule(self.worth(n_arms), self.preference, known, self.delta, self.tolerance)
            return by_bets
        band = distribution_rule(
            anytime_rule(fitting_band(self.rewards), self.preference, known), self.preference, known
        )
        beta, log_share = math.log(max(n_arms - 1, 1) / self.delta), math.log(n_arms / self.delta)
        return TopTwoRule(self.worth(n_arms), band, beta, log_share, self.tolerance, first_pulls(known))

    def own(self, n_arms: int) -> Any:
        """What was bet, and with what success."""
        return () if self.evidence is None else no_wagers(n_arms)

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse bets that point at nothing."""
        if self.evidence is not None:
            check_wagers(state.own, state.asked.size)


class TopTwoRule(NamedTuple):
    """The settings of top-two."""

    worth: Worth
    band: Any
    beta: float  # log((K - 1) / delta): what the ratios of a pair must reach together
    log_share: float  # log(K / delta), for the intervals that are shown
    tolerance: float
    first: int


@kernel
def _smallest_exponent(cuts, arm):
    """What an arm's ratio cannot fall below: it is 1 for a sure outcome, else IDLE of it stays."""
    if cuts.low[arm] == cuts.high[arm]:
        return 0.0
    # half of a sub-Gaussian arm's ratio is about its mean, and has no floor
    return np.log(0.5 * IDLE) if cuts.scale[arm] > 0.0 else np.log(IDLE)


@routine
def _parted(band, kept, memory, leader, rival, beta, tolerance, whole):
    """Whether every pair of distributions that is likely enough leaves the leader ahead.

    A certified answer: over a cell [y, y + step] of the leader's exponent, its lower end is taken at
    y + step and the rival's upper end at beta - y.
    """
    cuts = band.cuts
    y, last = _smallest_exponent(cuts, leader), beta - _smallest_exponent(cuts, rival)
    if cuts.low[leader] == cuts.high[leader]:
        last = 0.0
    if cuts.low[rival] == cuts.high[rival]:
        y = beta
    for k in range(len(TRIED)):  # a split that is open is found soonest where the exponents are alike
        split = y + TRIED[k] * (last - y)
        if reach(band, kept, memory, leader, rival, split, beta - split, tolerance, whole) > tolerance:
            return False
    step = 1.0
    while True:
        right = min(y + step, last)
        if reach(band, kept, memory, leader, rival, right, beta - y, tolerance, whole) <= tolerance:
            if right >= last:
                return True
            y = right
            step *= 1.5
        elif step > SMALLEST_STEP and right > y:
            step *= 0.5
        else:
            return False


@kernel
def _apart(rule, state, leader, rival):
    """Whether whole distributions, or their cuts, part the pair: a mixture of both ratios is tested."""
    band, kept, memory, beta, tolerance = rule.band, state.kept, state.memory, rule.beta, rule.tolerance
    if band.few[leader] and band.few[rival]:  # known before: nothing is mixed
        return _parted(band, kept, memory, leader, rival, beta, tolerance, True)
    if not (band.whole[leader] and band.whole[rival]):
        return _parted(band, kept, memory, leader, rival, beta, tolerance, False)
    by_distributions = _parted(band, kept, memory, leader, rival, beta - np.log(WHOLE), tolerance, True)
    return by_distributions or _parted(band, kept, memory, leader, rival, beta - np.log1p(-WHOLE), tolerance, False)


@kernel
def all_parted(rule, state, leader):
    """Whether the leader is parted from every challenger."""
    told = 0
    for pulls in state.memory.pulls:
        told += pulls
    all_apart = told % max(told // LOOKS, 1) == 0
    for k in range(state.asked.size):
        if all_apart and state.eligible[k]:
            all_apart = _apart(rule, state, leader, k)
    return all_apart and judged(rule.first, state)


@kernel
def leader_or_rival(beta, tolerance, state, leader, u):
    """The leader, or the eligible arm that is hardest to tell from it, by the half-intervals at exponent beta / 2."""
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


@choose.of(TopTwoRule)
def _(rule, state, u):
    arm, _ = survey(rule.first, state)
    if arm < 0:
        bounds_at(rule, state, 0.5 * rule.beta)
        leader = pick_highest(state, state.memory.value, u)
        state.eligible[leader] = False
        if all_parted(rule, state, leader):
            return SETTLED
        arm = leader_or_rival(rule.beta, rule.tolerance, state, leader, u)
    return issue(state, arm)


@exponent.of(TopTwoRule)
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

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> policy = PatientTopTwo(Preference(TverskyKahneman(0.61)), Bounded(0, 50), budget=10_000)
    >>> best_arm(policy, problem, seed=1).arm
    0
    """

    budget: int = setting(check=whole_budget)
    floor: float = setting(0.25, floor_of_budget)

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
        bounds_at(rule, state, EXPONENT)
        leader = pick_highest(state, state.memory.value, u)
        state.eligible[leader] = False
        arm = leader_or_rival(2.0 * EXPONENT, 0.0, state, leader, u)
    return issue(state, arm)


@bracket.of(PatientTopTwoRule)
def _(rule, state, low, high):
    no_interval(rule.band, state.kept, state.memory, 0.0, low, high)  # a budget gives no interval
