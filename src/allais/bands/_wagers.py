"""Bets on one linear functional of an arm's outcomes, in compiled code: how much money stands against a value.

Let Q be how far a value lies above the least one that is possible (side 0), or below the greatest (side 1). Both are an
integral of g(P(z)), P(z) the probability to lie beyond z, so that for any functional A with derivatives c(z)

    Q <= E A(Y) + k,    k = int max over p in the band of P(z) of g(p) - c(z) p  dz.

A bet on the mean of A is then a bet against Q >= q, and its wealth

    prod_t 1 - f + f r_t / (top + k - q),    r_t = top - A(Y_t) >= 0,

rises in q, and its logarithm is convex in q (docs/theory/betting.md). A functional is chosen from the past only, and
renewed whenever an arm's samples have doubled. What is kept of the samples since then is their mass on nodes, each
split between its two neighbours: A is linear in between, so that a chord lies below the logarithm, and no evidence is
invented.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine
from allais.bands._tail_walks import IDLE
from allais.preferences import Preference
from allais.weights import Weight

NODES = 128  # places at which a functional may bend
EPOCHS = 16  # functionals of an arm; the last one stays
FIRST = 4  # samples before the first bet, from which nodes are laid out
POINTS = 12  # of a table of wealth: tangents at them lie below it
UP, DOWN = 0, 1  # sides
AT, LOG, RISE = 0, 1, 2  # rows of a table: q, log wealth, its derivative
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


@by_reference
class Wagers(NamedTuple):
    """What is known of each arm's bets."""

    nodes: FloatArray  # places, ascending from the least outcome to the greatest; (n_arms, NODES)
    seen: IntArray  # samples at a node (2 i), and between it and the next (2 i + 1); (n_arms, 2 NODES)
    mass: FloatArray  # samples of an epoch on nodes, (n_arms, EPOCHS, NODES)
    distance: FloatArray  # r at the nodes, (n_arms, EPOCHS, 2, NODES)
    ratio: FloatArray  # mean of r over its standard deviation, in the past of an epoch; (n_arms, EPOCHS, 2)
    sure: FloatArray  # k where no band is needed
    epochs: IntArray  # how many have begun, (n_arms,)
    looked: IntArray  # samples when an arm was last looked at
    ends: FloatArray  # q at which the wealth is e^stake, (n_arms, 2)
    limit: FloatArray  # beyond this q no distribution within the band is left
    widths: FloatArray  # how far beyond the value the wealth is e^(stake / 2)
    table: FloatArray  # (n_arms, 2, 3, POINTS)
    done: IntArray  # the arm that was found to be the best and 1, or 0; (1,)
    hardest: IntArray  # the rival that was last found not to be parted from the leader, (1,)
    tails: FloatArray  # scratch: the band of P(Y > node) and P(Y >= node), (n_arms, 2, NODES)
    remainder: FloatArray  # scratch: k, (n_arms, EPOCHS, 2)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are written before they are read: in no file."""
        return "tails", "remainder"


def no_wagers(n_arms: int) -> Wagers:
    """Nothing has been bet yet."""
    table = np.zeros((n_arms, 2, 3, POINTS))
    table[:, :, LOG] = np.log(IDLE)
    none = np.zeros(n_arms, dtype=np.int64)
    return Wagers(
        np.zeros((n_arms, NODES)),
        np.zeros((n_arms, 2 * NODES), dtype=np.int64),
        np.zeros((n_arms, EPOCHS, NODES)),
        np.zeros((n_arms, EPOCHS, 2, NODES)),
        np.zeros((n_arms, EPOCHS, 2)),
        np.zeros((n_arms, EPOCHS, 2)),
        none,
        none.copy(),
        np.full((n_arms, 2), -1.0),
        np.full((n_arms, 2), np.inf),
        np.full((n_arms, 2), np.inf),
        table,
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((n_arms, 2, NODES)),
        np.zeros((n_arms, EPOCHS, 2)),
    )


# -- curves -----------------------------------------------------------------------------------------


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


# -- samples ----------------------------------------------------------------------------------------


@routine
def _lay_nodes(band, own, memory, arm):
    """Lay an arm's nodes out: its declared values, or densely where its first samples were."""
    low, high, nodes = band.low[arm], band.high[arm], own.nodes[arm]
    if not np.isnan(band.places[arm, 0]):
        for i in range(NODES):
            nodes[i] = band.places[arm, i]
        return
    size = memory.sizes[arm]
    centre = memory.utility[arm, size // 2]
    spread = 0.25 * (memory.utility[arm, size - 1] - memory.utility[arm, 0])
    if spread <= 0.0:
        spread = (high - low) / NODES
    start, end = np.arcsinh((low - centre) / spread), np.arcsinh((high - centre) / spread)
    for i in range(NODES):
        nodes[i] = min(max(centre + spread * np.sinh(start + (end - start) * i / (NODES - 1)), low), high)
    nodes[0], nodes[NODES - 1] = low, high
    _move_node(nodes, 0.0)  # gains and losses have curves of their own
    for i in range(size):
        _move_node(nodes, memory.utility[arm, i])


@kernel
def _cell(nodes, y):
    """The last node that is not above y."""
    low, high = 0, NODES
    while high - low > 1:
        middle = (low + high) // 2
        if nodes[middle] <= y:
            low = middle
        else:
            high = middle
    return low


@kernel
def _move_node(nodes, y):
    """Move the nearest inner node to a place, if no other place has it."""
    if not nodes[0] < y < nodes[NODES - 1]:
        return
    i = _cell(nodes, y)
    if nodes[i] == y:
        return
    if i == 0 or (i + 1 < NODES - 1 and nodes[i + 1] - y < y - nodes[i]):
        i += 1
    if nodes[i] != 0.0 and 0 < i < NODES - 1:
        nodes[i] = y


@kernel
def _count(own, arm, y):
    """Count a sample: at a node, or between two."""
    i = _cell(own.nodes[arm], y)
    own.seen[arm, 2 * i + (0 if own.nodes[arm, i] == y else 1)] += 1


@kernel
def _place(own, arm, epoch, y):
    """Split a sample of an epoch between the two nodes beside it."""
    i = _cell(own.nodes[arm], y)
    here = own.nodes[arm, i]
    if here == y or i == NODES - 1:
        own.mass[arm, epoch, i] += 1.0
        return
    share = (y - here) / (own.nodes[arm, i + 1] - here)
    own.mass[arm, epoch, i] += 1.0 - share
    own.mass[arm, epoch, i + 1] += share


# -- functionals ------------------------------------------------------------------------------------


@routine
def _begin(band, own, arm, pulls):
    """Choose the functionals of the next epoch, from what was seen so far."""
    epoch, curves, nodes = own.epochs[arm], band.curves, own.nodes[arm]
    least = min(0.5 * band.stake / (2.0 * pulls), 0.5)  # tails that cannot be told from none by the epoch's end
    reach = np.sqrt(band.expected / (4.0 * pulls))  # of the band at the epoch's end, in arcsin sqrt(p)
    for side in range(2):
        own.sure[arm, epoch, side] = 0.0
        r = own.distance[arm, epoch, side]
        beyond = pulls - own.seen[arm, 0]  # samples above the node at hand
        r[0] = 0.0
        for i in range(NODES - 1):
            width, inside = nodes[i + 1] - nodes[i], own.seen[arm, 2 * i + 1]
            p = (beyond - 0.5 * inside) / pulls
            beyond -= inside + own.seen[arm, 2 * i + 2]
            c = 0.0
            if width > 0.0:
                p = min(max(p if side == UP else 1.0 - p, least), 1.0 - least)
                region = 0 if 0.5 * (nodes[i] + nodes[i + 1]) > 0.0 else 1
                if band.curves.concave[side]:
                    c = derivative_above(curves, side, region, p, 0.0, 1.0)
                    own.sure[arm, epoch, side] += width * most_above(curves, side, region, c, 0.0, 1.0)
                else:
                    angle = np.arcsin(np.sqrt(p))
                    low, high = np.sin(max(angle - reach, 0.0)) ** 2, np.sin(min(angle + reach, 0.5 * np.pi)) ** 2
                    c = derivative_above(curves, side, region, p, low, high)
            r[i + 1] = r[i] + c * width
        top = r[NODES - 1]
        for i in range(NODES if side == UP else 0):
            r[i] = top - r[i]
        own.ratio[arm, epoch, side] = _steadiness(own, arm, epoch, side, pulls)
    own.epochs[arm] = epoch + 1


@kernel
def _steadiness(own, arm, epoch, side, pulls):
    """The mean of r over its standard deviation; half a sample at the end where a bet loses all counts, too."""
    r, total, squares = own.distance[arm, epoch, side], 0.0, 0.0
    for i in range(NODES):
        at, inside = own.seen[arm, 2 * i], own.seen[arm, 2 * i + 1]
        between = 0.5 * (r[i] + r[i + 1]) if i < NODES - 1 else 0.0
        total += at * r[i] + inside * between
        squares += at * r[i] * r[i] + inside * between * between
    mean = total / pulls
    variance = max(squares - total * mean, 0.0) + 0.5 * mean * mean
    return mean / np.sqrt(variance / (pulls + 0.5)) if variance > 0.0 else 0.0


@kernel
def note_outcome(band, own, memory, arm, y):
    """Bet on an outcome that was just taken in, and renew the functionals if it is time."""
    pulls = memory.pulls[arm]
    if pulls < FIRST:
        return
    if pulls == FIRST and own.epochs[arm] == 0:
        _lay_nodes(band, own, memory, arm)
        for i in range(memory.sizes[arm]):
            for _ in range(memory.counts[arm, i]):
                _count(own, arm, memory.utility[arm, i])
        _begin(band, own, arm, pulls)
        return
    _count(own, arm, y)
    _place(own, arm, own.epochs[arm] - 1, y)
    if own.epochs[arm] < EPOCHS and pulls == FIRST << own.epochs[arm]:
        _begin(band, own, arm, pulls)
