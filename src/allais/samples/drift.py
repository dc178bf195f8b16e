"""A world that changes: a test of whether an arm's outcomes still look as they did, and outcomes that are forgotten.

The test may be looked at after every outcome. The first outcomes of an arm set edges. After them, an outcome is only
known by where it lies: between two edges, or on one. Its p-value is its rank among all outcomes since then, ties broken
at random (a hash of their number). While the outcomes are independent and of one distribution, p-values are uniform and
independent (Vovk et al. 2005), so

    S_n = (S_{n-1} + w_n) f(p_n),    w_1 + w_2 + ... = 1,

is what a gambler has who puts a share w_n of 1 aside for a change at n, and then bets f, whose mean is 1, on every
p-value. With what is not yet bet it is a martingale: it ever exceeds 1 / ALARM with probability ALARM at most (Ville),
and so does the mean over several f. Some f are fixed, others learn from the p-values so far how those of late are
spread (Fedorova et al. 2012): a bet may depend on the past. After a change of the distribution, one of them wins again
and again.

Forgetting: the clock counts outcomes that were told, of all arms. An outcome lives for a fixed number of them (a
window), or for a random number with a given half-life. The number is a hash of the clock, so that a learner, a
simulation and a learner that is read from its file forget alike. A life has nothing to do with the outcome: while the
world stands still, what is remembered of an arm is a sample of independent outcomes, as before, and every band holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine, verb
from allais.samples.draws import uniform

ALARM = 1e-3  # the chance that an arm whose outcomes do not change ever raises an alarm, before the first one
FIRST = 128  # outcomes that set the edges
EDGES = 17  # the least and the greatest of them, and quantiles between
PLACES = 2 * EDGES + 1  # below, on and above every edge
FIXED = 4  # bets whose shape is fixed
SPANS = np.array([50.0, 200.0, 800.0, 3200.0])  # how many p-values of late the others learn from
BETS = FIXED + SPANS.size
BORDERS = np.array([0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997, 1.0])  # of bins of p-values
WIDTHS = np.diff(BORDERS, prepend=0.0)
MOST = 1e100  # what a bet may win: evidence enough, and far from overflow


@by_reference
class Watch(NamedTuple):
    """What is known of each arm's outcomes in their order."""

    seen: IntArray  # outcomes since the arm was last watched anew, (n_arms,)
    edges: FloatArray  # the first outcomes as they came, then the edges; (n_arms, FIRST)
    counts: IntArray  # how many lay where, (n_arms, PLACES)
    wealth: FloatArray  # S_n of each bet, (n_arms, BETS)
    masses: FloatArray  # where p-values of late fell, (n_arms, spans, bins)
    alarms: IntArray  # how many there were, and how many outcomes ago the last was; (n_arms, 2)


def new_watch(n_arms: int) -> Watch:
    """Nothing was seen yet."""
    return Watch(
        np.zeros(n_arms, dtype=np.int64),
        np.zeros((n_arms, FIRST)),
        np.zeros((n_arms, PLACES), dtype=np.int64),
        np.zeros((n_arms, BETS)),
        np.zeros((n_arms, SPANS.size, WIDTHS.size)),
        np.zeros((n_arms, 2), dtype=np.int64),
    )


@kernel
def _fixed_bet(which, p):
    """One of the bets f whose shape is fixed: each has the mean 1 over p, and is positive."""
    if which == 0:
        return 0.2 * p**-0.8  # below what was seen before
    if which == 1:
        return 0.2 * (1.0 - p) ** -0.8
    slope = 0.5 if which == 2 else -0.5
    return 1.0 + slope * (2.0 * p - 1.0)  # higher than before, or lower


@kernel
def _learned_bet(masses, span, p):
    """How likely p-values of late were to fall where p does, over how likely they are by chance; then learn from p."""
    total, into_bin = 0.0, 0
    for k in range(WIDTHS.size):
        total += masses[k]
        into_bin += BORDERS[k] < p
    into_bin = min(into_bin, WIDTHS.size - 1)
    prior = 0.1 * span  # as if a tenth as many had been uniform
    bet = (masses[into_bin] + prior * WIDTHS[into_bin]) / ((total + prior) * WIDTHS[into_bin])
    for k in range(WIDTHS.size):
        masses[k] *= 1.0 - 1.0 / span
    masses[into_bin] += 1.0
    return bet


@kernel
def _place(edges, outcome):
    """Where an outcome lies: 2i below edge i, 2i + 1 on it."""
    low, high = 0, EDGES
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < outcome:
            low = middle + 1
        else:
            high = middle
    return 2 * low + (low < EDGES and edges[low] == outcome)


@routine
def _set_edges(edges):
    """Put quantiles of the first outcomes in their place."""
    for i in range(1, FIRST):  # in order
        outcome, at = edges[i], i
        while at > 0 and edges[at - 1] > outcome:
            edges[at] = edges[at - 1]
            at -= 1
        edges[at] = outcome
    for k in range(EDGES):
        edges[k] = edges[(k * (FIRST - 1)) // (EDGES - 1)]


@kernel
def evidence(watch, arm):
    """What the gambler has won: above 1 / ALARM only if outcomes have changed, but for a chance of ALARM."""
    total = 0.0
    for k in range(BETS):
        total += watch.wealth[arm, k]
    return total / BETS


@routine
def look(watch, arm, outcome):
    """Take in the next outcome of an arm; after an alarm it is watched anew."""
    if watch.alarms[arm, 0] > 0:
        watch.alarms[arm, 1] += 1
    number = watch.seen[arm]
    watch.seen[arm] = number + 1
    if number < FIRST:
        watch.edges[arm, number] = outcome
        if number == FIRST - 1:
            _set_edges(watch.edges[arm])
        return
    place = _place(watch.edges[arm], outcome)
    watch.counts[arm, place] += 1
    below = 0
    for k in range(place):
        below += watch.counts[arm, k]
    n = number - FIRST + 1
    u, _ = uniform(np.uint64(n))
    p = (below + u * watch.counts[arm, place]) / n
    share = 1.0 / np.log2(n + 1.0) - 1.0 / np.log2(n + 2.0)  # sums to 1
    for k in range(BETS):
        learned = k - FIXED
        bet = _fixed_bet(k, p) if learned < 0 else _learned_bet(watch.masses[arm, learned], SPANS[learned], p)
        watch.wealth[arm, k] = min((watch.wealth[arm, k] + share) * bet, MOST)
    if evidence(watch, arm) >= 1.0 / ALARM:
        watch.alarms[arm, 0] += 1
        watch.alarms[arm, 1] = 0
        watch.seen[arm] = 0
        watch.counts[arm, :] = 0
        watch.wealth[arm, :] = 0.0
        watch.masses[arm, :, :] = 0.0


def with_more_arms(watch: Watch, n_arms: int) -> Watch:
    """The watch with new arms after those it has."""
    more = new_watch(n_arms - watch.seen.size)
    return Watch(*(np.concatenate([old, new]) for old, new in zip(watch, more, strict=True)))


def check_watch(watch: Watch) -> None:
    """Refuse a watch from a file whose numbers contradict each other."""
    reals = (watch.edges, watch.masses, watch.wealth)
    if not (
        all((part >= 0).all() for part in (watch.seen, watch.counts, watch.alarms, watch.masses, watch.wealth))
        and np.array_equal(watch.counts.sum(axis=1), np.maximum(watch.seen - FIRST, 0))
        and all(np.isfinite(part).all() for part in reals)
        and watch.wealth.max(initial=0.0) <= MOST
    ):
        raise ValueError("numbers that are watched for drift must be consistent; the saved ones are not. Use a backup.")


NOW, ALIVE = 0, 1  # places in `clock`


class Forever(NamedTuple):
    """Nothing is forgotten."""


@by_reference
class Lifetimes(NamedTuple):
    """The outcomes that are remembered, as a heap by the time when they end."""

    ends: IntArray  # the clock at which an outcome is forgotten; (room,)
    arms: IntArray
    utility: FloatArray
    raw: FloatArray
    clock: IntArray  # outcomes told so far, and how many are remembered; (2,)
    life: FloatArray  # how long an outcome lives: always, and on average beyond that; (2,)


def _told_ever(lifetimes, told):
    """How many outcomes were told so far, also those that were forgotten since."""


@kernel
def all_told(lifetimes, told):
    """Where nothing is forgotten, what is remembered is all that was told."""
    return told


told_ever = verb(_told_ever, default=all_told)


@told_ever.of(Lifetimes)
def _(lifetimes, told):
    return lifetimes.clock[NOW]


def new_lifetimes(fixed: int, mean: float, room: int) -> Lifetimes:
    """Nothing is remembered yet; there is room for some outcomes more than will live at a time."""
    ends, arms = (np.zeros(room, dtype=np.int64) for _ in range(2))
    clock, life = np.zeros(2, dtype=np.int64), np.array([float(fixed), mean])
    return Lifetimes(ends, arms, np.zeros(room), np.zeros(room), clock, life)


@kernel
def lifetime(lifetimes, number):
    """How many outcomes later the outcome of this number is forgotten: 1 or more."""
    fixed, mean = lifetimes.life[0], lifetimes.life[1]
    if mean == 0.0:
        return np.int64(fixed)
    u, _ = uniform(np.uint64(number))
    return np.int64(fixed + np.ceil(-mean * np.log(u)))


@kernel
def _is_sooner(lifetimes, one, other):
    return lifetimes.ends[one] < lifetimes.ends[other]


@kernel
def _swap(lifetimes, one, other):
    ends, arms, utility, raw = lifetimes.ends, lifetimes.arms, lifetimes.utility, lifetimes.raw
    ends[one], ends[other] = ends[other], ends[one]
    arms[one], arms[other] = arms[other], arms[one]
    utility[one], utility[other] = utility[other], utility[one]
    raw[one], raw[other] = raw[other], raw[one]


@routine
def begin_life(lifetimes, arm, utility, raw):
    """Let the clock tick, and put a new outcome in its place in the heap."""
    lifetimes.clock[NOW] += 1
    at = lifetimes.clock[ALIVE]
    lifetimes.clock[ALIVE] += 1
    lifetimes.ends[at] = lifetimes.clock[NOW] + lifetime(lifetimes, lifetimes.clock[NOW])
    lifetimes.arms[at], lifetimes.utility[at], lifetimes.raw[at] = arm, utility, raw
    while at > 0 and _is_sooner(lifetimes, at, (at - 1) // 2):
        _swap(lifetimes, at, (at - 1) // 2)
        at = (at - 1) // 2


@kernel
def is_over(lifetimes):
    """Whether the first outcome has reached its end, or its place is needed."""
    alive = lifetimes.clock[ALIVE]
    return alive > 0 and (lifetimes.ends[0] <= lifetimes.clock[NOW] or alive == lifetimes.ends.size)


@routine
def end_life(lifetimes):
    """Take the first outcome out of the heap: its arm, as a utility, and as told."""
    arm, utility, raw = lifetimes.arms[0], lifetimes.utility[0], lifetimes.raw[0]
    last = lifetimes.clock[ALIVE] - 1
    lifetimes.clock[ALIVE] = last
    _swap(lifetimes, 0, last)
    at = 0
    while True:
        soonest = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < last and _is_sooner(lifetimes, child, soonest):
                soonest = child
        if soonest == at:
            return arm, utility, raw
        _swap(lifetimes, at, soonest)
        at = soonest


def without_outcome(lifetimes: Lifetimes, arm: int, raw: float) -> None:
    """Take out the youngest outcome of an arm with this value, as somebody has taken it back."""
    alive = int(lifetimes.clock[ALIVE])
    same = np.flatnonzero((lifetimes.arms[:alive] == arm) & (lifetimes.raw[:alive] == raw))
    gone = same[np.argmax(lifetimes.ends[same])]
    order = np.argsort(
        np.where(np.arange(alive) == gone, np.iinfo(np.int64).max, lifetimes.ends[:alive]), kind="stable"
    )
    for part in (lifetimes.ends, lifetimes.arms, lifetimes.utility, lifetimes.raw):
        part[:alive] = part[:alive][order]  # a row that ascends is a heap
    lifetimes.clock[ALIVE] = alive - 1


def check_lifetimes(lifetimes: Any, pulls: IntArray) -> None:
    """Refuse lifetimes from a file that do not belong to what is remembered."""
    if not isinstance(lifetimes, Lifetimes):
        return
    now, alive = lifetimes.clock.tolist()
    arms, ends = lifetimes.arms[: max(alive, 0)], lifetimes.ends[: max(alive, 0)]
    places = np.arange(1, max(alive, 1))
    if not (
        0 <= alive < lifetimes.ends.size
        and now >= alive
        and ((arms >= 0) & (arms < pulls.size)).all()
        and (ends > now).all()
        and np.array_equal(np.bincount(arms, minlength=pulls.size), pulls)
        and (ends[(places - 1) // 2] <= ends[places]).all()
    ):
        raise ValueError("lifetimes must be those of the remembered outcomes; the saved ones are not. Use a backup.")
