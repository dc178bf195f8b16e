"""A lottery that is shifted and scaled."""

from __future__ import annotations

import numpy as np

from allais._checks import FloatArray
from allais.lotteries.base import Lottery
from allais.lotteries.continuous import Normal
from allais.lotteries.finite import Discrete


def moved(lottery: Lottery, shift: float = 0.0, scale: float = 1.0) -> Lottery:
    """The law of `shift + scale X`; a negative scale mirrors it.

    >>> from allais import Normal
    >>> moved(Normal(0, 1), shift=9.0, scale=2.0)
    Normal(9, 2)
    """
    if shift == 0.0 and scale == 1.0:
        return lottery
    if isinstance(lottery, Normal):
        return Normal(shift + scale * lottery.mean, abs(scale) * lottery.sd)
    finite = lottery.as_finite()
    if finite is not None:
        return Discrete(dict(zip((shift + scale * finite.outcomes).tolist(), finite.probabilities, strict=True)))
    return Affine(lottery, shift, scale)


class Affine(Lottery):
    """The law of `shift + scale X` for a continuous X."""

    def __init__(self, of: Lottery, shift: float, scale: float) -> None:
        self.of, self.shift, self.scale = of, shift, scale

    def __repr__(self) -> str:
        return f"moved({self.of!r}, {self.shift:g}, {self.scale:g})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine):
            return False
        return (self.of, self.shift, self.scale) == (other.of, other.shift, other.scale)

    def __hash__(self) -> int:
        return hash((self.of, self.shift, self.scale))

    def _back(self, x: FloatArray) -> FloatArray:
        return (np.asarray(x) - self.shift) / self.scale

    @property
    def support(self) -> tuple[float, float]:
        ends = sorted(self.shift + self.scale * end for end in self.of.support)
        return ends[0], ends[1]

    @property
    def mean(self) -> float:
        return self.shift + self.scale * self.of.mean

    def log_survival(self, x: FloatArray) -> FloatArray:
        return self.of.log_survival(self._back(x)) if self.scale > 0.0 else self.of.log_cdf(self._back(x))

    def log_cdf(self, x: FloatArray) -> FloatArray:
        return self.of.log_cdf(self._back(x)) if self.scale > 0.0 else self.of.log_survival(self._back(x))

    def quantile(self, p: FloatArray) -> FloatArray:
        return self.shift + self.scale * self.of.quantile(p if self.scale > 0.0 else 1.0 - np.asarray(p))

    def landmarks(self) -> FloatArray:
        return np.sort(self.shift + self.scale * self.of.landmarks())

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return self.shift + self.scale * self.of.sample(rng, size)
