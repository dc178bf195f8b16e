"""Setup(*): the value table, and the regret of UCB, WE-UCB and W-UCB."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais.paper.findings import Done, ExperimentResult, Finding, ResultTable
from allais.paper.measure import (
    LOGARITHMIC,
    below,
    growth,
    is_linear,
    played,
    regret_figure,
    regret_now,
    regret_table,
    values_figure,
)
from allais.paper.problems import PEOPLE, RANGE_SETUP, SETUP
from allais.policies import UCB1, WEUCB, WUCB

PRINTED = (0.2005, 0.1327)
SAMPLES = 50_000  # of the paper's estimates in Appendix E; for these it says "a very large number"


class Size(NamedTuple):
    """How much is played."""

    rounds: int
    runs: int
    estimates: int  # repetitions of Algorithm 1, for its standard error


def run(size: Size, seed: int, done: Done) -> ExperimentResult:
    """Exact values, estimates as the paper made them, and regret."""
    rng = np.random.default_rng(seed)
    exact = SETUP.true_values(PEOPLE)
    errors = [
        float(np.std([PEOPLE.estimate(distribution.sample(rng, SAMPLES)) for _ in range(size.estimates)], ddof=1))
        for distribution in SETUP.lotteries
    ]
    done(0.2)
    policies = {
        "UCB": UCB1(RANGE_SETUP),
        "WE-UCB": WEUCB(PEOPLE, RANGE_SETUP),
        "W-UCB": WUCB.as_printed(PEOPLE, RANGE_SETUP),
    }
    results = played(
        policies, SETUP, size.rounds, size.runs, seed, PEOPLE, lambda share: done(0.2 + 0.8 * share)
    )  # fmt: skip
    ours = results["W-UCB"]
    findings = [
        Finding(
            f"arm {k + 1} has the distorted value {PRINTED[k]}", f"{PRINTED[k]}",
            f"{exact[k]:.6f} exactly; 50,000 samples leave a standard error of {errors[k]:.4f}",
            bool(abs(PRINTED[k] - exact[k]) < 3.0 * errors[k]),
            why="a Monte-Carlo estimate (erratum 22), taken to be from 50,000 samples",
        )
        for k in range(2)
    ]  # fmt: skip
    findings.append(
        Finding(
            "the mean prefers arm 2, people arm 1", "0.12 and 0.161; 0.2005 and 0.1327",
            " and ".join(f"{lottery.mean:g}" for lottery in SETUP.lotteries) + f"; {exact[0]:.4f} and {exact[1]:.4f}",
            bool(SETUP.lotteries[1].mean > SETUP.lotteries[0].mean and exact[0] > exact[1]),
        )
    )  # fmt: skip
    for name in ("UCB", "WE-UCB"):
        exponent = growth(results[name])
        findings.append(
            Finding(
                f"{name} has linear regret", "linear", f"regret grows like n^{exponent:.2f}", is_linear(results[name])
            )
        )
    findings.append(
        Finding(
            "W-UCB outperforms both", "lower",
            f"{regret_now(ours)} against {regret_now(results['UCB'])} and {regret_now(results['WE-UCB'])}",
            below(ours, results["UCB"]) and below(ours, results["WE-UCB"]),
        )
    )  # fmt: skip
    findings.append(
        Finding(
            "W-UCB's regret is logarithmic within the horizon", "logarithmic",
            f"regret grows like n^{growth(ours):.2f} in the last decade", growth(ours) < LOGARITHMIC, 29,
            "it is for n to infinity, as Theorem 2 says; the constant of the bound is so large that 10^4 rounds show "
            "little of it",
        )
    )  # fmt: skip
    return ExperimentResult(
        setting=(
            ("rounds and runs", f"{size.rounds:,} and {size.runs:,}; the paper: 10,000 and 100"),
            ("WE-UCB", "w(empirical mean) in place of the distorted estimate"),
        ),
        findings=tuple(findings),
        tables=(
            ResultTable(
                "Values of Setup(*)",
                ("arm", "mean", "distorted, exact", "printed", "standard error of 50,000 samples"),
                tuple(
                    (str(k + 1), f"{distribution.mean:g}", f"{exact[k]:.6f}", f"{PRINTED[k]}", f"{errors[k]:.4f}")
                    for k, distribution in enumerate(SETUP.lotteries)
                ),
            ),
            regret_table(f"Setup(*), {size.rounds:,} rounds", results),
        ),
        figures=(
            regret_figure("setup-regret", "Setup(*): mean regret, two standard errors.", results),
            values_figure(
                "setup-values", "Setup(*): the printed values are estimates, to the second digit right.",
                {f"arm {k + 1}": float(value) for k, value in enumerate(exact)},
                {f"arm {k + 1}": value for k, value in enumerate(PRINTED)}, "value",
                [distribution.mean for distribution in SETUP.lotteries],
            ),
        ),
    )  # fmt: skip


SIZES = {"quick": Size(10_000, 100, 100), "full": Size(10_000, 1_000, 400)}
