"""Whether the outcomes in a file are possible, before compiled code relies on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais.files.reading import LARGEST_COUNT, require
from allais.preferences import Preference
from allais.samples.cells import AT, HIGH, LOW, RAW, RAW_HIGH, RAW_LOW, SUM


def check_outcomes(
    felt: FloatArray,
    raw: FloatArray,
    counts: IntArray,
    preference: Preference,
    single: NDArray[np.bool_] | slice = slice(None),
) -> None:
    """Refuse outcomes that do not ascend as felt, then as told; `single` ones must feel as the preference says."""
    require(felt.ndim == raw.ndim == counts.ndim == 1, "outcomes must be in one row")
    require(felt.size == raw.size == counts.size, "there must be as many outcomes as counts")
    require(np.isfinite(felt).all() and np.isfinite(raw).all(), "an outcome is not finite")
    require((counts > 0).all() and counts.sum(dtype=np.float64) < LARGEST_COUNT, "a count is impossible")
    # version 0.1.0 could list an outcome twice, where a utility is flat
    rising = (np.diff(felt) > 0.0) | ((np.diff(felt) == 0.0) & (np.diff(raw) >= 0.0))
    require(rising.all(), "outcomes must ascend")
    # to rounding only: another machine's power function may differ in its last bit
    expected = preference.felt(raw[single])
    require(_close(felt[single], expected).all(), "an outcome does not feel as the preference says")


def _close(felt: FloatArray, expected: FloatArray) -> NDArray[np.bool_]:
    return np.abs(felt - expected) <= _rounding(expected, felt)


def _rounding(expected: FloatArray, felt: FloatArray) -> FloatArray:
    return 1e-9 * np.abs(expected) + 1e-12 * np.abs(felt).max(initial=0.0)


def check_cells(felt: FloatArray, raw: FloatArray, cells: FloatArray, preference: Preference) -> NDArray[np.bool_]:
    """Refuse cells that overlap, or hold an outcome besides their own; return which outcomes are in no cell."""
    if not cells.size:
        return np.ones(felt.size, dtype=np.bool_)
    low, high, at = cells[LOW], cells[HIGH], cells[AT]
    require((low <= at).all() and (at <= high).all() and (low[1:] > high[:-1]).all(), "cells must ascend")
    require(((low > 0.0) | (high < 0.0) | (low == high)).all(), "a cell cannot hold gains and losses")
    told_in_order = (cells[RAW_LOW] <= cells[RAW]) & (cells[RAW] <= cells[RAW_HIGH])
    require(told_in_order.all(), "a cell's outcome must lie between its ends")
    for ends in (preference.felt(cells[RAW_LOW]), preference.felt(cells[RAW_HIGH])):
        slack = _rounding(ends, cells[:AT].ravel())
        require(((low - slack <= ends) & (ends <= high + slack)).all(), "a cell does not feel as the preference says")
    where = np.searchsorted(low, felt, side="right") - 1
    single = (where < 0) | (felt > high[where])
    stands = (felt == at[where]) & (raw == cells[RAW, where])
    require((single | stands).all(), "an outcome lies inside a cell")
    return single


def check_moments(table: FloatArray, counts: IntArray, mean: float, spread: float) -> None:
    """Refuse a mean or a spread that is not that of the outcomes as felt, to rounding and to what cells hide."""
    felt = table[SUM] / counts
    centre = float(np.average(felt, weights=counts))
    around = float(np.sum(counts * (felt - centre) ** 2))
    inside = float(np.sum(counts * (table[HIGH] - table[LOW]) ** 2))
    size = float(np.abs(felt).max())
    require(abs(mean - centre) <= 1e-6 * size, "the mean is not that of the outcomes")
    require(abs(spread - around) <= 1e-6 * (around + size**2) + inside, "the spread is not that of the outcomes")
