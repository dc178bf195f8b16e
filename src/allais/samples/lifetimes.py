"""Outcomes that are forgotten in time: each has an end, and those that will end soonest come first.

The clock counts outcomes that were told, of all arms. An outcome lives for a fixed number of them (a window), or for a
random number with a given half-life. The number is a hash of the clock, so that a learner, a simulation and a learner
that is read from its file forget alike. A life has nothing to do with the outcome: while the world stands still, what
is remembered of an arm is a sample of independent outcomes, as before, and every band holds for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine, verb
from allais.samples.draws import uniform

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
    whole = 0 <= alive < lifetimes.ends.size and now >= alive
    arms, ends = lifetimes.arms[: max(alive, 0)], lifetimes.ends[: max(alive, 0)]
    whole = whole and bool(((arms >= 0) & (arms < pulls.size)).all() and (ends > now).all())
    places = np.arange(1, max(alive, 1))
    if not (
        whole
        and np.array_equal(np.bincount(arms, minlength=pulls.size), pulls)
        and (ends[(places - 1) // 2] <= ends[places]).all()
    ):
        raise ValueError("lifetimes must be those of what is remembered; the saved ones are not. Use a backup.")
