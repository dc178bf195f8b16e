"""A distorted value that never slows down: sums over trees of outcomes.

The gain part of an empirical distribution is a sum over its distinct gains x_1 < x_2 < ...:

    mu+ = sum_i (x_i - x_{i-1}) w(c_i / l),     c_i = how many samples are at least x_i.

Every new sample changes every argument of w, so the plain sum costs O(l). But inside a block of
neighbouring outcomes, c_i less the number of samples above the block never changes when samples arrive
elsewhere. So a block of n samples is compressed to its moments over [0, n], which is exact for polynomials,
and blocks are joined into larger blocks, in a balanced tree. A block is used where one polynomial gives w over all
of it (`numerics/distortion.py`): where the block is small against its distance from every singular point of w,
counted in samples. Elsewhere its parts are used. So a value takes O(log l).
"""

from __future__ import annotations

from allais._kernels import late, loose_kernel, routine
from allais.numerics.distortion import (
    INVERSE_FACTORIALS,
    SCRATCH,
    TERMS,
    moved_moment,
    piece_over,
    view_from,
    weigh_block,
)
from allais.numerics.table import weigh
from allais.samples.trees import BASE, CHILD, LEAF, LEAF_OF, MOMENT, ROOT, SIZE, STALE, TOP, TOTAL, count_at

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
        for j in range(TERMS):
            moments[MOMENT + j] = INVERSE_FACTORIALS[j] * _next_moment(scratch, size)
    else:
        for j in range(TERMS):
            moments[MOMENT + j] = 0.0
        for i in range(trees.links[node, SIZE] - 1, -1, -1):
            below = trees.numbers[trees.links[node, CHILD + i]]
            half = 0.5 * per_sample * below[TOTAL]
            centre = per_sample * seen - 1.0 + half
            if half > 0.0:
                view_from(scratch, below, MOMENT, centre, half)
                for j in range(TERMS):
                    moments[MOMENT + j] += moved_moment(scratch, j)
            else:
                power = below[TOP] - below[BASE]
                for j in range(TERMS):
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
