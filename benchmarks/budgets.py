"""The best arm within a budget: W-OCBA on the problems of `identify`, and all policies on a flow line."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from allais import (
    WOCBA,
    ExploreFirstGreedy,
    PatientRejects,
    Preference,
    SequentialHalving,
    best_arm,
    cvar,
    expected_value,
)
from allais._checks import FloatArray
from allais.policies import Policy, UniformSampling
from benchmarks.identify import BOTH, budgeted, wrong_shares
from benchmarks.pools import Pool, table_of
from benchmarks.tables import Table, with_error

RARESTS = (0.2, 0.2, 0.05, 0.004, 0.015, 0.01, 0.015, 0.01)  # what W-OCBA is told about each kind of problem


def run() -> str:
    table = Table(
        "wrong answers, W-OCBA", "rarest, for W-OCBA", "W-OCBA", "sequential halving", "standard error at most",
    )  # fmt: skip
    for (name, problems, budget, runs), rarest in zip(budgeted(), RARESTS, strict=True):
        tried: list[Policy] = [WOCBA(BOTH, budget=budget, rarest=rarest), SequentialHalving(BOTH, budget=budget)]
        shares, spread = wrong_shares(tried, problems, budget, runs)
        table.add(name, f"{rarest:g}", *shares, spread)
    return f"## Budgets\n\n{table}\n\n{_line()}"


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
    return f"{with_error(lost, '.3f')} ({(lost <= slack).mean():.1f})", f"{(perf_counter() - begin) / LINES:.1f} s"


def _line() -> str:
    """Thousands of options: the flow line of L = 30."""
    table, _ = table_of("flow line")
    n_options = table.shape[0]
    heads = *(f"{each} runs per option" for each in SAMPLES), "time of the last"
    rows = Table("flow line, valued by", "policy", *heads)
    for kind, preference, slack in (("mean", expected_value(), 0.3), ("CVaR .1", cvar(0.1), 0.5)):
        values = Pool(table).true_values(preference)
        for name in _on_a_line(n_options, preference):
            found = [_lost(_on_a_line(n_options * each, preference)[name](), table, values, slack) for each in SAMPLES]
            rows.add(kind, name, *(text for text, _ in found), found[-1][1])
    note = (
        f"The flow line of L = 30, {n_options:,} options, {LINES} repetitions: how much worse the answer is than the "
        "best option, with its standard error, and in brackets the share of answers within .3 (mean) or .5 (CVaR .1)."
    )
    return f"{note}\n\n{rows}"
