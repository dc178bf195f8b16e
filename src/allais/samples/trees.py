"""Balanced trees of outcomes, in shared arrays: what was seen, in order.

Trees serve compiled code, which allocates nothing: their arrays grow in Python. Trees come in pairs, gains at
2k and mirrored losses at 2k + 1; the outcomes of both are positive and ascending. `samples/tree.py` sums them.
Where a utility is flat, outcomes that feel alike are ordered by what was told, mirrored likewise: so every outcome
has one place, and ranks go by what was told.

The cost of a large tree is its misses in the cache. So what is read about a node's children lies together, and a leaf
whose outcomes were all seen once, and told as their utility, keeps nothing but them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, late
from allais.numerics.table import BLOCK_TERMS, SCRATCH

LEAF = 80  # distinct outcomes per leaf, at most
FAN = 5  # children per node, at most
MARGIN = 64  # nodes that one insertion may need at most: twice the depth of any tree that fits memory


@by_reference
class Trees(NamedTuple):
    """Trees in shared arrays: few arrays, one row per node, since each array costs when code is compiled."""

    links: NDArray[np.int32]  # what a node is and where it hangs, (nodes, CHILD + FAN + 1)
    numbers: FloatArray  # where a node lies, and the moments it is compressed to; (nodes, MOMENT + BLOCK_TERMS)
    outcomes: FloatArray  # of each leaf: distinct, ascending, as a utility; (leaves, LEAF + 1)
    raw: FloatArray  # the same in the user's units, where a leaf is not PLAIN
    counts: IntArray  # how often each was seen, where a leaf is not PLAIN
    heads: IntArray  # root and number of distinct outcomes, (trees, 2)
    used: IntArray  # nodes and leaves in use, and leaves that are not PLAIN; (3,)
    stack: IntArray  # scratch, (2, depth)
    scratch: FloatArray  # of `weigh_block`, and the gaps and places of a leaf


# Columns of `links`: a node's leaf (-1 for an inner node), how many outcomes or children it has, its parent (-1
# for a root), whether its leaf is plain, and its children, ascending.
LEAF_OF, SIZE, PARENT, PLAIN, CHILD = 0, 1, 2, 3, 4
# Columns of `numbers`: where a node's first gap begins (the outcome before its first), its last utility of an outcome
# and as told, how many samples lie below it, whether its moments are out of date, and its moments.
BASE, TOP, TOLD, TOTAL, STALE, MOMENT = 0, 1, 2, 3, 4, 5
ROOT, DISTINCT = 0, 1  # columns of `heads`
NODES, LEAVES, FULL = 0, 1, 2  # places in `used`


def new_trees(count: int, leaves: int = 8) -> Trees:
    """Empty trees, with room for some leaves beyond one per tree."""
    roots = np.arange(count, dtype=np.int64)
    trees = Trees(
        *_arrays(2 * (count + leaves) + MARGIN, count + leaves),
        np.stack([roots, 0 * roots], axis=1),
        np.array([count, count, 0], dtype=np.int64),
        np.zeros((2, 16 * MARGIN), dtype=np.int64),
        np.zeros(SCRATCH + 2 * (LEAF + 1)),
    )
    trees.links[:count, LEAF_OF] = roots
    return trees


def _arrays(nodes: int, leaves: int) -> tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray, IntArray]:
    links = np.zeros((nodes, CHILD + FAN + 1), dtype=np.int32)
    links[:, LEAF_OF] = links[:, PARENT] = -1
    links[:, PLAIN] = 1
    numbers = np.zeros((nodes, MOMENT + BLOCK_TERMS))
    numbers[:, STALE] = 1.0
    shape = (leaves, LEAF + 1)
    return links, numbers, np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)


def grown_trees(trees: Trees) -> Trees:
    """The same trees with twice the room."""
    wider = Trees(*_arrays(2 * trees.links.shape[0], 2 * trees.outcomes.shape[0]), *trees[5:])
    # where every leaf is plain, zeros that were never written cost no memory
    written = ("links", "numbers", "outcomes", *(("raw", "counts") if trees.used[FULL] else ()))
    for name in written:
        old: Any = getattr(trees, name)
        getattr(wider, name)[: old.shape[0]] = old
    return wider


def with_trees(trees: Trees, count: int) -> Trees:
    """The same trees and empty ones after them, `count` in all."""
    more = count - trees.heads.shape[0]
    used = trees.used
    while trees.links.shape[0] - used[NODES] <= more + MARGIN or trees.outcomes.shape[0] - used[LEAVES] <= more:
        trees = grown_trees(trees)
    new = np.arange(used[NODES], used[NODES] + more)
    trees.links[new, LEAF_OF] = np.arange(used[LEAVES], used[LEAVES] + more)
    used[:2] += more
    return trees._replace(heads=np.append(trees.heads, np.stack([new, 0 * new], axis=1), axis=0))


def cleared(trees: Trees, first_tree: int) -> Trees:
    """The trees with one pair of them empty, and the others as they are, with no more room than they need."""
    gone = np.zeros(trees.links.shape[0], dtype=np.bool_)
    gone[trees.used[NODES] :] = True
    stack = trees.heads[first_tree : first_tree + 2, ROOT].tolist()
    while stack:
        node = stack.pop()
        gone[node] = True
        if trees.links[node, LEAF_OF] < 0:
            stack.extend(trees.links[node, CHILD : CHILD + trees.links[node, SIZE]].tolist())
    nodes = np.flatnonzero(~gone)
    leaves = trees.links[nodes, LEAF_OF]
    leaves = np.sort(leaves[leaves >= 0])
    fresh = Trees(*_arrays(nodes.size + 2 + 2 * MARGIN, leaves.size + 3), trees.heads.copy(), *trees[6:])
    place = np.full(trees.links.shape[0] + 1, -1)  # -1, which is no node, has a place too
    place[nodes] = np.arange(nodes.size)
    leaf_place = np.full(trees.outcomes.shape[0] + 1, -1)
    leaf_place[leaves] = np.arange(leaves.size)
    links = trees.links[nodes]
    links[:, LEAF_OF] = leaf_place[links[:, LEAF_OF]]
    links[:, PARENT] = place[links[:, PARENT]]
    links[:, CHILD:] = place[links[:, CHILD:]]  # what lies beyond SIZE is never read
    fresh.links[: nodes.size], fresh.numbers[: nodes.size] = links, trees.numbers[nodes]
    for name in ("outcomes", "raw", "counts"):
        getattr(fresh, name)[: leaves.size] = getattr(trees, name)[leaves]
    full = int(((links[:, LEAF_OF] >= 0) & (links[:, PLAIN] == 0)).sum())
    fresh.heads[:, ROOT] = place[trees.heads[:, ROOT]]
    for k in range(2):
        fresh.heads[first_tree + k] = nodes.size + k, 0
        fresh.links[nodes.size + k, LEAF_OF] = leaves.size + k
    return fresh._replace(used=np.array([nodes.size + 2, leaves.size + 2, full], dtype=np.int64))


@kernel
def mirrored(tree, value):
    """An outcome as a tree of gains or of losses holds it, or back again."""
    return value if tree % 2 == 0 else 0.0 - value


@kernel
def raw_at(trees, tree, node, leaf, i):
    """An outcome of a leaf in the user's units."""
    return mirrored(tree, trees.outcomes[leaf, i]) if trees.links[node, PLAIN] else trees.raw[leaf, i]


@kernel
def comes_before(value, told, other, other_told):
    """The order of a tree: as a utility, and as told where two feel alike."""
    return value < other or (value == other and told < other_told)


@kernel
def child_for(trees, node, value, told):
    """The first child whose outcomes reach a given one, or the last child: the successor lies there."""
    last = trees.links[node, SIZE] - 1
    at = 0
    while at < last:
        below = trees.links[node, CHILD + at]
        if not comes_before(trees.numbers[below, TOP], trees.numbers[below, TOLD], value, told):
            break
        at += 1
    return at


@kernel
def place_in(trees, tree, node, value, told):
    """How many outcomes of a leaf come before a given one."""
    leaf = trees.links[node, LEAF_OF]
    low, high = 0, trees.links[node, SIZE]
    while low < high:
        middle = (low + high) // 2
        other_told = mirrored(tree, raw_at(trees, tree, node, leaf, middle))
        if comes_before(trees.outcomes[leaf, middle], other_told, value, told):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def is_at(trees, tree, node, i, value, raw):
    """Whether a leaf has an outcome at a place."""
    leaf = trees.links[node, LEAF_OF]
    if i >= trees.links[node, SIZE] or trees.outcomes[leaf, i] != value:
        return False
    return raw_at(trees, tree, node, leaf, i) == raw


@kernel
def count_at(trees, node, leaf, i):
    """How often an outcome of a leaf was seen."""
    return 1 if trees.links[node, PLAIN] else trees.counts[leaf, i]


@late(int)
def count_beyond(trees, tree, value, raw, inclusive):
    """How many samples of a tree come after an outcome in its order; with `inclusive`, the outcome's own too."""
    told = mirrored(tree, raw)
    node = trees.heads[tree, ROOT]
    beyond = 0.0
    while trees.links[node, LEAF_OF] < 0:
        at = child_for(trees, node, value, told)
        for i in range(at + 1, trees.links[node, SIZE]):
            beyond += trees.numbers[trees.links[node, CHILD + i], TOTAL]
        node = trees.links[node, CHILD + at]
    leaf, first = trees.links[node, LEAF_OF], place_in(trees, tree, node, value, told)
    if not inclusive and is_at(trees, tree, node, first, value, raw):
        first += 1
    for i in range(first, trees.links[node, SIZE]):
        beyond += count_at(trees, node, leaf, i)
    return int(beyond)


@late((int, int))
def _find_rank(trees, tree, rank):
    """The node, and the place in its leaf, of the outcome that `rank` samples reach; rank 1 is the largest."""
    node = trees.heads[tree, ROOT]
    left = float(rank)
    while trees.links[node, LEAF_OF] < 0:
        i = trees.links[node, SIZE] - 1
        while i > 0 and left > trees.numbers[trees.links[node, CHILD + i], TOTAL]:
            left -= trees.numbers[trees.links[node, CHILD + i], TOTAL]
            i -= 1
        node = trees.links[node, CHILD + i]
    leaf = trees.links[node, LEAF_OF]
    i = trees.links[node, SIZE] - 1
    if trees.links[node, PLAIN]:
        return node, max(i - int(left) + 1, 0)
    while i > 0 and left > count_at(trees, node, leaf, i):
        left -= count_at(trees, node, leaf, i)
        i -= 1
    return node, i


@kernel
def outcome_at_rank(trees, tree, rank):
    """The outcome of a tree that `rank` samples reach (1 is the largest), mirrored if it is a loss."""
    node, i = _find_rank(trees, tree, rank)
    return trees.outcomes[trees.links[node, LEAF_OF], i]


@kernel
def nth_from_top(trees, tree, rank):
    """The outcome that `rank` samples reach (1 is the largest), in the user's units."""
    node, i = _find_rank(trees, tree, rank)
    return raw_at(trees, tree, node, trees.links[node, LEAF_OF], i)


def outcomes_of(trees: Trees, tree: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """The outcomes of a tree, ascending: as a utility, in the user's units, and how often each was seen."""
    utility, raw, counts = [], [], []
    stack = [int(trees.heads[tree, ROOT])]
    while stack:
        links = trees.links[stack.pop()]
        leaf, size = int(links[LEAF_OF]), int(links[SIZE])
        if leaf < 0:
            stack.extend(links[CHILD : CHILD + size][::-1].tolist())
            continue
        here = trees.outcomes[leaf, :size]
        utility.append(here)
        if links[PLAIN]:
            raw.append(here if tree % 2 == 0 else 0.0 - here)
            counts.append(np.ones(size, dtype=np.int64))
        else:
            raw.append(trees.raw[leaf, :size])
            counts.append(trees.counts[leaf, :size])
    seen = np.concatenate(counts)
    present = seen > 0
    return np.concatenate(utility)[present], np.concatenate(raw)[present], seen[present]


def samples_of(trees: Trees, tree: int) -> int:
    """How many samples a tree holds."""
    return int(trees.numbers[trees.heads[tree, ROOT], TOTAL])
