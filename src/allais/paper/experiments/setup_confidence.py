"""Setup(*) at a fixed confidence: LUCB, WE-LUCB and W-LUCB."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais.bands import Holder
from allais.paper.experiments.fixed_confidence import confidence_figure, samples_of, wrong, wrongs_of
from allais.paper.findings import Done, ExperimentResult, Finding, ResultTable
from allais.paper.measure import SHARE, Stops, gap_of_means, stopped, stops
from allais.paper.problems import PEOPLE, RANGE_SETUP, SETUP
from allais.policies import LUCB, WELUCB, WLUCB
from allais.policies.core.base import Policy


class Size(NamedTuple):
    """How much is played."""

    deltas: tuple[float, ...]
    runs: int
    exact_runs: int  # of W-LUCB in every round


def run(size: Size, seed: int, done: Done) -> ExperimentResult:
    """LUCB and WE-LUCB in every round, W-LUCB in batches and a few times in every round."""
    found: dict[str, list[Stops]] = {"LUCB": [], "WE-LUCB": [], "W-LUCB": []}
    for index, delta in enumerate(size.deltas):
        for policy in (LUCB(RANGE_SETUP, delta=delta), WELUCB(PEOPLE, RANGE_SETUP, delta=delta)):
            found[policy.name].append(_played(policy, size.runs, seed))
        rng = np.random.default_rng([seed, index])
        found["W-LUCB"].append(stops(SETUP, PEOPLE, RANGE_SETUP, delta, size.runs, rng))
        done(0.6 * (index + 1) / len(size.deltas))
    exact = _played(WLUCB(PEOPLE, RANGE_SETUP, delta=size.deltas[0], band=Holder()), size.exact_runs, seed)
    batched = found["W-LUCB"][0].samples
    gap, spread = gap_of_means(batched, exact.samples)
    ours = found["W-LUCB"]
    return ExperimentResult(
        setting=(
            ("delta", ", ".join(f"{delta:g}" for delta in size.deltas)),
            ("runs", f"{size.runs}; W-LUCB in batches, and {size.exact_runs} runs in every round"),
        ),
        findings=(
            Finding(
                "W-LUCB outperforms LUCB and WE-LUCB", "fewer wrong answers",
                f"{wrongs_of(ours[0])} wrong, and {wrongs_of(found['LUCB'][0])} and {wrongs_of(found['WE-LUCB'][0])}",
                all(
                    wrong(one) <= delta < min(wrong(found["LUCB"][k]), wrong(found["WE-LUCB"][k]))
                    for k, (delta, one) in enumerate(zip(size.deltas, ours, strict=True))
                ),
                why=f"at a price: {samples_of(ours[0])} samples against {samples_of(found['LUCB'][0])} of LUCB",
            ),
            Finding(
                "batches change the number of samples by their own size only", "(a check of this page)",
                f"{gap:+.1%} ± {spread:.1%} against {size.exact_runs} runs in every round",
                abs(gap) < SHARE + 5.0 * spread, of_paper=False,
            ),
        ),
        tables=(
            ResultTable(
                "Samples and errors", ("policy", "delta", "samples", "share of wrong answers"),
                tuple(
                    (kind, f"{delta:g}", samples_of(one), wrongs_of(one))
                    for kind, stopped in found.items()
                    for delta, one in zip(size.deltas, stopped, strict=True)
                ),
            ),
        ),
        figures=(
            confidence_figure(
                "setup-confidence", "Setup(*): wrong answers against samples; crosses are the deltas asked for.",
                size.deltas, found,
            ),
        ),
    )  # fmt: skip


def _played(policy: Policy, runs: int, seed: int) -> Stops:
    results = stopped(policy, SETUP, runs, seed, PEOPLE)
    return Stops(results.samples, results.recommended[:, -1])


SIZES = {"quick": Size((0.1, 0.05, 0.01), 100, 2), "full": Size((0.2, 0.1, 0.05, 0.02, 0.01), 100, 20)}
