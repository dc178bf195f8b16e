"""Without distortion the classic results return: an independent UCB1 has the same regret."""

import random

import numpy as np
from river import bandit

from allais import UCB1, Bandit, Bernoulli, Bounded, simulate

CHANCES = [0.05 + 0.1 * k for k in range(10)]
ROUNDS = 2_000


def rivers_regret(seed):
    policy, rng = bandit.UCB(delta=1, seed=seed), random.Random(seed)
    lost = 0.0
    for _ in range(ROUNDS):
        arm = policy.pull(range(10))
        policy.update(arm, float(rng.random() < CHANCES[arm]))
        lost += max(CHANCES) - CHANCES[arm]
    return lost


def test_ucb1_has_the_regret_of_an_independent_implementation():
    # two means of independent runs within five standard errors: by luck apart once in 1.7 million
    theirs = np.array([rivers_regret(seed) for seed in range(60)])
    results = simulate(UCB1(Bounded(0, 1)), Bandit([Bernoulli(p) for p in CHANCES]), ROUNDS, 400, seed=1)
    ours = results.regret[:, -1]
    error = np.hypot(theirs.std(ddof=1) / np.sqrt(theirs.size), ours.std(ddof=1) / np.sqrt(ours.size))
    assert abs(theirs.mean() - ours.mean()) <= 5 * error
