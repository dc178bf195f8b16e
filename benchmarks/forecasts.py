"""What `--dry-run` forecasts from pilot runs, beside what searches then used, on eight problems and six more.

Constants of the forecast were chosen on the first eight; nothing was chosen on the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from allais import (
    WLUCB,
    Bounded,
    Finite,
    PairwiseScreening,
    Preference,
    TverskyKahneman,
    best_arm,
    cvar,
    expected_value,
)
from allais._checks import FloatArray
from allais.policies import Policy
from allais.searches import Forecast, closer_forecast, forecast
from benchmarks.pools import Pool, table_of
from benchmarks.tables import Table

USED = 20  # searches that a forecast is compared with
PILOT = 20  # runs of each option
PILOTS = 5  # times that a forecast is made, from other runs
ALL = (0.0, np.inf)  # where no range is said
UNKNOWN = Forecast(np.nan, None)
FRESH = "fresh: "  # problems on which nothing was chosen


def run() -> str:
    table = Table("problem", "options", "pilot", "pilot runs in all", "forecast", "used", "ratio", "all ratios",
                  "within a factor of 2", "of all", "searches in the range")  # fmt: skip
    for name, outcomes, policy, size in _problems():
        common = bool(getattr(policy, "common_random_numbers", False))
        each = np.array([
            best_arm(policy, Pool(outcomes, 100 + seed if common else None), seed=100 + seed).samples
            for seed in range(USED)
        ])  # fmt: skip
        used = float(each.mean())
        first = 11 if name.startswith(FRESH) else 1
        seeds = range(first, first + PILOTS)
        made = [_forecast(policy, outcomes, size, np.random.default_rng(seed)) for seed in seeds]
        ratios = sorted(one.expected / used for one, _ in made)
        held = np.mean([(low <= each) & (each <= high) for low, high in (one.between or ALL for one, _ in made)])
        middle, near = ratios[PILOTS // 2], sum(0.5 <= ratio <= 2.0 for ratio in ratios)
        table.add(name, str(outcomes.shape[0]), str(size), f"{np.mean([runs for _, runs in made]):,.0f}",
                  f"{middle * used:,.0f}", f"{used:,.0f}", f"{middle:.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
                  0.5 <= middle <= 2.0, f"{near} of {PILOTS}", f"{held:.0%}")  # fmt: skip
    return (
        "## Forecasts\n\n"
        f"Forecasts of `--dry-run`, the middle one of {PILOTS} from other pilot runs, and the mean of {USED} searches. "
        "Pilot runs are those of each option and closer looks at those that may be the best (not with common random "
        "numbers). Constants of the forecast were chosen on the first eight problems and their pilot runs, and on none "
        "of the fresh ones; by how much ranges are stretched, on other pilot runs of eight of all these:"
        f"\n\n{table}"
    )


def _forecast(policy: Policy, outcomes: FloatArray, size: int, rng: np.random.Generator) -> tuple[Forecast, int]:
    """What is forecast, and from how many pilot runs."""
    if getattr(policy, "common_random_numbers", False):
        shared = outcomes[:, rng.integers(outcomes.shape[1], size=size)]
        predicted = forecast(policy, *_summed_up(policy.preference, list(shared)), shared)
        return predicted or UNKNOWN, shared.size
    pilot = [row[rng.integers(row.size, size=size)] for row in outcomes]

    def run(more: dict[int, int]) -> None:
        for arm, runs in more.items():
            row = outcomes[arm]
            pilot[arm] = np.concatenate([pilot[arm], row[rng.integers(row.size, size=runs)]])

    predicted = closer_forecast(policy, lambda: _summed_up(policy.preference, pilot), run)
    return predicted or UNKNOWN, sum(one.size for one in pilot)


def _summed_up(preference: Preference, pilot: list[FloatArray]) -> tuple[FloatArray, list[Any]]:
    values = np.array([preference.estimate(row) for row in pilot])
    return values, [np.unique(row, return_counts=True) for row in pilot]


def _screening(
    preference: Preference, tolerance: float, *, rarest: float = 0.25, common: bool = False
) -> PairwiseScreening:
    return PairwiseScreening(preference, delta=0.05, rarest=rarest, tolerance=tolerance, common_random_numbers=common)


def _problems() -> list[tuple[str, FloatArray, Policy, int]]:
    inventory, emergency = table_of("inventory")[0], table_of("emergency")[0]
    people = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=750, costs=True)
    mean, worst = expected_value(costs=True), cvar(0.1, costs=True)
    rng = np.random.default_rng(5)
    coins = (rng.random((10, 4_000)) < np.linspace(0.3, 0.8, 10)[:, None]).astype(np.float64)
    normal = rng.normal(np.linspace(0.0, 1.0, 20)[:, None], 1.0, (20, 4_000))
    return [
        ("inventory, mean", inventory, _screening(mean, 10.0), PILOT),
        ("inventory, TK", inventory, _screening(people, 10.0), PILOT),
        ("inventory, CVaR .1", inventory, _screening(worst, 20.0), PILOT),
        ("inventory, mean, common random numbers", inventory, _screening(mean, 10.0, common=True), PILOT),
        ("emergency department, mean", emergency, _screening(mean, 1.0), PILOT),
        ("20 normal distributions, mean", normal, _screening(expected_value(), 0.1), PILOT),
        ("10 coins, TK, proven", coins, WLUCB(Preference(TverskyKahneman(0.61)), Finite([0, 1]), delta=0.05,
                                              tolerance=0.05), PILOT),
        ("10 coins, mean, bounds only, proven", coins, WLUCB(expected_value(), Bounded(0, 1), delta=0.05,
                                                             tolerance=0.1), PILOT),
        *_fresh(inventory, emergency, people),
    ]  # fmt: skip


def _fresh(
    inventory: FloatArray, emergency: FloatArray, people: Preference
) -> list[tuple[str, FloatArray, Policy, int]]:
    rng, people_of_gains = np.random.default_rng(17), Preference(TverskyKahneman(0.61))
    gamma = rng.gamma(2.0, np.linspace(0.8, 1.4, 8)[:, None], (8, 4_000))
    uniform = rng.uniform(0.0, np.linspace(1.0, 1.6, 30)[:, None], (30, 4_000))
    risky = np.where(
        rng.random((12, 4_000)) < 0.05, -5.0, rng.normal(np.linspace(0.5, 1.2, 12)[:, None], 0.5, (12, 4_000))
    )
    beta = rng.beta(np.linspace(1.0, 4.0, 6)[:, None], 2.0, (6, 4_000))
    return [
        (f"{FRESH}inventory, TK, common random numbers", inventory, _screening(people, 10.0, common=True), PILOT),
        (f"{FRESH}emergency department, CVaR .1", emergency, _screening(cvar(0.1, costs=True), 2.0), PILOT),
        (f"{FRESH}8 gamma distributions, CVaR .1", gamma, _screening(cvar(0.1), 0.05), PILOT),
        (f"{FRESH}30 uniform distributions, TK", uniform, _screening(people_of_gains, 0.05), PILOT),
        (f"{FRESH}12 arms, a loss of .05, mean", risky, _screening(expected_value(), 0.1, rarest=0.05), PILOT),
        (f"{FRESH}6 beta distributions, TK, bounds only, proven", beta,
         WLUCB(people_of_gains, Bounded(0, 1), delta=0.05, tolerance=0.05), PILOT),
    ]  # fmt: skip
