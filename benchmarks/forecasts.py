"""What `--dry-run` forecasts from pilot runs, beside what searches then used, on eight problems."""

from __future__ import annotations

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
from benchmarks.pools import Pool, table_of

USED = 5  # searches that a forecast is compared with
PILOT = 20  # runs of each option


def table() -> str:
    rows = []
    for name, outcomes, policy in _problems():
        rng = np.random.default_rng(1)
        columns = rng.integers(outcomes.shape[1], size=PILOT)
        common = bool(getattr(policy, "common_random_numbers", False))
        pilot = np.array([row[columns if common else rng.integers(row.size, size=PILOT)] for row in outcomes])
        values = np.array([policy.preference.estimate(row) for row in pilot])
        seen = [np.unique(row, return_counts=True) for row in pilot]
        predicted = forecast(policy, values, seen, pilot if common else None)
        used = [
            best_arm(policy, Pool(outcomes, 100 + seed if common else None), seed=100 + seed).samples
            for seed in range(USED)
        ]
        if predicted is None:
            rows.append((name, str(outcomes.shape[0]), "none", "", f"{np.mean(used):,.0f}", "", "NO"))
            continue
        ratio = float(predicted.expected / np.mean(used))
        low, high = predicted.between or (np.nan, np.nan)
        rows.append((name, str(outcomes.shape[0]), f"{predicted.expected:,.0f}", f"{low:,.0f} to {high:,.0f}",
                     f"{np.mean(used):,.0f}", f"{ratio:.2f}", "yes" if 0.5 <= ratio <= 2.0 else "NO"))  # fmt: skip
    header = ("problem", "options", "forecast", "range", "used", "ratio", "within a factor of 2")
    return (
        f"Forecasts of `--dry-run`, from {PILOT} pilot runs of each option, and the mean of {USED} searches with other "
        f"seeds:\n\n{markdown_table(header, rows)}"
    )


def _problems() -> list[tuple[str, FloatArray, Policy]]:
    inventory, emergency = table_of("inventory")[0], table_of("emergency")[0]
    people = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=750, costs=True)
    mean, worst = expected_value(costs=True), cvar(0.1, costs=True)

    def screening(preference: Preference, tolerance: float, common: bool = False) -> Policy:
        return PairwiseScreening(preference, delta=0.05, rarest=0.25, tolerance=tolerance, common_random_numbers=common)

    rng = np.random.default_rng(5)
    coins = (rng.random((10, 4_000)) < np.linspace(0.3, 0.8, 10)[:, None]).astype(np.float64)
    normal = rng.normal(np.linspace(0.0, 1.0, 20)[:, None], 1.0, (20, 4_000))
    return [
        ("inventory, mean", inventory, screening(mean, 10.0)),
        ("inventory, TK", inventory, screening(people, 10.0)),
        ("inventory, CVaR .1", inventory, screening(worst, 20.0)),
        ("inventory, mean, common random numbers", inventory, screening(mean, 10.0, common=True)),
        ("emergency department, mean", emergency, screening(mean, 1.0)),
        ("20 normal laws, mean", normal, screening(expected_value(), 0.1)),
        ("10 coins, TK, proven", coins, WLUCB(Preference(TverskyKahneman(0.61)), Finite([0, 1]), delta=0.05,
                                              tolerance=0.05)),
        ("10 coins, mean, bounds only, proven", coins, WLUCB(expected_value(), Bounded(0, 1), delta=0.05,
                                                             tolerance=0.1)),
    ]  # fmt: skip
