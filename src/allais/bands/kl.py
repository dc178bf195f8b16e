"""The KL band: each probability within the reach of a likelihood ratio, narrow where it is near 0 or 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray
from allais._kernels import kernel, late, routine
from allais.bands.base import Interval, refuse_unbounded
from allais.bands.tail_ends import ceiling
from allais.bands.tails import TailRule, interval_of, tail_rule
from allais.preferences import Preference
from allais.rewards import Finite, Rewards

STRENGTH = 16.0  # of the mixture, in samples: near its best from 50 samples to 10^5 (docs/theory/bands.md)
IDLE = 0.1  # the share of the mixture that stays at the hypothesis: bounds a martingale from below
FIRST_LEVEL, LAST_LEVEL = 3, 20  # of grids of probabilities for an unknown support: 2^r points at level r
LEVELS = LAST_LEVEL - FIRST_LEVEL + 1  # each has the same share; the last one serves 10^10 samples and more
NEWTON = 60  # steps at most; four are usual


@dataclass(frozen=True)
class KL:
    """Every probability q with l kl(share, q) <= x: for `Finite` rewards at each value, else at each outcome seen.

    In all rounds at once, the likelihood ratio of a beta mixture takes the place of l kl
    (docs/theory/bands.md). Steep weights meet rare outcomes with narrow bounds, unlike DKW's.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> KL().interval(people, Finite([0, 50]), [50] * 10 + [0] * 90)
    Interval(low=5.70..., value=9.3151..., high=13.04...)
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for one look at the data."""
        return tail_rule(kl_shape(preference, rewards, always=False), preference, _bounded(rewards), always=False)

    def anytime_rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for an interval that holds in all rounds at once."""
        return tail_rule(kl_shape(preference, rewards, always=True), preference, _bounded(rewards), always=True)

    def interval(
        self, preference: Preference, rewards: Rewards, samples: ArrayLike, confidence: float = 0.95
    ) -> Interval:
        """The value of samples, with an interval that holds the true one with the given confidence."""
        return interval_of(self, preference, rewards, samples, confidence)


def _bounded(rewards: Sequence[Rewards]) -> Sequence[Rewards]:
    refuse_unbounded("the KL band", rewards)
    return rewards


class KLShape(NamedTuple):
    """How far probabilities move."""

    log_cuts: FloatArray  # log of the number of unknown probabilities, S - 1; NaN where S is unknown; (n_arms,)
    always: bool


def kl_shape(preference: Preference, rewards: Sequence[Rewards], *, always: bool) -> KLShape:
    """The shape for the rewards of each arm."""
    # one value needs no interval, and one cut costs nothing
    cuts = [
        math.log(max(np.unique(preference.felt(np.array(known.values))).size - 1, 1))
        if isinstance(known, Finite)
        else math.nan
        for known in rewards
    ]
    return KLShape(np.array(cuts), always)


# -- compiled -------------------------------------------------------------------------------------


@routine
def kl_ceiling(p, level):
    """The largest q with kl(p, q) <= level."""
    if p >= 1.0 or level <= 0.0:
        return p
    if p <= 0.0:
        return -np.expm1(-level)
    # beyond p, kl(p, q) is convex and rises: Newton's steps stay outside the root once they passed it
    angle = np.arcsin(np.sqrt(p)) + np.sqrt(0.5 * level)
    q = np.sin(angle) ** 2 if angle < 1.57 else 0.5 * (1.0 + p)
    for _ in range(NEWTON):
        excess = p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)) - level
        slope = (q - p) / (q * (1.0 - q))
        following = q - excess / slope if slope > 0.0 else 0.5 * (1.0 + q)
        if following >= 1.0:
            following = 0.5 * (1.0 + q)
        done = abs(following - q) <= 1e-13 * q
        q = following
        if done:
            break
    return min(max(q, p), 1.0)


@kernel
def digamma(x):
    """The slope of log Gamma."""
    result = 0.0
    while x < 8.0:
        result -= 1.0 / x
        x += 1.0
    s = 1.0 / (x * x)
    # the asymptotic series, to 1e-12 from 8 on
    series = s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s / 132.0))))
    return result + np.log(x) - 0.5 / x - series


@kernel
def log_ratio(count, pulls, strength, q):
    """log of the likelihood of a Beta(a q, a (1 - q)) mixture over that of q itself; convex in q."""
    a, b = strength * q, strength * (1.0 - q)
    rest = pulls - count
    hits = math.lgamma(a + count) - math.lgamma(a) - count * np.log(q)
    misses = math.lgamma(b + rest) - math.lgamma(b) - rest * np.log1p(-q)
    return hits + misses - math.lgamma(strength + pulls) + math.lgamma(strength)


@kernel
def _slope(count, pulls, strength, q):
    a, b = strength * q, strength * (1.0 - q)
    rest = pulls - count
    hits = strength * (digamma(a + count) - digamma(a)) - count / q
    return hits - strength * (digamma(b + rest) - digamma(b)) + rest / (1.0 - q)


@routine
def mixture_ceiling(count, pulls, strength, exponent):
    """The largest q whose mixture of IDLE and `log_ratio` stays at most e^exponent."""
    if count >= pulls:
        return 1.0
    p = count / pulls
    least = 0.0 if count == 0 else log_ratio(count, pulls, strength, p)
    level = -np.inf
    if np.exp(exponent) > IDLE:  # else no q is left, and a larger set is as valid
        level = exponent + np.log1p(-IDLE * np.exp(-exponent)) - np.log1p(-IDLE)
    level = max(level, least + 1e-3)
    last = 1.0 - 1e-14
    if log_ratio(count, pulls, strength, last) <= level:
        return 1.0
    bought = (level + 0.5 * np.log(1.0 + pulls / strength)) * (1.0 + strength / pulls) / pulls
    angle = np.arcsin(np.sqrt(p)) + np.sqrt(0.5 * bought)
    q = np.sin(angle) ** 2 if angle < 1.57 else 0.5 * (1.0 + p)
    q = min(max(q, 1e-300), last)
    for _ in range(NEWTON):
        excess = log_ratio(count, pulls, strength, q) - level
        slope = _slope(count, pulls, strength, q)
        following = q - excess / slope if slope > 0.0 else 0.5 * (1.0 + q)
        if following >= last:
            following = 0.5 * (1.0 + q)
        done = abs(following - q) <= 1e-11 * q
        q = max(following, p)
        if done:
            break
    return min(q, 1.0)


@kernel
def _level(pulls):
    # 2^level is between 4 and 8 times sqrt(l): a step of the grid is then an eighth of a bound's distance
    return min(int(0.5 * np.log2(pulls)) + FIRST_LEVEL, LAST_LEVEL)


@late(float)
def _ceiling_in_all_rounds(shape, arm, count, pulls, exponent):
    if not np.isnan(shape.log_cuts[arm]):
        return mixture_ceiling(count, pulls, STRENGTH, exponent + shape.log_cuts[arm])
    # unknown support: probabilities on a grid that is even in arcsin sqrt(p)
    level = _level(pulls)
    points = 2.0**level
    price = np.log(points * LEVELS)
    strength = max(points * points / 2048.0, 0.5)  # the mixture at its best for the rounds of this level
    q = mixture_ceiling(count, pulls, strength, max(exponent + price, 0.0))
    step = np.ceil(np.arcsin(np.sqrt(q)) * points / (0.5 * np.pi))
    return 1.0 if step >= points else np.sin(0.5 * np.pi * step / points) ** 2


@ceiling.of(KLShape)
def _(shape, arm, count, pulls, exponent):
    if shape.always:
        return _ceiling_in_all_rounds(shape, arm, count, pulls, exponent)
    # Chernoff at each of S - 1 cuts, or at each of l order statistics
    price = np.log(pulls) if np.isnan(shape.log_cuts[arm]) else shape.log_cuts[arm]
    return kl_ceiling(count / pulls, (exponent + price) / pulls)
