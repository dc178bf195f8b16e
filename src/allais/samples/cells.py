"""Neighbouring outcomes in cells: a bounded memory whose error is certified.

An arm with more distinct outcomes than LIMIT keeps cells. A cell stands for a number of samples somewhere in
[low, high], all moved to one outcome inside: the mean of those that the cell was made of. It is one entry of an arm's
trees, so values, bands and draws go on as before. A new sample that falls into a cell is counted there.

A cell holds at most 1/EVEN of all samples, and at most 1/FINEST of those beyond it on either side, or else one outcome:
so the outermost outcomes stay single, and so does every outcome that many samples share. It is at most 1/WIDTHS
of the arm's range wide. Gains and losses are never in one cell.

What that costs (docs/theory/streaming.md): let C samples lie beyond a cell of n samples. Wherever these lie in it,
the value moves by at most the cell's width times w((C + n) / l) - w(C / l), as for the blocks of a stream. Over all
cells of a side, a monotone weight rises by 1 at most: so no value, and no band that moves probabilities, moves by
more than the widest cell, a bound that needs no look at the counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel
from allais.weights import Weight

LIMIT = 1 << 14  # distinct outcomes per arm before neighbours share cells
FILLED = 0.75  # the share of the limit that cells may take up, so that they are made anew rarely
EVEN, FINEST, WIDTHS = 1 << 13, 1 << 8, 1 << 11  # a cell's bounds at first; halved until there are few enough

# Rows of a table of cells, ascending: the ends as utilities; the outcome that stands for the samples, as utility and as
# told; the smallest and the largest as told; and the sum of utilities.
LOW, HIGH, AT, RAW, RAW_LOW, RAW_HIGH, SUM = range(7)
ROWS = 7


def no_cells() -> FloatArray:
    """A table without cells."""
    return np.zeros((ROWS, 0))


@kernel
def cell_of_outcome(cells, first, last, utility):
    """The cell, from the `first` to before the `last` of a table, that an outcome falls into, or -1."""
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if cells[LOW, middle] <= utility:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low > first and utility <= cells[HIGH, low - 1] else -1


def spread_out(utility: FloatArray, raw: FloatArray, counts: IntArray, cells: FloatArray) -> FloatArray:
    """A table with a column for each outcome of an arm; an outcome that is in no cell is both of its own ends."""
    table = np.stack([utility, utility, utility, raw, raw, raw, utility * counts])
    if cells.shape[1]:
        where = np.searchsorted(cells[LOW], utility, side="right") - 1
        in_cell = (where >= 0) & (utility <= cells[HIGH, where])
        table[:, in_cell] = cells[:, where[in_cell]]
    return table


def gathered(
    utility: FloatArray, raw: FloatArray, counts: IntArray, cells: FloatArray, most: int
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """An arm's outcomes with neighbours in cells, at most `most` in all, and the table of the cells.

    The result depends on the arguments only, and outcomes ascend: so live, simulated and reloaded learners agree.
    """
    table = spread_out(utility, raw, counts, cells)
    alike = np.flatnonzero(np.append(True, utility[1:] != utility[:-1]))  # outcomes that feel alike become one
    table, counts = _merged(table, counts, alike)
    coarser = 1
    starts = _starts(table, counts, coarser)
    while starts.size > most:
        coarser *= 2
        starts = _starts(table, counts, coarser)
    table, counts = _merged(table, counts, starts)
    is_cell = (table[HIGH] > table[LOW]) | (table[RAW_HIGH] > table[RAW_LOW])
    return table[AT].copy(), table[RAW].copy(), counts, np.ascontiguousarray(table[:, is_cell])


def _merged(table: FloatArray, counts: IntArray, starts: IntArray) -> tuple[FloatArray, IntArray]:
    """The table with the columns from one start to before the next joined into one."""
    together = np.add.reduceat(counts, starts)
    low, high = np.minimum.reduceat(table[LOW], starts), np.maximum.reduceat(table[HIGH], starts)
    raw_low, raw_high = np.minimum.reduceat(table[RAW_LOW], starts), np.maximum.reduceat(table[RAW_HIGH], starts)
    total = np.add.reduceat(table[SUM], starts)
    at = np.clip(total / together, low, high)
    raw = np.clip(np.add.reduceat(table[RAW] * counts, starts) / together, raw_low, raw_high)
    return np.stack([low, high, at, raw, raw_low, raw_high, total]), together


def _starts(table: FloatArray, counts: IntArray, coarser: int) -> IntArray:
    """Where cells begin: from the bottom up, each takes in as many neighbours as its bounds allow."""
    lows, highs, sizes = table[LOW].tolist(), table[HIGH].tolist(), counts.tolist()
    samples = sum(sizes)
    evenly = coarser * samples / EVEN
    widest = coarser * (highs[-1] - lows[0]) / WIDTHS
    nearby = coarser / FINEST
    starts = [0]
    below, size, low = 0, sizes[0], lows[0]  # samples below the cell and in it, and where it begins
    for i in range(1, len(sizes)):
        more = size + sizes[i]
        most = 1.0 + min(nearby * below, nearby * (samples - below - more), evenly)
        if more <= most and highs[i] - low <= widest and (low > 0.0 or highs[i] < 0.0):
            size = more
        else:
            starts.append(i)
            below, size, low = below + size, sizes[i], lows[i]
    return np.array(starts)


def widest_reach(cells: FloatArray) -> tuple[float, float]:
    """How far a sample may be from the outcome that stands for it, at most: among gains, and among losses."""
    reach = np.maximum(cells[AT] - cells[LOW], cells[HIGH] - cells[AT])
    gains = cells[LOW] > 0.0
    return float(reach[gains].max(initial=0.0)), float(reach[~gains].max(initial=0.0))


def hidden(
    table: FloatArray, counts: IntArray, gains: Weight, losses: Weight, means: FloatArray | None = None
) -> float:
    """The most by which the value of a table's outcomes is off, as their samples may lie anywhere between the ends.

    Only the rows LOW, HIGH and AT are read; the cells ascend and do not overlap. Where the `means` of the samples are
    known, the bound is of second order: with its mean, a cell is worth what w's chord over it says, so that only the
    chord's distance from w is hidden, and how far AT is from the mean is known.
    """
    total = counts.sum()
    up_to = np.cumsum(counts)
    error, drift = 0.0, 0.0
    for sign, weight, outer in ((1.0, gains, total - up_to), (-1.0, losses, up_to - counts)):
        # what lies on this side, mirrored if it is a loss
        low, high, at = (np.maximum(sign * row, 0.0) for row in table[: AT + 1])
        low, high = np.minimum(low, high), np.maximum(low, high)
        wide = high > low
        if not wide.any():
            continue
        low, high, at, beyond, inside = low[wide], high[wide], at[wide], outer[wide], counts[wide]
        least, most = _weights_at(weight, beyond, total), _weights_at(weight, beyond + inside, total)
        if weight.is_monotone:
            step = most - least
        else:
            smallest, greatest = weight.range_over(beyond / total, (beyond + inside) / total)
            step = greatest - smallest
        if means is None or weight.modulus_kind != "exact" or not weight.is_monotone:
            error += float(np.sum(np.maximum(at - low, high - at) * step))
            continue
        drift += sign * float(np.sum((np.clip(sign * means[wide], low, high) - at) * step))
        bend = 2.0 * np.abs(_weights_at(weight, beyond + 0.5 * inside, total) - 0.5 * (least + most))
        error += float(np.sum((high - low) * np.where(_may_turn(step / inside), step, bend)))
    return error + abs(drift)


def _weights_at(weight: Weight, samples: FloatArray, total: int) -> FloatArray:
    return weight.of_tails(samples / total, (total - samples) / total)


def _may_turn(derivatives: FloatArray) -> NDArray[np.bool_]:
    """Cells in which the derivative of a weight may turn; in the others w is concave or convex.

    There, its distance from a chord is at most twice that in the middle. The derivative of a weight whose modulus is
    known exactly turns once at most (`weights/base.py`): next to the cell of the least or of the greatest mean
    derivative.
    """
    near = np.zeros(derivatives.size, dtype=np.bool_)
    for extreme in (derivatives.min(), derivatives.max()):
        where = np.flatnonzero(derivatives == extreme)
        near[max(where[0] - 1, 0) : where[-1] + 2] = True
    return near
