"""The ends of an interval from bounds on probabilities, in compiled code."""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, late, routine, verb
from allais.bands.tail_walks import grid_of, walk_few, walk_grid, walk_strides
from allais.numerics.table import weigh
from allais.samples.memory import GAIN_SLACK, LOSS_SLACK, moments
from allais.samples.tree_value import tree_value
from allais.samples.trees import ROOT, TOP

MEAN_STRENGTH = 16.0  # of the normal mixture for the mean, in samples: the same as the KL band's


def _steady(shape, pulls, exponent):
    """How far every ceiling lies above its share, where all distances are alike; else -1."""


@kernel
def _uneven(shape, pulls, exponent):
    return -1.0


steady = verb(_steady, default=_uneven)


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
    if not memory.in_trees[arm]:
        return walk_few(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high)
    if grid_of(band.shape, arm, memory.pulls[arm]) > 0.0:
        return walk_grid(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high)
    return walk_strides(band, weight, memory, arm, sign, start, end, exponent, mean_low, mean_high)


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
