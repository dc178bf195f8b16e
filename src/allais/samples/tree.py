"""One tree of outcomes in compiled code: insert, remove, and its distorted value (`samples/trees.py` has the arrays).

The value never slows down. The gain part of an empirical distribution is a sum over its distinct gains x_1 < x_2 < ...:

    mu+ = sum_i (x_i - x_{i-1}) w(c_i / l),     c_i = how many samples are at least x_i.

Every new sample changes every argument of w, so the plain sum costs O(l). But inside a block of
neighbouring outcomes, c_i less the number of samples above the block never changes when samples arrive
elsewhere. So a block of n samples is compressed to its moments over [0, n], which is exact for polynomials,
and blocks are joined into larger blocks, in a balanced tree. A block is used where one polynomial gives w over all
of it (`numerics/table.py`): where the block is small against its distance from every singular point of w,
counted in samples. Elsewhere its parts are used. So a value takes O(log l).
"""

from __future__ import annotations

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel, late, loose_kernel, routine
from allais.numerics.table import (
    BLOCK_TERMS,
    INVERSE_FACTORIALS,
    SCRATCH,
    moved_moment,
    piece_over,
    view_from,
    weigh,
    weigh_block,
)
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
    MOMENT,
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
    child_for,
    comes_before,
    count_at,
    grown_trees,
    is_at,
    mirrored,
    place_in,
    raw_at,
)


@kernel
def has_room(trees):
    """Whether one more outcome fits, however many nodes it splits."""
    nodes_left = trees.links.shape[0] - trees.used[NODES]
    return nodes_left > MARGIN and trees.used[LEAVES] < trees.outcomes.shape[0]


@routine
def _fill_in(trees, tree, node, leaf):
    """Write down the counts and the raw outcomes of a leaf that was plain."""
    for i in range(trees.links[node, SIZE]):
        trees.raw[leaf, i] = mirrored(tree, trees.outcomes[leaf, i])
        trees.counts[leaf, i] = 1
    trees.links[node, PLAIN] = 0
    trees.used[FULL] += 1


@late(None)
def insert_outcome(trees, tree, value, raw, count):
    """Add an outcome, `count` times, to a tree; the caller has made sure that there is room."""
    told = mirrored(tree, raw)
    node = trees.heads[tree, ROOT]
    while True:  # into the leaf of its successor, so that no other leaf's first gap changes
        numbers = trees.numbers[node]
        numbers[TOTAL] += count
        numbers[STALE] = 1.0
        if trees.links[node, SIZE] == 0 or comes_before(numbers[TOP], numbers[TOLD], value, told):
            numbers[TOP] = value
            numbers[TOLD] = told
        if trees.links[node, LEAF_OF] >= 0:
            break
        node = trees.links[node, CHILD + child_for(trees, node, value, told)]
    leaf = trees.links[node, LEAF_OF]
    size = trees.links[node, SIZE]
    low = place_in(trees, tree, node, value, told)
    known = is_at(trees, tree, node, low, value, raw)
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
    border_told = mirrored(tree, raw_at(trees, tree, node, leaf, half - 1))
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
def insert_outcomes(trees, first_tree, utility, raw, counts, start):
    """Add outcomes from `start` on: gains to the first tree, losses mirrored to the next, zeros with the losses.

    A zero lies at the bottom of the losses, below every gap: it is kept, and adds nothing.

    Returns the index at which it stopped for want of room, or the number of outcomes.
    """
    for i in range(start, utility.size):
        if not has_room(trees):
            return i
        insert_outcome(trees, first_tree + (utility[i] <= 0.0), abs(utility[i]), raw[i], counts[i])
    return utility.size


@late(bool)
def remove_outcome(trees, tree, value, raw):
    """Take one sample of an outcome back; False if there is none. An outcome with count 0 stays in the tree."""
    told = mirrored(tree, raw)
    node = trees.heads[tree, ROOT]
    while trees.links[node, LEAF_OF] < 0:
        node = trees.links[node, CHILD + child_for(trees, node, value, told)]
    leaf, i = trees.links[node, LEAF_OF], place_in(trees, tree, node, value, told)
    if not is_at(trees, tree, node, i, value, raw) or count_at(trees, node, leaf, i) == 0:
        return False
    if trees.links[node, PLAIN]:
        _fill_in(trees, tree, node, leaf)
    trees.counts[leaf, i] -= 1
    while node >= 0:
        trees.numbers[node, TOTAL] -= 1.0
        trees.numbers[node, STALE] = 1.0
        node = trees.links[node, PARENT]
    return True


def with_outcomes(trees: Trees, first_tree: int, utility: FloatArray, raw: FloatArray, counts: IntArray) -> Trees:
    """The trees with more outcomes, grown as needed."""
    done = 0
    while done < utility.size:
        done = insert_outcomes(trees, first_tree, utility, raw, counts, done)
        if done < utility.size:
            trees = grown_trees(trees)
    return trees


FEW = 4  # outcomes of a leaf that are weighed one by one at no more than a block's cost


@routine
def _compress(trees, node):
    """Set a node's moments from its outcomes, or from its children's moments."""
    scratch = trees.scratch
    moments = trees.numbers[node]
    per_sample = 2.0 / moments[TOTAL]
    seen = 0.0  # samples at or above, inside the node
    if trees.links[node, LEAF_OF] >= 0:
        leaf, size = trees.links[node, LEAF_OF], trees.links[node, SIZE]
        for i in range(size - 1, -1, -1):
            seen += count_at(trees, node, leaf, i)
            before = trees.outcomes[leaf, i - 1] if i > 0 else moments[BASE]
            scratch[SCRATCH + i] = trees.outcomes[leaf, i] - before
            scratch[SCRATCH + LEAF + 1 + i] = per_sample * seen - 1.0
        for j in range(BLOCK_TERMS):
            moments[MOMENT + j] = INVERSE_FACTORIALS[j] * _next_moment(scratch, size)
    else:
        for j in range(BLOCK_TERMS):
            moments[MOMENT + j] = 0.0
        for i in range(trees.links[node, SIZE] - 1, -1, -1):
            below = trees.numbers[trees.links[node, CHILD + i]]
            half = 0.5 * per_sample * below[TOTAL]
            centre = per_sample * seen - 1.0 + half
            if half > 0.0:
                view_from(scratch, below, MOMENT, centre, half)
                for j in range(BLOCK_TERMS):
                    moments[MOMENT + j] += moved_moment(scratch, j)
            else:
                power = below[TOP] - below[BASE]
                for j in range(BLOCK_TERMS):
                    moments[MOMENT + j] += INVERSE_FACTORIALS[j] * power
                    power *= centre
            seen += below[TOTAL]
    moments[STALE] = 0.0


@loose_kernel
def _next_moment(scratch, size):
    """The sum of gap x^j over the outcomes of a leaf; the j-th call finds gap x^j where the gaps were."""
    total = 0.0
    for i in range(size):
        total += scratch[SCRATCH + i]
        scratch[SCRATCH + i] *= scratch[SCRATCH + LEAF + 1 + i]
    return total


@routine
def _refresh(trees, node, free):
    """Compress a node and whatever below it is out of date; the stack is free from `free` on."""
    depth = free
    trees.stack[0, depth] = node
    while depth >= free:
        current = trees.stack[0, depth]
        stale = -1
        if trees.links[current, LEAF_OF] < 0:
            for i in range(trees.links[current, SIZE]):
                below = trees.links[current, CHILD + i]
                if trees.numbers[below, STALE] and trees.numbers[below, TOTAL] > 0:
                    stale = below
        if stale >= 0:
            depth += 1
            trees.stack[0, depth] = stale
        else:
            _compress(trees, current)
            depth -= 1


@late(float)
def tree_value(trees, tree, distortion, samples, shift, edge):
    """The sum of (gap up to `edge`) * w(c / samples + shift), over the outcomes of a tree.

    w is clipped at 0 and 1. Cost: O(log samples) blocks.
    """
    table = distortion.table
    result = 0.0
    depth = 0
    trees.stack[0, 0] = trees.heads[tree, ROOT]
    trees.stack[1, 0] = 0
    while depth >= 0:
        node, above = trees.stack[0, depth], trees.stack[1, depth]
        depth -= 1
        n = trees.numbers[node, TOTAL]
        if trees.links[node, SIZE] == 0 or trees.numbers[node, BASE] >= edge:
            continue
        if n == 0:
            result += (min(trees.numbers[node, TOP], edge) - trees.numbers[node, BASE]) * weigh(
                table, above / samples + shift
            )
            continue
        leaf = trees.links[node, LEAF_OF]
        centre, half = (above + 0.5 * n) / samples + shift, 0.5 * n / samples
        piece = -1
        if (leaf < 0 or trees.links[node, SIZE] > FEW) and trees.numbers[node, TOP] <= edge:
            piece = piece_over(distortion, centre, half)
        if piece >= 0:
            if trees.numbers[node, STALE]:
                _refresh(trees, node, depth + 1)
            result += weigh_block(distortion, piece, trees.scratch, trees.numbers[node], MOMENT, centre, half)
        elif leaf >= 0:
            seen = float(above)
            for i in range(trees.links[node, SIZE] - 1, -1, -1):
                seen += count_at(trees, node, leaf, i)
                before = trees.outcomes[leaf, i - 1] if i > 0 else trees.numbers[node, BASE]
                gap = min(trees.outcomes[leaf, i], edge) - min(before, edge)
                if gap > 0.0:
                    result += gap * weigh(table, seen / samples + shift)
        else:
            seen = float(above)
            for i in range(trees.links[node, SIZE] - 1, -1, -1):
                below = trees.links[node, CHILD + i]
                depth += 1
                trees.stack[0, depth] = below
                trees.stack[1, depth] = int(seen)
                seen += trees.numbers[below, TOTAL]
    return result
