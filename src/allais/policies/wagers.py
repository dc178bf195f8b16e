"""Top-two by bets: pairs are parted by the product of what was won against both, a mixture that pays for no rounds.

Where an arm has few values, a ratio of whole distributions takes fewer samples (`bands/_joint_test.py`). If nobody said
which it is, the outcomes that are told first do, and count for neither way (docs/theory/betting.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from allais._kernels import kernel, routine, verb
from allais.bands._curves import DOWN, UP
from allais.bands._joint_test import DistributionRule, apart, few_each, few_together, has_many, leave_out, set_aside
from allais.bands._wagers import AT, EPOCHS, FIRST, LOG, RESERVE, RISE, Parted, Wagers, begin_epoch, note_outcome
from allais.bands._wealth import is_parted, note_parted, place_of_leader
from allais.bands.base import widen
from allais.bands.betting import BAND, BettingRule, betting_rule, ends_by_bets, log_evidence, look_at
from allais.policies.core.state import require_place
from allais.policies.core.steps import best_value, issue, judged, pick_highest, survey
from allais.policies.core.verbs import SETTLED, bracket, choose, exponent, learn, recommend, take_in
from allais.preferences import Preference
from allais.rewards import Rewards
from allais.samples.memory import Worth

# Shares of a pair's evidence: the product of both arms', the rival's alone, and the leader's alone. Only one arm is the
# best, so what stands against it alone need not be shared among the leaders that it might be mistaken for.
PRODUCT, RIVAL, LEADER = 0.58, 0.3, 0.12
SURVEYED = 30  # samples per arm, on average, before the odds to lead are fixed, where arms are more than FEW
FIXED = 0.1  # the square of the part of each distance that half the stake could prove by then
EVEN = 0.1  # of these odds are shared evenly
AIM_UP, AIM_DOWN = 0.55, 0.45  # the parts of a distance that a rival and the leader have to prove
FINEST = 1.0 / 256.0  # of the leader's half-width: smaller cells of v would save less than one sample in 100
OPEN, RATIOS, BETS, BOTH = 0, 1, 2, 3  # how pairs are parted: not known yet; BOTH once ratios have met many values
ENOUGH = 12  # outcomes that show few values if all arms together have no more than an arm may have
CLOSE = 2.0  # rivals at most so many times as far from the leader as the closest, in evidence, share its samples


class WagerRule(NamedTuple):
    """The settings of top-two by bets."""

    worth: Worth
    band: BettingRule
    level: float  # log(1 / delta), less what the band of the distribution takes
    log_share: float  # log(K / delta), for the intervals that are shown
    tolerance: float
    first: int


def wager_rule(
    worth: Worth, preference: Preference, rewards: Sequence[Rewards], delta: float, tolerance: float
) -> WagerRule:
    """The settings as the kernels read them."""
    n_arms = len(rewards)
    rivals = max(n_arms - 1, 1)
    # the best arm must keep within the band that bounds it from above, every other one within that from below
    exponent_up, exponent_down = (math.log(2.0 * count / (BAND * delta)) for count in (1, rivals))
    stake = math.log(rivals / delta) + 1.0
    band = betting_rule(preference, rewards, stake, exponent_up, exponent_down, aimed=True)
    left = delta * (1.0 - BAND) if band.needs_band else delta
    return WagerRule(worth, band, math.log(1.0 / left), math.log(n_arms / delta), tolerance, FIRST)


def check_wagers(own: Wagers, n_arms: int) -> None:
    """Refuse saved bets with invalid indices."""
    if own.epochs.min() < 0 or own.epochs.max() > EPOCHS or own.looked.min() < 0 or own.since.min() < 0:
        raise ValueError("a saved bet must belong to an existing epoch; this one is not. Use a backup.")
    require_place("way to part arms", int(own.way[0]), OPEN, BOTH)
    require_place("best arm", int(own.done[0]), 0, n_arms)
    require_place("leader", int(own.leading[0]), 0, n_arms - 1)
    require_place("leader", int(own.checked[0]), -1, n_arms - 1)
    check_parted(own, n_arms)


def check_parted(own: Parted | Wagers, n_arms: int) -> None:
    """Refuse saved pairs of arms that do not exist."""
    require_place("parted leader", int(own.leaders.min()), -1, n_arms - 1)
    require_place("parted leader", int(own.leaders.max()), -1, n_arms - 1)


@kernel
def _together(log_prior, of_leader, of_rival):
    """log of the mixture of what stands against two arms."""
    product = np.log(PRODUCT) + of_leader + of_rival + log_prior
    alone, first = np.log(RIVAL) + of_rival, np.log(LEADER) + of_leader + log_prior
    most = max(product, alone, first)
    return most + np.log(np.exp(product - most) + np.exp(alone - most) + np.exp(first - most))


@routine
def _parted(rule, own, leader, rival):
    """Whether for every v it is refuted that the leader is worth v at most and the rival v + tolerance at least.

    A certified answer: over a cell of v the leader's evidence is taken at its right end, the rival's at its left.
    """
    band, tolerance = rule.band, rule.tolerance
    v, last = band.low[leader], min(band.high[leader], band.high[rival] - tolerance)
    finest = FINEST * min(own.widths[leader, DOWN], own.widths[rival, UP], band.high[leader] - v + 1e-300)
    step = 64.0 * finest
    while v <= last:
        right = min(v + step, last)
        of_leader = log_evidence(own, leader, DOWN, band.high[leader] - right)
        of_rival = log_evidence(own, rival, UP, v + tolerance - band.low[rival])
        if _together(own.log_prior[leader], of_leader, of_rival) >= rule.level:
            if right >= last:
                return True
            v = right
            step *= 1.6
        elif step <= finest:
            return False
        else:
            step *= 0.5
    return True


def _also_parted(rule, state, leader, rival):
    """Whether something else than bets parts a rival from the leader."""


@kernel
def _by_nothing_else(rule, state, leader, rival):
    return False


also_parted = verb(_also_parted, default=_by_nothing_else)


@routine
def _find(rule, by_bets, state, arm):
    """Part the leader from the arm that was looked at, or from all, and note it once it was parted from every rival.

    A pair that was parted once stays so: what stands against a wrong one ever reaches 1 / delta with probability delta.
    """
    own, leader = state.own, state.own.leading[0]
    every, all_parted = own.checked[0] != leader, True
    own.checked[0], place = leader, place_of_leader(own, leader)
    for rival in range(state.asked.size):
        if rival == leader or not state.active[rival] or is_parted(own, place, rival):
            continue
        parted = False
        if every or rival == arm:
            parted = _parted(by_bets, own, leader, rival) or also_parted(rule, state, leader, rival)
            if parted:
                place = note_parted(own, leader, rival)
        all_parted = all_parted and parted
    if all_parted:
        own.done[0] = leader + 1


@kernel
def _width(rule, state, arm, side):
    """How far an arm's value may lie on one side, once everything that is out has come back."""
    if rule.band.high[arm] == rule.band.low[arm]:
        return 0.0
    own = state.own
    most = rule.band.high[arm] - rule.band.low[arm]
    if own.looked[arm, side] == 0:
        return most
    return min(own.widths[arm, side] * np.sqrt(own.looked[arm, side] / max(state.asked[arm], 1)), most)


@kernel
def _best_but(state, arm):
    """The greatest value of all arms but one."""
    best = -np.inf
    for other in range(state.asked.size):
        if other != arm and state.active[other]:
            best = max(best, state.memory.value[other])
    return best


@routine
def _lead(rule, state):
    """Give the lead to the arm of the highest value, unless what is left to prove of the leader takes fewer samples.

    A half-width falls like the root of samples, so that a leader needs n (width / (part of its distance))^2 of them;
    and so does another arm, with a distance of its own, but for the samples that it has.
    """
    own, value, best = state.own, state.memory.value, best_value(state)
    leader = own.leading[0]
    if leader == best:
        return
    ahead = value[leader] - value[best] + rule.tolerance
    if state.active[leader] and own.looked[leader, DOWN] > 0 and ahead > 0.0:
        others = max(value[best] - _best_but(state, best), 0.0) + rule.tolerance
        part = _width(rule, state, leader, DOWN) / AIM_DOWN
        needed = state.asked[leader] * part * part * (1.0 / (ahead * ahead) - 1.0 / (others * others))
        if needed <= state.asked[leader] - state.asked[best]:
            return
    own.leading[0] = best


@routine
def _aim(rule, state, arm):
    """Note how far from its value an arm will have to be refuted, as far as one can tell."""
    value, leader = state.memory.value, state.own.leading[0]
    best_other = _best_but(state, leader)
    ahead = value[leader] - best_other + rule.tolerance if best_other > -np.inf else rule.tolerance
    apart = ahead if arm == leader else value[leader] - value[arm] + rule.tolerance
    state.own.aim[arm, UP], state.own.aim[arm, DOWN] = AIM_UP * max(apart, 0.0), AIM_DOWN * max(ahead, 0.0)


@kernel
def _likelihood(state, leader, arm):
    """About how likely an arm is to be the better one, beside the leader's 1: e^-z^2 is near 2 P(N > z) up to z = 2."""
    value, pulls, spread = state.memory.value, state.memory.pulls, state.own.spread
    gap = max(value[leader] - value[arm], 0.0)
    error = spread[leader] ** 2 / max(pulls[leader], 1) + spread[arm] ** 2 / max(pulls[arm], 1)
    return np.exp(-gap * gap / error) if error > 0.0 else 1.0


@routine
def _fix_odds(rule, state, leader):
    """Fix the odds to lead by what was seen so far; evidence against a leader counts from here on (betting.md)."""
    own, value, total = state.own, state.memory.value, 0.0
    for arm in range(value.size):
        own.log_prior[arm] = _likelihood(state, leader, arm)
        total += own.log_prior[arm]
    for arm in range(value.size):
        own.log_prior[arm] = np.log((1.0 - EVEN) * own.log_prior[arm] / total + EVEN / value.size)
        epochs = own.epochs[arm]
        if epochs > 0 and state.memory.pulls[arm] > own.begun[arm, epochs - 1]:
            begin_epoch(rule.band, own, arm, state.memory.pulls[arm])
        last = own.epochs[arm] - 1
        own.since[arm] = max(last, 0)
        if last >= 0 and own.begun[arm, last] < state.memory.pulls[arm]:
            own.since[arm] = EPOCHS  # no epoch was left to begin: such an arm has no evidence as a leader
        own.table[arm, DOWN, AT], own.table[arm, DOWN, LOG] = 0.0, np.log(RESERVE)
        own.table[arm, DOWN, RISE], own.looked[arm, DOWN] = 0.0, 0


@routine
def _is_surveyed(rule, state, leader):
    """Whether it is time to fix the odds to lead: a part of the distance from every rival could be proven."""
    total, down, value = 0, _width(rule, state, leader, DOWN), state.memory.value
    for arm in range(state.asked.size):
        total += state.memory.pulls[arm]
        if arm != leader and state.active[arm]:
            up, gap = _width(rule, state, arm, UP), max(value[leader] - value[arm] + rule.tolerance, 0.0)
            if gap * gap < FIXED * (down * down + up * up):
                return False
    return total >= SURVEYED * state.asked.size


@kernel
def _bet(rule, state, arm, utility):
    """Bet on an outcome that was taken in; whether the leader may now be parted from its rivals."""
    own = state.own
    _lead(rule, state)
    leader = own.leading[0]
    if rule.band.high[arm] > rule.band.low[arm]:
        _aim(rule, state, arm)
        note_outcome(rule.band, own, state.memory, arm, utility)
    looked = look_at(rule.band, own, state.memory, leader, DOWN)
    if looked:
        own.checked[0] = -1
    looked = (arm != leader and look_at(rule.band, own, state.memory, arm, UP)) or looked
    if looked and own.log_prior[0] == -np.inf and _is_surveyed(rule, state, leader):
        _fix_odds(rule, state, leader)
    sure = rule.band.high[arm] == rule.band.low[arm]
    return (looked or sure) and own.done[0] == 0 and judged(rule.first, state)


@learn.of(WagerRule)
def _(rule, state, arm, utility, raw, ticket):
    take_in(rule, state, arm, utility, raw, ticket)
    if _bet(rule, state, arm, utility):
        _find(rule, rule, state, arm)


@routine
def _leader_or_rival(rule, state, leader, u):
    """The leader, or the rival that is hardest to tell from it (docs/theory/betting.md)."""
    down, value = _width(rule, state, leader, DOWN), state.memory.value
    place = place_of_leader(state.own, leader)
    for arm in range(state.asked.size):
        state.eligible[arm] = state.eligible[arm] and not is_parted(state.own, place, arm)
        up = _width(rule, state, arm, UP)
        gap = max(value[leader] - value[arm] + rule.tolerance, 0.0)
        spread = down * down + up * up
        state.score[arm] = -gap * gap / spread if spread > 0.0 else -np.inf
    rival = pick_highest(state, state.score, u)
    if rival < 0 or _width(rule, state, rival, UP) <= 0.0:  # nothing is to be learned of a sure arm
        return leader
    others = 0.0  # samples in proportion to widths: (n_h / s_h)^2 is the sum of (n_j / s_j)^2 at the optimum
    for arm in range(state.asked.size):
        if state.eligible[arm] and state.score[arm] >= CLOSE * state.score[rival]:
            up = _width(rule, state, arm, UP)
            others += state.asked[arm] / (up * up) if up > 0.0 else 0.0
    if down <= 0.0:
        return rival
    return leader if state.asked[leader] / (down * down) < others else rival


@kernel
def _choose_by_bets(rule, state, u):
    if state.own.done[0] > 0:
        return SETTLED
    arm, _ = survey(rule.first, state)
    if arm < 0:
        leader = state.own.leading[0]
        if not state.eligible[leader]:
            leader = pick_highest(state, state.memory.value, u)
        state.eligible[leader] = False
        arm = _leader_or_rival(rule, state, leader, u)
    return issue(state, arm)


choose.of(WagerRule)(_choose_by_bets)


@bracket.of(WagerRule)
def _(rule, state, low, high):
    for arm in range(low.size):
        low[arm], high[arm] = ends_by_bets(rule.band, state.own, state.memory, arm, rule.log_share)


# -- few values, or many: what is told first says it -------------------------------------------------


class EitherRule(NamedTuple):
    """The settings of top-two that parts pairs by ratios or by bets."""

    worth: Worth
    band: DistributionRule
    ratios: Any  # a rule by ratios of whole distributions, whose share of delta is WHOLE
    bets: WagerRule  # where many values were told first
    late: WagerRule  # where they were told later, with what ratios leave of delta
    log_share: float  # log(2 K / delta), for the intervals that are shown: by ratios or by bets


@routine
def _decide(rule, state, arm):
    """Choose how pairs are parted, at the latest when an arm has as many outcomes as lay nodes out.

    What was told by then counts for no ratio, and no bet was made on it.
    """
    own, memory, told = state.own, state.memory, 0
    for pulls in memory.pulls:
        told += pulls
    if memory.pulls[arm] >= FIRST:
        own.way[0] = RATIOS if few_each(rule.band, memory) else BETS
    elif told == ENOUGH and few_together(rule.band, memory):
        own.way[0] = RATIOS
    if own.way[0] == RATIOS:
        set_aside(rule.band, memory, own.aside)


@also_parted.of(EitherRule)
def _(rule, state, leader, rival):
    ratios = rule.ratios
    return apart(ratios.band, state.kept, state.memory, leader, rival, ratios.beta, ratios.tolerance)


@learn.of(EitherRule)
def _(rule, state, arm, utility, raw, ticket):
    take_in(rule, state, arm, utility, raw, ticket)
    way = state.own.way
    if way[0] == OPEN:
        _decide(rule, state, arm)
    elif way[0] == RATIOS and has_many(rule.band, state.memory, arm):
        way[0] = BOTH
    if way[0] == BETS and _bet(rule.bets, state, arm, utility):
        _find(rule.bets, rule.bets, state, arm)
    elif way[0] == BOTH and _bet(rule.late, state, arm, utility):
        leave_out(state.kept, state.own.aside)
        _find(rule, rule.late, state, arm)


@choose.of(EitherRule)
def _(rule, state, u):
    way = state.own.way[0]
    if way == BETS:
        return _choose_by_bets(rule.bets, state, u)
    if way == RATIOS:
        leave_out(state.kept, state.own.aside)
        return choose(rule.ratios, state, u)
    return _choose_by_bets(rule.late, state, u)


@recommend.of(WagerRule, EitherRule)
def _(rule, state):
    return state.own.done[0] - 1 if state.own.done[0] > 0 else best_value(state)


@exponent.of(WagerRule, EitherRule)
def _(rule, state):
    return rule.log_share


@bracket.of(EitherRule)
def _(rule, state, low, high):
    if state.own.way[0] != BETS:
        widen(rule.band, state.kept, state.memory, rule.log_share, low, high)
        return
    for arm in range(low.size):
        low[arm], high[arm] = ends_by_bets(rule.bets.band, state.own, state.memory, arm, rule.log_share)
