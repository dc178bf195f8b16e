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

from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine
from allais.bands._curves import derivative_above, most_above
from allais.bands._tail_walks import IDLE, ceiling

NODES = 128  # places at which a functional may bend
EPOCHS = 16  # functionals of an arm; the last one stays
FIRST = 4  # samples before the first bet, from which nodes are laid out
HORIZONS = 8  # bets for 2^5, 2^7, ... samples: with a bet for half or twice the samples, a tenth of the growth is lost
SHARES = tuple(1.0 / (1.0 + ((j - 2.0) / 3.0) ** 2) for j in range(HORIZONS))  # odds of each: most for 2^7 to 2^11
STAKES = tuple((1.0 - IDLE) * share / sum(SHARES) for share in SHARES)
BEFORE = 32.0  # a bet for N samples does not join in before N / BEFORE: functionals of fewer are poor
COUNTED = 4  # horizons around the number of samples: leaving others out only lowers the wealth
BOLDEST = 0.98  # of the money is at stake at most, so that no sample is ruinous
POINTS = 12  # of a table of wealth: tangents at them lie below it
GROWTH = 20  # an arm is looked at again after 1 / GROWTH more samples
NEAREST = 1e-7  # how near to its end a bet goes, as a share of the range: beyond it, rounding would count as money
CERTAIN = 700.0  # log of the evidence against what cannot be; e^700 is still a number
UP, DOWN = 0, 1  # sides
AT, LOG, RISE = 0, 1, 2  # rows of a table: q, log wealth, its derivative


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


# -- wealth -----------------------------------------------------------------------------------------


@routine
def _bound_tails(band, own, arm, pulls, exponent):
    """Write the band of the distribution at the nodes: 1 - P(Y < node) from below, P(Y > node) from above."""
    beyond, low, high = pulls, own.tails[arm, 0], own.tails[arm, 1]
    for i in range(NODES):
        low[i] = 1.0 - ceiling(band.shape, arm, pulls - beyond, pulls, exponent)  # of P(Y >= node)
        beyond -= own.seen[arm, 2 * i]
        high[i] = ceiling(band.shape, arm, beyond, pulls, exponent)
        beyond -= own.seen[arm, 2 * i + 1]
    low[0], high[NODES - 1] = 1.0, 0.0


@routine
def find_remainders(band, own, arm, pulls, side, exponent):
    """Write k of every epoch; where the curve is not concave, by the newest band of the distribution.

    Q cannot exceed top + k of any of them. The greatest q that is left is returned, a little more for rounding.
    """
    nodes, tails = own.nodes[arm], own.tails[arm]
    limit = most = band.high[arm] - band.low[arm]
    if not band.curves.concave[side]:
        _bound_tails(band, own, arm, pulls, exponent)
    for epoch in range(own.epochs[arm]):
        k = own.sure[arm, epoch, side]
        if not band.curves.concave[side]:
            k, r = 0.0, own.distance[arm, epoch, side]
            for i in range(NODES - 1):
                width = nodes[i + 1] - nodes[i]
                if width <= 0.0:
                    continue
                region = 0 if 0.5 * (nodes[i] + nodes[i + 1]) > 0.0 else 1
                low, high = tails[0, i + 1], max(tails[1, i], tails[0, i + 1])
                c = abs(r[i + 1] - r[i]) / width
                if side == DOWN:
                    low, high = 1.0 - high, 1.0 - low
                k += width * most_above(band.curves, side, region, c, low, high)
        own.remainder[arm, epoch, side] = k
        top = own.distance[arm, epoch, side, 0 if side == UP else NODES - 1]
        limit = min(limit, top + k)
    return limit + NEAREST * most


@routine
def log_wealth(band, own, arm, pulls, side, q):
    """log of the wealth against Q >= q, and its derivative in q."""
    first = min(max((int(np.log2(pulls)) - 5) // 2 - 1, 0), HORIZONS - COUNTED)
    closest = NEAREST * (band.high[arm] - band.low[arm])
    most, wealth, rise = 0.0, IDLE, 0.0  # wealth and rise are in units of e^most
    for j in range(first, first + COUNTED):
        horizon = 2.0 ** (5 + 2 * j)
        boldness, total, derivative = np.sqrt(2.0 * band.stake / horizon), 0.0, 0.0
        for epoch in range(own.epochs[arm]):
            if FIRST * 2.0**epoch * BEFORE < horizon:
                continue
            r, mass = own.distance[arm, epoch, side], own.mass[arm, epoch]
            f = min(boldness * own.ratio[arm, epoch, side], BOLDEST)
            top = r[0] if side == UP else r[NODES - 1]
            room = max(top + own.remainder[arm, epoch, side] - q, closest)
            for i in range(NODES):
                if mass[i] > 0.0:
                    won = f * r[i] / room
                    total += mass[i] * np.log(1.0 - f + won)
                    derivative += mass[i] * won / ((1.0 - f + won) * room)
        if total > most:
            scale = np.exp(most - total)
            wealth, rise, most = wealth * scale, rise * scale, total
        part = STAKES[j] * np.exp(total - most)
        wealth, rise = wealth + part, rise + part * derivative
    return most + np.log(wealth), rise / wealth


@routine
def wealth_end(band, own, arm, pulls, side, level, start, limit):
    """The least q against which there is e^level, from a guess on: log wealth rises, and is convex."""
    most = band.high[arm] - band.low[arm]
    left, right = 0.0, min(limit, most)
    q, finest = min(max(start, left), right), 1e-5 * most
    if log_wealth(band, own, arm, pulls, side, right)[0] < level:
        return right
    for _ in range(60):
        log, rise = log_wealth(band, own, arm, pulls, side, q)
        if log < level:
            left = q
        else:
            right = q
            if log < level + 0.02:
                break
        if right - left < finest:
            break
        q = q + (level + 0.01 - log) / rise if rise > 0.0 else right
        if not left < q < right or log > 3.0 * level:
            q = 0.5 * (left + right)
    return right


@routine
def look_at(band, own, memory, arm):
    """Write an arm's table of wealth, if its samples have grown enough since the last look."""
    pulls = memory.pulls[arm]
    if own.epochs[arm] == 0 or pulls < own.looked[arm] + max(own.looked[arm] // GROWTH, 1):
        return False
    own.looked[arm] = pulls
    for side in range(2):
        exponent = band.exponent_up if side == UP else band.exponent_down
        limit = own.limit[arm, side] = find_remainders(band, own, arm, pulls, side, exponent)
        centre = memory.value[arm] - band.low[arm] if side == UP else band.high[arm] - memory.value[arm]
        start = own.ends[arm, side]
        if start < 0.0:
            start = centre + 0.1 * (band.high[arm] - band.low[arm])
        end = wealth_end(band, own, arm, pulls, side, band.stake, start, limit)
        own.ends[arm, side] = end
        table = own.table[arm, side]
        for i in range(POINTS):
            q = min(centre + max(end - centre, 0.0) * 1.15 * (i + 1) / POINTS, limit)
            log, rise = log_wealth(band, own, arm, pulls, side, q)
            table[AT, i], table[LOG, i], table[RISE, i] = q, log, rise
        most = band.high[arm] - band.low[arm]
        own.widths[arm, side] = max(min(_end_by(table, 0.5 * band.stake), most, limit) - centre, 1e-9 * most)
    return True


@kernel
def _end_by(table, level):
    end = np.inf
    for i in range(POINTS):
        if table[RISE, i] > 0.0:
            end = min(end, table[AT, i] + (level - table[LOG, i]) / table[RISE, i])
    return end


@kernel
def log_evidence(own, arm, side, q):
    """At least so much stands against Q >= q, by the tangents of a table."""
    found, table = np.log(IDLE), own.table[arm, side]
    if q > own.limit[arm, side]:
        return CERTAIN
    for i in range(POINTS):
        found = max(found, table[LOG, i] + table[RISE, i] * (q - table[AT, i]))
    return found
