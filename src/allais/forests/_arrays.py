"""A forest in arrays, and the sketches of outcomes in them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine

TREES = 8  # with 16, CRPS and regret were as good, at twice the time
ROOM = 80  # outcomes of a sketch, at most
KEPT = 52  # outcomes of a sketch once neighbours were joined
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # quantiles of a leaf at which both sides are compared
CUTS = len(LEVELS)
TESTS = CUTS + CUTS // 2  # below each of them, and between two that lie alike from both ends
LATELY = 64  # the latest rows of a sketch, in which splits are sought that the tree does not have yet
FIRST_LOOK = 32  # outcomes of a leaf before it is looked at; then at every half more

TOLD, NODES, SKETCHES, STREAM = range(4)  # entries of `clock`
FEATURE, KIND, CHILD, SEEN, DUE = range(5)  # columns of `nodes`


@by_reference
class Trees(NamedTuple):
    """A forest in arrays; nodes 0 to before `trees` are the roots."""

    rows: FloatArray  # the last contexts, as numbers, (window, columns)
    whose: IntArray  # their arms, (window,)
    raw: FloatArray  # their outcomes, (window,)
    home: IntArray  # the leaf of each in each tree, or -1; (trees, window)
    clock: IntArray  # outcomes, nodes, sketches, and where random numbers go on; (4,)
    weight: FloatArray  # of the next outcome, and by which it grows with each; (2,)
    batch: FloatArray  # the sum of ranks of outcomes that came in a row, their number, and squares so far; (4,)
    categorical: Any  # whether a column holds codes of categories, (columns,)
    nodes: IntArray  # feature (-1 in a leaf), kind of condition, left child, outcomes, outcomes at the next look
    thresholds: FloatArray  # (nodes,)
    cuts: FloatArray  # thresholds of each arm's outcome, (nodes, n_arms, CUTS)
    tables: FloatArray  # outcomes between them on each side, (nodes, n_arms, 2, CUTS + 1)
    odds: FloatArray  # log odds that the sides differ, (nodes, n_arms)
    sketch: IntArray  # where a node's outcomes of an arm are, or -1; (nodes, n_arms)
    places: FloatArray  # outcomes of sketches, ascending, (sketches, ROOM)
    counts: FloatArray  # samples that they stand for
    sizes: IntArray  # (sketches,)
    lately: IntArray  # the numbers of the last rows in a sketch, in a circle, (sketches, LATELY)
    entered: IntArray  # how many rows came into it, (sketches,)
    members: IntArray  # scratch: rows of a leaf, (window,)
    bins: IntArray  # scratch: where their outcomes lie between cuts, (window,)
    table: FloatArray  # scratch: (n_arms, 2, CUTS + 1)
    logs: FloatArray  # scratch: (TESTS,)
    parts: IntArray  # scratch: sketches of a mixture, and how many trees have each; (2, trees)
    shares: FloatArray  # scratch: their shares, (trees,)
    starts: IntArray  # scratch: where the outcomes of each begin, and how many there are; (2, trees + 1)
    merged: FloatArray  # scratch: their outcomes before and after a merger, and their counts; (4, trees * (ROOM + 1))
    gammas: FloatArray  # log Gamma(k + 1/2) and log Gamma(k + 1), (2, window + 1)


def empty(n_arms: int, seed: int, window: int, growth: float) -> Trees:
    """A forest that has seen nothing."""
    return Trees(
        **_sized(n_arms, 0, window, TREES, n_arms),
        whose=np.zeros(window, dtype=np.int64),
        raw=np.zeros(window),
        home=np.full((TREES, window), -1, dtype=np.int64),
        clock=np.array([0, TREES, n_arms, seed], dtype=np.int64),
        weight=np.array([1.0, growth]),
        batch=np.zeros(4),
        members=np.zeros(window, dtype=np.int64),
        bins=np.zeros(window, dtype=np.int64),
        logs=np.zeros(TESTS),
        parts=np.zeros((2, TREES), dtype=np.int64),
        shares=np.zeros(TREES),
        starts=np.zeros((2, TREES + 1), dtype=np.int64),
        merged=np.zeros((4, TREES * (ROOM + 1))),
        gammas=scipy.special.gammaln(np.arange(window + 1) + np.array([[0.5], [1.0]])),
    )._replace(sketch=np.tile(np.arange(n_arms), (TREES, 1)))


def _sized(n_arms: int, columns: int, window: int, nodes: int, sketches: int) -> dict[str, Any]:
    """The arrays whose sizes change while a forest grows, with nothing in them."""
    leaves = np.zeros((nodes, 5), dtype=np.int64)
    leaves[:, FEATURE], leaves[:, DUE] = -1, FIRST_LOOK
    return {
        "rows": np.full((window, columns), np.nan),
        "categorical": np.zeros(columns, dtype=np.bool_),
        "nodes": leaves,
        "thresholds": np.zeros(nodes),
        "cuts": np.zeros((nodes, n_arms, CUTS)),
        "tables": np.zeros((nodes, n_arms, 2, CUTS + 1)),
        "odds": np.zeros((nodes, n_arms)),
        "sketch": np.full((nodes, n_arms), -1, dtype=np.int64),
        "places": np.zeros((sketches, ROOM)),
        "counts": np.zeros((sketches, ROOM)),
        "sizes": np.zeros(sketches, dtype=np.int64),
        "lately": np.zeros((sketches, LATELY), dtype=np.int64),
        "entered": np.zeros(sketches, dtype=np.int64),
        "table": np.zeros((n_arms, 2, CUTS + 1)),
    }


def resized(trees: Trees, n_arms: int, columns: int, nodes: int, sketches: int) -> Trees:
    """The same forest in larger arrays."""
    made = _sized(n_arms, columns, trees.raw.size, nodes, sketches)
    for name, array in made.items():
        old = getattr(trees, name)
        if old.shape == array.shape:
            made[name] = old
        elif name != "table":  # scratch
            array[tuple(map(slice, old.shape))] = old
    return trees._replace(**made)


# -- sketches -------------------------------------------------------------------------------------


@kernel
def total_of(counts, size):
    """How many samples the first outcomes of a sketch stand for."""
    total = 0.0
    for i in range(size):
        total += counts[i]
    return total


@kernel
def write_cuts(cuts, places, counts, size):
    """Write quantiles of ascending outcomes to `cuts`."""
    total, below, q = total_of(counts, size), 0.0, 0
    for i in range(size):
        below += counts[i]
        while q < CUTS and below >= LEVELS[q] * total:
            cuts[q] = places[i]
            q += 1
    while q < CUTS:
        cuts[q] = places[size - 1]
        q += 1


@kernel
def _join_neighbours(places, counts, size, joined):
    """Join neighbours until `KEPT` outcomes are left: the narrower, the fewer samples lie beyond. Returns the size."""
    total = total_of(counts, size)
    width = 0.05
    while size > joined:
        kept, below = 0, 0.0
        for i in range(1, size):
            both = counts[kept] + counts[i]
            beyond = min(below, total - below - both)
            if beyond > 0.0 and both <= width * math.sqrt(beyond * math.sqrt(beyond)) * math.sqrt(math.sqrt(total)):
                places[kept] += (places[i] - places[kept]) * (counts[i] / both)
                counts[kept] = both
            else:
                below += counts[kept]
                kept += 1
                places[kept], counts[kept] = places[i], counts[i]
        size = kept + 1
        width *= 1.4
    return size


@routine
def _insert(trees, sketch, outcome, weight):
    """Take one outcome into a sketch."""
    places, counts, size = trees.places[sketch], trees.counts[sketch], trees.sizes[sketch]
    if size == ROOM:
        size = _join_neighbours(places, counts, size, KEPT)
        trees.sizes[sketch] = size
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if places[middle] < outcome:
            low = middle + 1
        else:
            high = middle
    if low < size and places[low] == outcome:
        counts[low] += weight
        return
    for i in range(size, low, -1):
        places[i], counts[i] = places[i - 1], counts[i - 1]
    places[low], counts[low] = outcome, weight
    trees.sizes[sketch] = size + 1


@kernel
def note(trees, node, arm, number):
    """Note the number of a row in a node's sketch of its arm."""
    sketch = trees.sketch[node, arm]
    trees.lately[sketch, trees.entered[sketch] % LATELY] = number
    trees.entered[sketch] += 1


@kernel
def take_in(trees, node, arm, number, weight):
    """Take the outcome of a row into a node's sketch of its arm, where there is room for one."""
    if trees.sketch[node, arm] < 0:
        if trees.clock[SKETCHES] >= trees.sizes.size:
            return
        trees.sketch[node, arm] = trees.clock[SKETCHES]
        trees.clock[SKETCHES] += 1
    _insert(trees, trees.sketch[node, arm], trees.raw[number % trees.raw.size], weight)
    note(trees, node, arm, number)


@kernel
def scale_down(trees, by):
    """Scale all weights down: only their ratios matter, in a memory that fades."""
    for sketch in range(trees.clock[SKETCHES]):
        for i in range(trees.sizes[sketch]):
            trees.counts[sketch, i] /= by
    for node in range(trees.clock[NODES]):
        for arm in range(trees.odds.shape[1]):
            for side in range(2):
                for b in range(CUTS + 1):
                    trees.tables[node, arm, side, b] /= by
    trees.weight[0] /= by
