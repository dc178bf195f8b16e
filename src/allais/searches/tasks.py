"""What a worker gets at a time: some runs, so many that it has work for a while."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from allais.problems import Problem
from allais.searches.runs import Outcome, Run, perform

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


def perform_task(task: Task) -> list[Outcome]:
    """What a worker does."""
    return task.perform()


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
