"""Location tables: the value of (location + noise) under any preference, read by compiled code in nanoseconds.

A location is counted in gains from the reference, so that it rises with what is better, costs included. A table
belongs to a noise of unit spread; where the utility is a power of degree alpha, noise of spread s has the value
s^alpha g(location / s), so that arms of all lengths share one table.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel
from allais.errors import DominanceWarning
from allais.linear.noise import NoiseOfArms
from allais.lotteries import Lottery
from allais.lotteries.combined import moved
from allais.numerics.chebyshev import (
    CENTRE,
    FIRST_POWER,
    SCALE,
    START,
    Distribution,
    LocationTable,
    basis,
    cells_of,
    halved_until,
    location_table,
)
from allais.preferences import PowerUtility, Preference
from allais.weights import Identity, Weight

TERMS = 14  # of a cell: one more than the tables of `numerics/chebyshev.py` have, after integration
FARTHEST = 2.0**14  # with a utility, tables end at this many spreads
PRECISION = 1e-11  # what a cell with a utility may leave out
HALVINGS = 12  # of a cell; what is left then is the quadrature's own noise
AT_CORNERS = 48  # halvings of a cell that ends where losses turn to gains, where a power utility is steep

REACH, BINS, FINE = 8.0, 512, 8  # of the bins; a grid of FINE points in each bounds what lies between


@by_reference
class Locations(NamedTuple):
    """The tables of all arms, and what leads from an arm to its value."""

    cells: FloatArray  # of all tables, one after the other; (cells, FIRST_POWER + TERMS)
    first: IntArray  # where each table starts, and the end; (tables + 1,)
    table: IntArray  # the table of an arm, (n_arms,)
    per_spread: FloatArray  # 1 / s, (n_arms,)
    worth: FloatArray  # s^alpha, (n_arms,)
    # for t in each bin, and beyond: the most by which g(t) exceeds t; infinite with a utility; (tables, BINS + 2)
    excess: FloatArray
    hint: IntArray  # for t in each bin, and beyond: the last cell that starts at or before it; (tables, BINS + 2)
    plain: bool  # the value is the location itself: no distortion, no utility


def locations_of(preference: Preference, noise: NoiseOfArms) -> Locations:
    """The tables of a preference for the noise of arms."""
    sign = -1.0 if preference.costs else 1.0
    utility: Any = preference.utility
    degree = 1.0 if utility is None else utility.alpha if isinstance(utility, PowerUtility) else None
    n_arms = noise.shape.size
    if degree is not None:
        shapes = [moved(shape, scale=sign) for shape in noise.shapes]
        index, spread = noise.shape, noise.spread
        worth = spread**degree
    else:  # no table serves two spreads
        pairs = list(zip(noise.shape.tolist(), noise.spread.tolist(), strict=True))
        distinct = sorted(set(pairs))
        shapes = [moved(noise.shapes[k], scale=sign * s) for k, s in distinct]
        index = np.array([distinct.index(pair) for pair in pairs])
        spread, worth = np.ones(n_arms), np.ones(n_arms)
    tables = [_table(preference.gains, preference.losses, utility, shape) for shape in shapes]
    cells, excess, hints = zip(*tables, strict=True)
    first = np.cumsum([0, *map(len, cells)])
    return Locations(
        np.concatenate(cells),
        first,
        index.astype(np.int64),
        1.0 / spread,
        worth.copy(),
        np.array(excess),
        np.array(hints) + first[:-1, None],
        utility is None and isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity),
    )


Table = tuple[FloatArray, FloatArray, IntArray]  # cells, excess and hints


def _with_hints(cells: FloatArray, excess: FloatArray | None) -> Table:
    edges = np.concatenate([[-np.inf], np.linspace(-REACH, REACH, BINS + 1)])
    hint = np.searchsorted(cells[:, START], edges, side="right") - 1
    return cells, np.full(BINS + 2, np.inf) if excess is None else excess, hint


# tables have some 20 kB each; a network may have hundreds of routes with a distribution of their own
@lru_cache(maxsize=1024)
def _table(gains: Weight, losses: Weight, utility: Any, shape: Lottery) -> Table:
    if utility is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DominanceWarning)  # the user's own preference has warned
            return _with_hints(_adaptive(Preference(gains, losses, utility), shape), None)
    try:
        up = location_table(gains, _distribution(shape))
        down = location_table(losses, _distribution(moved(shape, scale=-1.0)))
    except ValueError:
        raise ValueError(_infinite(gains, shape)) from None
    breaks = np.unique(np.concatenate([up.bounded.breaks, -down.bounded.breaks]))
    polynomials = basis(TERMS)
    at = polynomials.nodes_in(breaks[:-1], breaks[1:])
    series = polynomials.series(lambda t: _excess(up, down, t) + t, at)
    cells = _with_ends(breaks, series @ polynomials.to_powers, derivative=1.0)
    # the derivative of g lies between 0 and 2, so that between two points of a grid the excess is at most half a step
    # above the larger of the two
    grid = np.linspace(-REACH, REACH, FINE * BINS + 1)
    seen = _excess(up, down, grid)
    half_step = REACH / (FINE * BINS)
    inside = np.array([seen[FINE * k : FINE * k + FINE + 1].max() for k in range(BINS)]) + half_step
    ends = np.concatenate([breaks[[0, -1]], breaks[np.abs(breaks) > REACH], at[np.abs(at) > REACH]])
    beyond = max(float(_excess(up, down, ends).max()), seen[0], seen[-1]) + 1e-9
    return _with_hints(cells, np.concatenate([[beyond], inside, [beyond]]))


def _infinite(weight: Weight, shape: Lottery) -> str:
    return (
        f"a linear policy needs noise of finite value; that of {shape!r} under {weight!r} is infinite. "
        "Bound its tails, or use a weight that is less steep at 0."
    )


def _excess(up: LocationTable, down: LocationTable, t: FloatArray) -> FloatArray:
    """g(t) - t."""
    return up(t) - down(-t) - t


def _distribution(lottery: Lottery) -> Distribution:
    return Distribution(lottery.log_survival, lottery.log_cdf, lottery.quantile, lottery.landmarks(), lottery.support)


def _adaptive(preference: Preference, shape: Lottery) -> FloatArray:
    """Cells of g for any utility, each value by quadrature, halved until what a cell leaves out is negligible."""
    finite = shape.as_finite()
    corners = -(shape.landmarks() if finite is None else finite.outcomes)
    size = max(1.0, float(np.abs(corners).max()))
    doublings = size * 2.0 ** np.arange(1.0, np.log2(FARTHEST / size) + 1.0)
    edges = np.unique(np.concatenate([-doublings, doublings, corners, [0.0]]))
    polynomials = basis(TERMS)

    def values(places: FloatArray) -> FloatArray:
        seen = np.array([preference.parts(moved(shape, shift=t)).value for t in places.tolist()])
        if not np.isfinite(seen).all():
            raise ValueError(_infinite(preference.gains, shape))
        return seen

    def fitted(low: FloatArray, high: FloatArray, halvings: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        series = polynomials.series(values, polynomials.nodes_in(low, high))
        left_out = np.abs(series[:, -2:]).max(axis=1)
        done = left_out <= PRECISION * np.maximum(1.0, np.abs(series).max(axis=1))
        done |= (halvings >= HALVINGS) & ~(np.isin(low, corners) | np.isin(high, corners))
        return series, done

    starts, ends, series = halved_until(fitted, edges[:-1], edges[1:], AT_CORNERS)
    return _with_ends(np.append(starts, ends[-1]), series @ polynomials.to_powers)


def _with_ends(breaks: FloatArray, powers: FloatArray, derivative: float | None = None) -> FloatArray:
    """Cells as compiled code reads them, with a straight line beyond either end, by default the tangent."""
    half = 0.5 * np.diff(breaks)
    derivatives = powers[:, 1:] * np.arange(1.0, TERMS)
    ends = []
    for row, s, x in ((0, -1.0, breaks[0]), (-1, 1.0, breaks[-1])):
        line = np.zeros(FIRST_POWER + TERMS)
        line[START] = -np.inf if row == 0 else x
        line[CENTRE], line[SCALE] = x, 1.0
        line[FIRST_POWER] = powers[row] @ s ** np.arange(TERMS)
        tangent = derivatives[row] @ s ** np.arange(TERMS - 1) / half[row]
        line[FIRST_POWER + 1] = tangent if derivative is None else derivative
        ends.append(line)
    return np.concatenate([ends[0][None], cells_of(breaks, powers), ends[1][None]])


@kernel
def _bin(t):
    place = (t + REACH) * (BINS / (2.0 * REACH)) + 1.0
    return int(min(place, BINS + 1.0)) if place > 0.0 else 0  # 0 also for NaN, which no table holds


@kernel
def ceiling_at(locations, arm, location):
    """A bound on `value_at` that costs next to nothing; infinite with a utility."""
    if locations.plain:
        return location
    t = location * locations.per_spread[arm]
    return location + locations.worth[arm] * locations.excess[locations.table[arm], _bin(t)]


@kernel
def value_at(locations, arm, location):
    """The value of an arm whose location, a gain from the reference, is given."""
    if locations.plain:
        return location
    t = location * locations.per_spread[arm]
    table = locations.table[arm]
    bin_ = _bin(t)
    low = locations.hint[table, bin_]
    high = locations.hint[table, bin_ + 1] if bin_ <= BINS else locations.first[table + 1] - 1
    while low < high:  # the last cell that starts at or before t
        middle = (low + high + 1) // 2
        if locations.cells[middle, START] <= t:
            low = middle
        else:
            high = middle - 1
    cell = locations.cells[low]
    s = (t - cell[CENTRE]) * cell[SCALE]
    t = s * s
    even = (((((cell[15] * t + cell[13]) * t + cell[11]) * t + cell[9]) * t + cell[7]) * t + cell[5]) * t + cell[3]
    odd = (((((cell[16] * t + cell[14]) * t + cell[12]) * t + cell[10]) * t + cell[8]) * t + cell[6]) * t + cell[4]
    return locations.worth[arm] * (even + s * odd)
