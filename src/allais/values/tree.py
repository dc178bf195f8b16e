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

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from allais._kernels import kernel
from allais.errors import FloatArray, IntArray
from allais.values.curve import weigh

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
    """Trees in shared arrays."""

    values: FloatArray  # distinct outcomes of each leaf, ascending; (leaves, LEAF + 1)
    raw: FloatArray  # the same in the user's units
    counts: IntArray  # how often each was seen
    leaf: IntArray  # a node's leaf, or -1 for an inner node; (nodes,)
    size: IntArray  # how many outcomes, or children, a node has
    child: IntArray  # ascending; (nodes, FAN + 1)
    parent: IntArray  # -1 for a root
    total: IntArray  # how many samples lie below a node
    base: FloatArray  # where a node's first gap begins: the outcome before its first
    top: FloatArray  # a node's last outcome
    dirty: Any  # whether `weights` is out of date
    weights: FloatArray  # the block compressed onto its nodes; (nodes, Q)
    roots: IntArray  # (trees,)
    distinct: IntArray  # how many outcomes each tree holds, (trees,)
    used: IntArray  # nodes and leaves in use, (2,)
    stack: IntArray  # scratch, (2, depth)
    nodes: FloatArray  # Chebyshev nodes, (Q,)
    to_weights: FloatArray  # (Q, Q)
    scratch: FloatArray  # (Q,)


def new_forest(trees: int, leaves: int = 8) -> Forest:
    """Empty trees, with room for some leaves beyond one each."""
    nodes = 2 * (trees + leaves) + MARGIN
    fixed = (
        np.arange(trees, dtype=np.int64),
        np.zeros(trees, dtype=np.int64),
        np.array([trees, trees], dtype=np.int64),
        np.zeros((2, 16 * MARGIN), dtype=np.int64),
        NODES.copy(),
        TO_WEIGHTS.copy(),
        np.zeros(Q),
    )
    forest = Forest(*(*_arrays(nodes, trees + leaves), *fixed))
    forest.leaf[:trees] = np.arange(trees)
    return forest


def _arrays(nodes: int, leaves: int) -> tuple[Any, ...]:
    return (
        np.zeros((leaves, LEAF + 1)),
        np.zeros((leaves, LEAF + 1)),
        np.zeros((leaves, LEAF + 1), dtype=np.int64),
        np.full(nodes, -1, dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros((nodes, FAN + 1), dtype=np.int64),
        np.full(nodes, -1, dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes),
        np.zeros(nodes),
        np.ones(nodes, dtype=np.bool_),
        np.zeros((nodes, Q)),
    )


def grown_forest(forest: Forest) -> Forest:
    """The same trees with twice the room."""
    leaves, nodes = 2 * forest.values.shape[0], 2 * forest.leaf.size
    wider = _arrays(nodes, leaves)
    for new, old in zip(wider, forest, strict=False):
        new[: old.shape[0]] = old
    return forest._replace(**dict(zip(Forest._fields, wider, strict=False)))


@kernel
def has_room(forest):
    """Whether one more outcome fits, whatever it splits."""
    nodes_left = forest.leaf.size - forest.used[0]
    return nodes_left > MARGIN and forest.used[1] < forest.values.shape[0]


@kernel
def plant(forest, tree, value, raw, count):
    """Add an outcome, `count` times, to a tree; the caller has made sure that there is room."""
    node = forest.roots[tree]
    while True:  # into the leaf of its successor, so that no other leaf's first gap changes
        forest.total[node] += count
        forest.dirty[node] = True
        if forest.size[node] == 0 or value > forest.top[node]:
            forest.top[node] = value
        if forest.leaf[node] >= 0:
            break
        last = forest.size[node] - 1
        at = 0
        while at < last and forest.top[forest.child[node, at]] < value:
            at += 1
        node = forest.child[node, at]
    leaf = forest.leaf[node]
    size = forest.size[node]
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if forest.values[leaf, middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < size and forest.values[leaf, low] == value:
        forest.counts[leaf, low] += count
        return
    for i in range(size, low, -1):
        forest.values[leaf, i] = forest.values[leaf, i - 1]
        forest.raw[leaf, i] = forest.raw[leaf, i - 1]
        forest.counts[leaf, i] = forest.counts[leaf, i - 1]
    forest.values[leaf, low] = value
    forest.raw[leaf, low] = raw
    forest.counts[leaf, low] = count
    forest.size[node] = size + 1
    forest.distinct[tree] += 1
    if size + 1 > LEAF:
        _split_leaf(forest, tree, node)


@kernel
def _new_node(forest):
    node = forest.used[0]
    forest.used[0] += 1
    forest.dirty[node] = True
    return node


@kernel
def _split_leaf(forest, tree, node):
    leaf = forest.leaf[node]
    other, right = forest.used[1], _new_node(forest)
    forest.used[1] += 1
    half = forest.size[node] // 2
    moved = 0
    for i in range(half, forest.size[node]):
        forest.values[other, i - half] = forest.values[leaf, i]
        forest.raw[other, i - half] = forest.raw[leaf, i]
        forest.counts[other, i - half] = forest.counts[leaf, i]
        moved += forest.counts[leaf, i]
    forest.leaf[right] = other
    forest.size[right] = forest.size[node] - half
    forest.size[node] = half
    _part(forest, tree, node, right, moved, forest.values[leaf, half - 1])


@kernel
def _part(forest, tree, node, right, moved, border):
    """Let `right` take over what lies above `border`, and hang it beside `node`, splitting upwards."""
    while True:
        forest.total[right] = moved
        forest.total[node] -= moved
        forest.top[right] = forest.top[node]
        forest.top[node] = border
        forest.base[right] = border
        parent = forest.parent[node]
        if parent < 0:
            parent = _new_node(forest)
            forest.leaf[parent] = -1
            forest.parent[parent] = -1
            forest.size[parent] = 1
            forest.child[parent, 0] = node
            forest.total[parent] = forest.total[node] + moved
            forest.base[parent] = forest.base[node]
            forest.top[parent] = forest.top[right]
            forest.parent[node] = parent
            forest.roots[tree] = parent
        forest.parent[right] = parent
        at = forest.size[parent]
        while forest.child[parent, at - 1] != node:
            forest.child[parent, at] = forest.child[parent, at - 1]
            at -= 1
        forest.child[parent, at] = right
        forest.size[parent] += 1
        if forest.size[parent] <= FAN:
            return
        node, right = parent, _new_node(forest)
        half = forest.size[node] // 2
        moved = 0
        for i in range(half, forest.size[node]):
            below = forest.child[node, i]
            forest.child[right, i - half] = below
            forest.parent[below] = right
            moved += forest.total[below]
        forest.leaf[right] = -1
        forest.size[right] = forest.size[node] - half
        forest.size[node] = half
        border = forest.top[forest.child[node, half - 1]]


@kernel
def uproot(forest, tree, value):
    """Take one sample of an outcome back; False if there is none. An outcome of count 0 stays, harmless."""
    node = forest.roots[tree]
    while forest.leaf[node] < 0:
        last = forest.size[node] - 1
        at = 0
        while at < last and forest.top[forest.child[node, at]] < value:
            at += 1
        node = forest.child[node, at]
    leaf = forest.leaf[node]
    for i in range(forest.size[node]):
        if forest.values[leaf, i] == value and forest.counts[leaf, i] > 0:
            forest.counts[leaf, i] -= 1
            while node >= 0:
                forest.total[node] -= 1
                forest.dirty[node] = True
                node = forest.parent[node]
            return True
    return False


@kernel
def _compress(forest, node):
    """Set a node's weights from its outcomes, or from its children's weights."""
    moments = forest.scratch
    for j in range(Q):
        moments[j] = 0.0
    n = forest.total[node]
    seen = 0  # samples at or above, inside the node
    if forest.leaf[node] >= 0:
        leaf = forest.leaf[node]
        for i in range(forest.size[node] - 1, -1, -1):
            seen += forest.counts[leaf, i]
            before = forest.values[leaf, i - 1] if i > 0 else forest.base[node]
            _accumulate(moments, forest.values[leaf, i] - before, 2.0 * seen / n - 1.0)
    else:
        for i in range(forest.size[node] - 1, -1, -1):
            below = forest.child[node, i]
            m = forest.total[below]
            if m == 0:
                _accumulate(moments, forest.top[below] - forest.base[below], 2.0 * seen / n - 1.0)
            else:
                for q in range(Q):
                    at = seen + 0.5 * m * (1.0 + forest.nodes[q])
                    _accumulate(moments, forest.weights[below, q], 2.0 * at / n - 1.0)
            seen += m
    for q in range(Q):
        weight = 0.0
        for j in range(Q):
            weight += forest.to_weights[q, j] * moments[j]
        forest.weights[node, q] = weight
    forest.dirty[node] = False


@kernel
def _accumulate(moments, gap, x):
    """moments_j += gap T_j(x)."""
    previous, current = 1.0, x
    moments[0] += gap
    moments[1] += gap * x
    for j in range(2, Q):
        previous, current = current, 2.0 * x * current - previous
        moments[j] += gap * current


@kernel
def _refresh(forest, node, free):
    """Compress a node and whatever below it is out of date; the stack is free from `free` on."""
    depth = free
    forest.stack[0, depth] = node
    while depth >= free:
        current = forest.stack[0, depth]
        stale = -1
        if forest.leaf[current] < 0:
            for i in range(forest.size[current]):
                below = forest.child[current, i]
                if forest.dirty[below] and forest.total[below] > 0:
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


@kernel
def harvest(forest, tree, curve, singular, samples, shift, edge):
    """The sum of (gap up to `edge`) * w(c / samples + shift), over the outcomes of a tree.

    `singular` are the singular points of w; with a shift, 0 and 1 must be among them, since w is
    clipped there. Cost: O(log samples) weights.
    """
    result = 0.0
    depth = 0
    forest.stack[0, 0] = forest.roots[tree]
    forest.stack[1, 0] = 0
    while depth >= 0:
        node, above = forest.stack[0, depth], forest.stack[1, depth]
        depth -= 1
        n = forest.total[node]
        if forest.size[node] == 0 or forest.base[node] >= edge:
            continue
        if n == 0:
            result += (min(forest.top[node], edge) - forest.base[node]) * weigh(curve, above / samples + shift)
            continue
        leaf = forest.leaf[node]
        small = leaf >= 0 and forest.size[node] <= Q
        if not small and forest.top[node] <= edge and _is_smooth(singular, above, n, samples, shift):
            if forest.dirty[node]:
                _refresh(forest, node, depth + 1)
            for q in range(Q):
                at = above + 0.5 * n * (1.0 + forest.nodes[q])
                result += forest.weights[node, q] * weigh(curve, at / samples + shift)
        elif leaf >= 0:
            seen = above
            for i in range(forest.size[node] - 1, -1, -1):
                seen += forest.counts[leaf, i]
                before = forest.values[leaf, i - 1] if i > 0 else forest.base[node]
                gap = min(forest.values[leaf, i], edge) - min(before, edge)
                if gap > 0.0:
                    result += gap * weigh(curve, seen / samples + shift)
        else:
            seen = above
            for i in range(forest.size[node] - 1, -1, -1):
                below = forest.child[node, i]
                depth += 1
                forest.stack[0, depth] = below
                forest.stack[1, depth] = seen
                seen += forest.total[below]
    return result


@kernel
def count_above(forest, tree, value):
    """How many samples of a tree lie above a value."""
    node = forest.roots[tree]
    above = 0
    while forest.leaf[node] < 0:
        at = 0
        last = forest.size[node] - 1
        while at < last and forest.top[forest.child[node, at]] <= value:
            at += 1
        for i in range(at + 1, last + 1):
            above += forest.total[forest.child[node, i]]
        node = forest.child[node, at]
    leaf = forest.leaf[node]
    for i in range(forest.size[node]):
        if forest.values[leaf, i] > value:
            above += forest.counts[leaf, i]
    return above


@kernel
def nth_from_top(forest, tree, rank):
    """The outcome that `rank` samples reach (1 is the largest), in the user's units."""
    node = forest.roots[tree]
    left = rank
    while forest.leaf[node] < 0:
        i = forest.size[node] - 1
        while i > 0 and left > forest.total[forest.child[node, i]]:
            left -= forest.total[forest.child[node, i]]
            i -= 1
        node = forest.child[node, i]
    leaf = forest.leaf[node]
    i = forest.size[node] - 1
    while i > 0 and left > forest.counts[leaf, i]:
        left -= forest.counts[leaf, i]
        i -= 1
    return forest.raw[leaf, i]


def outcomes_of(forest: Forest, tree: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """The outcomes of a tree, ascending: as felt, in the user's units, and how often each was seen."""
    order: list[int] = []
    stack = [int(forest.roots[tree])]
    while stack:
        node = stack.pop()
        if forest.leaf[node] >= 0:
            order.append(node)
        else:
            stack.extend(forest.child[node, : forest.size[node]][::-1].tolist())
    parts = [(forest.leaf[node], slice(forest.size[node])) for node in order]
    values = np.concatenate([forest.values[leaf, part] for leaf, part in parts])
    raw = np.concatenate([forest.raw[leaf, part] for leaf, part in parts])
    counts = np.concatenate([forest.counts[leaf, part] for leaf, part in parts])
    present = counts > 0
    return values[present], raw[present], counts[present]
