"""How fast values are: the estimator against a sort, the normal table an entry, start-up."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np

from allais import Continuous, Normal, Preference, Prelec, TverskyKahneman
from benchmarks.tables import CLAIMS, Table
from benchmarks.timing import best_of

SAMPLES = 1_000_000
START = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"


def run() -> str:
    table = Table(*CLAIMS)
    for part in (_estimates, _normals, _one_value, _start_up):
        part(table)
    return f"## Values\n\n{table}"


def _estimates(table: Table) -> None:
    samples = np.random.default_rng(1).normal(size=SAMPLES)
    for name, preference in (
        ("TK .61", Preference(TverskyKahneman())),
        ("Prelec .65", Preference(Prelec(0.65))),
        ("full CPT", Preference.tversky_kahneman()),
    ):
        sort, whole = best_of(7, lambda: np.sort(samples), partial(preference.estimate, samples))
        ratio = whole / sort
        table.add(f"`estimate`, 10^6 samples, {name}", f"{1e3 * whole:.1f} ms", f"`np.sort` {1e3 * sort:.1f} ms",
                  f"{ratio:.2f}", "at most 3", ratio <= 3)  # fmt: skip


def _normals(table: Table) -> None:
    preference = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
    means = np.random.default_rng(2).normal(scale=5.0, size=SAMPLES)
    preference.value_of_normal(means[:1], 1.0)  # builds both tables
    (seconds,) = best_of(5, lambda: preference.value_of_normal(means, 2.0))
    each = 1e9 * seconds / SAMPLES
    table.add("`value_of_normal`, 10^6 entries", f"{each:.0f} ns each", "", "", "under 1000 ns each", each < 1000)


def _one_value(table: Table) -> None:
    from scipy import stats

    preference = Preference(TverskyKahneman())
    normal, gamma = Normal(9, 1), Continuous(stats.gamma(2.0))
    by_quadrature, scipy_distribution = best_of(20, lambda: preference.value(normal), lambda: preference.value(gamma))
    gammas = f"gamma {1e3 * scipy_distribution:.2f} ms"
    table.add("`value` by quadrature, normal", f"{1e3 * by_quadrature:.2f} ms", gammas, "", "", "")


def _start_up(table: Table) -> None:
    def started(module: str) -> float:
        seconds = subprocess.run(
            [sys.executable, "-c", START.format(module)], capture_output=True, text=True, check=True
        ).stdout
        return float(seconds)

    ours = min(started("allais") for _ in range(5))
    theirs = min(started("scipy.special") for _ in range(5))
    beside = f"`import scipy.special` {1e3 * theirs:.0f} ms"
    table.add("`import allais`", f"{1e3 * ours:.0f} ms", beside, f"{ours / theirs:.2f}", "", "")
