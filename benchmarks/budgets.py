"""The best arm within a budget: W-OCBA on the problems of `identify`, and all policies on a flow line."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from allais import (
    WOCBA,
    Bandit,
    ExploreFirstGreedy,
    PatientRejects,
    Preference,
    SequentialHalving,
    best_arm,
    cvar,
    expected_value,
    simulate,
)
from allais._checks import FloatArray
from allais.policies import Policy, UniformSampling
from allais.report.markup import markdown_table
from benchmarks.identify import BOTH, continuous, disasters_among, jackpot_among, ordinary
from benchmarks.pools import Pool, table_of

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
    return "\n\n".join(["## Budgets", markdown_table(header, rows), _line()])


LINES = 10  # repetitions on the flow line
SAMPLES = (15, 30)  # per option; sequential halving needs 14 here, and W-OCBA 11


def _on_a_line(budget: int, preference: Preference) -> dict[str, Callable[[], Policy]]:
    """Policies for thousands of options, of which nothing is known."""
    return {
        "explore-first greedy": lambda: ExploreFirstGreedy(preference, budget=budget),
        "floor 1/2": lambda: ExploreFirstGreedy(preference, budget=budget, floor=0.5),
        "patient rejects": lambda: PatientRejects(preference, budget=budget),
        "sequential halving": lambda: SequentialHalving(preference, budget=budget),
        "W-OCBA, rarest .25": lambda: WOCBA(preference, budget=budget, rarest=0.25),
        "uniform sampling": lambda: UniformSampling(preference, budget=budget),
    }


def _lost(policy: Policy, table: FloatArray, values: FloatArray, slack: float) -> tuple[str, str]:
    """How much worse the answer is than the best option on average, and how often it is good enough; and the time."""
    begin = perf_counter()
    answers = [int(str(best_arm(policy, Pool(table), seed=seed).arm)) for seed in range(LINES)]
    lost = values.max() - values[answers]
    spread = lost.std(ddof=1) / np.sqrt(LINES)
    return (
        f"{lost.mean():.3f} ± {spread:.3f} ({(lost <= slack).mean():.1f})",
        f"{(perf_counter() - begin) / LINES:.1f} s",
    )


def _line() -> str:
    """Thousands of options: the flow line of L = 30."""
    table, _ = table_of("flow line")
    n_options = table.shape[0]
    rows = []
    for kind, preference, slack in (("mean", expected_value(), 0.3), ("CVaR .1", cvar(0.1), 0.5)):
        values = Pool(table).true_values(preference)
        for name in _on_a_line(n_options, preference):
            found = [_lost(_on_a_line(n_options * each, preference)[name](), table, values, slack) for each in SAMPLES]
            rows.append((kind, name, *(text for text, _ in found), found[-1][1]))
            print(*rows[-1], flush=True)
    header = ("flow line, valued by", "policy", *(f"{each} runs per option" for each in SAMPLES), "time of the last")
    note = (
        f"The flow line of L = 30, {n_options:,} options, {LINES} repetitions: how much worse the answer is than the "
        "best option, with its standard error, and in brackets the share of answers within .3 (mean) or .5 (CVaR .1)."
    )
    return f"{note}\n\n{markdown_table(header, rows)}"
