"""Proofs by bets: runs beside W-LUCB and screening, what bounds cost, errors where they hurt, crossings at the truth.

W-LUCB takes many minutes for one search, so that there is one of each (`benchmarks/wlucb.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
)
from allais._checks import FloatArray
from allais.bands import Betting
from allais.bands._curves import DOWN, UP
from allais.bands._wagers import no_wagers
from allais.bands._wealth import log_wealth
from allais.bands.betting import BAND, bet_on, betting_rule, find_remainders
from allais.lotteries import Lottery
from allais.policies import Policy
from allais.report.markup import markdown_table
from allais.samples.layout import grown
from allais.samples.memory import empty_memory
from benchmarks.pools import Pool, table_of
from benchmarks.search import DELTA, RAREST, SIMULATORS, objectives
from benchmarks.wlucb import MOST, recorded

REPETITIONS = {"mean": 20, "CVaR .1": 6, "TK": 3}  # of a search
SLOW = ("inventory, mean", "emergency, mean", "emergency, CVaR .1")  # W-LUCB takes a quarter of an hour for others
BOUNDS, FEWER = (2_000, 4_000, 8_000, 16_000), 3  # declared for the inventory's costs, and repetitions of each
ERRORS, ERROR_DELTA = 40, 0.1  # runs of each of the eight problems
CROSSINGS, LOOKS = 60, (8, 16, 32, 64, 128, 256, 512, 1_000)
PEOPLE = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))

HARD: dict[str, tuple[Sequence[Lottery], float, Preference]] = {  # lotteries in [0, 1], tolerance, valued by
    "a near tie at the tolerance": ([Uniform(0, 1), Uniform(0.11, 1)], 0.05, expected_value()),
    "a rare loss": ([Discrete({0.5: 0.98, 0.0: 0.02}), Discrete({0.41: 1.0})], 0.0, expected_value()),
    "a rare loss, CVaR": ([Discrete({0.5: 0.98, 0.0: 0.02}), Discrete({0.41: 1.0})], 0.0, cvar(0.1)),
    "a rare gain, TK": ([Discrete({0.1: 0.99, 1.0: 0.01}), Discrete({0.12: 1.0})], 0.01, PEOPLE),
    "bounds that are met, TK": ([Bernoulli(0.5), Bernoulli(0.7)], 0.0, PEOPLE),
    "two points, CVaR": ([Discrete({0.0: 0.05, 1.0: 0.95}), Discrete({0.4: 0.5, 0.6: 0.5})], 0.0, cvar(0.1)),
    "30 arms": ([Bernoulli(0.5)] * 29 + [Bernoulli(0.7)], 0.1, expected_value()),
    "30 equal arms": ([Uniform(0, 1)] * 30, 0.2, expected_value()),
}
LAWS: dict[str, Lottery] = {
    "events of .002 at both ends": Discrete({-1.0: 0.002, 0.0: 0.5, 0.1: 0.496, 1.0: 0.002}),
    "two points": Discrete({-1.0: 0.4, 1.0: 0.6}),
    "CVaR at the bound": Discrete({-1.0: 0.3, 0.5: 0.7}),
    "uniform": Uniform(-1.0, 1.0),
}


def run() -> str:
    return "\n\n".join(["## Proofs on simulators", _searches(), _bounds(), _errors(), _crossings()])


def _searches() -> str:
    rows = []
    for name, (_, indifference, reference, bounds) in SIMULATORS.items():
        table, _ = table_of(name)
        for kind, preference in objectives(reference, costs=True).items():
            slack = 2.0 * indifference if kind.startswith("CVaR") else indifference
            proven = TopTwo(preference, bounds, delta=DELTA, tolerance=slack, evidence=Betting())
            screened = PairwiseScreening(preference, delta=DELTA, tolerance=slack, rarest=RAREST)
            rows.append(_row(name, kind, slack, "proven, bets", proven, table))
            if f"{name}, {kind}" in SLOW:
                rows.append(_slow_row(name, kind, slack))
            rows.append(_row(name, kind, slack, "asymptotic screening", screened, table))
    header = ("valued by", "indifference", "promise, by", "runs", "standard error", "least and most", "good enough",
              "settled", "CPU per run")  # fmt: skip
    return (
        f"The simulators of `python -m benchmarks search`, bounds known, delta = {DELTA:g}, at most {MOST:,} runs of a "
        "search. W-LUCB is slow: it has one repetition, which is kept beside the recorded outcomes, and none where one "
        "takes longest (when it was last run: emergency department, TK 296,122 runs; inventory, TK 276,530 and CVaR .1 "
        "197,100). CPU is the "
        f"process's, beside other work:\n\n{markdown_table(header, rows)}"
    )


def _slow_row(name: str, kind: str, slack: float) -> tuple[str, ...]:
    """One search by W-LUCB."""
    found = recorded(name, kind)
    runs, cpu = f"{found['runs']:,.0f}", f"{1e6 * found['seconds'] / found['runs']:.0f} us"
    row = (f"{name}, {kind}", f"{slack:g}", "proven, W-LUCB", runs, "", runs, f"{found['good']:.0f} of 1",
           f"{found['settled']:.0f} of 1", cpu)  # fmt: skip
    print(*row, flush=True)
    return row


def _bounds() -> str:
    """Runs against the declared bound: the price of a disaster that was never seen."""
    _, indifference, _, _ = SIMULATORS["inventory"]
    table, _ = table_of("inventory")
    rows = []
    for most in BOUNDS:
        policy = TopTwo(
            expected_value(costs=True), Bounded(0, most), delta=DELTA, tolerance=indifference, evidence=Betting()
        )
        runs = [best_arm(policy, Pool(table), seed=1_000 + seed).samples for seed in range(FEWER)]
        rows.append((f"{most:,}", f"{np.mean(runs):,.0f}", f"{np.std(runs, ddof=1) / math.sqrt(FEWER):,.0f}"))
        print(*rows[-1], flush=True)
    return (
        f"What a declared bound costs: the inventory by the mean, {FEWER} repetitions each; its costs reach "
        f"{table.max():,.0f}:\n\n{markdown_table(('costs are at most', 'runs', 'standard error'), rows)}"
    )


def _row(name: str, kind: str, slack: float, promise: str, policy: Policy, table: FloatArray) -> tuple[str, ...]:
    repetitions = REPETITIONS[kind]
    values = Pool(table).true_values(policy.preference)
    best_arm(policy, Pool(table), seed=0, max_samples=1_000)  # compiles
    begin = process_time()
    answers = [best_arm(policy, Pool(table), seed=seed, max_samples=MOST) for seed in range(repetitions)]
    runs = np.array([answer.samples for answer in answers], dtype=np.float64)
    cpu = f"{1e6 * (process_time() - begin) / runs.sum():.0f} us"
    good = sum(values[int(str(answer.arm))] >= values.max() - slack for answer in answers)
    error = f"{runs.std(ddof=1) / math.sqrt(repetitions):,.0f}"
    spread = f"{runs.min():,.0f} to {runs.max():,.0f}"
    row = (f"{name}, {kind}", f"{slack:g}", promise, f"{runs.mean():,.0f}", error, spread,
           f"{good} of {repetitions}", f"{sum(one.settled for one in answers)} of {repetitions}", cpu)  # fmt: skip
    print(*row, flush=True)
    return row


def _errors() -> str:
    rows = []
    for name, (lotteries, tolerance, preference) in HARD.items():
        problem = Bandit(lotteries)
        values = problem.true_values(preference)
        policy = TopTwo(preference, Bounded(0, 1), delta=ERROR_DELTA, tolerance=tolerance, evidence=Betting())
        answers = [best_arm(policy, problem, seed=seed, max_samples=100_000) for seed in range(ERRORS)]
        settled = [one for one in answers if one.settled]
        wrong = sum(values[int(str(one.arm))] < values.max() - tolerance for one in settled)
        runs = np.mean([one.samples for one in answers])
        rows.append((name, f"{tolerance:g}", f"{runs:,.0f}", f"{len(settled)} of {ERRORS}", str(wrong)))
        print(*rows[-1], flush=True)
    header = ("problem", "tolerance", "samples", "settled", "wrong")
    return (
        f"Errors of top-two by bets at delta = {ERROR_DELTA:g} on problems that are built to hurt, {ERRORS} runs "
        f"each:\n\n"
        f"{markdown_table(header, rows)}"
    )


def _crossings() -> str:
    rows = []
    valued = {"mean": expected_value(), "CVaR .1": cvar(0.1), "TK": PEOPLE}
    for name, law in LAWS.items():
        for kind, preference in valued.items():
            rng = np.random.default_rng(1)
            won = np.array([_most_won(preference, law, rng) for _ in range(CROSSINGS)])
            for side, word in ((UP, "above"), (DOWN, "below")):
                shares = [f"{(won[:, side] >= math.log(1.0 / rate)).mean():.3f}" for rate in (0.5, 0.2, 0.05)]
                rows.append((name, kind, word, *shares))
    header = ("outcomes in [-1, 1]", "valued by", "bound from", "delta .5", "delta .2", "delta .05")
    return (
        f"How often the wealth against the true value ever reached 1 / delta, of {CROSSINGS} runs with up to "
        f"{LOOKS[-1]:,} samples; a share above delta would refute the proof:\n\n{markdown_table(header, rows)}"
    )


def _most_won(preference: Preference, law: Lottery, rng: np.random.Generator) -> list[float]:
    """log of the most that was won against the truth on each side; the band holds but for a chance of BAND / 20."""
    exponent = math.log(20.0 / BAND)
    band = betting_rule(preference, [Bounded(-1, 1)], math.log(40.0), exponent, exponent)
    samples, memory, wagers, done = law.sample(rng, LOOKS[-1]), empty_memory(1), no_wagers(1), 0
    truth, most = preference.value(law), [-math.inf, -math.inf]
    for look in LOOKS:
        while (done := int(bet_on(band, wagers, memory, samples[:look], samples[:look], done))) < look:
            memory = grown(memory, 0)
        for side, q in ((UP, truth + 1.0), (DOWN, 1.0 - truth)):
            beyond = q > find_remainders(band, wagers, 0, look, side, exponent)
            most[side] = max(most[side], math.inf if beyond else log_wealth(band, wagers, 0, look, side, q)[0])
    return most
