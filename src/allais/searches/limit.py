"""What a proof needs: the fewest runs on average, for any policy, if each arm goes on as before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.rewards import Bounded, Finite, Rewards
from allais.theory.divergence import FiniteDistribution
from allais.theory.limits import time_of

ATOMS = 48  # of a distribution: single outcomes at its ends, averages of several in its middle
NODES = 9  # values at which two distributions may meet

Seen = tuple[FloatArray, IntArray]


def fewest_runs(policy: Policy, values: FloatArray, seen: Sequence[Seen]) -> float | None:
    """The fewest runs that any policy needs on average to be as sure as this one; None where no limit is known.

    This is T* log(1 / (2.4 delta)) of Garivier and Kaufmann (2016) (`theory.characteristic_time`), for rewards that may
    be anything within their bounds. It is infinite where two arms seem equal.

    Args:
        policy: The policy, with its delta, its tolerance and its rewards.
        values: The value of each arm, as a utility.
        seen: The outcomes of each arm, and how often each came; each arm is assumed to go on like this.

    >>> policy = WLUCB(expected_value(), Finite([0, 1]), delta=0.1)
    >>> outcomes = np.array([0.0, 1.0])
    >>> limit = fewest_runs(policy, np.array([0.9, 0.5]), [(outcomes, np.array([1, 9])), (outcomes, np.array([5, 5]))])
    >>> answer = best_arm(policy, Bandit([Bernoulli(0.9), Bernoulli(0.5)]), seed=1)
    >>> 0.1 * answer.samples < limit < answer.samples
    True
    """
    known = policy.rewards_of(values.size)
    if policy.error_rate is None or not known:
        return None
    return _limit(policy, known, values, seen, policy.error_rate)


def _limit(
    policy: Policy, known: Sequence[Rewards], values: FloatArray, seen: Sequence[Seen], delta: float
) -> float | None:
    if values.size < 2 or not np.isfinite(values).all() or any(outcomes.size == 0 for outcomes, _ in seen):
        return None
    if not all(isinstance(rewards, Bounded | Finite) for rewards in known):
        return None  # a rare enough disaster could not be told from what was seen
    tolerance = float(getattr(policy, "tolerance", 0.0))
    best, second = np.sort(values)[::-1][:2]
    if best + tolerance <= second:
        return math.inf
    distributions = [_distribution(policy.preference, one, own) for one, own in zip(seen, known, strict=True)]
    found = time_of(distributions, values, tolerance, NODES).time * math.log(1.0 / (2.4 * delta))
    return max(found, float(values.size))  # each arm was tried once


def _distribution(preference: Preference, seen: Seen, known: Rewards) -> FiniteDistribution:
    """What was seen of an arm, and what else may occur, as utilities; outcomes in the middle are put together."""
    outcomes, counts = seen
    utility = preference.utilities(outcomes)
    order = np.argsort(utility)
    utility, shares = utility[order], counts[order] / counts.sum()
    before = np.cumsum(shares) - 0.5 * shares
    # equal steps of the logarithm of the odds: half of the atoms are for a tenth of the runs at either end
    edges = 1.0 / (1.0 + np.exp(np.linspace(12.0, -12.0, ATOMS - 1)))
    atom = np.searchsorted(edges, before)
    mass = np.bincount(atom, weights=shares, minlength=ATOMS)
    there = mass > 0.0
    averages = np.bincount(atom, weights=shares * utility, minlength=ATOMS)[there] / mass[there]
    possible = preference.utilities(np.array(known.values if isinstance(known, Finite) else known.support))
    distinct, where = np.unique(np.append(averages, possible), return_inverse=True)
    weights = np.append(mass[there], np.zeros(possible.size))
    whole = np.zeros(distinct.size)
    np.add.at(whole, where, weights)
    return FiniteDistribution(distinct, whole, preference.gains, preference.losses)


class Proof(NamedTuple):
    """What a proof takes at least, for any policy.

    Attributes:
        runs: The fewest runs on average; infinite where two options seem equal.
        delta: The probability of a wrong proof.
        own: Whether the policy itself waits until it is as sure.
        assumed: The range that outcomes were assumed to lie in, if none was declared: that of those seen.
    """

    runs: float
    delta: float
    own: bool
    assumed: tuple[float, float] | None = None


def least_proof(policy: Policy, values: FloatArray, seen: Sequence[Seen], delta: float = 0.05) -> Proof | None:
    """The fewest runs of a proof: of one as sure as the policy, or with probability delta of an error.

    It is None where fewer than two arms, or not all, have been seen. A policy that was told no bounds of its rewards
    gets the range of what was seen, which can only make a proof easier.

    Args:
        policy: The policy.
        values: The value of each arm, as a utility.
        seen: The outcomes of each arm, and how often each came.
        delta: The probability of a wrong proof, for policies that promise none.

    >>> outcomes = np.array([0.0, 1.0])
    >>> seen = [(outcomes, np.array([1, 9])), (outcomes, np.array([5, 5]))]
    >>> proof = least_proof(WSR(expected_value(), budget=20), np.array([0.9, 0.5]), seen)
    >>> proof.own, proof.delta, proof.assumed
    (False, 0.05, (0.0, 1.0))
    """
    chance, own, assumed = policy.error_rate or delta, policy.error_rate is not None, None
    known = policy.rewards_of(values.size)
    if not known or not all(isinstance(one, Bounded | Finite) for one in known):
        if values.size < 2 or any(outcomes.size == 0 for outcomes, _ in seen):
            return None
        low, high = min(float(x.min()) for x, _ in seen), max(float(x.max()) for x, _ in seen)
        own, assumed = False, (low, high)
        if low == high:
            return Proof(math.inf, chance, own, assumed)
        known = [Bounded(low, high)] * values.size
    runs = _limit(policy, known, values, seen, chance)
    return None if runs is None else Proof(runs, chance, own, assumed)
