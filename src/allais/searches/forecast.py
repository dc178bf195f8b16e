"""How many runs a search will take if arms are worth what they seem, which may be the best, and a finer grid there."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from allais import theory
from allais._checks import FloatArray
from allais.bands import Holder
from allais.learner import Learner
from allais.learner.unfinished import likely_distribution
from allais.policies.core.base import Policy
from allais.policies.toptwo import PatientTopTwoRule
from allais.policies.wlucb import WLUCB
from allais.policies.wsr import WSRRule
from allais.problems.options import Option, Setting
from allais.searches.limit import Seen
from allais.searches.pilot_simulation import closer_look, tried_out
from allais.simulation.best_arm import BestArm

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
    band, known = policy.band, policy.rewards_of(values.size)

    def radius(arm: int, runs: float, exponent: float) -> float:
        return float(band.radius(policy.preference, known[arm], max(round(runs), 1), exponent))

    def fewest(arm: int, target: float, exponent: float) -> float:
        """The runs that bring an arm's radius down to a target."""
        return math.inf if target <= 0.0 else _smallest(lambda runs: radius(arm, runs, exponent) <= target, 1.0)

    def enough(total: float) -> bool:
        """Whether this many runs part the intervals, if the leader gets half of them."""
        exponent = 4.0 * math.log(max(total / 2.0, 1.0)) + math.log(values.size * policy.union / policy.delta)
        of_leader = radius(leader, total / 2.0, exponent)
        left = [gaps[arm] + policy.tolerance - of_leader for arm in rivals]
        return sum(fewest(arm, one, exponent) for arm, one in zip(rivals, left, strict=True)) <= total / 2.0

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
    unfinished = learner.unfinished
    names = tuple(unfinished)
    values = np.array([_drawn(learner, name, many, rng, draws) for name, many in unfinished.items()])
    if np.isnan(values).any():  # an arm that was never seen may be anything
        return dict.fromkeys(names, float("nan"))
    best = values == values.max(axis=0)
    shares = (best / best.sum(axis=0)).mean(axis=1)  # options that are equal share a draw
    return dict(zip(names, shares.tolist(), strict=True))


def _drawn(learner: Learner, name: Hashable, unfinished: int, rng: np.random.Generator, draws: int) -> FloatArray:
    """Values of an arm under random weights of its outcomes."""
    outcomes, counts = learner.outcomes(name)
    if unfinished:
        likely = likely_distribution(learner, name)
        outcomes, counts = likely.outcomes, likely.probabilities * (counts.sum() + unfinished)
    if not counts.size:
        return np.full(draws, np.nan)
    rows = max(AT_ONCE // counts.size, 1)
    parts = [min(rows, draws - first) for first in range(0, draws, rows)]
    value = learner.policy.preference.values
    return np.concatenate([value(outcomes, rng.standard_gamma(counts, size=(part, counts.size))) for part in parts])


MOST_REDRAWN = 1_000  # options: redrawing the runs of more takes minutes
MAY_BE_BEST = 0.01  # of the redraws in which a contender is the best, at least
FEW = 3  # settings of which all combinations are tried; of more, one setting at a time changes
DIGITS = 12  # of a number halfway between two others


def chances(answer: BestArm) -> dict[Hashable, float]:
    """How often each option is best when the runs are redrawn; by a fixed draw, so that a report repeats."""
    if not answer.learner.policy.keeps_outcomes or len(answer.pulls) > MOST_REDRAWN:
        return dict.fromkeys(answer.pulls, math.nan)
    return chances_of_best(answer.learner, np.random.default_rng(0))


def contenders(answer: BestArm) -> list[Hashable]:
    """The options that may be the best by what was seen, the recommended one first, then by value.

    These are the answer, the next best, and all that are best in one of a hundred redraws of the runs.

    Args:
        answer: What `search` or `best_arm` returned.

    >>> problem = Bandit([Bernoulli(p) for p in (0.9, 0.88, 0.2, 0.1)], arms=["A", "B", "C", "D"])
    >>> contenders(best_arm(PatientTopTwo(expected_value(), Bounded(0, 1), budget=400), problem, seed=1))
    ['A', 'B']
    """
    chance = chances(answer)
    seen = [name for name in answer.intervals if answer.pulls[name] and not math.isnan(answer.intervals[name].value)]
    ranked = sorted(seen, key=lambda name: (name != answer.arm, -answer.intervals[name].value))
    return ranked[:2] + [name for name in ranked[2:] if chance[name] >= MAY_BE_BEST]


def finer(answer: BestArm, *, keep: Callable[..., bool] | None = None) -> list[Option]:
    """The options of an answer, and after them more between its contenders and their neighbours.

    Each number of a contender also becomes the one halfway to the next smaller and to the next larger number that an
    option has; whole numbers stay whole, and texts stay. Search the longer list with the same journal, and the runs
    that are there are used again.

    Args:
        answer: What a search among options with settings returned.
        keep: Which settings make sense, as a function of them by name; by default all.

    >>> problem = Simulator(lambda size, rng: rng.normal(-abs(size - 30), 1.0), grid(size=[0, 20, 40, 60]))
    >>> answer = best_arm(PatientRejects(expected_value(), budget=400), problem, seed=1)
    >>> finer(answer)
    ['size=0', 'size=20', 'size=40', 'size=60', 'size=30', 'size=50', 'size=10']
    """
    options = [name for name in answer.pulls if isinstance(name, Option)]
    if not options or len(options) < len(answer.pulls):
        raise ValueError(
            "a finer grid is made from options with settings; these have names only. Describe them by numbers: "
            "allais.problems.grid(s=[20, 30], S=[60, 80])."
        )
    numbers: dict[str, list[Any]] = {
        name: sorted({option.settings[name] for option in options})
        for name in options[0].settings
        if all(type(option.settings[name]) in (int, float) for option in options)
    }
    found = {_key(option.settings): option for option in options}
    for contender in contenders(answer):
        for settings in _around(contender.settings, numbers):  # type: ignore[attr-defined]
            if _key(settings) not in found and (keep is None or keep(**settings)):
                found[_key(settings)] = Option(settings)
    return list(found.values())


def _key(settings: dict[str, Setting]) -> tuple[Setting, ...]:
    return tuple(settings.values())


def _around(settings: dict[str, Setting], numbers: dict[str, list[Any]]) -> list[dict[str, Setting]]:
    """An option's neighbours at half the distance."""
    steps = {name: _halfway(settings[name], levels) for name, levels in numbers.items() if len(levels) > 1}
    if len(steps) > FEW:
        return [{**settings, name: value} for name, values in steps.items() for value in values]
    near = ([settings[name], *values] for name, values in steps.items())
    return [{**settings, **dict(zip(steps, chosen, strict=True))} for chosen in product(*near)]


def _halfway(value: Any, levels: list[Any]) -> list[Any]:
    """The numbers between a level and its neighbours, if there are some: whole ones between whole ones.

    >>> _halfway(20, [10, 20, 21]), _halfway(0.2, [0.1, 0.2])
    ([15], [0.15])
    """
    place = levels.index(value)
    beside = levels[max(place - 1, 0) : place] + levels[place + 1 : place + 2]
    whole = all(isinstance(level, int) for level in levels)
    between = [(value + other) // 2 if whole else float(f"{(value + other) / 2.0:.{DIGITS}g}") for other in beside]
    return [one for one in between if one not in levels]
