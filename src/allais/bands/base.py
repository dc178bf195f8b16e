"""What a band is to a policy: a shape for a given exponent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from allais._checks import FloatArray
from allais._kernels import by_reference, kernel, verb
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian


class Interval(NamedTuple):
    """An estimated value with a confidence interval around it.

    Attributes:
        low: The lower end.
        value: The estimate.
        high: The upper end.

    >>> low, value, high = DKW().interval(expected_value(), Bounded(0, 1), [1] * 30 + [0] * 70)
    >>> round(low, 3), round(value, 3), round(high, 3)
    (0.164, 0.3, 0.436)
    """

    low: float
    value: float
    high: float

    def within(self, bounds: tuple[float, float]) -> Interval:
        """The interval, cut at the least and the greatest value that are possible.

        Args:
            bounds: The least and the greatest value that are possible.

        >>> Interval(-26.9, 14.2, 55.3).within((0.0, 50.0))
        Interval(low=0.0, value=14.2, high=50.0)
        """
        return Interval(max(self.low, bounds[0]), self.value, min(self.high, bounds[1]))


class Band(Protocol):
    """The setting of a band: how to build what its kernels read."""

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> Any:
        """What the kernels read, for the rewards of each arm: the band's numbers, in a NamedTuple.

        Its arrays have one entry per arm; tables of another length go into a NamedTuple of their own, since the
        lengths of all others are checked. Its method `kept(n_arms)` makes what `refresh` keeps up to date.
        """
        ...


class NoBand(NamedTuple):
    """The rule of a policy without intervals."""

    def kept(self, n_arms: int) -> Any:
        """Nothing is kept about an arm."""
        return ()


def anytime_rule(band: Band, preference: Preference, rewards: Sequence[Rewards]) -> Any | None:
    """The rule of a band that holds in all rounds at once, or None where the band has no such form.

    `widen` then writes intervals each of which fails in any round at all with probability e^-exponent at most, so the
    policy need not pay for the rounds.
    """
    make = getattr(band, "anytime_rule", None)
    return None if make is None else make(preference, rewards)


def bounds_of(preference: Preference, rewards: Rewards) -> tuple[float, float]:
    """The least and the greatest value that are possible: those of the declared bounds.

    Args:
        preference: What is maximised.
        rewards: What is known about the outcomes.

    >>> bounds_of(Preference(TverskyKahneman(0.61), reference=60.0, costs=True), Bounded(50, 90))
    (-30.0, 10.0)
    """
    if isinstance(rewards, SubGaussian):
        return -math.inf, math.inf
    low, high = np.sort(preference.utilities(np.array(rewards.support))).tolist()
    return low, high


def refuse_unbounded(what: str, rewards: Sequence[Rewards]) -> None:
    """Refuse rewards without bounds, for a band that needs them."""
    if any(isinstance(known, SubGaussian) for known in rewards):
        raise ValueError(
            f"{what} needs bounded rewards; got SubGaussian. Use Envelope(), or declare Bounded(low, high)."
        )


def _refresh(band, kept, memory, arm):
    """Bring what the band keeps about an arm up to date, after the arm's memory changed."""


def _follow(band, kept, memory, arm, utility):
    """Take note of an outcome that an arm's memory has just taken in, for a band that follows their order."""


def _widen(band, kept, memory, exponent, low, high):
    """Write the ends of every arm's interval: each fails with probability 2 e^-exponent at most, in this round.

    Under an `anytime_rule` each fails with probability e^-exponent at most in any round.
    """


@kernel
def keep_nothing(band, kept, memory, arm):
    """A band that keeps nothing has nothing to bring up to date."""


@kernel
def follow_nothing(band, kept, memory, arm, utility):
    """The intervals of most bands are a function of what was seen, in whatever order."""


@kernel
def no_interval(band, kept, memory, exponent, low, high):
    """Write infinite intervals, for a policy that has none."""
    for arm in range(low.size):
        low[arm], high[arm] = -np.inf, np.inf


refresh = verb(_refresh, default=keep_nothing)
follow = verb(_follow, default=follow_nothing)
widen = verb(_widen, default=no_interval)


class GivenRule(NamedTuple):
    """In the place of a band where intervals were computed beforehand, for somebody else (`learner/bounds.py`)."""


@by_reference
class GivenEnds(NamedTuple):
    """The ends that were computed; infinite for an arm that was never told."""

    low: FloatArray  # (n_arms,)
    high: FloatArray


@widen.of(GivenRule)
def _(band, kept, memory, exponent, low, high):
    for arm in range(low.size):
        low[arm], high[arm] = kept.low[arm], kept.high[arm]
