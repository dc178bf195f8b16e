"""A problem around any function that simulates one outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, number
from allais.preferences import Preference
from allais.problems.base import OneByOne, Problem


class Simulator(OneByOne):
    """Arms simulated by a function, one outcome per call, drawn only when needed.

    Args:
        f: The simulator: `f(arm, rng)` returns one outcome; `rng` is a NumPy generator.
        arms: The names of the arms, or how many there are.
        true_values: The value of each arm, as a utility, if known; without it there is no regret.

    >>> problem = Simulator(lambda arm, rng: rng.normal(arm, 1.0), arms=[0, 1])
    >>> problem.draw(1, np.random.default_rng(1), 2).round(3)
    array([1.346, 1.822])
    """

    def __init__(
        self,
        f: Callable[[Any, np.random.Generator], float],
        arms: int | Sequence[Hashable],
        true_values: ArrayLike | None = None,
    ) -> None:
        if not callable(f):
            raise TypeError(f"a simulator is a function of an arm and a generator; got {f!r}. Write f(arm, rng).")
        self.f = f
        super().__init__(arms)
        self._values = None if true_values is None else finite_array("true_values", true_values)
        if self._values is not None and self._values.size != len(self._arms):
            raise ValueError(
                f"true_values must be one per arm; got {self._values.size} for {len(self._arms)} arms. "
                "Give as many as there are arms."
            )

    def __repr__(self) -> str:
        return f"Simulator({getattr(self.f, '__qualname__', type(self.f).__name__)!r}, {list(self._arms)!r})"

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        returned = (self.f(self._arms[arm], rng) for _ in range(size))
        drawn = np.array([number("what a simulator returns", one, "Return a float.") for one in returned])
        if not all(map(math.isfinite, drawn)):
            raise ValueError(
                f"a simulator must return finite numbers; got {drawn[~np.isfinite(drawn)][0]} for arm "
                f"{self._arms[arm]!r}. Repair it, or return the outcome that a failure counts as."
            )
        return drawn

    def part(self, arms: Sequence[int]) -> Problem:
        # a subclass may know its arms by their places
        return Simulator(self.f, [self._arms[arm] for arm in arms]) if type(self) is Simulator else self

    def true_values(self, preference: Preference) -> FloatArray | None:
        return None if self._values is None else self._values.copy()
