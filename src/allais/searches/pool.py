"""The tasks that are out on an executor: sent, awaited, and sent again where a worker died."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from queue import Empty, SimpleQueue
from typing import Any

from allais.errors import RunFailed
from allais.problems import Problem
from allais.searches.runs import Outcome, Pace, Run, Task

LOOK_EVERY = 2.0  # seconds between questions, while nothing comes back
ANSWER_WITHIN = 5.0  # seconds
PATIENCE = 60.0  # seconds: a worker that is started anew takes a few


class ClusterLost(RunFailed):
    """The workers cannot be reached, and patience is at its end."""

    def __init__(self, sentence: str, since: float = math.nan) -> None:
        super().__init__(sentence)
        self.since = since  # on the monotonic clock


class Cluster:
    """What is known about an executor's workers, and how long the search waits for them."""

    def __init__(self, executor: Executor, patience: float) -> None:
        self._client: Any = getattr(executor, "_client", None)  # of dask.distributed; others raise by themselves
        self._address = str(getattr(getattr(self._client, "scheduler", None), "address", "the scheduler"))
        self._patience = patience
        self._looked = time.monotonic()
        self._since = math.inf  # when the trouble began
        self.is_well = True

    def look(self, *, now: bool = False) -> bool:
        """Whether runs can be sent. The scheduler is asked at times; trouble is warned of, and raised in the end."""
        clock = time.monotonic()
        if self._client is None or not (now or clock - self._looked >= LOOK_EVERY):
            return self.is_well
        trouble = self._trouble()
        self._looked = time.monotonic()
        if trouble is None:
            if not self.is_well:
                self._say(f"the cluster at {self._address} is back; the search goes on.")
            self.is_well, self._since = True, math.inf
            return True
        rule, advice = trouble
        if self.is_well:
            self.is_well, self._since = False, clock
            if self._patience > 0.0:
                most = "until it is back" if math.isinf(self._patience) else f"{self._patience:g} s at most"
                self._say(f"{rule}; the search waits, {most}.")
        if self._looked - self._since >= self._patience or self._client.status in ("closing", "closed"):
            raise ClusterLost(f"{rule}. {advice}", self._since)
        return False

    def _say(self, sentence: str) -> None:
        # with the time, since it may be read the next morning; and no warning is shown twice, but this may come twice
        warnings.warn(f"{time.strftime('%H:%M:%S')}: {sentence}", stacklevel=5)

    def _trouble(self) -> tuple[str, str] | None:
        """The rule that is broken, and what to do."""
        silent = f"a scheduler must answer; {self._address} no longer does", "Start it again, and its workers."
        if self._client.status != "running":
            return silent
        threads = threads_of(self._client)
        if threads is None:
            return silent
        if threads:
            return None
        return (
            f"a cluster must have workers; {self._address} has none left",
            f"Start some: dask worker {self._address}.",
        )


def threads_of(client: Any) -> int | None:
    """How many runs a Dask cluster does at the same time; None where its scheduler does not answer."""
    try:
        return sum(client.sync(client.scheduler.ncores, callback_timeout=ANSWER_WITHIN).values())
    except Exception:  # whatever the connection died of; a client that was closed has no scheduler
        return None


GLANCE = 0.5  # seconds between looks at the clock and at the view, while nothing comes back
MOST_LOSSES = 3  # how often a run is sent out again after its worker died

Returned = tuple[Run, Outcome]


class Pool:
    """The tasks that are out, at most `workers` of them at a time."""

    def __init__(self, problem: Problem, executor: Executor, workers: int, retries: int, patience: float) -> None:
        self._problem, self._executor, self._workers, self._retries = problem, executor, workers, retries
        self._cluster = Cluster(executor, patience)
        self._out: dict[Future[list[Outcome]], Sequence[Run]] = {}
        self._stranded: deque[Sequence[Run]] = deque()  # lost with the cluster, to be sent out when it is back
        self._back: SimpleQueue[Future[list[Outcome]]] = SimpleQueue()  # callbacks know every executor's futures
        self._losses: Counter[Run] = Counter()

    @property
    def free(self) -> int:
        """How many more tasks can be sent now."""
        return max(self._workers - len(self._out) - len(self._stranded), 0) if self._cluster.is_well else 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is out and nothing could be sent later: a cluster that is lost may come back."""
        return not self._out and not self._stranded and self._cluster.is_well

    def share_out(self, runs: Sequence[Run]) -> None:
        """Send runs to all workers that are free, to each as many."""
        tasks = min(self.free, len(runs))
        for task in range(tasks):
            self.send(runs[len(runs) * task // tasks : len(runs) * (task + 1) // tasks])

    def send(self, runs: Sequence[Run]) -> None:
        """Send one task."""
        try:
            future = self._executor.submit(Task.perform, Task(self._problem, runs, self._retries))
        except BrokenExecutor as error:
            raise _broken(error) from error
        except Exception:
            if self._cluster.look(now=True):
                raise
            self._stranded.append(runs)
            return
        self._out[future] = runs
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
        returned = [one for future in back for one in self._brought(self._out.pop(future), future)]
        # a result from a cluster that was lost says that it is back
        if (not returned or not self._cluster.is_well) and self._cluster.look(now=bool(returned)):
            while self._stranded and self._cluster.is_well:
                self.send(self._stranded.popleft())
        return returned

    def _brought(self, runs: Sequence[Run], future: Future[list[Outcome]]) -> list[Returned]:
        """What a task brought; runs that it did not do, or lost with its worker, are sent out again."""
        error = None if future.cancelled() else future.exception()
        if error is None and not future.cancelled():
            outcomes = future.result()
            if len(outcomes) < len(runs):
                self.send(runs[len(outcomes) :])
            return list(zip(runs, outcomes, strict=False))
        if isinstance(error, BrokenExecutor):
            raise _broken(error) from error
        self._stranded.append(runs)
        if not self._cluster.look(now=True):
            return []
        self._stranded.pop()
        given_up = []
        for run in runs:  # each on its own: one of them may be what the worker died of
            self._losses[run] += 1
            if self._losses[run] < MOST_LOSSES:
                self.send([run])
            else:
                given_up.append((run, self._lost(run, error)))
        return given_up

    def _lost(self, run: Run, error: BaseException | None) -> Outcome:
        arm = self._problem.arms[run.arm]
        reason = f"a worker must return a result; the run of {arm!r} was lost {MOST_LOSSES} times"
        return Outcome(None, 0.0, f"{reason} ({type(error).__name__}: {error}).")

    def give_up(self) -> None:
        """Let go of what is out."""
        for future in self._out:
            future.cancel()


def perform_all(
    problem: Problem, executor: Executor, runs: Sequence[Run], retries: int, patience: float = PATIENCE
) -> list[Returned]:
    """Do a list of runs, and give back what came of each, in their order."""
    workers, back = capacity(executor), dict[Run, Outcome]()
    pool, pace = Pool(problem, executor, workers, retries, patience), Pace(workers, problem.n_arms)
    sent = 0
    try:
        while len(back) < len(runs):
            size = pool.free * pace.size(len(runs))
            pool.share_out(runs[sent : sent + size])
            sent = min(sent + size, len(runs))
            returned = pool.wait(math.inf)
            pace.note([outcome for _, outcome in returned])
            back.update(returned)
    finally:
        pool.give_up()
    return [(run, back[run]) for run in runs]


def capacity(executor: Executor) -> int:
    """How many tasks an executor does at the same time."""
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


def _broken(error: BaseException) -> RunFailed:
    return RunFailed(
        f"the workers must stay alive; the executor is broken ({error}). Check memory, and continue from the journal."
    )
