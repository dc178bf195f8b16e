"""What families of weights share: where their derivative is greatest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from allais._checks import FloatArray
from allais.weights.base import Weight

ModulusKind = Literal["exact", "bound", "estimate"]
SLACK = 1.0 + 1e-9  # covers the rounding of a derivative that was maximised numerically


class EndSteep(Weight):
    """A weight whose derivative is greatest at an end: concave, convex, or concave then convex.

    The step w(p + eps) - w(p) is then quasi-convex in p, so its supremum is at an end, exactly.
    """

    @property
    def modulus_kind(self) -> ModulusKind:
        return "exact" if self._steepest_at_an_end else "bound"

    @property
    def _steepest_at_an_end(self) -> bool:
        return True

    def _modulus(self, eps: float) -> float:
        if not self._steepest_at_an_end:
            return super()._modulus(eps)
        log_eps, log_rest = np.log(eps), np.log1p(-eps)
        at_zero = self._exp(log_eps, log_rest)
        at_one = -np.expm1(np.minimum(self._log(log_rest, log_eps), 0.0))
        return float(max(at_zero, at_one))


def steepest(log_derivative: Callable[[FloatArray, FloatArray], FloatArray]) -> float:
    """The greatest derivative of an S-shaped weight, whose derivative rises once and falls once."""
    from scipy import optimize

    def negated(s: FloatArray) -> FloatArray:
        t = np.sinh(s)  # log odds, to where only logarithms reach
        with np.errstate(all="ignore"):
            derivative = log_derivative(-np.logaddexp(0.0, -t), -np.logaddexp(0.0, t))
        return np.where(np.isnan(derivative), np.inf, -derivative)

    grid = np.linspace(-18.0, 18.0, 7201)
    start = grid[np.argmin(negated(grid))]
    best = optimize.minimize_scalar(negated, bounds=(start - 0.01, start + 0.01), method="bounded")
    return float(np.exp(np.minimum(-min(best.fun, negated(start)), 709.0))) * SLACK
