"""Proofs by bets: runs beside W-LUCB and screening, what bounds cost, errors where they hurt, crossings at the truth.

W-LUCB takes many minutes for one search, so that there is one of each (`benchmarks/wlucb.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from time import process_time

import numpy as np

from allais import (
    Bandit,
    Bernoulli,
    Bounded,
    Discrete,
    PairwiseScreening,
    Preference,
    TopTwo,
    TverskyKahneman,
    Uniform,
    best_arm,
    cvar,
    expected_value,
    simulate,
)
from allais._checks import FloatArray
from allais.bands import Betting
from allais.bands._curves import DOWN, UP
from allais.bands._wagers import no_wagers
from allais.bands._wealth import log_wealth
from allais.bands.betting import BAND, bet_on, betting_rule, find_remainders
from allais.lotteries import Lottery
from allais.policies import Policy
from allais.samples.layout import grown
from allais.samples.memory import empty_memory
from benchmarks.pools import Pool, table_of
from benchmarks.search import DELTA, RAREST, SIMULATORS, objectives
from benchmarks.tables import Table, error_of, error_of_share
from benchmarks.wlucb import MOST, recorded

REPETITIONS = 20  # of a search
SLOW = ("inventory, mean", "emergency, mean", "emergency, CVaR .1")  # W-LUCB takes a quarter of an hour for others
BOUNDS, FEWER = (2_000, 4_000, 8_000, 16_000), 3  # declared for the inventory's costs, and repetitions of each
ERRORS, ERROR_DELTA = 2_000, 0.1  # runs of each of the eight problems
CROSSINGS, LOOKS = 100, (8, 16, 32, 64, 128, 256, 512, 1_000)
RATES = (0.5, 0.2, 0.05)
BATCH, TOTAL = 25, 1_000  # outcomes that the arm of the higher mean so far gets at a time, and of both arms in all
PROCESSES = 3
BETS, LUCB, SCREENING = "proven, bets", "proven, W-LUCB", "asymptotic screening"
PEOPLE = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
VALUED = {"mean": expected_value(), "CVaR .1": cvar(0.1), "TK": PEOPLE}

HARD: dict[str, tuple[Sequence[Lottery], float, Preference]] = {  # lotteries in [0, 1], tolerance, valued by
    "a near tie at the tolerance": ([Uniform(0, 1), Uniform(0.11, 1)], 0.05, expected_value()),
    "a rare loss": ([Discrete({0.6: 0.9, 0.0: 0.1}), Discrete({0.57: 1.0})], 0.0, expected_value()),
    "a rare loss, CVaR .5": ([Discrete({0.6: 0.9, 0.0: 0.1}), Discrete({0.55: 1.0})], 0.0, cvar(0.5)),
    "a rare gain, TK": ([Discrete({0.1: 0.9, 1.0: 0.1}), Discrete({0.4: 1.0})], 0.1, PEOPLE),
    "bounds that are met, TK": ([Bernoulli(0.3), Bernoulli(0.8)], 0.15, PEOPLE),
    "two points, CVaR .5": ([Discrete({0.0: 0.25, 1.0: 0.75}), Discrete({0.7: 0.5, 0.9: 0.5})], 0.15, cvar(0.5)),
    "30 arms": ([Bernoulli(0.4)] * 29 + [Bernoulli(0.8)], 0.2, expected_value()),
    "15 ties, 15 just too far": ([Bernoulli(0.45)] * 15 + [Bernoulli(0.8)] * 15, 0.34, expected_value()),
}
LAWS: dict[str, Lottery] = {
    "events of .002 at both ends": Discrete({-1.0: 0.002, 0.0: 0.5, 0.1: 0.496, 1.0: 0.002}),
    "two points": Discrete({-1.0: 0.4, 1.0: 0.6}),
    "CVaR at the bound": Discrete({-1.0: 0.3, 0.5: 0.7}),
    "uniform": Uniform(-1.0, 1.0),
}


def run() -> str:
    policy = TopTwo(PEOPLE, Bounded(0, 1), delta=DELTA, tolerance=0.2, evidence=Betting())
    best_arm(policy, Bandit([Bernoulli(0.2), Uniform(0.3, 0.9)] * 3), seed=0)  # compiles, for all that follow
    for name in SIMULATORS:
        table_of(name)
    crossings = [(name, kind) for name in LAWS for kind in VALUED]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        errors = pool.map(_error, HARD)  # all parts begin at once, this one first, since it takes longest
        searches, bounds = pool.map(_search, _searches()), pool.map(_bound, BOUNDS)
        crossed = pool.map(_crossing, crossings)
        tables = [_of_searches(searches), _of_bounds(bounds), _of_errors(errors), _of_crossings(crossed)]
    return "\n\n".join(["## Proofs on simulators", *tables])


def _searches() -> list[tuple[str, str, str]]:
    return [
        (name, kind, promise)
        for name, (_, _, reference, _) in SIMULATORS.items()
        for kind in objectives(reference, costs=True)
        for promise in (BETS, LUCB, SCREENING)
        if promise != LUCB or f"{name}, {kind}" in SLOW
    ]


def _of_searches(rows: Iterable[tuple[str, ...]]) -> str:
    table = _filled(Table("valued by", "indifference", "promise, by", "runs", "standard error", "least and most",
                          "good enough", "settled", "CPU per run"), rows)  # fmt: skip
    return (
        f"The simulators of `python -m benchmarks search`, bounds known, delta = {DELTA:g}, at most {MOST:,} runs of a "
        "search. W-LUCB is slow: it has one repetition, recorded in an earlier run on the same pools, and none where "
        "one takes longest (when it was last run: emergency department, TK 296,122 runs; inventory, TK 276,530 and "
        f"CVaR .1 197,100). CPU is the process's, beside other work:\n\n"
        f"{table}"
    )


def _filled(table: Table, rows: Iterable[tuple[str, ...]]) -> Table:
    for row in rows:
        table.add(*row)
    return table


def _search(task: tuple[str, str, str]) -> tuple[str, ...]:
    """A row of searches."""
    name, kind, promise = task
    _, indifference, reference, bounds = SIMULATORS[name]
    preference = objectives(reference, costs=True)[kind]
    slack = 2.0 * indifference if kind.startswith("CVaR") else indifference
    if promise == LUCB:
        return _slow_row(name, kind, slack)
    policy: Policy = PairwiseScreening(preference, delta=DELTA, tolerance=slack, rarest=RAREST)
    if promise == BETS:
        policy = TopTwo(preference, bounds, delta=DELTA, tolerance=slack, evidence=Betting())
    return _row(name, kind, slack, promise, policy, table_of(name)[0])


def _slow_row(name: str, kind: str, slack: float) -> tuple[str, ...]:
    """One search by W-LUCB."""
    found = recorded(name, kind)
    runs, cpu = f"{found['runs']:,.0f}", f"{1e6 * found['seconds'] / found['runs']:.0f} us"
    return (f"{name}, {kind}", f"{slack:g}", LUCB, runs, "", runs, f"{found['good']:.0f} of 1",
            f"{found['settled']:.0f} of 1", cpu)  # fmt: skip


def _of_bounds(rows: Iterable[tuple[str, ...]]) -> str:
    """Runs against the declared bound: the price of a disaster that was never seen."""
    return (
        f"What a declared bound costs: the inventory by the mean, {FEWER} repetitions each; its costs reach "
        f"{table_of('inventory')[0].max():,.0f}:\n\n"
        f"{_filled(Table('costs are at most', 'runs', 'standard error'), rows)}"
    )


def _bound(most: int) -> tuple[str, ...]:
    slack, table = SIMULATORS["inventory"][1], table_of("inventory")[0]
    policy = TopTwo(expected_value(costs=True), Bounded(0, most), delta=DELTA, tolerance=slack, evidence=Betting())
    runs = [best_arm(policy, Pool(table), seed=1_000 + seed).samples for seed in range(FEWER)]
    return f"{most:,}", f"{np.mean(runs):,.0f}", f"{error_of(runs):,.0f}"


def _row(name: str, kind: str, slack: float, promise: str, policy: Policy, table: FloatArray) -> tuple[str, ...]:
    values = Pool(table).true_values(policy.preference)
    best_arm(policy, Pool(table), seed=0, max_samples=1_000)  # compiles
    begin = process_time()
    answers = [best_arm(policy, Pool(table), seed=seed, max_samples=MOST) for seed in range(REPETITIONS)]
    runs = np.array([answer.samples for answer in answers], dtype=np.float64)
    cpu = f"{1e6 * (process_time() - begin) / runs.sum():.0f} us"
    good = sum(values[int(str(answer.arm))] >= values.max() - slack for answer in answers)
    spread = f"{runs.min():,.0f} to {runs.max():,.0f}"
    return (f"{name}, {kind}", f"{slack:g}", promise, f"{runs.mean():,.0f}", f"{error_of(runs):,.0f}", spread,
            f"{good} of {REPETITIONS}", f"{sum(one.settled for one in answers)} of {REPETITIONS}", cpu)  # fmt: skip


def _of_errors(rows: Iterable[tuple[str, ...]]) -> str:
    ways = ("bets", "as it chooses")
    heads = (f"{what}, {way}" for way in ways for what in ("samples", "settled", "wrong"))
    return (
        f"Errors of top-two at delta = {ERROR_DELTA:g} on problems that are built to hurt, {ERRORS:,} runs each: by "
        "bets, and by ratios or bets as it chooses; the share of wrong answers with its standard error:\n\n"
        f"{_filled(Table('problem', 'tolerance', *heads), rows)}"
    )


def _error(name: str) -> tuple[str, ...]:
    lotteries, tolerance, preference = HARD[name]
    problem, row = Bandit(lotteries), [name, f"{tolerance:g}"]
    for evidence in (Betting(), "auto"):
        policy = TopTwo(preference, Bounded(0, 1), delta=ERROR_DELTA, tolerance=tolerance, evidence=evidence)
        found = simulate(policy, problem, 100_000, ERRORS, seed=1, checkpoints=[100_000], n_jobs=1, progress=False)
        values = problem.true_values(preference)
        wrong = (values[found.recommended[:, -1]] < values.max() - tolerance) & found.stopped
        share = wrong.mean()
        shown = f"{share:.4f} ± {error_of_share(share, ERRORS):.4f}"
        row += [f"{found.samples.mean():,.0f}", f"{found.stopped.sum():,} of {ERRORS:,}", shown]
    return tuple(row)


def _of_crossings(rows: Iterable[list[tuple[str, ...]]]) -> str:
    table = Table("outcomes in [-1, 1]", "valued by", "sampled", "bound from", *(f"delta {one:g}" for one in RATES))
    return (
        f"How often the wealth against the true value ever reached 1 / delta, of {CROSSINGS} runs with up to "
        f"{LOOKS[-1]:,} samples (all), or of two such arms each, of which the one with the higher mean so far gets the "
        f"next {BATCH} samples, {TOTAL:,} in all (greedy); a share above delta would refute the proof:\n\n"
        f"{_filled(table, chain.from_iterable(rows))}"
    )


def _crossing(task: tuple[str, str]) -> list[tuple[str, ...]]:
    name, kind = task
    rows = []
    for way, most_won in (("all", _most_won), ("greedy", _most_won_greedily)):
        rng = np.random.default_rng(1)
        won = np.array([pair for _ in range(CROSSINGS) for pair in most_won(VALUED[kind], LAWS[name], rng)])
        for side, word in ((UP, "above"), (DOWN, "below")):
            shares = [f"{(won[:, side] >= math.log(1.0 / rate)).mean():.3f}" for rate in RATES]
            rows.append((name, kind, way, word, *shares))
    return rows


class _Arm:
    """An arm's bets, and the most that was won against its true value on each side."""

    def __init__(self, preference: Preference, law: Lottery) -> None:
        self.exponent = math.log(20.0 / BAND)  # the band fails with a probability of BAND / 20 at most
        self.band = betting_rule(preference, [Bounded(-1, 1)], math.log(40.0), self.exponent, self.exponent)
        self.memory, self.wagers, self.done, self.total = empty_memory(1), no_wagers(1), 0, 0.0
        self.truth, self.most = preference.value(law), [-math.inf, -math.inf]

    def take(self, samples: FloatArray) -> None:
        start = 0
        while (start := int(bet_on(self.band, self.wagers, self.memory, samples, samples, start))) < samples.size:
            self.memory = grown(self.memory, 0)
        self.done, self.total = self.done + samples.size, self.total + float(samples.sum())
        for side, q in ((UP, self.truth + 1.0), (DOWN, 1.0 - self.truth)):
            beyond = q > find_remainders(self.band, self.wagers, 0, self.done, side, self.exponent)
            won = math.inf if beyond else log_wealth(self.band, self.wagers, 0, self.done, side, q)[0]
            self.most[side] = max(self.most[side], won)


def _most_won(preference: Preference, law: Lottery, rng: np.random.Generator) -> list[list[float]]:
    """One arm that gets all samples."""
    arm = _Arm(preference, law)
    for look in LOOKS:
        arm.take(law.sample(rng, look - arm.done))
    return [arm.most]


def _most_won_greedily(preference: Preference, law: Lottery, rng: np.random.Generator) -> list[list[float]]:
    """Two arms, one of which is sampled while it is the better one: its looks are where it did well."""
    arms = [_Arm(preference, law), _Arm(preference, law)]
    for arm in arms:
        arm.take(law.sample(rng, BATCH))
    while sum(arm.done for arm in arms) < TOTAL:
        max(arms, key=lambda arm: arm.total / arm.done).take(law.sample(rng, BATCH))
    return [arm.most for arm in arms]
