"""Rewards: what is known about them before the first one is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, not_negative, positive, real
from allais.errors import NotAdmitted

__all__ = ["Bounded", "Finite", "Rewards", "SubGaussian"]


class Rewards(Protocol):
    """What is known about rewards before any is seen: a protocol."""

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest reward that can occur; infinite where unknown."""
        ...

    def admits(self, reward: float) -> bool:
        """Whether one finite reward can occur.

        Args:
            reward: A finite number.
        """
        ...

    def check(self, rewards: ArrayLike) -> FloatArray:
        """The rewards as an array, or an error that names the first one that cannot occur."""
        ...


@dataclass(frozen=True)
class Bounded:
    """Rewards between `low` and `high`: assumption (A2), for any support.

    Args:
        low: The least reward that can occur.
        high: The greatest reward that can occur.

    >>> Bounded(0, 50).check([0, 50])
    array([ 0., 50.])
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", real("low", self.low))
        object.__setattr__(self, "high", real("high", self.high))
        if self.low >= self.high:
            raise ValueError(f"low must lie below high; got {self.low:g} and {self.high:g}. Swap or widen them.")

    @property
    def support(self) -> tuple[float, float]:
        """The two bounds."""
        return self.low, self.high

    def admits(self, reward: float) -> bool:
        """Whether a reward lies within the bounds.

        Args:
            reward: A finite number.
        """
        return self.low <= reward <= self.high

    def check(self, rewards: ArrayLike) -> FloatArray:
        """The rewards as an array, or an error that names the first one out of bounds."""
        return _admitted(self, rewards)


@dataclass(frozen=True)
class Finite:
    """Rewards that take one of the given values.

    Args:
        values: All rewards that can occur, in any order.

    >>> Finite([50, 0, 7]).values
    (0.0, 7.0, 50.0)
    """

    values: tuple[float, ...]

    def __init__(self, values: ArrayLike) -> None:
        object.__setattr__(self, "values", tuple(np.unique(finite_array("values", values)).tolist()))

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self.values[0], self.values[-1]

    def admits(self, reward: float) -> bool:
        """Whether a reward is one of the values.

        Args:
            reward: A finite number.
        """
        return reward in self.values

    def check(self, rewards: ArrayLike) -> FloatArray:
        """The rewards as an array, or an error that names the first one that is no known value."""
        return _admitted(self, rewards)


@dataclass(frozen=True)
class SubGaussian:
    """Unbounded rewards whose tails are no heavier than a normal distribution's.

    Args:
        scale: The sub-Gaussian scale sigma, above 0; for normal rewards their standard deviation.
        mean_bound: A bound on |mean|, 0 or more.

    >>> SubGaussian(scale=1.0, mean_bound=5.0).support
    (-inf, inf)
    """

    scale: float
    mean_bound: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        bound = not_negative("mean_bound", self.mean_bound, "It bounds |mean|; 0 means centred.")
        object.__setattr__(self, "mean_bound", bound)

    @property
    def support(self) -> tuple[float, float]:
        """Unbounded."""
        return -np.inf, np.inf

    def admits(self, reward: float) -> bool:
        """Every finite number can occur.

        Args:
            reward: A finite number.
        """
        return True

    def check(self, rewards: ArrayLike) -> FloatArray:
        """The rewards as an array; every finite number can occur."""
        return finite_array("rewards", rewards)


def outside(known: Rewards, rewards: FloatArray) -> FloatArray:
    """Which of these finite rewards cannot occur."""
    if isinstance(known, Finite):
        return rewards[~np.isin(rewards, known.values)]
    low, high = known.support
    return rewards[(rewards < low) | (rewards > high)]


def ruled_out(known: Rewards, came: str) -> NotAdmitted:
    """The error about a reward that cannot occur.

    Args:
        known: The rewards that were declared.
        came: What came instead, in words.
    """
    if isinstance(known, Finite):
        return NotAdmitted(
            f"rewards must be one of the {len(known.values)} declared values; {came}. "
            "Add it to Finite(values), or declare Bounded(low, high)."
        )
    low, high = known.support
    return NotAdmitted(
        f"rewards must lie between {low:g} and {high:g}; {came}. "
        "Widen Bounded(low, high), or declare SubGaussian: the guarantees rest on it."
    )


def _admitted(known: Rewards, rewards: ArrayLike) -> FloatArray:
    """The rewards as an array, if all of them can occur."""
    array = finite_array("rewards", rewards)
    if (strange := outside(known, array)).size:
        raise ruled_out(known, f"got {strange[0]:g}")
    return array


def covers(wide: Rewards, narrow: Rewards) -> bool:
    """Whether whatever is promised under the wide rewards also holds for the narrow ones.

    Args:
        wide: The rewards that were declared.
        narrow: The rewards that are asked about.

    >>> covers(Bounded(0, 60), Finite([0, 50])), covers(Bounded(0, 60), Bounded(-1, 50))
    (True, False)
    """
    if isinstance(wide, SubGaussian) and isinstance(narrow, SubGaussian):
        return wide.scale >= narrow.scale and wide.mean_bound >= narrow.mean_bound
    if isinstance(wide, SubGaussian) or isinstance(narrow, SubGaussian):
        return False
    if isinstance(wide, Finite):
        return isinstance(narrow, Finite) and set(narrow.values) <= set(wide.values)
    return wide.support[0] <= narrow.support[0] and narrow.support[1] <= wide.support[1]
