"""Ranking and selection as sim-tools has it: KN (Kim and Nelson 2001) and OCBA (Chen et al. 2000), on a pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from allais._checks import FloatArray

FIRST = 20  # runs of each option before KN estimates variances: the usual choice is 10 to 20


class Environment:
    """What sim-tools asks for runs: option by option, from the rows of a table."""

    def __init__(self, table: FloatArray, seed: int, *, common: bool) -> None:
        self._table, self._common, self._rng = table, common, np.random.default_rng(seed)
        self._rows = self._rng.integers(table.shape[1], size=1 << 20)
        self._runs = np.zeros(table.shape[0], dtype=np.int64)
        self._observers: list[Any] = []

    @property
    def samples(self) -> int:
        return int(self._runs.sum())

    def register_observer(self, observer: Any) -> None:
        self._observers.append(observer)

    def simulate(self, option: int) -> None:
        row = self._rows[self._runs[option]] if self._common else self._rng.integers(self._table.shape[1])
        self._runs[option] += 1
        for observer in self._observers:
            observer.feedback(self, option, float(self._table[option, row]))


def kn(table: FloatArray, seed: int, indifference: float, alpha: float, *, common: bool) -> tuple[int, int]:
    """The option that KN keeps of costs, and the runs that it took."""
    from sim_tools.ovs.indifference_zone import KN

    environment = Environment(table, seed, common=common)
    kept = KN(environment, table.shape[0], delta=indifference, alpha=alpha, n_0=FIRST, obj="min").solve()
    return int(kept[0]), environment.samples


def ocba(table: FloatArray, seed: int, budget: int) -> tuple[int, int]:
    """The option that OCBA finds best of costs, within a budget."""
    from sim_tools.ovs.fixed_budget import OCBA

    environment, options = Environment(table, seed, common=False), table.shape[0]
    step = options  # a round adds as many runs as there are options
    budget = options * 5 + step * max((budget - options * 5) // step, 1)
    best = OCBA(environment, options, budget, delta=step, n_0=5, obj="min").solve()
    return int(best), environment.samples
