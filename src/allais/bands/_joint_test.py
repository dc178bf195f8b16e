"""Distributions judged as a whole: what an arm with few values may be worth, beside the band on each of its cuts.

A Dirichlet mixture around a distribution, divided by the distribution's own likelihood, is a martingale under that
distribution (docs/theory/best-arm.md). It needs no cuts, and pays for the values that were seen instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine, verb
from allais.bands._distribution_bounds import TailEnds, TailRule, ends_of, kept_ends
from allais.bands._joint_ends import DEPTH, MOST, most_worth
from allais.bands._tail_walks import IDLE, STRENGTH, betting_level
from allais.bands.base import refresh, widen
from allais.numerics.k_inf import gamma_logs
from allais.preferences import Preference
from allais.rewards import Finite, Rewards

WHOLE = 0.8  # the share of a pair's ratio that is about distributions as a whole; the rest is about cuts
TOGETHER, LEADER, RIVAL = 0.6, 0.25, 0.15  # shares of a mixture: the product of both arms' ratios, and each one alone
TRIED = (0.5, 0.4, 0.6, 0.25, 0.75)  # shares of the exponent to try before a certificate is made
ASIDE = 4  # outcomes of an arm at most that count for no ratio
SMALLEST_STEP = 1.0 / 64.0  # in the exponent: finer cells would save less than one sample in 500


class DistributionRule(NamedTuple):
    """The band on each cut, and for which arms the distribution is judged as a whole."""

    cuts: TailRule
    few: Any  # whether an arm is known to have no more values than can be judged as a whole, (n_arms,)
    whole: Any  # whether its distribution can be judged as a whole: its bounds are known, and the weights are monotone
    leader_alone: float = math.inf  # how far above beta a leader's log ratio must be to part a pair by itself
    rival_alone: float = math.inf  # the same of a rival

    def mixed(self, rivals: int) -> DistributionRule:
        """The rule that also parts a pair by either arm's ratio alone; beta is then that of the product's share.

        Only one arm is the best, so its ratio alone is not shared among the leaders that it may be compared with.
        """
        leader, rival = math.log(TOGETHER / LEADER), math.log(TOGETHER / RIVAL / rivals)
        return self._replace(leader_alone=leader, rival_alone=rival)

    def kept(self, n_arms: int) -> DistributionKept:
        """No ends are known yet."""
        cells = (DEPTH + 1, MOST)
        gain, loss, derivative, excess = np.zeros((4, MOST))
        scratch = Scratch(
            gain, loss, derivative, excess, np.zeros(MOST, dtype=np.int64), np.zeros(cells), np.zeros(cells)
        )
        return DistributionKept(self.cuts.kept(n_arms), scratch, np.full((n_arms, ASIDE), np.nan))


@by_reference
class Scratch(NamedTuple):
    """Room for one arm's distribution while an end is computed; entry k is about the k-th value from the worst one."""

    gain: FloatArray  # the stretch of gains between a value and the one before
    loss: FloatArray  # the stretch of losses there
    derivative: FloatArray  # of the cost, by tails
    excess: FloatArray  # of a cell's bound over its middle, by tails
    seen: IntArray  # samples on each value
    low: FloatArray  # cells of tails
    high: FloatArray


@by_reference
class DistributionKept(NamedTuple):
    """The ends by cuts that were computed last, and room to judge a distribution."""

    ends: TailEnds
    scratch: Scratch
    aside: FloatArray  # outcomes that count for no ratio, NaN where there are none; (n_arms, ASIDE)


def few_values(rewards: Sequence[Rewards]) -> bool:
    """Whether every arm is known to have so few values that its distribution can be judged as a whole."""
    return all(isinstance(known, Finite) and len(known.values) <= MOST for known in rewards)


def distribution_rule(cuts: Any, preference: Preference, rewards: Sequence[Rewards]) -> DistributionRule:
    """The rule for a band on cuts and the rewards of each arm."""
    monotone = preference.gains.is_monotone and preference.losses.is_monotone
    whole = monotone & np.isfinite(cuts.high)
    few = [few_values([known]) for known in rewards]
    return DistributionRule(cuts, np.array(few) & whole, whole)


# -- compiled -------------------------------------------------------------------------------------


@refresh.of(DistributionRule)
def _(band, kept, memory, arm):
    kept.ends.exponent[arm] = np.nan


@widen.of(DistributionRule)
def _(band, kept, memory, exponent, low, high):
    # the intervals that are shown, and that say whom to sample: the ends by cuts cost less
    kept_ends(band.cuts, kept.ends, memory, exponent, low, high)


@kernel
def _set_value(scratch, k, value, before, count):
    scratch.gain[k] = max(value, 0.0) - max(before, 0.0)
    scratch.loss[k] = min(value, 0.0) - min(before, 0.0)
    scratch.seen[k] = count


@kernel
def _lay_out(scratch, memory, aside, arm, sign, end):
    """Write an arm's values, from the worst to the best, and their counts; how many there are, or 0 for too many."""
    if memory.in_trees[arm]:
        return 0
    size = memory.sizes[arm]
    n_values, before = 0, 0.0
    for step in range(size):
        i = step if sign > 0.0 else size - 1 - step
        value, count = sign * memory.utility[arm, i], memory.counts[arm, i]
        for outcome in aside[arm]:
            count -= outcome == memory.raw[arm, i]
        if n_values > 0 and value == before:  # told apart by what was told, not by how it feels
            scratch.seen[n_values - 1] += count
            continue
        if count == 0:
            continue
        if n_values == MOST:
            return 0
        _set_value(scratch, n_values, value, before, count)
        n_values, before = n_values + 1, value
    if n_values == 0:  # nothing counts so far
        return 0
    if before < end:  # what was never seen is worth most at the bound
        if n_values == MOST:
            return 0
        _set_value(scratch, n_values, end, before, 0)
        n_values += 1
    return n_values


@routine
def _distribution_end(band, kept, memory, arm, sign, exponent, enough):
    """The most that an arm is worth (sign 1), or its mirror (-1), by its distribution; beyond `enough` not exact."""
    end, scratch = band.cuts.high[arm] if sign > 0.0 else -band.cuts.low[arm], kept.scratch
    n_values = _lay_out(scratch, memory, kept.aside, arm, sign, end)
    if n_values == 0:
        return np.inf
    worst, pulls = scratch.gain[0] + scratch.loss[0], 0
    if n_values == 1:
        return worst
    for k in range(n_values):
        pulls += scratch.seen[k]
    exponent = max(exponent, np.log(IDLE) + 1e-3)  # below it no distribution is left, and a larger set is as valid
    level = betting_level(exponent) + gamma_logs(STRENGTH + pulls)[0] - gamma_logs(STRENGTH)[0]
    sure = max(worst, 0.0) + min(end, 0.0)
    value, enough = sign * memory.value[arm] - sure, enough - sure
    gains, losses = band.cuts.gains.distortion.table, band.cuts.losses.distortion.table
    if sign > 0.0:
        return sure + most_worth(scratch, n_values, level, value, enough, gains, losses)
    return sure + most_worth(scratch, n_values, level, value, enough, losses, gains)


def _reach(band, kept, memory, leader, rival, y, y_rival, tolerance, whole):
    """How far a rival at exponent `y_rival` reaches above a leader at `y`: by distributions as a whole, or by cuts.

    A reach above the tolerance need not be exact.
    """


def _least_exponent(band, arm):
    """What an arm's log ratio cannot fall below."""


def _apart(band, kept, memory, leader, rival, beta, tolerance):
    """Whether every pair of distributions that is likely enough leaves the leader ahead, or within the tolerance."""


def _rest(band, beta, exponent, of_leader):
    """What the other arm's log ratio must be to part a pair, given the leader's, or the rival's."""


@kernel
def _rest_of_product(band, beta, exponent, of_leader):
    return beta - exponent


reach = verb(_reach, make=routine)
rest = verb(_rest, default=_rest_of_product)
least_exponent = verb(_least_exponent)
apart = verb(_apart)


@reach.of(DistributionRule)
def _(band, kept, memory, leader, rival, y, y_rival, tolerance, whole):
    if whole:
        low = -_distribution_end(band, kept, memory, leader, -1.0, y, np.inf)
        if low == -np.inf:
            return np.inf
        return _distribution_end(band, kept, memory, rival, 1.0, y_rival, low + tolerance) - low
    return ends_of(band.cuts, memory, rival, y_rival)[1] - ends_of(band.cuts, memory, leader, y)[0]


@least_exponent.of(DistributionRule)
def _(band, arm):
    # it is 1 for a sure outcome, else IDLE of it stays
    if band.cuts.low[arm] == band.cuts.high[arm]:
        return 0.0
    # half of a sub-Gaussian arm's ratio is about its mean, and has no floor
    return np.log(0.5 * IDLE) if band.cuts.scale[arm] > 0.0 else np.log(IDLE)


@rest.of(DistributionRule)
def _(band, beta, exponent, of_leader):
    if band.leader_alone == np.inf:
        return beta - exponent
    alone, others = band.leader_alone, band.rival_alone
    if not of_leader:
        alone, others = others, alone
    # M M' + M e^-alone + M' e^-others = e^beta, solved for M'
    return np.log1p(-np.exp(exponent - beta - alone)) - np.logaddexp(exponent - beta, -beta - others)


@routine
def parted(band, kept, memory, leader, rival, beta, tolerance, whole):
    """Whether every pair of distributions that is likely enough leaves the leader ahead.

    A certified answer: over a cell [y, y + step] of the leader's exponent, its lower end is taken at
    y + step and the rival's upper end at beta - y.
    """
    y, of_rival = least_exponent(band, leader), least_exponent(band, rival)
    last = 0.0 if y == 0.0 else rest(band, beta, of_rival, False)  # 0: a sure outcome
    if of_rival == 0.0:
        y = last
    for k in range(len(TRIED)):  # a split that is open is found soonest where the exponents are alike
        split = y + TRIED[k] * (last - y)
        if reach(band, kept, memory, leader, rival, split, rest(band, beta, split, True), tolerance, whole) > tolerance:
            return False
    step = 1.0
    while True:
        right = min(y + step, last)
        if reach(band, kept, memory, leader, rival, right, rest(band, beta, y, True), tolerance, whole) <= tolerance:
            if right >= last:
                return True
            y = right
            step *= 1.5
        elif step > SMALLEST_STEP and right > y:
            step *= 0.5
        else:
            return False


@apart.of(DistributionRule)
def _(band, kept, memory, leader, rival, beta, tolerance):
    # whole distributions, or their cuts: a mixture of both ratios is tested
    if band.few[leader] and band.few[rival]:  # known before: nothing is mixed
        return parted(band, kept, memory, leader, rival, beta, tolerance, True)
    if not (band.whole[leader] and band.whole[rival]):
        return parted(band, kept, memory, leader, rival, beta, tolerance, False)
    by_distributions = parted(band, kept, memory, leader, rival, beta - np.log(WHOLE), tolerance, True)
    return by_distributions or parted(band, kept, memory, leader, rival, beta - np.log1p(-WHOLE), tolerance, False)


# -- few values, or many ------------------------------------------------------------------------------


@kernel
def _between(band, memory, arm, i):
    """Whether a distinct outcome of an arm is neither of its bounds."""
    return band.cuts.low[arm] < memory.utility[arm, i] < band.cuts.high[arm]


@kernel
def few_together(band, memory):
    """Whether all arms together have as few values between the bounds as one arm may have."""
    first, second = np.nan, np.nan
    for arm in range(memory.pulls.size):
        for i in range(memory.sizes[arm]):
            value = memory.utility[arm, i]
            if not _between(band, memory, arm, i) or value in (first, second):
                continue
            if not np.isnan(second):
                return False
            first, second = value, first
    return True


@kernel
def few_each(band, memory):
    """Whether every arm has few values between its bounds."""
    for arm in range(memory.pulls.size):
        between = 0
        for i in range(memory.sizes[arm]):
            between += _between(band, memory, arm, i)
        if between > MOST - 2:
            return False
    return True


@kernel
def has_many(band, memory, arm):
    """Whether an arm has too many values for a ratio of its distribution as a whole."""
    size = memory.sizes[arm]
    if memory.in_trees[arm]:
        return True
    unseen = _between(band, memory, arm, 0) or _between(band, memory, arm, size - 1)
    return size + unseen > MOST


@kernel
def set_aside(band, memory, aside):
    """Note what was told so far, a few outcomes of each arm, unless there is nothing to be told of it."""
    for arm in range(memory.pulls.size):
        known = 0
        for i in range(memory.sizes[arm] if band.cuts.low[arm] < band.cuts.high[arm] else 0):
            for _ in range(memory.counts[arm, i]):
                aside[arm, known] = memory.raw[arm, i]
                known += 1


@kernel
def leave_out(kept, aside):
    """Have ratios leave out what was set aside: what a band keeps is in no file."""
    for arm in range(aside.shape[0]):
        for i in range(ASIDE):
            kept.aside[arm, i] = aside[arm, i]
