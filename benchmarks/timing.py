"""Time two things side by side, so that a noisy machine slows both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def markdown_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
