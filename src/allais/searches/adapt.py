"""Policies as a search needs them: for runs that share their seeds, and content where a difference does not matter.

With common random numbers, run r of every option has the same seed, so that luck which all options share cancels.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from allais._checks import FloatArray, positive
from allais.linear.policy import LinearPolicy
from allais.policies.core.base import Policy
from allais.policies.toptwo import TopTwo
from allais.searches.forecast import Forecast, forecast
from allais.searches.pilot_simulation import Seen

GRID = 4096  # sure amounts at which a utility is looked at
LADDER = (1.0, 0.5, 0.2, 0.1)  # of the largest amount that is asked about


def with_indifference(policy: Policy, amount: float) -> Policy:
    """The policy that is content with an option within an amount of the best, in certainty equivalents.

    Without a utility that is its tolerance. With one, the tolerance is the least difference in utility that this amount
    makes anywhere between the bounds of the rewards: so it errs on the safe side.

    Args:
        policy: A policy with a tolerance.
        amount: The difference that does not matter, in the unit of outcomes.

    >>> people = Preference(TverskyKahneman(0.61), utility=PowerUtility(0.88, 2.25), reference=10)
    >>> policy = WLUCB(people, Bounded(0, 30), delta=0.05)
    >>> round(with_indifference(policy, 1.0).tolerance, 4)
    0.6161
    """
    amount = positive("indifference", amount)
    if not hasattr(policy, "tolerance"):
        raise ValueError(
            f"indifference is for a policy that stops by itself; {type(policy).__name__} spends a budget. Leave it out."
        )
    if policy.preference.utility is None:
        return policy.but(tolerance=amount)
    known = policy.rewards if isinstance(policy.rewards, Sequence) else policy.rewards_of(1)
    ends = [end for one in known for end in one.support]
    if not ends or not all(map(math.isfinite, ends)):
        raise ValueError(
            "the utility of an amount depends on where it comes, so indifference under a utility needs bounds on "
            "rewards; there are none. Give the policy a tolerance, as a utility."
        )
    low, high = min(ends), max(ends)
    if amount >= high - low:
        raise ValueError(
            f"indifference must be smaller than the range of rewards, {high - low:g}; got {amount:g}. Give less."
        )
    sure = np.unique(np.append(np.linspace(low, high - amount, GRID), _kinks(policy, amount, low, high)))
    steps = np.abs(policy.preference.utilities(sure + amount) - policy.preference.utilities(sure))
    return policy.but(tolerance=float(steps.min()))


def _kinks(policy: Policy, amount: float, low: float, high: float) -> FloatArray:
    kinks = np.array([policy.preference.reference - amount, policy.preference.reference])
    return kinks[(kinks >= low) & (kinks <= high - amount)]


def costs_of_indifference(
    policy: Policy,
    values: FloatArray,
    seen: Sequence[Seen],
    amounts: Sequence[float],
    table: FloatArray | None = None,
) -> dict[float, Forecast | None]:
    """How many runs a search would take at each indifference, if options go on as before.

    Args:
        policy: A policy with a tolerance.
        values: The value of each arm.
        seen: The outcomes of each arm, and how often each came.
        amounts: Indifferences, in the unit of outcomes.
        table: What was seen, arms by rows and runs by columns, for common random numbers.

    >>> outcomes = np.array([0.0, 1.0])
    >>> seen = [(outcomes, np.array([20, 80])), (outcomes, np.array([30, 70]))]
    >>> policy = LUCB(Bounded(0, 1), delta=0.05)
    >>> costs = costs_of_indifference(policy, np.array([0.8, 0.7]), seen, amounts=[0.3, 0.1])
    >>> costs[0.3].expected < 0.5 * costs[0.1].expected
    True
    """
    return {amount: forecast(with_indifference(policy, amount), values, seen, table) for amount in amounts}


def worth_asking(sure: FloatArray) -> list[float]:
    """Amounts that a user may be asked about: round ones, from the best four options' distance down."""
    best = np.sort(sure[np.isfinite(sure)])[::-1][:4]
    spread = float(best[0] - best[-1]) if best.size > 1 else 0.0
    if not spread > 0.0:
        return []
    largest = 10.0 ** math.floor(math.log10(spread))
    top = max(step * largest for step in (1.0, 2.0, 5.0) if step * largest <= spread)
    return [float(f"{top * part:.1g}") for part in LADDER]


# Their tests multiply martingales of several arms, or regress on all arms at once. Such a product is a martingale if
# arms are independent; with common seeds only each arm by itself is one.
JOINT = (TopTwo, LinearPolicy)


def with_common_numbers(policy: Policy) -> Policy:
    """The policy for runs that share their seeds, or an error where its promise needs options that are independent.

    A policy that compares options pair by pair is told. For any other, each interval holds for its own option's
    runs, as ever, and nothing else changes.

    >>> with_common_numbers(TopTwo(expected_value(), Finite([0, 1]), delta=0.05))
    Traceback (most recent call last):
        ...
    ValueError: common random numbers make options dependent; TopTwo multiplies their evidence, which is ...
    """
    if policy.goal == "confidence" and isinstance(policy.plain(), JOINT):
        raise ValueError(
            f"common random numbers make options dependent; {type(policy).__name__} multiplies their evidence, which "
            "is sound for independent options only. Use WLUCB, or leave common random numbers out."
        )
    told = any(one.name == "common_random_numbers" for one in dataclasses.fields(policy))
    return policy.but(common_random_numbers=True) if told else policy
