"""What a tree of outcomes holds and where: the place of an outcome, its rank, and all of them in order."""

from __future__ import annotations

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel, late
from allais.samples.trees import CHILD, LEAF_OF, PLAIN, ROOT, SIZE, TOLD, TOP, TOTAL, Trees


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
