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
    Guardrail,
    Lottery,
    PairwiseScreening,
    PatientRejects,
    PatientTopTwo,
    Preference,
    TopTwo,
    expected_value,
    quantile,
    simulate,
)
from allais.simulation.rollout import Rollout
from allais.theory import characteristic_time
from benchmarks.playing import played
from benchmarks.tables import Table, with_error

DELTA = 0.05
RUNS, FEWER = 1_000, 200  # of top-two, and of the others
POINTS = 20_000  # of a continuous distribution: its quantiles at even levels
MOST = 10**6
EACH = 200  # samples per arm of a small budget
GUARDED, MOST_GUARDED = 500, 4_000  # runs with a guardrail, and samples of each at most


def run() -> str:
    return f"## Percentiles\n\n{_confidence()}\n\n{_budgets()}\n\n{_guardrails()}"


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


def _confidence() -> Table:
    table = Table(
        f"best percentile at delta = {DELTA:g}", "policy", "samples", "T* log(1/delta)", "times that", "wrong"
    )
    for name, preference, problem, bounds in problems():
        limit = characteristic_time(preference, problem).time * math.log(1.0 / DELTA)
        policies = [
            (TopTwo(preference, bounds, delta=DELTA), RUNS),
            (WLUCB(preference, bounds, delta=DELTA), FEWER),
            (PairwiseScreening(preference, delta=DELTA, rarest=0.01), FEWER),
        ]
        for policy, runs in policies:
            made = played(policy, problem, MOST, runs)
            wrong = round(runs * float(made.error_rate[-1]))
            table.add(name, policy.name, with_error(made.samples), f"{limit:,.0f}",
                      f"{made.samples.mean() / limit:.2f}", f"{wrong} of {runs:,}")  # fmt: skip
    return table


def _budgets() -> Table:
    table = Table(
        f"share of wrong answers, {EACH} samples per arm", "patient top-two", "patient rejects", "uniform sampling",
    )  # fmt: skip
    for name, preference, problem, bounds in problems():
        budget = EACH * problem.n_arms
        cells = []
        for policy in (PatientTopTwo(preference, bounds, budget=budget), PatientRejects(preference, budget=budget),
                       PatientRejects(preference, budget=budget, floor=1.0)):  # fmt: skip
            cells.append(f"{float(played(policy, problem, budget, RUNS, seed=2).error_rate[-1]):.3f}")
        table.add(name, *cells)
    return table


def _requests(typical: float, slow: float) -> Lottery:
    """Waiting times in ms, of which a share `slow` takes 400: p90 is at most 300 where that share is at most 0.1."""
    return Discrete({typical - 20: 0.3, typical: 0.3, typical + 30: 0.4 - slow, 400: slow})


def guarded() -> list[tuple[str, Bandit, float]]:
    """What has a guardrail: name, arms, and the tolerance."""
    return [
        ("the best arm breaks it", Bandit([_requests(100, 0.13), _requests(120, 0.06), _requests(150, 0.05)]), 0.0),
        ("none keeps it", Bandit([_requests(100, 0.13), _requests(120, 0.14)]), 0.0),
        ("the best arm is exactly at the limit", Bandit([_requests(100, 0.1), _requests(150, 0.05)]), 0.0),
        ("the best arm is just beyond it", Bandit([_requests(100, 0.1001), _requests(150, 0.05)]), 0.0),
        ("the best arm misses it within the tolerance", Bandit([_requests(100, 0.11), _requests(150, 0.05)]), 100.0),
    ]


def _guardrails() -> str:
    what = "p90 at most 300 ms"
    slips = "wrong answers", "dropped an arm that keeps it", "answer breaks it"
    table = Table(what, "policy", "samples", "answered", *slips)
    for name, problem, tolerance in guarded():
        limit = [Guardrail(quantile(0.9, costs=True), at_most=300, tolerance=tolerance)]
        median, times = quantile(0.5, costs=True), Bounded(0, 1_000)
        for policy in (
            TopTwo(median, times, delta=DELTA, guardrails=limit), WLUCB(median, times, delta=DELTA, guardrails=limit),
            PairwiseScreening(expected_value(costs=True), delta=DELTA, rarest=0.05, guardrails=limit),
        ):  # fmt: skip
            table.add(name, policy.name, *_slips(policy, problem))
    return (
        f"Medians, and means by screening, with a guardrail at delta = {DELTA:g}, half of which is for it; "
        f"runs of at most {MOST_GUARDED:,} samples. At the limit, and just beyond it, little can be shown, and runs "
        f'seldom end. "None" is an answer.\n\n{table}'
    )


def _slips(policy: Any, problem: Bandit) -> tuple[str, ...]:
    """What went wrong, by the truth about the arms."""
    truth = simulate(policy, problem, 1, 1, seed=0, progress=False)
    assert truth.kept is not None
    best = truth.best if (truth.kept > 0).any() else -1
    samples, answered, wrong, dropped, breaks = np.zeros(GUARDED), 0, 0, 0, 0
    for run, seed in enumerate(np.random.SeedSequence(4).spawn(GUARDED)):
        played = Rollout(policy, problem, seed)
        played.run(MOST_GUARDED)
        active = played.state.active
        answer: Any = played.learner().recommend().arm  # arms are called 0, 1, ... here
        samples[run] = played.samples
        dropped += bool((~active & (truth.kept > 0)).any())
        if played.stopped:
            answered += 1
            breaks += answer is not None and truth.kept[answer] < 0
            wrong += (-1 if answer is None else answer) != best and not (answer is not None and truth.kept[answer] == 0)
    return f"{samples.mean():,.0f}", f"{answered} of {GUARDED:,}", str(wrong), str(dropped), str(breaks)
