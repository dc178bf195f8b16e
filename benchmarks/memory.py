"""What a learner keeps of continuous rewards: how much memory, how fast, and how near its values are."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import process_time
from typing import NamedTuple

import numpy as np

from allais import WUCB, Bounded, Preference, TverskyKahneman
from allais.report.markup import markdown_table

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
    exact, bounded = _apart(10**6, True), _apart(10**6, False)
    long = _apart(10**7, False)
    rows = [
        (
            "memory of two arms, 10^6 choices",
            f"{bounded.megabytes:.1f} MB",
            f"every outcome kept {exact.megabytes:.0f} MB",
            f"{bounded.megabytes / exact.megabytes:.3f}",
            "at most 0.1",
            _verdict(bounded.megabytes <= 0.1 * exact.megabytes),
        ),
        (
            "memory of two arms, 10^7 choices",
            f"{long.megabytes:.1f} MB",
            f"at 10^6 {bounded.megabytes:.1f} MB",
            f"{long.megabytes / bounded.megabytes:.2f}",
            "at most 1.5",
            _verdict(long.megabytes <= 1.5 * bounded.megabytes),
        ),
        (
            "ask + tell at 10^6 choices",
            f"{bounded.microseconds:.1f} us",
            f"every outcome kept {exact.microseconds:.1f} us",
            f"{bounded.microseconds / exact.microseconds:.2f}",
            "at most 1.1",
            _verdict(bounded.microseconds <= 1.1 * exact.microseconds),
        ),
    ]
    for power, one in ((6, bounded), (7, long)):
        rows.append(
            (
                f"error of a value of about 22 at 10^{power} choices",
                f"{one.error:.1e}",
                f"certified {one.certified:.1e}",
                f"{one.error / one.certified:.3f}",
                "at most 1",
                _verdict(one.error <= one.certified),
            )
        )
    header = ("what", "bounded", "compared with", "ratio", "claim", "holds")
    return "## Memory of learners\n\n" + markdown_table(header, rows)


def _verdict(holds: bool) -> str:
    return "yes" if holds else "NO"


def _apart(choices: int, exact: bool) -> Kept:
    """Measured in a process of its own, so that nothing else is counted."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, choices, exact).result()


def _resident() -> float:
    """Megabytes that this process holds; Linux only."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


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
                before = _resident()
            choice = learner.ask()
            pulled[at] = choice.arm == 1
            learner.tell(choice, 50.0 * (u if choice.arm == 0 else u * u))
        seconds = process_time() - began
    grown = _resident() - before - pulled.nbytes / 1e6
    values, certified = learner.value(), learner.memory_error()
    u = np.random.default_rng(1).random(choices)
    error = max(abs(values[arm] - PEOPLE.estimate(50.0 * u[pulled == arm] ** (1 + arm))) for arm in (0, 1))
    return Kept(grown, 1e6 * seconds / CHUNK, max(certified.values()), error)
