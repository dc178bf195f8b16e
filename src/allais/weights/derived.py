"""Weights that are made from something else: the dual of a weight, mixtures of weights, and a user's own curve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, positive, share
from allais.settings import address_of, trusted
from allais.weights.base import HolderPair, ModulusKind, Weight
from allais.weights.bounds import GRID, breaks_at, breaks_in, jumps_at_ends


@dataclass(frozen=True, repr=False)
class Dual(Weight):
    """1 - w(1 - p), for any weight w.

    Args:
        of: The weight w whose dual it is.
    """

    of: Weight

    def __repr__(self) -> str:
        return f"{self.of!r}.dual()"

    @staticmethod
    def from_setting(trust: tuple[str, ...], *, of: Any) -> Weight:
        """The weight that a file describes."""
        if not isinstance(of, Weight):
            raise ValueError(f"a dual is of a weight; got {of!r}. Use a backup.")
        return of.dual()

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return self.of._log_complement(log_q, log_p)

    def _log_complement(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return self.of._log(log_q, log_p)

    @property
    def resolution(self) -> tuple[float, float]:
        return self.of.resolution[::-1]

    def rounding(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        return self.of.rounding(lower, upper)

    @property
    def exponent_at_zero(self) -> float:
        if self.resolution[0] == 0.0:
            return super().exponent_at_zero
        seen = self(np.array([1e-4, 1e-7]))  # below that, rounding takes over
        return float(np.log10(seen[0] / seen[1]) / 3.0) if seen[1] > 0.0 else np.inf

    @property
    def holder(self) -> HolderPair | None:
        return self.of.holder

    @property
    def singularities(self) -> tuple[float, ...]:
        return tuple(1.0 - point for point in reversed(self.of.singularities))

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        return tuple(1.0 - point for point in reversed(self.of.breaks))

    @cached_property
    def turning_points(self) -> tuple[float, ...]:
        return tuple(1.0 - point for point in reversed(self.of.turning_points))

    @property
    def modulus_kind(self) -> ModulusKind:
        return self.of.modulus_kind

    def _modulus(self, eps: float) -> float:
        return self.of.modulus(eps)

    def dual(self) -> Weight:
        return self.of


@dataclass(frozen=True, repr=False)
class Mixed(Weight):
    """Several monotone weights at once: the value is the same mixture of theirs.

        w(p) = sum of share_i w_i(p)

    Args:
        shares: How much each counts, positive; together 1.
        weights: As many weights.

    >>> Mixed([0.75, 0.25], [Identity(), TailAverage(0.5)])(0.5)
    0.375
    """

    shares: tuple[float, ...]
    weights: tuple[Weight, ...]

    def __init__(self, shares: ArrayLike, weights: Sequence[Weight]) -> None:
        given = finite_array("shares", shares)
        if len(weights) != given.size:
            raise ValueError(f"each weight has its share; got {given.size} shares, {len(weights)} weights.")
        if (given <= 0.0).any() or abs(given.sum() - 1.0) > 1e-9:
            raise ValueError(f"shares must be positive and sum to 1; got {given.tolist()}. Divide them by their sum.")
        for one in weights:
            if not (isinstance(one, Weight) and one.is_monotone):
                raise ValueError(f"a mixture is of monotone weights; got {one!r}. Use another one.")
        object.__setattr__(self, "shares", tuple((given / given.sum()).tolist()))
        object.__setattr__(self, "weights", tuple(weights))

    def __repr__(self) -> str:
        return f"Mixed({list(self.shares)}, {list(self.weights)})"

    def _sum(self, logs: Iterable[FloatArray]) -> FloatArray:
        return np.asarray(
            np.logaddexp.reduce([np.log(share) + log for share, log in zip(self.shares, logs, strict=True)])
        )

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return self._sum(one._log(log_p, log_q) for one in self.weights)

    def _log_complement(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return self._sum(one._log_complement(log_p, log_q) for one in self.weights)

    @property
    def resolution(self) -> tuple[float, float]:
        at_zero, at_one = zip(*(one.resolution for one in self.weights), strict=True)
        return max(at_zero), max(at_one)

    def rounding(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        return sum(
            (share * one.rounding(upper, lower) for share, one in zip(self.shares, self.weights, strict=True)),
            start=np.zeros_like(upper),
        )

    @property
    def exponent_at_zero(self) -> float:
        return min(one.exponent_at_zero for one in self.weights)  # the heaviest tail remains

    @property
    def holder(self) -> HolderPair | None:
        pairs = [one.holder for one in self.weights]
        if any(pair is None for pair in pairs):
            return None
        constant = sum(share * pair.constant for share, pair in zip(self.shares, pairs, strict=True) if pair)
        return HolderPair(constant, min(pair.exponent for pair in pairs if pair))  # |p - q| <= 1

    @property
    def singularities(self) -> tuple[float, ...]:
        return tuple(sorted({point for one in self.weights for point in one.singularities}))

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({point for one in self.weights for point in one.breaks}))

    def _modulus(self, eps: float) -> float:
        return sum(share * one.modulus(eps) for share, one in zip(self.shares, self.weights, strict=True))

    def dual(self) -> Mixed:
        return Mixed(self.shares, [one.dual() for one in self.weights])


SAME = 1e-6  # a break between two cells is found in both
TOLERANCE = 1e-12  # rounding that a well-written curve may show at its ends
# Where the curve is looked at: evenly, and by powers of ten towards both ends.
_ENDS = np.logspace(-300, -3, 595)
LOOK = np.unique(np.concatenate([[0.0, 1.0], _ENDS, 1.0 - np.logspace(-16, -3, 131), np.linspace(0, 1, 4097)]))


class FunctionWeight(Weight):
    """See `Weight.from_function`.

    Args:
        function: The curve; it takes and returns an array of numbers in [0, 1].
        singularities: Where the curve has kinks inside (0, 1).
        holder: The pair (L, alpha) with |w(p) - w(q)| <= L |p - q|^alpha, if you know it.
        name: What the weight is called in texts; by default the function's name.
    """

    def __init__(
        self,
        function: Callable[[FloatArray], ArrayLike],
        singularities: tuple[float, ...],
        holder: tuple[float, float] | None,
        name: str | None,
    ) -> None:
        self.function = function
        self.name = name or getattr(function, "__name__", repr(function))
        self._kinks = tuple(sorted(share("a singularity", point) for point in singularities))
        self._holder = _checked_pair(holder)
        self._check()

    def __repr__(self) -> str:
        return f"Weight.from_function({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionWeight) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def as_setting(self) -> dict[str, Any]:
        """What a file holds of it: the curve by its name in a module."""
        pair = None if self._holder is None else list(self._holder)
        function = address_of(self.function)
        return {"type": "FunctionWeight", "function": function, "kinks": self._kinks, "holder": pair, "name": self.name}

    @staticmethod
    def from_setting(
        trust: tuple[str, ...], *, function: str, kinks: Any = (), holder: Any = None, name: Any = None
    ) -> FunctionWeight:
        """The weight that a file describes; its curve comes from a module that is trusted."""
        pair = None if holder is None else tuple(holder)
        return FunctionWeight(trusted(function, trust), tuple(kinks), pair, name)

    @property
    def _key(self) -> tuple[object, ...]:
        return (self.function, self._kinks, self._holder)

    def _raw(self, p: FloatArray) -> FloatArray:
        result = np.asarray(self.function(p), dtype=np.float64)
        if result.shape != p.shape:
            raise TypeError(f"got shape {result.shape} for shape {p.shape}")
        return result

    def _of(self, p: FloatArray) -> FloatArray:
        return np.clip(self._raw(p), 0.0, 1.0)  # rounding only: `_check` has seen the range

    def _check(self) -> None:
        """Refuse what is not a weight; never change the curve beyond rounding."""
        try:
            seen = self._raw(LOOK)
        except (TypeError, ValueError):  # a function of one number
            one = self.function
            self._raw = np.vectorize(one, otypes=[np.float64])  # type: ignore[method-assign]
            seen = self._raw(LOOK)
        bad = np.flatnonzero(~np.isfinite(seen))
        if bad.size:
            raise ValueError(
                f"a weight must be finite on [0, 1]; got w({LOOK[bad[0]]:g}) = {seen[bad[0]]} from {self.name}. "
                "Handle that point in the curve."
            )
        for at, expected, remedy in ((0, 0.0, "Subtract the offset."), (-1, 1.0, "Rescale the curve.")):
            if abs(seen[at] - expected) > TOLERANCE:
                raise ValueError(
                    f"a weight must satisfy w({expected:g}) = {expected:g}; got w({expected:g}) = {seen[at]:g} "
                    f"from {self.name}. {remedy}"
                )
        outside = np.flatnonzero((seen < -TOLERANCE) | (seen > 1.0 + TOLERANCE))
        if outside.size:
            raise ValueError(
                f"a weight must stay within [0, 1]; got w({LOOK[outside[0]]:g}) = {seen[outside[0]]:g} "
                f"from {self.name}. Rescale the curve."
            )
        if self._holder is not None:
            rounding = 4e-16  # of two values near 1
            steps = (np.abs(np.diff(seen)) - rounding) / np.diff(LOOK) ** self._holder.exponent
            worst = int(np.argmax(steps))
            if steps[worst] > self._holder.constant * (1.0 + 1e-9):
                raise ValueError(
                    f"the declared Hölder pair must bound the curve; got a ratio of {steps[worst]:g} between "
                    f"{LOOK[worst]:g} and {LOOK[worst + 1]:g} from {self.name}, above "
                    f"L = {self._holder.constant:g}. Declare a larger L or a smaller alpha."
                )

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        # exp(log p) rounds near 1, where 1 - exp(log q) is exact
        probability = np.where(log_p < log_q, np.exp(log_p), -np.expm1(log_q))
        with np.errstate(divide="ignore"):
            return np.log(self._of(np.clip(probability, 0.0, 1.0)))

    def rounding(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        # next to 1 the curve is given the nearest double to 1 - lower, which lies between that one's two neighbours
        seen = 1.0 - lower
        left, right = np.nextafter(seen, 0.0), np.minimum(np.nextafter(seen, 2.0), 1.0)
        near_one = (lower > 0.0) & (lower < upper)
        return np.where(near_one, np.abs(self._of(right) - self._of(left)) + self.resolution[1], 0.0)

    @property
    def resolution(self) -> tuple[float, float]:
        return 0.0, 4e-16  # the curve sees p, and p is a double

    @property
    def holder(self) -> HolderPair | None:
        return self._holder

    @property
    def singularities(self) -> tuple[float, ...]:
        # nothing is known about the ends, so they count as singular
        return (0.0, *self._kinks, 1.0)

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        """Found on a fine grid, whether they were declared or not; a curve may jump at its ends, too."""
        found = [*breaks_at(self, self._kinks)]  # to the last digit
        for point in breaks_in(self, GRID[:-1], GRID[1:]):
            if not any(abs(point - known) < SAME for known in found):
                found.append(point)
        return tuple(sorted([*jumps_at_ends(self), *found]))

    @cached_property
    def turning_points(self) -> tuple[float, ...]:
        """Found on a fine grid: a curve that wiggles between its points is not seen."""
        steps = np.diff(self(LOOK))
        rising = np.sign(np.where(np.abs(steps) <= TOLERANCE, 0.0, steps))
        moving = np.flatnonzero(rising)
        turns = moving[1:][np.diff(rising[moving]) != 0]
        return tuple(float(LOOK[index]) for index in turns)

    @property
    def modulus_kind(self) -> ModulusKind:
        # a monotone curve, or a declared pair, is bounded by what is seen of it
        return "bound" if self.is_monotone or self._holder is not None else "estimate"

    def _modulus(self, eps: float) -> float:
        if self._holder is not None and not self.is_monotone:
            return min(1.0, self._holder.constant * eps**self._holder.exponent)
        return super()._modulus(eps)

    @property
    def exponent_at_zero(self) -> float:
        tiny = self(np.array([1e-60, 1e-100]))
        return float(np.log10(tiny[0] / tiny[1]) / 40.0) if tiny[1] > 0.0 else np.inf


def _checked_pair(holder: tuple[float, float] | None) -> HolderPair | None:
    if holder is None:
        return None
    constant, exponent = holder
    return HolderPair(positive("the Hölder constant", constant), share("the Hölder exponent", exponent, one=True))
