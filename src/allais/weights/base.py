"""The base of all weights: what a family defines, and what follows from that."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, real
from allais.errors import DominanceWarning
from allais.weights.bounds import breaks_at, certified_maximum

if TYPE_CHECKING:
    from allais.weights.derived import FunctionWeight

ModulusKind = Literal["exact", "bound", "estimate"]
# The smallest positive double is e^-744.4; one step beyond it rounds to zero.
LOGIT_OF_ZERO = 745.0
BISECTIONS = 70  # 1490 / 2^70 is far below the spacing of doubles


class HolderPair(NamedTuple):
    """A constant L and an exponent alpha that bound how fast a weight can change: assumption (A1).

        |w(p) - w(q)| <= L |p - q|^alpha

    Attributes:
        constant: The constant L.
        exponent: The exponent alpha, in (0, 1].

    >>> Power(0.5).holder
    HolderPair(constant=1.0, exponent=0.5)
    """

    constant: float
    exponent: float


class Weight(ABC):
    """A probability weight w: [0, 1] -> [0, 1] with w(0) = 0 and w(1) = 1.

    A family is defined by one formula, `_log`: log w from log p and log(1 - p). With both
    logarithms at hand no digit is lost at either end, where the weights that people show
    are steepest: 1 - w(p) for p = 1 - 1e-20, or w(p) for p = 1e-400, are ordinary numbers.

    >>> TverskyKahneman(0.61)(0.1)
    0.1863...
    """

    @abstractmethod
    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        """log w(p), given log p and log q = log(1 - p), arrays of one shape."""

    def _log_complement(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        """log(1 - w(p)), which is the dual's `_log` with p and q swapped.

        The default keeps every digit where `_log` resolves w next to 1, as a formula in log q does; a family whose
        `_log` ends in the logarithm of a difference writes its own.
        """
        return log_complement(self._log(log_p, log_q))

    @property
    @abstractmethod
    def holder(self) -> HolderPair | None:
        """The Hölder pair (L, alpha) of assumption (A1), or None where there is none."""

    @property
    @abstractmethod
    def singularities(self) -> tuple[float, ...]:
        """The points of [0, 1] where w is not smooth, ascending."""

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        """Where w jumps, or has an infinite derivative inside (0, 1), ascending; looked for at its singularities.

        An infinite derivative at 0 or 1, such as people show, does not count.

        >>> TverskyKahneman(0.61).breaks, TailAverage(0.25).breaks, SteepMiddle(0.5).breaks
        ((), (), (0.5,))
        """
        return breaks_at(self, self.singularities)

    @cached_property
    def jumps(self) -> bool:
        """Whether w is not continuous, as for a percentile.

        >>> Step(0.05).jumps, SteepMiddle(0.5).jumps, Prelec(0.2).jumps
        (True, False, False)
        """
        if self.holder is not None:
            return False
        return any(abs(self(min(at + 1e-9, 1.0)) - self(max(at - 1e-9, 0.0))) > 0.01 for at in self.breaks)

    @property
    def turning_points(self) -> tuple[float, ...]:
        """Where w changes between rising and falling, ascending; empty for a monotone weight."""
        return ()

    @property
    def is_monotone(self) -> bool:
        """Whether w never falls; first-order dominance holds for exactly these weights."""
        return not self.turning_points

    @property
    def modulus_kind(self) -> ModulusKind:
        """What `modulus` returns: the exact supremum, a certified bound above it, or an estimate."""
        return "bound"

    @property
    def resolution(self) -> tuple[float, float]:
        """How finely w is known near p = 0, and 1 - w near p = 1: 0 for a formula, some 1e-16 for a rounded curve."""
        return 0.0, 0.0

    def rounding(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        """How far `of_tails` may be off where a curve sees p as a double and is steep; 0 for a formula."""
        return np.zeros_like(upper)

    @property
    def exponent_at_zero(self) -> float:
        """The limit of d log w / d log p at p = 0: how a power-law tail is distorted."""
        far = np.array([-300.0, -600.0])  # beyond it, a dual's 1 - w(1 - p) would underflow
        with np.errstate(divide="ignore"):
            near, further = self._log(far, -np.exp(far))
        # -inf: w is zero near p = 0, so it cuts every tail off
        return np.inf if np.isneginf(further) else float((near - further) / 300.0)

    @overload
    def __call__(self, p: float) -> float: ...
    @overload
    def __call__(self, p: ArrayLike) -> FloatArray: ...
    def __call__(self, p: ArrayLike) -> float | FloatArray:
        """w(p), for one probability or an array of them."""
        probability = np.asarray(p, dtype=np.float64)
        if not ((probability >= 0.0) & (probability <= 1.0)).all():
            outside = probability[~((probability >= 0.0) & (probability <= 1.0))].flat[0]
            raise ValueError(f"a probability must lie in [0, 1]; got {outside}. Clip or repair it first.")
        weighted = self._of(probability)
        return float(weighted) if weighted.ndim == 0 else weighted

    def _of(self, p: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):  # log 0 = -inf is meant
            return self._exp(np.log(p), np.log1p(-p))

    def _exp(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.exp(np.minimum(self._log(log_p, log_q), 0.0))

    def of_logs(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        """w(p) from log p and log(1 - p): as accurate for p = e^-5000 as for p = 0.5.

        The smaller of the two probabilities decides: next to 1, the other one has lost its digits.
        """
        smaller = np.minimum(log_p, log_q)
        larger = np.log1p(-np.exp(smaller))
        in_lower_half = log_p <= log_q
        return self._exp(np.where(in_lower_half, smaller, larger), np.where(in_lower_half, larger, smaller))

    def at_logit(self, t: FloatArray) -> FloatArray:
        """w at the probability with log odds t: the whole of (0, 1), ends resolved."""
        return self._exp(-np.logaddexp(0.0, -t), -np.logaddexp(0.0, t))

    def of_tails(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        """w(p) where p = `upper` and 1 - p = `lower` are both known, each to its own last digit."""
        with np.errstate(divide="ignore"):
            return self.of_logs(np.log(upper), np.log(lower))

    def range_over(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest value of w on each interval [low, high]."""
        at_low, at_high = self(np.clip(low, 0.0, 1.0)), self(np.clip(high, 0.0, 1.0))
        least, greatest = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
        for point in self.turning_points:
            inside = (low <= point) & (point <= high)
            turned = self(point)
            least = np.where(inside, np.minimum(least, turned), least)
            greatest = np.where(inside, np.maximum(greatest, turned), greatest)
        return least, greatest

    def greatest_over_logits(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The greatest value of w on each interval of log odds."""
        greatest = np.maximum(self.at_logit(low), self.at_logit(high))
        for point in self.turning_points:
            t = scipy.special.logit(point)
            greatest = np.where((low <= t) & (t <= high), np.maximum(greatest, self(point)), greatest)
        return greatest

    def modulus(self, eps: float) -> float:
        """The modulus of continuity: sup of |w(p) - w(q)| over |p - q| <= eps.

        `modulus_kind` says whether it is exact or a certified bound from above.

        Args:
            eps: The distance between probabilities, 0 or more.

        >>> round(TverskyKahneman(0.61).modulus(0.01), 6)
        0.088416
        """
        distance = real("eps", eps)
        if distance < 0.0:
            raise ValueError(f"eps must not be negative; got {distance:g}. Give a distance of probabilities.")
        if distance == 0.0:
            return 0.0
        if distance >= 1.0:
            least, greatest = self.range_over(np.zeros(1), np.ones(1))
            return float(greatest[0] - least[0])
        return self._modulus(distance)

    def _modulus(self, eps: float) -> float:
        def ceiling(low: FloatArray, high: FloatArray) -> FloatArray:
            least, greatest = self.range_over(low, high)
            floor, top = self.range_over(low, np.minimum(high + eps, 1.0))
            return np.maximum(top - least, greatest - floor)

        edges = np.linspace(0.0, 1.0, 257)
        found = certified_maximum(ceiling, lambda p: ceiling(p, p), edges, max(1e-3 * eps, 1e-9)).bound
        if self.holder is not None:  # sharper for small eps, where the cells stay coarse
            found = min(found, self.holder.constant * eps**self.holder.exponent)
        return min(found, 1.0)

    @overload
    def inverse(self, value: float) -> float: ...
    @overload
    def inverse(self, value: ArrayLike) -> FloatArray: ...
    def inverse(self, value: ArrayLike) -> float | FloatArray:
        """The smallest p with w(p) >= value.

        Args:
            value: A weight in [0, 1], or an array of them.

        >>> w = Prelec(0.65)
        >>> w.inverse(w(0.2))
        0.2...
        """
        target = np.asarray(value, dtype=np.float64)
        if not ((target >= 0.0) & (target <= 1.0)).all():
            outside = target[~((target >= 0.0) & (target <= 1.0))].flat[0]
            raise ValueError(f"a weight takes values in [0, 1]; got {outside}. Ask for a value in [0, 1].")
        if not self.is_monotone:
            warnings.warn(
                f"{self!r} is not monotone, so several probabilities share a weight; "
                "the smallest of them is returned. Use a monotone weight for a unique inverse.",
                DominanceWarning,
                stacklevel=2,
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # at 0 and 1
            found = np.where(target <= 0.0, 0.0, self._inverse(target))
        return float(found) if found.ndim == 0 else found

    def _inverse(self, target: FloatArray) -> FloatArray:
        # In log odds both ends are resolved; the invariant w(low) < target <= w(high) keeps the
        # smallest solution also where w is flat.
        low = np.full(target.shape, -LOGIT_OF_ZERO)
        high = np.full(target.shape, LOGIT_OF_ZERO)
        if self.turning_points:
            ends = np.array([0.0, *self.turning_points, 1.0])
            heights, places = self(ends), scipy.special.logit(ends).clip(-LOGIT_OF_ZERO, LOGIT_OF_ZERO)
            for i in range(ends.size - 1, 0, -1):  # the first stretch that rises to the target decides
                here = (heights[i] >= target) & (heights[i] > heights[i - 1])
                low, high = np.where(here, places[i - 1], low), np.where(here, places[i], high)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            reached = self.at_logit(middle) >= target
            high = np.where(reached, middle, high)
            low = np.where(reached, low, middle)
        return np.exp(-np.logaddexp(0.0, -high))

    def dual(self) -> Weight:
        """The dual weight 1 - w(1 - p), which weights losses in rank-dependent utility.

        >>> Power(2).dual()(0.5)
        0.75
        """
        from allais.weights.derived import Dual

        return Dual(self)

    @staticmethod
    def from_function(
        function: Callable[[FloatArray], ArrayLike],
        *,
        singularities: tuple[float, ...] = (),
        holder: tuple[float, float] | None = None,
        name: str | None = None,
    ) -> FunctionWeight:
        """A weight from your own curve, checked: w(0) = 0, w(1) = 1, finite, within [0, 1].

        Args:
            function: The curve; it takes and returns an array of numbers in [0, 1].
            singularities: Where the curve has kinks inside (0, 1).
            holder: The pair (L, alpha) with |w(p) - w(q)| <= L |p - q|^alpha, if you know it.
            name: What the weight is called in texts; by default the function's name.

        >>> w = Weight.from_function(lambda p: p * p * (3 - 2 * p), name="smoothstep")
        >>> w(0.25), w.is_monotone, w.modulus_kind
        (0.15625, True, 'bound')
        """
        from allais.weights.derived import FunctionWeight

        return FunctionWeight(function, singularities, holder, name)


def log_complement(log_w: FloatArray) -> FloatArray:
    """log(1 - e^x) for x <= 0, to full relative precision on both sides of -log 2."""
    x = np.minimum(log_w, 0.0)
    with np.errstate(divide="ignore"):
        return np.where(x > -0.6931471805599453, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


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

    def negated(s: FloatArray) -> FloatArray:
        t = np.sinh(s)  # log odds, to where only logarithms reach
        with np.errstate(all="ignore"):
            derivative = log_derivative(-np.logaddexp(0.0, -t), -np.logaddexp(0.0, t))
        return np.where(np.isnan(derivative), np.inf, -derivative)

    grid = np.linspace(-18.0, 18.0, 7201)
    start = grid[np.argmin(negated(grid))]
    best = scipy.optimize.minimize_scalar(negated, bounds=(start - 0.01, start + 0.01), method="bounded")
    return float(np.exp(np.minimum(-min(best.fun, negated(start)), 709.0))) * SLACK
