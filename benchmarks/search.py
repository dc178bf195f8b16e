"""Searches of simulators: runs and correctness by promise, beside KN and OCBA."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from allais import WLUCB, Bounded, PairwiseScreening, Preference, TverskyKahneman, best_arm, cvar, expected_value
from allais._checks import FloatArray
from allais.policies import Policy
from allais.searches import fewest_runs
from benchmarks import rivals
from benchmarks.pools import Pool, table_of
from benchmarks.tables import Table, error_of, error_of_share

DELTA, REPETITIONS = 0.05, 200
CAREFUL = 20  # repetitions where rare events are waited for, and where a search takes tens of thousands of runs
OUTCOMES = 500  # of a pool, for the fewest runs of a proof
RAREST = 0.25  # as many runs of each option as KN has at first, 20 to 27
Counted = tuple[FloatArray, FloatArray]  # runs, and whether the answer was good enough, of each repetition


def run() -> str:
    begin = perf_counter()
    parts = ["## Searches of simulators", *_tables()]
    parts.append(f"All of this section took {(perf_counter() - begin) / 60.0:.0f} minutes beside other work.")
    return "\n\n".join(parts)


def objectives(reference: float, costs: bool) -> dict[str, Preference]:
    """Three ways to value costs: a machine's, people's, and that of those who fear the worst tenth."""
    people = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=reference, costs=costs)
    return {"mean": expected_value(costs=costs), "TK": people, "CVaR .1": cvar(0.1, costs=costs)}


SIMULATORS = {
    "inventory": ("(s, S) inventory, 50 options", 10.0, 750.0, Bounded(0, 2000)),
    "emergency": ("emergency department, 12 options", 1.0, 22.0, Bounded(0, 500)),
}


def _tables() -> list[str]:
    parts = []
    for name, (title, indifference, reference, bounds) in SIMULATORS.items():
        table, seconds = table_of(name)
        rows = Table(f"{name}, valued by", "indifference", "promise", "runs", "standard error", "good enough",
                     "repetitions")  # fmt: skip
        for kind, preference in objectives(reference, costs=True).items():
            slack = 2.0 * indifference if kind.startswith("CVaR") else indifference
            screening = PairwiseScreening(preference, delta=DELTA, rarest=RAREST, tolerance=slack)
            careful = screening.but(rarest=0.01)
            proof = WLUCB(preference, bounds, delta=DELTA, tolerance=slack)
            common = screening.but(common_random_numbers=True)
            rows.add(kind, f"{slack:g}", "proven, by the limit", f"about {_fewest(proof, table):,.0f}", "", "", "")
            rows.add(*row_of(kind, slack, "asymptotic, rarest .01", counted(careful, table, CAREFUL)))
            rows.add(*row_of(kind, slack, f"asymptotic, rarest {RAREST:g}", counted(screening, table)))
            rows.add(*row_of(kind, slack, "the same, common random numbers", counted(common, table)))
            for row in _others(table, slack) if kind == "mean" else ():
                rows.add(*row)
        made = f"a pool of {table.shape[1]:,} runs each that took {seconds:.0f} s"
        parts.append(f"{title}, {made}, delta = {DELTA:g}:\n\n{rows}")
    return parts


def _others(table: FloatArray, slack: float) -> list[tuple[str, ...]]:
    """KN and OCBA on the same options."""

    def by(run: Callable[[int], tuple[int, int]]) -> Counted:
        found = [run(seed) for seed in range(REPETITIONS)]
        means = table.mean(axis=1)
        good = np.array([means[option] <= means.min() + slack for option, _ in found], dtype=np.float64)
        return np.array([runs for _, runs in found], dtype=np.float64), good

    alone = by(lambda seed: rivals.kn(table, seed, slack, DELTA, common=False))
    common = by(lambda seed: rivals.kn(table, seed, slack, DELTA, common=True))
    budget = int(alone[0].mean())
    return [
        row_of("mean", slack, f"KN of sim-tools, n0 = {rivals.FIRST}", alone),
        row_of("mean", slack, "KN, common random numbers", common),
        row_of("mean", slack, "OCBA of sim-tools, KN's runs as its budget",
             by(lambda seed: rivals.ocba(table, seed, budget))),
    ]  # fmt: skip


def counted(policy: Policy, table: FloatArray, repetitions: int = REPETITIONS) -> Counted:
    values = Pool(table).true_values(policy.preference)
    slack, runs, good = getattr(policy, "tolerance", 0.0), [], []
    for seed in range(repetitions):
        common = seed if getattr(policy, "common_random_numbers", False) else None
        answer = best_arm(policy, Pool(table, common), seed=seed)
        runs.append(float(answer.samples))
        good.append(float(values[int(str(answer.arm))] >= values.max() - slack))
    return np.array(runs), np.array(good)


def _fewest(policy: Policy, table: FloatArray) -> float:
    """The fewest runs with which intervals part, for someone who knew all values: a proof by them takes no fewer."""
    values = Pool(table).true_values(policy.preference)
    some = np.sort(table, axis=1)[:, :: max(table.shape[1] // OUTCOMES, 1)]
    return fewest_runs(policy, values, [np.unique(row, return_counts=True) for row in some]) or np.nan


def row_of(kind: str, slack: float, promise: str, found: Counted) -> tuple[str, ...]:
    runs, good = found
    share = f"{good.mean():.3f} ± {error_of_share(good.mean(), good.size):.3f}"
    return kind, f"{slack:g}", promise, f"{runs.mean():,.0f}", f"{error_of(runs):,.0f}", share, str(runs.size)
