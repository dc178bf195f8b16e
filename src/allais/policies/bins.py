"""An arm's outcomes in few bins, so that a random reweighting costs about the same however much was seen.

Bins hold samples by rank. Toward both ends, and toward every point where a weight is singular, they narrow in
proportion: a bin holds at most 1 / SHARE of the samples between it and that point, and at the ends a single outcome.
So no rare event is lost in a bin, whatever its rank and however steep the weight.

Let every sample have a mass of its own. A bin gets the sum of its samples' masses, so the probabilities beyond
each bin are exact, and only what lies within a bin is moved, to its middle outcome. For a monotone weight, a value
then changes by at most

    sum over bins of (best - worst outcome of the bin) * (decision weight of the bin).

The value of the samples themselves is known (`memory.measure`); how far the binned law is from it at equal masses
is `lacking`, and is added to every draw.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, late, verb
from allais.bands.base import refresh
from allais.numerics.distorted_sum import distorted_sum
from allais.preferences import Preference
from allais.samples.draws import gamma
from allais.samples.groups import MOST_SAMPLES, stride
from allais.samples.memory import FLAT
from allais.samples.tree_search import outcome_at_rank
from allais.samples.trees import ROOT, TOTAL

SHARE = 8.0  # samples beyond a bin, over those in it; 12 costs a third more, and no regret was seen to fall


@by_reference
class Narrowing(NamedTuple):
    """Where bins narrow, and how many there can be."""

    points: FloatArray  # shares of the samples from the best down: 0, 1, and singular points between
    most: int  # bins per arm, and one place for the best outcome that could occur


@by_reference
class BinsRule(NamedTuple):
    """How the arms' outcomes are put into bins."""

    narrowing: Narrowing
    tops: FloatArray  # per arm the best outcome that could occur, as felt; (n_arms,)

    def kept(self, n_arms: int) -> Bins:
        """Empty bins."""
        places, counts = np.zeros((n_arms, self.narrowing.most)), np.zeros((n_arms, self.narrowing.most))
        places[:, -1], counts[:, -1] = self.tops, 1.0
        scratch = Masses(np.zeros(self.narrowing.most))
        return Bins(places, counts, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), scratch)


@by_reference
class Masses(NamedTuple):
    """Scratch: random masses of one arm."""

    of_bins: FloatArray  # (most,)


@by_reference
class Bins(NamedTuple):
    """The bins of each arm, ascending to the end of its row."""

    places: FloatArray  # a bin's outcome as felt, and last the best outcome that could occur; (n_arms, most)
    counts: FloatArray  # how many samples a bin holds, and last a 1 for that outcome
    sizes: IntArray  # how many bins an arm has; 0 where they are out of date, (n_arms,)
    lacking: FloatArray  # the value of an arm's samples less that of its bins, (n_arms,)
    masses: Masses


class DrawnRule(NamedTuple):
    """In the place of bins where values were drawn beforehand, for somebody else (`learner/guests.py`)."""


@by_reference
class Drawn(NamedTuple):
    """What was drawn."""

    values: FloatArray  # (n_arms,)


def bins_for(preference: Preference, tops: FloatArray) -> BinsRule:
    """How to put the arms' outcomes into bins; `tops` are the best outcomes that could occur, as felt."""
    points = np.array(narrow_at(preference))
    most = max(FLAT, (points.size - 1) * _most_toward(MOST_SAMPLES)) + 1
    return BinsRule(Narrowing(points, most), tops)


def narrow_at(preference: Preference) -> tuple[float, ...]:
    """Shares of the samples, from the best down, toward which bins narrow."""
    inside = {p for p in preference.gains.singularities if 0.0 < p < 1.0}
    inside |= {1.0 - p for p in preference.losses.singularities if 0.0 < p < 1.0}  # w- sees P(X <= z)
    return tuple(sorted({0.0, *inside, 1.0}))


def _most_toward(samples: float) -> int:
    """How many bins lie between two neighbouring points, at most."""
    return 2 * int(2.0 * SHARE + (SHARE + 1.0) * math.log(samples))


# -- compiled -------------------------------------------------------------------------------------


@refresh.of(BinsRule)
def _(band, kept, memory, arm):
    kept.sizes[arm] = 0


@kernel
def _felt_at(memory, arm, rank):
    """The outcome, as felt, that `rank` samples from the best down reach, for an arm in the trees."""
    trees = memory.trees
    gains = int(trees.numbers[trees.heads[2 * arm, ROOT], TOTAL])
    if rank <= gains:
        return outcome_at_rank(trees, 2 * arm, rank)
    losses = int(trees.numbers[trees.heads[2 * arm + 1, ROOT], TOTAL])
    return -outcome_at_rank(trees, 2 * arm + 1, losses - (rank - gains) + 1)


@late(None)
def _arrange_by_rank(rule, bins, worth, memory, arm):
    places, counts = bins.places[arm], bins.counts[arm]
    top = places.size - 1
    pulls, done, k = memory.pulls[arm], 0, top
    while done < pulls:
        k -= 1
        upto = min(done + stride(rule.narrowing.points, done, pulls, SHARE), pulls)
        if k == 0:
            upto = pulls
        places[k] = _felt_at(memory, arm, (done + upto + 1) // 2)
        counts[k] = upto - done
        done = upto
    bins.sizes[arm] = top - k
    bins.lacking[arm] = memory.value[arm] - _value(worth, places, counts, k, top, float(pulls))


@kernel
def arrange(rule, bins, worth, memory, arm):
    """Bring an arm's bins up to date: one bin per outcome in the flat memory, and bins by rank in the trees."""
    places, counts = bins.places[arm], bins.counts[arm]
    top = places.size - 1  # bins lie before this place, the best of them last
    if not memory.in_trees[arm]:
        size = memory.sizes[arm]
        for k in range(size):
            places[top - size + k] = memory.felt[arm, k]
            counts[top - size + k] = memory.counts[arm, k]
        bins.sizes[arm] = size
        bins.lacking[arm] = 0.0
        return
    _arrange_by_rank(rule, bins, worth, memory, arm)


@kernel
def _value(worth, places, masses, first, last, total):
    """The value of the law that has the outcomes from `first` to before `last`, with their masses."""
    return distorted_sum(worth.gains.table, worth.losses.table, places, masses, first, last, total, 0.0, np.inf)


def _draw_value(rule, bins, worth, memory, arm, stream):
    """The value of an arm under random masses, each drawn from Gamma(count); and where the stream goes on."""


draw_value = verb(_draw_value)


@draw_value.of(DrawnRule)
def _(rule, drawn, worth, memory, arm, stream):
    return drawn.values[arm], stream


@draw_value.of(BinsRule)
def _(rule, bins, worth, memory, arm, stream):
    if bins.sizes[arm] == 0:
        arrange(rule, bins, worth, memory, arm)
    places, counts, masses = bins.places[arm], bins.counts[arm], bins.masses.of_bins
    first, last = places.size - 1 - bins.sizes[arm], places.size
    total = 0.0
    for k in range(last - 1, first - 1, -1):  # from the best down
        masses[k], stream = gamma(counts[k], stream)
        total += masses[k]
    return _value(worth, places, masses, first, last, total) + bins.lacking[arm], stream
