"""The weights that people were found to have, a formula each.

Each `_log` is the family's formula written in logarithms; the docstring has it in the usual form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, positive, share
from allais.weights.base import EndSteep, HolderPair, steepest
from allais.weights.risk import Power


@dataclass(frozen=True)
class TverskyKahneman(EndSteep):
    """The weight that Tversky and Kahneman measured (1992; Figure 1).

        w(p) = p^eta / (p^eta + (1-p)^eta)^(1/eta)

    Hölder with alpha = eta and L = 1/eta. Monotone only for eta >= 0.2792...

    Args:
        eta: The curvature, in (0, 1]; at 1 nothing is distorted.

    >>> TverskyKahneman(0.61).holder
    HolderPair(constant=1.639344262295082, exponent=0.61)
    >>> TverskyKahneman(0.1).is_monotone
    False
    """

    eta: float = 0.61

    def __post_init__(self) -> None:
        advice = "People show values near 0.61 (gains) and 0.69 (losses)."
        object.__setattr__(self, "eta", share("eta", self.eta, one=True, advice=advice))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        eta = self.eta
        return eta * log_p - np.logaddexp(eta * log_p, eta * log_q) / eta

    @property
    def holder(self) -> HolderPair:
        return HolderPair(1.0 / self.eta, self.eta)

    @property
    def singularities(self) -> tuple[float, ...]:
        return (0.0, 1.0) if self.eta < 1.0 else ()

    @cached_property
    def turning_points(self) -> tuple[float, ...]:
        if self.eta >= 0.3:  # monotone: the derivative below is positive at 0.3, and rises in eta
            return ()

        eta = self.eta

        def derivative(t: FloatArray) -> FloatArray:
            # d log w / d log p at log odds t, times (p^eta + q^eta) / q^eta
            ratio = np.exp(eta * t)  # (p/q)^eta
            return eta * (1.0 + ratio) - ratio + np.exp(t)

        # eta at t = -inf, +inf at t = inf; for a small eta it dips below zero in between, once
        grid = np.linspace(-50.0 / eta, 50.0, 4001)
        bottom = grid[np.argmin(derivative(grid))]
        least = scipy.optimize.minimize_scalar(
            derivative, bounds=(bottom - 0.02 / eta, bottom + 0.02 / eta), method="bounded"
        )
        if least.fun >= 0.0:
            return ()
        brackets = (-50.0 / eta, least.x), (least.x, 50.0)
        turns = (scipy.optimize.brentq(derivative, *bracket) for bracket in brackets)
        return tuple(float(np.clip(scipy.special.expit(turn), 1e-300, 1.0 - 2.0**-53)) for turn in turns)

    @property
    def _steepest_at_an_end(self) -> bool:
        return self.is_monotone

    @property
    def exponent_at_zero(self) -> float:
        return self.eta


@dataclass(frozen=True)
class Prelec(EndSteep):
    """Prelec's weight (1998), which follows from axioms.

        w(p) = exp(-beta (-log p)^alpha)

    With alpha < 1 it is steeper at the ends than any power: no Hölder pair exists.

    Args:
        alpha: The curvature, above 0; at 1, with beta = 1, nothing is distorted.
        beta: The elevation, above 0; the smaller, the higher the curve.

    >>> Prelec(0.65)(np.exp(-1.0))  # the fixed point 1/e
    0.36787944117144...
    >>> Prelec(0.65).holder is None
    True
    """

    alpha: float
    beta: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))
        object.__setattr__(self, "beta", positive("beta", self.beta))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        # -log p is 1 - p next to 1, and below any double where log(1 - p) is still an ordinary number
        distance = np.where(log_q < -700.0, np.exp(self.alpha * log_q), np.power(-log_p, self.alpha))
        return -self.beta * distance

    @cached_property
    def holder(self) -> HolderPair | None:
        if self.alpha < 1.0:
            return None
        if self.alpha == 1.0:
            return Power(self.beta).holder
        derivative = steepest(self._log_derivative)
        return HolderPair(derivative, 1.0) if derivative < 1e300 else None  # too steep for a number

    def _log_derivative(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return np.log(self.alpha * self.beta) + (self.alpha - 1.0) * np.log(-log_p) + self._log(log_p, log_q) - log_p

    @property
    def singularities(self) -> tuple[float, ...]:
        return Power(self.beta).singularities if self.alpha == 1.0 else (0.0, 1.0)

    @property
    def _steepest_at_an_end(self) -> bool:
        return self.alpha <= 1.0

    @property
    def exponent_at_zero(self) -> float:
        return 0.0 if self.alpha < 1.0 else (self.beta if self.alpha == 1.0 else np.inf)

    def _inverse(self, target: FloatArray) -> FloatArray:
        return np.exp(-np.power(-np.log(target) / self.beta, 1.0 / self.alpha))


@dataclass(frozen=True)
class GonzalezWu(EndSteep):
    """A weight that is linear in log odds (Gonzalez and Wu 1999).

        w(p) = (delta p^gamma) / (delta p^gamma + (1-p)^gamma)

    Args:
        gamma: The curvature, above 0; below 1 rare events are overweighted.
        delta: The elevation, above 0; the greater, the higher the curve.

    >>> GonzalezWu(gamma=0.44, delta=0.77)(0.5)
    0.435028...
    """

    gamma: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", positive("gamma", self.gamma))
        object.__setattr__(self, "delta", positive("delta", self.delta))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        log_odds_against = self.gamma * (log_q - log_p) - np.log(self.delta)
        return -np.logaddexp(0.0, log_odds_against)

    @cached_property
    def holder(self) -> HolderPair:
        if self.gamma <= 1.0:  # delta p^gamma + q^gamma >= min(delta, 1), by concavity
            return HolderPair(max(self.delta, 1.0 / self.delta), self.gamma)

        def log_derivative(log_p: FloatArray, log_q: FloatArray) -> FloatArray:
            log_w = self._log(log_p, log_q)
            log_v = log_w + self.gamma * (log_q - log_p) - np.log(self.delta)
            return np.log(self.gamma) + log_w + log_v - log_p - log_q

        return HolderPair(steepest(log_derivative), 1.0)

    @property
    def singularities(self) -> tuple[float, ...]:
        return () if self.gamma == 1.0 else (0.0, 1.0)

    @property
    def _steepest_at_an_end(self) -> bool:
        return self.gamma <= 1.0

    @property
    def exponent_at_zero(self) -> float:
        return self.gamma

    def _inverse(self, target: FloatArray) -> FloatArray:
        log_odds = (scipy.special.logit(target) - np.log(self.delta)) / self.gamma
        return scipy.special.expit(log_odds)
