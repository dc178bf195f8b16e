"""Time two things side by side, so that a noisy machine slows both."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import Process
from time import perf_counter


def best_of(rounds: int, *tasks: Callable[[], object]) -> list[float]:
    """The best time of each task, in seconds; the tasks take turns."""
    best = [float("inf")] * len(tasks)
    for _ in range(rounds):
        for index, task in enumerate(tasks):
            start = perf_counter()
            task()
            best[index] = min(best[index], perf_counter() - start)
    return best


def fastest(rounds: int, *tasks: Callable[[], float]) -> list[float]:
    """The best speed of each task, which measures itself; the tasks take turns."""
    found = [[task() for task in tasks] for _ in range(rounds)]
    return [max(speeds) for speeds in zip(*found, strict=True)]


def bare_speed(task: Callable[[], object], times: int, workers: int) -> float:
    """How often a second so many bare processes do a task: what the cores could give at this moment."""
    processes = [Process(target=_repeat, args=(task, times)) for _ in range(workers)]
    start = perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return workers * times / (perf_counter() - start)


def _repeat(task: Callable[[], object], times: int) -> None:
    for _ in range(times):
        task()
