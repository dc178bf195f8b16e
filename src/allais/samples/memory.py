"""An arm's memory: what was seen of it.

Policies touch it through `insert`, `remove`, `measure` and the bands only, so that a better memory
changes no policy. An arm with few distinct outcomes keeps them sorted with their counts, and a value
costs as many weights as there are outcomes. Beyond FLAT of them they move to two trees, one of gains and
one of mirrored losses, and a value costs O(log n) (`samples/tree.py`). Beyond a limit, neighbours
share cells, so that the memory of an arm is bounded (`samples/cells.py`).

Here are the arrays, and the kernels that change them by one outcome. `samples/layout.py` makes larger ones, and
`samples/memory.py` values what they hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, late
from allais.numerics.table import Distortion, distorted_sum, weigh
from allais.samples.cells import AT, LIMIT, RAW, RAW_HIGH, RAW_LOW, SUM, cell_of_outcome, no_cells
from allais.samples.tree import has_room, insert_outcome, remove_outcome, tree_value
from allais.samples.trees import DISTINCT, Trees, new_trees

FIRST_CAPACITY = 8  # distinct outcomes per arm before its memory grows
FLAT = 128  # distinct outcomes per arm before they move to trees
NEVER = np.iinfo(np.int64).max  # the limit of a memory that stays exact


@by_reference
class Memory(NamedTuple):
    """The arms' outcomes, as a utility (gains and losses from the reference) and as told."""

    utility: FloatArray  # distinct, ascending; (n_arms, capacity)
    raw: FloatArray  # the same outcomes in the user's units
    counts: IntArray  # how often each was seen
    sizes: IntArray  # how many are distinct, (n_arms,); 0 for an arm in the trees
    pulls: IntArray  # T_k: how many were told
    value: FloatArray  # mu-hat_k, by `measure`
    mean: FloatArray  # of utilities, for an arm in the trees
    spread: FloatArray  # sum of squares around that mean
    in_trees: Any  # whether an arm's outcomes have moved to its trees, 2k and 2k + 1; (n_arms,)
    trees: Trees
    cells: FloatArray  # what lies in cells, a table for all arms (`samples/cells.py`)
    cell_range: IntArray  # the first cell of each arm, and the first that is no longer its own; (n_arms, 2)
    slack: FloatArray  # how far cells may move an arm's gains, its losses and its value; (n_arms, 3)
    limit: IntArray  # distinct outcomes per arm before neighbours share cells, (1,)


GAIN_SLACK, LOSS_SLACK, VALUE_SLACK = 0, 1, 2  # columns of `slack`


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
    return memory.sizes[arm] == memory.utility.shape[1]


@kernel
def position(memory, arm, utility, raw):
    """Where an outcome stands, or would stand, among an arm's distinct ones.

    Two outcomes may feel alike, where a utility is flat; then they stand in the order of their values as told.
    """
    low, high = 0, memory.sizes[arm]
    while low < high:
        middle = (low + high) // 2
        other = memory.utility[arm, middle]
        if other < utility or (other == utility and memory.raw[arm, middle] < raw):
            low = middle + 1
        else:
            high = middle
    return low


@late(None)
def _insert_in_trees(memory, arm, utility, raw):
    step = utility - memory.mean[arm]  # Welford's update
    memory.mean[arm] += step / memory.pulls[arm]
    memory.spread[arm] += step * (utility - memory.mean[arm])
    cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], utility)
    if cell >= 0:
        memory.cells[SUM, cell] += utility
        memory.cells[RAW_LOW, cell] = min(memory.cells[RAW_LOW, cell], raw)
        memory.cells[RAW_HIGH, cell] = max(memory.cells[RAW_HIGH, cell], raw)
        utility, raw = memory.cells[AT, cell], memory.cells[RAW, cell]
    insert_outcome(memory.trees, 2 * arm + (utility <= 0.0), abs(utility), raw, 1)


@kernel
def insert(memory, arm, utility, raw):
    """Add one outcome; the caller has made sure that there is room.

    Args:
        memory: The memory of all arms.
        arm: The arm.
        utility: The utility of the outcome.
        raw: The outcome in the user's unit.
    """
    memory.pulls[arm] += 1
    if memory.in_trees[arm]:
        _insert_in_trees(memory, arm, utility, raw)
        return
    at = position(memory, arm, utility, raw)
    size = memory.sizes[arm]
    if at < size and memory.utility[arm, at] == utility and memory.raw[arm, at] == raw:
        memory.counts[arm, at] += 1
        return
    for i in range(size, at, -1):
        memory.utility[arm, i] = memory.utility[arm, i - 1]
        memory.raw[arm, i] = memory.raw[arm, i - 1]
        memory.counts[arm, i] = memory.counts[arm, i - 1]
    memory.utility[arm, at] = utility
    memory.raw[arm, at] = raw
    memory.counts[arm, at] = 1
    memory.sizes[arm] = size + 1


@kernel
def remove(memory, arm, utility, raw):
    """Take one outcome back; False if it was never seen.

    In a cell, any outcome between its ends is taken for one that was seen, while the cell has a sample left.
    """
    at = position(memory, arm, utility, raw)
    size = memory.sizes[arm]
    if memory.in_trees[arm]:
        cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], utility)
        place = utility if cell < 0 else memory.cells[AT, cell]
        told = raw if cell < 0 else memory.cells[RAW, cell]
        if not remove_outcome(memory.trees, 2 * arm + (place <= 0.0), abs(place), told):
            return False
        if cell >= 0:
            memory.cells[SUM, cell] -= utility
    elif at == size or memory.utility[arm, at] != utility or memory.raw[arm, at] != raw:
        return False
    memory.pulls[arm] -= 1
    if memory.in_trees[arm]:
        step = utility - memory.mean[arm]  # Welford's update, backwards
        memory.mean[arm] -= step / memory.pulls[arm] if memory.pulls[arm] > 0 else memory.mean[arm]
        memory.spread[arm] = max(memory.spread[arm] - step * (utility - memory.mean[arm]), 0.0)
        return True
    memory.counts[arm, at] -= 1
    if memory.counts[arm, at] == 0:
        for i in range(at, size - 1):
            memory.utility[arm, i] = memory.utility[arm, i + 1]
            memory.raw[arm, i] = memory.raw[arm, i + 1]
            memory.counts[arm, i] = memory.counts[arm, i + 1]
        memory.sizes[arm] = size - 1
    return True


@kernel
def moments(memory, arm):
    """The mean of an arm's utilities of outcomes, and the sum of squares around it.

    Args:
        memory: The memory of all arms.
        arm: The arm.
    """
    if memory.in_trees[arm]:
        return memory.mean[arm], memory.spread[arm]
    total = 0.0
    for i in range(memory.sizes[arm]):
        total += memory.counts[arm, i] * memory.utility[arm, i]
    mean = total / memory.pulls[arm]
    spread = 0.0
    for i in range(memory.sizes[arm]):
        away = memory.utility[arm, i] - mean
        spread += memory.counts[arm, i] * (away * away)
    return mean, spread


@by_reference
class Worth(NamedTuple):
    """How an arm's value is computed from its memory."""

    gains: Distortion
    losses: Distortion
    edge: FloatArray  # m of the truncation at m + sigma sqrt(log n); inf where rewards are bounded
    edge_scale: FloatArray  # sigma, (n_arms,)
    of_mean: bool  # the WE heuristic: w(mean), right for Bernoulli rewards only
    undistorted: bool  # both weights are the identity, so that the value is the mean


@late(None)
def _measure_in_trees(worth, memory, arm, edge):
    gain = tree_value(memory.trees, 2 * arm, worth.gains, memory.pulls[arm], 0.0, edge)
    loss = tree_value(memory.trees, 2 * arm + 1, worth.losses, memory.pulls[arm], 0.0, edge)
    memory.value[arm] = gain - loss
    memory.slack[arm, VALUE_SLACK] = memory.slack[arm, GAIN_SLACK] + memory.slack[arm, LOSS_SLACK]


@kernel
def measure(worth, memory, arm):
    """Set an arm's value from its memory: Algorithm 1, truncated where rewards are unbounded.

    Args:
        worth: How values are computed.
        memory: The memory of all arms.
        arm: The arm.
    """
    pulls = memory.pulls[arm]
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
        _measure_in_trees(worth, memory, arm, edge)
        return
    gains, losses = worth.gains.table, worth.losses.table
    utility, counts = memory.utility[arm], memory.counts[arm]
    memory.value[arm] = distorted_sum(gains, losses, utility, counts, 0, memory.sizes[arm], pulls, 0.0, edge)
