"""A distorted value that never slows down: sums over trees of outcomes.

The gain part of an empirical law is a sum over its distinct gains x_1 < x_2 < ...:

    mu+ = sum_i (x_i - x_{i-1}) w(c_i / l),     c_i = how many samples are at least x_i.

Every new sample changes every argument of w, so the plain sum costs O(l). But inside a block of
neighbouring outcomes, c_i minus the block's own count from above never changes when samples arrive
elsewhere. So a block of n samples is compressed to its moments over [0, n], exactly for polynomials, and
blocks to larger blocks, in a balanced tree. A block is used where one polynomial gives w over all of it
(`numerics/distortion.py`), which holds where it is small against its distance from every singular point of w,
counted in samples; else its parts are. So a value takes O(log l).
"""

from __future__ import annotations

from allais._kernels import loose_kernel, routine
from allais.numerics.distortion import (
    INVERSE_FACTORIALS,
    SCRATCH,
    TERMS,
    moved_moment,
    patch_over,
    view_from,
    weigh_block,
)
from allais.numerics.table import weigh
from allais.samples.tree import BASE, CHILD, LEAF, LEAF_OF, MOMENT, ROOT, SIZE, STALE, TOP, TOTAL, count_at

FEW = 4  # outcomes of a leaf that are weighed one by one at no more than a block's cost


@routine
def _compress(forest, node):
    """Set a node's moments from its outcomes, or from its children's moments."""
    scratch = forest.scratch
    moments = forest.numbers[node]
    per_sample = 2.0 / moments[TOTAL]
    seen = 0.0  # samples at or above, inside the node
    if forest.links[node, LEAF_OF] >= 0:
        leaf, size = forest.links[node, LEAF_OF], forest.links[node, SIZE]
        for i in range(size - 1, -1, -1):
            seen += count_at(forest, node, leaf, i)
            before = forest.outcomes[leaf, i - 1] if i > 0 else moments[BASE]
            scratch[SCRATCH + i] = forest.outcomes[leaf, i] - before
            scratch[SCRATCH + LEAF + 1 + i] = per_sample * seen - 1.0
        for j in range(TERMS):
            moments[MOMENT + j] = INVERSE_FACTORIALS[j] * _next_moment(scratch, size)
    else:
        for j in range(TERMS):
            moments[MOMENT + j] = 0.0
        for i in range(forest.links[node, SIZE] - 1, -1, -1):
            below = forest.numbers[forest.links[node, CHILD + i]]
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
    """The sum of gap x^j over the outcomes of a leaf; the j-th call finds gap x^j in place of the gaps."""
    total = 0.0
    for i in range(size):
        total += scratch[SCRATCH + i]
        scratch[SCRATCH + i] *= scratch[SCRATCH + LEAF + 1 + i]
    return total


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
                if forest.numbers[below, STALE] and forest.numbers[below, TOTAL] > 0:
                    stale = below
        if stale >= 0:
            depth += 1
            forest.stack[0, depth] = stale
        else:
            _compress(forest, current)
            depth -= 1


@routine
def harvest(forest, tree, distortion, samples, shift, edge):
    """The sum of (gap up to `edge`) * w(c / samples + shift), over the outcomes of a tree.

    w is clipped at 0 and 1. Cost: O(log samples) blocks.
    """
    curve = distortion.curve
    result = 0.0
    depth = 0
    forest.stack[0, 0] = forest.trees[tree, ROOT]
    forest.stack[1, 0] = 0
    while depth >= 0:
        node, above = forest.stack[0, depth], forest.stack[1, depth]
        depth -= 1
        n = forest.numbers[node, TOTAL]
        if forest.links[node, SIZE] == 0 or forest.numbers[node, BASE] >= edge:
            continue
        if n == 0:
            result += (min(forest.numbers[node, TOP], edge) - forest.numbers[node, BASE]) * weigh(
                curve, above / samples + shift
            )
            continue
        leaf = forest.links[node, LEAF_OF]
        centre, half = (above + 0.5 * n) / samples + shift, 0.5 * n / samples
        patch = -1
        if (leaf < 0 or forest.links[node, SIZE] > FEW) and forest.numbers[node, TOP] <= edge:
            patch = patch_over(distortion, centre, half)
        if patch >= 0:
            if forest.numbers[node, STALE]:
                _refresh(forest, node, depth + 1)
            result += weigh_block(distortion, patch, forest.scratch, forest.numbers[node], MOMENT, centre, half)
        elif leaf >= 0:
            seen = float(above)
            for i in range(forest.links[node, SIZE] - 1, -1, -1):
                seen += count_at(forest, node, leaf, i)
                before = forest.outcomes[leaf, i - 1] if i > 0 else forest.numbers[node, BASE]
                gap = min(forest.outcomes[leaf, i], edge) - min(before, edge)
                if gap > 0.0:
                    result += gap * weigh(curve, seen / samples + shift)
        else:
            seen = float(above)
            for i in range(forest.links[node, SIZE] - 1, -1, -1):
                below = forest.links[node, CHILD + i]
                depth += 1
                forest.stack[0, depth] = below
                forest.stack[1, depth] = int(seen)
                seen += forest.numbers[below, TOTAL]
    return result
