"""One tree of outcomes: insert, remove, count and find, in compiled code (`samples/trees.py` has the arrays)."""

from __future__ import annotations

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel, routine
from allais.samples.trees import (
    BASE,
    CHILD,
    DISTINCT,
    FAN,
    FULL,
    LEAF,
    LEAF_OF,
    LEAVES,
    MARGIN,
    NODES,
    PARENT,
    PLAIN,
    ROOT,
    SIZE,
    STALE,
    TOLD,
    TOP,
    TOTAL,
    Trees,
    grown_trees,
)


@kernel
def has_room(trees):
    """Whether one more outcome fits, whatever it splits."""
    nodes_left = trees.links.shape[0] - trees.used[NODES]
    return nodes_left > MARGIN and trees.used[LEAVES] < trees.outcomes.shape[0]


@kernel
def _mirrored(tree, value):
    """An outcome as a tree of gains or of losses has it, or back."""
    return value if tree % 2 == 0 else 0.0 - value


@kernel
def _raw_at(trees, tree, node, leaf, i):
    return _mirrored(tree, trees.outcomes[leaf, i]) if trees.links[node, PLAIN] else trees.raw[leaf, i]


@kernel
def _before(value, told, other, other_told):
    """The order of a tree: as felt, and as told where two feel alike."""
    return value < other or (value == other and told < other_told)


@kernel
def _child_for(trees, node, value, told):
    """The child whose outcomes reach a given one, or the last: there lies its successor."""
    last = trees.links[node, SIZE] - 1
    at = 0
    while at < last:
        below = trees.links[node, CHILD + at]
        if not _before(trees.numbers[below, TOP], trees.numbers[below, TOLD], value, told):
            break
        at += 1
    return at


@kernel
def _place_in(trees, tree, node, value, told):
    """How many outcomes of a leaf come before a given one."""
    leaf = trees.links[node, LEAF_OF]
    low, high = 0, trees.links[node, SIZE]
    while low < high:
        middle = (low + high) // 2
        other_told = _mirrored(tree, _raw_at(trees, tree, node, leaf, middle))
        if _before(trees.outcomes[leaf, middle], other_told, value, told):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _is_at(trees, tree, node, i, value, raw):
    """Whether a leaf has an outcome at a place."""
    leaf = trees.links[node, LEAF_OF]
    if i >= trees.links[node, SIZE] or trees.outcomes[leaf, i] != value:
        return False
    return _raw_at(trees, tree, node, leaf, i) == raw


@kernel
def count_at(trees, node, leaf, i):
    """How often an outcome of a leaf was seen."""
    return 1 if trees.links[node, PLAIN] else trees.counts[leaf, i]


@routine
def _fill_in(trees, tree, node, leaf):
    """Write down the counts and the raw outcomes of a leaf that was plain."""
    for i in range(trees.links[node, SIZE]):
        trees.raw[leaf, i] = _mirrored(tree, trees.outcomes[leaf, i])
        trees.counts[leaf, i] = 1
    trees.links[node, PLAIN] = 0
    trees.used[FULL] += 1


@routine
def insert_outcome(trees, tree, value, raw, count):
    """Add an outcome, `count` times, to a tree; the caller has made sure that there is room."""
    told = _mirrored(tree, raw)
    node = trees.heads[tree, ROOT]
    while True:  # into the leaf of its successor, so that no other leaf's first gap changes
        numbers = trees.numbers[node]
        numbers[TOTAL] += count
        numbers[STALE] = 1.0
        if trees.links[node, SIZE] == 0 or _before(numbers[TOP], numbers[TOLD], value, told):
            numbers[TOP] = value
            numbers[TOLD] = told
        if trees.links[node, LEAF_OF] >= 0:
            break
        node = trees.links[node, CHILD + _child_for(trees, node, value, told)]
    leaf = trees.links[node, LEAF_OF]
    size = trees.links[node, SIZE]
    low = _place_in(trees, tree, node, value, told)
    known = _is_at(trees, tree, node, low, value, raw)
    if trees.links[node, PLAIN] and (known or count != 1 or told != value):
        _fill_in(trees, tree, node, leaf)
    if known:
        trees.counts[leaf, low] += count
        return
    for i in range(size, low, -1):
        trees.outcomes[leaf, i] = trees.outcomes[leaf, i - 1]
    trees.outcomes[leaf, low] = value
    if not trees.links[node, PLAIN]:
        for i in range(size, low, -1):
            trees.raw[leaf, i] = trees.raw[leaf, i - 1]
            trees.counts[leaf, i] = trees.counts[leaf, i - 1]
        trees.raw[leaf, low] = raw
        trees.counts[leaf, low] = count
    trees.links[node, SIZE] = size + 1
    trees.heads[tree, DISTINCT] += 1
    if size + 1 > LEAF:
        _split_leaf(trees, tree, node)


@kernel
def _new_node(trees):
    node = trees.used[NODES]
    trees.used[NODES] += 1
    return node


@routine
def _split_leaf(trees, tree, node):
    leaf = trees.links[node, LEAF_OF]
    other, right = trees.used[LEAVES], _new_node(trees)
    trees.used[LEAVES] += 1
    size = trees.links[node, SIZE]
    half = size // 2
    moved = 0.0
    border_told = _mirrored(tree, _raw_at(trees, tree, node, leaf, half - 1))
    for i in range(half, size):
        trees.outcomes[other, i - half] = trees.outcomes[leaf, i]
        moved += count_at(trees, node, leaf, i)
    if not trees.links[node, PLAIN]:
        for i in range(half, size):
            trees.raw[other, i - half] = trees.raw[leaf, i]
            trees.counts[other, i - half] = trees.counts[leaf, i]
        trees.links[right, PLAIN] = 0
        trees.used[FULL] += 1
    trees.links[right, LEAF_OF] = other
    trees.links[right, SIZE] = size - half
    trees.links[node, SIZE] = half
    _part(trees, tree, node, right, moved, trees.outcomes[leaf, half - 1], border_told)


@routine
def _part(trees, tree, node, right, moved, border, border_told):
    """Let `right` take over what lies above `border`, and hang it beside `node`, splitting upwards."""
    while True:
        trees.numbers[right, TOTAL] = moved
        trees.numbers[node, TOTAL] -= moved
        trees.numbers[right, TOP] = trees.numbers[node, TOP]
        trees.numbers[right, TOLD] = trees.numbers[node, TOLD]
        trees.numbers[node, TOP] = border
        trees.numbers[node, TOLD] = border_told
        trees.numbers[right, BASE] = border
        parent = trees.links[node, PARENT]
        if parent < 0:
            parent = _new_node(trees)
            trees.links[parent, LEAF_OF] = -1
            trees.links[parent, PARENT] = -1
            trees.links[parent, SIZE] = 1
            trees.links[parent, CHILD] = node
            trees.numbers[parent, TOTAL] = trees.numbers[node, TOTAL] + moved
            trees.numbers[parent, BASE] = trees.numbers[node, BASE]
            trees.numbers[parent, TOP] = trees.numbers[right, TOP]
            trees.numbers[parent, TOLD] = trees.numbers[right, TOLD]
            trees.links[node, PARENT] = parent
            trees.heads[tree, ROOT] = parent
        trees.links[right, PARENT] = parent
        at = trees.links[parent, SIZE]
        while trees.links[parent, CHILD + at - 1] != node:
            trees.links[parent, CHILD + at] = trees.links[parent, CHILD + at - 1]
            at -= 1
        trees.links[parent, CHILD + at] = right
        trees.links[parent, SIZE] += 1
        if trees.links[parent, SIZE] <= FAN:
            return
        node, right = parent, _new_node(trees)
        half = trees.links[node, SIZE] // 2
        moved = 0.0
        for i in range(half, trees.links[node, SIZE]):
            below = trees.links[node, CHILD + i]
            trees.links[right, CHILD + i - half] = below
            trees.links[below, PARENT] = right
            moved += trees.numbers[below, TOTAL]
        trees.links[right, LEAF_OF] = -1
        trees.links[right, SIZE] = trees.links[node, SIZE] - half
        trees.links[node, SIZE] = half
        below = trees.links[node, CHILD + half - 1]
        border, border_told = trees.numbers[below, TOP], trees.numbers[below, TOLD]


@routine
def insert_outcomes(trees, first_tree, felt, raw, counts, start):
    """Add outcomes from `start` on: gains to the first tree, losses mirrored to the next, zeros with them.

    A zero lies at the bottom of the losses, below every gap: it is kept, and adds nothing.

    Returns where it stopped for want of room, or how many there are.
    """
    for i in range(start, felt.size):
        if not has_room(trees):
            return i
        insert_outcome(trees, first_tree + (felt[i] <= 0.0), abs(felt[i]), raw[i], counts[i])
    return felt.size


@routine
def remove_outcome(trees, tree, value, raw):
    """Take one sample of an outcome back; False if there is none. An outcome of count 0 stays, harmless."""
    told = _mirrored(tree, raw)
    node = trees.heads[tree, ROOT]
    while trees.links[node, LEAF_OF] < 0:
        node = trees.links[node, CHILD + _child_for(trees, node, value, told)]
    leaf, i = trees.links[node, LEAF_OF], _place_in(trees, tree, node, value, told)
    if not _is_at(trees, tree, node, i, value, raw) or count_at(trees, node, leaf, i) == 0:
        return False
    if trees.links[node, PLAIN]:
        _fill_in(trees, tree, node, leaf)
    trees.counts[leaf, i] -= 1
    while node >= 0:
        trees.numbers[node, TOTAL] -= 1.0
        trees.numbers[node, STALE] = 1.0
        node = trees.links[node, PARENT]
    return True


@routine
def count_beyond(trees, tree, value, raw, inclusive):
    """How many samples of a tree come after an outcome in its order, or are that outcome, if `inclusive`."""
    told = _mirrored(tree, raw)
    node = trees.heads[tree, ROOT]
    beyond = 0.0
    while trees.links[node, LEAF_OF] < 0:
        at = _child_for(trees, node, value, told)
        for i in range(at + 1, trees.links[node, SIZE]):
            beyond += trees.numbers[trees.links[node, CHILD + i], TOTAL]
        node = trees.links[node, CHILD + at]
    leaf, first = trees.links[node, LEAF_OF], _place_in(trees, tree, node, value, told)
    if not inclusive and _is_at(trees, tree, node, first, value, raw):
        first += 1
    for i in range(first, trees.links[node, SIZE]):
        beyond += count_at(trees, node, leaf, i)
    return int(beyond)


@routine
def _find_rank(trees, tree, rank):
    """The node and the place in its leaf of the outcome that `rank` samples reach; 1 is the largest."""
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
    return _raw_at(trees, tree, node, trees.links[node, LEAF_OF], i)


def with_outcomes(trees: Trees, first_tree: int, felt: FloatArray, raw: FloatArray, counts: IntArray) -> Trees:
    """The trees with more outcomes, grown as needed."""
    done = 0
    while done < felt.size:
        done = insert_outcomes(trees, first_tree, felt, raw, counts, done)
        if done < felt.size:
            trees = grown_trees(trees)
    return trees


def outcomes_of(trees: Trees, tree: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """The outcomes of a tree, ascending: as felt, in the user's units, and how often each was seen."""
    felt, raw, counts = [], [], []
    stack = [int(trees.heads[tree, ROOT])]
    while stack:
        links = trees.links[stack.pop()]
        leaf, size = int(links[LEAF_OF]), int(links[SIZE])
        if leaf < 0:
            stack.extend(links[CHILD : CHILD + size][::-1].tolist())
            continue
        here = trees.outcomes[leaf, :size]
        felt.append(here)
        if links[PLAIN]:
            raw.append(here if tree % 2 == 0 else 0.0 - here)
            counts.append(np.ones(size, dtype=np.int64))
        else:
            raw.append(trees.raw[leaf, :size])
            counts.append(trees.counts[leaf, :size])
    seen = np.concatenate(counts)
    present = seen > 0
    return np.concatenate(felt)[present], np.concatenate(raw)[present], seen[present]


def samples_of(trees: Trees, tree: int) -> int:
    """How many samples a tree holds."""
    return int(trees.numbers[trees.heads[tree, ROOT], TOTAL])
