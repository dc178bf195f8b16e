"""Balanced trees of outcomes, in shared arrays: what was seen, in order.

Trees serve compiled code, which allocates nothing: their arrays grow in Python. Trees come in pairs, gains at
2k and mirrored losses at 2k + 1; the outcomes of both are positive and ascending. `samples/tree_value.py` sums them.
Where a utility is flat, outcomes that feel alike are ordered by what was told, mirrored likewise: so every outcome
has one place, and ranks go by what was told.

The cost of a large tree is its misses in the cache. So what is read about a node's children lies together, and a leaf
whose outcomes were all seen once, and told as they are utility, keeps nothing but them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference
from allais.numerics.distortion import SCRATCH, TERMS

LEAF = 80  # distinct outcomes per leaf, at most
FAN = 5  # children per node, at most
MARGIN = 64  # nodes that one insertion may need at most: twice the depth of any tree that fits memory


@by_reference
class Trees(NamedTuple):
    """Trees in shared arrays: few arrays, one row per node, since each array costs when code is compiled."""

    links: NDArray[np.int32]  # what a node is and where it hangs, (nodes, CHILD + FAN + 1)
    numbers: FloatArray  # where a node lies, and the moments it is compressed to; (nodes, MOMENT + TERMS)
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
    numbers = np.zeros((nodes, MOMENT + TERMS))
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
