"""Scales: where a parameter may lie, and the whole line that its prior is normal on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from allais._checks import FloatArray

FARTHEST = 30.0  # on the line: e^-30 of an interval is nowhere felt, and nothing overflows


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`: log odds of the place where both are finite, a logarithm where one is, else the number.

    >>> unit = Scale(0.0, 1.0)
    >>> float(unit.on_line(np.array(0.5))), float(unit.natural(np.array(0.0)))
    (0.0, 0.5)
    """

    low: float = -np.inf
    high: float = np.inf

    @property
    def words(self) -> str:
        """What the line is."""
        if np.isneginf(self.low):
            return "value"
        return "logarithm" if np.isposinf(self.high) else "log odds"

    def natural(self, z: FloatArray) -> FloatArray:
        """The parameter at a place on the line."""
        if np.isneginf(self.low):
            return z + 0.0
        place = np.clip(z, -FARTHEST, FARTHEST)
        if np.isposinf(self.high):
            return self.low + np.exp(place)
        return self.low + (self.high - self.low) * special.expit(place)

    def on_line(self, value: FloatArray) -> FloatArray:
        """Where a parameter lies on the line."""
        if np.isneginf(self.low):
            return value + 0.0
        with np.errstate(divide="ignore"):
            if np.isposinf(self.high):
                return np.clip(np.log(value - self.low), -FARTHEST, FARTHEST)
            return np.clip(np.log(value - self.low) - np.log(self.high - value), -FARTHEST, FARTHEST)

    def slope(self, z: FloatArray) -> FloatArray:
        """How fast the parameter moves along the line."""
        if np.isneginf(self.low):
            return np.ones_like(z)
        place = np.clip(z, -FARTHEST, FARTHEST)
        if np.isposinf(self.high):
            return np.exp(place)
        share = special.expit(place)
        return (self.high - self.low) * share * (1.0 - share)


REAL, POSITIVE, SHARE = Scale(), Scale(0.0), Scale(0.0, 1.0)
