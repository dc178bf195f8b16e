"""Linear regret: OFUL and W-OFUL where the preferred arm is not the best on average."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais.linear import OFUL, WOFUL, LinearBandit
from allais.linear.noise import AdditiveNoise, ArmNoise
from allais.lotteries import Discrete, Normal
from allais.paper.findings import Done, ExperimentResult, Finding, ResultTable
from allais.paper.measure import (
    below,
    but_almost_linear,
    growth,
    is_linear,
    part,
    played,
    regret_figure,
    regret_now,
    regret_table,
)
from allais.paper.problems import BETA, CLOCK, DELAYS, DISTRIBUTIONS, PEOPLE, USUAL, grid_network
from allais.preferences import expected_value
from allais.simulation import simulate

DELTA, LAMBDA = 0.05, 0.01
RARE = ArmNoise([Normal(0, 1), Discrete({1.0: 0.99, -99.0: 0.01})])
TAIL, N_ARMS, DIMENSION = Discrete({1.0: 0.9, -9.0: 0.1}), 20, 4
TWO_ARMS = LinearBandit(np.eye(2), [9.0, 11.0], RARE)


class Size(NamedTuple):
    """How much is played."""

    rounds: int
    runs: int


def run(size: Size, seed: int, done: Done) -> ExperimentResult:
    """Both policies on two problems, each told the distribution of the noise."""
    network, noise = grid_network(), ArmNoise(DISTRIBUTIONS)
    cases = {
        "two-arms": (
            "two arms, one with a rare loss of 99", TWO_ARMS, PEOPLE,
            {
                "OFUL": OFUL(RARE, delta=DELTA, beta=15.0, regularisation=LAMBDA),
                "W-OFUL": WOFUL(PEOPLE, RARE, delta=DELTA, beta=15.0, regularisation=LAMBDA),
            },
        ),
        "network": (
            "the 3x3 grid network", network, DELAYS,
            {
                "OFUL": OFUL(noise, delta=DELTA, beta=BETA, regularisation=LAMBDA, reference=USUAL, costs=True),
                "W-OFUL": WOFUL(DELAYS, noise, delta=DELTA, beta=BETA, regularisation=LAMBDA),
            },
        ),
    }  # fmt: skip
    findings, tables, figures = [], [], []
    values: list[tuple[str, ...]] = []
    for index, (key, (name, problem, people, policies)) in enumerate(cases.items()):
        results = played(policies, problem, size.rounds, size.runs, seed, people, part(done, index, len(cases)))
        theirs, ours = results["OFUL"], results["W-OFUL"]
        worth, means = problem.true_values(people), problem.true_values(CLOCK if key == "network" else expected_value())
        best, fastest = int(np.argmax(worth)), int(np.argmax(means))
        values.extend(
            (name, str(problem.arms[k]), f"{means[k]:.4g}", f"{worth[k]:.5g}") for k in sorted({best, fastest})
        )
        findings += [
            Finding(
                f"{name}: OFUL suffers linear regret", "(said about traffic)",
                f"regret grows like n^{growth(theirs):.2f}; wrong at the end in {theirs.error_rate[-1]:.0%} of runs",
                is_linear(theirs) and best != fastest, of_paper=False,
            ),
            Finding(
                f"{name}: W-OFUL has lower regret, and ends on the preferred arm", "(said about traffic)",
                f"{regret_now(ours)} against {regret_now(theirs)}, growing like n^{growth(ours):.2f}; "
                f"wrong at the end in {ours.error_rate[-1]:.0%} of runs",
                below(ours, theirs) and not is_linear(ours), why=but_almost_linear(growth(ours)), of_paper=False,
            ),
        ]  # fmt: skip
        tables.append(regret_table(f"{name}, {size.rounds:,} rounds", results))
        figures.append(
            regret_figure(f"linear-{key}", f"{name[0].upper()}{name[1:]}: mean regret, two standard errors.", results)
        )
    findings.append(_same_under_additive_noise(size, seed))
    return ExperimentResult(
        setting=(
            ("rounds and runs", f"{size.rounds:,} and {size.runs}"),
            ("confidence", f"delta = {DELTA:g}, lambda = {LAMBDA:g}; beta 15, and the length of theta on the network"),
            ("noise", "known in form, as the paper assumes, and centred; its scale is the valid sub-Gaussian one"),
        ),
        findings=tuple(findings),
        tables=(
            ResultTable(
                "The preferred arm and the best on average", ("problem", "arm", "mean gain", "distorted gain"),
                tuple(values),
            ),
            *tables,
        ),
        figures=tuple(figures),
        notes=(
            "The paper compares OFUL and W-OFUL on traffic only; under its normal noise the two hardly ever differ "
            "(see the route table). Here the noise has a tail, which is where they do.",
        ),
    )  # fmt: skip


def _same_under_additive_noise(size: Size, seed: int) -> Finding:
    """Every choice of both policies, on random arms with a noise that has a tail and does not depend on the arm."""
    rng = np.random.default_rng(seed)
    noise = AdditiveNoise(TAIL)
    problem = LinearBandit(rng.normal(size=(N_ARMS, DIMENSION)), rng.normal(size=DIMENSION), noise)
    settings: dict[str, Any] = {"delta": DELTA, "beta": float(np.linalg.norm(problem.theta))}
    rounds = size.rounds // 4
    theirs, ours = (
        simulate(
            policy, problem, rounds, size.runs, seed=seed, progress=False, checkpoints=[rounds], trace=True
        ).choices
        for policy in (OFUL(noise, **settings), WOFUL(PEOPLE, noise, **settings))
    )
    return Finding(
        "under noise that does not depend on the arm, W-OFUL chooses the same arms as OFUL", "the same sequence",
        f"{int((ours == theirs).sum()):,} of {ours.size:,} choices alike, on {N_ARMS} random arms",
        bool((ours == theirs).all()),
    )  # fmt: skip


SIZES = {"quick": Size(20_000, 20), "full": Size(100_000, 100)}
