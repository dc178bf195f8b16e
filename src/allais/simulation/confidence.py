"""How sure an answer is when its search was cut short, or when runs were left out of it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

import numpy as np

from allais._checks import FloatArray
from allais.bands import Interval
from allais.learner import Learner
from allais.policies.base import KArmed, Policy
from allais.policies.verbs import bracket, recommend

Excluded = Mapping[Hashable, int]  # how many of an arm's runs were left out


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


def as_bad_as_can_be(learner: Learner, arm: Hashable, excluded: Excluded) -> Learner | None:
    """The learner as if each run that was left out had the outcome that speaks most against an arm.

    That is the worst outcome for the arm itself, and the best for every other. The arm then has a sample of a
    distribution that is no better than its own, and the others of one that is no worse, so what intervals prove holds
    (docs/theory/asynchronous.md). None where such an outcome is not known.

    >>> learner = WLUCB(expected_value(), Bounded(0, 10), delta=0.1).start(["A", "B"], seed=1)
    >>> learner.observe("A", [6.0, 8.0])
    >>> as_bad_as_can_be(learner, "A", {"A": 2}).value()["A"]
    3.5
    """
    return _filled(learner, {name: name != arm for name in excluded}, excluded)


def holds_without(learner: Learner, arm: Hashable, excluded: Excluded, *, settled: bool) -> bool:
    """Whether an answer stays proven, whatever the runs that were left out would have brought."""
    worst = as_bad_as_can_be(learner, arm, excluded) if learner.policy.promise == "proven" else None
    if worst is None or worst.recommend().arm != arm:
        return False
    if settled and worst.is_settled():
        return True
    reached = reached_delta(worst)
    return reached is not None and (not settled or reached <= (learner.policy.error_rate or 0.0))


def intervals_without(learner: Learner, excluded: Excluded) -> dict[Hashable, Interval]:
    """Intervals that hold whatever the runs that were left out would have brought; infinite where that may be anything.

    A lower end is that of a sample with the worst outcomes in their place, an upper end with the best, each
    at half of delta, since both must hold.
    """
    shown = learner.intervals()
    ends = [_filled(learner, dict.fromkeys(excluded, best), excluded) for best in (False, True)]
    policy = learner.policy
    if ends[0] is None or ends[1] is None or policy.promise == "asymptotic":
        return {
            name: Interval(-math.inf, one.value, math.inf) if excluded.get(name) else one for name, one in shown.items()
        }
    halved = policy.but(delta=policy.error_rate / 2.0) if policy.error_rate is not None else policy
    lows, highs = _brackets(ends[0], halved)[0], _brackets(ends[1], halved)[1]
    return {name: Interval(float(lows[k]), one.value, float(highs[k])) for k, (name, one) in enumerate(shown.items())}


def _brackets(learner: Learner, policy: Policy) -> tuple[FloatArray, FloatArray]:
    state = learner._state
    low, high = np.empty(state.asked.size), np.empty(state.asked.size)
    bracket(policy.rule(state.asked.size), state, low, high)
    return low, high


def _filled(learner: Learner, at_best: Mapping[Hashable, bool], excluded: Excluded) -> Learner | None:
    """A copy that was told an outcome for each run that was left out: the best one of an arm, or the worst."""
    policy = learner.policy
    if not isinstance(policy, KArmed) or policy.rewards is None or not policy.open_to_data:
        return None
    twin, known = learner.copy(), dict(zip(learner.pulls, policy.rewards_of(len(learner.pulls)), strict=True))
    for name, runs in excluded.items():
        low, high = known[name].support
        end = high if at_best[name] != policy.preference.costs else low
        if not math.isfinite(end):
            return None
        twin.observe(name, [end] * runs)
    return twin
