"""Drive a search on an executor: every worker busy, every result on disk before it is used."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress

from allais.errors import OutOfBounds, RunFailed, RunRefused
from allais.problems import Problem
from allais.searches.asynchronous import Search
from allais.searches.journal import RunJournal
from allais.searches.pool import PATIENCE, Pool, Returned, capacity
from allais.searches.runs import Failures, Pace

Watch = Callable[[Search, list[Returned]], None]
Keep = Callable[[list[Returned]], None]


def drive(
    search: Search,
    problem: Problem,
    executor: Executor,
    *,
    at_once: int | None = None,
    batch: int | None = None,
    journal: RunJournal | None = None,
    failures: Failures | None = None,
    max_runs: float = math.inf,
    max_seconds: float = math.inf,
    patience: float = PATIENCE,
    watch: Watch | None = None,
    keep: Keep | None = None,
) -> None:
    """Ask, run, write down and tell until the search settles or a limit is reached.

    Runs that are still out at the end are given up: a journal that is continued does them again.

    Args:
        search: The search.
        problem: The options.
        executor: Where runs are done.
        at_once: How many runs are done side by side; by default as many as the executor has workers.
        batch: Runs that a worker gets at a time; by default as many as fill a fifth of a second.
        journal: Where finished runs are written.
        failures: What happens when a run fails; by default the search stops.
        max_runs: The most runs.
        max_seconds: The most seconds.
        patience: Seconds to wait for a cluster that cannot be reached.
        watch: Called with the search and the runs that came back.
        keep: Gets all that comes back; with it, what is out when an outcome is refused is awaited, so that a search
            with another policy can use it.
    """
    workers = capacity(executor) if at_once is None else at_once
    policy = Failures() if failures is None else failures
    deadline = time.monotonic() + max_seconds
    pool, pace = Pool(problem, executor, workers, policy.retries, patience), Pace(workers, len(search.arms), batch)
    again = search.out  # what a former process asked for and never got
    try:
        while not search.settled and time.monotonic() < deadline:
            wanted = pool.free * pace.size(search.told)
            runs, again = again[:wanted], again[wanted:]
            pool.share_out(runs + search.ask_some(wanted - len(runs), max_runs))
            if pool.is_idle:
                return
            back = pool.wait(deadline)
            pace.note([outcome for _, outcome in back])
            finished = _taken_in(search, policy, journal, back, keep)
            search.require_rewards(run.arm for run, outcome in finished if outcome.reward is None)
            if watch is not None:
                watch(search, finished)
    except OutOfBounds:
        while keep is not None and not pool.is_idle and time.monotonic() < deadline:
            with suppress(RunFailed):
                _taken_in(search, policy, journal, pool.wait(deadline), keep)
        raise
    finally:
        pool.give_up()


def _taken_in(
    search: Search, policy: Failures, journal: RunJournal | None, back: list[Returned], keep: Keep | None
) -> list[Returned]:
    """Write down what came back, then use it; raise the first reason to stop, once the rest is kept."""
    finished, refused, trouble = _sorted_out(search, policy, back)
    said = _written(journal, search, back, finished, refused)
    if keep is not None:
        keep([*(one for one in finished if one[1].failure is None), *refused])
    for run, outcome in finished:
        search.absorb(run, outcome)
    if trouble is not None:
        raise _explained(trouble, said)
    return finished


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
