"""A weight as overlapping polynomials, for sums over whole blocks of probabilities.

A block of a tree is summed with one polynomial where it lies inside one piece. Pieces overlap, so that a block
whose half-width is at most REACH times its centre's distance from the nearest singular point always finds one; where
a function bends faster than its singular points say, pieces are smaller.

A block of gaps g_i at places x_i in [-1, 1] is known by its moments sum g_i x_i^k / k!, k < TERMS. Seen from
elsewhere, x = centre + half y, the moments are a convolution of these with centre^m / m!: `moved_moment`. All terms
are small where |centre| + half <= 1, so nothing cancels that was not small.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import factorial

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, loose_kernel
from allais.numerics.chebyshev import CENTRE, FIRST_POWER, SCALE, basis, halved_until
from allais.numerics.table import Table, bucketed, cell_of, table_of
from allais.weights import Weight

TERMS = 16  # terms of a piece, and moments of a block
REACH = 0.3  # half-width of a block over its distance from a singular point
STEP = 1.0 / 64.0  # half-width of the stretch of centres that share a piece, over their distance
NEAREST = 2.0**-40  # distance from a singular point: a block of 10^12 samples comes no nearer
# powers of a block's offset from a piece's centre: that is at most STEP / REACH, so the rest is below 1e-15
OFFSETS = 8
PRECISION = 5e-14  # what a piece may leave out, relative to its size
HALVINGS = 8  # of a piece where the function bends faster

INVERSE_FACTORIALS = 1.0 / factorial(np.arange(TERMS))

# Places in the scratch of `view_from`: the block's moments, last first, and the powers of the centre after zeros
SHIFTED = TERMS
SCRATCH = 3 * TERMS

_between = np.array([-1.0, -0.8, -0.3, 0.1, 0.6, 0.97])  # where a fit is checked
_CHECK = chebyshev.chebvander(_between, TERMS - 1).T


@by_reference
class Distortion(NamedTuple):
    """A weight for compiled code: at a point, and over a block."""

    table: Table
    cells: FloatArray  # pieces, laid out as `Table.cells`: more powers, each times the factorial of its exponent
    buckets: IntArray


@lru_cache(maxsize=256)
def distortion_of(weight: Weight) -> Distortion:
    """The tables of a weight, built once."""
    polynomials = basis(TERMS)
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
        missing = (share == 0.0) | (halvings == HALVINGS)
        powers = series @ polynomials.to_powers / INVERSE_FACTORIALS
        rows = np.column_stack([first + half, np.where(missing, np.inf, 1.0 / half), powers])
        return rows, (left_out <= PRECISION * np.abs(series[:, 0]) + noise) | (share == 0.0)

    low, _, rows = halved_until(fitted, starts, ends, HALVINGS)
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
    for k in range(TERMS):
        scratch[TERMS - 1 - k] = moments[first + k] * power
        power *= half
    power = 1.0
    for m in range(TERMS):
        scratch[SHIFTED + TERMS - 1 + m] = INVERSE_FACTORIALS[m] * power
        power *= centre


@loose_kernel
def moved_moment(scratch, j):
    """The j-th moment of the block that `view_from` prepared, seen from elsewhere."""
    result = 0.0
    for i in range(TERMS):
        result += scratch[i] * scratch[SHIFTED + j + i]
    return result


@kernel
def weigh_block(distortion, piece, scratch, moments, first, centre, half):
    """The sum over a block of gap times w, the block being `half` around `centre`, and inside the piece."""
    row = distortion.cells[piece]
    offset = (centre - row[CENTRE]) * row[SCALE]
    factor, power = half * row[SCALE], 1.0
    for k in range(TERMS):
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
    for k in range(TERMS):
        result += row[FIRST_POWER + m + k] * scratch[k]
    return result
