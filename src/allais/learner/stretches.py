"""An arm's outcomes in stretches, from the outside in: the table from which anybody's bounds are computed.

A stretch is what lies between two neighbouring outcomes. Nothing in the table is a person's own: where stretches end,
as told, and how many samples lie beyond. All arms stand one after the other, for formulas on whole arrays.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais.bands._tail_walks import STRIDE
from allais.learner.views import SharedTables, clock_of, finite_utilities
from allais.preferences import Preference
from allais.samples.cells import HIGH, LOW, RAW_HIGH, RAW_LOW, spread_out
from allais.samples.layout import cells_of_arm, outcomes_of_arm


class Stretches(NamedTuple):
    """The outcomes of an arm that are gains, or losses, in stretches from the outside in."""

    raw: FloatArray  # where a stretch ends, as told; it begins where the one before ended
    utility: FloatArray  # the same under the policy's own preference
    fewest: FloatArray  # samples that lie at or beyond its outer end
    counted: FloatArray  # samples that may lie beyond its inner end
    low: FloatArray  # bounds on the probability of what lies beyond; NaN where they are out of date
    high: FloatArray


class Side:
    """The gains (sign 1), or the losses (-1), of all arms, one after the other."""

    def __init__(self, sign: float, each: list[Stretches], outermost: FloatArray, pulls: IntArray) -> None:
        self.sign, self._outermost, self.pulls = sign, outermost, pulls
        self.sizes = np.array([one.raw.size for one in each])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.all = Stretches(*(np.concatenate(part) for part in zip(*each, strict=True)))

    def each(self) -> list[Stretches]:
        """The stretches of each arm, which are parts of these."""
        return [
            Stretches(*(part[i : i + n] for part in self.all)) for i, n in zip(self.starts, self.sizes, strict=True)
        ]

    def spread(self, of_arms: Any) -> Any:
        """A number of each arm, for each of its stretches."""
        return np.repeat(of_arms, self.sizes)

    def ends(self, preference: Preference, same: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Where stretches end and where they begin, as utilities; and up to where the probability is 1."""
        places = self.all.utility if same else finite_utilities(preference, self.all.raw)
        inner = np.maximum(self.sign * places, 0.0)
        outer = np.append(0.0, inner[:-1])
        outer[self.starts] = np.maximum(self.sign * finite_utilities(preference, self._outermost), 0.0)
        return inner, outer, inner[self.starts + self.sizes - 1]


class Division:
    """All arms in stretches: one per outcome, or one for outcomes whose counts are nearly alike."""

    def __init__(self, tables: SharedTables, strides: bool) -> None:
        self._tables, self._strides = tables, strides
        n_arms = tables.tops.size
        self._each: list[Any] = [None] * n_arms  # per arm the stretches of its gains and of its losses
        self.counted = np.full(n_arms, -1)
        self._time, self._exponent = 0, math.nan
        self.arms: IntArray = np.zeros(0, dtype=np.int64)  # those in play, and told about
        self.sides: tuple[Side, Side]

    def look(self) -> None:
        """Bring the stretches in line with what the learner knows."""
        tables, state = self._tables, self._tables.shared
        if (time := clock_of(state)) != self._time:
            self.counted[:], self._time = -1, time
        pulls = state.memory.pulls
        arms = np.flatnonzero(state.active & (pulls > 0))
        changed = arms[self.counted[arms] != pulls[arms]]
        if not changed.size and np.array_equal(arms, self.arms):
            return
        for arm in changed.tolist():
            self._each[arm] = self._divided(state.memory, arm)
        if arms.size:
            each, ends = [self._each[arm] for arm in arms.tolist()], (tables.tops[arms], tables.bottoms[arms])
            self.sides = (
                Side(1.0, [one[0] for one in each], ends[0], pulls[arms]),
                Side(-1.0, [one[1] for one in each], ends[1], pulls[arms]),
            )
            for arm, *both in zip(arms.tolist(), *(side.each() for side in self.sides), strict=True):
                self._each[arm] = both
        self.arms = arms
        self.counted[changed] = pulls[changed]

    def keep_bounds_at(self, exponent: float) -> None:
        """Let go of bounds on probabilities that are for another exponent."""
        if exponent != self._exponent:
            for one in [part for each in self._each if each is not None for part in each]:
                one.low[:] = one.high[:] = np.nan
            self._exponent = exponent

    def _divided(self, memory: Any, arm: int) -> tuple[Stretches, Stretches]:
        """An arm's gains and losses in stretches."""
        utility, raw, counts = outcomes_of_arm(memory, arm)
        places = [np.stack([raw, utility])] * 2  # of gains, and of losses
        in_cell = None
        if self._strides and memory.in_trees[arm]:
            table = spread_out(utility, raw, counts, cells_of_arm(memory, arm))
            in_cell = (table[HIGH] > table[LOW]) | (table[RAW_HIGH] > table[RAW_LOW])
            # the samples of a cell may lie anywhere in it
            least, most = (RAW_HIGH, RAW_LOW) if self._tables.policy.preference.costs else (RAW_LOW, RAW_HIGH)
            places = [table[[least, LOW]], table[[most, HIGH]]]
        split = int(np.searchsorted(utility, 0.0, side="right"))
        ends = np.array([self._tables.bottoms[arm], self._tables.tops[arm]])
        last = np.stack([ends, finite_utilities(self._tables.policy.preference, ends)])
        sides = []
        for k, side in enumerate((slice(None, split - 1 if split else None, -1), slice(split))):
            beyond, where = np.cumsum(counts[side]), places[k][:, side]
            reached, counted = beyond, beyond - counts[side]
            if in_cell is not None:
                at, reached, counted = _strides(beyond, in_cell[side], int(memory.pulls[arm]))
                where = where[:, at]
            raw_ends, own_ends = np.append(where, last[:, k : k + 1], axis=1)
            fewest, unknown = np.append(0.0, reached), np.full(raw_ends.size, np.nan)
            at_most = np.append(counted, float(beyond[-1:].sum()))
            sides.append(Stretches(raw_ends, own_ends, fewest, at_most, unknown, unknown.copy()))
        return sides[0], sides[1]


def _strides(beyond: IntArray, in_cell: NDArray[np.bool_], pulls: int) -> tuple[IntArray, IntArray, IntArray]:
    """The steps of `walk_strides`: which outcomes, and how many samples lie at or beyond, and may lie beyond, each."""
    total, cells = int(beyond[-1:].sum()), in_cell.any()
    ends = beyond.tolist() if cells else []
    ranks, rank = [], 0
    while rank < total:
        rank = min(rank + max(1, int(STRIDE * math.sqrt(rank * (pulls - rank) / pulls))), total)
        if cells and in_cell[i := bisect_left(ends, rank)]:  # its samples may all lie at its outer end
            rank = ends[i]
        ranks.append(rank)
    reached = np.array(ranks, dtype=np.int64)
    at = np.searchsorted(beyond, reached)
    return at, reached, np.where(in_cell[at], reached, reached - 1)
