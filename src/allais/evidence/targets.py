"""What a target does with each decision of a log."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray, brief
from allais.evidence.decisions import Decisions
from allais.policies.core.base import Policy

LOGGING = "logging"  # the policy that made the log


def probabilities(log: Decisions, target: Any) -> tuple[FloatArray, FloatArray]:
    """The probability of each arm of the log, in each decision, under a target; and that of arms nobody ever tried.

    Args:
        log: The log.
        target: An arm, a mapping from arms to probabilities, or a function from a context to either.
    """
    places: dict[Hashable, int] = {str(arm): k for k, arm in enumerate(log.arms)}  # 2 may be written "2"
    places |= {arm: k for k, arm in enumerate(log.arms)}
    found, untried = np.zeros((log.n, len(log.arms))), np.zeros(log.n)
    if not callable(target):
        row, rest = _row(places, target, None)
        found[:], untried[:] = row, rest
        return found, untried
    known: dict[str, tuple[FloatArray, float]] = {}
    for t, context in enumerate(log.contexts()):
        key = repr(sorted(context.items(), key=lambda one: one[0]))
        if key not in known:  # a target is a function of the context
            try:
                answer = target(context)
            except Exception as error:
                raise ValueError(
                    f"a target is a function from a context to an arm; it raised {type(error).__name__} for "
                    f"{brief(context)}: {error}. Check the columns that it needs."
                ) from error
            known[key] = _row(places, answer, t + 1)
        found[t], untried[t] = known[key]
    return found, untried


def _row(places: dict[Hashable, int], answer: Any, row: int | None) -> tuple[FloatArray, float]:
    where = "" if row is None else f" in row {row}"
    shares = answer if isinstance(answer, Mapping) else {answer: 1.0}
    found, rest = np.zeros(max(places.values()) + 1), 0.0
    for arm, share in shares.items():
        if not isinstance(share, int | float | np.number) or not 0.0 <= float(share) <= 1.0 + 1e-9:
            raise ValueError(f"a target gives each arm a probability{where}; got {brief(share)} for {brief(arm)}.")
        place = places.get(arm, places.get(str(arm)))
        if place is None:
            rest += float(share)
        else:
            found[place] += float(share)
    total = found.sum() + rest
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"a target's probabilities sum to 1{where}; got {total:g}. Check them.")
    return found / total, rest / total


class Rows(NamedTuple):
    """What a target does with each decision of a log."""

    shares: FloatArray  # pi(a | x), of arms that were tried; (n, n_arms)
    weights: FloatArray  # w, (n,)
    untried: float  # the mean probability of other arms

    @property
    def effective(self) -> float:
        squares = float(self.weights @ self.weights)
        return float(self.weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def rows_of(log: Decisions, target: Any) -> Rows:
    """The weights of a log's decisions under a target."""
    if isinstance(target, str) and target == LOGGING:
        shares = np.zeros((log.n, len(log.arms)))
        shares[np.arange(log.n), log.chosen] = 1.0  # w = 1: the log is its own sample
        return Rows(shares, np.ones(log.n), 0.0)
    if isinstance(target, Policy):
        used, weights = replay(log, target), np.zeros(log.n)
        weights[used] = log.n / max(used.size, 1)
        shares = np.zeros((log.n, len(log.arms)))
        shares[np.arange(log.n), log.chosen] = weights  # no model: what it learned depends on the order
        return Rows(shares, weights, 0.0)
    shares, untried = probabilities(log, target)
    tried = np.bincount(log.chosen, minlength=len(log.arms)) > 0
    rest = untried + shares[:, ~tried].sum(axis=1)
    shares[:, ~tried] = 0.0
    weights = shares[np.arange(log.n), log.chosen] / log.propensity
    return Rows(shares, weights, float(rest.mean()))


def replay(log: Decisions, policy: Policy, *, seed: int = 0) -> IntArray:
    """The decisions that a policy which learns would have made alike: their places, in the order in which it learns.

    A decision is used where the learner chooses the arm of the log, and then with the probability of the least
    propensity over its own, so that those that are used are as if each arm had been equally likely (Li et al. 2011).

    Args:
        log: The log, whose outcomes are all known.
        policy: The policy, which begins with nothing known.
        seed: The seed of its draws.
    """
    learner, rng = policy.start(list(log.arms), seed), np.random.default_rng(seed)
    found = []
    for place in np.flatnonzero(rng.random(log.n) < log.propensity.min() / log.propensity).tolist():
        choice = learner.ask()
        if choice.arm == log.arms[log.chosen[place]]:
            learner.tell(choice, float(log.outcome[place]))
            found.append(place)
        else:
            learner.cancel(choice)
    return np.array(found, dtype=np.int64)
