"""A run of an expensive simulator: its seed, how a worker performs it, and what a failure counts as."""

from __future__ import annotations

import os
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from allais._checks import real
from allais.errors import RunFailed
from allais.problems import Problem
from allais.problems.program import MOST_SEED

# Odd, so that seeds of an arm differ until there are 2^31; and near 2^32 / golden ratio, so that they scatter.
STEP = 0x9E3779B1

# Code that a user did not write: a failure is shown where it left the user's own.
ELSEWHERE = (
    *(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "purelib", "platlib")),
    f"{Path(__file__).parents[1]}{os.sep}",
    "<frozen ",
)
MOST_MESSAGE = 200  # characters of an exception's own words in a sentence; a log has all of them


class Run(NamedTuple):
    """One run: its number counts the runs of its arm from 0."""

    arm: int
    number: int
    seed: int


class Outcome(NamedTuple):
    """What came of a run: a reward, or the reason why there is none."""

    reward: float | None
    seconds: float
    failure: str | None = None
    details: str = ""  # of a failure, for the log: a traceback, or what a program printed


class Seeds:
    """The seed of every run, from one root: it depends on arm and number only, never on scheduling.

    With `common` it depends on the number only: run r of every arm meets the same random numbers.

    >>> seeds = Seeds(np.random.SeedSequence(1), n_arms=2, common=True)
    >>> seeds.of(0, 5) == seeds.of(1, 5)
    True
    """

    def __init__(self, root: np.random.SeedSequence, n_arms: int, *, common: bool = False) -> None:
        self._root, self._common = root, common
        self._first: dict[int, int] = {}  # of each arm that was asked for: there may be many thousands
        self.choices = self._child(n_arms)  # for the policy's own draws

    def _child(self, key: int) -> np.random.SeedSequence:
        root = self._root
        return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, key), pool_size=root.pool_size)

    def of(self, arm: int, number: int) -> int:
        """The seed of a run, distinct within an arm."""
        arm = 0 if self._common else arm
        first = self._first.get(arm)
        if first is None:
            first = self._first[arm] = int(self._child(arm).generate_state(1)[0])
        return (first + number * STEP) % MOST_SEED


@dataclass(frozen=True)
class Failures:
    """What happens when a run fails: it is tried again, and `then` stops, is left out, or counts as a reward.

    A retry has the same seed: another one would leave out whatever outcomes make a run fail. After `then="exclude"` a
    promise holds only if no outcome of the runs that were left out could overturn the answer; else it is withdrawn
    (`BestArm.withdrawn`). With a number, the promise is about outcomes with failures counted as that.

    >>> from allais.searches import Outcome
    >>> Failures(retries=2, then=-100).counted(Outcome(None, 3.0, "it crashed")).reward
    -100.0
    """

    retries: int = 0
    then: str | float = "stop"

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise ValueError(f"retries must be a whole number, 0 or more; got {self.retries!r}. Give an int.")
        if self.then not in ("stop", "exclude"):
            advice = 'Write "stop", "exclude", or the reward that a failure counts as.'
            object.__setattr__(self, "then", real("what a failure leads to", self.then, advice))

    def counted(self, outcome: Outcome) -> Outcome:
        """The outcome as it is told: a failure raises, is left out, or has its reward."""
        if outcome.failure is None:
            return outcome
        if self.then == "stop":
            raise RunFailed(outcome.failure, outcome.details)
        return outcome if self.then == "exclude" else outcome._replace(reward=float(self.then))


def perform(problem: Problem, run: Run, retries: int) -> Outcome:
    """Do a run, and again if it fails: what a worker does. Only a result travels back, never an error."""
    started = perf_counter()
    reason = details = ""
    for _ in range(retries + 1):
        try:
            reward = problem.run(run.arm, run.seed)
        except RunFailed as error:
            reason, details = _sentence(str(error)), error.details
        except (Exception, SystemExit) as error:  # whatever a user's function raises
            reason = _sentence(
                f"a simulator must return a number; run {run.number} of {problem.arms[run.arm]!r} (seed {run.seed}) "
                f"raised {_words(error)}{_place(error)}"
            )
            details = traceback.format_exc()
        else:
            return Outcome(reward, perf_counter() - started)
    return Outcome(None, perf_counter() - started, reason, details)


def _words(error: BaseException) -> str:
    """An exception on one line."""
    said = " ".join(str(error).split())
    said = said if len(said) <= MOST_MESSAGE else said[: MOST_MESSAGE - 3] + "..."
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _place(error: BaseException) -> str:
    """Where the user's code was when it failed."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame for frame in frames if not frame.filename.startswith(ELSEWHERE) and not frame.filename.endswith(".pyx")
    ]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
