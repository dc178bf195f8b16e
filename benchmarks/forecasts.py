"""What `--dry-run` forecasts from pilot runs, beside what searches then used, on eight problems."""

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
from allais.report.tables import markdown_table
from allais.searches import forecast
from allais.searches.tryouts import closer_look
from benchmarks.pools import Pool, table_of

USED = 5  # searches that a forecast is compared with
PILOT = 20  # runs of each option


def table() -> str:
    rows = []
    for name, outcomes, policy, size in _problems():
        rng = np.random.default_rng(1)
        common = bool(getattr(policy, "common_random_numbers", False))
        columns = rng.integers(outcomes.shape[1], size=size)
        pilot = [row[columns if common else rng.integers(row.size, size=size)] for row in outcomes]
        if not common:  # as `--dry-run` does
            values, seen = _summed_up(policy.preference, pilot)
            for arm, more in closer_look(policy.preference, values, seen, size * len(pilot)).items():
                row = outcomes[arm]
                pilot[arm] = np.concatenate([pilot[arm], row[rng.integers(row.size, size=more)]])
        values, seen = _summed_up(policy.preference, pilot)
        predicted = forecast(policy, values, seen, np.array(pilot) if common else None)
        used = [
            best_arm(policy, Pool(outcomes, 100 + seed if common else None), seed=100 + seed).samples
            for seed in range(USED)
        ]
        if predicted is None:
            rows.append((name, str(outcomes.shape[0]), str(size), "none", "", f"{np.mean(used):,.0f}", "", "NO"))
            continue
        ratio = float(predicted.expected / np.mean(used))
        low, high = predicted.between or (np.nan, np.nan)
        between = f"{low:,.0f} to {high:,.0f}"
        rows.append((name, str(outcomes.shape[0]), str(size), f"{predicted.expected:,.0f}", between,
                     f"{np.mean(used):,.0f}", f"{ratio:.2f}", "yes" if 0.5 <= ratio <= 2.0 else "NO"))  # fmt: skip
    header = ("problem", "options", "pilot", "forecast", "range", "used", "ratio", "within a factor of 2")
    return (
        "Forecasts of `--dry-run`, from pilot runs of each option and as many again of those that may be the best (not "
        f"with common random numbers), and the mean of {USED} searches with other seeds. The worst tenth of "
        f"{PILOT} runs are two, which is too few:\n\n{markdown_table(header, rows)}"
    )


def _summed_up(preference: Preference, pilot: list[FloatArray]) -> tuple[FloatArray, list[Any]]:
    values = np.array([preference.estimate(row) for row in pilot])
    return values, [np.unique(row, return_counts=True) for row in pilot]


def _problems() -> list[tuple[str, FloatArray, Policy, int]]:
    inventory, emergency = table_of("inventory")[0], table_of("emergency")[0]
    people = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=750, costs=True)
    mean, worst = expected_value(costs=True), cvar(0.1, costs=True)

    def screening(preference: Preference, tolerance: float, common: bool = False) -> Policy:
        return PairwiseScreening(preference, delta=0.05, rarest=0.25, tolerance=tolerance, common_random_numbers=common)

    rng = np.random.default_rng(5)
    coins = (rng.random((10, 4_000)) < np.linspace(0.3, 0.8, 10)[:, None]).astype(np.float64)
    normal = rng.normal(np.linspace(0.0, 1.0, 20)[:, None], 1.0, (20, 4_000))
    return [
        ("inventory, mean", inventory, screening(mean, 10.0), PILOT),
        ("inventory, TK", inventory, screening(people, 10.0), PILOT),
        ("inventory, CVaR .1", inventory, screening(worst, 20.0), 5 * PILOT),
        ("inventory, CVaR .1, from few", inventory, screening(worst, 20.0), PILOT),
        ("inventory, mean, common random numbers", inventory, screening(mean, 10.0, common=True), PILOT),
        ("emergency department, mean", emergency, screening(mean, 1.0), PILOT),
        ("20 normal laws, mean", normal, screening(expected_value(), 0.1), PILOT),
        ("10 coins, TK, proven", coins, WLUCB(Preference(TverskyKahneman(0.61)), Finite([0, 1]), delta=0.05,
                                              tolerance=0.05), PILOT),
        ("10 coins, mean, bounds only, proven", coins, WLUCB(expected_value(), Bounded(0, 1), delta=0.05,
                                                             tolerance=0.1), PILOT),
    ]  # fmt: skip
