"""A weight as a table that compiled code reads: any weight, one speed, no formula written twice."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel
from allais.numerics.chebyshev import CENTRE, SCALE, START, basis, cells_of, halved_until
from allais.weights import Weight

TERMS = 10  # of each polynomial; even and odd powers are summed side by side
# Buckets say which cells to search: EIGHTHS of each power of 2 towards 0 and towards 1, and equal
# stretches between 1/4 and 3/4.
EIGHTHS, OCTAVES, MIDDLE = 8, 61, 256
FINEST = 60  # cells shrink by halves towards a singular point, to 2^-60
PRECISION = 2e-15  # what a cell may leave out, relative to its size
HALVINGS = 6  # of a cell between two powers of 2; what is left then is the function's own noise


@by_reference
class Table(NamedTuple):
    """Polynomials on cells of [0, 1]; two arrays only, since each costs when a kernel is called."""

    cells: FloatArray  # as `numerics/chebyshev.py` lays them out, (cells, FIRST_POWER + TERMS)
    buckets: IntArray  # the first and the last cell of each bucket, (buckets, 2)


@lru_cache(maxsize=256)
def table_of(weight: Weight) -> Table:
    """The table of a weight, built once."""
    return tabulate(weight, weight.singularities)


def tabulate(function: Callable[[FloatArray], FloatArray], singularities: tuple[float, ...] = (0.0, 1.0)) -> Table:
    """A function on [0, 1] as a table, to 1e-15 except next to singular points, where p itself is rounded."""
    halves = 2.0 ** -np.arange(1.0, FINEST + 1)
    points = [np.array([0.0, 1.0]), halves]
    for point in (1.0, *singularities):
        coarse = halves[:47]  # doubles next to 1 are 2^-53 apart
        points += [np.array([point]), point - coarse, point + coarse]
    edges = np.concatenate(points)
    edges = np.unique(edges[(edges >= 0.0) & (edges <= 1.0)])
    polynomials = basis(TERMS)

    def fitted(low: FloatArray, high: FloatArray, halvings: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        half = 0.5 * (high - low)
        series = polynomials.series(function, np.clip(polynomials.nodes_in(low, high), 0.0, 1.0))
        left_out = np.abs(series[:, -2:]).max(axis=1)
        # the innermost cells end at a singular point: a chord, which is exact at the point itself
        innermost = (half <= 2.0**-48) & (high > 2.0**-40) | (high <= 2.0**-59)
        if innermost.any():
            ends = function(np.concatenate([low[innermost], high[innermost]])).reshape(2, -1)
            series[innermost] = 0.0
            series[innermost, 0] = 0.5 * (ends[0] + ends[1])
            series[innermost, 1] = 0.5 * (ends[1] - ends[0])
            left_out[innermost] = 0.0
        # p itself is rounded: what that does to the function cannot be fitted
        noise = 4.0 * np.abs(series[:, 1]) / half * np.spacing(high)
        return series, left_out <= PRECISION * np.abs(series[:, 0]) + noise

    starts, _, series = halved_until(fitted, edges[:-1], edges[1:], HALVINGS)
    return bucketed(cells_of(np.append(starts, 1.0), series @ polynomials.to_powers))


def staircase(points: FloatArray, values: FloatArray) -> Table:
    """The step function that takes `values[i]` up to `points[i]`; the last point is 1."""
    powers = np.zeros((points.size, TERMS))
    powers[:, 0] = values
    return bucketed(cells_of(np.append(0.0, points), powers))


def bucketed(cells: FloatArray) -> Table:
    """Cells, ascending, with the buckets that lead to them."""
    low, high = _bucket_ends()
    starts = cells[:, START]
    first_cell = np.maximum(np.searchsorted(starts, low, side="right") - 1, 0)
    last_cell = np.maximum(np.searchsorted(starts, high, side="right") - 1, 0)
    return Table(np.ascontiguousarray(cells), np.ascontiguousarray(np.stack([first_cell, last_cell], axis=1)))


@lru_cache(maxsize=1)
def _bucket_ends() -> tuple[FloatArray, FloatArray]:
    """The probabilities between which each bucket lies, in the order of `cell_of`."""
    octave, eighth = np.divmod(np.arange(OCTAVES * EIGHTHS), EIGHTHS)
    step = 2.0 ** -(octave + 6.0)
    low = 2.0 ** -(octave + 3.0) + eighth * step  # octave 0 is [1/8, 1/4)
    high = low + step
    deepest = octave == OCTAVES - 1
    low[deepest], high[deepest] = 0.0, 2.0 ** -(OCTAVES + 1.0)
    middle = 0.25 + np.arange(MIDDLE + 1) / (2.0 * MIDDLE)
    return (
        np.concatenate([low, 1.0 - high, middle]),
        np.concatenate([high, 1.0 - low, np.append(middle[1:], 0.76)]),
    )


@kernel
def _octave(p):
    """The bucket of a probability below 1/4, by its power of 2 and the eighth of that."""
    mantissa, exponent = math.frexp(p)
    return min(-exponent - 2, OCTAVES - 1) * EIGHTHS + int((mantissa - 0.5) * (2.0 * EIGHTHS))


@kernel
def cell_of(cells, buckets, p):
    """The last cell that starts at or before a probability between 0 and 1."""
    if p < 0.25:
        bucket = _octave(p)
    elif p > 0.75:
        bucket = OCTAVES * EIGHTHS + _octave(1.0 - p)
    else:
        bucket = 2 * OCTAVES * EIGHTHS + int((p - 0.25) * (2.0 * MIDDLE))
    low, high = buckets[bucket, 0], buckets[bucket, 1]
    while low < high:
        middle = (low + high + 1) // 2
        if cells[middle, START] <= p:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def weigh(table, p):
    """w(p) from the table; p is clipped to [0, 1], since rounding may lead out of it."""
    if p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    cell = table.cells[cell_of(table.cells, table.buckets, p)]
    s = (p - cell[CENTRE]) * cell[SCALE]
    t = s * s
    even = (((cell[11] * t + cell[9]) * t + cell[7]) * t + cell[5]) * t + cell[3]
    odd = (((cell[12] * t + cell[10]) * t + cell[8]) * t + cell[6]) * t + cell[4]
    return even + s * odd


@kernel
def distorted_sum(gains, losses, outcomes, counts, first, last, total, origin, edge):
    """The value of the outcomes from `first` to before `last`, ascending, each less `origin`.

    `counts` may be masses; they sum to `total`. Both integrals stop at `edge`.
    """
    value = 0.0
    above = 0.0  # samples at or above the current outcome
    i = last - 1
    while i >= first and outcomes[i] - origin > 0.0:
        above += counts[i]
        lower = max(outcomes[i - 1] - origin, 0.0) if i > first else 0.0
        step = min(outcomes[i] - origin, edge) - min(lower, edge)
        if step > 0.0:
            value += step * weigh(gains, above / total)
        i -= 1
    below = 0.0  # losses accumulate from the bottom: w- sees P(X <= z)
    i = first
    while i < last and outcomes[i] - origin < 0.0:
        below += counts[i]
        upper = min(outcomes[i + 1] - origin, 0.0) if i + 1 < last else 0.0
        step = max(upper, -edge) - max(outcomes[i] - origin, -edge)
        if step > 0.0:
            value -= step * weigh(losses, below / total)
        i += 1
    return value
