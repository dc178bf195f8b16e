"""Parameters on an unconstrained scale and back, and as the vectors that compiled code reads. Plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from allais._checks import FloatArray, IntArray

FARTHEST = 30.0  # unconstrained: e^-30 of an interval never matters, and nothing overflows


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`; unconstrained it is log odds if both are finite, a logarithm if one is, else the number.

    >>> unit = Scale(0.0, 1.0)
    >>> float(unit.unconstrained(np.array(0.5))), float(unit.natural(np.array(0.0)))
    (0.0, 0.5)
    """

    low: float = -np.inf
    high: float = np.inf

    @property
    def words(self) -> str:
        """What the unconstrained number is."""
        if np.isneginf(self.low):
            return "value"
        return "logarithm" if np.isposinf(self.high) else "log odds"

    def natural(self, z: FloatArray) -> FloatArray:
        """The parameter, from its unconstrained number."""
        if np.isneginf(self.low):
            return z + 0.0
        place = np.clip(z, -FARTHEST, FARTHEST)
        if np.isposinf(self.high):
            return self.low + np.exp(place)
        return self.low + (self.high - self.low) * special.expit(place)

    def unconstrained(self, value: FloatArray) -> FloatArray:
        """The unconstrained number of a parameter."""
        if np.isneginf(self.low):
            return value + 0.0
        with np.errstate(divide="ignore"):
            if np.isposinf(self.high):
                return np.clip(np.log(value - self.low), -FARTHEST, FARTHEST)
            return np.clip(np.log(value - self.low) - np.log(self.high - value), -FARTHEST, FARTHEST)

    def gradient(self, z: FloatArray) -> FloatArray:
        """The derivative of the parameter in its unconstrained number."""
        if np.isneginf(self.low):
            return np.ones_like(z)
        place = np.clip(z, -FARTHEST, FARTHEST)
        if np.isposinf(self.high):
            return np.exp(place)
        share = special.expit(place)
        return (self.high - self.low) * share * (1.0 - share)


REAL, POSITIVE, SHARE = Scale(), Scale(0.0), Scale(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Transforms:
    """The transforms of a family's free parameters, in their order, and the constants beside them."""

    scales: tuple[Scale, ...]
    index: IntArray  # the parameter in each place of a vector, -1: none, (places,)
    constants: FloatArray  # the numbers in the other places, (places,)

    def natural(self, z: FloatArray) -> FloatArray:
        """Parameters from unconstrained numbers, (n, parameters)."""
        return np.stack([scale.natural(z[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def unconstrained(self, parameters: FloatArray) -> FloatArray:
        """Unconstrained numbers: the inverse of `natural`."""
        return np.stack([scale.unconstrained(parameters[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def gradient(self, z: FloatArray) -> FloatArray:
        """The derivative of each parameter in its unconstrained number, (n, parameters)."""
        return np.stack([scale.gradient(z[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def vectors(self, parameters: FloatArray) -> FloatArray:
        """Parameter vectors as compiled code reads them, (n, places)."""
        full = np.tile(self.constants, (parameters.shape[0], 1))
        used = self.index >= 0
        full[:, used] = parameters[:, self.index[used]]
        return full

    def gathered(self, gradients: FloatArray) -> FloatArray:
        """Gradients in the free parameters, from those in all places: places that share a parameter add up."""
        total = np.zeros((gradients.shape[0], len(self.scales)))
        for place, index in enumerate(self.index):
            if index >= 0:
                total[:, index] += gradients[:, place]
        return total
