"""Bands on probabilities: KL, narrow near 0 and 1; DKW, the same everywhere; and KL within a sub-Gaussian envelope."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import kernel, late, routine
from allais.bands._distribution_bounds import DistributionBand, TailRule, steady, tail_rule
from allais.bands._order_statistics import QuantileRule, quantile_rule
from allais.bands._tail_walks import (
    IDLE,
    STRENGTH,
    betting_level,
    ceiling,
    grid_of,
    grid_points,
    grid_price,
    grid_probability,
    grid_strength,
    log_ratio,
)
from allais.bands.base import refuse_unbounded
from allais.numerics.k_inf import gamma_logs
from allais.preferences import Preference
from allais.rewards import Finite, Rewards, SubGaussian

NEWTON = 60  # steps at most; four are usual


@dataclass(frozen=True)
class KL(DistributionBand):
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

    def anytime_rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule | QuantileRule:
        """What the kernels read, for an interval that holds in all rounds at once."""
        one = quantile_rule(preference, _bounded(rewards), always=True)  # needs one cut, and no grid
        if one is not None:
            return one
        return tail_rule(kl_shape(preference, rewards, always=True), preference, rewards, always=True)


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
        math.log(max(np.unique(preference.utilities(np.array(known.values))).size - 1, 1))
        if isinstance(known, Finite)
        else math.nan
        for known in rewards
    ]
    return KLShape(np.array(cuts), always)


@dataclass(frozen=True)
class DKW(DistributionBand):
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


class DKWShape(NamedTuple):
    """How far probabilities move."""

    always: bool


@dataclass(frozen=True)
class Envelope(DistributionBand):
    """P(X > z) is at most min(KL bound, exp(-(z - m)^2 / 2 sigma^2)) for z beyond m, an upper bound on the mean.

    The lower tail is bounded likewise. It is for `SubGaussian` rewards; a bounded arm beside them has its KL band.
    Half of the probability to fail is spent on the bounds on the mean.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> samples = np.random.default_rng(1).normal(size=1000)
    >>> low, _, high = Envelope().interval(people, SubGaussian(1.0, 5.0), samples)
    >>> wide = Holder().interval(people, SubGaussian(1.0, 5.0), samples)
    >>> round((high - low) / (wide.high - wide.low), 2)
    0.08
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for one look at the data."""
        return self._rule(preference, rewards, always=False)

    def anytime_rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for an interval that holds in all rounds at once."""
        return self._rule(preference, rewards, always=True)

    def _rule(self, preference: Preference, rewards: Sequence[Rewards], *, always: bool) -> TailRule:
        for known in rewards:
            if isinstance(known, SubGaussian):
                preference.truncation(known, 1)  # refuses a utility
        return tail_rule(kl_shape(preference, rewards, always=always), preference, rewards, always=always)


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
        derivative = (q - p) / (q * (1.0 - q))
        following = q - excess / derivative if derivative > 0.0 else 0.5 * (1.0 + q)
        if following >= 1.0:
            following = 0.5 * (1.0 + q)
        done = abs(following - q) <= 1e-13 * q
        q = following
        if done:
            break
    return min(max(q, p), 1.0)


@routine
def kl_ceilings(shares, levels, found):
    """Write the largest q with kl(p, q) <= level for each of many shares."""
    for i in range(shares.size):
        found[i] = kl_ceiling(shares[i], levels[i])


@kernel
def _derivative(count, pulls, strength, q):
    a, b = strength * q, strength * (1.0 - q)
    rest = pulls - count
    hits = strength * (gamma_logs(a + count)[1] - gamma_logs(a)[1]) - count / q
    return hits - strength * (gamma_logs(b + rest)[1] - gamma_logs(b)[1]) + rest / (1.0 - q)


@routine
def mixture_ceiling(count, pulls, strength, exponent):
    """The largest q whose mixture of IDLE and `log_ratio` stays at most e^exponent."""
    if count >= pulls:
        return 1.0
    p = count / pulls
    least = 0.0 if count == 0 else log_ratio(count, pulls, strength, p)
    level = -np.inf
    if np.exp(exponent) > IDLE:  # else no q is left, and a larger set is as valid
        level = betting_level(exponent)
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
        derivative = _derivative(count, pulls, strength, q)
        following = q - excess / derivative if derivative > 0.0 else 0.5 * (1.0 + q)
        if following >= last:
            following = 0.5 * (1.0 + q)
        done = abs(following - q) <= 1e-11 * q
        q = max(following, p)
        if done:
            break
    return min(q, 1.0)


@late(float)
def _ceiling_in_all_rounds(shape, arm, count, pulls, exponent):
    if not np.isnan(shape.log_cuts[arm]):
        return mixture_ceiling(count, pulls, STRENGTH, exponent + shape.log_cuts[arm])
    points = grid_points(pulls)
    q = mixture_ceiling(count, pulls, grid_strength(points), exponent + grid_price(points))
    step = np.ceil(np.arcsin(np.sqrt(q)) * points / (0.5 * np.pi))
    return 1.0 if step >= points else grid_probability(points, step)


@ceiling.of(KLShape)
def _(shape, arm, count, pulls, exponent):
    if shape.always:
        return _ceiling_in_all_rounds(shape, arm, count, pulls, exponent)
    # Chernoff at each of S - 1 cuts, or at each of l order statistics
    price = np.log(pulls) if np.isnan(shape.log_cuts[arm]) else shape.log_cuts[arm]
    return kl_ceiling(count / pulls, (exponent + price) / pulls)


@grid_of.of(KLShape)
def _(shape, arm, pulls):
    return grid_points(pulls) if shape.always and np.isnan(shape.log_cuts[arm]) else 0.0


@steady.of(DKWShape)
def _steady(shape, pulls, exponent):
    if shape.always:  # Theorem 2 of Howard & Ramdas
        return 0.85 * np.sqrt((np.log(1.0 + np.log(pulls)) + 0.8 * (exponent + np.log(1612.0))) / pulls)
    return np.sqrt(0.5 * exponent / pulls)  # Dvoretzky-Kiefer-Wolfowitz-Massart


@ceiling.of(DKWShape)
def _ceiling(shape, arm, count, pulls, exponent):
    return min(count / pulls + _steady(shape, pulls, exponent), 1.0)
