"""How often an asymptotic confidence sequence ever misses the value: twelve distributions with rare events."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from allais import (
    Continuous,
    Discrete,
    Lottery,
    Mixture,
    Normal,
    Preference,
    TverskyKahneman,
    Uniform,
    cvar,
    expected_value,
)
from allais._kernels import loop
from allais.bands import Asymptotic
from allais.bands.base import refresh, widen
from allais.policies.core.knowledge import worth_of
from allais.preferences.valuation import tail
from allais.samples.layout import grown
from allais.samples.memory import empty_memory, insert, is_full, measure
from benchmarks.tables import Table, error_of_share

DELTA, RAREST = 0.05, 0.002
MANY, FEW = (400, 100_000), (200, 20_000)  # streams, and samples of each
ALARMS = 50  # streams whose end is looked at for the alarm
STEP = 1.05  # looks are this far apart: more of them find hardly more misses, and cost as much as all samples do

DISTRIBUTIONS: list[tuple[str, Lottery, float, tuple[int, int]]] = [  # a sign of -1 turns gains into losses
    ("normal", Normal(0.0, 1.0), 1.0, MANY),
    ("uniform", Uniform(0.0, 1.0), 1.0, MANY),
    ("a coin of .3", Discrete({1: 0.3, 0: 0.7}), 1.0, MANY),
    ("100 at .002, else 0", Discrete({100: 0.002, 0: 0.998}), 1.0, MANY),
    ("-100 at .002, else 1", Discrete({-100: 0.002, 1: 0.998}), 1.0, MANY),
    ("50 to 100 at .002, else 0 to 1", Mixture([Uniform(0, 1), Uniform(50, 100)], [0.998, 0.002]), 1.0, MANY),
    ("-50 to -100 at .002, else 0 to 1", Mixture([Uniform(0, 1), Uniform(-100, -50)], [0.998, 0.002]), 1.0, FEW),
    ("both of these, else normal", Mixture(
        [Normal(0, 1), Uniform(50, 100), Uniform(-100, -50)], [0.996, 0.002, 0.002]), 1.0, FEW),
    ("-100 at .0005, else 1", Discrete({-100: 0.0005, 1: 0.9995}), 1.0, MANY),
    ("lognormal, sd 1", Continuous(stats.lognorm(1.0)), 1.0, FEW),
    ("losses, lognormal, sd 1", Continuous(stats.lognorm(1.0)), -1.0, FEW),
    ("losses, Pareto 2.5", Continuous(stats.pareto(2.5)), -1.0, FEW),
]  # fmt: skip
PREFERENCES: list[tuple[str, Preference]] = [
    ("mean", expected_value()),
    ("TK", Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))),
    ("worst 5 %", cvar(0.05)),
]


@loop
def _until(worth, band, kept, memory, tape, told, looks, exponent, truth, ends):  # type: ignore[no-untyped-def]  # a kernel
    """Take in outcomes until one look misses (1), all are over (0), or the memory must grow (2)."""
    while told[0] < tape.size:
        if is_full(memory, 0):
            return 2
        insert(memory, 0, tape[told[0]], tape[told[0]])
        told[0] += 1
        if told[0] == looks[told[1]]:
            measure(worth, memory, 0)
            refresh(band, kept, memory, 0)
            widen(band, kept, memory, exponent, ends[0], ends[1])
            told[1] += 1
            if not ends[0, 0] <= truth <= ends[1, 0]:
                return 1
    return 0


def looks_from(first: int, last: int) -> np.ndarray[Any, Any]:
    """Numbers of samples at which the interval is looked at."""
    found = [first]
    while found[-1] < last:
        found.append(min(math.ceil(found[-1] * STEP), last))
    return np.array([*found, 2**62])


HEAVY = ("lognormal, sd 1", "losses, lognormal, sd 1", "losses, Pareto 2.5")  # where the alarm is measured, too


def missed(
    preference: Preference, distribution: Lottery, sign: float, seed: int, streams: int, samples: int, heavy: bool
) -> tuple[float, float, float]:
    """The share of streams in which the interval ever misses the true value, and in which it does without an alarm.

    And the share of streams whose promise is withdrawn at the end, since their value rests on a few outcomes.
    """
    utility = Preference(preference.gains, preference.losses, costs=sign < 0.0)
    truth = utility.value(distribution)
    band = Asymptotic(rarest=RAREST).anytime_rule(preference, [])
    worth, exponent = worth_of(preference, [], 1), math.log(1.0 / DELTA)
    looks = looks_from(band.least(exponent), samples)
    rng = np.random.default_rng(seed)
    misses = silent = withdrawn = 0
    for stream in range(streams):
        tape, told = sign * distribution.sample(rng, samples), np.zeros(2, dtype=np.int64)
        memory, code, looked, unsaid = empty_memory(1, capacity=128), 2, False, False
        while code != 0 and not unsaid:
            code = _until(worth, band, band.kept(1), memory, tape, told, looks, exponent, truth, np.zeros((2, 1)))
            if code == 2:
                memory = grown(memory, 0)
            elif code == 1:
                looked, unsaid = True, not (heavy and _alarm(preference, tape[: told[0]]))
        misses, silent = misses + looked, silent + unsaid
        withdrawn += heavy and stream < ALARMS and _alarm(preference, tape)
    return misses / streams, silent / streams, withdrawn / ALARMS


def _alarm(preference: Preference, outcomes: np.ndarray[Any, Any]) -> bool:
    return tail(preference, *np.unique(outcomes, return_counts=True)).heavy


def rows_of(k: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A line of each table."""
    name, distribution, sign, (streams, samples) = DISTRIBUTIONS[k]
    heavy = name in HEAVY
    shares = [missed(preference, distribution, sign, k, streams, samples, heavy) for _, preference in PREFERENCES]
    of_alarm = [f"{share:.3f}" for _, silent, withdrawn in shares for share in (silent, withdrawn)]
    return (name, *(f"{ever:.3f}" for ever, _, _ in shares), str(streams), f"{samples:,}"), (name, *of_alarm)


def run() -> str:
    first = Asymptotic(rarest=RAREST).anytime_rule(expected_value(), []).least(math.log(1.0 / DELTA))
    names = [name for name, _ in PREFERENCES]
    table = Table("share of streams that ever miss the value", *names, "streams", "samples")
    alarms = Table(
        "share of streams", *(f"{name}: {what}" for name in names for what in ("missed, no alarm", "alarm at the end"))
    )
    for k, (name, *_) in enumerate(DISTRIBUTIONS):
        row, of_alarm = rows_of(k)
        table.add(*row)
        if name in HEAVY:
            alarms.add(*of_alarm)
    note = (
        f"`Asymptotic(rarest={RAREST:g})` at delta = {DELTA:g}. A share of {DELTA:g} has a standard error of "
        f"{error_of_share(DELTA, MANY[0]):.3f} over {MANY[0]} streams and of "
        f"{error_of_share(DELTA, FEW[0]):.3f} over {FEW[0]}. Looks begin at {first:,} samples, "
        f"and come each time there are {STEP - 1.0:.0%} more."
    )
    said = (
        "The promise is withdrawn while the ten most extreme outcomes make more than half of the variance, and twice "
        "as much as if outcomes were normal. Where tails are heavy: streams that miss the value at some look without "
        f"that alarm, and streams with the alarm at their end, of the first {ALARMS}."
    )
    return f"## Coverage\n\n{note}\n\n{table}\n\n{said}\n\n{alarms}"
