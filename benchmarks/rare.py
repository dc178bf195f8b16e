"""Regret on continuous rewards with rare events at either end: NPTS beside W-UCB with the KL band."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from allais import (
    NPTS,
    WUCB,
    Bandit,
    Bounded,
    Continuous,
    Discrete,
    Lottery,
    Mixture,
    Preference,
    Prelec,
    TverskyKahneman,
    Uniform,
    cvar,
    expected_value,
)
from allais.bands import KL
from allais.policies import Policy
from benchmarks.playing import played
from benchmarks.tables import Table

ROUNDS, RUNS, RUNS_OF_WUCB = 10_000, 10, 4  # a round of W-UCB costs several times as much
OPTIMISM = (0, 1, 2, 4)
PEOPLE = Preference(TverskyKahneman(0.61))
BOTH = Preference.tversky_kahneman()
COSTS = Preference(TverskyKahneman(0.61), costs=True)


class _TruncatedLognormal(stats.rv_continuous):  # type: ignore[misc]  # scipy has no types
    """exp of a normal distribution that is cut off at log(top)."""

    def __init__(self, sd: float, top: float) -> None:
        super().__init__(a=0.0, b=top, name=f"lognormal, sd {sd:g}, up to {top:g}")
        self.normal = stats.truncnorm(-np.inf, np.log(top) / sd, scale=sd)

    def _cdf(self, x: Any) -> Any:
        return self.normal.cdf(np.log(np.maximum(x, 1e-300)))

    def _sf(self, x: Any) -> Any:
        return self.normal.sf(np.log(np.maximum(x, 1e-300)))

    def _ppf(self, q: Any) -> Any:
        return np.exp(self.normal.ppf(q))

    def _isf(self, q: Any) -> Any:
        return np.exp(self.normal.isf(q))


def _with(usual: Lottery, share: float, event: Lottery | float) -> Mixture:
    rare = event if isinstance(event, Lottery) else Discrete({event: 1.0})
    return Mixture([usual, rare], [1.0 - share, share])


LOGNORMAL = Continuous(_TruncatedLognormal(2.0, 1_000.0))
PARETO = Continuous(stats.truncpareto(1.5, 1_000.0))

THOUSAND, DOWN = Bounded(0, 1_000), Bounded(-1_000, 10)

# each with one arm that has the rare event and one or two without: the event is on the better arm or on the worse
CASES: list[tuple[str, Preference, Bounded, list[Lottery]]] = [
    ("1000 at .003", PEOPLE, THOUSAND, [_with(Uniform(0, 1), 0.003, 1_000.0), Uniform(5, 6)]),
    ("1000 at .003, the worse", PEOPLE, THOUSAND, [_with(Uniform(0, 1), 0.003, 1_000.0), Uniform(40, 41)]),
    ("500 to 1000 at .002", PEOPLE, THOUSAND, [_with(Uniform(0, 1), 0.002, Uniform(500, 1_000)), Uniform(9, 11)]),
    ("100 at .0005", PEOPLE, Bounded(0, 100), [_with(Uniform(0, 1), 0.0005, 100.0), Uniform(0, 1.6)]),
    ("lognormal up to 1000", PEOPLE, THOUSAND, [LOGNORMAL, Uniform(19, 21), Uniform(9, 11)]),
    ("Pareto up to 1000", PEOPLE, THOUSAND, [PARETO, Uniform(2, 5)]),
    ("1000 at .003, by the mean", expected_value(), THOUSAND, [_with(Uniform(0, 1), 0.003, 1_000.0), Uniform(2, 3)]),
    ("-1000 at .002", PEOPLE, DOWN, [_with(Uniform(6, 7), 0.002, -1_000.0), Uniform(0, 1)]),
    ("-1000 at .002, the better", BOTH, Bounded(-1_000, 30), [_with(Uniform(25, 26), 0.002, -1_000.0), Uniform(0, 1)]),
    ("-1000 at .003, the worse", BOTH, Bounded(-1_000, 30), [_with(Uniform(25, 26), 0.003, -1_000.0), Uniform(0, 1)]),
    ("costs, lognormal up to 1000", COSTS, THOUSAND, [LOGNORMAL, Uniform(19, 21), Uniform(30, 32)]),
    ("-1000 at .002, worst 5 %", cvar(0.05), DOWN, [_with(Uniform(6, 7), 0.002, -1_000.0), Uniform(-20, 0)]),
    ("-100 at .001, 300 at .001, Prelec .65", Preference(Prelec(0.65)), Bounded(-100, 300), [
        Mixture([Uniform(-1, 1), Discrete({-100: 1.0}), Discrete({300: 1.0})], [0.998, 0.001, 0.001]), Uniform(0, 2),
    ]),
]  # fmt: skip


def _regret(policy: Policy, problem: Bandit, runs: int) -> tuple[float, float]:
    """The mean regret and its standard error."""
    results = played(policy, problem, ROUNDS, runs)
    return float(results.mean_regret[-1]), float(results.regret_error[-1])


def row(name: str, preference: Preference, rewards: Bounded, arms: list[Lottery]) -> tuple[str, ...]:
    """One line of the table."""
    problem = Bandit(arms)
    values = [preference.value(arm) for arm in arms]
    ours, error = _regret(NPTS(preference, rewards), problem, RUNS)
    others, others_error = _regret(WUCB(preference, rewards, band=KL(), exploration=1.0), problem, RUNS_OF_WUCB)
    worst = ROUNDS * (max(values) - min(values))
    return (
        name, ", ".join(f"{value:.4g}" for value in values), f"{ours:.4g}", f"{error:.2g}", f"{others:.4g}",
        f"{others_error:.2g}", f"{ours / others:.2f}", f"{ours / worst:.3f}",
    )  # fmt: skip


def optimistic_row(name: str, preference: Preference, rewards: Bounded, arms: list[Lottery]) -> tuple[str, ...]:
    """The same problem by draws that are more and more optimistic."""
    found = [_regret(NPTS(preference, rewards, optimism=draws), Bandit(arms), RUNS) for draws in OPTIMISM]
    plain = found[0][0]
    return (
        name, *(f"{regret:.4g}" for regret, _ in found), ", ".join(f"{error:.2g}" for _, error in found),
        f"{found[1][0] / plain:.2f}", f"{found[-1][0] / plain:.2f}",
    )  # fmt: skip


def run() -> str:
    beside = Table(
        f"regret at {ROUNDS:,} rounds", "values of the arms", f"NPTS, {RUNS} runs", "standard error",
        f"W-UCB, KL, log m, {RUNS_OF_WUCB} runs", "standard error", "NPTS / W-UCB", "NPTS / always the worst arm",
    )  # fmt: skip
    optimistic = Table(
        f"regret of NPTS at {ROUNDS:,} rounds, {RUNS} runs",
        *(f"optimism {draws}" for draws in OPTIMISM), "standard errors", "optimism 1 / 0", "optimism 4 / 0",
    )  # fmt: skip
    for case in CASES:
        beside.add(*row(*case))
        optimistic.add(*optimistic_row(*case))
    return f"## Rare events\n\n{beside}\n\n{optimistic}"
