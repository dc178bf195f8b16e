"""Run experiments side by side, each in a process of its own; what is finished is kept."""

from __future__ import annotations

import multiprocessing
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from pathlib import Path
from typing import Any

from allais._system.processes import process_pool
from allais.errors import RunFailed
from allais.paper.experiment import Experiment
from allais.paper.experiments import BY_NAME
from allais.paper.findings import ExperimentResult
from allais.paper.store import Stored, keep, kept

Watch = Callable[[str, float], None]  # an experiment, and the share of it that is done
TICK = 0.2  # seconds between looks at what workers tell


class ExperimentFailed(RunFailed):
    """An experiment ended in an error; others may be finished and kept."""


def run_experiments(
    experiments: Sequence[Experiment],
    scale: str,
    seed: int,
    folder: Path,
    workers: int = 1,
    *,
    resume: bool = False,
    watch: Watch = lambda name, share: None,
) -> Iterator[Stored]:
    """Give each result when it is there and kept; the same numbers for any number of workers."""
    todo = []
    for experiment in experiments:
        old = kept(folder, experiment.name, scale, seed) if resume else None
        if old is None:
            todo.append(experiment)
        else:
            watch(experiment.name, 1.0)
            yield old
    # side by side the longest first, so that no core waits for the last one; alone the shortest, so that most are done
    todo.sort(key=lambda experiment: experiment.seconds if workers == 1 else -experiment.seconds)
    found = _one_by_one(todo, scale, seed, watch) if workers == 1 else _side_by_side(todo, scale, seed, workers, watch)
    for name, result, seconds in found:
        stored = Stored(name, scale, seed, seconds, result)
        keep(folder, stored)
        yield stored


def _one_by_one(
    experiments: Sequence[Experiment], scale: str, seed: int, watch: Watch
) -> Iterator[tuple[str, ExperimentResult, float]]:
    for experiment in experiments:
        name = experiment.name
        result, seconds = _timed(experiment, scale, seed, lambda share, name=name: watch(name, share))  # type: ignore[misc]
        yield name, result, seconds


def _timed(
    experiment: Experiment, scale: str, seed: int, done: Callable[[float], None]
) -> tuple[ExperimentResult, float]:
    start = time.perf_counter()
    try:
        result = experiment.result(scale, seed, done)
    except Exception as error:  # no user's mistake: the settings are ours
        raise ExperimentFailed(f"the experiment {experiment.name} failed ({type(error).__name__}: {error}).") from error
    done(1.0)
    return result, time.perf_counter() - start


def _side_by_side(
    experiments: Sequence[Experiment], scale: str, seed: int, workers: int, watch: Watch
) -> Iterator[tuple[str, ExperimentResult, float]]:
    context = multiprocessing.get_context("spawn")  # the caller's threads are none of a worker's business
    with context.Manager() as manager, process_pool(workers, context) as pool:
        told: Any = manager.Queue()
        waiting: dict[Future[tuple[ExperimentResult, float]], str] = {
            pool.submit(_in_worker, experiment.name, scale, seed, told): experiment.name for experiment in experiments
        }
        while waiting:
            finished, _ = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
            _pass_on(told, watch)
            for future in finished:
                name = waiting.pop(future)
                try:
                    result, seconds = future.result()
                except BrokenExecutor as error:  # a worker was killed, for its memory perhaps
                    raise ExperimentFailed(f"the worker of {name} died ({error}).") from error
                yield name, result, seconds


def _in_worker(name: str, scale: str, seed: int, told: Any) -> tuple[ExperimentResult, float]:
    return _timed(BY_NAME[name], scale, seed, lambda share: told.put((name, share)))


def _pass_on(told: Any, watch: Watch) -> None:
    while True:
        try:
            watch(*told.get_nowait())
        except queue.Empty:
            return
