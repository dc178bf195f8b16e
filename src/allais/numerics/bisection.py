"""Bisection on the doubles themselves: 64 steps find a number of any size to its last bit."""

from __future__ import annotations

from collections.abc import Callable

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
