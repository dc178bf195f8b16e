"""Intervals for the eye, where a policy keeps none: how far a value moves when the outcomes are redrawn."""

from __future__ import annotations

import math

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.bands import Interval
from allais.learner import Learner
from allais.preferences import Preference
from allais.weights import Weight

DRAWS = 200
MOST_GROUPS = 400  # neighbours beyond them share a place, which a picture does not show
TAIL = 0.025  # on either side


def redrawn(learner: Learner, arm: str) -> Interval:
    """An arm's value, and where 95 % of the values lie when its outcomes are redrawn; by a fixed draw."""
    outcomes, counts = learner.outcomes(arm)
    total = int(counts.sum())
    preference = learner.policy.preference
    felt = preference.utilities(outcomes)
    if total < 2:
        return Interval(-math.inf, float(felt[0]) if total else math.nan, math.inf)
    order = np.argsort(felt)
    felt, counts = _grouped(felt[order], counts[order])
    drawn = np.random.default_rng(0).multinomial(total, counts / total, size=DRAWS)
    values = values_of(preference, felt, drawn / total)
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL])
    return Interval(float(low), float(values_of(preference, felt, counts[None, :] / total)[0]), float(high))


def values_of(preference: Preference, felt: FloatArray, shares: FloatArray) -> FloatArray:
    """The values of lotteries over the same felt outcomes, lowest first: one row of shares per lottery."""
    above = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]
    gains = np.sum(_steps(preference.gains, above, forward=False) * np.maximum(felt, 0.0), axis=1)
    losses = np.sum(_steps(preference.losses, np.cumsum(shares, axis=1), forward=True) * np.minimum(felt, 0.0), axis=1)
    return gains + losses


def _steps(weight: Weight, tail: FloatArray, *, forward: bool) -> FloatArray:
    weighted = np.asarray(weight(np.clip(tail, 0.0, 1.0)))
    none = np.zeros((len(tail), 1))
    if forward:
        return np.diff(weighted, axis=1, prepend=none)
    return -np.diff(weighted, axis=1, append=none)


def _grouped(felt: FloatArray, counts: IntArray) -> tuple[FloatArray, IntArray]:
    """At most so many outcomes: rare ends stay apart, neighbours in the middle share their mean."""
    if felt.size <= MOST_GROUPS:
        return felt, counts
    middles = (np.cumsum(counts) - counts / 2.0) / counts.sum()
    cuts = 0.5 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, MOST_GROUPS + 1)))[1:-1]  # narrow at both ends
    group = np.searchsorted(cuts, middles)
    starts = np.flatnonzero(np.append(True, np.diff(group) > 0))
    together = np.add.reduceat(counts, starts)
    return np.add.reduceat(felt * counts, starts) / together, together
