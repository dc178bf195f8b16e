"""Curves of a preference: what a probability to lie beyond an outcome is worth, and its greatest height above lines."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray
from allais._kernels import by_reference, kernel, routine
from allais.preferences import Preference
from allais.weights import Identity, TailAverage, Weight

UP, DOWN = 0, 1  # sides
KNOTS = 512  # stretches of a curve, even in arcsin sqrt(p) but for knots at its singular points
BETWEEN = 256  # parts of a stretch; a curve rises, so that it is bounded in each by its height at the end
ROUNDING = 1e-13  # of heights


@by_reference
class Curves(NamedTuple):
    """The curves of both sides (up, down), for gains (0) and losses (1)."""

    knots: FloatArray  # (KNOTS + 1,)
    heights: FloatArray  # at the knots, (2, 2, KNOTS + 1)
    bumps: FloatArray  # how far a curve rises above its chord from a knot to the next, at most
    concave: NDArray[np.bool_]  # whether the curves of a side are, or `tail` serves: then no band is needed; (2,)
    tail: float  # the share of worst outcomes that CVaR averages, or 0: another preference
    middle: float  # where nodes are densest, in standard deviations from the mean


def curves_of(preference: Preference, low: float, high: float) -> Curves:
    """The curves of a preference, for outcomes between two utilities; refused where a bet says nothing.

    >>> curves_of(cvar(0.1), 0.0, 50.0).tail
    0.1
    """
    for weight in (preference.gains, preference.losses):
        if not weight.is_monotone:
            raise ValueError(f"bets need weights that never fall; {weight!r} does. Use WLUCB, which takes any weight.")
        if weight.breaks:
            raise ValueError(
                f"bets need weights without jumps; {weight!r} has one at {weight.breaks[0]:g}. Use WLUCB, or KL(), "
                "which take any weight."
            )
    return _curves(preference.gains, preference.losses, high > 0.0, low < 0.0)


@lru_cache(maxsize=64)
def _curves(gains: Weight, losses: Weight, has_gains: bool, has_losses: bool) -> Curves:
    every = ((gains, losses.dual()), (gains.dual(), losses))
    knots = np.sin(0.5 * np.pi * np.arange(KNOTS + 1) / KNOTS) ** 2
    knots[-1] = 1.0
    for weight in every[0] + every[1]:
        for point in weight.singularities:
            knots[np.abs(knots - point).argmin()] = point
    heights, bumps = np.zeros((2, 2, KNOTS + 1)), np.zeros((2, 2, KNOTS + 1))
    concave = np.ones(2, dtype=np.bool_)
    share = np.linspace(0.0, 1.0, BETWEEN + 1)[:, None]
    inside = np.minimum(knots[:-1] + share * np.diff(knots), 1.0)
    for side, pair in enumerate(every):
        for region, weight in enumerate(pair):
            at = heights[side, region] = weight(knots)
            found, chord = weight(inside), at[:-1] + share * np.diff(at)
            # both rise, so that from one place to the next the difference is at most that of the far end and the near
            most = np.maximum((found[1:] - chord[:-1]).max(axis=0), 0.0) + ROUNDING
            bumps[side, region, :-1] = ROUNDING if _is_linear_between(weight) else most
            if (has_gains, has_losses)[region]:
                bends = np.diff(np.diff(at) / np.diff(knots))
                is_below = (found - chord).min() > -1e-11
                concave[side] &= bool((bends <= 1e-9 / np.diff(knots)[1:]).all() and is_below)
    tail = gains.level if isinstance(gains, TailAverage) and gains.dual() == losses else 0.0
    if not 0.0 < tail < 1.0:
        return Curves(knots, heights, bumps, concave, 0.0, 0.0)
    concave[UP] = True
    return Curves(knots, heights, bumps, concave, tail, NormalDist().inv_cdf(tail))


def _is_linear_between(weight: Weight) -> bool:
    """Whether a curve is a straight line between its singular points, which are knots."""
    return isinstance(weight, Identity | TailAverage) or isinstance(weight.dual(), TailAverage)


# -- compiled -------------------------------------------------------------------------------------


@kernel
def _knot(knots, p):
    """The last knot that is not above p, and never the last of all."""
    i = int(np.arcsin(np.sqrt(min(max(p, 0.0), 1.0))) * KNOTS / (0.5 * np.pi))
    i = min(max(i, 0), KNOTS - 1)
    while i > 0 and knots[i] > p:
        i -= 1
    while i < KNOTS - 1 and knots[i + 1] <= p:
        i += 1
    return i


@kernel
def _height(curves, side, region, i, p):
    knots, g = curves.knots, curves.heights
    share = (p - knots[i]) / (knots[i + 1] - knots[i])
    return g[side, region, i] + (g[side, region, i + 1] - g[side, region, i]) * share


@routine
def most_above(curves, side, region, c, low, high):
    """The greatest g(p) - c p of all p between two, rounded up."""
    knots, g, bumps = curves.knots, curves.heights, curves.bumps
    first, last = _knot(knots, low), _knot(knots, high)
    here, best = _height(curves, side, region, first, low) - c * low, -np.inf
    for i in range(first, last + 1):
        if i < last:
            after = g[side, region, i + 1] - c * knots[i + 1]
        else:
            after = _height(curves, side, region, i, high) - c * high
        best = max(best, max(here, after) + bumps[side, region, i])
        here = after
    return best


@routine
def derivative_above(curves, side, region, p, low, high):
    """The derivative at p of the least concave function above g between two: the smallest k that one can have."""
    knots, g = curves.knots, curves.heights
    first, last = _knot(knots, low), min(_knot(knots, high) + 1, KNOTS)
    middle = min(max(_knot(knots, p), first), last - 1)
    a, b = middle, middle + 1
    c = 0.0
    for _ in range(60):  # the two points of its face at p, by turns; five are usual
        c = (g[side, region, b] - g[side, region, a]) / (knots[b] - knots[a])
        left, right = a, b
        for i in range(first, middle + 1):
            if g[side, region, i] - c * knots[i] > g[side, region, left] - c * knots[left] + 1e-15:
                left = i
        for i in range(middle + 1, last + 1):
            if g[side, region, i] - c * knots[i] > g[side, region, right] - c * knots[right] + 1e-15:
                right = i
        if left == a and right == b:
            break
        a, b = left, right
    return c
