"""The DKW band: the distribution moves by eps everywhere, and the value is read at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais.bands._distribution_bounds import TailRule, interval_of, steady, tail_rule
from allais.bands._tail_walks import ceiling
from allais.bands.base import Interval, refuse_unbounded
from allais.preferences import Preference
from allais.rewards import Rewards


@dataclass(frozen=True)
class DKW:
    """Every probability lies within eps = sqrt(x / 2l) of its share; the interval is always inside Hölder's.

    In all rounds at once eps is 0.85 sqrt((log(1 + log l) + 0.8 (x + log 1612)) / l) (Howard & Ramdas 2022).

    >>> people = Preference(TverskyKahneman(0.61))
    >>> DKW().interval(people, Bounded(0, 50), [50] * 10 + [0] * 90)
    Interval(low=0.0, value=9.3151..., high=14.12...)
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for one look at the data."""
        refuse_unbounded("the DKW band", rewards)
        return tail_rule(DKWShape(False), preference, rewards, always=False)

    def anytime_rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for an interval that holds in all rounds at once."""
        refuse_unbounded("the DKW band", rewards)
        return tail_rule(DKWShape(True), preference, rewards, always=True)

    def interval(
        self, preference: Preference, rewards: Rewards, samples: ArrayLike, confidence: float = 0.95
    ) -> Interval:
        """The value of samples, with an interval that contains the true value with the given confidence.

        Args:
            preference: What is maximised.
            rewards: What is known about the outcomes.
            samples: Outcomes that were seen, in any order.
            confidence: The probability that the interval holds the true value, in (0, 1).
        """
        return interval_of(self, preference, rewards, samples, confidence)


class DKWShape(NamedTuple):
    """How far probabilities move."""

    always: bool


@steady.of(DKWShape)
def _steady(shape, pulls, exponent):
    if shape.always:  # Theorem 2 of Howard & Ramdas
        return 0.85 * np.sqrt((np.log(1.0 + np.log(pulls)) + 0.8 * (exponent + np.log(1612.0))) / pulls)
    return np.sqrt(0.5 * exponent / pulls)  # Dvoretzky-Kiefer-Wolfowitz-Massart


@ceiling.of(DKWShape)
def _ceiling(shape, arm, count, pulls, exponent):
    return min(count / pulls + _steady(shape, pulls, exponent), 1.0)
