"""Balanced trees of outcomes, in shared arrays: what was seen, in order.

A forest serves compiled code, which allocates nothing: its arrays grow in Python. Trees come in pairs, gains at
2k and mirrored losses at 2k + 1; the outcomes of both are positive and ascending. `samples/tree_value.py` sums them.
Where a utility is flat, outcomes that feel alike are ordered by what was told, mirrored likewise: so every outcome
has one place, and ranks go by what was told.

A large tree costs what it misses in the cache. So what is read of a node's children lies together, and a leaf
whose outcomes were all seen once, and told as they are felt, keeps nothing but them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel, routine
from allais.numerics.distortion import SCRATCH, TERMS

LEAF = 80  # distinct outcomes of a leaf, at most
FAN = 5  # children of a node, at most
MARGIN = 64  # nodes that one insertion may need at most: twice the depth of any tree that fits memory


class Forest(NamedTuple):
    """Trees in shared arrays; few of them, a row a node, since each array costs when code is compiled."""

    links: NDArray[np.int32]  # what a node is and where it hangs, (nodes, CHILD + FAN + 1)
    numbers: FloatArray  # where a node lies, and the moments it is compressed to; (nodes, MOMENT + TERMS)
    outcomes: FloatArray  # of each leaf: distinct, ascending, as felt; (leaves, LEAF + 1)
    raw: FloatArray  # the same in the user's units, where a leaf is not PLAIN
    counts: IntArray  # how often each was seen, where a leaf is not PLAIN
    trees: IntArray  # root and number of distinct outcomes, (trees, 2)
    used: IntArray  # nodes and leaves in use, and leaves that are not PLAIN; (3,)
    stack: IntArray  # scratch, (2, depth)
    scratch: FloatArray  # of `weigh_block`, and the gaps and places of a leaf


# Columns of `links`: a node's leaf (-1 for an inner node), how many outcomes or children it has, its parent (-1
# for a root), whether its leaf is plain, and its children, ascending.
LEAF_OF, SIZE, PARENT, PLAIN, CHILD = 0, 1, 2, 3, 4
# Columns of `numbers`: where a node's first gap begins (the outcome before its first), its last outcome as felt and
# as told, how many samples lie below it, whether its moments are out of date, and its moments.
BASE, TOP, TOLD, TOTAL, STALE, MOMENT = 0, 1, 2, 3, 4, 5
ROOT, DISTINCT = 0, 1  # columns of `trees`
NODES, LEAVES, FULL = 0, 1, 2  # places in `used`


def new_forest(trees: int, leaves: int = 8) -> Forest:
    """Empty trees, with room for some leaves beyond one each."""
    roots = np.arange(trees, dtype=np.int64)
    forest = Forest(
        *_arrays(2 * (trees + leaves) + MARGIN, trees + leaves),
        np.stack([roots, 0 * roots], axis=1),
        np.array([trees, trees, 0], dtype=np.int64),
        np.zeros((2, 16 * MARGIN), dtype=np.int64),
        np.zeros(SCRATCH + 2 * (LEAF + 1)),
    )
    forest.links[:trees, LEAF_OF] = roots
    return forest


def _arrays(nodes: int, leaves: int) -> tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray, IntArray]:
    links = np.zeros((nodes, CHILD + FAN + 1), dtype=np.int32)
    links[:, LEAF_OF] = links[:, PARENT] = -1
    links[:, PLAIN] = 1
    numbers = np.zeros((nodes, MOMENT + TERMS))
    numbers[:, STALE] = 1.0
    shape = (leaves, LEAF + 1)
    return links, numbers, np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)


def grown_forest(forest: Forest) -> Forest:
    """The same trees with twice the room."""
    wider = Forest(*_arrays(2 * forest.links.shape[0], 2 * forest.outcomes.shape[0]), *forest[5:])
    # where every leaf is plain, zeros that were never written cost no memory
    written = ("links", "numbers", "outcomes", *(("raw", "counts") if forest.used[FULL] else ()))
    for name in written:
        old: Any = getattr(forest, name)
        getattr(wider, name)[: old.shape[0]] = old
    return wider


def with_trees(forest: Forest, trees: int) -> Forest:
    """The same trees and empty ones after them, `trees` in all."""
    more = trees - forest.trees.shape[0]
    used = forest.used
    while forest.links.shape[0] - used[NODES] <= more + MARGIN or forest.outcomes.shape[0] - used[LEAVES] <= more:
        forest = grown_forest(forest)
    new = np.arange(used[NODES], used[NODES] + more)
    forest.links[new, LEAF_OF] = np.arange(used[LEAVES], used[LEAVES] + more)
    used[:2] += more
    return forest._replace(trees=np.append(forest.trees, np.stack([new, 0 * new], axis=1), axis=0))


def cleared(forest: Forest, first_tree: int) -> Forest:
    """The forest with one pair of trees empty, and the others as they are; no more room than they need."""
    gone = np.zeros(forest.links.shape[0], dtype=np.bool_)
    gone[forest.used[NODES] :] = True
    stack = forest.trees[first_tree : first_tree + 2, ROOT].tolist()
    while stack:
        node = stack.pop()
        gone[node] = True
        if forest.links[node, LEAF_OF] < 0:
            stack.extend(forest.links[node, CHILD : CHILD + forest.links[node, SIZE]].tolist())
    nodes = np.flatnonzero(~gone)
    leaves = forest.links[nodes, LEAF_OF]
    leaves = np.sort(leaves[leaves >= 0])
    fresh = Forest(*_arrays(nodes.size + 2 + 2 * MARGIN, leaves.size + 3), forest.trees.copy(), *forest[6:])
    place = np.full(forest.links.shape[0] + 1, -1)  # of -1, which is no node, too
    place[nodes] = np.arange(nodes.size)
    leaf_place = np.full(forest.outcomes.shape[0] + 1, -1)
    leaf_place[leaves] = np.arange(leaves.size)
    links = forest.links[nodes]
    links[:, LEAF_OF] = leaf_place[links[:, LEAF_OF]]
    links[:, PARENT] = place[links[:, PARENT]]
    links[:, CHILD:] = place[links[:, CHILD:]]  # what lies beyond SIZE is never read
    fresh.links[: nodes.size], fresh.numbers[: nodes.size] = links, forest.numbers[nodes]
    for name in ("outcomes", "raw", "counts"):
        getattr(fresh, name)[: leaves.size] = getattr(forest, name)[leaves]
    full = int(((links[:, LEAF_OF] >= 0) & (links[:, PLAIN] == 0)).sum())
    fresh.trees[:, ROOT] = place[forest.trees[:, ROOT]]
    for k in range(2):
        fresh.trees[first_tree + k] = nodes.size + k, 0
        fresh.links[nodes.size + k, LEAF_OF] = leaves.size + k
    return fresh._replace(used=np.array([nodes.size + 2, leaves.size + 2, full], dtype=np.int64))


@kernel
def has_room(forest):
    """Whether one more outcome fits, whatever it splits."""
    nodes_left = forest.links.shape[0] - forest.used[NODES]
    return nodes_left > MARGIN and forest.used[LEAVES] < forest.outcomes.shape[0]


@kernel
def _mirrored(tree, value):
    """An outcome as a tree of gains or of losses has it, or back."""
    return value if tree % 2 == 0 else 0.0 - value


@kernel
def _raw_at(forest, tree, node, leaf, i):
    return _mirrored(tree, forest.outcomes[leaf, i]) if forest.links[node, PLAIN] else forest.raw[leaf, i]


@kernel
def _before(value, told, other, other_told):
    """The order of a tree: as felt, and as told where two feel alike."""
    return value < other or (value == other and told < other_told)


@kernel
def _child_for(forest, node, value, told):
    """The child whose outcomes reach a given one, or the last: there lies its successor."""
    last = forest.links[node, SIZE] - 1
    at = 0
    while at < last:
        below = forest.links[node, CHILD + at]
        if not _before(forest.numbers[below, TOP], forest.numbers[below, TOLD], value, told):
            break
        at += 1
    return at


@kernel
def _place_in(forest, tree, node, value, told):
    """How many outcomes of a leaf come before a given one."""
    leaf = forest.links[node, LEAF_OF]
    low, high = 0, forest.links[node, SIZE]
    while low < high:
        middle = (low + high) // 2
        other_told = _mirrored(tree, _raw_at(forest, tree, node, leaf, middle))
        if _before(forest.outcomes[leaf, middle], other_told, value, told):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _is_at(forest, tree, node, i, value, raw):
    """Whether a leaf has an outcome at a place."""
    leaf = forest.links[node, LEAF_OF]
    if i >= forest.links[node, SIZE] or forest.outcomes[leaf, i] != value:
        return False
    return _raw_at(forest, tree, node, leaf, i) == raw


@kernel
def count_at(forest, node, leaf, i):
    """How often an outcome of a leaf was seen."""
    return 1 if forest.links[node, PLAIN] else forest.counts[leaf, i]


@routine
def _fill_in(forest, tree, node, leaf):
    """Write down the counts and the raw outcomes of a leaf that was plain."""
    for i in range(forest.links[node, SIZE]):
        forest.raw[leaf, i] = _mirrored(tree, forest.outcomes[leaf, i])
        forest.counts[leaf, i] = 1
    forest.links[node, PLAIN] = 0
    forest.used[FULL] += 1


@routine
def plant(forest, tree, value, raw, count):
    """Add an outcome, `count` times, to a tree; the caller has made sure that there is room."""
    told = _mirrored(tree, raw)
    node = forest.trees[tree, ROOT]
    while True:  # into the leaf of its successor, so that no other leaf's first gap changes
        numbers = forest.numbers[node]
        numbers[TOTAL] += count
        numbers[STALE] = 1.0
        if forest.links[node, SIZE] == 0 or _before(numbers[TOP], numbers[TOLD], value, told):
            numbers[TOP] = value
            numbers[TOLD] = told
        if forest.links[node, LEAF_OF] >= 0:
            break
        node = forest.links[node, CHILD + _child_for(forest, node, value, told)]
    leaf = forest.links[node, LEAF_OF]
    size = forest.links[node, SIZE]
    low = _place_in(forest, tree, node, value, told)
    known = _is_at(forest, tree, node, low, value, raw)
    if forest.links[node, PLAIN] and (known or count != 1 or told != value):
        _fill_in(forest, tree, node, leaf)
    if known:
        forest.counts[leaf, low] += count
        return
    for i in range(size, low, -1):
        forest.outcomes[leaf, i] = forest.outcomes[leaf, i - 1]
    forest.outcomes[leaf, low] = value
    if not forest.links[node, PLAIN]:
        for i in range(size, low, -1):
            forest.raw[leaf, i] = forest.raw[leaf, i - 1]
            forest.counts[leaf, i] = forest.counts[leaf, i - 1]
        forest.raw[leaf, low] = raw
        forest.counts[leaf, low] = count
    forest.links[node, SIZE] = size + 1
    forest.trees[tree, DISTINCT] += 1
    if size + 1 > LEAF:
        _split_leaf(forest, tree, node)


@kernel
def _new_node(forest):
    node = forest.used[NODES]
    forest.used[NODES] += 1
    return node


@routine
def _split_leaf(forest, tree, node):
    leaf = forest.links[node, LEAF_OF]
    other, right = forest.used[LEAVES], _new_node(forest)
    forest.used[LEAVES] += 1
    size = forest.links[node, SIZE]
    half = size // 2
    moved = 0.0
    border_told = _mirrored(tree, _raw_at(forest, tree, node, leaf, half - 1))
    for i in range(half, size):
        forest.outcomes[other, i - half] = forest.outcomes[leaf, i]
        moved += count_at(forest, node, leaf, i)
    if not forest.links[node, PLAIN]:
        for i in range(half, size):
            forest.raw[other, i - half] = forest.raw[leaf, i]
            forest.counts[other, i - half] = forest.counts[leaf, i]
        forest.links[right, PLAIN] = 0
        forest.used[FULL] += 1
    forest.links[right, LEAF_OF] = other
    forest.links[right, SIZE] = size - half
    forest.links[node, SIZE] = half
    _part(forest, tree, node, right, moved, forest.outcomes[leaf, half - 1], border_told)


@routine
def _part(forest, tree, node, right, moved, border, border_told):
    """Let `right` take over what lies above `border`, and hang it beside `node`, splitting upwards."""
    while True:
        forest.numbers[right, TOTAL] = moved
        forest.numbers[node, TOTAL] -= moved
        forest.numbers[right, TOP] = forest.numbers[node, TOP]
        forest.numbers[right, TOLD] = forest.numbers[node, TOLD]
        forest.numbers[node, TOP] = border
        forest.numbers[node, TOLD] = border_told
        forest.numbers[right, BASE] = border
        parent = forest.links[node, PARENT]
        if parent < 0:
            parent = _new_node(forest)
            forest.links[parent, LEAF_OF] = -1
            forest.links[parent, PARENT] = -1
            forest.links[parent, SIZE] = 1
            forest.links[parent, CHILD] = node
            forest.numbers[parent, TOTAL] = forest.numbers[node, TOTAL] + moved
            forest.numbers[parent, BASE] = forest.numbers[node, BASE]
            forest.numbers[parent, TOP] = forest.numbers[right, TOP]
            forest.numbers[parent, TOLD] = forest.numbers[right, TOLD]
            forest.links[node, PARENT] = parent
            forest.trees[tree, ROOT] = parent
        forest.links[right, PARENT] = parent
        at = forest.links[parent, SIZE]
        while forest.links[parent, CHILD + at - 1] != node:
            forest.links[parent, CHILD + at] = forest.links[parent, CHILD + at - 1]
            at -= 1
        forest.links[parent, CHILD + at] = right
        forest.links[parent, SIZE] += 1
        if forest.links[parent, SIZE] <= FAN:
            return
        node, right = parent, _new_node(forest)
        half = forest.links[node, SIZE] // 2
        moved = 0.0
        for i in range(half, forest.links[node, SIZE]):
            below = forest.links[node, CHILD + i]
            forest.links[right, CHILD + i - half] = below
            forest.links[below, PARENT] = right
            moved += forest.numbers[below, TOTAL]
        forest.links[right, LEAF_OF] = -1
        forest.links[right, SIZE] = forest.links[node, SIZE] - half
        forest.links[node, SIZE] = half
        below = forest.links[node, CHILD + half - 1]
        border, border_told = forest.numbers[below, TOP], forest.numbers[below, TOLD]


@routine
def sow(forest, first_tree, felt, raw, counts, start):
    """Add outcomes from `start` on: gains to the first tree, losses mirrored to the next, zeros with them.

    A zero lies at the bottom of the losses, below every gap: it is kept, and adds nothing.

    Returns where it stopped for want of room, or how many there are.
    """
    for i in range(start, felt.size):
        if not has_room(forest):
            return i
        plant(forest, first_tree + (felt[i] <= 0.0), abs(felt[i]), raw[i], counts[i])
    return felt.size


@routine
def uproot(forest, tree, value, raw):
    """Take one sample of an outcome back; False if there is none. An outcome of count 0 stays, harmless."""
    told = _mirrored(tree, raw)
    node = forest.trees[tree, ROOT]
    while forest.links[node, LEAF_OF] < 0:
        node = forest.links[node, CHILD + _child_for(forest, node, value, told)]
    leaf, i = forest.links[node, LEAF_OF], _place_in(forest, tree, node, value, told)
    if not _is_at(forest, tree, node, i, value, raw) or count_at(forest, node, leaf, i) == 0:
        return False
    if forest.links[node, PLAIN]:
        _fill_in(forest, tree, node, leaf)
    forest.counts[leaf, i] -= 1
    while node >= 0:
        forest.numbers[node, TOTAL] -= 1.0
        forest.numbers[node, STALE] = 1.0
        node = forest.links[node, PARENT]
    return True


@routine
def count_beyond(forest, tree, value, raw, inclusive):
    """How many samples of a tree come after an outcome in its order, or are that outcome, if `inclusive`."""
    told = _mirrored(tree, raw)
    node = forest.trees[tree, ROOT]
    beyond = 0.0
    while forest.links[node, LEAF_OF] < 0:
        at = _child_for(forest, node, value, told)
        for i in range(at + 1, forest.links[node, SIZE]):
            beyond += forest.numbers[forest.links[node, CHILD + i], TOTAL]
        node = forest.links[node, CHILD + at]
    leaf, first = forest.links[node, LEAF_OF], _place_in(forest, tree, node, value, told)
    if not inclusive and _is_at(forest, tree, node, first, value, raw):
        first += 1
    for i in range(first, forest.links[node, SIZE]):
        beyond += count_at(forest, node, leaf, i)
    return int(beyond)


@routine
def _find_rank(forest, tree, rank):
    """The node and the place in its leaf of the outcome that `rank` samples reach; 1 is the largest."""
    node = forest.trees[tree, ROOT]
    left = float(rank)
    while forest.links[node, LEAF_OF] < 0:
        i = forest.links[node, SIZE] - 1
        while i > 0 and left > forest.numbers[forest.links[node, CHILD + i], TOTAL]:
            left -= forest.numbers[forest.links[node, CHILD + i], TOTAL]
            i -= 1
        node = forest.links[node, CHILD + i]
    leaf = forest.links[node, LEAF_OF]
    i = forest.links[node, SIZE] - 1
    if forest.links[node, PLAIN]:
        return node, max(i - int(left) + 1, 0)
    while i > 0 and left > count_at(forest, node, leaf, i):
        left -= count_at(forest, node, leaf, i)
        i -= 1
    return node, i


@kernel
def outcome_at_rank(forest, tree, rank):
    """The outcome of a tree that `rank` samples reach (1 is the largest), mirrored if it is a loss."""
    node, i = _find_rank(forest, tree, rank)
    return forest.outcomes[forest.links[node, LEAF_OF], i]


@kernel
def nth_from_top(forest, tree, rank):
    """The outcome that `rank` samples reach (1 is the largest), in the user's units."""
    node, i = _find_rank(forest, tree, rank)
    return _raw_at(forest, tree, node, forest.links[node, LEAF_OF], i)


def sown(forest: Forest, first_tree: int, felt: FloatArray, raw: FloatArray, counts: IntArray) -> Forest:
    """The forest with outcomes added by `sow`, grown as needed."""
    done = 0
    while done < felt.size:
        done = sow(forest, first_tree, felt, raw, counts, done)
        if done < felt.size:
            forest = grown_forest(forest)
    return forest


def outcomes_of(forest: Forest, tree: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """The outcomes of a tree, ascending: as felt, in the user's units, and how often each was seen."""
    felt, raw, counts = [], [], []
    stack = [int(forest.trees[tree, ROOT])]
    while stack:
        links = forest.links[stack.pop()]
        leaf, size = int(links[LEAF_OF]), int(links[SIZE])
        if leaf < 0:
            stack.extend(links[CHILD : CHILD + size][::-1].tolist())
            continue
        here = forest.outcomes[leaf, :size]
        felt.append(here)
        if links[PLAIN]:
            raw.append(here if tree % 2 == 0 else 0.0 - here)
            counts.append(np.ones(size, dtype=np.int64))
        else:
            raw.append(forest.raw[leaf, :size])
            counts.append(forest.counts[leaf, :size])
    seen = np.concatenate(counts)
    present = seen > 0
    return np.concatenate(felt)[present], np.concatenate(raw)[present], seen[present]


def samples_of(forest: Forest, tree: int) -> int:
    """How many samples a tree holds."""
    return int(forest.numbers[forest.trees[tree, ROOT], TOTAL])
