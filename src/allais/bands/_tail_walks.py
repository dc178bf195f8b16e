"""From bounds on probabilities to one side of a value, in compiled code: a walk over outcomes, from the outside in."""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, late, routine, verb
from allais.numerics.k_inf import gamma_logs
from allais.numerics.table import weigh
from allais.samples.cells import AT, HIGH, LOW, RAW, cell_of_outcome
from allais.samples.trees import ROOT, TOTAL, count_beyond, outcome_at_rank

STRENGTH = 16.0  # of the mixture, in samples: near its best from 50 samples to 10^5 (docs/theory/bands.md)
IDLE = 0.1  # the share of the mixture that stays at the hypothesis: bounds a martingale from below
FIRST_LEVEL, LAST_LEVEL = 3, 20  # of the grids: 2^r points at level r
USUAL_LEVEL = 8  # of 1,000 to 4,000 samples; the last one serves 10^10 and more
ALL_SHARES = sum(1.0 / (1.0 + 0.25 * (r - USUAL_LEVEL) ** 2) for r in range(FIRST_LEVEL, LAST_LEVEL + 1))
NEWTON = 60  # steps at most; two are usual


@kernel
def grid_points(pulls):
    """How many points the grid for a number of samples has: between 4 and 8 times its root."""
    # a step of the grid is then an eighth of a bound's distance
    return 2.0 ** min(int(0.5 * np.log2(pulls)) + FIRST_LEVEL, LAST_LEVEL)


@kernel
def _odds(level):
    """How many times less a level's share is than that of the usual one."""
    return 1.0 + 0.25 * (level - USUAL_LEVEL) ** 2


@kernel
def grid_price(points):
    """What a point pays for all others, of all levels."""
    return np.log(points * ALL_SHARES * _odds(np.log2(points)))


@kernel
def grid_strength(points):
    """Of the mixture, in samples: at its best for the rounds of this level."""
    return max(points * points / 2048.0, 0.5)


@kernel
def grid_probability(points, step):
    """A point of the grid, even in arcsin sqrt(q)."""
    return np.sin(0.5 * np.pi * step / points) ** 2


@kernel
def betting_level(exponent):
    """What log R may be at most if a mixture of IDLE and R is at most e^exponent."""
    return exponent + np.log1p(-IDLE * np.exp(-exponent)) - np.log1p(-IDLE)


@kernel
def log_ratio(count, pulls, strength, q):
    """log of the likelihood of a Beta(a q, a (1 - q)) mixture over that of q itself; convex in q."""
    a, b = strength * q, strength * (1.0 - q)
    rest = pulls - count
    hits = gamma_logs(a + count)[0] - gamma_logs(a)[0] - count * np.log(q)
    misses = gamma_logs(b + rest)[0] - gamma_logs(b)[0] - rest * np.log1p(-q)
    return hits + misses - gamma_logs(strength + pulls)[0] + gamma_logs(strength)[0]


@late(float)
def refusing_count(step, near, points, pulls, exponent):
    """The greatest count at which a point of the grid is refused as too likely, or -1; `near` is a guess."""
    if step <= 0:
        return -1.0
    if step >= points:
        return float(pulls)
    level = betting_level(exponent + grid_price(points))
    return count_refusing(grid_probability(points, step), grid_strength(points), near, pulls, level)


@kernel
def count_refusing(q, strength, near, pulls, level):
    """The greatest count below q pulls whose log ratio of the mixture around q is above a level, or -1.

    The ratio is convex in the count and falls to its least: after one of Newton's steps, all others come from below.
    """
    a, b = strength * q, strength * (1.0 - q)
    log_q, log_rest = np.log(q), np.log1p(-q)
    level += gamma_logs(a)[0] + gamma_logs(b)[0]
    level += gamma_logs(strength + pulls)[0] - gamma_logs(strength)[0] + pulls * log_rest
    rise = log_rest - log_q
    c = min(max(near, 0.0), pulls * q)
    for _ in range(NEWTON):
        hits, hit_derivative = gamma_logs(a + c)
        misses, miss_derivative = gamma_logs(b + pulls - c)
        excess, derivative = hits + misses + c * rise - level, hit_derivative - miss_derivative + rise
        if c == 0.0 and excess < 0.0:
            return -1.0
        # at or beyond the least, twice the misses and one more
        following = max(c - excess / derivative if derivative < 0.0 else 2.0 * c - pulls - 1.0, 0.0)
        done = abs(following - c) < 1e-6 and following > 0.0
        c = following
        if done:
            break
    return np.floor(c)


STRIDE = 1.0  # without a grid, counts within this many standard deviations of a count share a bound
LAST_NODE = 37.0  # of the tail's table; exp(-u^2 / 2) is no longer a double soon after


def _ceiling(shape, arm, count, pulls, exponent):
    """The greatest probability that is possible for an event which `count` of `pulls` samples showed."""


def _grid_of(shape, arm, pulls):
    """How many points the grid has that every ceiling lies on, or 0: there is none."""


@kernel
def _no_grid(shape, arm, pulls):
    return 0.0


ceiling = verb(_ceiling)
grid_of = verb(_grid_of, default=_no_grid)


@kernel
def _range(weight, low, high):
    """The least and the greatest weight of the probabilities between two."""
    table = weight.distortion.table
    least, greatest = weigh(table, low), weigh(table, high)
    if weight.turns.size > 0:
        least, greatest = min(least, greatest), max(least, greatest)
        for turn in weight.turns:
            if low < turn < high:
                turned = weigh(table, turn)
                least, greatest = min(least, turned), max(greatest, turned)
    return least, greatest


@late(float)
def _beyond(weight, scale, height, gap):
    """The integral over z > m + gap of the greatest w up to min(height, exp(-(z - m)^2 / 2 sigma^2))."""
    flat = scale * np.sqrt(-2.0 * np.log(height)) if height < 1.0 else 0.0  # where the envelope takes over
    start = max(gap, flat)
    inner = (start - gap) * _range(weight, 0.0, height)[1]
    u = min(max(start, 0.0) / scale, LAST_NODE)
    return inner + scale * weight.whole * (1.0 if u == 0.0 else weigh(weight.tail, np.exp(-0.5 * u * u)))


@kernel
def _slice(band, weight, arm, low, high, inner, outer, mean_low, mean_high):
    """What the stretch of outcomes (inner, outer] adds, at the least and at the most, by bounds on its probability."""
    scale = band.scale[arm]
    if scale > 0.0:
        if inner > mean_high:
            high = max(min(high, np.exp(-0.5 * ((inner - mean_high) / scale) ** 2)), low)
        if np.isinf(outer):
            return 0.0, _beyond(weight, scale, high, inner - mean_high)
        if outer < mean_low:
            low = min(max(low, 1.0 - np.exp(-0.5 * ((mean_low - outer) / scale) ** 2)), high)
    gap = outer - inner
    least, greatest = _range(weight, low, high)
    return gap * least, gap * greatest


@routine
def walk_few(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high):
    """The least and the most that one side is worth: outcome by outcome, from the outside in."""
    pulls, size = memory.pulls[arm], memory.sizes[arm]
    least, most = start, start  # up to `start` the probability is 1
    outer, fewest, step = end, 0, 0  # `fewest` samples lie at or beyond `outer`
    while outer > start:
        inner, reached = start, fewest
        if step < size:
            i = size - 1 - step if sign > 0.0 else step
            if sign * memory.utility[arm, i] > start:
                inner, reached = sign * memory.utility[arm, i], fewest + memory.counts[arm, i]
            step += 1
        if inner < outer:
            low = 1.0 - ceiling(band.shape, arm, pulls - fewest, pulls, exponent)
            high = ceiling(band.shape, arm, fewest, pulls, exponent)
            less, more = _slice(band, weight, arm, low, high, inner, outer, mean_low, mean_high)
            least, most, outer = least + less, most + more, inner
        fewest = reached
    return least, most


@kernel
def _stretch(memory, arm, tree, sign, rank, start):
    """The outcome of a rank from the outside, how many samples lie at or beyond it, and how many may lie beyond."""
    inner = outcome_at_rank(memory.trees, tree, rank)
    cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], sign * inner)
    if cell < 0:
        return max(inner, start), rank, rank - 1  # one lies at the outcome itself
    # its samples may lie anywhere in it, even all at its outer end
    reached = count_beyond(memory.trees, tree, abs(memory.cells[AT, cell]), memory.cells[RAW, cell], True)
    inner = memory.cells[LOW, cell] if sign > 0.0 else -memory.cells[HIGH, cell]
    return max(inner, start), reached, reached


@routine
def walk_strides(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high):
    """The least and the most that one side is worth: outcomes whose counts are nearly alike share their bounds."""
    pulls, tree = memory.pulls[arm], 2 * arm + (sign < 0.0)
    total = int(memory.trees.numbers[memory.trees.heads[tree, ROOT], TOTAL])
    least, most = start, start
    outer, fewest = end, 0
    while outer > start:
        inner, reached, counted = start, fewest, fewest
        if fewest < total:
            # a stride depends on counts only, never on how the tree is laid out
            stride = max(1, int(STRIDE * np.sqrt(fewest * (pulls - fewest) / pulls)))
            inner, reached, counted = _stretch(memory, arm, tree, sign, min(fewest + stride, total), start)
        if inner < outer:
            low = 1.0 - ceiling(band.shape, arm, pulls - fewest, pulls, exponent)
            high = ceiling(band.shape, arm, counted, pulls, exponent)
            less, more = _slice(band, weight, arm, low, high, inner, outer, mean_low, mean_high)
            least, most, outer = least + less, most + more, inner
        fewest = reached
    return least, most


@kernel
def _climb(step, last, count, points, pulls, exponent):
    """The first step of the grid that is refused at a count, from one that is not, and the last count of that."""
    while last < count:
        near = last + pulls * (grid_probability(points, step + 1) - grid_probability(points, step))
        step += 1
        last = refusing_count(step, near, points, pulls, exponent)
    return step, last


@kernel
def _descend(step, below, count, points, pulls, exponent):
    """The first step that is refused at a count, from one further on, and the last count of the step before."""
    while below >= count:
        step -= 1
        near = below - pulls * (grid_probability(points, step) - grid_probability(points, step - 1))
        below = refusing_count(step - 1, near, points, pulls, exponent)
    return step, below


@routine
def walk_grid(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high):
    """The least and the most that one side is worth, where bounds lie on a grid: from one that moves to the next."""
    pulls, tree = memory.pulls[arm], 2 * arm + (sign < 0.0)
    total = int(memory.trees.numbers[memory.trees.heads[tree, ROOT], TOTAL])
    points = grid_of(band.shape, arm, pulls)
    step, last = 0, -1.0  # where the ceiling is, and the last count that has it
    # the floor is 1 less the ceiling of the samples on this side
    floor_step, below = _descend(int(points) + 1, float(pulls), pulls, points, pulls, exponent)
    least, most = start, start
    outer, fewest = end, 0
    while outer > start:
        floor_step, below = _descend(floor_step, below, pulls - fewest, points, pulls, exponent)
        step, last = _climb(step, last, fewest, points, pulls, exponent)
        inner, reached, counted = start, fewest, fewest
        if fewest < total:
            rank = int(min(last + 1.0, pulls - below, total))
            inner, reached, counted = _stretch(memory, arm, tree, sign, rank, start)
        if inner < outer:
            step, last = _climb(step, last, counted, points, pulls, exponent)
            low, high = 1.0 - grid_probability(points, floor_step), grid_probability(points, step)
            less, more = _slice(band, weight, arm, low, high, inner, outer, mean_low, mean_high)
            least, most, outer = least + less, most + more, inner
        fewest = reached
    return least, most
