"""The value of a shifted distribution as a function of the shift, from one table per weight and distribution.

For t + Z the gain part is G(t), the integral of w+(P(Z > -u)) over u < t, and the loss part is the same
function of -t for -Z under w-: so g(t) = G_{w+, Z}(t) - G_{w-, -Z}(-t), and g' = w+(P(Z > -t)) + w-(P(Z < -t)).
This replaces the paper's simulation of 25,000 samples in every round (Section VI).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from allais._checks import FloatArray
from allais.numerics.chebyshev import PiecewisePolynomial, fit, joined
from allais.numerics.integrals import Integrand, integrate, integrate_tail
from allais.weights import Weight

NEGLIGIBLE = 1e-13  # the integral of a tail that the table leaves out
FARTHEST = 1e150  # log Phi is -u^2/2 there, and u^2 is still a double
MOST_DOUBLINGS = 400  # of the distance at which a tail is cut; beyond, its integral does not converge


class Distribution(NamedTuple):
    """What a table needs to know about Z, whose scale is about 1."""

    log_survival: Callable[[FloatArray], FloatArray]
    log_cdf: Callable[[FloatArray], FloatArray]
    quantile: Callable[[FloatArray], FloatArray]
    landmarks: FloatArray  # between which the distribution is smooth
    support: tuple[float, float]


STANDARD_NORMAL = Distribution(
    lambda x: special.log_ndtr(-x), special.log_ndtr, special.ndtri, np.zeros(1), (-np.inf, np.inf)
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class LocationTable:
    """G(t), the gain part of t + Z under one weight, to 1e-10 (relative to G(0) if that exceeds 1)."""

    bounded: PiecewisePolynomial  # G(t) - max(t, 0), which stays bounded

    def __call__(self, t: FloatArray) -> FloatArray:
        """G at each t."""
        first, last = self.bounded.breaks[[0, -1]]
        gain = self.bounded(np.clip(t, first, last)) + np.maximum(t, 0.0)
        return np.where(t < first, 0.0, gain)


@lru_cache(maxsize=256)
def normal_table(weight: Weight) -> LocationTable:
    """The table of a weight for a standard normal Z, built once (some milliseconds).

    >>> from allais.weights import Identity
    >>> float(normal_table(Identity())(np.array([0.0]))[0])  # 1 / sqrt(2 pi)
    0.3989422804...
    """
    return location_table(weight, STANDARD_NORMAL)


def location_table(weight: Weight, distribution: Distribution) -> LocationTable:
    """The table of a weight and a distribution; an infinite value is refused with a `ValueError`."""

    def gain_derivative(u: FloatArray) -> FloatArray:
        return weight.of_logs(distribution.log_survival(-u), distribution.log_cdf(-u))

    def shortfall(u: FloatArray) -> FloatArray:
        return dual.of_logs(distribution.log_cdf(-u), distribution.log_survival(-u))  # 1 - w(P(Z > -u)), all digits

    dual = weight.dual()
    kinks = distribution.quantile(np.array([1.0 - p for p in weight.singularities if 0.0 < p < 1.0]))
    corners = -np.concatenate([kinks, distribution.landmarks])
    bottom, top = distribution.support
    left_tail = 0.0
    total = 1.0
    far_left, far_right = max(top, 0.0), max(-bottom, 0.0)
    if np.isinf(top):
        far_left, left_tail, total = _cut(lambda u: gain_derivative(-u))
    if np.isinf(bottom):
        far_right, _, _ = _cut(shortfall)
    tolerance = 1e-13 * max(1.0, total)
    pieces = []
    at_zero = left_tail
    if far_left > 0.0:
        below = fit(gain_derivative, _breaks(-far_left, 0.0, corners), tolerance).antiderivative(left_tail)
        at_zero = float(below(np.zeros(1))[0])
        pieces.append(below)
    if far_right > 0.0:
        above = fit(lambda u: -shortfall(u), _breaks(0.0, far_right, corners), tolerance).antiderivative(at_zero)
        pieces.append(above)
    return LocationTable(joined(pieces))


def _cut(falling: Integrand) -> tuple[float, float, float]:
    """Where the rest of a falling function's integral is negligible, that rest, and the whole."""
    whole = integrate(falling, [0.0, 1.0]).value + integrate_tail(falling, 1.0, FARTHEST).value
    far = 2.0
    for _ in range(MOST_DOUBLINGS):
        rest = integrate_tail(falling, far, FARTHEST, max(1.0, whole)).value
        if rest <= NEGLIGIBLE * max(1.0, whole):
            return far, rest, whole
        far *= 1.5
    raise ValueError(
        "the distorted tail of a distribution must have a finite value; this one is infinite. Use lighter tails."
    )


def _breaks(low: float, high: float, corners: FloatArray) -> FloatArray:
    """The ends, the corners between them, and doublings in between."""
    doublings = 2.0 ** np.arange(-1, 64)
    points = np.concatenate([-doublings, doublings, corners])
    inner = points[(points > low) & (points < high)]
    return np.unique(np.concatenate([[low], inner, [high]]))
