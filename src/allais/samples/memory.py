"""An arm's memory: what was seen of it, and what that is worth.

Policies touch it through `insert`, `remove`, `measure` and the bands only, so that a better memory
changes no policy. An arm with few distinct outcomes keeps them sorted with their counts, and a value
costs as many weights as there are. Beyond FLAT of them its outcomes move to two trees, one of gains
and one of mirrored losses, and a value costs O(log n) (`samples/tree_value.py`). Beyond a limit, neighbours
share cells, so that the memory of an arm is bounded (`samples/cells.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel
from allais.numerics.distortion import Distortion
from allais.numerics.table import weigh
from allais.samples.cells import (
    AT,
    FILLED,
    LIMIT,
    RAW,
    RAW_HIGH,
    RAW_LOW,
    SUM,
    cell_of_outcome,
    gathered,
    no_cells,
    widest_reach,
)
from allais.samples.tree import has_room, insert_outcome, outcomes_of, remove_outcome, with_outcomes
from allais.samples.tree_value import tree_value
from allais.samples.trees import DISTINCT, Trees, cleared, grown_trees, new_trees, with_trees

FIRST_CAPACITY = 8  # distinct outcomes of an arm before its memory grows
FLAT = 128  # distinct outcomes of an arm before they move to trees
NEVER = np.iinfo(np.int64).max  # the limit of a memory that stays exact


class Memory(NamedTuple):
    """The arms' outcomes, as felt (gains and losses from the reference) and as told."""

    felt: FloatArray  # distinct, ascending; (n_arms, capacity)
    raw: FloatArray  # the same outcomes in the user's units
    counts: IntArray  # how often each was seen
    sizes: IntArray  # how many are distinct, (n_arms,); 0 for an arm in the trees
    pulls: IntArray  # T_k: how many were told
    value: FloatArray  # mu-hat_k, by `measure`
    mean: FloatArray  # of what was felt, for an arm in the trees
    spread: FloatArray  # sum of squares around that mean
    in_trees: Any  # whether an arm's outcomes have moved to its trees, 2k and 2k + 1; (n_arms,)
    trees: Trees
    cells: FloatArray  # what lies in cells, a table for all arms (`samples/cells.py`)
    cell_range: IntArray  # the first cell of each arm, and the first that is no longer its own; (n_arms, 2)
    slack: FloatArray  # how far cells may move an arm's gains, its losses and its value; (n_arms, 3)
    limit: IntArray  # distinct outcomes of an arm before neighbours share cells, (1,)


GAIN_SLACK, LOSS_SLACK, VALUE_SLACK = 0, 1, 2  # columns of `slack`


class Worth(NamedTuple):
    """How an arm's value is computed from its memory."""

    gains: Distortion
    losses: Distortion
    edge: FloatArray  # m of the truncation at m + sigma sqrt(log n); inf where rewards are bounded
    edge_scale: FloatArray  # sigma, (n_arms,)
    of_mean: bool  # the WE heuristic: w(mean), right for Bernoulli rewards only
    undistorted: bool  # both weights are the identity, so that the value is the mean


def empty_memory(n_arms: int, capacity: int = FIRST_CAPACITY) -> Memory:
    """The memory of arms that were never pulled."""
    shape = (n_arms, capacity)
    return Memory(
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int64),
        np.zeros(n_arms, dtype=np.int64),
        np.zeros(n_arms, dtype=np.int64),
        np.full(n_arms, -np.inf),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(n_arms, dtype=np.bool_),
        new_trees(2 * n_arms, leaves=0),
        no_cells(),
        np.zeros((n_arms, 2), dtype=np.int64),
        np.zeros((n_arms, 3)),
        np.array([LIMIT]),
    )


def grown(memory: Memory, arm: int) -> Memory:
    """The memory with room for another outcome of an arm that `is_full`."""
    if is_crowded(memory, arm):
        return _in_cells(memory, arm)
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
    """A memory of the given outcomes of each arm, in the order of `outcomes_of_arm`, their moments and cells.

    It depends on the outcomes only, not on the order they came in: two learners that remember the
    same go on alike to the last bit.
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


@kernel
def is_crowded(memory, arm):
    """Whether an arm has as many distinct outcomes as it may have: a matter of what was seen, not of room."""
    if not memory.in_trees[arm]:
        return False
    distinct = memory.trees.heads[2 * arm, DISTINCT] + memory.trees.heads[2 * arm + 1, DISTINCT]
    return distinct >= memory.limit[0]


@kernel
def is_full(memory, arm):
    """Whether the next new outcome of an arm needs `grown` first."""
    if memory.in_trees[arm]:
        return not has_room(memory.trees) or is_crowded(memory, arm)
    return memory.sizes[arm] == memory.felt.shape[1]


@kernel
def position(memory, arm, felt, raw):
    """Where an outcome stands, or would stand, among an arm's distinct ones.

    Two outcomes may feel alike, where a utility is flat; they are told apart by what was told.
    """
    low, high = 0, memory.sizes[arm]
    while low < high:
        middle = (low + high) // 2
        other = memory.felt[arm, middle]
        if other < felt or (other == felt and memory.raw[arm, middle] < raw):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def insert(memory, arm, felt, raw):
    """Add one outcome; the caller has made sure that there is room."""
    memory.pulls[arm] += 1
    if memory.in_trees[arm]:
        step = felt - memory.mean[arm]  # Welford's update
        memory.mean[arm] += step / memory.pulls[arm]
        memory.spread[arm] += step * (felt - memory.mean[arm])
        cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], felt)
        if cell >= 0:
            memory.cells[SUM, cell] += felt
            memory.cells[RAW_LOW, cell] = min(memory.cells[RAW_LOW, cell], raw)
            memory.cells[RAW_HIGH, cell] = max(memory.cells[RAW_HIGH, cell], raw)
            felt, raw = memory.cells[AT, cell], memory.cells[RAW, cell]
        insert_outcome(memory.trees, 2 * arm + (felt <= 0.0), abs(felt), raw, 1)
        return
    at = position(memory, arm, felt, raw)
    size = memory.sizes[arm]
    if at < size and memory.felt[arm, at] == felt and memory.raw[arm, at] == raw:
        memory.counts[arm, at] += 1
        return
    for i in range(size, at, -1):
        memory.felt[arm, i] = memory.felt[arm, i - 1]
        memory.raw[arm, i] = memory.raw[arm, i - 1]
        memory.counts[arm, i] = memory.counts[arm, i - 1]
    memory.felt[arm, at] = felt
    memory.raw[arm, at] = raw
    memory.counts[arm, at] = 1
    memory.sizes[arm] = size + 1


@kernel
def remove(memory, arm, felt, raw):
    """Take one outcome back; False if it was never seen.

    In a cell, any outcome between its ends is taken for one that was seen while it has a sample left.
    """
    at = position(memory, arm, felt, raw)
    size = memory.sizes[arm]
    if memory.in_trees[arm]:
        cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], felt)
        place = felt if cell < 0 else memory.cells[AT, cell]
        told = raw if cell < 0 else memory.cells[RAW, cell]
        if not remove_outcome(memory.trees, 2 * arm + (place <= 0.0), abs(place), told):
            return False
        if cell >= 0:
            memory.cells[SUM, cell] -= felt
    elif at == size or memory.felt[arm, at] != felt or memory.raw[arm, at] != raw:
        return False
    memory.pulls[arm] -= 1
    if memory.in_trees[arm]:
        step = felt - memory.mean[arm]  # Welford's update, backwards
        memory.mean[arm] -= step / memory.pulls[arm] if memory.pulls[arm] > 0 else memory.mean[arm]
        memory.spread[arm] = max(memory.spread[arm] - step * (felt - memory.mean[arm]), 0.0)
        return True
    memory.counts[arm, at] -= 1
    if memory.counts[arm, at] == 0:
        for i in range(at, size - 1):
            memory.felt[arm, i] = memory.felt[arm, i + 1]
            memory.raw[arm, i] = memory.raw[arm, i + 1]
            memory.counts[arm, i] = memory.counts[arm, i + 1]
        memory.sizes[arm] = size - 1
    return True


@kernel
def moments(memory, arm):
    """The mean of an arm's outcomes as felt, and the sum of squares around it."""
    if memory.in_trees[arm]:
        return memory.mean[arm], memory.spread[arm]
    total = 0.0
    for i in range(memory.sizes[arm]):
        total += memory.counts[arm, i] * memory.felt[arm, i]
    mean = total / memory.pulls[arm]
    spread = 0.0
    for i in range(memory.sizes[arm]):
        spread += memory.counts[arm, i] * (memory.felt[arm, i] - mean) ** 2
    return mean, spread


@kernel
def measure(worth, memory, arm):
    """Set an arm's value from its memory: Algorithm 1, truncated where rewards are unbounded."""
    pulls = memory.pulls[arm]
    size = memory.sizes[arm]
    if pulls == 0:
        memory.value[arm] = -np.inf
        return
    if worth.of_mean:
        memory.value[arm] = weigh(worth.gains.table, moments(memory, arm)[0])
        return
    if worth.undistorted and worth.edge_scale[arm] == 0.0:
        memory.value[arm] = moments(memory, arm)[0]
        return
    edge = np.inf
    if worth.edge_scale[arm] > 0.0:
        edge = worth.edge[arm] + worth.edge_scale[arm] * np.sqrt(np.log(pulls))  # M_n, Proposition 1
    if memory.in_trees[arm]:
        gain = tree_value(memory.trees, 2 * arm, worth.gains, pulls, 0.0, edge)
        loss = tree_value(memory.trees, 2 * arm + 1, worth.losses, pulls, 0.0, edge)
        memory.value[arm] = gain - loss
        memory.slack[arm, VALUE_SLACK] = memory.slack[arm, GAIN_SLACK] + memory.slack[arm, LOSS_SLACK]
        return
    value = 0.0
    above = 0  # outcomes at or above the current one
    i = size - 1
    while i >= 0 and memory.felt[arm, i] > 0.0:
        above += memory.counts[arm, i]
        lower = memory.felt[arm, i - 1] if i > 0 else 0.0
        step = min(memory.felt[arm, i], edge) - min(max(lower, 0.0), edge)
        if step > 0.0:
            value += step * weigh(worth.gains.table, above / pulls)
        i -= 1
    below = 0  # losses accumulate from the bottom: w- sees P(X <= z)
    i = 0
    while i < size and memory.felt[arm, i] < 0.0:
        below += memory.counts[arm, i]
        upper = memory.felt[arm, i + 1] if i + 1 < size else 0.0
        step = max(min(upper, 0.0), -edge) - max(memory.felt[arm, i], -edge)
        if step > 0.0:
            value -= step * weigh(worth.losses.table, below / pulls)
        i += 1
    memory.value[arm] = value


@kernel
def pick(scores, eligible, asked, u):
    """The eligible arm with the highest score: ties go to the fewest asks, then by the draw u.

    A tie is equality to 1e-12, relative, since values come from tables; -1 if none is eligible.
    """
    best, second = -np.inf, -np.inf
    leader = -1
    for arm in range(scores.size):
        if eligible[arm]:
            if leader < 0 or scores[arm] > best:
                second = best if leader >= 0 else second
                best, leader = scores[arm], arm
            else:
                second = max(second, scores[arm])
    level = best - 1e-12 * abs(best) if np.isfinite(best) else best
    if leader < 0 or second < level:
        return leader
    fewest = -1
    ties = 0
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level:
            if fewest < 0 or asked[arm] < fewest:
                fewest, ties = asked[arm], 0
            ties += asked[arm] == fewest
    skip = min(int(u * ties), ties - 1)
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level and asked[arm] == fewest:
            if skip == 0:
                return arm
            skip -= 1
    return leader
