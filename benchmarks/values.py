"""How fast values are: the estimator against a sort, the normal table an entry, start-up."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from allais import Continuous, Normal, Preference, Prelec, TverskyKahneman
from allais.report.markup import markdown_table
from benchmarks.timing import best_of

SAMPLES = 1_000_000
START = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"


def run() -> str:
    rows = [*_estimates(), *_normals(), _one_value(), _start_up()]
    header = ("what", "time", "compared with", "ratio", "claim", "holds")
    return "## Values\n\n" + markdown_table(header, rows)


def _estimates() -> list[tuple[str, ...]]:
    samples = np.random.default_rng(1).normal(size=SAMPLES)
    rows: list[tuple[str, ...]] = []
    for name, preference in (
        ("TK .61", Preference(TverskyKahneman())),
        ("Prelec .65", Preference(Prelec(0.65))),
        ("full CPT", Preference.tversky_kahneman()),
    ):

        def estimate(preference: Preference = preference) -> float:
            return preference.estimate(samples)

        sort, whole = best_of(7, lambda: np.sort(samples), estimate)
        ratio = whole / sort
        rows.append(
            (
                f"`estimate`, 10^6 samples, {name}",
                f"{1e3 * whole:.1f} ms",
                f"`np.sort` {1e3 * sort:.1f} ms",
                f"{ratio:.2f}",
                "at most 3",
                "yes" if ratio <= 3 else "NO",
            )
        )
    return rows


def _normals() -> list[tuple[str, ...]]:
    preference = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
    means = np.random.default_rng(2).normal(scale=5.0, size=SAMPLES)
    preference.value_of_normal(means[:1], 1.0)  # builds both tables
    (seconds,) = best_of(5, lambda: preference.value_of_normal(means, 2.0))
    each = 1e9 * seconds / SAMPLES
    verdict = "yes" if each < 1000 else "NO"
    return [("`value_of_normal`, 10^6 entries", f"{each:.0f} ns each", "", "", "under 1000 ns each", verdict)]


def _one_value() -> tuple[str, ...]:
    from scipy import stats

    preference = Preference(TverskyKahneman())
    normal, gamma = Normal(9, 1), Continuous(stats.gamma(2.0))
    by_quadrature, scipy_distribution = best_of(20, lambda: preference.value(normal), lambda: preference.value(gamma))
    return (
        "`value` by quadrature, normal",
        f"{1e3 * by_quadrature:.2f} ms",
        f"gamma {1e3 * scipy_distribution:.2f} ms",
        "",
        "",
        "",
    )


def _start_up() -> tuple[str, ...]:
    def started(module: str) -> float:
        seconds = subprocess.run(
            [sys.executable, "-c", START.format(module)], capture_output=True, text=True, check=True
        ).stdout
        return float(seconds)

    ours = min(started("allais") for _ in range(5))
    theirs = min(started("scipy.special") for _ in range(5))
    return (
        "`import allais`",
        f"{1e3 * ours:.0f} ms",
        f"`import scipy.special` {1e3 * theirs:.0f} ms",
        f"{ours / theirs:.2f}",
        "",
        "",
    )
