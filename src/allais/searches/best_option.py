"""Search the best option of an expensive simulator: on many workers, none of its runs lost."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import numpy as np

from allais._checks import Seed, positive, root_of, whole
from allais.errors import OutOfBounds, RunFailed, RunRefused
from allais.learner.changes import with_rewards
from allais.learner.unfinished import require_cuts
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import RewardsOfArms
from allais.problems import Problem
from allais.samples.cuts import Cuts
from allais.searches.asynchronous import Search, with_common_numbers, with_indifference
from allais.searches.journal import RunJournal, going_on, identity, offered
from allais.searches.pool import PATIENCE, Pool, Returned, capacity
from allais.searches.runs import AT_LEAST, Failures, Pace
from allais.simulation.best_arm import BestArm, Origin, answer_of, stopping

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
            search.require_rewards(run.arm for run, outcome in finished if outcome.reward is None is outcome.at_least)
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
    finished: list[Returned] = []
    refused: list[Returned] = []  # what was brought, but cannot be told
    trouble: RunFailed | None = None
    for run, outcome in back:
        try:
            finished.append((run, search.admitted(run, policy.counted(outcome))))
        except RunFailed as error:
            trouble = trouble or error
            if isinstance(error, RunRefused) and outcome.failure is None and math.isfinite(outcome.reward or 0.0):
                refused.append((run, outcome))
    said = "" if journal is None else _written(journal, search, back, finished, refused)
    if keep is not None:
        keep([*(one for one in finished if one[1].failure is None), *refused])
    for run, outcome in finished:
        search.absorb(run, outcome)
    if trouble is not None and said and trouble.details:
        raise type(trouble)(f"{trouble} {said}", trouble.details)
    if trouble is not None:
        if trouble.details:
            trouble.add_note(trouble.details)
        raise trouble
    return finished


def _written(
    journal: RunJournal, search: Search, back: list[Returned], finished: list[Returned], refused: list[Returned]
) -> str:
    """Write down all that came back; where the details of the first failure are, in a sentence."""
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


def search(
    policy: Policy,
    problem: Problem,
    *,
    seed: Seed,
    executor: Executor | None = None,
    workers: int | None = None,
    batch: int | None = None,
    journal: str | Path | None = None,
    failures: Failures | None = None,
    common_random_numbers: bool = False,
    indifference: float | None = None,
    wider: RewardsOfArms | None = None,
    max_runs: int | None = None,
    max_hours: float | None = None,
    patience: float = PATIENCE,
    watch: Watch | None = None,
    exact: bool = False,
) -> BestArm:
    """The best option of an expensive problem: run after run until the policy settles, or until a limit.

    Runs are done by workers side by side, and the guarantee holds whatever order results come in
    (docs/theory/asynchronous.md). Each run has a seed of its own, from `seed`, its arm and its number. A worker that
    dies, or a search that is killed, loses the runs that were not yet reported, and no others. If the policy has
    changed since the journal was written, or options were added after the others (`finer`), the search begins anew and
    uses the finished runs instead of repeating them.

    Args:
        policy: A policy that looks for the best arm.
        problem: The options, such as a `Simulator` or a `Program`.
        seed: The seed of choices and runs.
        executor: Where runs are done, by the `concurrent.futures` protocol: threads, processes, or Dask's
            `client.get_executor()`; by default threads.
        workers: How many runs are done side by side; by default as many as the executor has, or one thread.
        batch: Runs that a worker gets at a time; by default as many as fill a fifth of a second, and one where there is
            one worker, so that its search repeats to the last bit.
        journal: The file that every reported run is written to before it is used; the next call continues from it.
        failures: What happens when a run fails; by default the search stops.
        common_random_numbers: Whether run r of every option has the same seed.
        indifference: An option within so much of the best will do, in the unit of outcomes; it sets the policy's
            tolerance.
        wider: Rewards to go on with when an outcome lies beyond the declared ones, which else stops the search; every
            finished run is used again.
        max_runs: The most runs; None for no limit.
        max_hours: The most hours; None for no limit.
        patience: Seconds to wait for a cluster that is silent or has no workers left: 0 stops at once, `math.inf`
            never.
        watch: Called with the search and the runs that came back, such as a `report.LiveView`.
        exact: Whether to keep every outcome, also where an arm has more than 16,384 distinct ones.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> with ThreadPoolExecutor(4) as threads:
    ...     answer = search(LUCB(Bounded(0, 1), delta=0.05), problem, seed=1, executor=threads, journal="runs.jsonl")
    >>> answer.arm, answer.settled
    (0, True)
    """
    policy = stopping(policy, problem, "search")
    common = common_random_numbers or getattr(policy, "common_random_numbers", False)
    if common:
        policy = with_common_numbers(policy)
    if indifference is not None:
        policy = with_indifference(policy, indifference)
    wide = None if wider is None else with_rewards(policy, wider)
    limit = np.inf if max_runs is None else whole("max_runs", max_runs)
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not patience >= 0.0:
        raise ValueError(f"patience must be a number of seconds, 0 or more; got {patience!r}. math.inf waits forever.")
    hours = np.inf if max_hours is None else positive("max_hours", max_hours)
    if failures is not None and failures.then == AT_LEAST:
        require_cuts(policy, (0.0, math.inf), Cuts())
    at_once = None if workers is None else whole("workers", workers)
    size = None if batch is None else whole("batch", batch)
    started, root = time.monotonic(), root_of(seed)
    kept: list[Returned] = []  # for a search that begins anew without a journal

    def driven(policy: Policy, wide: Policy | None) -> tuple[Search, bool]:
        progress = Search(policy, problem.arms, root, exact=exact, common_random_numbers=common)
        with ExitStack() as stack:
            # the caller's own executor is not shut down here
            pool = stack.enter_context(ThreadPoolExecutor(at_once or 1)) if executor is None else executor
            book = None
            if journal is None:
                progress.restart(dict(kept))
            else:
                known_as = partial(identity, problem, policy, root, common=common)
                book = stack.enter_context(RunJournal(Path(journal), known_as(), lambda arms: known_as(arms=arms)))
                if wide is not None:
                    book.require_admitted()
                book.repeat(progress)
            before = progress.told
            drive(
                progress,
                problem,
                pool,
                at_once=at_once,
                batch=size,
                journal=book,
                failures=failures,
                max_runs=limit,
                max_seconds=3600.0 * hours - (time.monotonic() - started),
                patience=patience,
                watch=watch,
                keep=None if wide is None else kept.extend if book is None else lambda returned: None,
            )
        return progress, before > 0

    try:
        progress, continued = driven(policy, wide)
    except OutOfBounds as error:
        if wide is None:
            raise offered(error) from None
        warnings.warn(going_on(error, wide, None if journal is not None else len(kept)), stacklevel=2)
        progress, continued = driven(wide, None)
    origin = Origin.since(started, root, progress.run_seconds, continued=continued)
    learner = progress.learner
    past = progress.history.up_to(learner.samples, (learner.pulls, learner.intervals()))
    return answer_of(learner, progress.settled, past, origin, tuple(progress.failures), dict(progress.excluded))
