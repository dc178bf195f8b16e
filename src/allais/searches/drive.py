"""Drive a search on an executor: every worker busy, every result on disk before it is used."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from queue import Empty, SimpleQueue

from allais.errors import RunFailed, RunRefused
from allais.problems import Problem
from allais.searches.asynchronous import Search
from allais.searches.cluster import PATIENCE, Cluster, threads_of
from allais.searches.journal import RunJournal
from allais.searches.runs import Failures, Outcome, Run, perform

GLANCE = 0.5  # seconds between looks at the clock and at the view, while nothing comes back
MOST_LOSSES = 3  # how often a run is sent out again after its worker died

Returned = tuple[Run, Outcome]
Watch = Callable[[Search, list[Returned]], None]


def drive(
    search: Search,
    problem: Problem,
    executor: Executor,
    *,
    at_once: int | None = None,
    journal: RunJournal | None = None,
    failures: Failures | None = None,
    max_runs: float = math.inf,
    max_seconds: float = math.inf,
    patience: float = PATIENCE,
    watch: Watch | None = None,
) -> None:
    """Ask, run, write down and tell until the search settles or a limit is reached.

    Runs that are still out then are given up: a journal that is continued does them again. A cluster that
    cannot be reached is waited for as long as `patience` says, in seconds.
    """
    most_out = capacity(executor) if at_once is None else at_once
    policy = Failures() if failures is None else failures
    deadline = time.monotonic() + max_seconds
    pool = _Pool(problem, executor, policy.retries, patience)
    again = deque(search.out)  # what a former process asked for and never got
    try:
        while not search.settled and time.monotonic() < deadline:
            while pool.takes_more(most_out) and (run := _next(search, again, max_runs)) is not None:
                pool.send(run)
            if pool.is_idle:
                return
            back = pool.wait(deadline)
            finished, refused, trouble = _sorted_out(search, policy, back)
            said = _written(journal, search, back, finished, refused)
            for run, outcome in finished:
                search.absorb(run, outcome)
            if trouble is not None:  # what came back beside it is kept
                raise _explained(trouble, said)
            search.require_rewards(run.arm for run, outcome in finished if outcome.reward is None)
            if watch is not None:
                watch(search, finished)
    finally:
        pool.give_up()


def perform_all(
    problem: Problem, executor: Executor, runs: Sequence[Run], retries: int, patience: float = PATIENCE
) -> list[Returned]:
    """Do a list of runs, and give back what came of each, in their order."""
    pool, waiting, back = _Pool(problem, executor, retries, patience), deque(runs), dict[Run, Outcome]()
    most_out = capacity(executor)
    try:
        while len(back) < len(runs):
            while waiting and pool.takes_more(most_out):
                pool.send(waiting.popleft())
            back.update(pool.wait(math.inf))
    finally:
        pool.give_up()
    return [(run, back[run]) for run in runs]


def _sorted_out(
    search: Search, policy: Failures, back: list[Returned]
) -> tuple[list[Returned], list[Returned], RunFailed | None]:
    """What can be told, what was brought but cannot be, and the first reason to stop."""
    finished: list[Returned] = []
    refused: list[Returned] = []
    trouble: RunFailed | None = None
    for run, outcome in back:
        try:
            counted = search.admitted(run, policy.counted(outcome))
        except RunRefused as error:
            trouble = trouble or error
            if outcome.failure is None and math.isfinite(outcome.reward or 0.0):
                refused.append((run, outcome))
        except RunFailed as error:
            trouble = trouble or error
        else:
            finished.append((run, counted))
    return finished, refused, trouble


def _written(
    journal: RunJournal | None, search: Search, back: list[Returned], finished: list[Returned], refused: list[Returned]
) -> str:
    """Write down all that came back; where the details of the first failure are, in a sentence."""
    if journal is None:
        return ""
    if finished:
        journal.write(finished, search.asked)
    if refused:
        journal.write(refused, search.asked, refused=True)
    where = [
        journal.log.write(search.arms[run.arm], run, outcome.failure, outcome.details)
        for run, outcome in back
        if outcome.failure is not None
    ]
    return next(iter(where), "")


def _explained(trouble: RunFailed, said: str) -> RunFailed:
    """An error that says where its details are, or has them."""
    if said and trouble.details:
        return type(trouble)(f"{trouble} {said}", trouble.details)
    if trouble.details:
        trouble.add_note(trouble.details)
    return trouble


def _next(search: Search, again: deque[Run], max_runs: float) -> Run | None:
    if again:
        return again.popleft()
    return search.ask(max_runs)


def capacity(executor: Executor) -> int:
    """How many runs an executor does at the same time."""
    workers = getattr(executor, "_max_workers", None)  # of threads and processes
    if workers is None and hasattr(executor, "_client"):  # of dask.distributed
        workers = threads_of(executor._client)
        if not workers:
            Cluster(executor, patience=0.0).look(now=True)  # says why
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(
            f"the number of runs at once must be known; {type(executor).__name__} tells {workers!r}. Give workers=."
        )
    return workers


class _Pool:
    """The runs that are out on an executor."""

    def __init__(self, problem: Problem, executor: Executor, retries: int, patience: float) -> None:
        self._problem, self._executor, self._retries = problem, executor, retries
        self._cluster = Cluster(executor, patience)
        self._out: dict[Future[Outcome], Run] = {}
        self._stranded: deque[Run] = deque()  # lost with the cluster, to be sent out when it is back
        self._back: SimpleQueue[Future[Outcome]] = SimpleQueue()  # callbacks know every executor's futures
        self._losses: Counter[Run] = Counter()

    @property
    def size(self) -> int:
        return len(self._out) + len(self._stranded)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is out and nothing could be sent later: a cluster that is lost may come back."""
        return not self.size and self._cluster.is_well

    def takes_more(self, most_out: int) -> bool:
        return self._cluster.is_well and self.size < most_out

    def send(self, run: Run) -> None:
        try:
            future = self._executor.submit(perform, self._problem, run, self._retries)
        except BrokenExecutor as error:
            raise _broken(error) from error
        except Exception:
            if self._cluster.look(now=True):
                raise
            self._stranded.append(run)
            return
        self._out[future] = run
        future.add_done_callback(self._back.put)

    def wait(self, deadline: float) -> list[Returned]:
        """All that has come back, after a short wait for the first; one `fsync` serves them all."""
        back = []
        try:
            back.append(self._back.get(timeout=max(0.0, min(GLANCE, deadline - time.monotonic()))))
            while True:
                back.append(self._back.get_nowait())
        except Empty:
            pass
        finished = [(self._out.pop(future), future) for future in back]
        returned = [(run, outcome) for run, future in finished if (outcome := self._outcome(run, future)) is not None]
        # a result from a cluster that was lost says that it is back
        if (not returned or not self._cluster.is_well) and self._cluster.look(now=bool(returned)):
            while self._stranded and self._cluster.is_well:
                self.send(self._stranded.popleft())
        return returned

    def _outcome(self, run: Run, future: Future[Outcome]) -> Outcome | None:
        """What a run brought; None if it was lost with its worker, and is sent out again."""
        error = None if future.cancelled() else future.exception()
        if error is None and not future.cancelled():
            return future.result()
        if isinstance(error, BrokenExecutor):
            raise _broken(error) from error
        self._stranded.append(run)
        if not self._cluster.look(now=True):
            return None
        self._stranded.pop()
        self._losses[run] += 1
        if self._losses[run] < MOST_LOSSES:
            self.send(run)
            return None
        arm = self._problem.arms[run.arm]
        return Outcome(None, 0.0, f"a worker must return a result; the run of {arm!r} was lost {MOST_LOSSES} times "
                       f"({type(error).__name__}: {error}).")  # fmt: skip

    def give_up(self) -> None:
        for future in self._out:
            future.cancel()


def _broken(error: BaseException) -> RunFailed:
    return RunFailed(
        f"the workers must stay alive; the executor is broken ({error}). Check memory, and continue from the journal."
    )
