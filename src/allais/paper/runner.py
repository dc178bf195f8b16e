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
from allais.paper.store import Stored, keep

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
    watch: Watch = lambda name, share: None,
) -> Iterator[Stored]:
    """Run them in this order; each result is kept when it is there, and the same for any number of workers.

    `watch` hears of an experiment with a share of 0 when it starts, and of 1 when it is done.
    """
    if workers == 1:
        found = _one_by_one(experiments, scale, seed, watch)
    else:
        found = _side_by_side(experiments, scale, seed, workers, watch)
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
    done(0.0)
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
