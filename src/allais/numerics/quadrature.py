"""Bisection on the doubles themselves: 64 steps find a number of any size to its last bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allais._checks import FloatArray, IntArray

_NEGATIVE_ZERO = np.int64(-(2**63))  # the bits of -0.0
LARGEST = 1.7e308


def smallest(reached: Callable[[FloatArray], NDArray[np.bool_]], low: ArrayLike, high: ArrayLike) -> FloatArray:
    """The smallest x above `low`, and at most `high`, where a rising condition holds; `high` if nowhere below.

    >>> smallest(lambda x: x * x >= 2.0, np.zeros(1), np.full(1, 9.0))
    array([1.41421356])
    """
    below, above = np.broadcast_arrays(_order(np.maximum(low, -LARGEST)), _order(np.minimum(high, LARGEST)))
    for _ in range(64):
        middle = below // 2 + above // 2 + (below % 2 + above % 2) // 2
        holds = reached(_unorder(middle))
        above = np.where(holds, middle, above)
        below = np.where(holds, below, middle)
    return _unorder(above)


def _order(x: ArrayLike) -> IntArray:
    """Doubles as integers in the same order."""
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    with np.errstate(over="ignore"):  # only the branch that `where` leaves out overflows
        return np.where(bits < 0, _NEGATIVE_ZERO - bits, bits)


def _unorder(order: IntArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.where(order < 0, _NEGATIVE_ZERO - order, order).view(np.float64)


STEP = 1.0 / 16.0  # of the rule; every second node makes the coarser rule it is compared with
TOLERANCE = 1e-11  # of a piece, relative to the integral so far
DEEPEST = 60  # halvings: 2^-60 of a piece is below what doubles can tell apart
MOST_PIECES = 4096  # an integrand of noise would be halved for ever

_t = STEP * np.arange(-52, 53)  # beyond |t| = 3.25 the weights are below 1e-17
_u = 0.5 * np.pi * np.sinh(_t)
NEAR = 1.0 / (1.0 + np.exp(2.0 * np.abs(_u)))  # distance from the nearer end of [0, 1]
FROM_LEFT = _t <= 0.0
FINE = np.cosh(_t) / np.cosh(_u) ** 2
FINE /= FINE.sum()  # so that constants are integrated to the last bit
COARSE = np.where(np.arange(_t.size) % 2 == 0, FINE, 0.0)
COARSE /= COARSE.sum()


class Integral(NamedTuple):
    """A number, and a bound on its absolute error."""

    value: float
    error: float


Integrand = Callable[[FloatArray], FloatArray]


def integrate(function: Integrand, breaks: Sequence[float] | FloatArray, so_far: float = 0.0) -> Integral:
    """The integral of a bounded function from the first to the last of the ascending breaks.

    The tolerance is relative to the result plus `so_far`.

    >>> integrate(np.sqrt, [0.0, 1.0]).value
    0.66666666666666...
    """
    points = np.asarray(breaks, dtype=np.float64)
    low, high = points[:-1], points[1:]
    total = error = 0.0
    for _ in range(DEEPEST):
        width = (high - low)[:, None]
        nodes = np.where(FROM_LEFT, low[:, None] + width * NEAR, high[:, None] - width * NEAR)
        seen = function(nodes.ravel()).reshape(nodes.shape)
        fine, coarse = (high - low) * (seen @ FINE), (high - low) * (seen @ COARSE)
        difference = np.abs(fine - coarse)
        scale = abs(so_far + total + fine.sum())
        rounding = high - low <= 1e-14 * np.maximum(np.abs(low), np.abs(high))
        done = (difference <= TOLERANCE * scale) | rounding
        if done.sum() + MOST_PIECES < done.size:
            done[:] = True
        total += float(fine[done].sum())
        error += float(difference[done].sum())
        if done.all():
            return Integral(total, error)
        left, right = low[~done], high[~done]
        middle = 0.5 * (left + right)
        low, high = np.concatenate([left, middle]), np.concatenate([middle, right])
        unresolved = Integral(float(fine[~done].sum()), float(difference[~done].sum()))
    return Integral(total + unresolved.value, error + unresolved.error)


def integrate_tail(function: Integrand, start: float, reach: float, so_far: float = 0.0) -> Integral:
    """The integral from `start` > 0 to a far-away `reach`, in the logarithm of the variable.

    >>> round(integrate_tail(lambda z: z**-1.5, 1.0, 1e300).value, 12)
    2.0
    """

    def in_logarithm(v: FloatArray) -> FloatArray:
        z = np.exp(v)
        return z * function(z)

    first, last = np.log(start), np.log(reach)
    steps = first + 2.0 ** np.arange(-2, 11)
    return integrate(in_logarithm, np.concatenate([[first], steps[steps < last], [last]]), so_far)
