"""Whether a problem pays only what its policy was told to expect: checked before anything runs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray
from allais.lotteries import Lottery
from allais.lotteries.base import came, in_place_of
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.problems import Problem
from allais.rewards import Finite, Rewards


def fitted(policy: Policy, problem: Problem) -> Policy:
    """The policy for a problem, or an error where the two do not fit.

    >>> from allais import NPTS
    >>> fitted(NPTS(expected_value(), Bounded(0, 20)), Bandit([Discrete({50: 0.1, 0: 0.9})], arms=["bus"]))
    Traceback (most recent call last):
        ...
    ValueError: rewards must lie between 0 and 20; arm 'bus' can pay 50. Widen Bounded(low, high)...
    """
    if not isinstance(policy, Policy):
        raise TypeError(f"a simulation runs a policy; got {policy!r}. Write NPTS(preference, rewards).")
    if not isinstance(problem, Problem):
        wrapped = in_place_of(problem)
        advice = (
            "Write Bandit([...]), or Simulator(f, arms)." if wrapped is None else f"{wrapped} Then write Bandit([...])."
        )
        raise TypeError(f"a policy is run on a problem; got {came(problem)}. {advice}")
    policy = policy.on(problem)
    policy.try_on(problem.n_arms)  # refuses what does not fit the number of arms
    known = policy.rewards_of(problem.n_arms)
    for k, lottery in enumerate(lotteries_of(problem)):
        if known:
            _require_within(problem.arms[k], lottery, known[k])
        _require_finite_utilities(problem.arms[k], lottery, policy.preference)
    return policy


def lotteries_of(problem: Problem) -> Sequence[Lottery]:
    """The distribution of each arm, where a problem has them."""
    distributions: Sequence[Lottery] = getattr(problem, "lotteries", ())
    return distributions


def _require_within(name: Hashable, lottery: Lottery, known: Rewards) -> None:
    """Refuse a lottery that can pay what was declared impossible."""
    finite = lottery.as_finite()
    if finite is not None:
        outcomes = finite.outcomes
        outside = outcomes[~_possible(known, outcomes)]
        if outside.size:
            raise ValueError(f"{_rule_of(known)}; arm {name!r} can pay {outside[-1]:g}. {_advice(known)}")
        return
    low, high = known.support
    least, most = lottery.support
    if isinstance(known, Finite) or least < low or most > high:
        raise ValueError(
            f"{_rule_of(known)}; arm {name!r} can pay anything from {least:g} to {most:g}. {_advice(known)}"
        )


def _possible(known: Rewards, outcomes: FloatArray) -> NDArray[np.bool_]:
    """Whether each outcome can occur."""
    if isinstance(known, Finite):
        return np.isin(outcomes, known.values)
    low, high = known.support
    return (outcomes >= low) & (outcomes <= high)


def _rule_of(known: Any) -> str:
    if isinstance(known, Finite):
        return f"rewards must be one of the {len(known.values)} declared values"
    return f"rewards must lie between {known.support[0]:g} and {known.support[1]:g}"


def _advice(known: Any) -> str:
    if isinstance(known, Finite):
        return "Add it to Finite(values), or declare Bounded(low, high)."
    return "Widen Bounded(low, high), or declare SubGaussian: the guarantees rest on it."


def _require_finite_utilities(name: Hashable, lottery: Lottery, preference: Preference) -> None:
    """Refuse a lottery whose outcomes overflow the utility."""
    finite = lottery.as_finite()
    ends = np.array(lottery.support) if finite is None else finite.outcomes
    utilities = preference.utilities(ends[np.isfinite(ends)])
    if not np.isfinite(utilities).all():
        raise ValueError(
            f"the utility of rewards must be finite; that of some of arm {name!r} is not. Rescale the rewards."
        )


def drawn(problem: Problem, arm: int, outcomes: FloatArray, size: int, known: Rewards | None) -> FloatArray:
    """What a problem without known lotteries has drawn, checked: as many as were asked, finite, and possible."""
    array = np.asarray(outcomes, dtype=np.float64)
    if array.shape != (size,) or not np.isfinite(array).all():
        got = array[~np.isfinite(array)][0] if array.shape == (size,) else f"shape {array.shape}"
        raise ValueError(
            f"draw(arm, rng, size) must return {size} finite outcomes; got {got} for arm {problem.arms[arm]!r}. "
            "Repair the problem."
        )
    if known is not None:
        outside = array[~_possible(known, array)]
        if outside.size:
            raise ValueError(f"{_rule_of(known)}; arm {problem.arms[arm]!r} paid {outside[0]:g}. {_advice(known)}")
    return array
