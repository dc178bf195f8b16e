"""The bands of the paper: Hölder's (Theorem 1, Proposition 1), and empirical Bernstein's, which UCB-V uses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, share
from allais._kernels import by_reference, kernel
from allais.bands.base import Interval, bounds_of, refresh, widen
from allais.numerics.integrals import integrate, integrate_tail
from allais.numerics.table import Table, staircase, tabulate, weigh
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian
from allais.samples.memory import VALUE_SLACK, moments
from allais.weights import Identity, Weight


@dataclass(frozen=True)
class Holder:
    """value +- L (b - a) eps^alpha with eps = sqrt(x / 2l): Theorem 1 for any support and two weights.

    Where a weight has no Hölder pair (Prelec, Wang), its modulus of continuity takes the place of
    L eps^alpha. Sub-Gaussian rewards get the truncated estimator and its bound (Proposition 1).

    Args:
        undistorted: Whether it is the band of the mean, around any value: for the WE heuristics.

    >>> from allais import Bounded, TverskyKahneman
    >>> people = Preference(TverskyKahneman(0.61))
    >>> band = Holder()
    >>> round(band.radius(people, Bounded(0, 50), pulls=1000, exponent=math.log(2 / 0.05)), 3)
    12.015
    """

    undistorted: bool = False

    def radius(self, preference: Preference, rewards: Rewards, pulls: int, exponent: float) -> float:
        """Half the width of the interval, valid with probability 1 - 2 e^-exponent.

        Args:
            preference: What is maximised.
            rewards: What is known about the outcomes.
            pulls: The number of samples.
            exponent: How much confidence is bought; log(2/delta) for one interval that fails with probability delta.
        """
        if pulls < 1:
            raise ValueError(f"an interval needs at least one sample; got {pulls} pulls. Sample the arm first.")
        eps = math.sqrt(exponent / (2.0 * pulls))  # Dvoretzky-Kiefer-Wolfowitz-Massart
        if isinstance(rewards, SubGaussian):
            return self._truncated_radius(preference, rewards, pulls, eps)
        gain_stretch, loss_stretch = stretches(preference, rewards)
        gains, losses = self._weights(preference)
        radius = gain_stretch * deviation(gains, eps) if gain_stretch else 0.0
        return radius + (loss_stretch * deviation(losses, eps) if loss_stretch else 0.0)

    def _weights(self, preference: Preference) -> tuple[Weight, Weight]:
        if self.undistorted:
            return Identity(), Identity()
        for weight in (preference.gains, preference.losses):
            if weight.jumps:
                raise ValueError(
                    f"a Hölder band needs a continuous weight; {weight!r} jumps, so no number of samples narrows it. "
                    "Use KL() or DKW()."
                )
        return preference.gains, preference.losses

    def _truncated_radius(self, preference: Preference, rewards: SubGaussian, pulls: int, eps: float) -> float:
        # docs/paper/errata.md, 11: mean, sigma and both sides, which the paper drops; no bound at n = 1
        if pulls < 2:
            return math.inf
        edge = preference.truncation(rewards, pulls)
        weights = self._weights(preference)
        inside = sum(edge * deviation(weight, eps) for weight in weights)
        outside = sum(rewards.scale * _normal_tail(weight, math.sqrt(math.log(pulls))) for weight in weights)
        return inside + outside

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> HolderRule:
        """What the kernels read, for the rewards of each arm."""
        gains, losses = self._weights(preference)
        bounded = [(0.0, 0.0) if isinstance(r, SubGaussian) else stretches(preference, r) for r in rewards]
        tailed = [r if isinstance(r, SubGaussian) else None for r in rewards]
        return HolderRule(
            _side(gains, np.array([stretch[0] for stretch in bounded]), any(tailed)),
            _side(losses, np.array([stretch[1] for stretch in bounded]), any(tailed)),
            np.array([0.0 if r is None else preference.truncation(r, 1) for r in tailed]),
            np.array([0.0 if r is None else r.scale for r in tailed]),
            max(variation(preference.gains), variation(preference.losses)),
        )

    def interval(
        self, preference: Preference, rewards: Rewards, samples: ArrayLike, confidence: float = 0.95
    ) -> Interval:
        """The value of samples, with an interval that contains the true value with the given confidence.

        The interval ends where the rewards do: no value lies outside their bounds.

        Args:
            preference: What is maximised.
            rewards: What is known about the outcomes.
            samples: Outcomes that were seen, in any order.
            confidence: The probability that the interval holds the true value, in (0, 1).

        >>> from allais import Bounded, TverskyKahneman
        >>> Holder().interval(Preference(TverskyKahneman(0.61)), Bounded(0, 50), [50] * 10 + [0] * 90)
        Interval(low=0.0, value=9.3151..., high=33.5660...)
        """
        seen = rewards.check(samples)
        exponent = math.log(2.0 / (1.0 - share("confidence", confidence, advice="Give a share of 1, such as 0.95.")))
        radius = self.radius(preference, rewards, seen.size, exponent)
        if isinstance(rewards, SubGaussian):
            value = preference.estimate_truncated(seen, rewards)
        else:
            value = preference.estimate(seen)
        return Interval(value - radius, value, value + radius).within(bounds_of(preference, rewards))


def deviation(weight: Weight, eps: float) -> float:
    """How far w can move when its probability moves by eps: L eps^alpha, or the modulus."""
    pair = weight.holder
    return weight.modulus(min(eps, 1.0)) if pair is None else pair.constant * eps**pair.exponent


def deviations(weight: Weight, eps: FloatArray) -> FloatArray:
    """What kernels take for `deviation`, of many distances: a modulus that costs a search is read from a staircase."""
    pair = weight.holder
    if pair is not None:
        return pair.constant * eps**pair.exponent
    if weight.modulus_kind != "exact":
        eps = np.append(STAIRS, np.inf)[np.searchsorted(STAIRS, eps, side="right")]
    distinct, where = np.unique(eps, return_inverse=True)
    return np.array([weight.modulus(one) if one <= 1.0 else 1.0 for one in distinct.tolist()])[where]


def variation(weight: Weight) -> float:
    """How far w rises and falls in all: 1 for a monotone weight."""
    return float(np.abs(np.diff(weight(np.array([0.0, *weight.turning_points, 1.0])))).sum())


def stretches(preference: Preference, rewards: Rewards) -> tuple[float, float]:
    """How far gains and losses reach over the support, as a utility.

    Gains and losses deviate at once, each over its own stretch (docs/paper/errata.md, 10).
    """
    low, high = bounds_of(preference, rewards)
    return max(high, 0.0) - max(low, 0.0), min(high, 0.0) - min(low, 0.0)


def normal_tails(weight: Weight, starts: FloatArray) -> FloatArray:
    """A bound on the integral of w(P(Y > u)) over u > start, for a centred Y of scale 1, of many starts."""
    distinct, where = np.unique(starts, return_inverse=True)
    return np.array([_normal_tail(weight, start) for start in distinct.tolist()])[where]


@lru_cache(maxsize=1024)
def _normal_tail(weight: Weight, start: float) -> float:
    """A bound on the integral of w(P(Y > u)) over u > start, for a centred Y of scale 1."""
    pair = weight.holder
    if pair is not None:  # int L exp(-alpha u^2 / 2) du <= L exp(-alpha start^2 / 2) / (alpha start)
        return pair.constant * math.exp(-pair.exponent * start**2 / 2.0) / (pair.exponent * start)

    def ceiling(u: FloatArray) -> FloatArray:
        log_p = -0.5 * u**2  # P(Y > u) <= exp(-u^2 / 2)
        with np.errstate(divide="ignore"):
            return weight.of_logs(log_p, np.log(-np.expm1(log_p)))

    if not weight.is_monotone:
        raise ValueError(
            f"unbounded rewards need a weight whose tail is known; {weight!r} is not monotone and has no Hölder pair. "
            "Declare holder=(L, alpha), or Bounded rewards."
        )
    head = integrate(ceiling, [start, start + 1.0])
    rest = integrate_tail(ceiling, start + 1.0, 1e100, head.value)
    return head.value + rest.value + head.error + rest.error


# -- compiled -------------------------------------------------------------------------------------


@by_reference
class Side(NamedTuple):
    """One weight's share of the radius: stretch * L (x / 2l)^(alpha / 2), or stretch * modulus."""

    stretch: FloatArray  # (n_arms,)
    constant: float  # L
    half_alpha: float  # alpha / 2; 0 where the modulus is read instead
    modulus: Table
    tail: Table  # the integral beyond the truncation at sqrt(log n), as a function of 1 / log n


class HolderRule(NamedTuple):
    """The Hölder band of each arm; sub-Gaussian arms have a scale above 0."""

    gains: Side
    losses: Side
    edge: FloatArray  # m of the truncation m + sigma sqrt(log n)
    scale: FloatArray  # sigma
    variation: float  # of the weights; cells of outcomes hide at most their reach times this

    def kept(self, n_arms: int) -> HolderKept:
        """Nothing is known about the arms yet."""
        return HolderKept(np.zeros(n_arms), np.zeros(n_arms), np.full(n_arms, np.inf))


@by_reference
class HolderKept(NamedTuple):
    """The parts of each arm's radius that do not depend on the round."""

    gains: FloatArray  # stretch L (1 / 2l)^(alpha / 2), (n_arms,)
    losses: FloatArray
    beyond: FloatArray  # what lies beyond the truncation


def _side(weight: Weight, stretch: FloatArray, has_tail: bool) -> Side:
    pair = weight.holder
    modulus = _modulus_table(weight) if pair is None else _unread()
    tail = _tail_table(weight) if has_tail else _unread()
    constant, exponent = pair or (1.0, 0.0)
    return Side(stretch, constant, exponent / 2.0, modulus, tail)


STAIRS = 2.0 ** np.arange(-30.0, 1e-9, 0.125)  # eight per octave


@lru_cache(maxsize=256)
def _modulus_table(weight: Weight) -> Table:
    if weight.modulus_kind == "exact":
        return tabulate(np.vectorize(weight.modulus, otypes=[np.float64]))
    # each bound costs a search: the next larger one is a bound too
    return staircase(STAIRS, np.array([weight.modulus(eps) for eps in STAIRS]))


@lru_cache(maxsize=256)
def _tail_table(weight: Weight) -> Table:
    """The tail beyond sqrt(log n), against 1 / (1 + log n): smooth, and zero at zero."""

    def tail(inverse: FloatArray) -> FloatArray:
        # from two pulls to 1e18; constant beyond, where it is never read
        return normal_tails(weight, np.sqrt(1.0 / np.clip(inverse, 0.0235, 0.6) - 1.0))

    return tabulate(tail, (0.0235, 0.6))


@lru_cache(maxsize=1)
def _unread() -> Table:
    return staircase(np.ones(1), np.ones(1))


@refresh.of(HolderRule)
def _(band, kept, memory, arm):
    pulls = memory.pulls[arm]
    stretch_gain, stretch_loss = band.gains.stretch[arm], band.losses.stretch[arm]
    kept.beyond[arm] = 0.0
    if band.scale[arm] > 0.0:  # sub-Gaussian: the stretch is the truncation, on both sides
        if pulls < 2:
            kept.beyond[arm] = np.inf
            return
        log_n = np.log(pulls)
        edge = band.edge[arm] + band.scale[arm] * np.sqrt(log_n)
        stretch_gain = edge
        stretch_loss = edge
        inverse = 1.0 / (1.0 + log_n)
        kept.beyond[arm] = band.scale[arm] * (weigh(band.gains.tail, inverse) + weigh(band.losses.tail, inverse))
    kept.gains[arm] = _factor(band.gains, stretch_gain, pulls)
    kept.losses[arm] = _factor(band.losses, stretch_loss, pulls)


@kernel
def _power(x, exponent):
    return np.sqrt(x) if exponent == 0.5 else x**exponent  # the root is four times faster


@kernel
def _factor(side, stretch, pulls):
    """The part of a radius that the arm alone decides: stretch L (1 / 2l)^(alpha / 2), or the stretch without an L."""
    if side.half_alpha > 0.0 and stretch > 0.0:
        return stretch * side.constant * _power(0.5 / pulls, side.half_alpha)
    return stretch


@kernel
def _reach(side, factor, power, eps):
    if factor == 0.0:
        return 0.0
    if side.half_alpha > 0.0:
        return factor * power
    return factor * weigh(side.modulus, eps)


@widen.of(HolderRule)
def _(band, kept, memory, exponent, low, high):
    # x^(alpha/2) is common to all arms; what depends on the arm was kept by `refresh`
    by_modulus = band.gains.half_alpha == 0.0 or band.losses.half_alpha == 0.0
    gain_power = _power(exponent, band.gains.half_alpha)
    loss_power = gain_power
    if band.losses.half_alpha != band.gains.half_alpha:
        loss_power = _power(exponent, band.losses.half_alpha)
    # read before the loop, or compiled code looks up where each array begins for every arm
    told, value, slack = memory.pulls, memory.value, memory.slack
    beyond, gains, losses, variation = kept.beyond, kept.gains, kept.losses, band.variation
    for arm in range(low.size):
        pulls = told[arm]
        radius = beyond[arm] + variation * slack[arm, VALUE_SLACK]
        if by_modulus:
            eps = np.sqrt(0.5 * exponent / max(pulls, 1))
            gain_reach = _reach(band.gains, gains[arm], gain_power, eps)
            radius += gain_reach + _reach(band.losses, losses[arm], loss_power, eps)
        else:
            radius += gains[arm] * gain_power + losses[arm] * loss_power
        low[arm] = value[arm] - radius if pulls > 0 else -np.inf
        high[arm] = value[arm] + radius if pulls > 0 else np.inf


@dataclass(frozen=True)
class EmpiricalBernstein:
    """mean +- sqrt(2 V x / l) + 3 (b - a) x / l, with the empirical variance V (Audibert et al. 2009).

    It is a band for means: only for a preference without distortion.

    >>> from allais import Bandit, WUCB, simulate
    >>> policy = WUCB(expected_value(), Bounded(0, 1), band=EmpiricalBernstein(), exploration=1.2)
    >>> simulate(policy, Bandit([Bernoulli(0.4), Bernoulli(0.6)]), n_rounds=1_000, seed=1).pulls[0, -1]
    array([169, 831])
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> BernsteinRule:
        """What the kernels read, for the rewards of each arm."""
        if not (isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity)):
            raise ValueError(
                f"the empirical Bernstein band holds for means; got a preference with {preference.gains!r}. "
                "Use Holder(), or expected_value()."
            )
        if any(isinstance(known, SubGaussian) for known in rewards):
            raise ValueError(
                "the empirical Bernstein band needs bounded rewards; got SubGaussian. Declare Bounded(low, high)."
            )
        spans = [np.ptp(bounds_of(preference, known)) for known in rewards]
        return BernsteinRule(np.array(spans))


class BernsteinRule(NamedTuple):
    """The range of each arm's rewards."""

    span: FloatArray  # b - a, (n_arms,)

    def kept(self, n_arms: int) -> FloatArray:
        """V of each arm."""
        return np.zeros(n_arms)


@refresh.of(BernsteinRule)
def _(band, kept, memory, arm):
    kept[arm] = moments(memory, arm)[1] / memory.pulls[arm] if memory.pulls[arm] > 0 else 0.0


@widen.of(BernsteinRule)
def _(band, kept, memory, exponent, low, high):
    for arm in range(low.size):
        pulls = memory.pulls[arm]
        if pulls == 0:
            low[arm], high[arm] = -np.inf, np.inf
            continue
        per_sample = exponent / pulls
        radius = np.sqrt(2.0 * kept[arm] * per_sample) + 3.0 * band.span[arm] * per_sample
        low[arm], high[arm] = memory.value[arm] - radius, memory.value[arm] + radius
