"""Intervals of a percentile, by order statistics: its probability is known, so that one threshold is bounded.

Of outcomes with the tau-quantile x, a share of tau lies at or below x (where x is an atom, chance splits its samples so
that this holds exactly). So the count at or below x is binomial with a known probability, whatever the distribution,
and its mixture ratio is a martingale: no union over thresholds is paid, and no density is estimated. An interval holds
every x whose count may be; its ends are two order statistics (docs/theory/bands.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine
from allais.bands._distribution_bounds import TailEnds, ends_of, forget_ends, kept_ends
from allais.bands._joint_test import apart, least_exponent, parted, reach
from allais.bands._tail_walks import IDLE, betting_level, count_refusing, log_ratio
from allais.bands.base import bounds_of, refresh, widen
from allais.bands.quantiles import log_joint, tilts
from allais.preferences import Preference
from allais.preferences.named import level_of
from allais.rewards import Rewards
from allais.samples.cells import HIGH, LOW, cell_of_outcome
from allais.samples.trees import ROOT, TOTAL, count_beyond, outcome_at_rank

SPREAD = 10.0  # samples of the rarer side that the mixture is as strong as: near its best from 10 to 10^4 of them
JOINT = 0.75  # the share of a pair's ratio that is about the pair as a whole; the rest is about each arm alone
HALVINGS = 60  # of a count
CANDIDATES = 9  # order statistics of either arm at which two quantiles may meet: it says whom to sample, no more


@by_reference
class Supports(NamedTuple):
    """The ends of each arm's support, as a utility; no entry where nothing is known."""

    low: FloatArray
    high: FloatArray


@by_reference
class Pairs(NamedTuple):
    """How two arms are judged together."""

    tilts: FloatArray  # as `bands/quantiles.py` has them


class QuantileRule(NamedTuple):
    """One threshold: its probability, and what is known about each arm."""

    level: float  # tau: the share of utilities at or below the quantile
    strength: float  # of the mixture, in samples
    heavier: float  # the mixture's part below tau or above, whichever is greater
    supports: Supports
    always: bool  # whether an interval must hold in all rounds at once
    pairs: Pairs

    def kept(self, n_arms: int) -> TailEnds:
        """No ends are known yet."""
        return TailEnds(np.full(n_arms, np.nan), np.zeros(n_arms), np.zeros(n_arms))

    def least(self, exponent: float) -> int:
        """An interval holds from the first sample on: no event is too rare for it."""
        return 1

    def one_end(self, exponent: float) -> float:
        """The exponent of intervals of which each end fails with probability e^-exponent, whatever the other does."""
        return float(of_one_end(self, exponent)) if self.always else exponent


def quantile_rule(preference: Preference, rewards: Sequence[Rewards], *, always: bool) -> QuantileRule | None:
    """The rule for a percentile; None for any other preference.

    Args:
        preference: What is maximised.
        rewards: What is known about each arm's outcomes; empty if nothing is.
        always: Whether intervals hold in all rounds at once.
    """
    level = level_of(preference)
    if level is None:
        return None
    tau = 1.0 - level if preference.costs else level  # a lower cost is a higher utility
    ends = np.array([bounds_of(preference, known) for known in rewards]).reshape(-1, 2)
    supports, strength = Supports(ends[:, 0].copy(), ends[:, 1].copy()), SPREAD / min(tau, 1.0 - tau)
    below = float(scipy.special.betainc(strength * tau, strength * (1.0 - tau), tau))
    return QuantileRule(tau, strength, max(below, 1.0 - below), supports, always, Pairs(tilts(tau, None)))


@by_reference
class Duel(NamedTuple):
    """Which two percentiles are compared: it is looked for anew now and then."""

    pair: IntArray  # the leader and its rival, and at how many samples they are looked for again; (3,)
    chance: FloatArray  # of a sample of the leader, (1,)


def duel_of(preference: Preference) -> Any:
    """What is remembered of the pair that is compared; nothing where half-intervals say it."""
    if level_of(preference) is None:
        return ()
    return Duel(np.array([-1, -1, 0], dtype=np.int64), np.zeros(1))


# -- compiled -------------------------------------------------------------------------------------


@kernel
def _support(band, arm):
    if band.supports.low.size == 0:
        return -np.inf, np.inf
    return band.supports.low[arm], band.supports.high[arm]


@kernel
def of_one_end(band, log):
    """The exponent at which one side of the mixture alone is e^log.

    With the part w of it on that side, (R - (1 - w)) / w is less than the ratio of that side, which is a martingale by
    itself: the other side's is at most 1 where a count lies on this side of what it should be.
    """
    return np.log((1.0 - IDLE) * (band.heavier * np.exp(log) + 1.0 - band.heavier) + IDLE)


@kernel
def _exponent_of_pair(band, exponent):
    """The same for an arm of a pair, of whose ratio a part stays idle."""
    return of_one_end(band, betting_level(max(exponent, np.log(IDLE) + 1e-3)))


@routine
def _refused_by_chernoff(q, pulls, exponent):
    """The greatest count below q pulls with pulls kl(count / pulls, q) > exponent, or -1."""
    low, high = -1.0, np.floor(q * pulls)
    for _ in range(HALVINGS):
        if high - low <= 1.0:
            break
        middle = np.floor(0.5 * (low + high))
        p = middle / pulls
        first = p * np.log(p / q) if p > 0.0 else 0.0
        if pulls * (first + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))) > exponent:
            low = middle
        else:
            high = middle
    return low


@routine
def _refused(band, q, pulls, exponent):
    """The greatest count that is too small for the probability q, or -1."""
    if not band.always:
        return _refused_by_chernoff(q, pulls, exponent)
    strength = band.strength
    level = betting_level(max(exponent, np.log(IDLE) + 1e-3))
    level = max(level, log_ratio(q * pulls, pulls, strength, q) + 1e-3)  # else no count is left
    return count_refusing(q, strength, 0.5 * q * pulls, pulls, level)


@routine
def order_statistic(memory, arm, rank, upper):
    """The utility of the sample of a rank (1 is the least), or the outer end of the cell that it lies in."""
    if not memory.in_trees[arm]:
        i, seen = 0, memory.counts[arm, 0]
        while seen < rank:
            i += 1
            seen += memory.counts[arm, i]
        return memory.utility[arm, i]
    trees = memory.trees
    losses = int(trees.numbers[trees.heads[2 * arm + 1, ROOT], TOTAL])
    if rank <= losses:
        found = -outcome_at_rank(trees, 2 * arm + 1, rank)
    else:
        found = outcome_at_rank(trees, 2 * arm, memory.pulls[arm] - rank + 1)
    cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], found)
    if cell < 0:
        return found
    return memory.cells[HIGH if upper else LOW, cell]


@ends_of.of(QuantileRule)
def _(band, memory, arm, exponent):
    # the least and the greatest order statistic whose count may be
    pulls = memory.pulls[arm]
    first, last = _support(band, arm)
    if first == last:
        return first, last
    fewest = int(_refused(band, band.level, pulls, exponent)) + 1  # so many lie at or below the quantile, or more
    most = pulls - int(_refused(band, 1.0 - band.level, pulls, exponent)) - 1  # and so many below it, or fewer
    low = order_statistic(memory, arm, fewest, False) if fewest >= 1 else -np.inf
    high = order_statistic(memory, arm, most + 1, True) if most < pulls else np.inf
    return max(low, first), min(high, last)


@routine
def count_up_to(memory, arm, utility, inclusive):
    """How many samples of an arm lie below a utility, or at it."""
    if not memory.in_trees[arm]:
        seen = 0
        for i in range(memory.sizes[arm]):
            if memory.utility[arm, i] > utility or (memory.utility[arm, i] == utility and not inclusive):
                break
            seen += memory.counts[arm, i]
        return seen
    # an outcome as told beyond all others of the same utility, or before them
    if utility > 0.0:
        return memory.pulls[arm] - count_beyond(memory.trees, 2 * arm, utility, np.inf if inclusive else -np.inf, False)
    return count_beyond(memory.trees, 2 * arm + 1, -utility, np.inf if inclusive else -np.inf, False)


@kernel
def _information(band, memory, arm, utility):
    """pulls kl(share, tau), for the share nearest to tau that an arm's samples can have at or below a utility."""
    pulls, tau = memory.pulls[arm], band.level
    least, most = count_up_to(memory, arm, utility, False), count_up_to(memory, arm, utility, True)
    p = min(max(tau, least / pulls), most / pulls)
    first = p * np.log(p / tau) if p > 0.0 else 0.0
    return pulls * (first + ((1.0 - p) * np.log((1.0 - p) / (1.0 - tau)) if p < 1.0 else 0.0))


@routine
def meeting(band, memory, leader, rival, tolerance):
    """What a leader and a rival show against their quantiles meeting where that is likeliest: a part of each."""
    first, last = np.inf, np.inf
    for side in range(2):  # at order statistics of the leader, then of the rival, between the two quantiles
        arm, away = (leader, 0.0) if side == 0 else (rival, tolerance)
        low = count_up_to(memory, arm, memory.value[rival] - tolerance + away, True)
        high = count_up_to(memory, arm, memory.value[leader] + away, True)
        for step in range(CANDIDATES):
            rank = min(max(low + (high - low) * step // (CANDIDATES - 1), 1), memory.pulls[arm])
            at = order_statistic(memory, arm, rank, True) - away
            at = min(max(at, memory.value[rival] - tolerance), memory.value[leader])
            down, up = _information(band, memory, leader, at), _information(band, memory, rival, at + tolerance)
            if down + up < first + last:
                first, last = down, up
    return first, last


refresh.of(QuantileRule)(forget_ends)
widen.of(QuantileRule)(kept_ends)


@least_exponent.of(QuantileRule)
def _(band, arm):
    first, last = _support(band, arm)
    return 0.0 if first == last else np.log(IDLE)


@reach.of(QuantileRule)
def _(band, kept, memory, leader, rival, y, y_rival, tolerance, whole):
    y, y_rival = _exponent_of_pair(band, y), _exponent_of_pair(band, y_rival)
    return ends_of(band, memory, rival, y_rival)[1] - ends_of(band, memory, leader, y)[0]


@kernel
def _surely_below(memory, arm, utility):
    """How many samples of an arm lie below a utility for sure: those of the cell that it falls into may not."""
    if memory.in_trees[arm]:
        cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], utility)
        if cell >= 0:
            return count_up_to(memory, arm, memory.cells[LOW, cell], False)
    return count_up_to(memory, arm, utility, False)


@kernel
def _perhaps_up_to(memory, arm, utility):
    """How many samples of an arm may lie at or below a utility."""
    if memory.in_trees[arm]:
        cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], utility)
        if cell >= 0:
            return count_up_to(memory, arm, memory.cells[HIGH, cell], True)
    return count_up_to(memory, arm, utility, True)


@routine
def _apart_together(band, memory, leader, rival, beta, tolerance):
    """Whether the least over x of the mixture of a pair reaches beta: `least_evidence`, but in a memory."""
    n, m = memory.pulls[rival], memory.pulls[leader]
    if log_joint(band.pairs.tilts, 0.0, n, 0.0, m) < beta:
        return False
    j, step = 0, 1
    while j < m:
        x = order_statistic(memory, leader, j + 1, False)
        end = order_statistic(memory, leader, min(j + step, m), False)
        below, upto = _surely_below(memory, rival, x + tolerance), _perhaps_up_to(memory, leader, end)
        if log_joint(band.pairs.tilts, below, n, upto, m) >= beta:  # and so at all x between the two
            j, step = upto, 2 * step
        elif end > x:
            step = max(step // 4, 1)
        else:
            return False
    return True


@apart.of(QuantileRule)
def _(band, kept, memory, leader, rival, beta, tolerance):
    # a mixture of two ratios: that of the pair, which pays for one difference, and the product of the arms' own, which
    # is the greater one where quantiles are atoms, so that each x is refuted by one arm alone
    if _apart_together(band, memory, leader, rival, beta - np.log(JOINT), tolerance):
        return True
    return parted(band, kept, memory, leader, rival, beta - np.log1p(-JOINT), tolerance, False)
