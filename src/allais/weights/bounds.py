"""What is certain about a weight: a maximum with a certificate, and where it jumps or has an infinite derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray

MOST_CELLS = 1 << 17  # a function that is flat at its maximum would be split for ever


class Maximum(NamedTuple):
    """The supremum lies in [attained, bound]."""

    attained: float
    bound: float


def certified_maximum(
    upper: Callable[[FloatArray, FloatArray], FloatArray],
    attained: Callable[[FloatArray], FloatArray],
    edges: FloatArray,
    tolerance: float,
) -> Maximum:
    """The maximum of a function between the first and the last edge.

    `attained(x)` evaluates it, `upper(low, high)` bounds it from above on cells. Cells that
    cannot hold a value above the best one found, plus the tolerance, are dropped; the rest are
    halved.

    >>> x_squared = lambda x: x**2
    >>> certified_maximum(lambda a, b: b**2, x_squared, np.linspace(0.0, 2.0, 9), 1e-9).attained
    4.0
    """
    best = float(attained(edges).max())
    low, high = edges[:-1], edges[1:]
    while True:
        ceiling = upper(low, high)
        open_cells = ceiling > best + tolerance
        if not open_cells.any():
            return Maximum(best, best + tolerance)
        low, high = low[open_cells], high[open_cells]
        middle = 0.5 * (low + high)
        if 2 * low.size > MOST_CELLS or ((middle <= low) | (middle >= high)).any():
            return Maximum(best, float(ceiling.max()))
        best = max(best, float(attained(middle).max()))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])


COARSE, FINE = 8, 24  # halvings of a cell: from about 1e-6 to 1e-11 where cells are those of GRID
GROWTH = 2.5  # of the derivative between the two: 2^(16 (1 - a)) next to |p - c|^a, so every a below 0.9 is found
LEAST = 0.01  # the least derivative that counts as a break
ROUNDING = 1e-15  # of the difference of two weights
AT_END = 1e-3  # how much a weight may jump at 0 or 1 before it counts
# cells in which curves are looked at: evenly, and a hundred to each power of ten toward both ends
_ENDS = np.logspace(-6, -2, 401)
GRID = np.unique(np.concatenate([_ENDS, 1.0 - _ENDS, np.linspace(0.0, 1.0, 4097)[1:-1]]))


def breaks_in(weight: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> tuple[float, ...]:
    """Where a weight jumps or rises infinitely fast, in cells from low to high; neighbouring ones are compared.

    Every cell is halved toward the half in which the weight changes more. Where it has a derivative, the derivative
    then settles, also beside a kink; at a jump it doubles with each halving.

    >>> breaks_in(np.sqrt, GRID[:-1], GRID[1:])  # it is steep at 0 only
    ()
    >>> [round(p, 6) for p in breaks_in(lambda p: 0.5 * p + 0.5 * (p >= 0.3), GRID[:-1], GRID[1:])]
    [0.3]
    """
    left, right = low.copy(), high.copy()
    at_left, at_right = weight(left), weight(right)
    coarse = np.zeros_like(low)
    for halving in range(FINE):
        if halving == COARSE:
            coarse = np.abs(at_right - at_left) / (right - left)
        middle = 0.5 * (left + right)
        at_middle = weight(middle)
        lower = np.abs(at_middle - at_left) >= np.abs(at_right - at_middle)
        right, at_right = np.where(lower, middle, right), np.where(lower, at_middle, at_right)
        left, at_left = np.where(lower, left, middle), np.where(lower, at_left, at_middle)
    fine = (np.abs(at_right - at_left) - ROUNDING) / (right - left)
    # a kink in the last bit of a cell looks like a break there, and not in the next cell
    before, after = np.append(coarse[0], coarse[:-1]), np.append(coarse[1:], coarse[-1])
    found = np.flatnonzero(fine > np.maximum(GROWTH * np.maximum(coarse, np.maximum(before, after)), LEAST))
    return tuple(float(0.5 * (left[k] + right[k])) for k in found)


def breaks_at(weight: Callable[[FloatArray], FloatArray], points: tuple[float, ...]) -> tuple[float, ...]:
    """The points inside (0, 1) at which a weight breaks, on either side."""
    found = []
    for point in points:
        reach = 1e-3 * min(point, 1.0 - point)
        edges = np.array([point - reach, point, point + reach])
        if reach > 0.0 and breaks_in(weight, edges[:-1], edges[1:]):
            found.append(point)
    return tuple(found)


def jumps_at_ends(weight: Callable[[FloatArray], FloatArray]) -> tuple[float, ...]:
    """Which of 0 and 1 a weight jumps at: it is there what it still is very close by.

    >>> jumps_at_ends(lambda p: np.where((p > 0) & (p < 1), 0.1 + 0.7 * p, p))
    (0.0, 1.0)
    """
    near = weight(np.array([1e-300, 1e-9]))
    beyond = 1.0 - weight(np.array([1.0 - 2.0**-53, 1.0 - 1e-9]))
    pairs = ((0.0, near), (1.0, beyond))
    return tuple(end for end, (close, further) in pairs if close > AT_END and close >= 0.9 * further)
