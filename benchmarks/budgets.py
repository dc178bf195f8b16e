"""The best arm within a budget: W-OCBA on the problems of `identify`, which has the other policies."""

from __future__ import annotations

import numpy as np

from allais import WOCBA, Bandit, SequentialHalving, simulate
from allais.policies import Policy
from allais.report.markup import markdown_table
from benchmarks.identify import BOTH, continuous, disasters_among, jackpot_among, ordinary

CASES: list[tuple[str, list[Bandit], int, float, int]] = [  # problems, budget, rarest, runs of each
    ("16 ordinary arms, 1,000 samples", [ordinary(seed) for seed in range(20)], 1_000, 0.2, 100),
    ("16 ordinary arms, 2,000 samples", [ordinary(seed) for seed in range(20)], 2_000, 0.2, 100),
    ("6 continuous arms, 2,000 samples", [continuous(seed) for seed in range(5)], 2_000, 0.05, 40),
    ("a jackpot of .004 among 16, 16,000 samples", [jackpot_among(16, 0.004)], 16_000, 0.004, 100),
    ("a jackpot of .01 among 16, 4,000 samples", [jackpot_among(16, 0.01)], 4_000, 0.015, 300),
    ("a jackpot of .01 among 6, 2,000 samples", [jackpot_among(6, 0.01)], 2_000, 0.01, 500),
    ("disasters of .01 among 16, 4,000 samples", [disasters_among(16, 0.01)], 4_000, 0.015, 300),
    ("disasters of .01 among 6, 2,000 samples", [disasters_among(6, 0.01)], 2_000, 0.01, 500),
]


def _wrong(policy: Policy, problem: Bandit, budget: int, runs: int) -> float:
    results = simulate(policy, problem, budget, runs, seed=1, checkpoints=[budget], progress=False)
    return float(results.error_rate[-1])


def row(name: str, problems: list[Bandit], budget: int, rarest: float, runs: int) -> tuple[str, ...]:
    """One line of the table."""
    tried: list[Policy] = [WOCBA(BOTH, budget=budget, rarest=rarest), SequentialHalving(BOTH, budget=budget)]
    wrong = np.array([[_wrong(one, arms, budget, runs) for one in tried] for arms in problems])
    spread = np.sqrt((wrong * (1.0 - wrong) / runs).sum(axis=0)).max() / len(problems)
    return (name, f"{rarest:g}", *(f"{share:.3f}" for share in wrong.mean(axis=0)), f"{spread:.3f}")


def run() -> str:
    rows = []
    for case in CASES:
        rows.append(row(*case))
        print(*rows[-1], flush=True)
    header = (
        "wrong answers, W-OCBA", "rarest, for W-OCBA", "W-OCBA", "sequential halving", "standard error at most",
    )  # fmt: skip
    return "## Budgets\n\n" + markdown_table(header, rows)
