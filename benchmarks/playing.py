"""Policies on problems, as most sections play them: from one seed, looked at when they end."""

from __future__ import annotations

from allais import Bandit, Finite, simulate
from allais.policies import Policy
from allais.simulation import Results


def played(policy: Policy, problem: Bandit, rounds: int, runs: int, seed: int = 1) -> Results:
    """Some runs of a policy, until it stops or these rounds are over."""
    return simulate(policy, problem, rounds, runs, seed=seed, n_jobs=2, checkpoints=[rounds], progress=False)


def own_values(problem: Bandit) -> list[Finite]:
    """What is known of each arm by somebody who knows the values that it can take."""
    distributions = [lottery.as_finite() for lottery in problem.lotteries]
    return [Finite(distribution.outcomes) for distribution in distributions if distribution is not None]
