"""Arms too many to list: sets with an oracle that finds the best arm for a given theta.

A policy that needs nothing but the best arm for one theta, such as LinTS, works on any such set:
`learner.ask(among=routes)`. Each oracle is exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, positive, same_length
from allais.linear.location_tables import Locations, locations_of, value_at
from allais.linear.noise import AdditiveNoise, Noise, ParameterNoise, check_noise
from allais.preferences import Preference
from allais.problems.base import LotteryArms


class Arm(NamedTuple):
    """An arm of a set: what it is called, and its features."""

    name: Hashable
    features: FloatArray


@runtime_checkable
class ArmSet(Protocol):
    """Arms that are never listed."""

    @property
    def dimension(self) -> int:
        """How many features an arm has."""
        ...

    def best(self, theta: FloatArray, judge: Judge) -> Arm:
        """The arm of the highest value, if theta is true."""
        ...


class Judge:
    """What location plus noise is worth, for noise of any spread: one table for all arms of a set."""

    def __init__(self, preference: Preference, noise: Noise) -> None:
        if not isinstance(noise, ParameterNoise | AdditiveNoise):
            raise ValueError(
                f"arms that are not listed need ParameterNoise or AdditiveNoise; got {noise!r}. "
                "List the arms to give each a distribution of its own."
            )
        if preference.utility is not None:
            raise ValueError(
                "arms that are not listed are valued with a linear utility; got a preference with a utility. "
                "List the arms, or leave the utility out."
            )
        self.preference, self.noise = preference, noise
        one = noise.of(np.ones((1, 1)))
        self._mean = float(one.mean[0])
        self.grows = isinstance(noise, ParameterNoise)  # an arm's noise grows with its length
        self._tables: Locations = locations_of(preference, one)

    def value(self, mean: float, length: float) -> float:
        """The value of an arm with a given x.theta and length."""
        preference = self.preference
        gain = mean + self._mean - preference.reference
        gain = -gain if preference.costs else gain
        factor = length if self.grows else 1.0
        # a spread of `factor` times the table's: mu(cX) = c mu(X)
        return factor * float(value_at(self._tables, 0, gain / factor))


def _direction(theta: FloatArray, judge: Judge) -> FloatArray:
    return -theta if judge.preference.costs else theta


class Ball:
    """All vectors up to a length.

    Args:
        dimension: The number of features.
        radius: The greatest length.

    >>> judge = Judge(Preference(TverskyKahneman(0.61)), AdditiveNoise())
    >>> Ball(2, radius=5.0).best(np.array([3.0, 4.0]), judge).features
    array([3., 4.])
    """

    def __init__(self, dimension: int, radius: float = 1.0) -> None:
        self.dimension, self.radius = int(dimension), positive("radius", radius)

    def best(self, theta: FloatArray, judge: Judge) -> Arm:
        """The arm of the highest value: along theta, at the best length.

        Args:
            theta: The parameter.
            judge: What values arms, at a theta.
        """
        size = float(np.linalg.norm(theta))
        unit = _direction(theta, judge) / size if size > 0.0 else np.eye(self.dimension)[0]
        length = self.radius
        if judge.grows:  # longer arms are noisier too: the best length is a search in one dimension
            derivative = float(unit @ theta)
            grid = self.radius * np.linspace(1e-3, 1.0, 65)
            values = [judge.value(derivative * s, s) for s in grid.tolist()]
            k = int(np.argmax(values))
            around = (float(grid[max(k - 1, 0)]), float(grid[min(k + 1, grid.size - 1)]))
            found = scipy.optimize.minimize_scalar(
                lambda s: -judge.value(derivative * s, s), bounds=around, method="bounded"
            )
            length = float(found.x) if -found.fun > values[k] else float(grid[k])
        features = length * unit
        return Arm(tuple(features.tolist()), features)


class Box:
    """All vectors between two corners, number by number; for noise that is the same for every arm.

    Args:
        low: The least of each feature.
        high: The greatest of each feature.

    >>> judge = Judge(Preference(TverskyKahneman(0.61)), AdditiveNoise())
    >>> Box([-1, 0], [1, 2]).best(np.array([-0.5, 1.0]), judge).features
    array([-1.,  2.])
    """

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        if self.low.shape != self.high.shape or self.low.ndim != 1 or not (self.low <= self.high).all():
            raise ValueError(f"a box needs low ends below high ones, as many of each; got {low!r} and {high!r}.")

    @property
    def dimension(self) -> int:
        """How many features an arm has."""
        return self.low.size

    def best(self, theta: FloatArray, judge: Judge) -> Arm:
        """The corner that theta points to.

        Args:
            theta: The parameter.
            judge: What values arms, at a theta.
        """
        if judge.grows:
            raise ValueError(
                "the best arm of a box is found for noise that is the same for every arm; got ParameterNoise. "
                "Use AdditiveNoise, or list the corners."
            )
        features = np.where(_direction(theta, judge) > 0.0, self.high, self.low)
        return Arm(tuple(features.tolist()), features)


def checked_features(features: ArrayLike) -> FloatArray:
    """Feature vectors as rows of finite numbers, none of them zero."""
    try:
        rows = np.array(features, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("features must be rows of numbers, all of one length; got others. Repair them.") from None
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"features must be one row of numbers per arm; got shape {rows.shape}. Give a list of rows.")
    if not np.isfinite(rows).all():
        arm = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(f"features must be finite; those of arm {arm} are not. Repair them.")
    if not np.linalg.norm(rows, axis=1).all():
        arm = int(np.flatnonzero(np.linalg.norm(rows, axis=1) == 0.0)[0])
        raise ValueError(f"a feature vector must not be zero; that of arm {arm} is. Leave the arm out.")
    return rows


class LinearBandit(LotteryArms):
    """Arms with features and a hidden theta.

    Args:
        features: One row of numbers per arm.
        theta: The parameter; an arm's mean is x.theta, up to the mean of the noise.
        noise: What is added; by default `ParameterNoise()`, the paper's model.
        arms: The names of the arms; by default 0, 1, 2, ...

    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[0.5, 0.2], noise=ParameterNoise())
    >>> problem.true_values(Preference(TverskyKahneman(0.61))).round(4)
    array([0.4223, 0.1684])
    """

    def __init__(
        self,
        features: ArrayLike,
        theta: ArrayLike,
        noise: Noise | None = None,
        arms: Sequence[Hashable] | None = None,
    ) -> None:
        self.features: FloatArray = checked_features(features)
        self.theta = finite_array("theta", theta)
        same_length("theta must have one number per feature", self.theta.size, self.features.shape[1], "features")
        self.noise: Noise = ParameterNoise() if noise is None else noise
        if not hasattr(self.noise, "of"):
            raise TypeError(f"noise must be a kind of noise; got {noise!r}. Write ParameterNoise().")
        self.noise_of_arms = self.noise.of(self.features)
        check_noise(self.noise_of_arms, len(self.features))
        places = (self.features @ self.theta).tolist()
        super().__init__([self.noise_of_arms.lottery(k, place) for k, place in enumerate(places)], arms)

    def __repr__(self) -> str:
        n_arms, d = self.features.shape
        return f"LinearBandit({n_arms} arms, {d} features, noise={self.noise!r})"

    def true_values(self, preference: Preference) -> FloatArray:
        tables = locations_of(preference, self.noise_of_arms)  # to 1e-9, with one quadrature per shape only
        means = self.features @ self.theta + self.noise_of_arms.mean
        gains = preference.reference - means if preference.costs else means - preference.reference
        return np.array([value_at(tables, arm, gain) for arm, gain in enumerate(gains.tolist())])
