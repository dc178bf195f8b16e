"""How much one outcome moves a value: the influence function of an arm's empirical distribution, and its moments.

A value is an integral of w+(P(Y >= z)) over gains less one of w-(P(Y <= z)) over losses, so one sample more at y moves
it by phi(y) / n, with phi(y) = A(y) - mean of A. A rises between two neighbouring outcomes by the derivative of the
weight at the share of samples beyond them:

    A(y) = int from 0 to y of w+'(P(Y >= z)) dz over gains, and of w-'(P(Y <= z)) dz over losses

A derivative is taken over one sample, n (w(c / n) - w((c - 1) / n)): it is finite also where w is steepest, and needs
no derivative of a weight.
"""

from __future__ import annotations

from allais._kernels import kernel, late, routine
from allais.numerics.table import weigh
from allais.samples.trees import CHILD, LEAF_OF, ROOT, SIZE, TOTAL, count_at

# Places in the array that `advance` writes: the outcome before, samples up to it, A there, sums of A, A^2 and A^3, and
# how many distinct outcomes there were
LAST, BELOW, RISE, FIRST_SUM, SQUARES, CUBES, STEPS = 0, 1, 2, 3, 4, 5, 6
SUMS = 7


@kernel
def derivative(table, count, pulls):
    """How steep a weight is over the last of `count` samples."""
    return pulls * (weigh(table, count / pulls) - weigh(table, (count - 1.0) / pulls))


@routine
def rises_of_sorted(gains, losses, utility, each, units, rises):
    """The value of sorted utilities; `rises` becomes A at each of them, as `_advance` has it.

    Args:
        gains: The table of the weight of gains.
        losses: That of losses.
        utility: Utilities in ascending order.
        each: How much of a unit each of them is; empty where all are one.
        units: How many units there are.
        rises: Where A goes, as long as `utility`.
    """
    last = utility.size - 1
    value, rise, below = max(utility[0], 0.0) + min(utility[last], 0.0), 0.0, 0.0
    gains_at, gains_then, losses_at, losses_then = -1.0, 0.0, -1.0, 0.0  # the next gap needs the weight of this one
    rises[0] = 0.0
    for i in range(1, last + 1):
        below = min(below + (each[i - 1] if each.size else 1.0), units)
        before, now = utility[i - 1], utility[i]
        if now > before and now > 0.0:
            gap, beyond = now - max(before, 0.0), units - below
            weighed = gains_then if gains_at == beyond else weigh(gains, beyond / units)
            gains_at, gains_then = beyond - 1.0, weigh(gains, (beyond - 1.0) / units)
            value += gap * weighed
            rise += gap * units * (weighed - gains_then)
        if now > before and before < 0.0:
            gap = min(now, 0.0) - before
            less = losses_then if losses_at == below - 1.0 else weigh(losses, (below - 1.0) / units)
            losses_at, losses_then = below, weigh(losses, below / units)
            value -= gap * losses_then
            rise += gap * units * (losses_then - less)
        rises[i] = rise
    return value


@routine
def central_sums(numbers):
    """The sums of squares and of cubes around the mean."""
    mean = 0.0
    for i in range(numbers.size):
        mean += numbers[i] / numbers.size
    squares, cubes = 0.0, 0.0
    for i in range(numbers.size):
        beyond = numbers[i] - mean
        squares += beyond * beyond
        cubes += beyond * beyond * beyond
    return squares, cubes


@kernel
def _advance(worth, sums, ladder, pulls, utility, count):
    """Go on to the next larger outcome. A is 0 at the smallest, since it counts from its mean only."""
    below = sums[BELOW]
    if below > 0.0:
        before = sums[LAST]
        if worth.undistorted:
            sums[RISE] += utility - before
        else:
            if utility > 0.0:
                sums[RISE] += (utility - max(before, 0.0)) * derivative(worth.gains.table, pulls - below, pulls)
            if before < 0.0:
                sums[RISE] += (min(utility, 0.0) - before) * derivative(worth.losses.table, below, pulls)
    rise = sums[RISE]
    sums[LAST], sums[BELOW] = utility, below + count
    sums[FIRST_SUM] += count * rise
    sums[SQUARES] += count * rise * rise
    sums[CUBES] += count * rise * rise * rise
    step = int(sums[STEPS])
    if step < ladder.shape[1]:
        ladder[0, step], ladder[1, step] = utility, rise
        sums[STEPS] = step + 1.0


@late(None)
def _through_tree(worth, memory, sums, ladder, pulls, tree, sign):
    """All outcomes of one tree: gains ascend, and mirrored losses descend."""
    trees = memory.trees
    depth = 0
    trees.stack[0, 0] = trees.heads[tree, ROOT]
    while depth >= 0:
        node = trees.stack[0, depth]
        depth -= 1
        size = trees.links[node, SIZE]
        if trees.numbers[node, TOTAL] == 0.0:
            continue
        leaf = trees.links[node, LEAF_OF]
        for step in range(size):
            if leaf >= 0:
                i = step if sign > 0.0 else size - 1 - step
                count = count_at(trees, node, leaf, i)
                if count > 0:
                    _advance(worth, sums, ladder, pulls, sign * trees.outcomes[leaf, i], float(count))
            else:  # the first to be visited is put on the stack last
                depth += 1
                trees.stack[0, depth] = trees.links[node, CHILD + (size - 1 - step if sign > 0.0 else step)]


@routine
def influence(worth, memory, arm, sums, ladder):
    """The variance of an arm's influence function, and its third central moment; two samples at least.

    `sums` is scratch, (SUMS,). `ladder` takes the distinct outcomes and A at each, as many as it has room for. Costs
    as many weights as there are distinct outcomes.
    """
    for k in range(SUMS):
        sums[k] = 0.0
    pulls = float(memory.pulls[arm])
    if memory.in_trees[arm]:
        _through_tree(worth, memory, sums, ladder, pulls, 2 * arm + 1, -1.0)
        _through_tree(worth, memory, sums, ladder, pulls, 2 * arm, 1.0)
    else:
        for i in range(memory.sizes[arm]):
            _advance(worth, sums, ladder, pulls, memory.utility[arm, i], float(memory.counts[arm, i]))
    mean, square = sums[FIRST_SUM] / pulls, sums[SQUARES] / pulls
    variance = max(square - mean * mean, 0.0)
    third = sums[CUBES] / pulls - 3.0 * mean * square + 2.0 * mean * mean * mean
    if variance <= 1e-14 * square:  # what rounding leaves of outcomes that are all alike
        return 0.0, 0.0
    return variance * pulls / (pulls - 1.0), third


@kernel
def rise_at(ladder, steps, utility):
    """A at an outcome: that of the last step of a ladder that does not lie above it."""
    low, high = 0, steps - 1
    while low < high:
        middle = (low + high + 1) // 2
        if ladder[0, middle] <= utility:
            low = middle
        else:
            high = middle - 1
    return ladder[1, low]
