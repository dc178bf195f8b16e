"""What every problem is: arms that give outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence

import numpy as np

from allais._checks import FloatArray, brief
from allais._random import generator
from allais.preferences import Preference

MOST_ARMS = 1_000_000  # a number beyond it is a slip: a learner of so many arms takes gigabytes


class Problem(ABC):
    """Arms that can be sampled, each with a generator of its own."""

    @property
    @abstractmethod
    def arms(self) -> tuple[Hashable, ...]:
        """The names of the arms."""

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.arms)

    @abstractmethod
    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        """The next `size` outcomes of an arm.

        Args:
            arm: The arm's index.
            rng: The generator of this arm.
            size: How many outcomes.
        """

    def run(self, arm: int, seed: int) -> float:
        """Draw one outcome of an arm from a seed of its own, as a worker does for an expensive problem.

        Args:
            arm: The arm's index.
            seed: The seed of this run.
        """
        return float(self.draw(arm, generator(seed), 1)[0])

    def part(self, arms: Sequence[int]) -> Problem:
        """The problem of some arms only: what is sent to a worker. By default all of it.

        Args:
            arms: The indices of the arms, in the order of the new problem.
        """
        return self

    @property
    def batch(self) -> int:
        """The most outcomes that may be drawn ahead of need; 1 where each is expensive."""
        return 1 << 14

    def true_values(self, preference: Preference) -> FloatArray | None:
        """The exact value of each arm, or None where it is not known; results use it, policies never see it.

        Args:
            preference: What values the arms.
        """
        return None


class OneByOne(Problem):
    """A problem of named arms whose outcomes are expensive: one per call, when it is needed."""

    def __init__(self, arms: int | Sequence[Hashable]) -> None:
        self._arms = checked_names(arms)

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return self._arms

    @property
    def batch(self) -> int:
        return 1


def checked_names(arms: int | Sequence[Hashable]) -> tuple[Hashable, ...]:
    """The names of arms, from a count or a list: distinct, and at least one."""
    if isinstance(arms, int | np.integer) and not isinstance(arms, bool):
        if arms > MOST_ARMS:
            raise ValueError(f"arms must be {MOST_ARMS:,} at most; got {brief(int(arms))}. Give fewer.")
        arms = range(int(arms))
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise TypeError(f'arms must be a number or a list of names; got {arms!r}. Write arms=["A21", "A28"].')
    names = tuple(arms)
    if not names:
        raise ValueError("there must be at least one arm; got none. Name the options to choose from.")
    for name in names:
        try:
            hash(name)
        except TypeError:
            raise TypeError(
                f"an arm's name must not change, so it cannot be {name!r}. Use a string or a number."
            ) from None
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"arms must have distinct names; got {twice!r} twice. Rename one.")
    return names


def require_rivals(arms: Sequence[Hashable]) -> None:
    """Refuse a search that has nothing to find."""
    if len(arms) < 2:
        raise ValueError(
            f"a search for the best arm needs two arms or more; got {arms[0]!r} alone, which is the best without "
            "a run. Add what it is compared with."
        )
