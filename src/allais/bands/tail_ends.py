"""The ends of an interval from bounds on probabilities, in compiled code: a walk over outcomes, from the outside in."""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, late, routine, verb
from allais.numerics.table import weigh
from allais.samples.cells import AT, HIGH, LOW, RAW, cell_of_outcome
from allais.samples.memory import GAIN_SLACK, LOSS_SLACK, moments
from allais.samples.tree_search import count_beyond, outcome_at_rank
from allais.samples.tree_value import tree_value
from allais.samples.trees import ROOT, TOP, TOTAL

STRIDE = 1.0  # on trees, counts within this many standard deviations of a count share a bound
LAST_NODE = 37.0  # of the tail's table; exp(-u^2 / 2) is no longer a double soon after
MEAN_STRENGTH = 16.0  # of the normal mixture for the mean, in samples: the same as the KL band's


def _ceiling(shape, arm, count, pulls, exponent):
    """The greatest probability that is possible for an event which `count` of `pulls` samples showed."""


def _steady(shape, pulls, exponent):
    """How far every ceiling lies above its share, where all distances are alike; else -1."""


@kernel
def _uneven(shape, pulls, exponent):
    return -1.0


ceiling = verb(_ceiling)
steady = verb(_steady, default=_uneven)


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


@late((float, float))
def shifted(trees, tree, distortion, pulls, eps, start, end):
    """The least and the most that one side is worth when its probabilities move by eps, for a monotone weight."""
    if end <= 0.0:
        return 0.0, 0.0
    beyond = max(end - trees.numbers[trees.heads[tree, ROOT], TOP], 0.0)
    most = tree_value(trees, tree, distortion, pulls, eps, np.inf) + beyond * weigh(distortion.table, eps)
    # below the support the probability is 1, not 1 - eps
    sure = max(start, 0.0)
    least = tree_value(trees, tree, distortion, pulls, -eps, np.inf) + sure * (1.0 - weigh(distortion.table, 1.0 - eps))
    return least, most


@late((float, float))
def _mean_and_radius(band, memory, arm, exponent):
    # sub-Gaussian mean: Chernoff at one time, the normal mixture at all times
    pulls, mean = memory.pulls[arm], moments(memory, arm)[0]
    if band.always:
        level = max(exponent + 0.5 * np.log(1.0 + pulls / MEAN_STRENGTH), 0.0)  # below 0, no mean would be left
        return mean, band.scale[arm] * np.sqrt(2.0 * level * (1.0 + MEAN_STRENGTH / pulls) / pulls)
    return mean, band.scale[arm] * np.sqrt(2.0 * exponent / pulls)


@late(float)
def _beyond(weight, scale, height, gap):
    """The integral over z > m + gap of the greatest w up to min(height, exp(-(z - m)^2 / 2 sigma^2))."""
    flat = scale * np.sqrt(-2.0 * np.log(height)) if height < 1.0 else 0.0  # where the envelope takes over
    start = max(gap, flat)
    inner = (start - gap) * _range(weight, 0.0, height)[1]
    u = min(max(start, 0.0) / scale, LAST_NODE)
    return inner + scale * weight.whole * (1.0 if u == 0.0 else weigh(weight.tail, np.exp(-0.5 * u * u)))


@kernel
def _slice(band, weight, arm, pulls, exponent, fewest, counted, inner, outer, mean_low, mean_high):
    """What the stretch of outcomes (inner, outer] adds, at the least and at the most."""
    low = 1.0 - ceiling(band.shape, arm, pulls - fewest, pulls, exponent)
    high = ceiling(band.shape, arm, counted, pulls, exponent)
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
def _walk(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high):
    """The least and the most that one side is worth: stretch by stretch, from the outside in."""
    pulls, tree = memory.pulls[arm], 2 * arm + (sign < 0.0)
    in_tree, size = memory.in_trees[arm], memory.sizes[arm]
    total = int(memory.trees.numbers[memory.trees.heads[tree, ROOT], TOTAL]) if in_tree else 0
    least, most = start, start  # up to `start` the probability is 1
    outer, fewest, step = end, 0, 0  # `fewest` samples lie at or beyond `outer`
    while outer > start:
        inner, reached, counted = start, fewest, fewest
        if in_tree and fewest < total:
            # a stride depends on counts only, never on how the tree is laid out
            stride = max(1, int(STRIDE * np.sqrt(fewest * (pulls - fewest) / pulls)))
            reached = min(fewest + stride, total)
            counted = reached - 1  # samples at or beyond z in (inner, outer], at most: one lies at `inner`
            inner = outcome_at_rank(memory.trees, tree, reached)
            cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], sign * inner)
            if cell >= 0:  # its samples may lie anywhere in it, even all at its outer end
                reached = count_beyond(memory.trees, tree, abs(memory.cells[AT, cell]), memory.cells[RAW, cell], True)
                counted = reached
                inner = memory.cells[LOW, cell] if sign > 0.0 else -memory.cells[HIGH, cell]
            inner = max(inner, start)
        elif step < size:
            i = size - 1 - step if sign > 0.0 else step
            if sign * memory.felt[arm, i] > start:
                inner, reached = sign * memory.felt[arm, i], fewest + memory.counts[arm, i]
            step += 1
        if inner < outer:
            less, more = _slice(band, weight, arm, pulls, exponent, fewest, counted, inner, outer, mean_low, mean_high)
            least, most, outer = least + less, most + more, inner
        fewest = reached
    return least, most


@routine
def _side(band, weight, memory, arm, sign, exponent, mean, radius):
    """The least and the most that gains (sign 1) or mirrored losses (-1) are worth."""
    end = band.high[arm] if sign > 0.0 else -band.low[arm]
    start = max(band.low[arm] if sign > 0.0 else -band.high[arm], 0.0)
    if end <= 0.0:
        return 0.0, 0.0
    middle = sign * band.centre[arm]
    mean_low = max(sign * mean - radius, middle - band.slack[arm])
    mean_high = min(sign * mean + radius, middle + band.slack[arm])
    if memory.in_trees[arm] and weight.turns.size == 0 and band.scale[arm] == 0.0:
        eps = steady(band.shape, memory.pulls[arm], exponent)
        if eps >= 0.0:
            tree = 2 * arm + (sign < 0.0)
            least, most = shifted(memory.trees, tree, weight.distortion, memory.pulls[arm], eps, start, end)
            slack = memory.slack[arm, GAIN_SLACK if sign > 0.0 else LOSS_SLACK]
            return (max(least - slack, start), min(most + slack, end)) if slack > 0.0 else (least, most)
    return _walk(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high)


@routine
def ends_of(band, memory, arm, exponent):
    """The ends of one arm's interval."""
    mean, radius = 0.0, 0.0
    if band.scale[arm] > 0.0:
        exponent += np.log(2.0)  # half of the failures for the probabilities, half for the mean
        mean, radius = _mean_and_radius(band, memory, arm, exponent)
    least_gain, most_gain = _side(band, band.gains, memory, arm, 1.0, exponent, mean, radius)
    least_loss, most_loss = _side(band, band.losses, memory, arm, -1.0, exponent, mean, radius)
    return least_gain - most_loss, most_gain - least_loss
