"""From bounds on probabilities to an interval for a value: what DKW, KL and the sub-Gaussian envelope share.

Let c of l samples lie at or beyond an outcome. A shape turns c and l into bounds [low, high] on the true
probability; the value's ends are the distorted integrals along them (docs/theory/bands.md):

    mu_U = int over gains of max w+(over [low, high])  -  int over losses of min w-(over [low, high])

and mu_L with max and min swapped. For a monotone weight the maximum is w(high) and the minimum w(low).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, share
from allais._kernels import by_reference, kernel, late, routine, verb
from allais.bands._tail_walks import LAST_NODE, grid_of, walk_few, walk_grid, walk_strides
from allais.bands.base import Interval, bounds_of, refresh, refuse_unbounded, widen
from allais.numerics.integrals import integrate
from allais.numerics.table import Distortion, Table, distortion_of, staircase, weigh
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian
from allais.samples.cuts import CensoredSample, require_monotone
from allais.samples.layout import remembered
from allais.samples.memory import GAIN_SLACK, LOSS_SLACK, Memory, moments
from allais.samples.tree import tree_value
from allais.samples.trees import ROOT, TOP
from allais.weights import Weight

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


def _ends_of(band, memory, arm, exponent):
    """The ends of one arm's interval."""


ends_of = verb(_ends_of, make=routine)


STEPS = 64.0  # an exponent is rounded up to 1 / STEPS, so that an interval serves many rounds
NODES = 400  # of the tail's table
SMOOTH = 1e-11  # to which two quadratures agree on a stretch of the tail without singular points


@by_reference
class BandWeight(NamedTuple):
    """A weight as a band reads it."""

    distortion: Distortion
    turns: FloatArray  # where the weight turns between rising and falling; none if it is monotone
    tail: Table  # int over v > u of max w([0, exp(-v^2 / 2)]), as a share of the whole, against exp(-u^2 / 2)
    whole: float  # that integral from u = 0


class TailRule(NamedTuple):
    """A band on probabilities: its shape, the weights, and what is known about each arm."""

    shape: Any
    gains: BandWeight
    losses: BandWeight
    low: FloatArray  # the support as a utility, (n_arms,); infinite where rewards are sub-Gaussian
    high: FloatArray
    scale: FloatArray  # sigma of a sub-Gaussian arm, 0 for a bounded one
    centre: FloatArray  # the arm's mean lies within `slack` of `centre`, as a utility
    slack: FloatArray
    always: bool  # whether an interval must hold in all rounds at once

    def kept(self, n_arms: int) -> TailEnds:
        """No ends are known yet."""
        return TailEnds(np.full(n_arms, np.nan), np.zeros(n_arms), np.zeros(n_arms))


@by_reference
class TailEnds(NamedTuple):
    """The ends of each arm's interval, as computed last."""

    exponent: FloatArray  # the one for which they hold; NaN after the memory changed, (n_arms,)
    low: FloatArray
    high: FloatArray


def tail_rule(shape: Any, preference: Preference, rewards: Sequence[Rewards], *, always: bool) -> TailRule:
    """What the kernels read, for a shape and the rewards of each arm.

    Args:
        shape: The band's shape.
        preference: What is maximised.
        rewards: What is known about each arm's outcomes.
        always: Whether intervals hold in all rounds at once.
    """
    tailed = [known if isinstance(known, SubGaussian) else None for known in rewards]
    ends = [bounds_of(preference, known) for known in rewards]
    sign = -1.0 if preference.costs else 1.0
    has_tail = any(known is not None for known in tailed)
    n_arms = len(rewards)
    return TailRule(
        shape,
        _band_weight(preference.gains, has_tail),
        _band_weight(preference.losses, has_tail),
        np.array([pair[0] for pair in ends]),
        np.array([pair[1] for pair in ends]),
        np.array([0.0 if known is None else known.scale for known in tailed]),
        np.full(n_arms, -sign * preference.reference),
        np.array([0.0 if known is None else known.mean_bound for known in tailed]),
        always,
    )


@lru_cache(maxsize=256)
def _band_weight(weight: Weight, has_tail: bool) -> BandWeight:
    tail, whole = _tail(weight) if has_tail else (staircase(np.ones(1), np.ones(1)), 0.0)
    return BandWeight(distortion_of(weight), np.array(weight.turning_points), tail, whole)


@lru_cache(maxsize=64)
def _tail(weight: Weight) -> tuple[Table, float]:
    """`tail_integrals` as a table, in shares of the whole; and the whole."""
    shares, beyond = tail_integrals(weight)
    return staircase(shares, beyond / beyond[-1]), float(beyond[-1])


@lru_cache(maxsize=64)
def tail_integrals(weight: Weight) -> tuple[FloatArray, FloatArray]:
    """The integral beyond u of the greatest w of any probability up to exp(-v^2 / 2), against exp(-u^2 / 2), ascending.

    Between two shares the integral of the larger one holds, which is never below the true one.
    """

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
    half = 0.5 * np.diff(nodes)
    fine, coarse = (
        half * (height((nodes[:-1] + half)[:, None] + half[:, None] * points) @ weights)
        for points, weights in (np.polynomial.legendre.leggauss(count) for count in (5, 3))
    )
    error = np.abs(fine - coarse)
    # next to a point where the weight is singular, bisection is needed
    for i in np.flatnonzero(error > SMOOTH * fine + 1e-17).tolist():
        fine[i], error[i] = integrate(height, [nodes[i], nodes[i + 1]])[:2]
    last = integrate(height, [nodes[-1], max(far, nodes[-1] + 1.0)])
    pieces = np.append(fine + error, last.value + last.error)
    shares = np.exp(-0.5 * nodes**2)[::-1]
    return np.append(shares[:-1], 1.0), np.cumsum(pieces[::-1])


class DistributionBand:
    """A band on probabilities, whose intervals also hold for samples with unfinished outcomes."""

    rule: Any  # of a preference and the rewards of each arm: what the kernels read, for one look at the data

    def interval(
        self, preference: Preference, rewards: Rewards, samples: ArrayLike | CensoredSample, confidence: float = 0.95
    ) -> Interval:
        """The value of samples, with an interval that contains the true value with the given confidence.

        Args:
            preference: What is maximised.
            rewards: What is known about the outcomes.
            samples: Outcomes that were seen, in any order; or a `CensoredSample`, of which each end of the interval
                has the unfinished outcomes where they are worst for it.
            confidence: The probability that the interval holds the true value, in (0, 1).
        """
        exponent = math.log(2.0 / (1.0 - share("confidence", confidence, advice="Give a share of 1, such as 0.95.")))
        if isinstance(samples, CensoredSample):
            require_monotone(preference)
            refuse_unbounded("an interval of unfinished outcomes", [rewards])
            rule, ends = self.rule(preference, [rewards]), []
            for seen in samples.completed(rewards):
                ends.extend(ends_of(rule, memory_of(preference, seen), 0, exponent))
            return Interval(float(min(ends)), samples.value(preference), float(max(ends)))
        seen = rewards.check(samples)
        low, high = ends_of(self.rule(preference, [rewards]), memory_of(preference, seen), 0, exponent)
        return Interval(float(low), preference.estimate(seen), float(high))


def memory_of(preference: Preference, samples: FloatArray) -> Memory:
    """A memory of one arm that holds the samples."""
    return memory_of_counts(preference, [np.unique(samples, return_counts=True)])


def memory_of_counts(preference: Preference, arms: Sequence[tuple[FloatArray, IntArray]]) -> Memory:
    """A memory of arms whose distinct outcomes, and how often each was seen, are known."""
    rows, mean, spread = [], np.zeros(len(arms)), np.zeros(len(arms))
    for k, (raw, counts) in enumerate(arms):
        utility = preference.utilities(raw)
        order = np.lexsort((raw, utility))
        rows.append((utility[order], raw[order], counts[order].astype(np.int64)))
        if counts.size:
            mean[k] = np.average(utility, weights=counts)
            spread[k] = (utility - mean[k]) ** 2 @ counts
    return remembered(rows, mean, spread)


@ends_of.of(TailRule)
def _(band, memory, arm, exponent):
    mean, radius = 0.0, 0.0
    if band.scale[arm] > 0.0:
        exponent += np.log(2.0)  # half of the failures for the probabilities, half for the mean
        mean, radius = _mean_and_radius(band, memory, arm, exponent)
    least_gain, most_gain = _side(band, band.gains, memory, arm, 1.0, exponent, mean, radius)
    least_loss, most_loss = _side(band, band.losses, memory, arm, -1.0, exponent, mean, radius)
    return least_gain - most_loss, most_gain - least_loss


@kernel
def forget_ends(band, kept, memory, arm):
    """The ends of an arm's interval have to be computed again."""
    kept.exponent[arm] = np.nan


@kernel
def kept_ends(band, kept, memory, exponent, low, high):
    """Write the ends of every arm's interval; those that are known are not computed again."""
    rounded = np.ceil(STEPS * exponent) / STEPS
    for arm in range(low.size):
        if memory.pulls[arm] == 0:
            low[arm], high[arm] = -np.inf, np.inf
            continue
        if kept.exponent[arm] != rounded:
            kept.low[arm], kept.high[arm] = ends_of(band, memory, arm, rounded)
            kept.exponent[arm] = rounded
        low[arm], high[arm] = kept.low[arm], kept.high[arm]


refresh.of(TailRule)(forget_ends)
widen.of(TailRule)(kept_ends)
