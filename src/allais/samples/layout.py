"""How memories are laid out in arrays: with more room, in trees or in cells, from a list of outcomes, with new arms."""

from __future__ import annotations

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.samples.cells import FILLED, gathered, widest_reach
from allais.samples.memory import FLAT, VALUE_SLACK, Memory, empty_memory, is_crowded, moments
from allais.samples.tree import has_room, with_outcomes
from allais.samples.tree_search import outcomes_of
from allais.samples.trees import cleared, grown_trees, with_trees


def grown(memory: Memory, arm: int) -> Memory:
    """The memory with room for another outcome of an arm that `is_full`."""
    if is_crowded(memory, arm):
        return _without_gaps(memory, arm) if _has_gaps(memory, arm) else _in_cells(memory, arm)
    if memory.in_trees[arm]:
        return memory._replace(trees=grown_trees(memory.trees))
    if memory.felt.shape[1] < FLAT:
        wider = [np.concatenate([part, np.zeros_like(part)], axis=1) for part in memory[:3]]
        return memory._replace(felt=wider[0], raw=wider[1], counts=wider[2])
    outcomes = outcomes_of_arm(memory, arm)
    memory.mean[arm], memory.spread[arm] = moments(memory, arm)
    memory.sizes[arm] = 0
    return _moved(memory, arm, *outcomes)


def _moved(memory: Memory, arm: int, felt: FloatArray, raw: FloatArray, counts: IntArray) -> Memory:
    """The memory with an arm's outcomes in its trees."""
    memory.in_trees[arm] = True
    trees = with_outcomes(memory.trees, 2 * arm, felt, raw, counts)
    while not has_room(trees):
        trees = grown_trees(trees)
    return memory._replace(trees=trees)


def _has_gaps(memory: Memory, arm: int) -> bool:
    """Whether at least half of an arm's distinct outcomes are no longer remembered, and none is in a cell."""
    cells = memory.cell_range[arm, 1] > memory.cell_range[arm, 0]
    return not cells and 2 * outcomes_of_arm(memory, arm)[2].size <= memory.limit[0]


def _without_gaps(memory: Memory, arm: int) -> Memory:
    """The memory with an arm's trees made anew, from what is still remembered; so are its moments."""
    felt, raw, counts = outcomes_of_arm(memory, arm)
    memory.mean[arm] = np.average(felt, weights=counts) if counts.size else 0.0
    memory.spread[arm] = np.sum(counts * (felt - memory.mean[arm]) ** 2)
    return _moved(memory._replace(trees=cleared(memory.trees, 2 * arm)), arm, felt, raw, counts)


def _in_cells(memory: Memory, arm: int) -> Memory:
    """The memory with neighbouring outcomes of an arm in cells."""
    tables = [cells_of_arm(memory, k) for k in range(memory.pulls.size)]
    most = int(FILLED * memory.limit[0])
    felt, raw, counts, tables[arm] = gathered(*outcomes_of_arm(memory, arm), tables[arm], most)
    memory = memory._replace(trees=cleared(memory.trees, 2 * arm))
    return _with_cells(_moved(memory, arm, felt, raw, counts), tables)


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
    """The same memory as a file will lay it out, so that learner and file go on alike to the last bit."""
    arms = range(memory.pulls.size)
    outcomes, tables = [outcomes_of_arm(memory, arm) for arm in arms], [cells_of_arm(memory, arm) for arm in arms]
    return remembered(outcomes, memory.mean, memory.spread, tables)._replace(limit=memory.limit)


def outcomes_of_arm(memory: Memory, arm: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """An arm's distinct outcomes, ascending as felt: felt, in the user's units, and how often each was seen."""
    if not memory.in_trees[arm]:
        size = int(memory.sizes[arm])
        parts = (memory.felt[arm, :size], memory.raw[arm, :size], memory.counts[arm, :size])
        return parts[0].copy(), parts[1].copy(), parts[2].copy()
    gains, losses = outcomes_of(memory.trees, 2 * arm), outcomes_of(memory.trees, 2 * arm + 1)
    felt = np.concatenate([0.0 - losses[0][::-1], gains[0]])
    raw, counts = (np.concatenate([losses[i][::-1], gains[i]]) for i in (1, 2))
    return felt, raw, counts


def remembered(
    outcomes: list[tuple[FloatArray, FloatArray, IntArray]],
    mean: FloatArray,
    spread: FloatArray,
    tables: list[FloatArray] | None = None,
) -> Memory:
    """A memory made from each arm's outcomes, in the order of `outcomes_of_arm`, with their moments and cells.

    It depends on the outcomes only, not on the order in which they came: two learners that remember the same outcomes
    go on alike to the last bit.
    """
    memory = empty_memory(len(outcomes))._replace(mean=mean.copy(), spread=spread.copy())
    for arm, (felt, raw, counts) in enumerate(outcomes):
        memory.pulls[arm] = counts.sum()
        if counts.size > FLAT or (tables is not None and tables[arm].size):
            memory = _moved(memory, arm, felt, raw, counts)
            continue
        while memory.felt.shape[1] < counts.size:
            memory = grown(memory, arm)
        memory.felt[arm, : counts.size], memory.raw[arm, : counts.size] = felt, raw
        memory.counts[arm, : counts.size], memory.sizes[arm] = counts, counts.size
    return memory if tables is None else _with_cells(memory, tables)


def with_arms(memory: Memory, n_arms: int) -> Memory:
    """The memory with new arms after those it has."""
    more = empty_memory(n_arms - memory.pulls.size, memory.felt.shape[1])
    names = [name for name in Memory._fields if name not in ("trees", "cells", "limit")]
    joined = {name: np.concatenate([getattr(memory, name), getattr(more, name)]) for name in names}
    return memory._replace(**joined, trees=with_trees(memory.trees, 2 * n_arms))
