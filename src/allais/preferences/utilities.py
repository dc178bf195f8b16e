"""Utilities: what an outcome counts for, before its probability is weighted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, positive
from allais.numerics.integrals import LARGEST, smallest


class Utility(Protocol):
    """An increasing function of gains (x > 0) and losses (x < 0) with u(0) = 0, on arrays.

    One with a method `inverse` is inverted by it, any other by bisection.
    """

    def __call__(self, x: FloatArray, /) -> FloatArray: ...


@dataclass(frozen=True)
class PowerUtility:
    """The utility of Tversky and Kahneman (1992): a power of a gain, and a multiple of it for a loss.

        u(x) = x^alpha

    for a gain x, and with the loss aversion lambda

        u(-x) = -lambda x^alpha

    Args:
        alpha: The exponent, above 0; below 1 a gain counts less the more there is already.
        loss_aversion: How many times more a loss counts than a gain of the same size, above 0.

    >>> PowerUtility(0.88, 2.25)(np.array([100.0, -100.0]))
    array([  57.54399373, -129.4739859 ])
    """

    alpha: float = 0.88
    loss_aversion: float = 2.25

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))
        object.__setattr__(self, "loss_aversion", positive("loss_aversion", self.loss_aversion))

    def __call__(self, x: FloatArray) -> FloatArray:
        utilities = np.power(np.abs(x), self.alpha)
        return np.where(np.asarray(x) < 0.0, -self.loss_aversion * utilities, utilities)

    def inverse(self, value: FloatArray) -> FloatArray:
        """The outcome with this utility.

        Args:
            value: Utilities.
        """
        size = np.abs(value) / np.where(np.asarray(value) < 0.0, self.loss_aversion, 1.0)
        return np.copysign(np.power(size, 1.0 / self.alpha), value)


def check_utility(utility: Utility) -> None:
    """Refuse a utility that is not increasing, finite and zero at zero, at the points that are looked at."""
    if not callable(utility):
        raise TypeError(f"a utility is a function of outcomes; got {utility!r}. Give PowerUtility() or your own.")
    sizes = np.logspace(-6, 6, 97)
    look = np.concatenate([-sizes[::-1], [0.0], sizes])
    with np.errstate(all="ignore"):  # what overflows is refused below, in a sentence
        seen = np.asarray(utility(look), dtype=np.float64)
    if seen.shape != look.shape:
        raise ValueError(
            f"a utility must work on arrays, entry by entry; got shape {seen.shape} for {look.shape}. "
            "Write it with numpy, or wrap it in numpy.vectorize."
        )
    if not np.isfinite(seen).all():
        where = look[np.flatnonzero(~np.isfinite(seen))[0]]
        raise ValueError(f"a utility must be finite; got a non-finite value at {where:g}. Handle that point.")
    if seen[sizes.size] != 0.0:
        raise ValueError(f"a utility must satisfy u(0) = 0; got u(0) = {seen[sizes.size]:g}. Subtract the offset.")
    falling = np.flatnonzero(np.diff(seen) < 0.0)
    if falling.size or (seen[: sizes.size] >= 0.0).all() or (seen[sizes.size + 1 :] <= 0.0).all():
        where = look[falling[0]] if falling.size else 0.0
        raise ValueError(f"a utility must increase; got one that does not near {where:g}. Turn its sign, or use costs.")


def is_scale_free(utility: Utility) -> bool:
    """Whether doubling an outcome multiplies its utility by the same factor everywhere, so that no unit matters.

    >>> is_scale_free(PowerUtility(0.88, 2.25)), is_scale_free(np.tanh)
    (True, False)
    """
    sizes = np.logspace(-3, 3, 13)
    look = np.concatenate([-sizes, sizes])
    with np.errstate(all="ignore"):
        times = np.asarray(utility(2.0 * look)) / np.asarray(utility(look))
    return bool(np.allclose(times, times[0], rtol=1e-9, atol=0.0))


def inverse(utility: Utility | None, value: FloatArray) -> FloatArray:
    """The outcome with a given utility: infinite beyond what the utility reaches."""
    if utility is None:
        return value
    if (known := getattr(utility, "inverse", None)) is not None:
        return known(value)
    target = np.asarray(value, dtype=np.float64)

    def reached(outcome: FloatArray) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            return np.asarray(utility(outcome)) >= target

    return smallest(reached, np.full(target.shape, -LARGEST), np.full(target.shape, LARGEST))
