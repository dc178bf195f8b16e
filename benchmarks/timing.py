"""Time and memory: things side by side, so that a noisy machine slows both, and what a process takes by itself."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Process, get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def best_of(rounds: int, *tasks: Callable[[], object]) -> list[float]:
    """The best time of each task, in seconds; the tasks take turns."""
    best = [float("inf")] * len(tasks)
    for _ in range(rounds):
        for index, task in enumerate(tasks):
            start = perf_counter()
            task()
            best[index] = min(best[index], perf_counter() - start)
    return best


def least_cpu(rounds: int, task: Callable[[], object]) -> float:
    """The least CPU time of a task, in seconds, since a machine may have other work."""
    best = float("inf")
    for _ in range(rounds):
        start = process_time()
        task()
        best = min(best, process_time() - start)
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


def apart(task: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a task returns in a process of its own, and the most memory, in MB, that this process has held."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(task, *arguments).result(), pool.submit(most_megabytes).result()


def most_megabytes() -> float:
    """The most megabytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def megabytes() -> float:
    """The megabytes that this process holds now; Linux only."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
