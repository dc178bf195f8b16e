"""From bounds on probabilities to an interval of a value: what DKW, KL and the sub-Gaussian envelope share.

Let c of l samples lie at or beyond an outcome. A shape turns c and l into bounds [low, high] on the true
probability; the value's ends are the distorted integrals along them (docs/theory/bands.md):

    mu_U = int over gains of max w+(over [low, high])  -  int over losses of min w-(over [low, high])

and mu_L with max and min swapped. For a monotone weight the maximum is w(high) and the minimum w(low).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, share
from allais._kernels import kernel, routine, verb
from allais.bands.base import Interval, bounds_of, refresh, widen
from allais.numerics.distortion import Distortion, distortion_of
from allais.numerics.quadrature import integrate
from allais.numerics.table import Table, staircase, weigh
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian
from allais.samples.cells import AT, HIGH, LOW, RAW, cell_of_outcome
from allais.samples.memory import GAIN_SLACK, LOSS_SLACK, Memory, moments, remembered
from allais.samples.tree import count_beyond, outcome_at_rank
from allais.samples.tree_value import tree_value
from allais.samples.trees import ROOT, TOP, TOTAL
from allais.weights import Weight

STEPS = 64.0  # an exponent is rounded up to 1 / STEPS, so that an interval serves many rounds
STRIDE = 1.0  # on trees, counts that share a bound: this many standard deviations of a count
NODES, LAST_NODE = 400, 37.0  # of the tail's table; exp(-u^2 / 2) is no longer a double soon after 37
MEAN_STRENGTH = 16.0  # of the normal mixture for the mean, in samples: the same as the KL band's


class Lens(NamedTuple):
    """A weight as a band reads it."""

    distortion: Distortion
    turns: FloatArray  # where the weight turns between rising and falling; none if it is monotone
    tail: Table  # int over v > u of max w([0, exp(-v^2 / 2)]), as a share of the whole, against exp(-u^2 / 2)
    whole: float  # that integral from u = 0


class TailRule(NamedTuple):
    """A band on probabilities: its shape, the weights, and what is known of each arm."""

    shape: Any
    gains: Lens
    losses: Lens
    low: FloatArray  # the support as felt, (n_arms,); infinite where rewards are sub-Gaussian
    high: FloatArray
    scale: FloatArray  # sigma of a sub-Gaussian arm, 0 for a bounded one
    centre: FloatArray  # its mean lies within `slack` of `centre`, as felt
    slack: FloatArray
    always: bool  # whether an interval must hold in all rounds at once

    def kept(self, n_arms: int) -> TailEnds:
        """No ends are known yet."""
        return TailEnds(np.full(n_arms, np.nan), np.zeros(n_arms), np.zeros(n_arms))


class TailEnds(NamedTuple):
    """The ends of each arm's interval that were computed last."""

    exponent: FloatArray  # for which they hold; NaN after the memory changed, (n_arms,)
    low: FloatArray
    high: FloatArray


def tail_rule(shape: Any, preference: Preference, rewards: Sequence[Rewards], *, always: bool) -> TailRule:
    """What the kernels read, for a shape and the rewards of each arm."""
    tailed = [known if isinstance(known, SubGaussian) else None for known in rewards]
    ends = [bounds_of(preference, known) for known in rewards]
    sign = -1.0 if preference.costs else 1.0
    has_tail = any(known is not None for known in tailed)
    n_arms = len(rewards)
    return TailRule(
        shape,
        _lens(preference.gains, has_tail),
        _lens(preference.losses, has_tail),
        np.array([pair[0] for pair in ends]),
        np.array([pair[1] for pair in ends]),
        np.array([0.0 if known is None else known.scale for known in tailed]),
        np.full(n_arms, -sign * preference.reference),
        np.array([0.0 if known is None else known.mean_bound for known in tailed]),
        always,
    )


@lru_cache(maxsize=256)
def _lens(weight: Weight, has_tail: bool) -> Lens:
    tail, whole = _tail(weight) if has_tail else (staircase(np.ones(1), np.ones(1)), 0.0)
    return Lens(distortion_of(weight), np.array(weight.turning_points), tail, whole)


@lru_cache(maxsize=64)
def _tail(weight: Weight) -> tuple[Table, float]:
    """The integral beyond u of the greatest w of any probability up to exp(-v^2 / 2), against exp(-u^2 / 2)."""

    def height(v: FloatArray) -> FloatArray:
        log_p = -0.5 * v**2
        with np.errstate(divide="ignore"):
            greatest = weight.of_logs(log_p, np.log(-np.expm1(log_p)))
        for turn in weight.turning_points:  # none if the weight is monotone: then w itself is the greatest
            greatest = np.where(log_p > math.log(turn), np.maximum(greatest, float(weight(turn))), greatest)
        return greatest

    far = 1.0
    while float(height(np.array([far]))[0]) > 1e-17:
        far *= 1.25
    nodes = np.linspace(0.0, min(far, LAST_NODE), NODES)
    pieces = [integrate(height, list(pair)) for pair in (*pairwise(nodes), (nodes[-1], max(far, nodes[-1] + 1.0)))]
    beyond = np.cumsum([piece.value + piece.error for piece in pieces][::-1])[::-1]
    # a staircase that never lies below: the integral from the node before u
    shares = np.exp(-0.5 * nodes**2)[::-1]
    return staircase(np.append(shares[:-1], 1.0), beyond[::-1] / beyond[0]), float(beyond[0])


def interval_of(band: Any, preference: Preference, rewards: Rewards, samples: ArrayLike, confidence: float) -> Interval:
    """The value of samples with a band's interval around it, for one look at the data."""
    seen = rewards.check(samples)
    exponent = math.log(2.0 / (1.0 - share("confidence", confidence, advice="Give a share of 1, such as 0.95.")))
    low, high = ends_of(band.rule(preference, [rewards]), memory_of(preference, seen), 0, exponent)
    return Interval(float(low), preference.estimate(seen), float(high))


def memory_of(preference: Preference, samples: FloatArray) -> Memory:
    """A memory of one arm that holds the samples."""
    raw, counts = np.unique(samples, return_counts=True)
    felt = preference.felt(raw)
    order = np.lexsort((raw, felt))
    every = preference.felt(samples)
    mean, spread = np.array([every.mean()]), np.array([((every - every.mean()) ** 2).sum()])
    return remembered([(felt[order], raw[order], counts[order].astype(np.int64))], mean, spread)


# -- compiled -------------------------------------------------------------------------------------


def _ceiling(shape, arm, count, pulls, exponent):
    """The most that a probability can be of which `count` of `pulls` samples came true."""


def _steady(shape, pulls, exponent):
    """The distance of every ceiling from its share, where all are alike; else -1."""


@kernel
def _uneven(shape, pulls, exponent):
    return -1.0


ceiling = verb(_ceiling)
steady = verb(_steady, default=_uneven)


@kernel
def _greatest(lens, low, high):
    result = weigh(lens.distortion.table, high)
    if lens.turns.size > 0:
        result = max(result, weigh(lens.distortion.table, low))
        for turn in lens.turns:
            if low < turn < high:
                result = max(result, weigh(lens.distortion.table, turn))
    return result


@kernel
def _smallest(lens, low, high):
    result = weigh(lens.distortion.table, low)
    if lens.turns.size > 0:
        result = min(result, weigh(lens.distortion.table, high))
        for turn in lens.turns:
            if low < turn < high:
                result = min(result, weigh(lens.distortion.table, turn))
    return result


@routine
def shifted(trees, tree, distortion, pulls, eps, start, end):
    """The least and the most that one side is worth when its probabilities move by eps; a monotone weight."""
    if end <= 0.0:
        return 0.0, 0.0
    beyond = max(end - trees.numbers[trees.heads[tree, ROOT], TOP], 0.0)
    most = tree_value(trees, tree, distortion, pulls, eps, np.inf) + beyond * weigh(distortion.table, eps)
    # below the support the probability is 1, not 1 - eps
    sure = max(start, 0.0)
    least = tree_value(trees, tree, distortion, pulls, -eps, np.inf) + sure * (1.0 - weigh(distortion.table, 1.0 - eps))
    return least, most


@kernel
def _mean_radius(band, arm, pulls, exponent):
    # sub-Gaussian mean: Chernoff at one time, the normal mixture at all times
    if band.always:
        level = max(exponent + 0.5 * np.log(1.0 + pulls / MEAN_STRENGTH), 0.0)  # below 0 no mean is left
        return band.scale[arm] * np.sqrt(2.0 * level * (1.0 + MEAN_STRENGTH / pulls) / pulls)
    return band.scale[arm] * np.sqrt(2.0 * exponent / pulls)


@routine
def _beyond(lens, scale, height, gap):
    """The integral over z > m + gap of the greatest w up to min(height, exp(-(z - m)^2 / 2 sigma^2))."""
    flat = scale * np.sqrt(-2.0 * np.log(height)) if height < 1.0 else 0.0  # where the envelope takes over
    start = max(gap, flat)
    inner = (start - gap) * _greatest(lens, 0.0, height)
    u = min(max(start, 0.0) / scale, LAST_NODE)
    return inner + scale * lens.whole * (1.0 if u == 0.0 else weigh(lens.tail, np.exp(-0.5 * u * u)))


@routine
def _slice(band, lens, arm, pulls, exponent, fewest, counted, inner, outer, mean_low, mean_high):
    """What the stretch of outcomes (inner, outer] adds, at the least and at the most."""
    low = 1.0 - ceiling(band.shape, arm, pulls - fewest, pulls, exponent)
    high = ceiling(band.shape, arm, counted, pulls, exponent)
    scale = band.scale[arm]
    if scale > 0.0:
        if inner > mean_high:
            high = max(min(high, np.exp(-0.5 * ((inner - mean_high) / scale) ** 2)), low)
        if np.isinf(outer):
            return 0.0, _beyond(lens, scale, high, inner - mean_high)
        if outer < mean_low:
            low = min(max(low, 1.0 - np.exp(-0.5 * ((mean_low - outer) / scale) ** 2)), high)
    gap = outer - inner
    return gap * _smallest(lens, low, high), gap * _greatest(lens, low, high)


@routine
def _walk(band, lens, memory, arm, sign, start, end, exponent, mean_low, mean_high):
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
            counted = reached - 1  # of which z in (inner, outer] may have all but the last beyond it
            inner = outcome_at_rank(memory.trees, tree, reached)
            cell = cell_of_outcome(memory.cells, memory.cell_range[arm, 0], memory.cell_range[arm, 1], sign * inner)
            if cell >= 0:  # its samples may lie anywhere in it, all of them at its outer end
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
            less, more = _slice(band, lens, arm, pulls, exponent, fewest, counted, inner, outer, mean_low, mean_high)
            least, most, outer = least + less, most + more, inner
        fewest = reached
    return least, most


@routine
def _side(band, lens, memory, arm, sign, exponent, mean, radius):
    """The least and the most that gains (sign 1) or mirrored losses (-1) are worth."""
    end = band.high[arm] if sign > 0.0 else -band.low[arm]
    start = max(band.low[arm] if sign > 0.0 else -band.high[arm], 0.0)
    if end <= 0.0:
        return 0.0, 0.0
    middle = sign * band.centre[arm]
    mean_low = max(sign * mean - radius, middle - band.slack[arm])
    mean_high = min(sign * mean + radius, middle + band.slack[arm])
    if memory.in_trees[arm] and lens.turns.size == 0 and band.scale[arm] == 0.0:
        eps = steady(band.shape, memory.pulls[arm], exponent)
        if eps >= 0.0:
            tree = 2 * arm + (sign < 0.0)
            least, most = shifted(memory.trees, tree, lens.distortion, memory.pulls[arm], eps, start, end)
            slack = memory.slack[arm, GAIN_SLACK if sign > 0.0 else LOSS_SLACK]
            return (max(least - slack, start), min(most + slack, end)) if slack > 0.0 else (least, most)
    return _walk(band, lens, memory, arm, sign, start, end, exponent, mean_low, mean_high)


@routine
def ends_of(band, memory, arm, exponent):
    """The ends of one arm's interval."""
    mean, radius = 0.0, 0.0
    if band.scale[arm] > 0.0:
        exponent += np.log(2.0)  # half of the failures for the probabilities, half for the mean
        mean, radius = moments(memory, arm)[0], _mean_radius(band, arm, memory.pulls[arm], exponent)
    least_gain, most_gain = _side(band, band.gains, memory, arm, 1.0, exponent, mean, radius)
    least_loss, most_loss = _side(band, band.losses, memory, arm, -1.0, exponent, mean, radius)
    return least_gain - most_loss, most_gain - least_loss


@refresh.of(TailRule)
def _(band, kept, memory, arm):
    kept.exponent[arm] = np.nan


@widen.of(TailRule)
def _(band, kept, memory, exponent, low, high):
    rounded = np.ceil(STEPS * exponent) / STEPS
    for arm in range(low.size):
        if memory.pulls[arm] == 0:
            low[arm], high[arm] = -np.inf, np.inf
            continue
        if kept.exponent[arm] != rounded:
            kept.low[arm], kept.high[arm] = ends_of(band, memory, arm, rounded)
            kept.exponent[arm] = rounded
        low[arm], high[arm] = kept.low[arm], kept.high[arm]
