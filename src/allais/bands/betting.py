"""The betting band: a value is refused when betting against it has made enough money."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, share
from allais._kernels import routine
from allais.bands._curves import Curves, curves_of
from allais.bands._wagers import (
    DOWN,
    FIRST,
    NODES,
    UP,
    find_remainders,
    no_wagers,
    note_outcome,
    wealth_end,
)
from allais.bands.base import Interval, bounds_of, refuse_unbounded
from allais.bands.kl import KLShape, kl_shape
from allais.preferences import Preference
from allais.rewards import Finite, Rewards
from allais.samples.layout import grown
from allais.samples.memory import empty_memory, insert, is_full

BAND = 0.15  # of the failures are left to the band of the distribution, where one is needed
GRID = 6.5  # about what a point of that band's grid pays, from 1,000 samples on


@dataclass(frozen=True)
class Betting:
    """Bets on one linear functional of the outcomes: the mean and CVaR are bounded without a band of the distribution.

    Other bands bound the whole distribution and pay for all of it; a value is one number. The interval holds in all
    rounds at once. It needs outcomes in the order in which they came, bounds or values of them, and weights that
    neither fall nor jump. `TopTwo(..., evidence=Betting())` looks for the best arm by it.

    >>> gains = np.random.default_rng(1).beta(2, 30, size=1_000)
    >>> low, value, high = Betting().interval(expected_value(), Bounded(0, 1), gains)
    >>> wide = KL().interval(expected_value(), Bounded(0, 1), gains)  # for one look at the data
    >>> low < value < high, high - low < 0.3 * (wide.high - wide.low)
    (True, True)
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> BettingRule:
        """What the kernels read, at 95 % confidence of one arm."""
        return betting_rule(preference, rewards, math.log(2.0 / 0.05), math.log(1.0 / 0.05), math.log(1.0 / 0.05))

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
        while (done := int(_bet_on(band, wagers, memory, utilities, seen, done))) < seen.size:
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
    expected: float  # the exponent of the band, with what its grid pays
    exponent_up: float  # of the band that holds an arm's value from above
    exponent_down: float

    def kept(self, n_arms: int) -> tuple[()]:
        """What bets have made is no function of what was seen: the policy keeps it."""
        return ()

    @property
    def needs_band(self) -> bool:
        """Whether any side needs a band of the distribution."""
        return not bool(self.curves.concave.all())


def betting_rule(
    preference: Preference, rewards: Sequence[Rewards], stake: float, exponent_up: float, exponent_down: float
) -> BettingRule:
    """What the kernels read.

    Args:
        preference: What is maximised.
        rewards: What is known about each arm's outcomes.
        stake: The log of the wealth that bets are made for.
        exponent_up: The band that holds an arm's value from above fails with probability e^-exponent_up at most.
        exponent_down: The same from below.
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
    return BettingRule(curves, shape, places, low, high, stake, exponent_down + GRID, exponent_up, exponent_down)


# -- compiled -------------------------------------------------------------------------------------


@routine
def ends_by_bets(band, own, memory, arm, exponent):
    """The ends of one arm's interval: both together fail with probability e^-exponent at most, in any round."""
    pulls = memory.pulls[arm]
    if own.epochs[arm] == 0 or pulls <= FIRST:
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
def _bet_on(band, own, memory, utilities, raw, start):
    """Take samples of one arm in, from `start` on; the index at which it stopped for want of room, or their number."""
    for i in range(start, raw.size):
        if is_full(memory, 0):
            return i
        insert(memory, 0, utilities[i], raw[i])
        note_outcome(band, own, memory, 0, utilities[i])
    return raw.size
