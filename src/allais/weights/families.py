"""The weight families of the literature, a formula each.

Each `_log` is the family's formula written in logarithms; the docstring has it in the usual form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import special

from allais.errors import FloatArray, positive, real, share
from allais.weights.base import HolderPair, Weight

ModulusKind = Literal["exact", "bound", "estimate"]
SLACK = 1.0 + 1e-9  # covers the rounding of a slope that was maximised numerically


class _EndSteep(Weight):
    """A weight whose slope is greatest at an end: concave, convex, or concave then convex.

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


@dataclass(frozen=True)
class Identity(_EndSteep):
    """w(p) = p: no distortion; the value is the mean.

    >>> Identity()(0.3)
    0.3
    """

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return log_p

    def _of(self, p: FloatArray) -> FloatArray:
        return p + 0.0  # a copy; exact, so that the value is the mean to the last bit

    def of_tails(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        return upper

    @property
    def holder(self) -> HolderPair:
        return HolderPair(1.0, 1.0)

    @property
    def singularities(self) -> tuple[float, ...]:
        return ()

    def _modulus(self, eps: float) -> float:
        return eps

    def dual(self) -> Identity:
        return self


@dataclass(frozen=True)
class TverskyKahneman(_EndSteep):
    """w(p) = p^eta / (p^eta + (1-p)^eta)^(1/eta) (Tversky & Kahneman 1992; Figure 1).

    Hölder with alpha = eta and L = 1/eta. Monotone only for eta >= 0.2792...

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
        from scipy import optimize  # a fifth of a second, for the few weights that need it

        eta = self.eta

        def slope(t: FloatArray) -> FloatArray:
            # d log w / d log p at log odds t, times (p^eta + q^eta) / q^eta
            ratio = np.exp(eta * t)  # (p/q)^eta
            return eta * (1.0 + ratio) - ratio + np.exp(t)

        # eta at t = -inf, +inf at t = inf; for a small eta it dips below zero in between, once
        grid = np.linspace(-50.0 / eta, 50.0, 4001)
        bottom = grid[np.argmin(slope(grid))]
        least = optimize.minimize_scalar(slope, bounds=(bottom - 0.02 / eta, bottom + 0.02 / eta), method="bounded")
        if least.fun >= 0.0:
            return ()
        turns = (optimize.brentq(slope, -50.0 / eta, least.x), optimize.brentq(slope, least.x, 50.0))
        return tuple(float(np.clip(special.expit(turn), 1e-300, 1.0 - 2.0**-53)) for turn in turns)

    @property
    def _steepest_at_an_end(self) -> bool:
        return self.is_monotone

    @property
    def exponent_at_zero(self) -> float:
        return self.eta


@dataclass(frozen=True)
class Prelec(_EndSteep):
    """w(p) = exp(-beta (-log p)^alpha) (Prelec 1998).

    With alpha < 1 it is steeper at the ends than any power: no Hölder pair exists.

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
        return -self.beta * np.power(-log_p, self.alpha)

    @cached_property
    def holder(self) -> HolderPair | None:
        if self.alpha < 1.0:
            return None
        if self.alpha == 1.0:
            return Power(self.beta).holder
        steepest = _steepest(lambda log_p, log_q: self._log_slope(log_p))
        return HolderPair(steepest, 1.0) if steepest < 1e300 else None  # too steep for a number

    def _log_slope(self, log_p: FloatArray) -> FloatArray:
        return np.log(self.alpha * self.beta) + (self.alpha - 1.0) * np.log(-log_p) + self._log(log_p, log_p) - log_p

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
class GonzalezWu(_EndSteep):
    """w(p) = delta p^gamma / (delta p^gamma + (1-p)^gamma): linear in log odds (Gonzalez & Wu 1999).

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

        def log_slope(log_p: FloatArray, log_q: FloatArray) -> FloatArray:
            log_w = self._log(log_p, log_q)
            log_v = log_w + self.gamma * (log_q - log_p) - np.log(self.delta)
            return np.log(self.gamma) + log_w + log_v - log_p - log_q

        return HolderPair(_steepest(log_slope), 1.0)

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
        log_odds = (special.logit(target) - np.log(self.delta)) / self.gamma
        return special.expit(log_odds)


@dataclass(frozen=True)
class Power(_EndSteep):
    """w(p) = p^alpha: proportional hazards; the paper's square root is Power(0.5).

    >>> Power(0.5).modulus(0.01)
    0.1...
    """

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return self.alpha * log_p

    @property
    def holder(self) -> HolderPair:
        return HolderPair(max(1.0, self.alpha), min(1.0, self.alpha))

    @property
    def singularities(self) -> tuple[float, ...]:
        return () if self.alpha == round(self.alpha) else (0.0,)

    @property
    def exponent_at_zero(self) -> float:
        return self.alpha

    def _inverse(self, target: FloatArray) -> FloatArray:
        return np.power(target, 1.0 / self.alpha)


@dataclass(frozen=True)
class SteepMiddle(Weight):
    """w(p) = 1/2 +- |2p - 1|^alpha / 2: steepest at 1/2 (the example of the lower bounds, Theorem 3).

    The paper gives alpha = 1/2; its Hölder constant is 1, not the 2^(alpha-1) that is printed
    (docs/paper/errata.md, 13), while |w(1/2) - w(p)| = 2^(alpha-1) |1/2 - p|^alpha.

    >>> SteepMiddle(0.5)(0.25)
    0.146446...
    """

    alpha: float

    def __post_init__(self) -> None:
        advice = "A larger exponent is not steep in the middle."
        object.__setattr__(self, "alpha", share("alpha", self.alpha, one=True, advice=advice))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        smaller = np.minimum(np.exp(np.minimum(log_p, log_q)), 0.5)
        below = -0.5 * np.expm1(self.alpha * np.log1p(-2.0 * smaller))  # w at the smaller of p and q
        return np.where(log_p <= log_q, np.log(below), np.log1p(-below))

    @property
    def holder(self) -> HolderPair:
        return HolderPair(1.0, self.alpha)

    @property
    def singularities(self) -> tuple[float, ...]:
        return (0.5,) if self.alpha < 1.0 else ()

    @property
    def modulus_kind(self) -> ModulusKind:
        return "exact"

    @property
    def exponent_at_zero(self) -> float:
        return 1.0

    def _modulus(self, eps: float) -> float:
        return float(eps**self.alpha)  # across the middle, half of it on each side

    def _inverse(self, target: FloatArray) -> FloatArray:
        # 1 - |2w - 1| loses the digits of a small target; log1p keeps them
        smaller = np.minimum(target, 1.0 - target)
        below = -0.5 * np.expm1(np.log1p(-2.0 * np.minimum(smaller, 0.5)) / self.alpha)
        return np.where(target <= 0.5, below, 1.0 - below)

    def dual(self) -> SteepMiddle:
        return self


@dataclass(frozen=True)
class TailAverage(Weight):
    """w(p) = max(0, 1 - (1-p)/level): only the worst `level` share of outcomes counts.

    `Preference.rank_dependent(TailAverage(level))` is the conditional value at risk, `cvar(level)`.

    >>> TailAverage(0.25)(0.8)
    0.2...
    """

    level: float

    def __post_init__(self) -> None:
        advice = "Give the share of worst outcomes to average, such as 0.05; 1 is the mean."
        object.__setattr__(self, "level", share("level", self.level, one=True, advice=advice))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return np.log(-np.expm1(np.minimum(log_q - np.log(self.level), 0.0)))

    @property
    def holder(self) -> HolderPair:
        return HolderPair(1.0 / self.level, 1.0)

    @property
    def singularities(self) -> tuple[float, ...]:
        return (1.0 - self.level,) if self.level < 1.0 else ()

    @property
    def modulus_kind(self) -> ModulusKind:
        return "exact"

    @property
    def exponent_at_zero(self) -> float:
        return np.inf if self.level < 1.0 else 1.0

    def _modulus(self, eps: float) -> float:
        return min(eps / self.level, 1.0)

    def _inverse(self, target: FloatArray) -> FloatArray:
        return (1.0 - self.level) + self.level * target


@dataclass(frozen=True)
class Wang(_EndSteep):
    """w(p) = Phi(Phi^-1(p) + shift) (Wang 2000); a positive shift is optimistic about gains.

    Hölder for every exponent below 1 but with no best pair, so `holder` is None and bounds go
    through `modulus`, which is exact.

    >>> Wang(0.5)(0.5)
    0.691462...
    """

    shift: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", real("shift", self.shift))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        # each end by the logarithm that resolves it
        normal = np.where(log_p < log_q, special.ndtri_exp(log_p), -special.ndtri_exp(log_q))
        return special.log_ndtr(normal + self.shift)

    @property
    def holder(self) -> HolderPair | None:
        return HolderPair(1.0, 1.0) if self.shift == 0.0 else None

    @property
    def singularities(self) -> tuple[float, ...]:
        return (0.0, 1.0) if self.shift != 0.0 else ()

    @property
    def exponent_at_zero(self) -> float:
        # 1, but for a factor slower than any power, which decides at exactly 1
        return 1.0 - 1e-6 * float(np.sign(self.shift))

    def _inverse(self, target: FloatArray) -> FloatArray:
        return special.ndtr(special.ndtri(target) - self.shift)

    def dual(self) -> Wang:
        return Wang(-self.shift)


def _steepest(log_slope: Callable[[FloatArray, FloatArray], FloatArray]) -> float:
    """The greatest slope of an S-shaped weight, whose slope rises once and falls once."""
    from scipy import optimize

    def negated(s: FloatArray) -> FloatArray:
        t = np.sinh(s)  # log odds, to where only logarithms reach
        with np.errstate(all="ignore"):
            slope = log_slope(-np.logaddexp(0.0, -t), -np.logaddexp(0.0, t))
        return np.where(np.isnan(slope), np.inf, -slope)

    grid = np.linspace(-18.0, 18.0, 7201)
    start = grid[np.argmin(negated(grid))]
    best = optimize.minimize_scalar(negated, bounds=(start - 0.01, start + 0.01), method="bounded")
    return float(np.exp(np.minimum(-min(best.fun, negated(start)), 709.0))) * SLACK
