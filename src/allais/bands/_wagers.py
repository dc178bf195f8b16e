"""Bets on one linear functional of an arm's outcomes, in compiled code: how much money stands against a value.

Let Q be how far a value lies above the least one that is possible (side 0), or below the greatest (side 1). Both are an
integral of g(P(z)), P(z) the probability to lie beyond z, so that for any functional A with derivatives c(z)

    Q <= E A(Y) + k,    k = int max over p in the band of P(z) of g(p) - c(z) p  dz.

A bet on the mean of A is then a bet against Q >= q, and its wealth

    prod_t 1 - f + f r_t / (top + k - q),    r_t = top - A(Y_t) >= 0,

rises in q, and its logarithm is convex in q (docs/theory/betting.md). A functional is chosen from the past only, and
renewed whenever an arm's samples have grown by half, for the samples that a proof will take. What is kept of the
samples since then is their mass on nodes, each split between its two neighbours: A is linear in between, so that a
chord lies below the logarithm, and no evidence is invented. CVaR is bounded from above by no functional, but by the
least wealth over thresholds (`_wealth.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine
from allais.bands._curves import DOWN, UP, derivative_above, most_above
from allais.bands._tail_walks import STRENGTH

NODES = 128  # places at which a functional may bend
LOG_CUTS = np.log(NODES - 1.0)  # of the band at the nodes
EPOCHS = 36  # functionals of an arm; the last one stays
RENEWED = 1.5  # an epoch ends when samples have grown so many times
FIRST = 4  # samples before the first bet, from which nodes are laid out
POINTS = 12  # of a table of wealth: tangents at them lie below it
AT, LOG, RISE, SPAN = 0, 1, 2, 3  # rows of a table: q, log wealth, the derivative of a line below it, how far it holds
UNSEEN, UNSEEN_STEEP = 0.1, 0.5  # samples that are added at the losing end of a bet, where curves are concave or not
RESERVE = 0.05  # of the money is never at stake
FEW = 4  # arms among which the odds to lead are even from the start
CAREFUL = 10.0  # times the spread where the tail's samples are all alike
PART = 0.4  # of the exponent that bets are made for: what one arm of two has to show
AHEAD, LEAST_AHEAD, MOST_AHEAD = 1.6, 1.25, 3.0  # horizons of curves that are not concave, times the samples so far
SLOWNESS = 1.6  # the power of a half-width that samples grow with: 2 by the spread alone, 1 / 0.6 by unseen tails
SEEN_TAIL = 3.0  # samples of the tail before the first bet on it
LEADERS, NEVER = 60, 62  # leaders whose parted rivals are remembered, a bit of an arm's number each; a bit that is 0


@by_reference
class Wagers(NamedTuple):
    """What is known of each arm's bets."""

    nodes: FloatArray  # places, ascending from the least outcome to the greatest; (n_arms, NODES)
    seen: IntArray  # samples at a node (2 i), and between it and the next (2 i + 1); (n_arms, 2 NODES)
    mass: FloatArray  # samples of an epoch on nodes, (n_arms, EPOCHS, NODES)
    inner: FloatArray  # that part of a node's mass that lies beyond it, before the next; (n_arms, EPOCHS, NODES)
    distance: FloatArray  # r at the nodes, (n_arms, EPOCHS, 2, NODES)
    ratio: FloatArray  # mean of r over its standard deviation, in the past of an epoch; (n_arms, EPOCHS, 2)
    bold: FloatArray  # the edge that is bet for, in standard deviations; (n_arms, EPOCHS, 2)
    sure: FloatArray  # k where no band is needed
    horizon: FloatArray  # samples for which a curve that is not concave is bounded, (n_arms, 2)
    foreseen: FloatArray  # the half-width that is expected then, (n_arms, 2)
    spread: FloatArray  # the standard deviation of the functional that bounds an arm from below, (n_arms,)
    laid: IntArray  # the part of `seen` from which nodes were laid out, before the first bet; (n_arms, 2 NODES)
    begun: IntArray  # samples when an epoch began, (n_arms, EPOCHS)
    epochs: IntArray  # how many have begun, (n_arms,)
    since: IntArray  # the first epoch that counts for an arm as the leader, (n_arms,)
    log_prior: FloatArray  # log of the odds that an arm leads, fixed before that epoch; -inf while they are open
    aim: FloatArray  # how far from its value an arm will have to be refuted, (n_arms, 2)
    looked: IntArray  # samples when an arm was last looked at, (n_arms, 2)
    ends: FloatArray  # q at which the wealth is e^stake, (n_arms, 2)
    limit: FloatArray  # beyond this q no distribution within the band is left
    widths: FloatArray  # how far beyond the value the wealth is e^(stake / 2)
    table: FloatArray  # (n_arms, 2, 4, POINTS)
    way: IntArray  # how pairs are parted, where that is seen (`policies/wagers.py`); (1,)
    aside: FloatArray  # what was told before that was seen, NaN where nothing was; (n_arms, FIRST)
    done: IntArray  # the arm that was found to be the best and 1, or 0; (1,)
    leading: IntArray  # the arm that is to be proven the best, (1,)
    leaders: IntArray  # that were ever parted from a rival, the latest ones, or -1; (LEADERS,)
    parted: IntArray  # bit i of an arm: whether the i-th of these leaders was ever parted from it; (n_arms,)
    checked: IntArray  # the leader, if its table was compared with that of every rival, or -1; (1,)
    tails: FloatArray  # scratch: the band of P(Y > node) and P(Y >= node), (n_arms, 2, NODES)
    remainder: FloatArray  # scratch: k, (n_arms, EPOCHS, 2)
    blocks: IntArray  # scratch: stretches of thresholds that are still to be looked at, (64, 2)
    guess: IntArray  # scratch: the threshold that had the least wealth, (n_arms,)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are written before they are read: in no file."""
        return "tails", "remainder", "blocks", "guess"

    def of_one_arm(self) -> dict[str, Any]:
        """What a file of one arm's bets holds: nothing of pairs."""
        return {name: part for name, part in self._asdict().items() if name not in (*self.scratch, "leaders", "parted")}

    def as_now(self, written: dict[str, Any]) -> dict[str, Any]:
        """What a file holds; older ones had true or false for each pair of arms."""
        if "leaders" in written:
            return written
        pairs = np.array(written["parted"], dtype=np.bool_).reshape(self.parted.size, self.parted.size)
        leaders = np.flatnonzero(pairs.any(axis=1))[-LEADERS:]
        bits = (pairs[leaders] << np.arange(leaders.size, dtype=np.int64)[:, None]).sum(axis=0, dtype=np.int64)
        room = np.full(LEADERS - leaders.size, -1)
        return written | {"leaders": np.append(leaders, room).tolist(), "parted": bits.tolist()}


@by_reference
class Parted(NamedTuple):
    """Which pairs were ever parted, where nothing is bet; as in `Wagers`."""

    leaders: IntArray
    parted: IntArray

    def as_now(self, written: dict[str, Any]) -> dict[str, Any]:
        """What a file holds; older ones remembered no pairs."""
        return {name: part.tolist() for name, part in self._asdict().items()} | written


def none_parted(n_arms: int) -> Parted:
    """No pair has been parted yet."""
    return Parted(np.full(LEADERS, -1, dtype=np.int64), np.zeros(n_arms, dtype=np.int64))


def no_wagers(n_arms: int) -> Wagers:
    """Nothing has been bet yet."""
    table = np.zeros((n_arms, 2, 4, POINTS))
    table[:, :, LOG] = np.log(RESERVE)
    none = np.zeros(n_arms, dtype=np.int64)
    prior = np.full(n_arms, -np.log(max(n_arms - 1, 1)) if n_arms <= FEW else -np.inf)
    return Wagers(
        np.zeros((n_arms, NODES)),
        np.zeros((n_arms, 2 * NODES), dtype=np.int64),
        np.zeros((n_arms, EPOCHS, NODES)),
        np.zeros((n_arms, EPOCHS, NODES)),
        np.zeros((n_arms, EPOCHS, 2, NODES)),
        np.zeros((n_arms, EPOCHS, 2)),
        np.zeros((n_arms, EPOCHS, 2)),
        np.zeros((n_arms, EPOCHS, 2)),
        np.zeros((n_arms, 2)),
        np.zeros((n_arms, 2)),
        np.zeros(n_arms),
        np.zeros((n_arms, 2 * NODES), dtype=np.int64),
        np.zeros((n_arms, EPOCHS), dtype=np.int64),
        none,
        none.copy(),
        prior,
        np.zeros((n_arms, 2)),
        np.zeros((n_arms, 2), dtype=np.int64),
        np.full((n_arms, 2), -1.0),
        np.full((n_arms, 2), np.inf),
        np.full((n_arms, 2), np.inf),
        table,
        np.zeros(1, dtype=np.int64),
        np.full((n_arms, FIRST), np.nan),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(LEADERS, -1, dtype=np.int64),
        none.copy(),
        np.full(1, -1, dtype=np.int64),
        np.zeros((n_arms, 2, NODES)),
        np.zeros((n_arms, EPOCHS, 2)),
        np.zeros((64, 2), dtype=np.int64),
        none.copy(),
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
    size, tail = memory.sizes[arm], band.curves.tail
    centre = memory.utility[arm, size // 2]
    spread = 0.25 * (memory.utility[arm, size - 1] - memory.utility[arm, 0])
    if tail > 0.0:  # a range of four is about two standard deviations
        centre = min(max(centre + 2.0 * spread * band.curves.middle, low), high)
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
def place_of(nodes, y):
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
    i = place_of(nodes, y)
    if nodes[i] == y:
        return
    if i == 0 or (i + 1 < NODES - 1 and nodes[i + 1] - y < y - nodes[i]):
        i += 1
    if nodes[i] != 0.0 and 0 < i < NODES - 1:
        nodes[i] = y


@kernel
def _counted_at(own, arm, y):
    """Where a sample is counted: at a node, or between two."""
    i = place_of(own.nodes[arm], y)
    return 2 * i + (0 if own.nodes[arm, i] == y else 1)


@kernel
def _place(own, arm, epoch, y):
    """Split a sample of an epoch between the two nodes beside it."""
    i = place_of(own.nodes[arm], y)
    here = own.nodes[arm, i]
    if here == y or i == NODES - 1:
        own.mass[arm, epoch, i] += 1.0
        return
    share = (y - here) / (own.nodes[arm, i + 1] - here)
    own.mass[arm, epoch, i] += 1.0 - share
    own.inner[arm, epoch, i] += 1.0 - share
    own.mass[arm, epoch, i + 1] += share


# -- functionals ------------------------------------------------------------------------------------


@routine
def begin_epoch(band, own, arm, pulls):
    """Choose the functionals of the next epoch, from what was seen so far."""
    epoch, curves, nodes = own.epochs[arm], band.curves, own.nodes[arm]
    if epoch == EPOCHS:
        return
    own.begun[arm, epoch] = pulls
    x = PART * band.stake
    for side in range(2):
        own.sure[arm, epoch, side] = 0.0
        if side == UP and curves.tail > 0.0:
            mean, spread = _moments_below(curves.tail, own, arm, pulls)
            _judge(band, own, arm, epoch, side, pulls, mean / spread if spread > 0.0 else 0.0, spread / curves.tail)
            continue
        horizon = _horizon(band, own, arm, epoch, side, pulls)
        least = min(x / horizon, 0.5)  # tails that cannot be told from none at the horizon
        exponent = band.exponent_up if side == UP else band.exponent_down
        exponent += LOG_CUTS + 0.5 * np.log1p(horizon / STRENGTH)
        reach = np.sqrt(exponent / (2.0 * horizon))  # of the band then, in arcsin sqrt(p)
        lost = 0.0
        r = own.distance[arm, epoch, side]
        beyond = pulls - own.seen[arm, 0]  # samples above the node at hand
        r[0] = 0.0
        for i in range(NODES - 1):
            width, inside = nodes[i + 1] - nodes[i], own.seen[arm, 2 * i + 1]
            p = (beyond - 0.5 * inside) / pulls
            beyond -= inside + own.seen[arm, 2 * i + 2]
            c = 0.0
            if width > 0.0:
                share = p if side == UP else 1.0 - p
                p = min(max(share, least), 1.0 - least)
                region = 0 if 0.5 * (nodes[i] + nodes[i + 1]) > 0.0 else 1
                if band.curves.concave[side]:
                    c = derivative_above(curves, side, region, p, 0.0, 1.0)
                    own.sure[arm, epoch, side] += width * most_above(curves, side, region, c, 0.0, 1.0)
                else:
                    angle = np.arcsin(np.sqrt(p))
                    low, high = np.sin(max(angle - reach, 0.0)) ** 2, np.sin(min(angle + reach, 0.5 * np.pi)) ** 2
                    c = derivative_above(curves, side, region, p, low, high)
                    k = most_above(curves, side, region, c, low, high)
                    lost += width * (k - most_above(curves, side, region, c, share, share))
            r[i + 1] = r[i] + c * width
        top = r[NODES - 1]
        for i in range(NODES if side == UP else 0):
            r[i] = top - r[i]
        mean, spread = _moments(band, own, arm, epoch, side, pulls)
        if side == DOWN:
            unseen = UNSEEN if curves.concave[side] else UNSEEN_STEEP
            own.spread[arm] = np.sqrt(max(spread * spread - unseen * mean * mean / (pulls + unseen), 0.0))
        _judge(band, own, arm, epoch, side, pulls, mean / spread if spread > 0.0 else 0.0, spread)
        if not curves.concave[side] and band.aimed:
            bold = own.bold[arm, epoch, side] = np.sqrt(2.0 * x / horizon)
            f = min(bold * own.ratio[arm, epoch, side], 1.0)
            won = x * mean / (f * horizon) + 0.5 * f * spread * spread / mean if f > 0.0 else 0.0
            own.horizon[arm, side], own.foreseen[arm, side] = horizon, lost + won
    own.epochs[arm] = epoch + 1


@kernel
def _horizon(band, own, arm, epoch, side, pulls):
    """Samples at which an arm will be refuted at its `aim`, as far as one can tell from the epoch before."""
    if not band.aimed or epoch == 0 or own.foreseen[arm, side] <= 0.0:
        return AHEAD * pulls
    wanted = own.horizon[arm, side] * (own.foreseen[arm, side] / max(own.aim[arm, side], 1e-300)) ** SLOWNESS
    return min(max(wanted, LEAST_AHEAD * pulls), MOST_AHEAD * pulls)


@kernel
def _moments(band, own, arm, epoch, side, pulls):
    """The mean and the standard deviation of r; a part of a sample at the end where a bet loses all counts, too."""
    r, total, squares = own.distance[arm, epoch, side], 0.0, 0.0
    for i in range(NODES):
        at, inside = own.seen[arm, 2 * i], own.seen[arm, 2 * i + 1]
        between = 0.5 * (r[i] + r[i + 1]) if i < NODES - 1 else 0.0
        total += at * r[i] + inside * between
        squares += at * r[i] * r[i] + inside * between * between
    mean = total / pulls
    unseen = UNSEEN if band.curves.concave[side] else UNSEEN_STEEP
    return mean, np.sqrt((max(squares - total * mean, 0.0) + unseen * mean * mean) / (pulls + unseen))


@kernel
def _moments_below(tail, own, arm, pulls):
    """The same for (tau - Y)+, tau the tail's quantile; one sample more lies as far out as the tail on average.

    Where the tail's samples are all alike, tau is the next node above them, and the spread is taken to be CAREFUL
    times as large: no bet may be ruinous before the first worse outcome is seen.
    """
    last, below, care = 0, own.seen[arm, 0] + own.seen[arm, 1], 1.0
    while last < NODES - 2 and below <= tail * pulls:
        last += 1
        below += own.seen[arm, 2 * last] + own.seen[arm, 2 * last + 1]
    mean, squares = _below(own, arm, pulls, last)
    if mean <= 0.0:
        last, care = last + 1, CAREFUL
        mean, squares = _below(own, arm, pulls, last)
    if tail * pulls < SEEN_TAIL:
        return 0.0, 1.0
    more = (mean / tail) ** 2 + UNSEEN * mean * mean
    spread = np.sqrt((max(squares - pulls * mean * mean, 0.0) + more) / (pulls + 1.0))
    return mean, care * max(spread, mean / np.sqrt(tail))


@kernel
def _below(own, arm, pulls, last):
    """The mean and the sum of squares of (tau - Y)+, tau a node."""
    nodes, total, squares = own.nodes[arm], 0.0, 0.0
    for i in range(last):
        at, inside = own.seen[arm, 2 * i], own.seen[arm, 2 * i + 1]
        r, between = nodes[last] - nodes[i], nodes[last] - 0.5 * (nodes[i] + nodes[i + 1])
        total += at * r + inside * between
        squares += at * r * r + inside * between * between
    return total / pulls, squares


@kernel
def _judge(band, own, arm, epoch, side, pulls, ratio, spread):
    """Note how steady r was, and which edge to bet for: `aim`, or what 16 times as many samples would show."""
    own.ratio[arm, epoch, side] = ratio
    most = np.sqrt(2.0 * band.stake / pulls)  # a bolder bet would be done by now
    bold = own.aim[arm, side] / spread if spread > 0.0 else 0.0
    own.bold[arm, epoch, side] = min(max(bold, 0.25 * most), most)


@kernel
def note_outcome(band, own, memory, arm, y):
    """Bet on an outcome that was just taken in, and renew the functionals if it is time."""
    pulls = memory.pulls[arm]
    if pulls < FIRST:
        return
    if own.epochs[arm] == 0:
        _lay_nodes(band, own, memory, arm)
        for i in range(memory.sizes[arm]):
            own.laid[arm, _counted_at(own, arm, memory.utility[arm, i])] += memory.counts[arm, i]
        for j in range(2 * NODES):
            own.seen[arm, j] = own.laid[arm, j]
        begin_epoch(band, own, arm, pulls)
        return
    own.seen[arm, _counted_at(own, arm, y)] += 1
    _place(own, arm, own.epochs[arm] - 1, y)
    if pulls >= RENEWED * own.begun[arm, own.epochs[arm] - 1]:
        begin_epoch(band, own, arm, pulls)
