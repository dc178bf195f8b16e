"""Theory beside measurement: upper and lower bounds, and what policies did."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from allais import theory
from allais.linear import WG, WOFUL, LinearBandit
from allais.linear.noise import ParameterNoise
from allais.lotteries import Bernoulli
from allais.paper.batched import stops
from allais.paper.corollaries import gap_independent
from allais.paper.drawing import BLUE, GREY, drawing
from allais.paper.findings import Done, ExperimentResult, Finding, ResultTable
from allais.paper.measure import ABOUT_THE_LIMIT, draw_slope, mean_of, share_of, stopped
from allais.paper.problems import (
    COSTS,
    PEOPLE,
    PROBLEM_A,
    RANGE_A,
    RANGE_SETUP,
    RANGE_THREE,
    SETUP,
    THREE,
    WEIGHT,
    printed_statements,
)
from allais.policies import WSR, WUCB
from allais.preferences import expected_value
from allais.problems import Bandit
from allais.report.markup import with_error
from allais.simulation import Results, simulate
from allais.weights import HolderPair

DELTA = 0.05
BUDGET = 200
AXES = LinearBandit(np.eye(3), [1.0, 0.5, 0.0], ParameterNoise())


class Size(NamedTuple):
    """How much is played."""

    rounds: int
    runs: int


def run(size: Size, seed: int, done: Done) -> ExperimentResult:
    """One row per theorem."""
    rows: list[tuple[str, ...]] = []
    kept: list[bool] = []

    def row(
        theorem: str, case: str, lower: float | None, measured: str, value: float, upper: float, most: float = math.inf
    ) -> None:
        """A row; a bound of `most` or more says nothing, and is not counted."""
        within = (lower is None or lower <= value) and value <= upper
        if upper < most:
            kept.append(within)
        shown = "" if lower is None else f"{lower:,.4g}"
        verdict = ("yes" if within else "NO") if upper < most else "says nothing"
        rows.append((theorem, case, shown, measured, f"{upper:,.4g}", verdict))

    settings: dict[str, Any] = {"seed": seed, "progress": False}
    curve: Results | None = None
    for case, problem, people, rewards in (
        ("(a)", PROBLEM_A, COSTS, RANGE_A),
        ("Setup(*)", SETUP, PEOPLE, RANGE_SETUP),
    ):
        curve = simulate(WUCB.as_printed(people, rewards), problem, size.rounds, size.runs, **settings)
        bound = float(theory.wucb_regret(people, rewards, curve.values, size.rounds))  # type: ignore[arg-type]
        mean, error = float(curve.mean_regret[-1]), float(curve.regret_error[-1])
        row("2: regret of W-UCB", case, None, with_error(mean, error), mean, bound)
    done(0.3)
    rng = np.random.default_rng(seed)
    for case, problem, rewards in (("three arms", THREE, RANGE_THREE), ("Setup(*)", SETUP, RANGE_SETUP)):
        needed = stops(problem, PEOPLE, rewards, DELTA, size.runs, rng).samples
        values = problem.true_values(PEOPLE)
        limit = theory.characteristic_time(PEOPLE, problem.lotteries).time * math.log(1.0 / (2.4 * DELTA))
        mean = float(needed.mean())
        most = float(theory.wlucb_samples(PEOPLE, rewards, values, DELTA))
        row("5: samples of W-LUCB; limit of any", case, limit, mean_of(needed), mean, most)
    done(0.6)
    holder = WEIGHT.holder
    assert holder is not None  # Tversky and Kahneman's has one
    mean_of_coins = expected_value()
    coins = Bandit([Bernoulli(0.6), Bernoulli(0.4)])
    for case, problem, people, pair, span in (
        ("three arms", THREE, PEOPLE, holder, RANGE_THREE.high),
        ("coins .6 and .4, the mean", coins, mean_of_coins, HolderPair(1.0, 1.0), 1.0),
    ):
        played = simulate(WSR(people, budget=BUDGET), problem, BUDGET, 10 * size.runs, checkpoints=[BUDGET], **settings)
        hits = round(played.error_rate[-1] * 10 * size.runs)
        most = float(theory.wsr_error(pair, problem.true_values(people), span=span, budget=BUDGET))
        wrong = hits / (10 * size.runs)
        row(f"7: errors of W-SR at {BUDGET} samples", case, None, share_of(hits, 10 * size.runs), wrong, most, most=1.0)
    done(0.7)
    linear = simulate(
        WOFUL(PEOPLE, ParameterNoise(), delta=DELTA, beta=1.2),
        AXES,
        size.rounds,
        size.runs,
        checkpoints=[size.rounds],
        **settings,
    )
    mean, error = float(linear.mean_regret[-1]), float(linear.regret_error[-1])
    most = float(theory.woful_regret(PEOPLE, dimension=3, n_rounds=size.rounds, delta=DELTA, beta=1.2))
    row("10: regret of W-OFUL", "three axes", None, with_error(mean, error), mean, most)
    done(0.8)
    samples = stopped(
        WG(PEOPLE, ParameterNoise(), delta=DELTA, beta=1.2, stopping="paper"), AXES, size.runs // 5, seed
    ).samples
    most = theory.wg_samples(PEOPLE, AXES.true_values(PEOPLE), dimension=3, delta=DELTA, beta=1.2)
    row("11: samples of W-G", "three axes", None, mean_of(samples), float(samples.mean()), most)
    done(0.85)
    corollaries, spread = gap_independent(max(size.runs // 2, 10), seed)
    assert curve is not None
    assert curve.bound is not None
    with drawing("bounds", f"Setup(*): the regret of W-UCB, and the bound of Theorem 2. {ABOUT_THE_LIMIT}.") as pic:
        axes = pic.axes
        axes.plot(curve.checkpoints, curve.bound, "--", color=GREY, label="bound, Theorem 2")
        axes.plot(curve.checkpoints, curve.mean_regret, color=BLUE, label="W-UCB")
        draw_slope(axes, curve, theory.regret_slope(PEOPLE, SETUP.lotteries))
        axes.set(xscale="log", yscale="log", xlabel="rounds", ylabel="regret", ylim=(0.1, None))
        axes.legend()
    return ExperimentResult(
        setting=(("rounds and runs", f"{size.rounds:,} and {size.runs}"), ("delta", f"{DELTA:g}")),
        findings=(
            Finding(
                "with corrected constants, every upper bound lies above what was measured, every lower one below",
                "theorems 2, 5, 7, 10, 11", f"{sum(kept)} of {len(kept)} bounds that say something", all(kept),
                of_paper=False,
            ),
            *corollaries,
            *printed_statements(),
        ),
        tables=(
            ResultTable(
                "Bounds", ("theorem", "problem", "at least", "measured", "at most", "within"), tuple(rows),
            ),
        ),
        figures=(pic.figure, spread),
        notes=(
            "The upper bounds are far above: they pay for the worst weight of a Hölder class and for a union over all "
            "rounds. The least number of samples, T* log(1/(2.4 delta)), is that of any policy which errs with "
            "probability delta and knows which values each arm can take. Regret has no such least number at a given n, "
            "only a slope for n to infinity, which the figure shows.",
        ),
    )  # fmt: skip


SIZES = {"quick": Size(20_000, 50), "full": Size(100_000, 100)}
