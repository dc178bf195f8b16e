"""The betting band: a value is refused when betting against it has made enough money."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, share
from allais._kernels import by_reference, kernel, routine
from allais.bands._curves import DOWN, UP, Curves, curves_of, most_above
from allais.bands._tail_walks import ceiling
from allais.bands._wagers import (
    AT,
    FIRST,
    LOG,
    LOG_CUTS,
    NODES,
    POINTS,
    RESERVE,
    RISE,
    SPAN,
    Wagers,
    no_wagers,
    note_outcome,
)
from allais.bands._wealth import NEAREST, log_wealth, wealth_and_line
from allais.bands.base import Interval, bounds_of, follow, refresh, refuse_unbounded, widen
from allais.bands.kl import KLShape, kl_shape
from allais.preferences import Preference
from allais.rewards import Finite, Rewards
from allais.samples.layout import grown
from allais.samples.memory import empty_memory, insert, is_full

BAND = 0.15  # of the failures are left to the band of the distribution, where one is needed
GROWTH = 30  # an arm is looked at again after 1 / GROWTH more samples,
OFTEN, FEWEST = 10, 4  # or after 1 / OFTEN, if that is FEWEST at most: a look costs as much as a hundred samples
CERTAIN = 700.0  # log of the evidence against what cannot be; e^700 is still a number
BEYOND = 1.25  # how far a table reaches, times the distance at which the wealth is e^stake


@dataclass(frozen=True)
class Betting:
    """Bets on one linear functional of the outcomes: the mean and CVaR are bounded without a band of the distribution.

    Other bands bound the whole distribution and pay for all of it; a value is one number. The interval holds in all
    rounds at once. It needs outcomes in the order in which they came, bounds or values of them, and weights that
    neither fall nor jump. `TopTwo` looks for the best arm by it where values are many.

    >>> gains = np.random.default_rng(1).beta(2, 30, size=1_000)
    >>> low, value, high = Betting().interval(expected_value(), Bounded(0, 1), gains)
    >>> wide = KL().interval(expected_value(), Bounded(0, 1), gains)  # for one look at the data
    >>> low < value < high, high - low < 0.4 * (wide.high - wide.low)
    (True, True)
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> BettingRule:
        """What the kernels read, at 95 % confidence of one arm."""
        return betting_rule(preference, rewards, math.log(2.0 / 0.05), math.log(1.0 / 0.05), math.log(1.0 / 0.05))

    def anytime_rule(self, preference: Preference, rewards: Sequence[Rewards]) -> SequenceRule:
        """What the kernels read, for intervals of all arms that are brought up to date with every outcome."""
        return SequenceRule(self.rule(preference, rewards), math.log(1.0 / 0.05))

    def interval(
        self, preference: Preference, rewards: Rewards, samples: ArrayLike, confidence: float = 0.95
    ) -> Interval:
        """The value of samples, with an interval that holds the true one with the given confidence, at any time.

        Args:
            preference: What is maximised.
            rewards: What is known about the outcomes: `Bounded` or `Finite`.
            samples: Outcomes in the order in which they came; sorted ones must be shuffled first.
            confidence: The probability that the interval holds the true value, in (0, 1).
        """
        seen = rewards.check(samples)
        left = 1.0 - share("confidence", confidence, advice="Give a share of 1, such as 0.95.")
        exponent = math.log(1.0 / left)
        band = betting_rule(preference, [rewards], exponent + math.log(2.0), exponent, exponent)
        memory, wagers = empty_memory(1), no_wagers(1)
        utilities, done = preference.utilities(seen), 0
        while (done := int(bet_on(band, wagers, memory, utilities, seen, done))) < seen.size:
            memory = grown(memory, 0)
        low, high = ends_by_bets(band, wagers, memory, 0, exponent)
        return Interval(float(low), preference.estimate(seen), float(high)).within(bounds_of(preference, rewards))


class BettingRule(NamedTuple):
    """What bets are about."""

    curves: Curves
    shape: KLShape  # of the band of the distribution
    places: FloatArray  # the values of an arm where they are known and few, the last one repeated; (n_arms, NODES)
    low: FloatArray  # the least utility of each arm, (n_arms,)
    high: FloatArray
    stake: float  # the log of the wealth that bets are made for
    exponent_up: float  # of the band that holds an arm's value from above
    exponent_down: float
    aimed: bool  # whether a policy says how far from its value an arm will have to be refuted

    def kept(self, n_arms: int) -> tuple[()]:
        """What bets have made is no function of what was seen: the policy keeps it."""
        return ()

    @property
    def needs_band(self) -> bool:
        """Whether any side needs a band of the distribution."""
        return not bool(self.curves.concave.all())


class SequenceRule(NamedTuple):
    """Confidence sequences of all arms: bets that follow every outcome, and are looked at as samples grow."""

    bets: BettingRule
    exponent: float  # of the intervals that are looked at

    def at(self, exponent: float) -> SequenceRule:
        """The same for intervals that fail with probability e^-exponent at most."""
        stake, of_band = exponent + math.log(2.0), exponent - math.log(BAND)
        bets = self.bets._replace(stake=stake, exponent_up=of_band, exponent_down=of_band)
        return SequenceRule(bets, exponent)

    def kept(self, n_arms: int) -> Followed:
        """Nothing has been bet yet."""
        return Followed(no_wagers(n_arms), np.full(n_arms, np.nan))


@by_reference
class Followed(NamedTuple):
    """What bets have made so far."""

    followed: Wagers
    exponent: FloatArray  # at which an arm was last looked at, (n_arms,)


def betting_rule(
    preference: Preference,
    rewards: Sequence[Rewards],
    stake: float,
    exponent_up: float,
    exponent_down: float,
    *,
    aimed: bool = False,
) -> BettingRule:
    """What the kernels read.

    Args:
        preference: What is maximised.
        rewards: What is known about each arm's outcomes.
        stake: The log of the wealth that bets are made for.
        exponent_up: The band that holds an arm's value from above fails with probability e^-exponent_up at most.
        exponent_down: The same from below.
        aimed: Whether bets are made for `aim`, and not for numbers of samples.
    """
    refuse_unbounded("the betting band", rewards)
    ends = [bounds_of(preference, known) for known in rewards]
    curves = curves_of(
        preference, min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=1.0)
    )
    places = np.full((len(rewards), NODES), np.nan)
    for arm, known in enumerate(rewards):
        if isinstance(known, Finite):
            felt = np.unique(np.append(preference.utilities(np.array(known.values)), 0.0))
            felt = felt[(felt >= ends[arm][0]) & (felt <= ends[arm][1])]
            if felt.size <= NODES:
                places[arm] = np.append(felt, np.full(NODES - felt.size, felt[-1]))
    low, high = (np.array([pair[i] for pair in ends]) for i in (0, 1))
    shape = kl_shape(preference, rewards, always=True)
    shape = shape._replace(log_cuts=np.fmin(shape.log_cuts, LOG_CUTS))
    return BettingRule(curves, shape, places, low, high, stake, exponent_up, exponent_down, aimed)


# -- compiled -------------------------------------------------------------------------------------


@routine
def _bound_tails(band, own, arm, pulls, exponent):
    """Write the band of the distribution at the nodes: 1 - P(Y < node) from below, P(Y > node) from above."""
    counted, low, high = pulls - own.begun[arm, 0], own.tails[arm, 0], own.tails[arm, 1]
    beyond = counted
    for i in range(NODES):
        # nodes lie where the first ones were, so that these say nothing about them
        at = own.seen[arm, 2 * i] - own.laid[arm, 2 * i]
        inside = own.seen[arm, 2 * i + 1] - own.laid[arm, 2 * i + 1]
        low[i] = 1.0 - ceiling(band.shape, arm, counted - beyond, counted, exponent)  # of P(Y >= node)
        beyond -= at
        high[i] = ceiling(band.shape, arm, beyond, counted, exponent)
        beyond -= inside
    low[0], high[NODES - 1] = 1.0, 0.0


@routine
def find_remainders(band, own, arm, pulls, side, exponent):
    """Write k of every epoch; where the curve is not concave, by the newest band of the distribution.

    Q cannot exceed top + k of any of them. The greatest q that is left is returned, a little more for rounding.
    """
    nodes, tails = own.nodes[arm], own.tails[arm]
    limit = most = band.high[arm] - band.low[arm]
    if side == UP and band.curves.tail > 0.0:
        return limit + NEAREST * most
    if pulls <= own.begun[arm, 0]:
        return limit + NEAREST * most
    if not band.curves.concave[side]:
        _bound_tails(band, own, arm, pulls, exponent)
    for epoch in range(own.epochs[arm]):
        k = own.sure[arm, epoch, side]
        if not band.curves.concave[side]:
            k, r = 0.0, own.distance[arm, epoch, side]
            for i in range(NODES - 1):
                width = nodes[i + 1] - nodes[i]
                if width <= 0.0:
                    continue
                region = 0 if 0.5 * (nodes[i] + nodes[i + 1]) > 0.0 else 1
                low, high = tails[0, i + 1], max(tails[1, i], tails[0, i + 1])
                c = abs(r[i + 1] - r[i]) / width
                if side == DOWN:
                    low, high = 1.0 - high, 1.0 - low
                k += width * most_above(band.curves, side, region, c, low, high)
        own.remainder[arm, epoch, side] = k
        top = own.distance[arm, epoch, side, 0 if side == UP else NODES - 1]
        limit = min(limit, top + k)
    return limit + NEAREST * most


@routine
def wealth_end(band, own, arm, pulls, side, level, start, limit):
    """The least q against which there is e^level, from a guess on: log wealth rises, and is convex."""
    most = band.high[arm] - band.low[arm]
    left, right = 0.0, min(limit, most)
    q, finest = min(max(start, left), right), 1e-5 * most
    if log_wealth(band, own, arm, pulls, side, right)[0] < level:
        return right
    for _ in range(60):
        log, rise = log_wealth(band, own, arm, pulls, side, q)
        if log < level:
            left = q
        else:
            right = q
            if log < level + 0.02:
                break
        if right - left < finest:
            break
        q = q + (level + 0.01 - log) / rise if rise > 0.0 else right
        if not left < q < right or log > 3.0 * level:
            q = 0.5 * (left + right)
    return right


@routine
def look_at(band, own, memory, arm, side):
    """Write a side's table of wealth, if the arm's samples have grown enough since the last look."""
    pulls, before = memory.pulls[arm], own.looked[arm, side]
    if own.epochs[arm] == 0 or pulls < before + max(before // GROWTH, min(before // OFTEN, FEWEST), 1):
        return False
    own.looked[arm, side] = pulls
    exponent = band.exponent_up if side == UP else band.exponent_down
    limit = own.limit[arm, side] = find_remainders(band, own, arm, pulls, side, exponent)
    centre = memory.value[arm] - band.low[arm] if side == UP else band.high[arm] - memory.value[arm]
    most, end, table = band.high[arm] - band.low[arm], own.ends[arm, side], own.table[arm, side]
    if pulls > 1.5 * before:
        start = end if end >= 0.0 else centre + 0.1 * most
        end = wealth_end(band, own, arm, pulls, side, band.stake, start, limit)
    reach = max(end - centre, 1e-4 * most)
    step, is_line = reach * BEYOND / POINTS, side == UP and band.curves.tail > 0.0
    for i in range(POINTS):
        q = min(centre + step * (i + 1), limit)
        table[AT, i], table[SPAN, i] = q, step if is_line else np.inf
        table[LOG, i], table[RISE, i] = wealth_and_line(band, own, arm, pulls, side, q, step)
    # soon afterwards no search for the end is needed: the next table is laid out by this one
    own.ends[arm, side] = min(_end_by(table, band.stake), centre + 2.0 * reach)
    own.widths[arm, side] = max(min(_end_by(table, 0.5 * band.stake), most, limit) - centre, 1e-9 * most)
    return True


@kernel
def _end_by(table, level):
    """Where a table says that the wealth is e^level, at most."""
    end = np.inf
    for i in range(POINTS):
        if table[RISE, i] > 0.0:
            after = (level - table[LOG, i]) / table[RISE, i]
            if table[SPAN, i] == np.inf:
                end = min(end, table[AT, i] + after)
            elif after <= table[SPAN, i]:
                end = min(end, table[AT, i] + max(after, 0.0))
    return end


@kernel
def log_evidence(own, arm, side, q):
    """At least so much stands against Q >= q, by the lines of a table; evidence never falls in q."""
    found, table = np.log(RESERVE), own.table[arm, side]
    if q > own.limit[arm, side]:
        return CERTAIN
    for i in range(POINTS):
        if q >= table[AT, i] or table[SPAN, i] == np.inf:
            found = max(found, table[LOG, i] + table[RISE, i] * min(q - table[AT, i], table[SPAN, i]))
    return found


@routine
def evidence_against(own, arm, side, q, found):
    """Write `log_evidence` at many places."""
    for i in range(q.size):
        found[i] = log_evidence(own, arm, side, q[i])


@routine
def ends_by_bets(band, own, memory, arm, exponent):
    """The ends of one arm's interval: both together fail with probability e^-exponent at most, in any round."""
    pulls = memory.pulls[arm]
    if own.epochs[arm] == 0 or pulls <= own.begun[arm, 0]:
        return band.low[arm], band.high[arm]
    level, sure = exponent + np.log(2.0), band.curves.concave[UP] and band.curves.concave[DOWN]
    if not sure:
        level -= np.log1p(-BAND)
    limit = find_remainders(band, own, arm, pulls, UP, exponent - np.log(BAND))
    up = wealth_end(band, own, arm, pulls, UP, level, memory.value[arm] - band.low[arm], limit)
    limit = find_remainders(band, own, arm, pulls, DOWN, exponent - np.log(BAND))
    down = wealth_end(band, own, arm, pulls, DOWN, level, band.high[arm] - memory.value[arm], limit)
    return band.high[arm] - down, band.low[arm] + up


@routine
def bet_on(band, own, memory, utilities, raw, start):
    """Take samples of one arm in, from `start` on; the index at which it stopped for want of room, or their number."""
    for i in range(start, raw.size):
        if is_full(memory, 0):
            return i
        insert(memory, 0, utilities[i], raw[i])
        note_outcome(band, own, memory, 0, utilities[i])
    return raw.size


@routine
def bet_in_order(band, own, memory, utilities):
    """Bet on outcomes of a single arm, of which the memory keeps the first ones and how many there were."""
    for y in utilities:
        if memory.pulls[0] < FIRST:
            insert(memory, 0, y, y)
        else:
            memory.pulls[0] += 1
        note_outcome(band, own, memory, 0, y)


# -- confidence sequences of a policy's arms ---------------------------------------------------------


@refresh.of(SequenceRule)
def _(band, kept, memory, arm):
    if kept.followed.looked[arm, UP] > 0:  # also of an arm from a file, which has its tables
        kept.exponent[arm] = band.exponent


@follow.of(SequenceRule)
def _(band, kept, memory, arm, utility):
    own = kept.followed
    if band.bets.high[arm] > band.bets.low[arm]:
        note_outcome(band.bets, own, memory, arm, utility)
        looked = look_at(band.bets, own, memory, arm, UP)
        if look_at(band.bets, own, memory, arm, DOWN) or looked:
            kept.exponent[arm] = band.exponent


@kernel
def looked_up(bets, own, arm, side, exponent):
    """The greatest Q that is left at an exponent, by the table of the last look."""
    level, most = exponent + np.log(2.0), bets.high[arm] - bets.low[arm]
    if not (bets.curves.concave[UP] and bets.curves.concave[DOWN]):
        level -= np.log1p(-BAND)
    return max(min(_end_by(own.table[arm, side], level), own.limit[arm, side], most), 0.0)


@widen.of(SequenceRule)
def _(band, kept, memory, exponent, low, high):
    bets, own = band.bets, kept.followed
    for arm in range(low.size):
        if memory.pulls[arm] == 0:
            low[arm], high[arm] = -np.inf, np.inf
        elif kept.exponent[arm] == exponent:
            low[arm] = bets.high[arm] - looked_up(bets, own, arm, DOWN, exponent)
            high[arm] = bets.low[arm] + looked_up(bets, own, arm, UP, exponent)
        else:  # asked for at another confidence, or before the first look
            low[arm], high[arm] = ends_by_bets(bets, own, memory, arm, exponent)
