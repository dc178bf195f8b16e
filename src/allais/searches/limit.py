"""What intervals need: the fewest runs with which they can part, if each arm goes on as it was seen to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.bands import Holder
from allais.bands.base import anytime_rule
from allais.bands.tail_ends import ends_of
from allais.bands.tails import TailRule
from allais.policies.base import Policy
from allais.policies.knowledge import fitting_band
from allais.policies.toptwo import TopTwo
from allais.policies.wlucb import WLUCB
from allais.preferences import Preference
from allais.rewards import Bounded
from allais.samples.layout import remembered

STEPS = 8  # numbers of runs that are looked at between n and 2 n; in between, ends are interpolated
MOST = 40 * STEPS  # 2^40 runs; more is never

Seen = tuple[FloatArray, IntArray]
Ends = Callable[[int], tuple[float, float]]  # of an arm's interval after 2^(step / STEPS) runs


def fewest_runs(policy: Policy, values: FloatArray, seen: Sequence[Seen]) -> float | None:
    """The fewest runs in all that part a policy's intervals, however they are shared out; None where it has none.

    Each arm goes on as it was `seen` to (its outcomes, and how often each came), and `values` are the estimates. No
    sampling rule that waits for these intervals can be done sooner: this is what a search is measured by.
    Infinite where two arms seem equal.

    >>> policy = WLUCB(expected_value(), Finite([0, 1]), delta=0.1)
    >>> outcomes = np.array([0.0, 1.0])
    >>> limit = fewest_runs(policy, np.array([0.9, 0.5]), [(outcomes, np.array([1, 9])), (outcomes, np.array([5, 5]))])
    >>> answer = best_arm(policy, Bandit([Bernoulli(0.9), Bernoulli(0.5)]), seed=1)
    >>> 0.5 * answer.samples < limit < 2 * answer.samples
    True
    """
    if values.size < 2 or not np.isfinite(values).all() or any(outcomes.size == 0 for outcomes, _ in seen):
        return None
    ends = _ends(policy, values, seen)
    if ends is None:
        return None
    leader = int(values.argmax())
    rivals = [arm for arm in range(values.size) if arm != leader]
    slack, second = float(getattr(policy, "tolerance", 0.0)), float(values[rivals].max())
    if values[leader] - second + slack <= 0.0:
        return math.inf
    fewest = math.inf
    # before this step the leader's lower end is not above its rivals' values, let alone their upper ends
    step = _first(lambda step: ends[leader](step)[0] + slack > second)
    while step is not None and step <= MOST and 2.0 ** (step / STEPS) < fewest:
        floor = ends[leader](step)[0] + slack
        fewest = min(fewest, 2.0 ** (step / STEPS) + sum(_runs_below(ends[arm], floor) for arm in rivals))
        step += 1
    return fewest


class Proof(NamedTuple):
    """What a proof by intervals takes at least, for any policy."""

    runs: float  # infinite where two options seem equal
    delta: float  # the chance of a wrong proof
    own: bool  # whether these are the policy's own intervals; else those of W-LUCB
    assumed: tuple[float, float] | None = None  # outcomes that were taken for the only possible ones: those seen


def least_proof(policy: Policy, values: FloatArray, seen: Sequence[Seen], delta: float = 0.05) -> Proof | None:
    """The fewest runs of a proof: by the policy's own intervals, or by those that W-LUCB would wait for.

    None where fewer than two arms, or not all, have been seen. A policy that was told nothing about its rewards
    gets what was seen as their range, which can only make a proof easier.

    >>> outcomes = np.array([0.0, 1.0])
    >>> seen = [(outcomes, np.array([1, 9])), (outcomes, np.array([5, 5]))]
    >>> proof = least_proof(WSR(expected_value(), budget=20), np.array([0.9, 0.5]), seen)
    >>> proof.own, proof.delta, proof.assumed
    (False, 0.05, (0.0, 1.0))
    """
    own = fewest_runs(policy, values, seen)
    if own is not None:
        return Proof(own, policy.error_rate or delta, True)
    if values.size < 2 or not np.isfinite(values).all() or any(outcomes.size == 0 for outcomes, _ in seen):
        return None
    chance = policy.error_rate or delta
    rewards = getattr(policy, "rewards", None)
    if rewards is not None:
        try:
            runs = fewest_runs(WLUCB(policy.preference, rewards, delta=chance), values, seen)
        except ValueError:  # sub-Gaussian rewards and a utility, of which no interval is known
            runs = None
        if runs is not None:
            return Proof(runs, chance, False)
    low, high = min(float(x.min()) for x, _ in seen), max(float(x.max()) for x, _ in seen)
    if low == high:
        return Proof(math.inf, chance, False, (low, high))
    runs = fewest_runs(WLUCB(policy.preference, Bounded(low, high), delta=chance), values, seen)
    return None if runs is None else Proof(runs, chance, False, (low, high))


def _first(holds: Callable[[int], bool]) -> int | None:
    """The first step at which something holds that goes on to hold; None if it never does."""
    below, above = -1, 0
    while not holds(above):
        below, above = above, 2 * above + 1
        if above > MOST:
            return None
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def _runs_below(ends: Ends, floor: float) -> float:
    """The runs after which an arm's upper end is at most `floor`."""
    above = _first(lambda step: ends(step)[1] <= floor)
    if above is None or above == 0:
        return math.inf if above is None else 1.0
    below = above - 1
    outer, inner = ends(below)[1], ends(above)[1]
    part = 1.0 if not math.isfinite(outer) else (outer - floor) / (outer - inner)
    return float(2.0 ** ((below + part) / STEPS))


def _ends(policy: Policy, values: FloatArray, seen: Sequence[Seen]) -> list[Ends] | None:
    """Each arm's interval by its number of runs; None for a policy that waits for no intervals, or unknown ones."""
    known = policy.rewards_of(values.size)
    band = policy.band if isinstance(policy, WLUCB) else fitting_band(known) if isinstance(policy, TopTwo) else None
    if band is None:
        return None
    rule = policy.rule(values.size)
    # two halves of what must be paid for a pair are one way to split it, and top-two must pass every one
    share, growth = (0.5 * rule.beta, 0.0) if isinstance(policy, TopTwo) else (rule.log_share, rule.growth)

    def of_arm(arm: int) -> Ends | None:
        always = anytime_rule(band, policy.preference, [known[arm]])
        shape = band.rule(policy.preference, [known[arm]]) if always is None else always

        def ends(step: int) -> tuple[float, float]:
            runs = 2.0 ** (step / STEPS)
            exponent = share + growth * math.log(runs)  # no round comes before an arm's own runs
            if isinstance(band, Holder):
                radius = float(band.radius(policy.preference, known[arm], max(round(runs), 1), exponent))
                return float(values[arm]) - radius, float(values[arm]) + radius
            low, high = ends_of(shape, _memory(policy.preference, seen[arm], max(round(runs), 1)), 0, exponent)
            return float(low), float(high)

        return lru_cache(maxsize=None)(ends) if isinstance(band, Holder) or isinstance(shape, TailRule) else None

    found = [of_arm(arm) for arm in range(values.size)]
    told = [ends for ends in found if ends is not None]
    return told if len(told) == len(found) else None


def _memory(preference: Preference, seen: Seen, runs: int) -> object:
    """The memory of one arm after some runs that fell as those before."""
    outcomes, counts = seen
    felt = preference.felt(outcomes)
    order = np.lexsort((outcomes, felt))
    share = np.cumsum(counts[order]) / counts.sum()
    times = np.diff(np.rint(share * runs), prepend=0.0).astype(np.int64)
    order, times = order[times > 0], times[times > 0]
    mean = np.array([np.average(felt[order], weights=times)])
    spread = np.array([times @ (felt[order] - mean[0]) ** 2])
    return remembered([(felt[order], outcomes[order], times)], mean, spread)
