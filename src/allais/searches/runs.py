"""A run of an expensive simulator: its seed, how a worker performs it, what a failure counts as, and a log of these."""

from __future__ import annotations

import os
import sysconfig
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from allais._checks import real, whole
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
AT_LEAST = "at least"
MOST_MESSAGE = 200  # characters of an exception's own words in a sentence; a log has all of them


class Run(NamedTuple):
    """One run: its number counts the runs of its arm from 0.

    Attributes:
        arm: The arm's index.
        number: Which run of its arm it is, from 0 on.
        seed: The seed of the run.
    """

    arm: int
    number: int
    seed: int


class Outcome(NamedTuple):
    """What came of a run: a reward, or the reason why there is none.

    Attributes:
        reward: The reward, or None if the run failed.
        seconds: How long the run took.
        failure: Why it failed, in one sentence.
        details: Of a failure, for the log: a traceback, or what a program printed.
        at_least: Of a run that was cut off, what its outcome would have been at least.
    """

    reward: float | None
    seconds: float
    failure: str | None = None
    details: str = ""
    at_least: float | None = None


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
    """What happens when a run fails: after the retries the search stops, leaves it out, or counts it as something.

    A retry has the same seed: another one would leave out whatever outcomes make a run fail. After `then="exclude"` a
    promise holds only if no outcome of the runs that were left out could overturn the answer; else it is withdrawn
    (`BestArm.withdrawn`). With a number, the promise is about outcomes with failures counted as that. With
    `then="at least"` a run that was ended at the `time_limit` of its program counts as at least so many seconds, for
    outcomes that are the run's own duration in seconds; a simulator in Python raises `errors.RunCut(..., at_least=...)`
    for a run that it cuts off, in the unit of outcomes. The promise then holds whatever these runs would have brought.
    Any other failure stops the search.

    Args:
        retries: How often a failed run is tried again.
        then: `"stop"`, `"exclude"`, `"at least"`, or the reward that a failure counts as.

    >>> from allais.searches import Outcome
    >>> Failures(retries=2, then=-100).counted(Outcome(None, 3.0, "it crashed")).reward
    -100.0
    """

    retries: int = 0
    then: str | float = "stop"

    def __post_init__(self) -> None:
        object.__setattr__(self, "retries", whole("retries", self.retries, least=0))
        if self.then not in ("stop", "exclude", AT_LEAST):
            advice = 'Write "stop", "exclude", "at least", or the reward that a failure counts as.'
            object.__setattr__(self, "then", real("what a failure leads to", self.then, advice))

    def counted(self, outcome: Outcome) -> Outcome:
        """The outcome as the policy gets it: a failure raises an error, is left out, or has its reward.

        Args:
            outcome: What came of a run.
        """
        if outcome.failure is None:
            return outcome
        if self.then == "stop" or (self.then == AT_LEAST and outcome.at_least is None):
            raise RunFailed(outcome.failure, outcome.details)
        if self.then == AT_LEAST:
            return outcome
        return outcome._replace(reward=None if self.then == "exclude" else float(self.then), at_least=None)


def perform(problem: Problem, run: Run, retries: int) -> Outcome:
    """Do a run, and again if it fails: what a worker does. Only a result travels back, never an error."""
    started = perf_counter()
    reason = details = ""
    at_least: float | None = None
    for _ in range(retries + 1):
        try:
            reward = problem.run(run.arm, run.seed)
        except RunFailed as error:
            reason, details = _sentence(str(error)), error.details
            at_least = getattr(error, "at_least", None)
        except (Exception, SystemExit) as error:  # whatever a user's function raises
            reason = _sentence(
                f"a simulator must return a number; run {run.number} of {problem.arms[run.arm]!r} (seed {run.seed}) "
                f"raised {_words(error)}{_place(error)}"
            )
            details, at_least = traceback.format_exc(), None
        else:
            return Outcome(reward, perf_counter() - started)
    return Outcome(None, perf_counter() - started, reason, details, at_least)


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


WORK = 0.2  # seconds of a task: some twenty times what the coordinator needs for it
LONGEST = 2.0  # seconds after which a task is handed back as far as it is done: run times may vary
MOST_RUNS = 1_000  # of one task: what a coordinator handles in a tenth of a second
OUT = 0.125  # runs that are out at most, as a share of those told: they are chosen without each other's results
MEMORY = 0.2  # how much the last task counts in the seconds of a run


class Task:
    """Some runs, one after the other.

    What is sent to another process are the arms of these runs only: the names of fifty thousand arms would take
    longer to send than most runs.

    >>> import pickle
    >>> task = Task(Bandit([Bernoulli(0.5)] * 50_000), [Run(49_999, 0, seed=1)], retries=0)
    >>> len(pickle.dumps(task)) < 1_000
    True
    >>> pickle.loads(pickle.dumps(task)).perform()[0].reward == task.perform()[0].reward
    True
    """

    def __init__(self, problem: Problem, runs: Sequence[Run], retries: int) -> None:
        self.problem, self.runs, self.retries = problem, runs, retries

    def perform(self) -> list[Outcome]:
        """What came of the runs, in their order; of the first ones only, if they take long."""
        outcomes, started = [], perf_counter()
        for run in self.runs:
            outcomes.append(perform(self.problem, run, self.retries))
            if perf_counter() - started > LONGEST:
                break
        return outcomes

    def __reduce__(self) -> tuple[Any, ...]:
        arms = sorted({run.arm for run in self.runs})
        part, runs = self.problem.part(arms), self.runs
        if part is not self.problem:
            place = {arm: index for index, arm in enumerate(arms)}
            runs = [run._replace(arm=place[run.arm]) for run in runs]
        return Task, (part, runs, self.retries)


class Pace:
    """How many runs a task has: as many as fill WORK seconds, and few beside what was told.

    With one worker it is one, since a search then repeats to the last bit; how fast runs are must not decide what
    is chosen. A number that is given is taken.
    """

    def __init__(self, workers: int, n_arms: int, batch: int | None = None) -> None:
        self._workers, self._n_arms, self._given = workers, n_arms, batch
        self._seconds: float | None = None  # of a run

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Take note of how long runs took."""
        if not outcomes:
            return
        last = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
        self._seconds = last if self._seconds is None else self._seconds + MEMORY * (last - self._seconds)

    def size(self, told: int) -> int:
        """The runs of the next task.

        >>> pace = Pace(workers=2, n_arms=8)
        >>> pace.note([Outcome(1.0, seconds=0.01)])
        >>> [pace.size(told) for told in (0, 100, 10_000)]
        [1, 6, 20]
        """
        if self._given is not None:
            return self._given
        if self._workers == 1 or self._seconds is None:
            return 1
        # each arm is tried at least once whatever comes back, so that many are no loss
        fair = int(OUT * max(told, self._n_arms) / self._workers)
        return max(min(int(WORK / max(self._seconds, 1e-9)), fair, MOST_RUNS), 1)


TITLE = b"# Failed runs of a search by allais\n"
MOST_TEXT = 1 << 16  # characters of one failure, its end
MOST_BYTES = 1 << 24  # of the whole log: the first failures say most


class FailureLog:
    """A file that is made with the first failure; one of this name that somebody else made is never touched."""

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(f"{journal.stem}.failures.log").absolute()
        try:
            with open(self.path, "rb") as file:
                beginning = file.read(len(TITLE))
        except FileNotFoundError:
            return
        except OSError as error:
            raise ValueError(
                f"failed runs are written to {self.path}, which cannot be read ({error.strerror}). Move it away."
            ) from None
        if beginning and beginning != TITLE:
            raise ValueError(
                f"failed runs are written to {self.path}, which exists and is something else. Move it away."
            )

    def write(self, arm: object, run: Run, failure: str, details: str) -> str:
        """Append a failure; the sentence that says where its details are, if they could be written."""
        when = time.strftime("%Y-%m-%d %H:%M:%S")
        entry = f"\n{when} run {run.number} of {arm!r}, seed {run.seed}\n{failure}\n{details[-MOST_TEXT:].rstrip()}\n"
        try:
            with open(self.path, "ab") as file:
                if file.tell() > MOST_BYTES:
                    return ""
                file.write((b"" if file.tell() else TITLE) + entry.encode(errors="replace"))
        except OSError:  # a failure that cannot be logged is still said
            return ""
        if not details:
            return ""
        return f"{'The traceback' if details.startswith('Traceback') else 'What it printed'} is in {self.path}."
