"""Rewards: what is known about them before the first one is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, positive, real
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
        array = finite_array("rewards", rewards)
        outside = np.flatnonzero((array < self.low) | (array > self.high))
        if outside.size:
            raise NotAdmitted(
                f"rewards must lie between {self.low:g} and {self.high:g}; got {array[outside[0]]:g}. "
                "Widen Bounded(low, high): the guarantees rest on it."
            )
        return array


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
        array = finite_array("rewards", rewards)
        unknown = np.flatnonzero(~np.isin(array, self.values))
        if unknown.size:
            raise NotAdmitted(
                f"rewards must be one of the {len(self.values)} declared values; got {array[unknown[0]]:g}. "
                "Add it to Finite(values), or declare Bounded(low, high)."
            )
        return array


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
        bound = real("mean_bound", self.mean_bound)
        if bound < 0.0:
            raise ValueError(f"mean_bound must not be negative; got {bound:g}. It bounds |mean|; 0 means centred.")
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
