"""How many runs a search will take, if the arms are worth what they seem to be; and how likely each is the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from allais import theory
from allais._checks import FloatArray
from allais.bands import Holder
from allais.learner import Learner
from allais.policies.core.base import Policy
from allais.policies.toptwo import PatientTopTwoRule
from allais.policies.wlucb import WLUCB
from allais.policies.wsr import WSRRule
from allais.searches.pilot_simulation import Seen, closer_look, tried_out

MOST = 1e18  # runs; more is never
LOOKS = 4  # closer looks at options that may be the best, at most
ENOUGH = 1.0 / 3.0  # and none once pilot runs are this share of what is forecast


class Forecast(NamedTuple):
    """Runs in all, from the first; infinite where two arms seem equal.

    Attributes:
        expected: Runs if values stay as they are.
        at_most: Runs with probability 1 - delta (Theorem 5), where that is known.
        between: The range of about nine in ten searches, where the policy was tried out.
    """

    expected: float
    at_most: float | None
    between: tuple[float, float] | None = None


def forecast(
    policy: Policy, values: FloatArray, seen: Sequence[Seen] | None = None, table: FloatArray | None = None
) -> Forecast | None:
    """How many runs a policy will take; None where it cannot be told.

    A policy with a budget ends with it. W-LUCB with the paper's band samples the leader every other time and its rivals
    in between, until their intervals part: so its end can be computed when the values are known, and needs no theorem's
    slack. Other policies are tried out on distributions like those that were seen; the forecast is the mean of such
    trials.

    Args:
        policy: The policy.
        values: The value of each arm.
        seen: The outcomes of each arm, and how often each came.
        table: What was seen, arms by rows and runs by columns, for a policy that uses common random numbers.

    >>> policy = WLUCB(expected_value(), Bounded(0, 1), delta=0.1, band=Holder())
    >>> predicted = forecast(policy, np.array([0.9, 0.5]))
    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.5)])
    >>> seen = np.mean([best_arm(policy, problem, seed=seed).samples for seed in range(20)])
    >>> round(float(seen / predicted.expected), 1)
    1.0
    """
    rule = policy.rule(values.size) if policy.goal == "budget" else None
    if isinstance(rule, WSRRule):  # whatever is seen, one arm goes after each phase
        return Forecast(float(rule.ends.sum() + rule.ends[-1]) if rule.ends.size else 0.0, None)
    if isinstance(rule, PatientTopTwoRule):
        return Forecast(float(rule.budget), None)
    if values.size < 2 or not np.isfinite(values).all():
        return None
    if not (isinstance(policy, WLUCB) and isinstance(policy.band, Holder)):
        took = None if seen is None else tried_out(policy, values, seen, table)
        return None if took is None else Forecast(took[0], None, took[1:])
    gaps = values.max() - values
    leader = int(values.argmax())
    rivals = [arm for arm in range(values.size) if arm != leader]
    radius = _radius(policy, values.size)

    def enough(total: float) -> bool:
        """Whether this many runs part the intervals, if the leader gets half of them."""
        exponent = _exponent(policy, values.size, total / 2.0)
        left = [gaps[k] + policy.tolerance - radius(leader, total / 2.0, exponent) for k in rivals]
        return sum(_fewest(radius, k, r, exponent) for k, r in zip(rivals, left, strict=True)) <= total / 2.0

    return Forecast(_smallest(enough, 2.0 * values.size), _theorem(policy, values))


def closer_forecast(
    policy: Policy, summed_up: Callable[[], tuple[FloatArray, list[Seen]]], run: Callable[[dict[int, int]], None]
) -> Forecast | None:
    """A forecast from pilot runs, and from more of them for options that may be the best.

    What a search takes depends on how far apart the best options are, and pilot runs of all options tell that badly. So
    there are further looks, each with as many runs as the first; a search uses them all again. Where the best options
    are too close for the pilot to tell them apart, a forecast may be off by far more than a factor of 2.

    Args:
        policy: The policy.
        summed_up: Returns the values and outcomes so far.
        run: Runs some options more often, given how often each.

    >>> rng, distributions = np.random.default_rng(1), [Normal(mean, 1.0) for mean in (0.0, 0.5, 1.0)]
    >>> told = [distribution.sample(rng, 50) for distribution in distributions]
    >>> def run(more):
    ...     for arm, runs in more.items():
    ...         told[arm] = np.append(told[arm], distributions[arm].sample(rng, runs))
    >>> def summed_up():
    ...     return np.array([x.mean() for x in told]), [np.unique(x, return_counts=True) for x in told]
    >>> policy = PairwiseScreening(expected_value(), delta=0.05, rarest=0.2, tolerance=0.1)
    >>> used = np.mean([best_arm(policy, Bandit(distributions), seed=seed).samples for seed in range(20)])
    >>> predicted = closer_forecast(policy, summed_up, run)
    >>> bool(0.5 < predicted.expected / used < 2.0)
    True
    """
    values, seen = summed_up()
    first = runs = sum(int(counts.sum()) for _, counts in seen)
    predicted = None
    for look in range(LOOKS + 1):
        if not np.isfinite(values).all():
            return None
        if look > 0:  # the first forecast has one closer look at least
            predicted = forecast(policy, values, seen)
            if look == LOOKS or predicted is None or runs >= ENOUGH * predicted.expected:
                break
        run(closer_look(policy.preference, values, seen, first))
        values, seen = summed_up()
        runs = sum(int(counts.sum()) for _, counts in seen)
    return predicted


def _radius(policy: WLUCB, n_arms: int) -> Callable[[int, float, float], float]:
    band: Any = policy.band
    known = policy.rewards_of(n_arms)

    def radius(arm: int, runs: float, exponent: float) -> float:
        return float(band.radius(policy.preference, known[arm], max(round(runs), 1), exponent))

    return radius


def _exponent(policy: WLUCB, n_arms: int, rounds: float) -> float:
    return 4.0 * math.log(max(rounds, 1.0)) + math.log(n_arms * policy.union / policy.delta)


def _fewest(radius: Callable[[int, float, float], float], arm: int, target: float, exponent: float) -> float:
    """The runs that bring an arm's radius down to a target."""
    return math.inf if target <= 0.0 else _smallest(lambda runs: radius(arm, runs, exponent) <= target, 1.0)


def _smallest(enough: Callable[[float], bool], first: float) -> float:
    """The smallest number that is enough, to a thousandth; infinite beyond 1e18."""
    most = first
    while not enough(most):
        most *= 2.0
        if most > MOST:
            return math.inf
    least = most / 2.0 if most > first else first
    while most - least > 1e-3 * most + 0.5:
        middle = (least + most) / 2.0
        least, most = (least, middle) if enough(middle) else (middle, most)
    return float(math.ceil(most))


def _theorem(policy: WLUCB, values: FloatArray) -> float | None:
    rewards = policy.rewards
    if rewards is None or isinstance(rewards, Sequence) or policy.tolerance > 0.0 or policy.band != Holder():
        return None
    try:
        return float(theory.wlucb_samples(policy.preference, rewards, values, policy.delta))
    except ValueError:  # two arms seem equal
        return math.inf


DRAWS = 400  # a chance is then known to within 0.05
AT_ONCE = 2**19  # random weights that are held at a time: some 30 MB


def chances_of_best(learner: Learner, rng: np.random.Generator, draws: int = DRAWS) -> dict[Hashable, float]:
    """The probability of each arm to have the highest value, by the Bayesian bootstrap (Rubin 1981).

    Each draw gives every outcome a random weight. It is for display: no stopping rule reads it. It only knows outcomes
    that were seen, so an arm with few runs looks too certain.

    Args:
        learner: What was learned.
        rng: The generator of the draws.
        draws: How many draws.

    >>> learner = WLUCB(expected_value(), Bounded(0, 1), delta=0.1).start(["A", "B"], seed=1)
    >>> learner.observe("A", [0.0, 1.0, 1.0])
    >>> learner.observe("B", [0.0, 0.0, 1.0])
    >>> chances_of_best(learner, np.random.default_rng(1), draws=10_000)
    {'A': 0.83..., 'B': 0.16...}
    """
    names = tuple(learner.pulls)
    values = np.array([_drawn(learner, name, rng, draws) for name in names])
    if np.isnan(values).any():  # an arm that was never seen may be anything
        return dict.fromkeys(names, float("nan"))
    best = values == values.max(axis=0)
    shares = (best / best.sum(axis=0)).mean(axis=1)  # options that are equal share a draw
    return dict(zip(names, shares.tolist(), strict=True))


def _drawn(learner: Learner, name: Hashable, rng: np.random.Generator, draws: int) -> FloatArray:
    """Values of an arm under random weights of its outcomes."""
    outcomes, counts = learner.outcomes(name)
    if not counts.size:
        return np.full(draws, np.nan)
    rows = max(AT_ONCE // counts.size, 1)
    parts = [min(rows, draws - first) for first in range(0, draws, rows)]
    value = learner.policy.preference.values
    return np.concatenate([value(outcomes, rng.standard_gamma(counts, size=(part, counts.size))) for part in parts])
