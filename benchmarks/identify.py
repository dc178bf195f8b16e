"""The best arm: top-two beside W-LUCB, rejections beside uniform sampling, where outcomes are ordinary and rare."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from allais import (
    WLUCB,
    WSR,
    Bandit,
    Bernoulli,
    Bounded,
    Continuous,
    Discrete,
    Finite,
    Lottery,
    Mixture,
    Normal,
    PatientRejects,
    PatientTopTwo,
    Preference,
    SequentialHalving,
    TopTwo,
    TverskyKahneman,
    Uniform,
)
from allais.bands import Betting
from allais.paper.problems import SETUP, THREE
from allais.policies import Policy, UniformSampling
from benchmarks.playing import own_values, played
from benchmarks.tables import Table, error_of, with_error

BOTH = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
DELTA = 0.05


def run() -> str:
    return f"## The best arm\n\n{_confidence()}\n\n{by_bets()}\n\n{_errors()}\n\n{_budgets()}"


# -- at a confidence --------------------------------------------------------------------------------


def twenty_coins() -> Bandit:
    """One good coin among twenty."""
    return Bandit([Bernoulli(0.9), *(Bernoulli(float(p)) for p in np.linspace(0.1, 0.6, 19))])


def twenty_lotteries(seed: int) -> Bandit:
    """Twenty random lotteries of three values."""
    rng = np.random.default_rng(seed)
    rows = [rng.dirichlet(np.ones(3)).tolist() for _ in range(20)]
    return Bandit([Discrete(dict(zip((0.0, 1.0, 3.0), row, strict=True))) for row in rows])


def rare_disaster() -> Bandit:
    """The best arm loses much once in a hundred times."""
    return Bandit([Discrete({10: 0.99, -100: 0.01}), Discrete({4: 0.9, 0: 0.1}), Discrete({3: 1.0})])


def rare_jackpot() -> Bandit:
    """The best arm wins much once in a hundred times."""
    return Bandit([Discrete({200: 0.01, 0: 0.99}), Discrete({10: 0.5, 0: 0.5}), Discrete({3: 1.0})])


def _all(problem: Bandit) -> Finite:
    return Finite(np.concatenate([known.values for known in own_values(problem)]))


def _cases() -> list[tuple[str, Bandit, Any, int]]:
    """Problems, what is known about their rewards, and how often they are run."""
    coins, disaster, jackpot = twenty_coins(), rare_disaster(), rare_jackpot()
    return [
        ("three-armed, each arm's values known", THREE, own_values(THREE), 100),
        ("three-armed, values known", THREE, _all(THREE), 50),
        ("three-armed, bounds known", THREE, Bounded(0, 50), 10),
        ("Setup(*), values known", SETUP, _all(SETUP), 100),
        ("Setup(*), bounds known", SETUP, Bounded(0, 1), 20),
        ("20 coins, values known", coins, Finite([0, 1]), 100),
        ("20 coins, bounds known", coins, Bounded(0, 1), 10),
        ("20 lotteries, values known", twenty_lotteries(0), Finite([0, 1, 3]), 20),
        ("20 other lotteries, values known", twenty_lotteries(3), Finite([0, 1, 3]), 20),
        ("rare disaster, each arm's values known", disaster, own_values(disaster), 400),
        ("rare disaster, values known", disaster, _all(disaster), 20),
        ("rare jackpot, each arm's values known", jackpot, own_values(jackpot), 100),
        ("rare jackpot, values known", jackpot, _all(jackpot), 20),
    ]  # fmt: skip


def _confidence() -> Table:
    table = Table("samples at delta = 0.05, with standard errors", "W-LUCB", "top-two", "ratio", "runs", "wrong")
    for name, problem, rewards, runs in _cases():
        results = [played(policy(BOTH, rewards, delta=DELTA), problem, 10**8, runs) for policy in (WLUCB, TopTwo)]
        first, second = (one.samples.mean() for one in results)
        wrong = ", ".join(f"{one.error_rate[-1]:.3f}" for one in results)
        table.add(name, *(with_error(one.samples) for one in results), f"{second / first:.2f}", str(runs), wrong)
    return table


def _continuous() -> list[tuple[str, Bandit, Any]]:
    """Problems of continuous rewards: those of `benchmarks sampling`."""
    smooth = [Continuous(stats.beta(4, 2)), Continuous(stats.beta(2, 2)), Continuous(stats.beta(1, 3))]
    risky = Mixture([Uniform(0.6, 1), Uniform(-1, -0.5)], [0.99, 0.01])
    uniform = [Uniform(0.2, 1), Uniform(0.1, 0.9), Uniform(0, 0.8), Uniform(0, 0.7)]
    return [
        ("three beta distributions, bounds known", Bandit(smooth), Bounded(0, 1)),
        ("four arms, a rare disaster, bounds known",
         Bandit([risky, Uniform(0.3, 0.7), Uniform(0, 0.9), Uniform(0.2, 0.5)]), Bounded(-1, 1)),
        ("four uniform distributions, bounds known", Bandit(uniform), Bounded(0, 1)),
    ]  # fmt: skip


BET_RUNS, BET_MOST = 20, 100_000  # of each problem, and samples of a run
FEW_RUNS = 10  # where ratios of many values take a tenth of a second for a look, or bets run to the end


def by_bets() -> Table:
    """Top-two by likelihood ratios, by bets, and by what it chooses, on the same outcomes."""
    cases = [(*case[:3], FEW_RUNS if "disaster" in case[0] else BET_RUNS) for case in _cases()]
    table = Table(
        "samples at delta = 0.05", "top-two by ratios", "by bets", "as it chooses", "chosen / the better", "runs",
        "wrong",
    )  # fmt: skip
    for name, problem, rewards, runs in [*cases, *((*case, FEW_RUNS) for case in _continuous())]:
        ways = [TopTwo(BOTH, rewards, delta=DELTA, evidence=way) for way in ("ratios", Betting(), "auto")]
        found = [played(policy, problem, BET_MOST, runs) for policy in ways]
        taken = [one.samples.astype(float) for one in found]
        better = min(taken[:2], key=np.mean)
        ratio = f"{taken[2].mean() / better.mean():.2f} ± {error_of(taken[2] - better) / better.mean():.2f}"
        wrong = ", ".join(f"{one.error_rate[-1]:.2f}" for one in found)
        table.add(name, *map(with_error, taken), ratio, str(runs), wrong)
    return table


ERROR_RUNS, ERROR_DELTA, ERROR_MOST = 1_000, 0.1, 20_000
SMALL = ("each arm's values known", "Setup(*), values known", "20 coins, values known")  # where runs are short


def near_tie() -> Bandit:
    """Four coins, of which the second is better than the first by next to nothing."""
    return Bandit([Bernoulli(p) for p in (0.5, 0.5002, 0.45, 0.45)])


def _errors() -> Table:
    """How often top-two settles on a wrong arm where values are declared, so that it remembers what it parted."""
    table = Table(f"top-two, values known, delta = {ERROR_DELTA:g}", "samples", "settled", "runs", "settled and wrong")
    cases = [case[:3] for case in _cases() if case[0].endswith(SMALL)]
    for name, problem, rewards in [*cases, ("four coins, a near tie", near_tie(), Finite([0, 1]))]:
        policy = TopTwo(BOTH, rewards, delta=ERROR_DELTA)
        found = played(policy, problem, ERROR_MOST, ERROR_RUNS, seed=2)
        values, settled = problem.true_values(BOTH), found.samples < ERROR_MOST
        wrong = (settled & (values[found.recommended[:, -1]] < values.max())).astype(float)
        table.add(name, with_error(found.samples), f"{settled.sum():,}", f"{ERROR_RUNS:,}", f"{wrong.mean():.3f}")
    return table


# -- within a budget --------------------------------------------------------------------------------


def ordinary(seed: int) -> Bandit:
    """Sixteen random arms of gains and losses, none of them rare."""
    rng = np.random.default_rng(seed)
    rows = [rng.dirichlet(4.0 * np.ones(4)).tolist() for _ in range(16)]
    return Bandit([Discrete(dict(zip((-1.0, 0.0, 1.0, 3.0), row, strict=True))) for row in rows])


def continuous(seed: int) -> Bandit:
    """Six arms of four continuous kinds."""
    rng = np.random.default_rng(seed)
    arms: list[Lottery] = []
    for kind in rng.integers(4, size=6):
        a, b = rng.random(2)
        arms.append(
            [
                Uniform(2 * a, 2 * a + 1 + 3 * b),
                Continuous(stats.gamma(0.5 + 2.5 * a, scale=0.5 + b)),
                Normal(1 + 2 * a, 0.3 + 1.2 * b),
                Continuous(stats.lognorm(0.5 + 0.5 * a, scale=0.7 + 1.1 * b)),
            ][kind]
        )
    return Bandit(arms)


def jackpot_among(n_arms: int, chance: float) -> Bandit:
    """One arm with a rare gain, worth half as much again as the best of coins."""
    coins = [Discrete({20: q, 0: 1 - q}) for q in np.linspace(0.05, 0.3, n_arms - 1).tolist()]
    gain = 1.5 * BOTH.value(coins[-1]) / float(BOTH.gains(chance))
    return Bandit([Discrete({round(gain): chance, 0: 1 - chance}), *coins])


def disasters_among(n_arms: int, chance: float) -> Bandit:
    """One arm without risk; the others seem better until a rare loss shows."""
    loss = 7.0 / float(BOTH.losses(chance))
    tempting = [
        Discrete({8 + a: 0.5, 10 + a: 0.5 - chance, -round(loss): chance})
        for a in np.linspace(0, 2, n_arms - 1).tolist()
    ]
    return Bandit([Discrete({6: 0.5, 8: 0.5}), *tempting])


def _bounds(problem: Bandit) -> Bounded | None:
    """The least and the most that any arm pays, where there are both."""
    ends = np.array([lottery.support for lottery in problem.lotteries])
    low, high = float(ends.min()), float(ends.max())
    return Bounded(low, high) if math.isfinite(low) and math.isfinite(high) else None


def budgeted() -> list[tuple[str, list[Bandit], int, int]]:
    """Problems of one kind, the budget, and how often each problem is run."""
    return [
        ("16 ordinary arms, 1,000 samples", [ordinary(seed) for seed in range(20)], 1_000, 100),
        ("16 ordinary arms, 2,000 samples", [ordinary(seed) for seed in range(20)], 2_000, 100),
        ("6 continuous arms, 2,000 samples", [continuous(seed) for seed in range(5)], 2_000, 40),
        ("a jackpot of .004 among 16, 16,000 samples", [jackpot_among(16, 0.004)], 16_000, 100),
        ("a jackpot of .01 among 16, 4,000 samples", [jackpot_among(16, 0.01)], 4_000, 300),
        ("a jackpot of .01 among 6, 2,000 samples", [jackpot_among(6, 0.01)], 2_000, 500),
        ("disasters of .01 among 16, 4,000 samples", [disasters_among(16, 0.01)], 4_000, 300),
        ("disasters of .01 among 6, 2,000 samples", [disasters_among(6, 0.01)], 2_000, 500),
    ]


def _budgets() -> Table:
    table = Table(
        "wrong answers within a budget", "patient top-two", "patient rejects", "floor 1/2", "floor 3/4", "W-SR",
        "sequential halving", "uniform sampling", "standard error at most",
    )  # fmt: skip
    for name, problems, budget, runs in budgeted():
        policies: list[Policy] = [
            PatientRejects(BOTH, budget=budget),
            PatientRejects(BOTH, budget=budget, floor=0.5),
            PatientRejects(BOTH, budget=budget, floor=0.75),
            WSR(BOTH, budget=budget),
            SequentialHalving(BOTH, budget=budget),
            UniformSampling(BOTH, budget=budget),
        ]
        shares, spread = wrong_shares(policies, problems, budget, runs)
        known = [_bounds(arms) for arms in problems]
        top_two = [
            played(PatientTopTwo(BOTH, bounds, budget=budget), arms, budget, runs).error_rate[-1]
            for arms, bounds in zip(problems, known, strict=True)
            if bounds is not None
        ]
        first = f"{np.mean(top_two):.3f}" if len(top_two) == len(problems) else ""
        table.add(name, first, *shares, spread)
    return table


def wrong_shares(policies: list[Policy], problems: list[Bandit], budget: int, runs: int) -> tuple[list[str], str]:
    """The share of wrong answers of each policy, and the largest standard error of these."""
    wrong = np.array([[played(one, arms, budget, runs).error_rate[-1] for one in policies] for arms in problems])
    spread = np.sqrt((wrong * (1.0 - wrong) / runs).sum(axis=0)).max() / len(problems)
    return [f"{share:.3f}" for share in wrong.mean(axis=0)], f"{spread:.3f}"


if __name__ == "__main__":  # python -m benchmarks.identify: the part that compares ratios and bets
    print(by_bets())
