"""Lotteries that are made of others: shifted and scaled, and mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, finite_array
from allais.lotteries.base import Lottery, require_lottery
from allais.lotteries.continuous import Normal
from allais.lotteries.finite import SUM_TOLERANCE, Discrete
from allais.numerics.integrals import smallest


def moved(lottery: Lottery, shift: float = 0.0, scale: float = 1.0) -> Lottery:
    """The distribution of `shift + scale X`; a negative scale mirrors it.

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


@dataclass(frozen=True, repr=False)
class Affine(Lottery):
    """The distribution of `shift + scale X` for a continuous X."""

    of: Lottery
    shift: float
    scale: float

    def __repr__(self) -> str:
        return f"moved({self.of!r}, {self.shift:g}, {self.scale:g})"

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


class Mixture(Lottery):
    """A lottery over lotteries: component i with probability `shares[i]`.

    Args:
        components: The lotteries.
        shares: The probability of each; they sum to 1.

    >>> jam = Mixture([Normal(20, 2), Normal(60, 5)], [0.95, 0.05])
    >>> jam.mean
    22.0
    """

    def __init__(self, components: Sequence[Lottery], shares: Sequence[float]) -> None:
        self.components = tuple(components)
        self.shares = finite_array("shares", shares)
        for part in self.components:
            require_lottery(part, "a mixture is made of lotteries", "Wrap it, e.g. Discrete({7: 1}).")
        if len(self.components) != self.shares.size:
            raise ValueError(
                f"a mixture needs one share for each component; got {len(self.components)} components and "
                f"{self.shares.size} shares. Give as many of each."
            )
        if (self.shares < 0.0).any() or abs(self.shares.sum() - 1.0) > SUM_TOLERANCE:
            raise ValueError(f"shares must be probabilities that sum to 1; got {self.shares.tolist()}. Rescale them.")

    def __repr__(self) -> str:
        return f"Mixture({list(self.components)!r}, {self.shares.tolist()})"

    def as_setting(self) -> dict[str, Any]:
        """What a file holds of it."""
        return {"type": "Mixture", "components": list(self.components), "shares": self.shares.tolist()}

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mixture)
            and np.array_equal(self.shares, other.shares)
            and self.components == other.components
        )

    def __hash__(self) -> int:
        return hash((Mixture, self.components, tuple(self.shares.tolist())))

    @property
    def _present(self) -> list[tuple[float, Lottery]]:
        return [(s, part) for s, part in zip(self.shares.tolist(), self.components, strict=True) if s > 0.0]

    @property
    def support(self) -> tuple[float, float]:
        ends = [part.support for _, part in self._present]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def mean(self) -> float:
        return float(sum(share * part.mean for share, part in self._present))

    def as_finite(self) -> Discrete | None:
        flat: dict[float, float] = {}
        for share, part in self._present:
            finite = part.as_finite()
            if finite is None:
                return None
            for outcome, chance in zip(finite.outcomes.tolist(), finite.probabilities.tolist(), strict=True):
                flat[outcome] = flat.get(outcome, 0.0) + share * chance
        return Discrete(flat)

    def log_survival(self, x: FloatArray) -> FloatArray:
        return _log_sum([np.log(share) + part.log_survival(x) for share, part in self._present])

    def log_cdf(self, x: FloatArray) -> FloatArray:
        return _log_sum([np.log(share) + part.log_cdf(x) for share, part in self._present])

    def quantile(self, p: FloatArray) -> FloatArray:
        level = np.asarray(p, dtype=np.float64)
        # it lies between the least and the greatest of the components' own
        of_parts = np.array([part.quantile(level) for _, part in self._present])
        low, high = of_parts.min(axis=0), of_parts.max(axis=0)
        rounding = 1e-15  # of a sum of shares

        def reached(x: FloatArray) -> NDArray[np.bool_]:
            return np.exp(self.log_cdf(x)) >= level - rounding

        found = np.where(reached(low), low, smallest(reached, low, high))
        ends = np.where(level >= 1.0, self.support[1], self.support[0])
        return np.where((level <= 0.0) | (level >= 1.0), ends, found)

    def landmarks(self) -> FloatArray:
        return np.unique(np.concatenate([part.landmarks() for _, part in self._present]))

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        chosen = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(size), side="right")
        drawn = np.empty(size)
        for index, part in enumerate(self.components):
            here = chosen == index
            drawn[here] = part._sample(rng, int(here.sum()))
        return drawn


def _log_sum(terms: list[FloatArray]) -> FloatArray:
    return np.minimum(np.logaddexp.reduce(terms), 0.0)  # rounding past probability 1
