"""How memories are laid out in arrays: with more room, in trees or in cells, from a list of outcomes, with new arms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais.files import LARGEST_COUNT, require
from allais.preferences import Preference
from allais.samples.cells import AT, FILLED, HIGH, LOW, RAW, RAW_HIGH, RAW_LOW, SUM, gathered, widest_reach
from allais.samples.memory import FLAT, VALUE_SLACK, Memory, empty_memory, is_crowded, moments
from allais.samples.tree import has_room, with_outcomes
from allais.samples.trees import cleared, grown_trees, outcomes_of, with_trees


def grown(memory: Memory, arm: int) -> Memory:
    """The memory with room for another outcome of an arm that `is_full`."""
    if is_crowded(memory, arm):
        return _without_gaps(memory, arm) if _has_gaps(memory, arm) else _in_cells(memory, arm)
    if memory.in_trees[arm]:
        return memory._replace(trees=grown_trees(memory.trees))
    if memory.utility.shape[1] < FLAT:
        wider = [np.concatenate([part, np.zeros_like(part)], axis=1) for part in memory[:3]]
        return memory._replace(utility=wider[0], raw=wider[1], counts=wider[2])
    outcomes = outcomes_of_arm(memory, arm)
    memory.mean[arm], memory.spread[arm] = moments(memory, arm)
    memory.sizes[arm] = 0
    return _moved(memory, arm, *outcomes)


def _moved(memory: Memory, arm: int, utility: FloatArray, raw: FloatArray, counts: IntArray) -> Memory:
    """The memory with an arm's outcomes in its trees."""
    memory.in_trees[arm] = True
    trees = with_outcomes(memory.trees, 2 * arm, utility, raw, counts)
    while not has_room(trees):
        trees = grown_trees(trees)
    return memory._replace(trees=trees)


def _has_gaps(memory: Memory, arm: int) -> bool:
    """Whether at least half of an arm's distinct outcomes are no longer remembered, and none is in a cell."""
    cells = memory.cell_range[arm, 1] > memory.cell_range[arm, 0]
    return not cells and 2 * outcomes_of_arm(memory, arm)[2].size <= memory.limit[0]


def _without_gaps(memory: Memory, arm: int) -> Memory:
    """The memory with an arm's trees made anew, from what is still remembered; so are its moments."""
    utility, raw, counts = outcomes_of_arm(memory, arm)
    memory.mean[arm] = np.average(utility, weights=counts) if counts.size else 0.0
    memory.spread[arm] = np.sum(counts * (utility - memory.mean[arm]) ** 2)
    return _moved(memory._replace(trees=cleared(memory.trees, 2 * arm)), arm, utility, raw, counts)


def _in_cells(memory: Memory, arm: int) -> Memory:
    """The memory with neighbouring outcomes of an arm in cells."""
    tables = [cells_of_arm(memory, k) for k in range(memory.pulls.size)]
    most = int(FILLED * memory.limit[0])
    utility, raw, counts, tables[arm] = gathered(*outcomes_of_arm(memory, arm), tables[arm], most)
    memory = memory._replace(trees=cleared(memory.trees, 2 * arm))
    return _with_cells(_moved(memory, arm, utility, raw, counts), tables)


def _with_cells(memory: Memory, tables: list[FloatArray]) -> Memory:
    """The memory with a table of cells for each arm."""
    ends = np.cumsum([table.shape[1] for table in tables])
    memory.cell_range[:, 0], memory.cell_range[:, 1] = np.append(0, ends[:-1]), ends
    memory.slack[:, :VALUE_SLACK] = [widest_reach(table) for table in tables]
    return memory._replace(cells=np.concatenate(tables, axis=1))


def cells_of_arm(memory: Memory, arm: int) -> FloatArray:
    """The table of an arm's cells."""
    first, last = memory.cell_range[arm]
    return memory.cells[:, first:last].copy()


def laid_out(memory: Memory) -> Memory:
    """The same memory as a file will lay it out, so that learner and file continue identically to the last bit."""
    arms = range(memory.pulls.size)
    outcomes, tables = [outcomes_of_arm(memory, arm) for arm in arms], [cells_of_arm(memory, arm) for arm in arms]
    return remembered(outcomes, memory.mean, memory.spread, tables)._replace(limit=memory.limit)


def outcomes_of_arm(memory: Memory, arm: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """An arm's distinct outcomes, ascending by utility: utilities, in the user's units, and how often each was seen."""
    if not memory.in_trees[arm]:
        size = int(memory.sizes[arm])
        parts = (memory.utility[arm, :size], memory.raw[arm, :size], memory.counts[arm, :size])
        return parts[0].copy(), parts[1].copy(), parts[2].copy()
    gains, losses = outcomes_of(memory.trees, 2 * arm), outcomes_of(memory.trees, 2 * arm + 1)
    utility = np.concatenate([0.0 - losses[0][::-1], gains[0]])
    raw, counts = (np.concatenate([losses[i][::-1], gains[i]]) for i in (1, 2))
    return utility, raw, counts


def remembered(
    outcomes: list[tuple[FloatArray, FloatArray, IntArray]],
    mean: FloatArray,
    spread: FloatArray,
    tables: list[FloatArray] | None = None,
) -> Memory:
    """A memory made from each arm's outcomes, in the order of `outcomes_of_arm`, with their moments and cells.

    It depends on the outcomes only, not on the order in which they came: two learners that remember the same outcomes
    continue identically to the last bit.
    """
    memory = empty_memory(len(outcomes))._replace(mean=mean.copy(), spread=spread.copy())
    for arm, (utility, raw, counts) in enumerate(outcomes):
        memory.pulls[arm] = counts.sum()
        if counts.size > FLAT or (tables is not None and tables[arm].size):
            memory = _moved(memory, arm, utility, raw, counts)
            continue
        while memory.utility.shape[1] < counts.size:
            memory = grown(memory, arm)
        memory.utility[arm, : counts.size], memory.raw[arm, : counts.size] = utility, raw
        memory.counts[arm, : counts.size], memory.sizes[arm] = counts, counts.size
    return memory if tables is None else _with_cells(memory, tables)


def with_arms(memory: Memory, n_arms: int) -> Memory:
    """The memory with new arms after those it has."""
    more = empty_memory(n_arms - memory.pulls.size, memory.utility.shape[1])
    names = [name for name in Memory._fields if name not in ("trees", "cells", "limit")]
    joined = {name: np.concatenate([getattr(memory, name), getattr(more, name)]) for name in names}
    return memory._replace(**joined, trees=with_trees(memory.trees, 2 * n_arms))


def check_outcomes(
    utility: FloatArray,
    raw: FloatArray,
    counts: IntArray,
    preference: Preference,
    single: NDArray[np.bool_] | slice = slice(None),
) -> None:
    """Refuse outcomes that do not ascend by utility, then as told; utilities of `single` ones are the preference's."""
    require(utility.ndim == raw.ndim == counts.ndim == 1, "outcomes must be in one row")
    require(utility.size == raw.size == counts.size, "there must be as many outcomes as counts")
    require(np.isfinite(utility).all() and np.isfinite(raw).all(), "an outcome is not finite")
    require((counts > 0).all() and counts.sum(dtype=np.float64) < LARGEST_COUNT, "a count is impossible")
    # version 0.1.0 could list an outcome twice, where a utility is flat
    rising = (np.diff(utility) > 0.0) | ((np.diff(utility) == 0.0) & (np.diff(raw) >= 0.0))
    require(rising.all(), "outcomes must ascend")
    # to rounding only: another machine's power function may differ in its last bit
    expected = preference.utilities(raw[single])
    close = np.abs(utility[single] - expected) <= _rounding(expected, utility[single])
    require(close.all(), "an outcome's utility is not the preference's")


def _rounding(expected: FloatArray, utility: FloatArray) -> FloatArray:
    return 1e-9 * np.abs(expected) + 1e-12 * np.abs(utility).max(initial=0.0)


def check_cells(utility: FloatArray, raw: FloatArray, cells: FloatArray, preference: Preference) -> NDArray[np.bool_]:
    """Refuse cells that overlap, or hold an outcome besides their own; return which outcomes are in no cell."""
    if not cells.size:
        return np.ones(utility.size, dtype=np.bool_)
    low, high, at = cells[LOW], cells[HIGH], cells[AT]
    require((low <= at).all() and (at <= high).all() and (low[1:] > high[:-1]).all(), "cells must ascend")
    require(((low > 0.0) | (high < 0.0) | (low == high)).all(), "a cell cannot hold gains and losses")
    told_in_order = (cells[RAW_LOW] <= cells[RAW]) & (cells[RAW] <= cells[RAW_HIGH])
    require(told_in_order.all(), "a cell's outcome must lie between its ends")
    for ends in (preference.utilities(cells[RAW_LOW]), preference.utilities(cells[RAW_HIGH])):
        slack = _rounding(ends, cells[:AT].ravel())
        require(((low - slack <= ends) & (ends <= high + slack)).all(), "a cell's utilities are not the preference's")
    where = np.searchsorted(low, utility, side="right") - 1
    single = (where < 0) | (utility > high[where])
    stands = (utility == at[where]) & (raw == cells[RAW, where])
    require((single | stands).all(), "an outcome lies inside a cell")
    return single


def check_moments(table: FloatArray, counts: IntArray, mean: float, spread: float) -> None:
    """Refuse a mean or a spread that is not that of utilities, to rounding and to what cells hide."""
    utility = table[SUM] / counts
    centre = float(np.average(utility, weights=counts))
    around = float(np.sum(counts * (utility - centre) ** 2))
    inside = float(np.sum(counts * (table[HIGH] - table[LOW]) ** 2))
    size = float(np.abs(utility).max())
    require(abs(mean - centre) <= 1e-6 * size, "the mean is not that of the outcomes")
    require(abs(spread - around) <= 1e-6 * (around + size**2) + inside, "the spread is not that of the outcomes")
