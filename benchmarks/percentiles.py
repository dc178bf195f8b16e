"""Percentiles where they hurt: atoms at the level, a flat distribution function, and p99; beside the limit T*."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from allais import (
    WLUCB,
    Bandit,
    Bounded,
    Discrete,
    Empirical,
    Lottery,
    PairwiseScreening,
    PatientRejects,
    PatientTopTwo,
    Preference,
    TopTwo,
    quantile,
    simulate,
)
from allais.report.markup import markdown_table
from allais.theory import characteristic_time

DELTA = 0.05
RUNS, FEWER = 1_000, 200  # of top-two, and of the others
POINTS = 20_000  # of a continuous distribution: its quantiles at even levels
MOST = 10**6
EACH = 200  # samples per arm of a small budget


def run() -> str:
    return "\n\n".join(["## Percentiles", _confidence(), _budgets()])


def _points(distribution: Any) -> Lottery:
    return Empirical(distribution.ppf((np.arange(POINTS) + 0.5) / POINTS))


def _flat(below: float) -> Lottery:
    """Two clusters, with one outcome in fifty between them: a median falls anywhere."""
    shares = np.repeat([below, 0.02, 0.98 - below], POINTS // 4) / (POINTS // 4)
    places = np.concatenate([np.linspace(low, high, POINTS // 4) for low, high in ((0, 1), (1, 9), (9, 10))])
    places += np.arange(places.size) * 1e-9  # no two ends are the same
    return Discrete(dict(zip(places.tolist(), (shares / shares.sum()).tolist(), strict=True)))


def problems() -> list[tuple[str, Preference, Bandit, Bounded]]:
    """What is compared: name, percentile, arms and bounds."""
    waits: list[dict[float, float]] = [
        {1: 0.3, 2: 0.3, 3: 0.25, 4: 0.09, 5: 0.06},
        {1: 0.3, 2: 0.3, 3: 0.28, 4: 0.05, 5: 0.07},
        {1: 0.2, 2: 0.3, 3: 0.43, 4: 0.04, 5: 0.03},
    ]
    latencies = [_points(stats.lognorm(0.5, scale=scale)) for scale in (1.0, 1.2, 1.35)]
    return [
        ("p90 of waits in whole minutes (atoms)", quantile(0.9, costs=True), Bandit([Discrete(one) for one in waits]),
         Bounded(0, 10)),
        ("median between two clusters (flat)", quantile(0.5), Bandit([_flat(p) for p in (0.40, 0.49, 0.55)]),
         Bounded(0, 11)),
        ("p99 of lognormal latencies", quantile(0.99, costs=True), Bandit(latencies), Bounded(0, 50)),
    ]  # fmt: skip


def _confidence() -> str:
    rows = []
    for name, preference, problem, bounds in problems():
        limit = characteristic_time(preference, problem).time * math.log(1.0 / DELTA)
        policies = [
            (TopTwo(preference, bounds, delta=DELTA), RUNS),
            (WLUCB(preference, bounds, delta=DELTA), FEWER),
            (PairwiseScreening(preference, delta=DELTA, rarest=0.01), FEWER),
        ]
        for policy, runs in policies:
            made = simulate(policy, problem, MOST, runs, seed=1, checkpoints=[MOST], progress=False)
            wrong = round(runs * float(made.error_rate[-1]))
            mean, spread = made.samples.mean(), made.samples.std(ddof=1) / math.sqrt(runs)
            rows.append((name, policy.name, f"{mean:,.0f} ± {spread:,.0f}", f"{limit:,.0f}", f"{mean / limit:.2f}",
                         f"{wrong} of {runs:,}"))  # fmt: skip
            print(*rows[-1], flush=True)
    header = (f"best percentile at delta = {DELTA:g}", "policy", "samples", "T* log(1/delta)", "times that", "wrong")
    return markdown_table(header, rows)


def _budgets() -> str:
    rows = []
    for name, preference, problem, bounds in problems():
        budget = EACH * problem.n_arms
        cells = []
        for policy in (PatientTopTwo(preference, bounds, budget=budget), PatientRejects(preference, budget=budget),
                       PatientRejects(preference, budget=budget, floor=1.0)):  # fmt: skip
            made = simulate(policy, problem, budget, RUNS, seed=2, checkpoints=[budget], progress=False)
            cells.append(f"{float(made.error_rate[-1]):.3f}")
        rows.append((name, *cells))
        print(*rows[-1], flush=True)
    header = (
        f"share of wrong answers, {EACH} samples per arm",
        "patient top-two",
        "patient rejects",
        "uniform sampling",
    )
    return markdown_table(header, rows)
