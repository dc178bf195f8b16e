"""How much money bets have made against a value, in compiled code: by functionals, and for CVaR by the least over tau.

CVaR is the greatest tau - E(tau - Y)+ / a of all tau. So V >= v says that E(tau - Y)+ <= a (tau - v) for some tau, and

    prod_t 1 - f + f (tau - Y_t)+ / (a (tau - v))

is a supermartingale for that one: the least over all tau lies below it, and no union over tau is paid for. In
u = 1 / (tau - v) a factor is linear where Y < tau, so that its logarithm is concave. Over a stretch of tau that holds
no outcome the sum is least at an end; outcomes within the stretch count as tau or more, which only lowers it.
"""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, routine
from allais.bands._curves import UP
from allais.bands._wagers import LEADERS, NEVER, NODES, RESERVE, place_of

HORIZONS = 8  # bets for 2^5, 2^7, ... samples: with a bet for half or twice the samples, a tenth of the growth is lost
SHARES = tuple(1.0 / (1.0 + ((j - 2.0) / 3.0) ** 2) for j in range(HORIZONS))  # odds of each: most for 2^7 to 2^11
STAKES = tuple((1.0 - RESERVE) * share / sum(SHARES) for share in SHARES)
AIMED = tuple((1.0 - RESERVE) * share for share in (1 / 6, 2 / 3, 1 / 6))  # bets for half the edge, the edge, twice it
BEFORE = 32.0  # a bet for N samples does not join in before N / BEFORE: functionals of fewer are poor
COUNTED = 4  # horizons around the number of samples: leaving others out only lowers the wealth
BOLDEST = 0.98  # of the money is at stake at most, so that no sample is ruinous
NEAREST = 1e-7  # how near to its end a bet goes, as a share of the range: beyond it, rounding would count as money
COARSE = 16  # cells of tau that are looked at together first


@kernel
def bets_of(band, pulls):
    """The first bet of the mixture that counts, and how many do."""
    if band.aimed:
        return 0, len(AIMED)
    return min(max((int(np.log2(pulls)) - 5) // 2 - 1, 0), HORIZONS - COUNTED), COUNTED


@kernel
def _stake(band, j):
    return AIMED[j] if band.aimed else STAKES[j]


@kernel
def _at_stake(band, own, arm, epoch, side, j):
    """The share f of the money that a bet has at stake in an epoch."""
    if band.aimed:
        bold = own.bold[arm, epoch, side] * 2.0 ** (j - 1.0)
        horizon = 2.0 * band.stake / (bold * bold)
    else:
        horizon = 2.0 ** (5 + 2 * j)
        bold = np.sqrt(2.0 * band.stake / horizon)
    if own.begun[arm, epoch] * BEFORE < horizon:
        return 0.0
    return min(bold * own.ratio[arm, epoch, side], BOLDEST)


@routine
def _by_functionals(band, own, arm, pulls, side, start, q):
    """log of the wealth against Q >= q since an epoch, and its derivative in q: it is convex."""
    first, counted = bets_of(band, pulls)
    closest = NEAREST * (band.high[arm] - band.low[arm])
    most, wealth, rise = 0.0, RESERVE, 0.0  # wealth and rise are in units of e^most
    for j in range(first, first + counted):
        total, derivative = 0.0, 0.0
        for epoch in range(start, own.epochs[arm]):
            f = _at_stake(band, own, arm, epoch, side, j)
            if f <= 0.0:
                continue
            r, mass = own.distance[arm, epoch, side], own.mass[arm, epoch]
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
        part = _stake(band, j) * np.exp(total - most)
        wealth, rise = wealth + part, rise + part * derivative
    return most + np.log(wealth), rise / wealth


@routine
def _over_stretch(band, own, arm, pulls, left, right, v, step):
    """A lower bound of log wealth for all tau between two nodes, and the rise of a line below it, from v to v + step.

    Where the stretch reaches down to v + step, only outcomes up to v are counted: their factors fall in tau.
    """
    nodes, a = own.nodes[arm], band.curves.tail
    closest = NEAREST * (band.high[arm] - band.low[arm])
    apart = nodes[left] > v + step
    most, wealth, rise = 0.0, RESERVE, 0.0
    first, counted = bets_of(band, pulls)
    for j in range(first, first + counted):
        low, after = np.inf, np.inf
        for end in range(2 if apart else 1):
            tau = nodes[right] if end == 0 else nodes[left]
            room, total, derivative = max(tau - v, closest), 0.0, 0.0
            for epoch in range(own.epochs[arm]):
                f = _at_stake(band, own, arm, epoch, UP, j)
                if f <= 0.0:
                    continue
                others = (own.begun[arm, epoch + 1] if epoch + 1 < own.epochs[arm] else pulls) - own.begun[arm, epoch]
                for i in range(left + 1):
                    here = own.mass[arm, epoch, i] - (own.inner[arm, epoch, i] if i == left else 0.0)
                    if here > 0.0 and (apart or nodes[i] <= v):
                        others -= here
                        won = f * (tau - nodes[i]) / (a * room)
                        total += here * np.log(1.0 - f + won)
                        derivative += here * won / ((1.0 - f + won) * room)
                total += max(others, 0.0) * np.log(1.0 - f)
            low, after = min(low, total), min(after, total + derivative * step)
        if low > most:
            scale = np.exp(most - low)
            wealth, rise, most = wealth * scale, rise * scale, low
        part = _stake(band, j) * np.exp(low - most)
        wealth, rise = wealth + part, rise + part * (after - low)
    return most + np.log(wealth), rise / wealth


@kernel
def _any_below(own, arm, cell, v):
    """Whether any outcome that was bet on lies below v for certain; tau = v is refuted by those only."""
    for epoch in range(own.epochs[arm]):
        for i in range(cell + 1):
            if own.nodes[arm, i] < v and own.mass[arm, epoch, i] - own.inner[arm, epoch, i] > 1e-9:
                return True
    return False


@routine
def least_wealth(band, own, arm, pulls, q, step):
    """log of the least wealth against Q >= q over all tau, and the rise of a line below it from q to q + step.

    Stretches of tau are split until each has too much wealth to matter, or is a cell.
    """
    v, nodes, blocks = band.low[arm] + q, own.nodes[arm], own.blocks
    lowest = min(place_of(nodes, v), NODES - 2)
    if not _any_below(own, arm, lowest, v):
        return np.log(RESERVE), 0.0
    guess = own.guess[arm] = min(max(own.guess[arm], lowest), NODES - 2)
    low, rise = _over_stretch(band, own, arm, pulls, guess, guess + 1, v, step)
    after, waiting, left = low + rise, 0, NODES - 1
    while left > lowest:  # the greatest tau wait at the bottom
        right, left = left, max(left - COARSE, lowest)
        blocks[waiting, 0], blocks[waiting, 1] = left, right
        waiting += 1
    while waiting > 0:
        waiting -= 1
        left, right = blocks[waiting, 0], blocks[waiting, 1]
        log, rise = _over_stretch(band, own, arm, pulls, left, right, v, step)
        if log >= after:
            continue
        if right == left + 1:
            after = min(after, log + rise)
            if log < low:
                low, own.guess[arm] = log, left
            continue
        middle = (left + right) // 2
        blocks[waiting, 0], blocks[waiting, 1] = middle, right
        blocks[waiting + 1, 0], blocks[waiting + 1, 1] = left, middle
        waiting += 2
    return low, max(after - low, 0.0) / step


@kernel
def wealth_and_line(band, own, arm, pulls, side, q, step):
    """log of the wealth against Q >= q, and the derivative of a line that lies below it up to q + step.

    What stands against a value from below is that of an arm as the leader: since the odds to lead were fixed.
    """
    if side == UP and band.curves.tail > 0.0:
        return least_wealth(band, own, arm, pulls, q, step)
    return _by_functionals(band, own, arm, pulls, side, 0 if side == UP else own.since[arm], q)


@kernel
def log_wealth(band, own, arm, pulls, side, q):
    """log of the wealth against Q >= q, and about its derivative in q."""
    return wealth_and_line(band, own, arm, pulls, side, q, NEAREST * (band.high[arm] - band.low[arm]))


# -- pairs ------------------------------------------------------------------------------------------


@kernel
def place_of_leader(own, leader):
    """Which bit says whether a leader was parted from an arm."""
    for i in range(LEADERS):
        if own.leaders[i] == leader:
            return i
    return NEVER


@kernel
def is_parted(own, place, rival):
    """Whether the leader of a bit was ever parted from a rival."""
    return (own.parted[rival] >> place) & 1 == 1


@kernel
def note_parted(own, leader, rival):
    """Remember that a leader was parted from a rival; the bit of the leader, which takes that of the oldest one."""
    place = place_of_leader(own, leader)
    if place == NEVER:
        for arm in range(own.parted.size):
            own.parted[arm] &= ~(np.int64(1) << (LEADERS - 1))
            own.parted[arm] <<= 1
        for i in range(LEADERS - 1, 0, -1):
            own.leaders[i] = own.leaders[i - 1]
        own.leaders[0], place = leader, 0
    own.parted[rival] |= np.int64(1) << place
    return place
