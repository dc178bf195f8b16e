"""An arm's outcomes in few bins, so that a random reweighting costs about the same however much was seen.

Bins hold samples by rank. Toward both ends, and toward every point where a weight is singular, they narrow in
proportion: a bin holds at most 1 / SHARE of the samples between it and that point, single outcomes at the ends.
So no rare event is lost in a bin, whatever its rank and however steep the weight.

Let every sample have a mass of its own. Bins get the sum of theirs, so the probabilities beyond each bin are
exact, and only what lies within a bin is moved, to its middle outcome. For a monotone weight, a value then
changes by at most

    sum over bins of (best - worst outcome of the bin) * (decision weight of the bin).

The value of the samples themselves is known (`memory.measure`); how far the binned law is from it at equal masses
is `lacking`, and is added to every draw.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel, routine
from allais.bands.base import refresh
from allais.numerics.table import weigh
from allais.preferences import Preference
from allais.samples.draws import gamma
from allais.samples.memory import FLAT
from allais.samples.tree import outcome_at_rank
from allais.samples.trees import ROOT, TOTAL

SHARE = 8.0  # of the samples beyond a bin, over those in it; 12 costs a third more, and no regret was seen to fall
FINE = 4.0  # bins to a standard deviation of what lies beyond a singular point inside (0, 1)
MOST_SAMPLES = 2.0**40  # of an arm: what the arrays have room for; more would only widen the last bin


class Narrowing(NamedTuple):
    """Where bins narrow, and how many there can be."""

    points: FloatArray  # shares of the samples from the best down: 0, 1, and between
    most: int  # bins of an arm, and the place of the best outcome that could occur


class BinsRule(NamedTuple):
    """How arms are put into bins."""

    narrowing: Narrowing
    tops: FloatArray  # the best outcome of each arm that could occur, as felt; (n_arms,)

    def kept(self, n_arms: int) -> Bins:
        """Empty bins."""
        places, counts = np.zeros((n_arms, self.narrowing.most)), np.zeros((n_arms, self.narrowing.most))
        places[:, 0], counts[:, 0] = self.tops, 1.0
        scratch = Masses(np.zeros(self.narrowing.most))
        return Bins(places, counts, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), scratch)


class Masses(NamedTuple):
    """Scratch: random masses of one arm."""

    of_bins: FloatArray  # (most,)


class Bins(NamedTuple):
    """The bins of each arm, best first."""

    places: FloatArray  # the best outcome that could occur, then a bin's outcome as felt; (n_arms, most + 1)
    counts: FloatArray  # 1, then how many samples a bin holds
    sizes: IntArray  # how many bins an arm has; 0 where they are out of date, (n_arms,)
    lacking: FloatArray  # value of an arm's samples less that of its bins, (n_arms,)
    masses: Masses


def bins_for(preference: Preference, tops: FloatArray) -> BinsRule:
    """How to put arms into bins whose best outcomes that could occur are given, as felt."""
    inside = {p for p in preference.gains.singularities if 0.0 < p < 1.0}
    inside |= {1.0 - p for p in preference.losses.singularities if 0.0 < p < 1.0}  # w- sees P(X <= z)
    points = np.array(sorted({0.0, *inside, 1.0}))
    most = max(FLAT, (points.size - 1) * _most_toward(MOST_SAMPLES)) + 1
    return BinsRule(Narrowing(points, most), tops)


def _most_toward(samples: float) -> int:
    """How many bins lie between two neighbouring points, at most."""
    return 2 * int(2.0 * SHARE + (SHARE + 1.0) * math.log(samples))


# -- compiled -------------------------------------------------------------------------------------


@refresh.of(BinsRule)
def _(band, kept, memory, arm):
    kept.sizes[arm] = 0


@kernel
def _felt_at(memory, arm, rank):
    """The outcome of an arm in the trees that `rank` samples reach, as felt."""
    trees = memory.trees
    gains = int(trees.numbers[trees.heads[2 * arm, ROOT], TOTAL])
    if rank <= gains:
        return outcome_at_rank(trees, 2 * arm, rank)
    losses = int(trees.numbers[trees.heads[2 * arm + 1, ROOT], TOTAL])
    return -outcome_at_rank(trees, 2 * arm + 1, losses - (rank - gains) + 1)


@kernel
def stride(points, done, pulls):
    """How many samples the next bin holds, after `done` of them; it depends on ranks only, never on a tree's layout."""
    widest = float(pulls)
    for point in points:
        ahead = point * pulls - done
        near = ahead / (SHARE + 1.0) if ahead > 0.0 else -ahead / SHARE
        # reweighting moves what lies beyond a point: nothing is gained by bins far narrower than that
        moves = np.sqrt(point * (1.0 - point) * pulls)
        widest = min(widest, max(near, moves / FINE))
    return max(int(widest), 1)


@routine
def arrange(rule, bins, worth, memory, arm):
    """Bring an arm's bins up to date: one for each outcome in the flat memory, by rank for an arm in the trees."""
    places, counts = bins.places[arm], bins.counts[arm]
    bins.lacking[arm] = 0.0
    if not memory.in_trees[arm]:
        size = memory.sizes[arm]
        for k in range(size):
            places[k + 1] = memory.felt[arm, size - 1 - k]
            counts[k + 1] = memory.counts[arm, size - 1 - k]
        bins.sizes[arm] = size
        return
    pulls, done, k = memory.pulls[arm], 0, 0
    while done < pulls:
        k += 1
        upto = min(done + stride(rule.narrowing.points, done, pulls), pulls)
        if k + 1 == places.size:
            upto = pulls
        places[k] = _felt_at(memory, arm, (done + upto + 1) // 2)
        counts[k] = upto - done
        done = upto
    bins.sizes[arm] = k
    bins.lacking[arm] = memory.value[arm] - value_of(worth, places, counts, 1, k + 1)


@routine
def value_of(worth, places, masses, first, last):
    """The value of the law with the outcomes `first` to `last`, descending, and their masses (Algorithm 1)."""
    total = 0.0
    for k in range(first, last):
        total += masses[k]
    value, above = 0.0, 0.0
    k = first
    while k < last and places[k] > 0.0:
        above += masses[k]
        lower = max(places[k + 1], 0.0) if k + 1 < last else 0.0
        if places[k] > lower:  # several bins may lie at one outcome that was seen often
            value += (places[k] - lower) * weigh(worth.gains.table, above / total)
        k += 1
    below = 0.0  # losses accumulate from the bottom: w- sees P(X <= z)
    k = last - 1
    while k >= first and places[k] < 0.0:
        below += masses[k]
        upper = min(places[k - 1], 0.0) if k > first else 0.0
        if upper > places[k]:
            value -= (upper - places[k]) * weigh(worth.losses.table, below / total)
        k -= 1
    return value


@routine
def draw_value(rule, bins, worth, memory, arm, stream):
    """The value of an arm under random masses, Gamma(how often) each; and where the stream goes on."""
    if bins.sizes[arm] == 0:
        arrange(rule, bins, worth, memory, arm)
    last = bins.sizes[arm] + 1
    masses = bins.masses.of_bins
    for k in range(last):
        masses[k], stream = gamma(bins.counts[arm, k], stream)
    return value_of(worth, bins.places[arm], masses, 0, last) + bins.lacking[arm], stream
