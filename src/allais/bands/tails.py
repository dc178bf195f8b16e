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
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, share
from allais._kernels import by_reference, kernel
from allais.bands.base import Interval, bounds_of, refresh, widen
from allais.bands.tail_ends import ends_of
from allais.bands.tail_walks import LAST_NODE
from allais.numerics.distortion import Distortion, distortion_of
from allais.numerics.quadrature import integrate
from allais.numerics.table import Table, staircase
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian
from allais.samples.layout import remembered
from allais.samples.memory import Memory
from allais.weights import Weight

STEPS = 64.0  # an exponent is rounded up to 1 / STEPS, so that an interval serves many rounds
NODES = 400  # of the tail's table


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
    low: FloatArray  # the support as felt, (n_arms,); infinite where rewards are sub-Gaussian
    high: FloatArray
    scale: FloatArray  # sigma of a sub-Gaussian arm, 0 for a bounded one
    centre: FloatArray  # the arm's mean lies within `slack` of `centre`, as felt
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
    """What the kernels read, for a shape and the rewards of each arm."""
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
    # a staircase that never lies below the integral, since it takes the one from the node before u
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


@refresh.of(TailRule)
def _(band, kept, memory, arm):
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


@widen.of(TailRule)
def _(band, kept, memory, exponent, low, high):
    kept_ends(band, kept, memory, exponent, low, high)
