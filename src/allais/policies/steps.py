"""Steps that policies share: kernels to build `choose` from."""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel
from allais.bands.base import widen


@kernel
def survey(first, state):
    """The next arm that was not yet asked for `first` times, in turn, or -1; and the round m.

    Marks as eligible the arms that were told often enough to be judged; all active ones if none was.
    """
    chosen = -1
    m = 1
    any_judged = False
    for arm in range(state.asked.size):
        asked = state.asked[arm]
        m += asked
        judged = state.active[arm] and state.memory.pulls[arm] >= first
        state.eligible[arm] = judged
        any_judged = any_judged or judged
        if asked < first and state.active[arm] and (chosen < 0 or asked < state.asked[chosen]):
            chosen = arm
    if not any_judged:
        for arm in range(state.asked.size):
            state.eligible[arm] = state.active[arm]
    return chosen, m


@kernel
def anticipate(state):
    """Lower the upper ends, as if the outcomes that are out had come back and left the values as they are.

    For choosing only, so that workers do not all repeat one arm; nothing may be concluded from these ends.
    Returns True if anything is out.
    """
    any_out = False
    for arm in range(state.asked.size):
        pulls, asked = state.memory.pulls[arm], state.asked[arm]
        any_out = any_out or pulls < asked
        if 0 < pulls < asked:
            value = state.memory.value[arm]
            state.high[arm] = value + (state.high[arm] - value) * np.sqrt(pulls / asked)
    return any_out


@kernel
def fewest_asked(state, other):
    """The active arm that was asked for least often, apart from `other`."""
    fewest = -1
    for arm in range(state.asked.size):
        if state.active[arm] and arm != other and (fewest < 0 or state.asked[arm] < state.asked[fewest]):
            fewest = arm
    return fewest


@kernel
def judged(first, state):
    """Whether every arm has been told often enough."""
    fewest = state.memory.pulls[0]
    for pulls in state.memory.pulls:
        fewest = min(fewest, pulls)
    return fewest >= first


@kernel
def best_value(state):
    """The active arm of the highest estimated value; ties go to the most pulls. An arm never told comes last."""
    best = -1
    value, pulls = state.memory.value, state.memory.pulls
    for arm in range(state.asked.size):
        ahead = best < 0 or value[arm] > value[best] or (value[arm] == value[best] and pulls[arm] > pulls[best])
        if best >= 0 and (pulls[arm] == 0) != (pulls[best] == 0):
            ahead = pulls[best] == 0
        if state.active[arm] and ahead:
            best = arm
    return best


@kernel
def issue(state, arm):
    """Count a choice, and return it."""
    state.asked[arm] += 1
    return arm


@kernel
def bounds_at(rule, state, exponent):
    """Write the intervals at an exponent to `state.low` and `state.high`."""
    widen(rule.band, state.kept, state.memory, exponent, state.low, state.high)


@kernel
def pick(scores, eligible, asked, u):
    """The eligible arm with the highest score: ties go to the fewest asks, then the draw u decides.

    Scores tie if they are equal to a relative 1e-12, since values come from tables. Returns -1 if no arm is eligible.
    """
    best, second = -np.inf, -np.inf
    leader = -1
    for arm in range(scores.size):
        if eligible[arm]:
            if leader < 0 or scores[arm] > best:
                second = best if leader >= 0 else second
                best, leader = scores[arm], arm
            else:
                second = max(second, scores[arm])
    level = best - 1e-12 * abs(best) if np.isfinite(best) else best
    if leader < 0 or second < level:
        return leader
    fewest = -1
    ties = 0
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level:
            if fewest < 0 or asked[arm] < fewest:
                fewest, ties = asked[arm], 0
            ties += asked[arm] == fewest
    skip = min(int(u * ties), ties - 1)
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level and asked[arm] == fewest:
            if skip == 0:
                return arm
            skip -= 1
    return leader


@kernel
def pick_highest(state, scores, u):
    """The eligible arm with the highest score; ties go to the fewest asks, then the draw u decides."""
    return pick(scores, state.eligible, state.asked, u)


@kernel
def rounds_so_far(state):
    """m: one more than the choices so far, so that it exceeds every T_k."""
    m = 1
    for asked in state.asked:
        m += asked
    return m
