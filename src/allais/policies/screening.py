"""Pairwise screening: arms are compared with the best one so far, pair by pair, and drop out (asymptotic)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine
from allais.bands.asymptotic import AsymptoticRule, allowance, asymptotic_rule, multiple, rarest_event
from allais.policies.base import FixedConfidence, KArmed, setting
from allais.policies.promises import Promise
from allais.policies.state import require_place
from allais.policies.steps import best_value, issue
from allais.policies.verbs import SETTLED, choose, exponent, learn, recommend, take_in
from allais.samples.influence import SUMS, influence
from allais.samples.memory import VALUE_SLACK
from allais.samples.worth import Worth

LOOKS = 32  # an arm is judged after every 1 / LOOKS of its samples: judging costs as much as it has distinct outcomes


@dataclass(frozen=True)
class PairwiseScreening(FixedConfidence, KArmed):
    """The best of many arms without bounds on rewards: differences of pairs, by the central limit theorem.

    Every arm is first sampled as often as `rarest` asks for: events rarer than this you are ready to miss. From then
    on each is compared with the best so far, by the difference of their two values. One that is worse drops out, one
    that is within `tolerance` or worse rests, and the search ends when none is left that may be better by more. It
    suits ten arms and ten thousand: what a sample costs does not grow with the number of arms.

    Its promise is asymptotic: an error chance of about `delta`, not proven (docs/theory/asymptotic.md). With a
    tolerance of 0 it does not end where two arms are worth the same: give one, or limit the samples.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Normal(mean, 1.0) for mean in (0.0, 0.2, 0.5)])
    >>> policy = PairwiseScreening(Preference(TverskyKahneman(0.61)), delta=0.05, rarest=0.05)
    >>> answer = best_arm(policy, problem, seed=1)
    >>> answer.arm, answer.settled, answer.promise
    (2, True, 'asymptotic')
    """

    rarest: float = setting(check=rarest_event)

    called: ClassVar[str] = "pairwise screening"

    @property
    def promise(self) -> Promise:
        """An error chance of about delta, by the central limit theorem."""
        return "asymptotic"

    def rule(self, n_arms: int) -> ScreeningRule:
        """The settings as the kernels read them."""
        band = asymptotic_rule(self.rarest, self.preference, self.rewards_of(n_arms), always=True)
        log_share = math.log(n_arms / self.delta)
        # each of the K - 1 pairs with the best arm may fail on one side with probability delta / 2 (K - 1); the other
        # half of delta is for events that were not seen
        a = float(multiple(math.log(max(n_arms - 1, 1) / self.delta), True))
        return ScreeningRule(self.worth(n_arms), band, log_share, a * a, self.tolerance, band.least(log_share))

    def own(self, n_arms: int) -> Screen:
        """What it remembers beside outcomes and asks."""
        every, none = np.arange(n_arms), np.zeros(n_arms, dtype=np.int64)
        marks = np.array([n_arms, n_arms, 0, 1, 0], dtype=np.int64)
        return Screen(every, every.copy(), none, np.zeros(n_arms), np.zeros(n_arms), marks, np.zeros(1), np.zeros(SUMS))

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse an order that is none, and marks that point at nothing."""
        own, n_arms = state.own, state.asked.size
        if not np.array_equal(np.sort(own.order), np.arange(n_arms)):
            raise ValueError("a saved order must have every arm once; this one has not. Use a backup.")
        if not np.array_equal(own.order[own.place], np.arange(n_arms)):
            raise ValueError("a saved place must be that of its arm; this one is not. Use a backup.")
        require_place("number of arms that are left", int(own.marks[ALIVE]), 1, n_arms)
        require_place("number of open arms", int(own.marks[OPEN]), 1, int(own.marks[ALIVE]))
        require_place("turn", int(own.marks[TURN]), 0, n_arms)
        require_place("leader", int(own.marks[LED]), 0, 1)


class ScreeningRule(NamedTuple):
    """The settings of pairwise screening."""

    worth: Worth
    band: AsymptoticRule
    log_share: float  # log(K / delta), for the intervals that are shown
    squared: float  # a^2 of a pair: the multiple of its standard error at the start
    tolerance: float
    first: int  # n_0: samples of an arm before it is judged


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


@kernel
def _swap(own, p, q):
    first, second = own.order[p], own.order[q]
    own.order[p], own.order[q] = second, first
    own.place[first], own.place[second] = q, p


@kernel
def _file(own, arm, excess, tolerance):
    """Put a rival where it belongs: out, at rest or open, by how much better than the leader it may be."""
    marks = own.marks
    if excess <= tolerance and own.place[arm] < marks[OPEN]:
        marks[OPEN] -= 1
        _swap(own, own.place[arm], marks[OPEN])
    if excess <= 0.0:
        marks[ALIVE] -= 1
        _swap(own, own.place[arm], marks[ALIVE])
    elif excess > tolerance and own.place[arm] >= marks[OPEN]:
        _swap(own, own.place[arm], marks[OPEN])
        marks[OPEN] += 1


@routine
def _excess(rule, state, leader, arm):
    """How much better than the leader an arm may be, at most: the upper end of the interval of their difference."""
    memory, own = state.memory, state.own
    n, m = float(memory.pulls[leader]), float(memory.pulls[arm])
    of_leader, of_arm = own.variance[leader] / n, own.variance[arm] / m
    variance = of_leader + of_arm
    gap = memory.value[arm] - memory.value[leader]
    hidden = rule.band.variation * (memory.slack[leader, VALUE_SLACK] + memory.slack[arm, VALUE_SLACK])
    if variance <= 0.0:
        return gap + hidden
    freedom = variance * variance / (of_leader * of_leader / (n - 1.0) + of_arm * of_arm / (m - 1.0))  # Welch
    third = own.third[arm] / (m * m) - own.third[leader] / (n * n)
    # the clock of the pair is its information, 1 / variance; it starts where both have n_0 samples
    clock = (own.variance[leader] + own.variance[arm]) / (rule.first * variance)
    squared = rule.squared + max(math.log(clock), 0.0)
    return gap + allowance(squared, variance, third, freedom)[1] + hidden


@routine
def _review(rule, state):
    """Judge all arms anew: the leader is another one, or has been looked at closer."""
    own = state.own
    own.marks[OPEN] = own.marks[ALIVE]
    for p in range(own.marks[ALIVE] - 1, 0, -1):  # whatever takes the place p was judged before
        arm = own.order[p]
        if own.look[arm] > 0:
            _file(own, arm, _excess(rule, state, own.order[0], arm), rule.tolerance)


@kernel
def _best_left(state):
    """The arm of the highest value among those that were judged and have not dropped out."""
    own, best = state.own, state.own.order[0]
    for p in range(1, own.marks[ALIVE]):
        arm = own.order[p]
        if own.look[arm] > 0 and state.memory.value[arm] > state.memory.value[best]:
            best = arm
    return best


@routine
def _judge(rule, state, arm):
    """Look at an arm closely, and see what follows for it and, if it leads, for the others."""
    memory, own = state.memory, state.own
    own.variance[arm], own.third[arm] = influence(rule.worth, memory, arm, own.sums)
    own.look[arm] = memory.pulls[arm] + max(memory.pulls[arm] // LOOKS, 1)
    if own.place[arm] >= own.marks[ALIVE]:  # a late result of one that dropped out
        return
    leader = own.order[0]
    if own.marks[LED] == 0:
        best = arm
    elif arm == leader:
        best = _best_left(state)
    else:
        best = arm if memory.value[arm] > memory.value[leader] else leader
    if own.marks[LED] == 0 or best != leader:
        own.marks[LED] = 1
        _swap(own, own.place[best], 0)
        _review(rule, state)
    elif arm != leader:
        _file(own, arm, _excess(rule, state, leader, arm), rule.tolerance)
    if own.marks[OPEN] == 1:  # those at rest were judged beside an older state of the leader
        _review(rule, state)


@learn.of(ScreeningRule)
def _(rule, state, arm, felt, raw, ticket):
    take_in(rule, state, arm, felt, raw, ticket)
    pulls = state.memory.pulls[arm]
    if pulls >= rule.first and pulls >= state.own.look[arm]:
        _judge(rule, state, arm)


@kernel
def _next_rival(state):
    """The open arm whose turn it is: each once per round, unless it is ahead of the others."""
    marks, order = state.own.marks, state.own.order
    while True:
        if marks[TURN] < marks[LED] or marks[TURN] >= marks[OPEN]:
            marks[TURN] = marks[LED]
            least = state.asked[order[marks[LED]]]
            for p in range(marks[LED], marks[OPEN]):
                least = min(least, state.asked[order[p]])
            marks[ROUND] = max(marks[ROUND], least) + 1
        arm = order[marks[TURN]]
        if state.asked[arm] < marks[ROUND]:
            return arm
        marks[TURN] += 1


@choose.of(ScreeningRule)
def _(rule, state, u):
    own = state.own
    if own.marks[LED] == 1 and own.marks[OPEN] == 1:
        return SETTLED
    arm = _next_rival(state)
    rivals = own.marks[OPEN] - 1
    if own.marks[LED] == 1 and own.look[arm] > 0:
        leader = own.order[0]
        # what one sample more takes from the variance of a difference; the leader's helps against all rivals
        of_leader = own.variance[leader] / float(state.asked[leader]) ** 2
        of_arm = own.variance[arm] / float(state.asked[arm]) ** 2
        if of_leader > of_arm:
            return issue(state, leader)
        if rivals * of_leader > of_arm:  # by and by, since the leader may be another one soon
            own.credit[0] += 1.0 / np.sqrt(rivals)
            if own.credit[0] >= 1.0:
                own.credit[0] -= 1.0
                return issue(state, leader)
    own.marks[TURN] += 1
    return issue(state, arm)


@recommend.of(ScreeningRule)
def _(rule, state):
    return state.own.order[0] if state.own.marks[LED] == 1 else best_value(state)


@exponent.of(ScreeningRule)
def _(rule, state):
    return rule.log_share
