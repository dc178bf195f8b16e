"""Pools: every option of a simulator run many times, once, under common seeds; repetitions draw from them.

A draw from a pool is a draw from its empirical distribution, whose value is known exactly. So a hundred repetitions
cost no run of the simulator, and whether an answer is right is no matter of opinion. Row r of a pool was run with one
seed for all options: drawing the same rows for all options is what common random numbers do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from allais import Preference
from allais._checks import FloatArray
from allais.problems import Problem
from benchmarks import simulators

KEPT = Path("build/search")
ROWS = {"inventory": 20_000, "emergency": 1_500, "flow line": 512}
DRAWN = 1 << 20  # rows that a repetition with common random numbers can use


class Pool(Problem):
    """Options whose outcomes are drawn from the rows of a table, with replacement; with `common`, the same for all."""

    def __init__(self, table: FloatArray, common: int | None = None) -> None:
        self.table, self._arms = table, tuple(range(table.shape[0]))
        self._rows = None if common is None else np.random.default_rng(common).integers(table.shape[1], size=DRAWN)
        self._used = np.zeros(table.shape[0], dtype=np.int64)

    def __repr__(self) -> str:
        return f"Pool of {self.table.shape}"

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return self._arms

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        if self._rows is None:
            return self.table[arm, rng.integers(self.table.shape[1], size=size)]
        first = self._used[arm]
        self._used[arm] += size
        rows = self._rows[first : first + size]
        assert rows.size == size, "a pool with common random numbers is used up"
        return self.table[arm, rows]

    def true_values(self, preference: Preference) -> FloatArray:
        return np.array([preference.estimate(row) for row in self.table])


def table_of(name: str) -> tuple[FloatArray, float]:
    """The outcomes of all options of a simulator, options by rows, and the seconds that they took."""
    path = KEPT / f"{name.replace(' ', '-')}.npz"
    if not path.exists():
        begin = perf_counter()
        table = np.ascontiguousarray(MADE[name]())
        KEPT.mkdir(parents=True, exist_ok=True)
        np.savez(path, table=table, seconds=perf_counter() - begin)
        print(f"recorded {path}", flush=True)
    with np.load(path) as kept:
        return kept["table"], float(kept["seconds"])


def _each(run: Callable[[Any, np.random.Generator], float], options: list[Any], rows: int) -> FloatArray:
    return np.array([[run(option, np.random.default_rng([1, row])) for row in range(rows)] for option in options])


def _line() -> FloatArray:
    options = np.array(simulators.flow_lines(30))
    jobs = simulators.WARM_JOBS + simulators.JOBS
    shared = [
        simulators.shared_throughput(options, np.random.default_rng([1, row]).standard_exponential((jobs, 3)))
        for row in range(ROWS["flow line"])
    ]
    return np.array(shared).T


MADE: dict[str, Callable[[], FloatArray]] = {
    "inventory": lambda: _each(simulators.inventory, simulators.INVENTORY, ROWS["inventory"]),
    "emergency": lambda: _each(simulators.emergency, simulators.STAFF, ROWS["emergency"]),
    "flow line": _line,
}
