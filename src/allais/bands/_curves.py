"""The curves that a value integrates, as bets read them: heights at knots, and how far a curve rises in between.

A value is lo + int g(P(Y > z)) dz over outcomes z, with g = w+ for gains and the dual of w- for losses; from the other
end it is hi - int h(P(Y <= z)) dz, with h the dual of g. So there are four curves: both sides, gains and losses.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray
from allais._kernels import by_reference, kernel, routine
from allais.preferences import Preference
from allais.weights import Weight

KNOTS = 512  # stretches of a curve, even in arcsin sqrt(p) but for knots at its singular points
BETWEEN = 32  # places of a stretch at which a curve is compared with its chord
ROUNDING = 1e-13  # of heights; a curve that rises less above its chord does not
SURE = 1.05  # the greatest of BETWEEN places, so much larger, covers the places between them


@by_reference
class Curves(NamedTuple):
    """The curves of both sides (up, down), for gains (0) and losses (1)."""

    knots: FloatArray  # (KNOTS + 1,)
    heights: FloatArray  # at the knots, (2, 2, KNOTS + 1)
    bumps: FloatArray  # how far a curve rises above its chord from a knot to the next, at most
    concave: NDArray[np.bool_]  # whether the curves of a side are: then no band of the distribution is needed; (2,)


def curves_of(preference: Preference, low: float, high: float) -> Curves:
    """The curves of a preference, for outcomes between two utilities; refused where a bet says nothing.

    >>> curves_of(cvar(0.1), 0.0, 50.0).concave.tolist()
    [False, True]
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
    inside = knots[:-1] + share * np.diff(knots)
    for side, pair in enumerate(every):
        for region, weight in enumerate(pair):
            at = heights[side, region] = weight(knots)
            rise = weight(np.minimum(inside, 1.0)) - (at[:-1] + share * np.diff(at))
            most = rise.max(axis=0)
            bumps[side, region, :-1] = np.where(most > ROUNDING, SURE * most, ROUNDING)
            if (has_gains, has_losses)[region]:
                bends = np.diff(np.diff(at) / np.diff(knots))
                concave[side] &= bool((bends <= 1e-9 / np.diff(knots)[1:]).all() and rise.min() > -1e-11)
    return Curves(knots, heights, bumps, concave)


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
