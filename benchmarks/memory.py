"""What a learner keeps of continuous rewards: how much memory, how fast, and how near its values are."""

from __future__ import annotations

from time import process_time
from typing import NamedTuple

import numpy as np

from allais import WUCB, Bounded, Preference, TverskyKahneman
from benchmarks.tables import Table
from benchmarks.timing import apart, megabytes

PEOPLE = Preference(TverskyKahneman(0.61))
CHUNK = 10_000  # choices that are made in one go; the last ones are timed
WARM = 300  # choices before anything is measured: compiled code is loaded by then


class Kept(NamedTuple):
    """What a learner of two arms holds after so many choices."""

    megabytes: float  # by which the process has grown
    microseconds: float  # of the last choices, ask and tell together
    certified: float  # what memory may hide of a value, at most
    error: float  # what it hides


def run() -> str:
    exact, bounded, long = (apart(measured, *of)[0] for of in ((10**6, True), (10**6, False), (10**7, False)))
    table = Table("what", "bounded", "compared with", "ratio", "claim", "holds")
    table.add(
        "memory of two arms, 10^6 choices", f"{bounded.megabytes:.1f} MB",
        f"every outcome kept {exact.megabytes:.0f} MB", f"{bounded.megabytes / exact.megabytes:.3f}",
        "at most 0.1", bounded.megabytes <= 0.1 * exact.megabytes,
    )  # fmt: skip
    table.add(
        "memory of two arms, 10^7 choices", f"{long.megabytes:.1f} MB", f"at 10^6 {bounded.megabytes:.1f} MB",
        f"{long.megabytes / bounded.megabytes:.2f}", "at most 1.5", long.megabytes <= 1.5 * bounded.megabytes,
    )  # fmt: skip
    table.add(
        "ask + tell at 10^6 choices", f"{bounded.microseconds:.1f} us",
        f"every outcome kept {exact.microseconds:.1f} us", f"{bounded.microseconds / exact.microseconds:.2f}",
        "at most 1.1", bounded.microseconds <= 1.1 * exact.microseconds,
    )  # fmt: skip
    for power, one in ((6, bounded), (7, long)):
        table.add(
            f"error of a value of about 22 at 10^{power} choices", f"{one.error:.1e}",
            f"certified {one.certified:.1e}", f"{one.error / one.certified:.3f}", "at most 1",
            one.error <= one.certified,
        )  # fmt: skip
    return f"## Memory of learners\n\n{table}"


def measured(choices: int, exact: bool) -> Kept:
    """W-UCB on two continuous arms: outcomes are 50 u and 50 u^2 for a uniform u."""
    learner = WUCB.as_printed(PEOPLE, Bounded(0, 50)).start(2, seed=1, exact=exact)
    pulled = np.zeros(choices, dtype=np.int8)
    rng = np.random.default_rng(1)
    before, seconds = 0.0, 0.0
    for start in range(0, choices, CHUNK):
        began = process_time()
        for at, u in enumerate(rng.random(CHUNK).tolist(), start):
            if at == WARM:
                before = megabytes()
            choice = learner.ask()
            pulled[at] = choice.arm == 1
            learner.tell(choice, 50.0 * (u if choice.arm == 0 else u * u))
        seconds = process_time() - began
    grown = megabytes() - before - pulled.nbytes / 1e6
    values, certified = learner.value(), learner.memory_error()
    u = np.random.default_rng(1).random(choices)
    error = max(abs(values[arm] - PEOPLE.estimate(50.0 * u[pulled == arm] ** (1 + arm))) for arm in (0, 1))
    return Kept(grown, 1e6 * seconds / CHUNK, max(certified.values()), error)
