"""Trees of outcomes whose distorted value never slows down.

The gain part of an empirical law is a sum over its distinct gains x_1 < x_2 < ...:

    mu+ = sum_i (x_i - x_{i-1}) w(c_i / l),     c_i = how many samples are at least x_i.

Every new sample changes every argument of w, so the plain sum costs O(l). But inside a block of
neighbouring outcomes, c_i minus the block's own count from above never changes when samples arrive
elsewhere. A block of n samples is compressed onto Q Chebyshev nodes of [0, n], exactly for
polynomials of degree below Q, and blocks onto larger blocks, in a balanced tree. A block is used
where w is smooth over it, that is, where its half-width is at most SEPARATION times its distance from
every singular point of w, counted in samples; else its parts are. So a value takes O(log l) weights.

Nodes live in arrays that grow in Python; outcomes of gains and of (mirrored) losses in two trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from allais._kernels import kernel, routine
from allais.errors import FloatArray, IntArray
from allais.values.curve import weigh
from allais.weights import Weight

Q = 12  # Chebyshev nodes: a block in the worst allowed place is right to 3e-14
SEPARATION = 0.2  # half-width of a block over its distance from a singular point, at most
LEAF = 32  # distinct outcomes of a leaf, at most
FAN = 3  # children of a node, at most
MARGIN = 64  # nodes that one insertion may need at most: twice the depth of any tree that fits memory

NODES = chebyshev.chebpts1(Q)
# moments sum gap T_j(x) -> weights at the nodes
TO_WEIGHTS = np.array(
    [[(1.0 if j == 0 else 2.0) / Q * np.cos(j * np.arccos(x)) for j in range(Q)] for x in NODES]
)  # fmt: skip


class Forest(NamedTuple):
    """Trees in shared arrays; few of them, a row a node, since each array costs when code is compiled."""

    links: IntArray  # what a node is and where it hangs, (nodes, CHILD + FAN + 1)
    numbers: FloatArray  # where a node lies, and the weights it is compressed to; (nodes, WEIGHT + Q)
    outcomes: FloatArray  # of each leaf: distinct, ascending, as felt; and in the user's units from RAW on
    counts: IntArray  # how often each outcome was seen, (leaves, LEAF + 1)
    trees: IntArray  # root and number of distinct outcomes, (trees, 2)
    used: IntArray  # nodes and leaves in use, (2,)
    stack: IntArray  # scratch, (2, depth)
    scratch: FloatArray  # (Q,)


# Columns of `links`: a node's leaf (-1 for an inner node), how many outcomes or children it has, its
# parent (-1 for a root), how many samples lie below it, whether its weights are out of date, and its
# children, ascending.
LEAF_OF, SIZE, PARENT, TOTAL, STALE, CHILD = 0, 1, 2, 3, 4, 5
# Columns of `numbers`: where a node's first gap begins (the outcome before its first), its last outcome,
# and its weights at the Chebyshev nodes.
BASE, TOP, WEIGHT = 0, 1, 2
RAW = LEAF + 1  # columns of `outcomes` from here on are in the user's units
ROOT, DISTINCT = 0, 1  # columns of `trees`


def new_forest(trees: int, leaves: int = 8) -> Forest:
    """Empty trees, with room for some leaves beyond one each."""
    roots = np.arange(trees, dtype=np.int64)
    forest = Forest(
        *_arrays(2 * (trees + leaves) + MARGIN, trees + leaves),
        np.stack([roots, 0 * roots], axis=1),
        np.array([trees, trees], dtype=np.int64),
        np.zeros((2, 16 * MARGIN), dtype=np.int64),
        np.zeros(Q),
    )
    forest.links[:trees, LEAF_OF] = roots
    return forest


def _arrays(nodes: int, leaves: int) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    links = np.zeros((nodes, CHILD + FAN + 1), dtype=np.int64)
    links[:, LEAF_OF] = links[:, PARENT] = -1
    links[:, STALE] = 1
    return links, np.zeros((nodes, WEIGHT + Q)), np.zeros((leaves, 2 * RAW)), np.zeros((leaves, RAW), dtype=np.int64)


def grown_forest(forest: Forest) -> Forest:
    """The same trees with twice the room."""
    wider = _arrays(2 * forest.links.shape[0], 2 * forest.outcomes.shape[0])
    for new, old in zip(wider, forest[:4], strict=True):
        new[: old.shape[0]] = old
    return Forest(*wider, *forest[4:])


def singular_points(weight: Weight, *, clipped: bool = False) -> FloatArray:
    """The singular points of a weight; with 0 and 1 where it is shifted, and so clipped there."""
    points = {*weight.singularities, *((0.0, 1.0) if clipped else ())}
    # a weight without any is smooth everywhere: a point far away changes nothing
    return np.array(sorted(points) or [1e9])


def with_trees(forest: Forest, trees: int) -> Forest:
    """The same trees and empty ones after them, `trees` in all."""
    more = trees - forest.trees.shape[0]
    while forest.links.shape[0] - forest.used[0] <= more + MARGIN or forest.outcomes.shape[0] - forest.used[1] <= more:
        forest = grown_forest(forest)
    new = np.arange(forest.used[0], forest.used[0] + more)
    forest.links[new, LEAF_OF] = np.arange(forest.used[1], forest.used[1] + more)
    forest.used[:] += more
    return forest._replace(trees=np.append(forest.trees, np.stack([new, 0 * new], axis=1), axis=0))


@kernel
def has_room(forest):
    """Whether one more outcome fits, whatever it splits."""
    nodes_left = forest.links.shape[0] - forest.used[0]
    return nodes_left > MARGIN and forest.used[1] < forest.outcomes.shape[0]


@routine
def plant(forest, tree, value, raw, count):
    """Add an outcome, `count` times, to a tree; the caller has made sure that there is room."""
    node = forest.trees[tree, ROOT]
    while True:  # into the leaf of its successor, so that no other leaf's first gap changes
        forest.links[node, TOTAL] += count
        forest.links[node, STALE] = 1
        if forest.links[node, SIZE] == 0 or value > forest.numbers[node, TOP]:
            forest.numbers[node, TOP] = value
        if forest.links[node, LEAF_OF] >= 0:
            break
        last = forest.links[node, SIZE] - 1
        at = 0
        while at < last and forest.numbers[forest.links[node, CHILD + at], TOP] < value:
            at += 1
        node = forest.links[node, CHILD + at]
    leaf = forest.links[node, LEAF_OF]
    size = forest.links[node, SIZE]
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        other = forest.outcomes[leaf, middle]
        if other < value or (other == value and forest.outcomes[leaf, RAW + middle] < raw):
            low = middle + 1
        else:
            high = middle
    if low < size and forest.outcomes[leaf, low] == value and forest.outcomes[leaf, RAW + low] == raw:
        forest.counts[leaf, low] += count
        return
    for i in range(size, low, -1):
        forest.outcomes[leaf, i] = forest.outcomes[leaf, i - 1]
        forest.outcomes[leaf, RAW + i] = forest.outcomes[leaf, RAW + i - 1]
        forest.counts[leaf, i] = forest.counts[leaf, i - 1]
    forest.outcomes[leaf, low] = value
    forest.outcomes[leaf, RAW + low] = raw
    forest.counts[leaf, low] = count
    forest.links[node, SIZE] = size + 1
    forest.trees[tree, DISTINCT] += 1
    if size + 1 > LEAF:
        _split_leaf(forest, tree, node)


@kernel
def _new_node(forest):
    node = forest.used[0]
    forest.used[0] += 1
    forest.links[node, STALE] = 1
    return node


@routine
def _split_leaf(forest, tree, node):
    leaf = forest.links[node, LEAF_OF]
    other, right = forest.used[1], _new_node(forest)
    forest.used[1] += 1
    half = forest.links[node, SIZE] // 2
    moved = 0
    for i in range(half, forest.links[node, SIZE]):
        forest.outcomes[other, i - half] = forest.outcomes[leaf, i]
        forest.outcomes[other, RAW + i - half] = forest.outcomes[leaf, RAW + i]
        forest.counts[other, i - half] = forest.counts[leaf, i]
        moved += forest.counts[leaf, i]
    forest.links[right, LEAF_OF] = other
    forest.links[right, SIZE] = forest.links[node, SIZE] - half
    forest.links[node, SIZE] = half
    _part(forest, tree, node, right, moved, forest.outcomes[leaf, half - 1])


@routine
def _part(forest, tree, node, right, moved, border):
    """Let `right` take over what lies above `border`, and hang it beside `node`, splitting upwards."""
    while True:
        forest.links[right, TOTAL] = moved
        forest.links[node, TOTAL] -= moved
        forest.numbers[right, TOP] = forest.numbers[node, TOP]
        forest.numbers[node, TOP] = border
        forest.numbers[right, BASE] = border
        parent = forest.links[node, PARENT]
        if parent < 0:
            parent = _new_node(forest)
            forest.links[parent, LEAF_OF] = -1
            forest.links[parent, PARENT] = -1
            forest.links[parent, SIZE] = 1
            forest.links[parent, CHILD + 0] = node
            forest.links[parent, TOTAL] = forest.links[node, TOTAL] + moved
            forest.numbers[parent, BASE] = forest.numbers[node, BASE]
            forest.numbers[parent, TOP] = forest.numbers[right, TOP]
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
        moved = 0
        for i in range(half, forest.links[node, SIZE]):
            below = forest.links[node, CHILD + i]
            forest.links[right, CHILD + i - half] = below
            forest.links[below, PARENT] = right
            moved += forest.links[below, TOTAL]
        forest.links[right, LEAF_OF] = -1
        forest.links[right, SIZE] = forest.links[node, SIZE] - half
        forest.links[node, SIZE] = half
        border = forest.numbers[forest.links[node, CHILD + half - 1], TOP]


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
    depth = 0
    forest.stack[0, 0] = forest.trees[tree, ROOT]
    while depth >= 0:  # outcomes that feel alike may lie in several leaves
        node = forest.stack[0, depth]
        depth -= 1
        if forest.links[node, SIZE] == 0 or forest.numbers[node, TOP] < value or forest.numbers[node, BASE] > value:
            continue
        leaf = forest.links[node, LEAF_OF]
        if leaf < 0:
            for i in range(forest.links[node, SIZE]):
                depth += 1
                forest.stack[0, depth] = forest.links[node, CHILD + i]
            continue
        for i in range(forest.links[node, SIZE]):
            same = forest.outcomes[leaf, i] == value and forest.outcomes[leaf, RAW + i] == raw
            if same and forest.counts[leaf, i] > 0:
                forest.counts[leaf, i] -= 1
                while node >= 0:
                    forest.links[node, TOTAL] -= 1
                    forest.links[node, STALE] = 1
                    node = forest.links[node, PARENT]
                return True
    return False


@routine
def _compress(forest, node):
    """Set a node's weights from its outcomes, or from its children's weights."""
    moments = forest.scratch
    for j in range(Q):
        moments[j] = 0.0
    n = forest.links[node, TOTAL]
    seen = 0  # samples at or above, inside the node
    if forest.links[node, LEAF_OF] >= 0:
        leaf = forest.links[node, LEAF_OF]
        for i in range(forest.links[node, SIZE] - 1, -1, -1):
            seen += forest.counts[leaf, i]
            before = forest.outcomes[leaf, i - 1] if i > 0 else forest.numbers[node, BASE]
            _accumulate(moments, forest.outcomes[leaf, i] - before, 2.0 * seen / n - 1.0)
    else:
        for i in range(forest.links[node, SIZE] - 1, -1, -1):
            below = forest.links[node, CHILD + i]
            m = forest.links[below, TOTAL]
            if m == 0:
                _accumulate(moments, forest.numbers[below, TOP] - forest.numbers[below, BASE], 2.0 * seen / n - 1.0)
            else:
                for q in range(Q):
                    at = seen + 0.5 * m * (1.0 + NODES[q])
                    _accumulate(moments, forest.numbers[below, WEIGHT + q], 2.0 * at / n - 1.0)
            seen += m
    for q in range(Q):
        weight = 0.0
        for j in range(Q):
            weight += TO_WEIGHTS[q, j] * moments[j]
        forest.numbers[node, WEIGHT + q] = weight
    forest.links[node, STALE] = 0


@kernel
def _accumulate(moments, gap, x):
    """moments_j += gap T_j(x)."""
    previous, current = 1.0, x
    moments[0] += gap
    moments[1] += gap * x
    for j in range(2, Q):
        previous, current = current, 2.0 * x * current - previous
        moments[j] += gap * current


@routine
def _refresh(forest, node, free):
    """Compress a node and whatever below it is out of date; the stack is free from `free` on."""
    depth = free
    forest.stack[0, depth] = node
    while depth >= free:
        current = forest.stack[0, depth]
        stale = -1
        if forest.links[current, LEAF_OF] < 0:
            for i in range(forest.links[current, SIZE]):
                below = forest.links[current, CHILD + i]
                if forest.links[below, STALE] and forest.links[below, TOTAL] > 0:
                    stale = below
        if stale >= 0:
            depth += 1
            forest.stack[0, depth] = stale
        else:
            _compress(forest, current)
            depth -= 1


@kernel
def _is_smooth(singular, above, n, samples, shift):
    """Whether w(. + shift) is smooth over the counts from `above` to `above + n`."""
    half = 0.5 * n
    centre = above + half
    nearest = np.inf
    for s in singular:
        nearest = min(nearest, abs(centre - (s - shift) * samples))
    return half <= SEPARATION * nearest


@routine
def harvest(forest, tree, curve, singular, samples, shift, edge):
    """The sum of (gap up to `edge`) * w(c / samples + shift), over the outcomes of a tree.

    `singular` are the singular points of w; with a shift, 0 and 1 must be among them, since w is
    clipped there. Cost: O(log samples) weights.
    """
    result = 0.0
    depth = 0
    forest.stack[0, 0] = forest.trees[tree, ROOT]
    forest.stack[1, 0] = 0
    while depth >= 0:
        node, above = forest.stack[0, depth], forest.stack[1, depth]
        depth -= 1
        n = forest.links[node, TOTAL]
        if forest.links[node, SIZE] == 0 or forest.numbers[node, BASE] >= edge:
            continue
        if n == 0:
            result += (min(forest.numbers[node, TOP], edge) - forest.numbers[node, BASE]) * weigh(
                curve, above / samples + shift
            )
            continue
        leaf = forest.links[node, LEAF_OF]
        small = leaf >= 0 and forest.links[node, SIZE] <= Q
        if not small and forest.numbers[node, TOP] <= edge and _is_smooth(singular, above, n, samples, shift):
            if forest.links[node, STALE]:
                _refresh(forest, node, depth + 1)
            for q in range(Q):
                at = above + 0.5 * n * (1.0 + NODES[q])
                result += forest.numbers[node, WEIGHT + q] * weigh(curve, at / samples + shift)
        elif leaf >= 0:
            seen = above
            for i in range(forest.links[node, SIZE] - 1, -1, -1):
                seen += forest.counts[leaf, i]
                before = forest.outcomes[leaf, i - 1] if i > 0 else forest.numbers[node, BASE]
                gap = min(forest.outcomes[leaf, i], edge) - min(before, edge)
                if gap > 0.0:
                    result += gap * weigh(curve, seen / samples + shift)
        else:
            seen = above
            for i in range(forest.links[node, SIZE] - 1, -1, -1):
                below = forest.links[node, CHILD + i]
                depth += 1
                forest.stack[0, depth] = below
                forest.stack[1, depth] = seen
                seen += forest.links[below, TOTAL]
    return result


@routine
def count_above(forest, tree, value):
    """How many samples of a tree lie above a value."""
    node = forest.trees[tree, ROOT]
    above = 0
    while forest.links[node, LEAF_OF] < 0:
        at = 0
        last = forest.links[node, SIZE] - 1
        while at < last and forest.numbers[forest.links[node, CHILD + at], TOP] <= value:
            at += 1
        for i in range(at + 1, last + 1):
            above += forest.links[forest.links[node, CHILD + i], TOTAL]
        node = forest.links[node, CHILD + at]
    leaf = forest.links[node, LEAF_OF]
    for i in range(forest.links[node, SIZE]):
        if forest.outcomes[leaf, i] > value:
            above += forest.counts[leaf, i]
    return above


@routine
def nth_from_top(forest, tree, rank):
    """The outcome that `rank` samples reach (1 is the largest), in the user's units."""
    node = forest.trees[tree, ROOT]
    left = rank
    while forest.links[node, LEAF_OF] < 0:
        i = forest.links[node, SIZE] - 1
        while i > 0 and left > forest.links[forest.links[node, CHILD + i], TOTAL]:
            left -= forest.links[forest.links[node, CHILD + i], TOTAL]
            i -= 1
        node = forest.links[node, CHILD + i]
    leaf = forest.links[node, LEAF_OF]
    i = forest.links[node, SIZE] - 1
    while i > 0 and left > forest.counts[leaf, i]:
        left -= forest.counts[leaf, i]
        i -= 1
    return forest.outcomes[leaf, RAW + i]


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
        felt.append(forest.outcomes[leaf, :size])
        raw.append(forest.outcomes[leaf, RAW : RAW + size])
        counts.append(forest.counts[leaf, :size])
    seen = np.concatenate(counts)
    present = seen > 0
    return np.concatenate(felt)[present], np.concatenate(raw)[present], seen[present]


def samples_of(forest: Forest, tree: int) -> int:
    """How many samples a tree holds."""
    return int(forest.links[forest.trees[tree, ROOT], TOTAL])


def top_of(forest: Forest, tree: int) -> float:
    """The largest outcome of a tree; 0 if there is none."""
    return float(forest.numbers[forest.trees[tree, ROOT], TOP])
