"""Common random numbers: run r of every option has the same seed, so that luck which all options share cancels."""

from __future__ import annotations

import dataclasses

from allais.linear.policy import LinearPolicy
from allais.policies.base import Policy
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
