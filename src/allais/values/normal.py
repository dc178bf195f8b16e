"""The value of a normal law, from one table a weight.

For N(t, 1) the gain part is G(t), the integral of w+(Phi(u)) over u < t, and the loss part is
the same function of -t under w-: so g(t) = G_{w+}(t) - G_{w-}(-t), and g' = w+(Phi) + w-(1 - Phi).
This replaces the paper's simulation of 25,000 samples in every round (Section VI).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from allais.errors import FloatArray
from allais.values.piecewise import PiecewiseChebyshev, fit
from allais.values.quadrature import Integrand, integrate, integrate_tail
from allais.weights import Weight

NEGLIGIBLE = 1e-13  # of a tail that the table leaves out
FARTHEST = 1e150  # log Phi is -u^2/2 there: its square is still a double


@dataclass(frozen=True, eq=False)
class NormalTable:
    """G(t), the gain part of N(t, 1) under one weight, to 1e-10 (relative to G(0) if that exceeds 1)."""

    bounded: PiecewiseChebyshev  # G(t) - max(t, 0), which stays bounded

    def __call__(self, t: FloatArray) -> FloatArray:
        """G at each t."""
        first, last = self.bounded.breaks[[0, -1]]
        gain = self.bounded(np.clip(t, first, last)) + np.maximum(t, 0.0)
        return np.where(t < first, 0.0, gain)


@lru_cache(maxsize=256)
def normal_table(weight: Weight) -> NormalTable:
    """The table of a weight, built once (some milliseconds).

    >>> from allais.weights import Identity
    >>> float(normal_table(Identity())(np.array([0.0]))[0])  # 1 / sqrt(2 pi)
    0.3989422804...
    """

    def gain_slope(u: FloatArray) -> FloatArray:
        return weight.of_logs(special.log_ndtr(u), special.log_ndtr(-u))

    def shortfall(u: FloatArray) -> FloatArray:
        return dual.of_logs(special.log_ndtr(-u), special.log_ndtr(u))  # 1 - w(Phi(u)), all digits

    dual = weight.dual()
    kinks = special.ndtri(np.array([p for p in weight.singularities if 0.0 < p < 1.0]))
    far_left, left_tail, total = _cut(lambda u: gain_slope(-u))
    far_right, _, _ = _cut(shortfall)
    tolerance = 1e-13 * max(1.0, total)
    below = fit(gain_slope, _breaks(-far_left, 0.0, kinks), tolerance).antiderivative(left_tail)
    at_zero = float(below(np.zeros(1))[0])
    above = fit(lambda u: -shortfall(u), _breaks(0.0, far_right, kinks), tolerance).antiderivative(at_zero)
    breaks = np.concatenate([below.breaks, above.breaks[1:]])
    return NormalTable(PiecewiseChebyshev(breaks, np.concatenate([below.coefficients, above.coefficients])))


def _cut(falling: Integrand) -> tuple[float, float, float]:
    """Where the rest of a falling function's integral is negligible, that rest, and the whole."""
    whole = integrate(falling, [0.0, 1.0]).value + integrate_tail(falling, 1.0, FARTHEST).value
    far = 2.0
    while True:
        rest = integrate_tail(falling, far, FARTHEST, max(1.0, whole)).value
        if rest <= NEGLIGIBLE * max(1.0, whole):
            return far, rest, whole
        far *= 1.5


def _breaks(low: float, high: float, kinks: FloatArray) -> FloatArray:
    """The ends, the kinks between them, and doublings in between."""
    doublings = 2.0 ** np.arange(-1, 64)
    points = np.concatenate([-doublings, doublings, kinks])
    inner = points[(points > low) & (points < high)]
    return np.unique(np.concatenate([[low], inner, [high]]))
