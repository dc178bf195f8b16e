"""The paper's problems again, with the policies that need far fewer samples."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from allais import theory
from allais.linear import WG, LinearBandit, LinGapE
from allais.linear.noise import ArmNoise, Noise, ParameterNoise
from allais.paper.experiments import Done, ExperimentResult, Finding, ResultTable, Size
from allais.paper.measure import (
    ABOUT_THE_LIMIT,
    below,
    gap_of_means,
    mean_of,
    played,
    regret_figure,
    regret_now,
    stopped,
    stops,
)
from allais.paper.problems import (
    BETA,
    COSTS,
    DELAYS,
    DISTRIBUTIONS,
    PEOPLE,
    PROBLEM_A,
    PROBLEM_B,
    RANGE_A,
    RANGE_B,
    RANGE_SETUP,
    RANGE_THREE,
    SETUP,
    THREE,
    grid_network,
)
from allais.policies import NPTS, WLUCB, WUCB, TopTwo
from allais.preferences import Preference
from allais.problems import Bandit
from allais.rewards import Bounded, Finite
from allais.simulation import Results

DELTA = 0.05
NEAR = np.vstack([np.eye(5), [np.cos(0.3), np.sin(0.3), 0, 0, 0]])
FIVE_AXES = LinearBandit(NEAR, [2.0, 0, 0, 0, 0], ParameterNoise())


def run_sharper(size: Size, seed: int, done: Done) -> ExperimentResult:
    """Regret, samples at a confidence, and samples of linear policies; the paper's beside ours."""
    regret_rows, regrets, setup = _regret(size, seed, lambda share: done(0.5 * share))
    sample_rows, savings, errors = _samples(size, seed, lambda share: done(0.5 + 0.3 * share))
    linear_rows, linear = _linear(size, seed, lambda share: done(0.8 + 0.2 * share))
    slope = theory.regret_slope(PEOPLE, SETUP.lotteries)
    return ExperimentResult(
        setting=(
            ("regret", f"{size.rounds:,} rounds, {size.runs} runs; rewards known to be bounded"),
            ("samples", f"delta = {DELTA:g}; {size.runs} runs; the paper's W-LUCB in batches"),
            ("linear", f"delta = {DELTA:g} and 0.01 on the network; {size.linear_runs} runs"),
        ),
        findings=(
            Finding(
                "NPTS has lower regret than W-UCB on every problem", "(beyond the paper)",
                "; ".join(f"{name}: {one.ratio:.3f}" for name, one in regrets.items()),
                all(one.ahead for one in regrets.values()), of_paper=False,
            ),
            Finding(
                "W-LUCB with the KL band needs a ten-thousandth of the samples where the values are known, "
                "and at most a thousandth where bounds are", "(beyond the paper)",
                "; ".join(f"{name}: 1 / {saving:,.0f}" for name, saving in savings.items()),
                all(saving >= (1e4 if "values" in name else 1e3) for name, saving in savings.items()), of_paper=False,
            ),
            Finding(
                "W-LUCB and top-two err no more often than delta", "(beyond the paper)",
                f"{sum(errors)} of {size.runs * len(errors):,} runs wrong", max(errors) <= DELTA * size.runs,
                of_paper=False,
            ),
            Finding(
                "LinGapE needs fewer samples than W-G", "(beyond the paper)",
                "; ".join(f"{name}: 1 / {one.ratio:,.0f}" for name, one in linear.items()),
                all(one.ahead for one in linear.values()), of_paper=False,
            ),
        ),
        tables=(
            ResultTable("Regret", ("problem", "W-UCB, the paper's", "NPTS", "ratio", "limit, per log n"), regret_rows),
            ResultTable(
                "Samples to settle", ("problem", "known", "W-LUCB, the paper's", "W-LUCB, KL", "top-two", "limit"),
                sample_rows,
            ),
            ResultTable("Samples to settle, linear", ("problem", "W-G, the paper's stop", "W-G, exact", "LinGapE"),
                  linear_rows),
        ),
        figures=(
            regret_figure(
                "sharper-regret", f"Setup(*): mean regret on logarithmic axes. {ABOUT_THE_LIMIT}.",
                setup, slope, log=True,
            ),
        ),
        notes=(
            "The limit of regret is the asymptotic slope per log n of any consistent policy; the limit of samples, "
            "T* log(1/(2.4 delta)), is that of policies which know the values and err with probability delta.",
        ),
    )  # fmt: skip


Rows = tuple[tuple[str, ...], ...]


class Lead(NamedTuple):
    """How two policies compare on a problem."""

    ratio: float
    ahead: bool  # by five standard errors


def _regret(size: Size, seed: int, done: Done) -> tuple[Rows, dict[str, Lead], dict[str, Results]]:
    cases = (
        ("(a)", PROBLEM_A, COSTS, RANGE_A),
        ("(b)", PROBLEM_B, COSTS, RANGE_B),
        ("Setup(*)", SETUP, PEOPLE, RANGE_SETUP),
        ("three arms", THREE, PEOPLE, RANGE_THREE),
    )
    rows = []
    leads: dict[str, Lead] = {}
    setup: dict[str, Results] = {}
    for index, (name, problem, people, rewards) in enumerate(cases):
        policies = {"W-UCB": WUCB.as_printed(people, rewards), "NPTS": NPTS(people, rewards)}
        results = played(policies, problem, size.rounds, size.runs, seed, people)
        papers, ours = results["W-UCB"], results["NPTS"]
        leads[name] = Lead(float(ours.mean_regret[-1] / papers.mean_regret[-1]), below(ours, papers))
        slope = theory.regret_slope(people, problem.lotteries)
        rows.append((name, regret_now(papers), regret_now(ours), f"{leads[name].ratio:.3f}", f"{slope:.4g}"))
        if problem is SETUP:
            setup = results
        done((index + 1) / len(cases))
    return tuple(rows), leads, setup


def _samples(size: Size, seed: int, done: Done) -> tuple[Rows, dict[str, float], list[int]]:
    cases: tuple[tuple[str, str, Bandit, Finite | Bounded, Bounded], ...] = (
        ("three arms", "values", THREE, Finite([0, 7, 30, 50]), RANGE_THREE),
        ("three arms", "bounds", THREE, RANGE_THREE, RANGE_THREE),
        ("Setup(*)", "values", SETUP, Finite([0, 0.2, 1]), RANGE_SETUP),
        ("Setup(*)", "bounds", SETUP, RANGE_SETUP, RANGE_SETUP),
    )
    limits = {name: _limit(problem, values) for name, _, problem, values, _ in cases if isinstance(values, Finite)}
    rows: list[tuple[str, ...]] = []
    savings: dict[str, float] = {}
    errors: list[int] = []  # wrong answers, by problem and policy
    for index, (name, known, problem, rewards, span) in enumerate(cases):
        papers = stops(problem, PEOPLE, span, DELTA, size.runs, np.random.default_rng(seed)).samples
        needed, cells = [], [mean_of(papers)]
        for policy in (WLUCB(PEOPLE, rewards, delta=DELTA), TopTwo(PEOPLE, rewards, delta=DELTA)):
            results = stopped(policy, problem, size.runs, seed)
            needed.append(float(results.samples.mean()))
            errors.append(round(results.error_rate[-1] * size.runs))
            cells.append(mean_of(results.samples))
        rows.append((name, known, *cells, f"{limits[name]:,.0f}" if known == "values" else ""))
        savings[f"{name}, {known} known"] = float(papers.mean()) / needed[0]
        done((index + 1) / len(cases))
    return tuple(rows), savings, errors


def _linear(size: Size, seed: int, done: Done) -> tuple[Rows, dict[str, Lead]]:
    noise, parameter = ArmNoise(DISTRIBUTIONS), ParameterNoise()
    cases: tuple[tuple[str, LinearBandit, Preference, Noise, dict[str, float]], ...] = (
        ("five axes and one near", FIVE_AXES, PEOPLE, parameter, {"delta": DELTA, "beta": 2.0}),
        ("3x3 grid network", grid_network(), DELAYS, noise, {"delta": 0.01, "beta": BETA, "regularisation": 0.01}),
    )
    rows: list[tuple[str, ...]] = []
    leads: dict[str, Lead] = {}
    for index, (name, problem, people, distribution, settings) in enumerate(cases):
        makers: tuple[Any, ...] = (WG.as_printed, WG, LinGapE)
        policies = [make(people, distribution, **settings) for make in makers]
        samples = [stopped(policy, problem, size.linear_runs, seed).samples for policy in policies]
        rows.append((name, *(mean_of(one) for one in samples)))
        gap, spread = gap_of_means(samples[0], samples[2])
        leads[name] = Lead(1.0 + gap, math.log1p(gap) > 5.0 * spread)  # the relative error is that of the logarithm
        done((index + 1) / len(cases))
    return tuple(rows), leads


def _limit(problem: Bandit, known: Finite) -> float:
    """The samples that no policy which errs with probability delta stays below."""
    return theory.characteristic_time(PEOPLE, problem.lotteries, known.values).time * math.log(1.0 / (2.4 * DELTA))
