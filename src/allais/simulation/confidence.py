"""How sure an answer is when its search was cut short."""

from __future__ import annotations

import math

import numpy as np

from allais.learner import Learner
from allais.policies.verbs import bracket, recommend


def reached_delta(learner: Learner) -> float | None:
    """The smallest delta at which the policy would have settled on what it has seen; None if no delta would do.

    It may be read at any time, even at one that was chosen by looking at it. Intervals widen as delta
    falls, so a wrong arm has a reached delta of at most x only if some interval at level x is
    wrong, which happens with probability below x.
    """
    with learner._lock:
        return _reached(learner)


def _reached(learner: Learner) -> float | None:
    policy = learner.policy
    rule, state = learner._rule, learner._state
    if not (hasattr(policy, "delta") and hasattr(rule, "band")) or int(state.memory.pulls.min()) < rule.first:
        return None
    best = int(recommend(rule, state))
    low, high = np.empty(state.asked.size), np.empty(state.asked.size)

    def parts(log_delta: float) -> bool:
        bracket(policy.but(delta=math.exp(log_delta)).rule(state.asked.size), state, low, high)
        rivals = np.delete(high, best)
        return rivals.size == 0 or bool(rivals.max() - low[best] <= rule.tolerance)

    surest, least = -700.0, math.log1p(-1e-9)
    if not parts(least):
        return None
    if parts(surest):
        return math.exp(surest)
    while least - surest > 1e-3:
        middle = (surest + least) / 2.0
        surest, least = (surest, middle) if parts(middle) else (middle, least)
    return math.exp(least)
