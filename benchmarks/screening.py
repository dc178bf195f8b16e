"""Pairwise screening beside the procedure KN (Kim and Nelson 2001), for means: runs and errors on the same problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from allais import (
    Bandit,
    Continuous,
    Lottery,
    Mixture,
    Normal,
    PairwiseScreening,
    Preference,
    TverskyKahneman,
    Uniform,
    cvar,
    expected_value,
)
from allais.policies import Policy
from benchmarks.playing import played
from benchmarks.tables import Table, with_error

DELTA, TOLERANCE = 0.05, 0.2
FIRST = 20  # KN's samples before its first comparison, as its authors suggest 10 to 20
MANY = 10**7  # samples that no run needs
Noise = Callable[[np.random.Generator, int], np.ndarray[Any, Any]]


def _disaster(rng: np.random.Generator, size: int) -> np.ndarray[Any, Any]:
    return np.where(rng.random(size) < 0.01, -20.0, 20 * 0.01 / 0.99) + rng.uniform(-1.0, 1.0, size)


def _disastrous(mean: float) -> Lottery:
    usual = mean + 20 * 0.01 / 0.99
    return Mixture([Uniform(usual - 1, usual + 1), Uniform(mean - 21, mean - 19)], [0.99, 0.01])


DISTRIBUTIONS: dict[str, tuple[Noise, Callable[[float], Lottery]]] = {
    "normal": (lambda rng, size: rng.normal(size=size), lambda mean: Normal(mean, 1.0)),
    "lognormal": (
        lambda rng, size: rng.lognormal(0.0, 0.8, size) - math.exp(0.32),
        lambda mean: Continuous(stats.lognorm(0.8, loc=mean - math.exp(0.32))),
    ),
    "disasters": (_disaster, _disastrous),  # of probability .01
}
CASES: list[tuple[int, str, str, float, int]] = [  # arms, distribution, shape, rarest, runs
    (10, "normal", "slippage", 0.1, 200),
    (10, "lognormal", "slippage", 0.1, 100),
    (10, "disasters", "slippage", 0.1, 40),  # rarer than what was said to matter
    (10, "disasters", "slippage", 0.01, 40),  # as rare as that
    (10, "normal", "spread", 0.1, 100),
    (50, "normal", "spread", 0.1, 40),
    (1_000, "normal", "spread", 0.1, 20),
]


def slippage(n_arms: int) -> np.ndarray[Any, Any]:
    """All arms worse than the best by the tolerance: the hardest case that KN promises anything for."""
    return np.append(0.0, np.full(n_arms - 1, -TOLERANCE))


def spread(n_arms: int) -> np.ndarray[Any, Any]:
    """Arms that are worse and worse: by the tolerance, by half as much again, and so on."""
    return -TOLERANCE * np.append(0.0, 1.0 + 0.5 * np.arange(n_arms - 1) * min(1.0, 20.0 / n_arms))


def kn(means: np.ndarray[Any, Any], noise: Noise, rng: np.random.Generator) -> tuple[int, int]:
    """The procedure KN without common random numbers, c = 1: the arm that is left, and the samples it took."""
    n_arms = means.size
    first = means[:, None] + noise(rng, n_arms * FIRST).reshape(n_arms, FIRST)
    eta = 0.5 * ((2.0 * DELTA / (n_arms - 1)) ** (-2.0 / (FIRST - 1)) - 1.0)
    threshold = 2.0 * eta * (FIRST - 1)  # h^2
    variance, total = first.var(axis=1, ddof=1), first.sum(axis=1)
    left, rounds, used = np.arange(n_arms), FIRST, n_arms * FIRST
    while True:
        of_pair = variance[left][:, None] + variance[left][None, :]
        slack = np.maximum(threshold * of_pair / TOLERANCE**2 - rounds, 0.0) * TOLERANCE / (2.0 * rounds)
        np.fill_diagonal(slack, 0.0)
        average = total[left] / rounds
        keep = (average[:, None] >= average[None, :] - slack).all(axis=1)
        left = left[keep] if keep.any() else left[[int(average.argmax())]]
        if left.size == 1:
            return int(left[0]), used
        total[left] += means[left] + noise(rng, left.size)
        rounds, used = rounds + 1, used + left.size


def _ours(policy: Policy, problem: Bandit, runs: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    results = played(policy, problem, MANY, runs)
    assert results.stopped.all()
    return results.recommended[:, -1], results.samples


def _shown(samples: np.ndarray[Any, Any], wrong: float) -> tuple[str, str]:
    return with_error(samples), f"{wrong:.3f}"


def row(n_arms: int, distribution: str, shape: str, rarest: float, runs: int) -> tuple[str, ...]:
    """One line: KN and screening by the mean; screening by two other preferences, within the same tolerance."""
    means = slippage(n_arms) if shape == "slippage" else spread(n_arms)
    noise, lottery = DISTRIBUTIONS[distribution]
    theirs = [kn(means, noise, np.random.default_rng(seed)) for seed in range(runs)]
    arms = [lottery(float(mean)) for mean in means]
    cells = [*_shown(np.array([one[1] for one in theirs]), float(np.mean([one[0] != 0 for one in theirs])))]
    for preference in (expected_value(), Preference(TverskyKahneman(0.61), TverskyKahneman(0.69)), cvar(0.1)):
        values = np.array([preference.value(arm) for arm in arms])
        policy = PairwiseScreening(preference, delta=DELTA, rarest=rarest, tolerance=TOLERANCE)
        chosen, samples = _ours(policy, Bandit(arms), runs)
        wrong = values[chosen] < values.max() - TOLERANCE * (1.0 - 1e-9)  # by the tolerance or more
        cells += _shown(samples, float(wrong.mean()))
    return (f"{n_arms:,} arms, {distribution}, {shape}, rarest {rarest:g}", *cells, str(runs))


def run() -> str:
    table = Table(
        "samples with standard errors, and the share of wrong answers", "KN, mean", "wrong", "screening, mean", "wrong",
        "screening, TK", "wrong", "screening, worst 10 %", "wrong", "runs",
    )  # fmt: skip
    for case in CASES:
        table.add(*row(*case))
    return (
        f"## Screening\n\nError rate {DELTA:g}, indifference or tolerance {TOLERANCE:g}; KN begins with {FIRST} "
        "samples per arm. An answer is wrong that is worse than the best by the tolerance or more. Disasters have a "
        f"probability of .01.\n\n{table}"
    )
