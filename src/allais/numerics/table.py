"""A weight as a table that compiled code reads, at a point and over whole blocks of probabilities.

Any weight, one speed, no formula written twice. A block of a tree is summed with one polynomial where it lies inside
one piece. Pieces overlap, so that a block whose half-width is at most REACH times its centre's distance from the
nearest singular point always finds one; where a function bends faster than its singular points say, pieces are smaller.

A block of gaps g_i at places x_i in [-1, 1] is known by its moments sum g_i x_i^k / k!, k < BLOCK_TERMS. Seen from
elsewhere, x = centre + half y, the moments are a convolution of these with centre^m / m!: `moved_moment`. All terms
are small where |centre| + half <= 1, so nothing cancels that was not small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, loose_kernel
from allais.numerics.chebyshev import CENTRE, FIRST_POWER, SCALE, START, basis, cells_of, halved_until
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


BLOCK_TERMS = 16  # terms of a piece, and moments of a block
REACH = 0.3  # half-width of a block over its distance from a singular point
STEP = 1.0 / 64.0  # half-width of the stretch of centres that share a piece, over their distance
NEAREST = 2.0**-40  # distance from a singular point: a block of 10^12 samples comes no nearer
# powers of a block's offset from a piece's centre: that is at most STEP / REACH, so the rest is below 1e-15
OFFSETS = 8
PIECE_PRECISION = 5e-14  # what a piece may leave out, relative to its size
PIECE_HALVINGS = 8  # of a piece where the function bends faster

INVERSE_FACTORIALS = np.array([1.0 / math.factorial(k) for k in range(BLOCK_TERMS)])

# Places in the scratch of `view_from`: the block's moments, last first, and the powers of the centre after zeros
SHIFTED = BLOCK_TERMS
SCRATCH = 3 * BLOCK_TERMS

_between = np.array([-1.0, -0.8, -0.3, 0.1, 0.6, 0.97])  # where a fit is checked
_CHECK = chebyshev.chebvander(_between, BLOCK_TERMS - 1).T


@by_reference
class Distortion(NamedTuple):
    """A weight for compiled code: at a point, and over a block."""

    table: Table
    cells: FloatArray  # pieces, laid out as `Table.cells`: more powers, each times the factorial of its exponent
    buckets: IntArray


@lru_cache(maxsize=256)
def distortion_of(weight: Weight) -> Distortion:
    """The tables of a weight, built once."""
    polynomials = basis(BLOCK_TERMS)
    starts, ends, shares = (np.array(column) for column in zip(*_stretches(weight), strict=True))

    def fitted(low: FloatArray, high: FloatArray, halvings: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        share = shares if halvings == 0 else np.full(low.size, REACH * 0.5**halvings)
        first, last = low - share * _room(weight, low), high + share * _room(weight, high)
        half = 0.5 * (last - first)
        nodes, between = (
            np.clip((first + half)[:, None] + half[:, None] * places, 0.0, 1.0)
            for places in (polynomials.nodes, _between)
        )
        series = polynomials.series(weight, nodes)
        left_out = np.abs(weight(between.ravel()).reshape(between.shape) - series @ _CHECK).max(axis=1)
        noise = 8.0 * np.abs(series[:, 1]) / half * np.spacing(last)  # from the rounding of p itself
        # next to a singular point, and where halving did not help, there is no piece: no block fits there
        missing = (share == 0.0) | (halvings == PIECE_HALVINGS)
        powers = series @ polynomials.to_powers / INVERSE_FACTORIALS
        rows = np.column_stack([first + half, np.where(missing, np.inf, 1.0 / half), powers])
        return rows, (left_out <= PIECE_PRECISION * np.abs(series[:, 0]) + noise) | (share == 0.0)

    low, _, rows = halved_until(fitted, starts, ends, PIECE_HALVINGS)
    pieces = bucketed(np.pad(np.column_stack([low, rows]), ((0, 0), (0, OFFSETS))))
    return Distortion(table_of(weight), pieces.cells, pieces.buckets)


def _stretches(weight: Weight) -> list[tuple[float, float, float]]:
    """Stretches of centres, and how far a piece reaches beyond, as a share of its distance from a singular point."""
    result = []
    ratio = (1.0 + STEP) / (1.0 - STEP)
    for start, end in pairwise(_corners(weight)):
        half = 0.5 * (end - start)
        steps = int(np.ceil(np.log(1.0 / NEAREST) / np.log(ratio)))
        distances = half * np.geomspace(NEAREST, 1.0, steps + 1)
        points = np.concatenate([start + distances, end - distances[-2::-1]])
        result += [(low, high, REACH) for low, high in pairwise(points) if high > low]
        result += [(start, float(points[0]), 0.0), (float(points[-1]), end, 0.0)]
    return [stretch for stretch in sorted(result) if stretch[1] > stretch[0]]


def _corners(weight: Weight) -> list[float]:
    """Where a weight, clipped at 0 and 1, is not smooth."""
    return sorted({0.0, 1.0, *weight.singularities})


def _room(weight: Weight, p: FloatArray) -> FloatArray:
    return np.abs(p[:, None] - np.array(_corners(weight))).min(axis=1)


@kernel
def piece_over(distortion, centre, half):
    """The piece that covers a block of probabilities, or -1."""
    if not 0.0 < centre < 1.0:
        return -1
    piece = cell_of(distortion.cells, distortion.buckets, centre)
    middle, scale = distortion.cells[piece, CENTRE], distortion.cells[piece, SCALE]
    # the scale is infinite where there is no piece
    return piece if (abs(centre - middle) + half) * scale <= 1.0 else -1


@kernel
def view_from(scratch, moments, first, centre, half):
    """Prepare `moved_moment` for a block whose own [-1, 1] is [centre - half, centre + half] elsewhere."""
    power = 1.0
    for k in range(BLOCK_TERMS):
        scratch[BLOCK_TERMS - 1 - k] = moments[first + k] * power
        power *= half
    power = 1.0
    for m in range(BLOCK_TERMS):
        scratch[SHIFTED + BLOCK_TERMS - 1 + m] = INVERSE_FACTORIALS[m] * power
        power *= centre


@loose_kernel
def moved_moment(scratch, j):
    """The j-th moment of the block that `view_from` prepared, seen from elsewhere."""
    result = 0.0
    for i in range(BLOCK_TERMS):
        result += scratch[i] * scratch[SHIFTED + j + i]
    return result


@kernel
def weigh_block(distortion, piece, scratch, moments, first, centre, half):
    """The sum over a block of gap times w, the block being `half` around `centre`, and inside the piece."""
    row = distortion.cells[piece]
    offset = (centre - row[CENTRE]) * row[SCALE]
    factor, power = half * row[SCALE], 1.0
    for k in range(BLOCK_TERMS):
        scratch[k] = moments[first + k] * power
        power *= factor
    result, power = 0.0, 1.0
    for m in range(OFFSETS):
        result += INVERSE_FACTORIALS[m] * power * _along(row, scratch, m)
        power *= offset
    return result


@loose_kernel
def _along(row, scratch, m):
    """The m-th derivative of a piece's polynomial, over a block around the piece's centre."""
    result = 0.0
    for k in range(BLOCK_TERMS):
        result += row[FIRST_POWER + m + k] * scratch[k]
    return result
