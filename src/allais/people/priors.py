"""Priors: what is believed about a person before any choice was seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from allais._checks import FloatArray
from allais._random import Seed, generator


@dataclass(frozen=True, eq=False)
class Prior:
    """A normal law on the line of each parameter (its logarithm, its log odds, or itself), together.

    `family.prior` is the one that a family states; a population that was fitted is one, too.

    >>> prior = Prior(np.zeros(2), np.eye(2))
    >>> prior.draw(3, seed=1).shape, round(float(prior.log_density(np.zeros((1, 2)))[0]), 4)
    ((3, 2), -1.8379)
    """

    mean: FloatArray  # (parameters,), on the line
    covariance: FloatArray  # (parameters, parameters)

    def __post_init__(self) -> None:
        mean, covariance = np.array(self.mean, np.float64), np.array(self.covariance, np.float64)
        if mean.ndim != 1 or covariance.shape != (mean.size, mean.size):
            raise ValueError(
                f"a prior has a mean for each parameter and a covariance for each pair; got shapes {mean.shape} and "
                f"{covariance.shape}. Give d numbers and d x d numbers."
            )
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all() and np.allclose(covariance, covariance.T)):
            raise ValueError("a prior's mean and covariance are finite, and the latter symmetric. Repair them.")
        if mean.size and np.linalg.eigvalsh(covariance)[0] <= 0.0:
            raise ValueError("a prior's covariance must be positive definite; got one that is not. Widen it.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)

    @cached_property
    def root(self) -> FloatArray:
        """The lower triangle whose square is the covariance."""
        return np.asarray(np.linalg.cholesky(self.covariance), np.float64)

    @property
    def spread(self) -> FloatArray:
        """The standard deviation of each parameter, on the line."""
        return np.sqrt(np.diagonal(self.covariance))

    @cached_property
    def _inverse_root(self) -> FloatArray:
        return np.asarray(np.linalg.inv(self.root), np.float64)

    def log_density(self, z: FloatArray) -> FloatArray:
        """The log density of places on the line, (n, parameters) -> (n,)."""
        standard = (z - self.mean) @ self._inverse_root.T
        constant = np.log(np.diagonal(self.root)).sum() + 0.5 * self.mean.size * np.log(2.0 * np.pi)
        return -0.5 * np.square(standard).sum(axis=1) - constant

    def log_density_slope(self, z: FloatArray) -> FloatArray:
        """The gradient of the log density, (n, parameters)."""
        return -((z - self.mean) @ self._inverse_root.T) @ self._inverse_root

    def draw(self, n: int, seed: Seed) -> FloatArray:
        """Places on the line, (n, parameters)."""
        return self.mean + generator(seed).standard_normal((n, self.mean.size)) @ self.root.T

    def as_setting(self) -> dict[str, Any]:
        """What a file holds of it."""
        return {"type": "Prior", "mean": self.mean.tolist(), "covariance": self.covariance.tolist()}

    @staticmethod
    def from_setting(content: dict[str, Any], trust: tuple[str, ...]) -> Prior:
        """The prior that a file describes."""
        return Prior(np.array(content["mean"], np.float64), np.array(content["covariance"], np.float64))
