"""The Hölder band: the paper's interval around an estimated value (Theorem 1, Proposition 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais.errors import FloatArray, share
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian
from allais.values.quadrature import integrate, integrate_tail
from allais.weights import Weight


class Interval(NamedTuple):
    """An estimated value with a confidence interval around it."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Holder:
    """value +- L (b - a) eps^alpha with eps = sqrt(x / 2l): Theorem 1 for any support and two weights.

    Where a weight has no Hölder pair (Prelec, Wang), its modulus of continuity takes the place of
    L eps^alpha. Sub-Gaussian rewards get the truncated estimator and its bound (Proposition 1).

    >>> from allais import Bounded, TverskyKahneman
    >>> people = Preference(TverskyKahneman(0.61))
    >>> band = Holder()
    >>> round(band.radius(people, Bounded(0, 50), pulls=1000, exponent=math.log(2 / 0.05)), 3)
    12.015
    """

    def radius(self, preference: Preference, rewards: Rewards, pulls: int, exponent: float) -> float:
        """Half the width of the interval from `pulls` samples, valid with probability 1 - 2 e^-exponent.

        The exponent says how much confidence is bought: log(2/delta) for one interval at delta.
        """
        if pulls < 1:
            raise ValueError(f"an interval needs at least one sample; got {pulls} pulls. Sample the arm first.")
        eps = math.sqrt(exponent / (2.0 * pulls))  # Dvoretzky-Kiefer-Wolfowitz-Massart
        if isinstance(rewards, SubGaussian):
            return self._truncated_radius(preference, rewards, pulls, eps)
        low, high = np.sort(preference.felt(np.array(rewards.support)))
        # docs/paper/errata.md, 10: gains and losses deviate at once, each over its own stretch
        gain_stretch, loss_stretch = max(high, 0.0) - max(low, 0.0), min(high, 0.0) - min(low, 0.0)
        gains = gain_stretch * deviation(preference.gains, eps) if gain_stretch else 0.0
        losses = loss_stretch * deviation(preference.losses, eps) if loss_stretch else 0.0
        return float(gains + losses)

    def _truncated_radius(self, preference: Preference, rewards: SubGaussian, pulls: int, eps: float) -> float:
        # docs/paper/errata.md, 11: mean, sigma and both sides, which the paper drops; no bound at n = 1
        if pulls < 2:
            return math.inf
        edge = preference.truncation(rewards, pulls)
        weights = (preference.gains, preference.losses)
        inside = sum(edge * deviation(weight, eps) for weight in weights)
        outside = sum(rewards.scale * _normal_tail(weight, math.sqrt(math.log(pulls))) for weight in weights)
        return inside + outside

    def interval(
        self, preference: Preference, rewards: Rewards, samples: ArrayLike, confidence: float = 0.95
    ) -> Interval:
        """The value of samples, with an interval that holds the true one with the given confidence.

        >>> from allais import Bounded, TverskyKahneman
        >>> Holder().interval(Preference(TverskyKahneman(0.61)), Bounded(0, 50), [50] * 10 + [0] * 90)
        Interval(low=-14.9358..., value=9.3151..., high=33.5660...)
        """
        seen = rewards.check(samples)
        exponent = math.log(2.0 / (1.0 - share("confidence", confidence)))
        radius = self.radius(preference, rewards, seen.size, exponent)
        truncated = isinstance(rewards, SubGaussian)
        value = preference.estimate_truncated(seen, rewards) if truncated else preference.estimate(seen)  # type: ignore[arg-type]
        return Interval(value - radius, value, value + radius)


def deviation(weight: Weight, eps: float) -> float:
    """How far w can move when its probability moves by eps: L eps^alpha, or the modulus."""
    pair = weight.holder
    return weight.modulus(min(eps, 1.0)) if pair is None else pair.constant * eps**pair.exponent


def _normal_tail(weight: Weight, start: float) -> float:
    """A bound on the integral of w(P(Y > u)) over u > start, for a centred Y of scale 1."""
    pair = weight.holder
    if pair is not None:  # int L exp(-alpha u^2 / 2) du <= L exp(-alpha start^2 / 2) / (alpha start)
        return pair.constant * math.exp(-pair.exponent * start**2 / 2.0) / (pair.exponent * start)

    def ceiling(u: FloatArray) -> FloatArray:
        log_p = -0.5 * u**2  # P(Y > u) <= exp(-u^2 / 2)
        if weight.is_monotone:
            with np.errstate(divide="ignore"):
                return weight.of_logs(log_p, np.log(-np.expm1(log_p)))
        return np.array([weight.modulus(p) for p in np.exp(log_p)])

    head = integrate(ceiling, [start, start + 1.0])
    rest = integrate_tail(ceiling, start + 1.0, 1e100 if weight.is_monotone else 1e2, head.value)
    return head.value + rest.value + head.error + rest.error
