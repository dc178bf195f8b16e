"""Whether what a file says can be: kinds, lengths, signs, order and places, before compiled code relies on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allais.errors import FloatArray, IntArray
from allais.preferences import Preference
from allais.values.cells import AT, HIGH, LOW, RAW, RAW_HIGH, RAW_LOW, SUM

GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
INFINITIES = ("inf", "-inf", "nan")  # which JSON lacks; they are written as text
LARGEST_COUNT = 2**62  # so that sums of two fit


class Damaged(Exception):  # noqa: N818
    """What a file says cannot be; whoever reads it says of which file."""


def require(possible: object, what: str) -> None:
    """Go on only where a file says what can be."""
    if not possible:
        raise Damaged(what)


def whole(number: Any, what: str, least: int = 0, most: int = LARGEST_COUNT) -> int:
    """A whole number of a file."""
    require(type(number) is int and least <= number <= most, f"{what} cannot be {_short(number)}")
    return int(number)


def finite(number: Any, what: str) -> float:
    """A finite number of a file."""
    require(type(number) in (int, float) and math.isfinite(number), f"{what} cannot be {_short(number)}")
    return float(number)


def _short(thing: Any) -> str:
    text = repr(thing)
    return text if len(text) <= 40 else f"{text[:37]}..."


def finite_list(numbers: Any, what: str) -> FloatArray:
    """A list of finite numbers of a file."""
    require(isinstance(numbers, list), f"{what} must be a list")
    return np.array([finite(number, what) for number in numbers], dtype=np.float64)


def whole_list(numbers: Any, what: str, least: int) -> IntArray:
    """A list of whole numbers of a file."""
    require(isinstance(numbers, list), f"{what} must be a list")
    return np.array([whole(number, what, least) for number in numbers], dtype=np.int64)


def array_like(numbers: Any, target: NDArray[Any], what: str) -> NDArray[Any]:
    """A list of a file as an array of the kind and the shape that another one has."""
    require(isinstance(numbers, list) and len(numbers) == target.size, f"{what} must have {target.size} entries")
    if target.dtype == np.bool_:
        require(all(type(entry) is bool for entry in numbers), f"{what} must be true or false")
    elif np.issubdtype(target.dtype, np.integer):
        limits = np.iinfo(target.dtype)
        for entry in numbers:
            whole(entry, what, int(limits.min), int(limits.max))
    else:
        for entry in numbers:
            require(
                entry in INFINITIES if isinstance(entry, str) else type(entry) in (int, float), f"{what} has no number"
            )
    return np.array(numbers, dtype=target.dtype).reshape(target.shape)


def check_outcomes(
    felt: FloatArray,
    raw: FloatArray,
    counts: IntArray,
    preference: Preference,
    single: NDArray[np.bool_] | slice = slice(None),
) -> None:
    """Outcomes with their counts: ascending as felt, then as told, and felt as the preference says if `single`."""
    require(felt.ndim == raw.ndim == counts.ndim == 1, "outcomes must be in a row")
    require(felt.size == raw.size == counts.size, "outcomes and counts must be as many")
    require(np.isfinite(felt).all() and np.isfinite(raw).all(), "an outcome is not finite")
    require((counts > 0).all() and counts.sum(dtype=np.float64) < LARGEST_COUNT, "a count cannot be")
    # version 0.1.0 could list an outcome twice, where a utility is flat
    rising = (np.diff(felt) > 0.0) | ((np.diff(felt) == 0.0) & (np.diff(raw) >= 0.0))
    require(rising.all(), "outcomes must ascend")
    # to rounding only: another machine's power may differ in its last bit
    expected = preference.felt(raw[single])
    require(_close(felt[single], expected).all(), "an outcome does not feel as the preference says")


def _close(felt: FloatArray, expected: FloatArray) -> NDArray[np.bool_]:
    return np.abs(felt - expected) <= _rounding(expected, felt)


def _rounding(expected: FloatArray, felt: FloatArray) -> FloatArray:
    return 1e-9 * np.abs(expected) + 1e-12 * np.abs(felt).max(initial=0.0)


def check_cells(felt: FloatArray, raw: FloatArray, cells: FloatArray, preference: Preference) -> NDArray[np.bool_]:
    """Cells that ascend and do not overlap, whose outcomes are the ones that stand for them; the others are single."""
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
    """The mean of outcomes as felt, and the sum of squares around it, to rounding and to what cells hide."""
    felt = table[SUM] / counts
    centre = float(np.average(felt, weights=counts))
    around = float(np.sum(counts * (felt - centre) ** 2))
    inside = float(np.sum(counts * (table[HIGH] - table[LOW]) ** 2))
    size = float(np.abs(felt).max())
    require(abs(mean - centre) <= 1e-6 * size, "the mean is not that of the outcomes")
    require(abs(spread - around) <= 1e-6 * (around + size**2) + inside, "the spread is not that of the outcomes")


def generator_of(state: Any) -> np.random.Generator:
    """The random generator that a file describes; its state must come back as it was given."""
    require(isinstance(state, dict) and state.get("bit_generator") in GENERATORS, "the generator is unknown")
    bits: Any = getattr(np.random, state["bit_generator"])()
    given = {key: _arrays(value) for key, value in state.items()}
    bits.state = given
    require(plain(bits.state) == plain(given), "the generator's state cannot be")
    inner = state["state"]
    places = (inner.get("pos", 0), 624), (state.get("buffer_pos", 0), 4), (state.get("has_uint32", 0), 1)
    require(all(0 <= place <= most for place, most in places), "the generator's state cannot be")
    return np.random.Generator(bits)


def _arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _arrays(entry) for key, entry in value.items()}
    return (
        np.array([whole(entry, "the generator", 0, 2**64 - 1) for entry in value], np.uint64)
        if isinstance(value, list)
        else value
    )


def plain(state: Any) -> Any:
    """A generator's state as JSON has it."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state
