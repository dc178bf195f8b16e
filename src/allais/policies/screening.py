"""Pairwise screening: arms are compared with the best one so far, pair by pair, and drop out (asymptotic)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray, share, truth
from allais._kernels import by_reference, kernel, routine
from allais.bands._order_statistics import QuantileRule
from allais.bands.asymptotic import (
    AsymptoticRule,
    asymptotic_rule,
    multiple,
    rarest_event,
    require_unbroken,
)
from allais.policies.common_runs import (
    apart_variances,
    blocks_wanted,
    check_runs,
    excess,
    forget_runs,
    influence_moments,
    no_runs,
    note_run,
    weigh_runs,
    with_blocks,
)
from allais.policies.core.base import KArmed, Promise, no_worse, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of, share_of_delta
from allais.policies.core.state import require_place
from allais.policies.core.steps import best_value, issue
from allais.policies.core.verbs import SETTLED, choose, drop, exponent, lacks_room, learn, recommend, take_in
from allais.preferences.named import level_of
from allais.samples.influence import STEPS, SUMS
from allais.samples.memory import Worth

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
    credit: FloatArray  # the leader's claim to a sample, which grows with those of rivals, (1,)
    sums: FloatArray  # scratch, (SUMS,)
    # the fields of `Runs`
    issued: IntArray
    head: IntArray
    length: IntArray
    after: IntArray
    free: IntArray
    utility: FloatArray
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


LOOKS = 32  # an arm is judged after every 1 / LOOKS of its samples: judging costs as much as it has distinct outcomes


@dataclass(frozen=True)
class PairwiseScreening(KArmed):
    """The best of many arms without bounds on rewards: differences of pairs, by the central limit theorem.

    Every arm is first sampled as often as `rarest` asks for. From then on each is compared with the best so far, by the
    difference of their two values. One that is worse drops out, one that is within `tolerance` or worse rests, and the
    search ends when none is left that may be better by more. It suits ten arms and ten thousand: what a sample costs
    does not grow with the number of arms.

    Its promise is asymptotic: an error probability of about `delta`, not proven (docs/theory/asymptotic.md).
    Percentiles (`quantile`) are compared by counts of outcomes, for which it is proven.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0 it does not end
            where two arms are equal, unless samples are limited.
        rarest: The probability of the rarest event that matters; rarer ones may be missed.
        common_random_numbers: Whether run r of every arm has the same random numbers, as `search(...,
            common_random_numbers=True)` gives them; a pair is then judged by how its runs differ one by one, and all
            open arms are sampled alike.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Normal(mean, 1.0) for mean in (0.0, 0.2, 0.5)])
    >>> policy = PairwiseScreening(Preference(TverskyKahneman(0.61)), delta=0.05, rarest=0.05)
    >>> answer = best_arm(policy, problem, seed=1)
    >>> answer.arm, answer.settled, answer.promise
    (2, True, 'asymptotic')
    """

    delta: float = setting(check=share)
    tolerance: float = setting(0.0, no_worse)
    rarest: float = setting(check=rarest_event)
    common_random_numbers: bool = setting(False, truth)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "pairwise screening"
    goal: ClassVar[str] = "confidence"
    promises: ClassVar[Promise] = "asymptotic"  # an error chance of about delta, by the central limit theorem

    def check(self) -> None:
        """Refuse weights whose influence functions have no variance."""
        if level_of(self.preference) is None:
            require_unbroken(self.preference)
        else:  # order statistics hold for every distribution
            object.__setattr__(self, "promises", "proven")
        if self.common_random_numbers and self.guardrails:
            raise ValueError(
                "common random numbers keep no runs of arms that dropped out, and a guardrail may bring these back. "
                "Leave out one of them."
            )

    def rule(self, n_arms: int) -> ScreeningRule:
        band = asymptotic_rule(self.rarest, self.preference, self.rewards_of(n_arms), always=True)
        log_share = math.log(n_arms / share_of_delta(self))
        # each of the K - 1 pairs with the best arm may fail on one side with probability delta / 2 (K - 1); the other
        # half of delta is for events that were not seen
        a = float(multiple(math.log(max(n_arms - 1, 1) / share_of_delta(self)), True))
        first = band.least(log_share)
        worth, common = self.worth(n_arms), self.common_random_numbers
        beta = math.log(max(n_arms - 1, 1) / share_of_delta(self))
        return ScreeningRule(worth, band, log_share, beta, a * a, self.tolerance, first, common)

    def own(self, n_arms: int) -> Screen:
        every, none = np.arange(n_arms), np.zeros(n_arms, dtype=np.int64)
        marks = np.array([n_arms, n_arms, 0, 1, 0], dtype=np.int64)
        moments = np.zeros(n_arms), np.zeros(n_arms)
        runs: Any = no_runs(n_arms, n_arms if self.common_random_numbers else 0)
        return Screen(every, every.copy(), none, *moments, marks, np.zeros(1), np.zeros(SUMS), *runs)

    @property
    def own_grows(self) -> bool:
        """Runs are kept one by one where arms are compared by them."""
        return self.common_random_numbers

    def roomier(self, own: Screen) -> Any:
        """Twice the room for runs."""
        return with_blocks(own, 2 * own.after.size)

    def sized_as(self, own: Screen, saved: dict[str, Any]) -> Any:
        """Room for as many blocks of runs as a file holds."""
        return with_blocks(own, len(saved["after"]))

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse an order that lacks an arm, and marks out of range."""
        own, n_arms = state.own, state.asked.size
        if not np.array_equal(np.sort(own.order), np.arange(n_arms)):
            raise ValueError("a saved order must have every arm once; this one has not. Use a backup.")
        if not np.array_equal(own.order[own.place], np.arange(n_arms)):
            raise ValueError("a saved place must be that of its arm; this one is not. Use a backup.")
        some = int(state.active.any())
        require_place("number of arms that are left", int(own.marks[ALIVE]), some, n_arms)
        require_place("number of open arms", int(own.marks[OPEN]), some, int(own.marks[ALIVE]))
        require_place("turn", int(own.marks[TURN]), 0, n_arms)
        require_place("leader", int(own.marks[LED]), 0, 1)
        check_runs(own)


class ScreeningRule(NamedTuple):
    """The settings of pairwise screening."""

    worth: Worth
    band: AsymptoticRule | QuantileRule
    log_share: float  # log(K / delta), for the intervals that are shown
    beta: float  # log((K - 1) / delta): what the ratios of two percentiles must reach together
    squared: float  # a^2 of a pair: the multiple of its standard error at the start
    tolerance: float
    first: int  # n_0: samples of an arm before it is judged
    common: bool  # whether run r of every arm had the same random numbers


@kernel
def _look_after(pulls):
    """The samples at which an arm is looked at again."""
    return pulls + max(pulls // LOOKS, 1)


@routine
def _look(rule, state, arm):
    """Update the moments of an arm's influence function, unless nothing has changed since the last look."""
    memory, own = state.memory, state.own
    if own.look[arm] == _look_after(memory.pulls[arm]):
        return
    own.variance[arm], own.third[arm] = influence_moments(rule.band, rule, state, arm)
    own.look[arm] = _look_after(memory.pulls[arm])
    if rule.common and own.place[arm] < own.marks[ALIVE]:
        weigh_runs(own, arm, int(own.sums[STEPS]))


@routine
def _review(rule, state):
    """Judge all arms anew: the leader is another one, or has been looked at closer."""
    own = state.own
    own.marks[OPEN] = own.marks[ALIVE]
    for p in range(own.marks[ALIVE] - 1, 0, -1):  # whatever takes the place p was judged before
        arm = own.order[p]
        if own.look[arm] > 0:
            if rule.common:
                _look(rule, state, arm)  # runs are compared one by one, so none may be missing
            file_rival(own, arm, excess(rule.band, rule, state, own.order[0], arm), rule.tolerance)


@routine
def _judge(rule, state, arm):
    """Update an arm's moments, and judge it or, if it leads, the others."""
    memory, own = state.memory, state.own
    _look(rule, state, arm)
    if own.place[arm] >= own.marks[ALIVE]:  # a late result of one that dropped out
        return
    leader = own.order[0]
    if rule.common and own.marks[LED] == 1:
        _look(rule, state, leader)
    if own.marks[LED] == 0:
        best = arm
    elif arm == leader:
        best = best_left(state)
    else:
        best = arm if memory.value[arm] > memory.value[leader] else leader
    if own.marks[LED] == 0 or best != leader:
        own.marks[LED] = 1
        swap(own, own.place[best], 0)
        _review(rule, state)
    elif arm != leader:
        file_rival(own, arm, excess(rule.band, rule, state, leader, arm), rule.tolerance)
    if own.marks[OPEN] == 1:  # those at rest were judged beside an older state of the leader
        _review(rule, state)


@learn.of(ScreeningRule)
def _(rule, state, arm, utility, raw, ticket):
    take_in(rule, state, arm, utility, raw, ticket)
    if ticket > 0.0 and state.own.place[arm] < state.own.marks[ALIVE]:
        note_run(state.own, arm, int(ticket) - 1, utility)
    pulls = state.memory.pulls[arm]
    if pulls >= rule.first and pulls >= state.own.look[arm]:
        _judge(rule, state, arm)


@lacks_room.of(ScreeningRule)
def _(rule, state, arm, ticket):
    if ticket == 0.0 or state.own.place[arm] >= state.own.marks[ALIVE]:
        return False
    return blocks_wanted(state.own, arm, int(ticket) - 1) > state.own.free[1]


@routine
def _leader_says_more(rule, state, arm):
    """Whether a sample of the leader takes more from the variances of pairs than one of the arm whose turn it is."""
    own = state.own
    leader, rivals = own.order[0], own.marks[OPEN] - 1
    if own.marks[LED] == 0 or arm == leader or own.look[arm] == 0:
        return False
    of_leader, of_arm = own.variance[leader], own.variance[arm]
    if rule.common:
        if state.asked[leader] < state.asked[arm]:  # it will have its turn
            return False
        of_leader, of_arm = apart_variances(own, leader, arm)
    of_leader /= float(state.asked[leader]) ** 2
    of_arm /= float(state.asked[arm]) ** 2
    if of_leader > of_arm:
        return True
    if rivals * of_leader <= of_arm:
        return False
    own.credit[0] += 1.0 / np.sqrt(rivals)  # a fraction at a time, since the leader may change soon
    if own.credit[0] < 1.0:
        return False
    own.credit[0] -= 1.0
    return True


@choose.of(ScreeningRule)
def _(rule, state, u):
    own = state.own
    if own.marks[LED] == 1 and own.marks[OPEN] == 1:
        return SETTLED
    arm = next_in_turn(state, 0 if rule.common else own.marks[LED], own.marks[OPEN])
    if _leader_says_more(rule, state, arm):
        arm = own.order[0]
    elif not rule.common:  # else it stays an arm's turn until it has as many runs as others: they have them in common
        own.marks[TURN] += 1
    if rule.common:
        own.issued[arm] += 1
        state.ticket[0] = own.issued[arm]  # the run's number and 1; 0 is data that was not asked for
    return issue(state, arm)


@drop.of(ScreeningRule)
def _(rule, state, arm):
    own, marks = state.own, state.own.marks
    state.active[arm] = False
    if own.place[arm] >= marks[ALIVE]:  # an arm that it put out is worse than the arm that put it out
        return
    # others were compared with it while it led, and it no longer counts: all that are in play are open again
    marks[ALIVE], marks[LED] = 0, 0
    for k in range(own.order.size):
        if state.active[k]:
            swap(own, own.place[k], marks[ALIVE])
            marks[ALIVE] += 1
    marks[OPEN] = marks[ALIVE]
    best = best_value(state)
    if best >= 0 and own.look[best] > 0:
        marks[LED] = 1
        swap(own, own.place[best], 0)
        _review(rule, state)


@recommend.of(ScreeningRule)
def _(rule, state):
    return state.own.order[0] if state.own.marks[LED] == 1 else best_value(state)


@exponent.of(ScreeningRule)
def _(rule, state):
    return rule.log_share
