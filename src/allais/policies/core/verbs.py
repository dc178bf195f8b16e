"""The verbs of a policy: how to choose an arm, learn from it, and recommend one.

A policy is a few small kernels over a rule (its settings, a NamedTuple) and a state (arrays, written in place). The
Learner calls the verbs one round at a time; `rollout` is one compiled loop over them. Both look a kernel up by the
type of the rule: `@choose.of(WUCBRule)` marks the kernel for that type. Only `choose` must be written: the other
verbs have defaults.
"""

from __future__ import annotations

from allais._kernels import kernel, routine, verb
from allais.bands.base import follow, refresh, widen
from allais.policies.core.steps import best_value
from allais.samples.drift import Lifetimes, begin_life, end_life, is_over
from allais.samples.memory import insert, measure, remove

SETTLED = -1  # `choose`: the policy is done, and recommends
WAITING = -2  # `choose`: what was asked must be told or cancelled first


def _choose(rule, state, u):
    """The next arm, SETTLED or WAITING; u is a uniform draw, one per call."""


def _learn(rule, state, arm, utility, raw, ticket):
    """Take in one outcome of an arm: as a utility, in the user's units, and the ticket of its choice."""


def _lacks_room(rule, state, arm, ticket):
    """Whether the arrays of `own` must grow before an outcome is taken in; the policy's `roomier` then makes them."""


def _recommend(rule, state):
    """The arm that the policy thinks best; before anything was told, the first one."""


def _exponent(rule, state):
    """The exponent of the intervals at the policy's present confidence: each fails with probability e^-exponent."""


def _bracket(rule, state, low, high):
    """Write the interval of every arm's value at the present confidence; infinite where unknown."""


def _drop(rule, state, arm):
    """Take an arm out of play for good, since it breaks a guardrail."""


def _pass_time(lifetimes, rule, state, arm, utility, raw):
    """After an outcome was taken in: note when it will be forgotten, and forget those whose time is over."""


@kernel
def forget_nothing(lifetimes, rule, state, arm, utility, raw):
    """Most policies remember everything."""


pass_time = verb(_pass_time, default=forget_nothing)


@pass_time.of(Lifetimes)
def _(lifetimes, rule, state, arm, utility, raw):
    begin_life(lifetimes, arm, utility, raw)
    while is_over(lifetimes):
        other, utility_then, raw_then = end_life(lifetimes)
        remove(state.memory, other, utility_then, raw_then)
        state.asked[other] -= 1
        measure(rule.worth, state.memory, other)
        refresh(rule.band, state.kept, state.memory, other)


@kernel
def take_in(rule, state, arm, utility, raw, ticket):
    """Take in an outcome: update the arm's memory, its value, and what the band keeps about it.

    Args:
        rule: The rule of the policy.
        state: Its state.
        arm: The arm that was played.
        utility: The utility of the outcome.
        raw: The outcome in the user's unit.
        ticket: What the choice remembered.
    """
    insert(state.memory, arm, utility, raw)
    measure(rule.worth, state.memory, arm)
    refresh(rule.band, state.kept, state.memory, arm)
    follow(rule.band, state.kept, state.memory, arm, utility)
    pass_time(state.lifetimes, rule, state, arm, utility, raw)


@routine
def recommend_best(rule, state):
    """The arm of the highest estimated value."""
    return best_value(state)


@kernel
def no_confidence(rule, state):
    """A policy without intervals needs no exponent."""
    return 0.0


@kernel
def fixed_room(rule, state, arm, ticket):
    """What most algorithms remember does not grow."""
    return False


@kernel
def leave_play(rule, state, arm):
    """Most algorithms look at the arms in play anew in each round."""
    state.active[arm] = False


choose = verb(_choose)
drop = verb(_drop, default=leave_play)
lacks_room = verb(_lacks_room, default=fixed_room)
learn = verb(_learn, default=take_in)
recommend = verb(_recommend, default=recommend_best, make=routine)
exponent = verb(_exponent, default=no_confidence)


@routine
def bracket_by_band(rule, state, low, high):
    """The intervals of the rule's band at its exponent."""
    widen(rule.band, state.kept, state.memory, exponent(rule, state), low, high)


bracket = verb(_bracket, default=bracket_by_band, make=routine)
