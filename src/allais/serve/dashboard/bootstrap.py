"""Intervals for the eye, where a policy keeps none: how far a value moves when the outcomes are redrawn."""

from __future__ import annotations

import math

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.bands import Interval
from allais.learner import Learner

DRAWS = 200
MOST_GROUPS = 400  # neighbours beyond them share a place, which a picture does not show
TAIL = 0.025  # on either side


def redrawn(learner: Learner, arm: str) -> Interval:
    """An arm's value, and where 95 % of the values lie when its outcomes are redrawn; by a fixed draw."""
    outcomes, counts = learner.outcomes(arm)
    total = int(counts.sum())
    preference = learner.policy.preference
    if total < 2:
        return Interval(-math.inf, float(preference.utilities(outcomes)[0]) if total else math.nan, math.inf)
    outcomes, counts = _grouped(outcomes, counts)
    drawn = np.random.default_rng(0).multinomial(total, counts / total, size=DRAWS)
    value, *values = preference.values(outcomes, np.vstack([counts, drawn]))
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL])
    return Interval(float(low), float(value), float(high))


def _grouped(outcomes: FloatArray, counts: IntArray) -> tuple[FloatArray, IntArray]:
    """At most so many outcomes: rare ends stay apart, neighbours in the middle share their mean."""
    if outcomes.size <= MOST_GROUPS:
        return outcomes, counts
    order = np.argsort(outcomes)
    outcomes, counts = outcomes[order], counts[order]
    middles = (np.cumsum(counts) - counts / 2.0) / counts.sum()
    cuts = 0.5 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, MOST_GROUPS + 1)))[1:-1]  # narrow at both ends
    group = np.searchsorted(cuts, middles)
    starts = np.flatnonzero(np.append(True, np.diff(group) > 0))
    together = np.add.reduceat(counts, starts)
    return np.add.reduceat(outcomes * counts, starts) / together, together
