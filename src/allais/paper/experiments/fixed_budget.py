"""The three-armed problem at a fixed budget: SR and W-SR."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais.paper.findings import Done, ExperimentResult, Finding, ResultTable
from allais.paper.measure import colour_of, part, played, values_figure
from allais.paper.problems import PEOPLE, THREE
from allais.paper.report import drawing
from allais.policies import SR, WSR

PRINTED = 9.304
SAMPLES = 50_000
BUDGETS = (10_000, 20_000, 30_000, 40_000, 50_000)


class Size(NamedTuple):
    """How much is played."""

    runs: int
    estimates: int


def run(size: Size, seed: int, done: Done) -> ExperimentResult:
    """Both policies at every budget."""
    rng = np.random.default_rng(seed)
    exact, first = THREE.true_values(PEOPLE), THREE.lotteries[0]
    error = float(np.std([PEOPLE.estimate(first.sample(rng, SAMPLES)) for _ in range(size.estimates)], ddof=1))
    rows: list[tuple[str, ...]] = []
    shares: dict[str, list[float]] = {"SR": [], "W-SR": []}
    found = {name: np.zeros(THREE.n_arms, dtype=np.int64) for name in shares}
    for index, budget in enumerate(BUDGETS):
        results = played(
            {"SR": SR(budget=budget), "W-SR": WSR(PEOPLE, budget=budget)}, THREE, budget, size.runs, seed, PEOPLE,
            part(done, index, len(BUDGETS)), [budget],
        )  # fmt: skip
        arms = {}
        for name, one in results.items():
            counts = np.bincount(one.recommended[:, -1], minlength=3)
            arms[name] = counts
            shares[name].append(counts[0] / size.runs)
            found[name] += counts
        rows.append((f"{budget:,}", *(" / ".join(map(str, arms[name])) for name in ("SR", "W-SR"))))
    played_in_all = size.runs * len(BUDGETS)
    with drawing("budget", "Runs that return arm 1, which people prefer.") as picture:
        for name, right in shares.items():
            picture.axes.plot(np.array(BUDGETS) / 1000, right, "o-", label=name, color=colour_of(name))
        picture.axes.set(xlabel="budget, thousands of samples", ylabel="share of runs", ylim=(-0.05, 1.05))
        picture.axes.legend(loc="center right")
    return ExperimentResult(
        setting=(("budgets", "10,000 to 50,000 samples"), ("runs", str(size.runs)), ("phases", "as in Algorithm 4")),
        findings=(
            Finding(
                "SR converges to arm 3, whose mean is the highest", "arm 3, mean 7",
                f"arm 3 in {found['SR'][2]} of {played_in_all} runs", found["SR"][2] > 0.99 * played_in_all,
            ),
            Finding(
                "W-SR converges to arm 1, whose distorted value is the highest", "arm 1",
                f"arm 1 in {found['W-SR'][0]} of {played_in_all} runs", found["W-SR"][0] > 0.99 * played_in_all,
            ),
            Finding(
                "arm 1 has the distorted value 9.304 and the mean 5", "9.304 and 5",
                f"{exact[0]:.5f} exactly and {first.mean:g}; 50,000 samples leave a standard error of {error:.3f}",
                bool(abs(PRINTED - exact[0]) < 3.0 * error), why="a Monte-Carlo estimate (erratum 21)",
            ),
            Finding("arm 3 has the distorted value 7", "7", f"{exact[2]:g}", bool(exact[2] == 7.0)),
        ),
        tables=(
            ResultTable("Runs that return arms 1 / 2 / 3", ("budget", "SR", "W-SR"), tuple(rows)),
            ResultTable(
                "Values", ("arm", "mean", "distorted"),
                tuple((str(k + 1), f"{one.mean:g}", f"{exact[k]:.5f}") for k, one in enumerate(THREE.lotteries)),
            ),
        ),
        figures=(
            picture.figure,
            values_figure(
                "budget-values", "Values of the three arms; the printed 9.304 is an estimate from 50,000 samples.",
                {f"arm {k + 1}": float(value) for k, value in enumerate(exact)}, {"arm 1": PRINTED, "arm 3": 7.0},
                "value", [distribution.mean for distribution in THREE.lotteries],
            ),
        ),
        facts={
            "SR": int(found["SR"][0]), "W-SR": int(found["W-SR"][0]), "runs": played_in_all,
        },
    )  # fmt: skip


SIZES = {"quick": Size(100, 100), "full": Size(1_000, 400)}
