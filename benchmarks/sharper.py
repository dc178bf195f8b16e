"""Sharper than the paper: regret beside that of the paper's W-UCB and the limits; `identify.py` has the best arm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from allais import (
    IMED,
    NPTS,
    WUCB,
    Bandit,
    Bounded,
    Continuous,
    Discrete,
    Lottery,
    Mixture,
    Preference,
    TverskyKahneman,
    Uniform,
    cvar,
    expected_value,
    simulate,
    theory,
)
from allais.bands import DKW, KL, Betting, Holder
from allais.bands._curves import UP
from allais.bands._wagers import no_wagers, note_outcome
from allais.bands.base import anytime_rule, follow, refresh, widen
from allais.bands.betting import BettingRule, Followed, look_at, looked_up
from allais.paper.problems import COSTS, PEOPLE, PROBLEM_A, PROBLEM_B, SETUP, THREE
from allais.policies import Policy
from allais.policies.core.knowledge import worth_of
from allais.samples.layout import grown
from allais.samples.memory import empty_memory, insert, is_full, measure
from allais.weights import SteepMiddle
from benchmarks.playing import own_values, played
from benchmarks.tables import Table, with_error

BOTH = Preference.tversky_kahneman()
ROUNDS, RUNS = 100_000, 50


def random_lotteries(seed: int, n_arms: int, values: int = 3) -> Bandit:
    """Random lotteries of gains and losses."""
    rng = np.random.default_rng(seed)
    arms = []
    for _ in range(n_arms):
        outcomes, chances = rng.uniform(-1, 3, values).round(2), rng.dirichlet(np.ones(values))
        arms.append(Discrete(dict(zip(outcomes.tolist(), chances.tolist(), strict=True))))
    return Bandit(arms)


def run() -> str:
    return f"## Sharper than the paper\n\n{_regret()}\n\n{by_bets()}\n\n{widths()}"


def _regret() -> Table:
    cases: list[tuple[str, Bandit, Preference, Bounded, float]] = [
        ("(a), costs", PROBLEM_A, COSTS, Bounded(0, 50), 0.1),
        ("(b), costs", PROBLEM_B, COSTS, Bounded(0, 500), 0.4),
        ("Setup(*)", SETUP, PEOPLE, Bounded(0, 1), 0.1),
        ("three-armed", THREE, PEOPLE, Bounded(0, 50), 0.1),
        *((f"random {seed}", random_lotteries(seed, 4), BOTH, Bounded(-1, 3), 1.0) for seed in range(4)),
    ]
    table = Table(
        "regret at 10^5 rounds", "W-UCB (Hölder)", "W-UCB, KL, log m", "NPTS", "NPTS, values known",
        "IMED, values known", "limit per log n", "NPTS / W-UCB", "claim", "holds",
    )  # fmt: skip
    for name, problem, preference, rewards, claim in cases:
        known = own_values(problem)
        runs = RUNS if claim < 1.0 else 10  # what is claimed is measured well
        runs_of_imed = RUNS if max(len(one.values) for one in known) == 2 else 4  # three values are slow
        papers = played(WUCB.as_printed(preference, rewards), problem, ROUNDS, runs).mean_regret[-1]
        policies: list[tuple[Policy, int]] = [
            (WUCB(preference, rewards, band=KL(), exploration=1.0), runs),
            (NPTS(preference, rewards), runs),
            (NPTS(preference, known), runs),
            (IMED(preference, known), runs_of_imed),
        ]
        regrets = [played(policy, problem, ROUNDS, times).mean_regret[-1] for policy, times in policies]
        slope = theory.regret_slope(preference, problem.lotteries)
        ratio = regrets[1] / papers
        shown = [f"{regret:.4g}" for regret in (papers, *regrets)]
        table.add(name, *shown, f"{slope:.4g}", f"{ratio:.3f}", f"at most {claim:g}", ratio <= claim)
    return table


# -- an index by bets -------------------------------------------------------------------------------


class IndexRule(NamedTuple):
    """Bets whose tables are read at any exponent: the index of W-UCB, where no band of the distribution is needed."""

    bets: BettingRule
    exponent: float

    def kept(self, n_arms: int) -> Followed:
        """Nothing has been bet yet."""
        return Followed(no_wagers(n_arms), np.full(n_arms, np.nan))


@follow.of(IndexRule)
def _(band, kept, memory, arm, utility):  # type: ignore[no-untyped-def]  # a kernel
    note_outcome(band.bets, kept.followed, memory, arm, utility)
    look_at(band.bets, kept.followed, memory, arm, UP)


@widen.of(IndexRule)
def _(band, kept, memory, exponent, low, high):  # type: ignore[no-untyped-def]  # a kernel
    for arm in range(low.size):
        low[arm], high[arm] = -np.inf, np.inf
        if memory.pulls[arm] > 0:
            high[arm] = band.bets.low[arm] + looked_up(band.bets, kept.followed, arm, UP, exponent)


@dataclass(frozen=True)
class WUCBByBets(WUCB):
    """W-UCB with bets in the place of its band, which the library refuses since it does not pay."""

    def rule(self, n_arms: int) -> Any:
        """The settings as the kernels read them, with bets for the exponent of the last round."""
        sequence = Betting().anytime_rule(self.preference, self.rewards_of(n_arms)).at(self.exploration * LAST)
        return super().rule(n_arms)._replace(band=IndexRule(*sequence))


INDEX_ROUNDS, INDEX_RUNS = 10_000, 10
LAST = math.log(INDEX_ROUNDS)


def by_bets() -> Table:
    """W-UCB with an index by bets beside its KL band and NPTS: regret, and what a round costs."""
    smooth: list[Lottery] = [Continuous(stats.beta(4, 2)), Continuous(stats.beta(2, 2)), Continuous(stats.beta(1, 3))]
    rare: list[Lottery] = [Mixture([Uniform(0.5, 0.7), Uniform(0, 0.1)], [0.99, 0.01]), Uniform(0.3, 0.7)]
    cases = {
        "three beta distributions, mean": (smooth, expected_value()),
        "three beta distributions, CVaR .1": (smooth, cvar(0.1)),
        "a rare loss, mean": (rare, expected_value()),
    }
    table = Table(
        f"regret at {INDEX_ROUNDS:,} rounds, {INDEX_RUNS} runs (CPU of a round)", "W-UCB, KL, log m",
        "W-UCB, bets, log m", "NPTS",
    )  # fmt: skip
    for name, (arms, preference) in cases.items():
        cells = []
        for policy in (
            WUCB(preference, Bounded(0, 1), band=KL(), exploration=1.0),
            WUCBByBets(preference, Bounded(0, 1), exploration=1.0),
            NPTS(preference, Bounded(0, 1)),
        ):
            simulate(policy, Bandit(arms), 500, 1, seed=1, progress=False)  # compiles
            begin = process_time()
            found = simulate(policy, Bandit(arms), INDEX_ROUNDS, INDEX_RUNS, seed=1, n_jobs=1, progress=False)
            cost = 1e6 * (process_time() - begin) / INDEX_ROUNDS / INDEX_RUNS
            cells.append(f"{with_error(found.regret[:, -1], '.3g', '.2g')} ({cost:.0f} us)")
        table.add(name, *cells)
    return table


# -- which band is the narrowest --------------------------------------------------------------------

OUTCOMES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "uniform": lambda rng, n: rng.random(n),
    "a coin of .5": lambda rng, n: (rng.random(n) < 0.5) * 1.0,
    "beta(2, 30)": lambda rng, n: rng.beta(2, 30, n),
    "1 at .01, else 0 to .1": lambda rng, n: np.where(rng.random(n) < 0.01, 1.0, 0.1 * rng.random(n)),
}
VALUED = {
    "mean": expected_value(),
    "CVaR .1": cvar(0.1),
    "TK .61": Preference(TverskyKahneman(0.61)),
    "steep middle": Preference(SteepMiddle(0.5)),
}
ONE_LOOK: tuple[Any, ...] = (Holder(), DKW(), KL())
LENGTHS = (100, 1_000, 10_000)


def _in_all_rounds(band: Any, preference: Preference, samples: Any) -> float:
    """The width of an interval that holds in all rounds."""
    rule, memory, low, high = anytime_rule(band, preference, [Bounded(0, 1)]), empty_memory(1), np.zeros(1), np.zeros(1)
    for sample in samples.tolist():
        while is_full(memory, 0):
            memory = grown(memory, 0)
        insert(memory, 0, sample, sample)
    measure(worth_of(preference, [Bounded(0, 1)], 1), memory, 0)
    kept: Any = rule.kept(1)  # type: ignore[union-attr]
    refresh(rule, kept, memory, 0)
    widen(rule, kept, memory, math.log(20.0), low, high)
    return float(min(high[0], 1.0) - max(low[0], 0.0))


def widths() -> Table:
    """How wide intervals are at a confidence of .95: for one look, and in all rounds."""
    table = Table("widths at .95, outcomes in [0, 1]", "valued by", "samples", "Hölder, one look", "DKW, one look",
                  "KL, one look", "DKW, all rounds", "KL, all rounds", "bets, all rounds")  # fmt: skip
    for (name, outcomes), (kind, preference), n in product(OUTCOMES.items(), VALUED.items(), LENGTHS):
        samples = outcomes(np.random.default_rng(1), n)
        found = [band.interval(preference, Bounded(0, 1), samples) for band in ONE_LOOK]
        smooth = kind != "steep middle"
        bets = Betting().interval(preference, Bounded(0, 1), samples) if smooth else None
        cells = [f"{one.high - one.low:.4f}" for one in found]
        cells += [f"{_in_all_rounds(band, preference, samples):.4f}" for band in (DKW(), KL())]
        table.add(name, kind, f"{n:,}", *cells, "-" if bets is None else f"{bets.high - bets.low:.4f}")
    return table
