"""Common random numbers: run r of every option has the same seed, so that luck which all options share cancels."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

import numpy as np

from allais._checks import FloatArray
from allais.learner import Learner
from allais.linear.policy import LinearPolicy
from allais.policies.core.base import Policy
from allais.policies.toptwo import TopTwo

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
