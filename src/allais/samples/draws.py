"""Random draws inside compiled code, from one uniform draw: a counter is hashed, and nothing is kept.

A policy's `choose` gets one uniform draw. Its 53 bits seed a stream here: the k-th number is a hash of
seed and k (splitmix64, Steele et al. 2014). So a choice is a function of its draw, alike live and simulated.
Each function returns its number and where the stream goes on.
"""

from __future__ import annotations

import math

import numpy as np

from allais._kernels import kernel, routine
from allais.numerics.table import distorted_sum
from allais.samples.memory import FLAT
from allais.samples.trees import CHILD, LEAF_OF, ROOT, SIZE, TOTAL, count_at, raw_at

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)


@kernel
def stream_of(u):
    """The stream that belongs to a uniform draw.

    Args:
        u: A uniform draw.
    """
    return _mixed(np.uint64(u * 2.0**53) * GOLDEN)


@kernel
def second_stream(u):
    """Another stream that belongs to a uniform draw, where what is drawn from the first must not be seen again.

    Args:
        u: A uniform draw.
    """
    return _mixed(np.uint64(u * 2.0**53) * GOLDEN + FIRST)


@kernel
def _mixed(x):
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


@kernel
def uniform(stream):
    """A uniform draw in (0, 1).

    Args:
        stream: The stream, which moves on.
    """
    following = stream + GOLDEN
    return (np.float64(_mixed(following) >> S11) + 0.5) * 2.0**-53, following


@kernel
def normal(stream):
    """A standard normal draw (Box and Muller).

    Args:
        stream: The stream, which moves on.
    """
    first, stream = uniform(stream)
    second, stream = uniform(stream)
    return np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second), stream


@kernel
def gamma(shape, stream):
    """A draw from Gamma(shape, 1) (Marsaglia and Tsang 2000).

    Args:
        shape: The shape, above 0.
        stream: The stream, which moves on.
    """
    if shape >= 1.0:
        return gamma_of_count(shape, stream)
    u, stream = uniform(stream)  # Gamma(shape) is Gamma(shape + 1) times U^(1 / shape), their Section 8
    d, v, stream = _scaled_cube(shape + 1.0, stream)
    return u ** (1.0 / shape) * d * v, stream


@kernel
def gamma_of_count(count, stream):
    """A draw from Gamma(count, 1), for a count of 1 or more: the mass of samples, of which NPTS draws many."""
    if count == 1.0:
        u, stream = uniform(stream)
        return -np.log(u), stream
    d, v, stream = _scaled_cube(count, stream)
    return d * v, stream


@kernel
def _scaled_cube(shape, stream):
    """The factors of a draw from Gamma(shape, 1), for a shape of 1 or more."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x, stream = normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0:
            u, stream = uniform(stream)
            # the first test accepts a part of what the second accepts, without logarithms
            if u < 1.0 - 0.0331 * (x * x) * (x * x) or np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
                return d, v, stream


# -- draws of outcomes in groups by rank -----------------------------------------------------------

# An arm's outcomes in groups by rank, as told: enough of them to value an arm for anybody, from one shared memory.
#
# All people of a learner have one reference and one direction, so outcomes rank alike for all, and groups are shared;
# the utility of an outcome and the weight of its probability are each person's own.
#
# Toward both ends, and toward every point where a weight is singular, groups narrow in proportion: a group holds at
# most 1 / `share` of the samples between it and that point, or else one outcome. It stands at the mean of its samples.
# A value then moves by terms of second order only: by how far weight and utility leave their chords over a group.

SHARE = 32.0  # samples beyond a group, over those in it: chords are off by some 1e-5 of a value
FINE = 4.0  # groups per standard deviation of the mass beyond a singular point inside (0, 1)
MOST_SAMPLES = 2.0**40  # per arm: what the arrays have room for; more would only widen the last group


def most_groups(points: int, share: float) -> int:
    """How many groups an arm can have where they narrow toward some points: two neighbours are more than one."""
    toward = 2 * int(2.0 * share + (share + 1.0) * math.log(MOST_SAMPLES))
    return max(FLAT, 2 * (points - 1) * toward) + 2


@kernel
def stride(points, done, pulls, share):
    """How many samples the next group holds after `done` samples; it depends on ranks, not on a tree's layout."""
    widest = float(pulls)
    for point in points:
        ahead = point * pulls - done
        near = ahead / (share + 1.0) if ahead > 0.0 else -ahead / share
        # reweighting moves the mass beyond a point by this much: far narrower groups gain nothing
        moves = np.sqrt(point * (1.0 - point) * pulls)
        widest = min(widest, max(near, moves / FINE))
    return max(int(widest), 1)


@routine
def group_by_rank(state, arm, points, places, counts):
    """Write an arm's groups, the best first: the mean outcome as told, and how many samples. Returns their number.

    Gains and losses are never in one group. The flat memory has one group per outcome.
    """
    memory = state.memory
    size = 0
    if not memory.in_trees[arm]:
        for i in range(memory.sizes[arm] - 1, -1, -1):
            places[size], counts[size] = memory.raw[arm, i], memory.counts[arm, i]
            size += 1
        return size
    trees = memory.trees
    done, inside, total, room = 0.0, 0.0, 0.0, 0.0  # samples before the group and in it, their sum, and how many fit
    for side in range(2):
        tree = 2 * arm + side
        depth = 0
        trees.stack[0, 0] = trees.heads[tree, ROOT]
        while depth >= 0:
            node = trees.stack[0, depth]
            depth -= 1
            if trees.numbers[node, TOTAL] == 0:
                continue
            leaf, last = trees.links[node, LEAF_OF], trees.links[node, SIZE] - 1
            for j in range(last + 1):
                if leaf < 0:  # the best child is the next one to be taken from the stack
                    depth += 1
                    trees.stack[0, depth] = trees.links[node, CHILD + (j if side == 0 else last - j)]
                    continue
                i = last - j if side == 0 else j
                count = count_at(trees, node, leaf, i)
                if count == 0:
                    continue
                if inside > 0.0 and inside + count > room:
                    places[size], counts[size] = total / inside, inside
                    size += 1
                    done, inside, total = done + inside, 0.0, 0.0
                if inside == 0.0:
                    room = stride(points, done, memory.pulls[arm], SHARE) if size < places.size - 2 else np.inf
                inside += count
                total += count * raw_at(trees, tree, node, leaf, i)
        if inside > 0.0:
            places[size], counts[size] = total / inside, inside
            size += 1
            done, inside, total = done + inside, 0.0, 0.0
    return size


@routine
def draw_tails(u, counts, starts, above, below):
    """Random masses for several distributions, each Gamma(count): shares at or above, and at or below, each outcome.

    The distribution k has the outcomes from starts[k] to before starts[k + 1], the best first.
    """
    stream = stream_of(u)
    for k in range(starts.size - 1):
        total = 0.0
        for i in range(starts[k], starts[k + 1]):
            below[i], stream = gamma(counts[i], stream)
            total += below[i]
        seen = 0.0
        for i in range(starts[k], starts[k + 1]):
            seen += below[i]
            above[i] = seen / total
        seen = 0.0
        for i in range(starts[k + 1] - 1, starts[k] - 1, -1):
            seen += below[i]
            below[i] = seen / total


@routine
def draw_values(u, worth, utilities, counts, sizes, masses, found):
    """Values of several distributions under random masses, which are those of `draw_tails`.

    The distribution k has the first sizes[k] utilities of its row, and behind them the best that could occur. They
    ascend; a row that descends, as the utilities of ascending costs do, is turned round.
    """
    stream = stream_of(u)
    for k in range(sizes.size):
        felt, many, size = utilities[k], counts[k], sizes[k]
        if size > 1 and felt[0] > felt[size - 1]:
            for i in range(size // 2):
                j = size - 1 - i
                felt[i], felt[j] = felt[j], felt[i]
                many[i], many[j] = many[j], many[i]
        total = 0.0
        for i in range(size, -1, -1):
            masses[i], stream = gamma(many[i], stream)
            total += masses[i]
        found[k] = distorted_sum(worth.gains.table, worth.losses.table, felt, masses, 0, size + 1, total, 0.0, np.inf)
