"""The dual of any weight: what rank-dependent utility weighs losses by."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np

from allais._checks import FloatArray
from allais.weights.base import HolderPair, Weight


class Dual(Weight):
    """1 - w(1 - p), for any weight w.

    Args:
        of: The weight w whose dual it is.
    """

    def __init__(self, of: Weight) -> None:
        self.of = of

    def __repr__(self) -> str:
        return f"{self.of!r}.dual()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dual) and self.of == other.of

    def __hash__(self) -> int:
        return hash((Dual, self.of))

    def as_setting(self) -> dict[str, Any]:
        """What a file holds of it."""
        return {"type": "Dual", "of": self.of}

    @staticmethod
    def from_setting(content: dict[str, Any], trust: tuple[str, ...]) -> Weight:
        """The weight that a file describes."""
        if not isinstance(content["of"], Weight):
            raise ValueError(f"a dual is of a weight; got {content['of']!r}. Use a backup.")
        return content["of"].dual()

    def _log(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return self.of._log_complement(log_q, log_p)

    def _log_complement(self, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
        return self.of._log(log_q, log_p)

    @property
    def resolution(self) -> float:
        return self.of.resolution_at_one

    def rounding(self, upper: FloatArray, lower: FloatArray) -> FloatArray:
        return self.of.rounding(lower, upper)

    @property
    def exponent_at_zero(self) -> float:
        if self.resolution == 0.0:
            return super().exponent_at_zero
        seen = self(np.array([1e-4, 1e-7]))  # below that, rounding takes over
        return float(np.log10(seen[0] / seen[1]) / 3.0) if seen[1] > 0.0 else np.inf

    @property
    def holder(self) -> HolderPair | None:
        return self.of.holder

    @property
    def singularities(self) -> tuple[float, ...]:
        return tuple(1.0 - point for point in reversed(self.of.singularities))

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        return tuple(1.0 - point for point in reversed(self.of.breaks))

    @cached_property
    def turning_points(self) -> tuple[float, ...]:
        return tuple(1.0 - point for point in reversed(self.of.turning_points))

    @property
    def modulus_kind(self) -> Literal["exact", "bound", "estimate"]:
        return self.of.modulus_kind

    def _modulus(self, eps: float) -> float:
        return self.of.modulus(eps)

    def dual(self) -> Weight:
        return self.of
