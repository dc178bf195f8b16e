"""Proofs on simulators: what W-LUCB and top-two take where only bounds are known. Each is long, so there are few."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from allais import WLUCB, TopTwo, best_arm
from allais.report.markup import markdown_table
from benchmarks.pools import Pool, table_of
from benchmarks.search import DELTA, SIMULATORS, objectives

CASES = [  # simulator, valued by, policy, repetitions
    ("emergency", "mean", WLUCB, 3),
    ("emergency", "mean", TopTwo, 3),
    ("emergency", "CVaR .1", WLUCB, 1),
    ("emergency", "TK", WLUCB, 1),
    ("inventory", "mean", WLUCB, 3),
    ("inventory", "mean", TopTwo, 3),
    ("inventory", "CVaR .1", WLUCB, 1),
    ("inventory", "TK", WLUCB, 1),
]
MOST = 500_000  # runs of one search


def run() -> str:
    rows = []
    for name, kind, policy, repetitions in CASES:
        _, indifference, reference, bounds = SIMULATORS[name]
        preference, (table, _) = objectives(reference, costs=True)[kind], table_of(name)
        slack = 2.0 * indifference if kind.startswith("CVaR") else indifference
        sure = policy(preference, bounds, delta=DELTA, tolerance=slack)
        begin, problem = perf_counter(), Pool(table)
        values = problem.true_values(preference)
        answers = [best_arm(sure, Pool(table), seed=seed, max_samples=MOST) for seed in range(repetitions)]
        runs = np.array([answer.samples for answer in answers])
        good = np.mean([values[int(str(answer.arm))] >= values.max() - slack for answer in answers])
        spread = f"{runs.min():,} to {runs.max():,}"
        seconds = f"{(perf_counter() - begin) / repetitions:.0f} s"
        rows.append((f"{name}, {kind}", f"{slack:g}", sure.called, f"{runs.mean():,.0f}", spread,
                     f"{sum(one.settled for one in answers)} of {repetitions}", f"{good:.2f}", seconds))  # fmt: skip
        print(*rows[-1], flush=True)
    header = ("proven, bounds known", "indifference", "policy", "runs", "least and most", "settled", "good enough",
              "time of one")  # fmt: skip
    return (
        "## Proofs on simulators\n\n"
        f"The simulators of `python -m benchmarks search`, delta = {DELTA:g}, at most {MOST:,} runs of a "
        f"search:\n\n{markdown_table(header, rows)}"
    )
