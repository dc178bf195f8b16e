"""How the arms of a screening stand: who leads, who is open, who rests, who has dropped out, and whose turn it is."""

from __future__ import annotations

from typing import NamedTuple

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel
from allais.policies.common_runs import forget_runs

# Marks: open arms come first in `order`, then those at rest, then those that dropped out
OPEN, ALIVE = 0, 1  # how many arms are open, and how many have not dropped out
TURN, ROUND = 2, 3  # whose turn it is in `order`, and how many asks each open arm shall have in this round
LED = 4  # whether there is a leader; it stands first in `order`


@by_reference
class Screen(NamedTuple):
    """Which arms are left, and what is known of their influence functions."""

    order: IntArray  # arms: the leader, open ones, those at rest, those that dropped out; (n_arms,)
    place: IntArray  # where each arm stands in `order`
    look: IntArray  # samples at which an arm is judged next; 0 before the first time
    variance: FloatArray  # of the influence function, when it was last judged
    third: FloatArray  # its third central moment
    marks: IntArray  # (5,)
    credit: FloatArray  # of the leader: what rivals have left it of samples, (1,)
    sums: FloatArray  # scratch, (SUMS,)
    # the fields of `Runs`
    issued: IntArray
    head: IntArray
    length: IntArray
    after: IntArray
    free: IntArray
    felt: FloatArray
    pull: FloatArray
    ladder: FloatArray

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are written before they are read: in no file."""
        return "sums", "ladder"


@kernel
def swap(own, p, q):
    """Let two places of the order change their arms."""
    first, second = own.order[p], own.order[q]
    own.order[p], own.order[q] = second, first
    own.place[first], own.place[second] = q, p


@kernel
def file_rival(own, arm, excess, tolerance):
    """Put a rival where it belongs: out, at rest or open, by how much better than the leader it may be."""
    marks = own.marks
    if excess <= tolerance and own.place[arm] < marks[OPEN]:
        marks[OPEN] -= 1
        swap(own, own.place[arm], marks[OPEN])
    if excess <= 0.0:
        marks[ALIVE] -= 1
        swap(own, own.place[arm], marks[ALIVE])
        forget_runs(own, arm)
    elif excess > tolerance and own.place[arm] >= marks[OPEN]:
        swap(own, own.place[arm], marks[OPEN])
        marks[OPEN] += 1


@kernel
def best_left(state):
    """The arm of the highest value among those that were judged and have not dropped out."""
    own, best = state.own, state.own.order[0]
    for p in range(1, own.marks[ALIVE]):
        arm = own.order[p]
        if own.look[arm] > 0 and state.memory.value[arm] > state.memory.value[best]:
            best = arm
    return best


@kernel
def next_in_turn(state, first, last):
    """The arm whose turn it is, of the places from `first` to before `last`: once per round, unless it is ahead."""
    marks, order = state.own.marks, state.own.order
    while True:
        if marks[TURN] < first or marks[TURN] >= last:
            marks[TURN] = first
            least = state.asked[order[first]]
            for p in range(first, last):
                least = min(least, state.asked[order[p]])
            marks[ROUND] = max(marks[ROUND], least) + 1
        arm = order[marks[TURN]]
        if state.asked[arm] < marks[ROUND]:
            return arm
        marks[TURN] += 1
