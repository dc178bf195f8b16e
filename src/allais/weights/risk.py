"""The weights of risk measures and of proofs, a formula each.

Each `_log` is the family's formula written in logarithms; the docstring has it in the usual form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from allais._checks import FloatArray, positive, real, share, truth
from allais.weights.base import EndSteep, HolderPair, ModulusKind, Weight, log_complement


@dataclass(frozen=True)
class Identity(EndSteep):
    """No distortion: the value is the mean.

        w(p) = p

    >>> Identity()(0.3)
    0.3
    """

    holder: ClassVar[HolderPair] = HolderPair(1.0, 1.0)
    singularities: ClassVar[tuple[float, ...]] = ()

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return log_p

    def _of(self, p: FloatArray) -> FloatArray:
        return p + 0.0  # a copy; exact, so that the value is the mean to the last bit

    def of_tails(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        return upper

    def _modulus(self, eps: float) -> float:
        return eps

    def dual(self) -> Identity:
        return self


@dataclass(frozen=True)
class Power(EndSteep):
    """Proportional hazards; the paper's square root is Power(0.5).

        w(p) = p^alpha

    Args:
        alpha: The exponent, above 0; below 1 good outcomes are overweighted.

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
    """A weight that is steepest at 1/2 (the example of the lower bounds, Theorem 3).

        w(p) = (1 +- |2p - 1|^alpha) / 2

    The sign is that of 2p - 1.

    The paper gives alpha = 1/2; its Hölder constant is 1, not the 2^(alpha-1) that is printed
    (docs/paper/errata.md, 13), while towards one side

        |w(1/2) - w(p)| = 2^(alpha - 1) |1/2 - p|^alpha

    Args:
        alpha: The exponent, in (0, 1]; the smaller, the steeper at 1/2.

    >>> SteepMiddle(0.5)(0.25)
    0.146446...
    """

    alpha: float

    modulus_kind: ClassVar[ModulusKind] = "exact"
    exponent_at_zero: ClassVar[float] = 1.0

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
    """Only the worst share of outcomes counts.

        w(p) = max(0, 1 - (1 - p) / level)

    `Preference.rank_dependent(TailAverage(level))` is the conditional value at risk, `cvar(level)`.

    Args:
        level: The share of outcomes that counts, in (0, 1].

    >>> TailAverage(0.25)(0.8)
    0.2...
    """

    level: float

    modulus_kind: ClassVar[ModulusKind] = "exact"

    def __post_init__(self) -> None:
        advice = "Give the share of worst outcomes to average, such as 0.05; 1 is the mean."
        object.__setattr__(self, "level", share("level", self.level, one=True, advice=advice))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return log_complement(self._log_complement(log_p, log_q))

    def _log_complement(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return np.minimum(log_q - np.log(self.level), 0.0)  # (1-p)/level, of which 1 - w keeps every digit

    @property
    def holder(self) -> HolderPair:
        return HolderPair(1.0 / self.level, 1.0)

    @property
    def singularities(self) -> tuple[float, ...]:
        return (1.0 - self.level,) if self.level < 1.0 else ()

    @property
    def exponent_at_zero(self) -> float:
        return np.inf if self.level < 1.0 else 1.0

    def _modulus(self, eps: float) -> float:
        return min(eps / self.level, 1.0)

    def _inverse(self, target: FloatArray) -> FloatArray:
        return (1.0 - self.level) + self.level * target


NEAR = 1e-12  # of a probability: a share of samples that should equal the level may miss it by rounding


@dataclass(frozen=True)
class Step(Weight):
    """One quantile counts, and nothing else.

        w(p) = 1 if p > at, else 0

    `Preference.rank_dependent(Step(1 - level))` is the quantile at this level, `quantile(level)`. The probability is
    compared to 1e-12, so that a share of samples such as 19/20 equals 0.95.

    Args:
        at: Where it jumps, in (0, 1).
        inclusive: Whether w(at) is 1, so that p >= at counts. At an atom of the cumulative distribution function this
            is the upper quantile in place of the lower one.

    >>> Step(0.05)(0.05), Step(0.05)(0.06), Step(0.05, inclusive=True)(0.05)
    (0.0, 1.0, 1.0)
    """

    at: float
    inclusive: bool = False

    holder: ClassVar[None] = None
    modulus_kind: ClassVar[ModulusKind] = "exact"
    exponent_at_zero: ClassVar[float] = np.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", share("at", self.at, advice="Give 0.05 for a 95th percentile."))
        object.__setattr__(self, "inclusive", truth("inclusive", self.inclusive))

    @property
    def _jump(self) -> float:
        return self.at - NEAR if self.inclusive else self.at + NEAR

    def _reached(self, log_p: FloatArray, log_q: FloatArray) -> NDArray[np.bool_]:
        jump = self._jump  # by the logarithm that resolves it
        return log_p >= np.log(jump) if jump < 0.5 else log_q <= np.log1p(-jump)

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return np.where(self._reached(log_p, log_q), 0.0, -np.inf)

    def _log_complement(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return np.where(self._reached(log_p, log_q), -np.inf, 0.0)

    @property
    def singularities(self) -> tuple[float, ...]:
        return (self._jump,)

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        return (self._jump,)

    def _modulus(self, eps: float) -> float:
        return 1.0

    def _inverse(self, target: FloatArray) -> FloatArray:
        return np.full(target.shape, self._jump)

    def dual(self) -> Step:
        return Step(round(1.0 - self.at, 15), not self.inclusive)


@dataclass(frozen=True)
class Wang(EndSteep):
    """Wang's weight (2000); a positive shift is optimistic about gains.

        w(p) = Phi(Phi^-1(p) + shift)

    Hölder for every exponent below 1 but with no best pair, so `holder` is None and bounds go
    through `modulus`, which is exact.

    Args:
        shift: How optimistic the weight is about gains, any number; 0 is no distortion.

    >>> Wang(0.5)(0.5)
    0.691462...
    """

    shift: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", real("shift", self.shift))

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        # each end by the logarithm that resolves it
        normal = np.where(log_p < log_q, scipy.special.ndtri_exp(log_p), -scipy.special.ndtri_exp(log_q))
        return scipy.special.log_ndtr(normal + self.shift)

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
        return scipy.special.ndtr(scipy.special.ndtri(target) - self.shift)

    def dual(self) -> Wang:
        return Wang(-self.shift)
