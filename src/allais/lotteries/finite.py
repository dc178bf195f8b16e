"""Lotteries with finitely many outcomes; their values are exact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, real
from allais.lotteries.base import Lottery

FEW = 16  # outcomes that are compared one by one when sampling
SUM_TOLERANCE = 1e-9  # probabilities typed by hand add up to 1 within rounding


class Discrete(Lottery):
    """Outcomes with their probabilities, as a mapping; its outcomes are ascending, distinct and possible.

    Args:
        probabilities: The probability of each outcome; they sum to 1.

    >>> Discrete({50: 0.1, 0: 0.9}).mean
    5.0
    """

    def __init__(self, probabilities: Mapping[float, float]) -> None:
        if not isinstance(probabilities, Mapping):
            raise TypeError(
                f"a discrete lottery is a mapping of outcomes to probabilities; got {type(probabilities).__name__}. "
                "Write Discrete({50: 0.1, 0: 0.9}), or Empirical(samples) for data."
            )
        outcomes = finite_array("outcomes", list(probabilities))
        shares = finite_array("probabilities", list(probabilities.values()))
        negative = np.flatnonzero(shares < 0.0)
        if negative.size:
            raise ValueError(
                f"a probability must not be negative; got {shares[negative[0]]:g} for outcome "
                f"{outcomes[negative[0]]:g}. Use 0 or leave the outcome out."
            )
        total = math.fsum(shares)
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise ValueError(
                f"probabilities must sum to 1; got a sum of {total:.12g}. "
                f"Add the missing outcome or rescale (the difference is {1.0 - total:+.3g})."
            )
        possible = shares > 0.0
        order = np.argsort(outcomes[possible])
        self._outcomes = outcomes[possible][order]
        self._probabilities = shares[possible][order]
        if (np.diff(self._outcomes) == 0.0).any():
            raise ValueError(
                f"outcomes must be distinct numbers; got two equal ones among {list(probabilities)}. "
                "Add their probabilities."
            )

    def __repr__(self) -> str:
        pairs = zip(self._outcomes[::-1], self._probabilities[::-1], strict=True)
        inside = ", ".join(f"{outcome:.12g}: {share:.12g}" for outcome, share in pairs)
        return f"{type(self).__name__}({{{inside}}})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Discrete)
            and not isinstance(other, Empirical)  # which compares counts
            and np.array_equal(self._outcomes, other._outcomes)
            and np.array_equal(self._probabilities, other._probabilities)
        )

    def __hash__(self) -> int:
        return hash((tuple(self._outcomes.tolist()), tuple(self._probabilities.tolist())))

    @property
    def outcomes(self) -> FloatArray:
        """The distinct outcomes, ascending."""
        return self._outcomes.copy()

    @property
    def probabilities(self) -> FloatArray:
        """The probability of each outcome."""
        return self._probabilities.copy()

    @cached_property
    def at_least(self) -> FloatArray:
        """P(X >= outcome), for each outcome."""
        # from the top, so that small tail probabilities keep their digits; rounding past 1 is cut
        return np.minimum(np.cumsum(self._probabilities[::-1])[::-1], 1.0)

    @cached_property
    def below(self) -> FloatArray:
        """P(X < outcome), for each outcome."""
        return np.minimum(np.append(0.0, np.cumsum(self._probabilities)[:-1]), 1.0)

    @property
    def support(self) -> tuple[float, float]:
        return float(self.outcomes[0]), float(self.outcomes[-1])

    @property
    def mean(self) -> float:
        return float(np.sum(self.outcomes * self.probabilities))

    def as_finite(self) -> Discrete:
        return self

    def as_setting(self) -> dict[str, Any]:
        """What a file holds of it: outcomes with their probabilities, whatever they were made from."""
        odds = zip(self.outcomes.tolist(), self.probabilities.tolist(), strict=True)
        return {"type": "Discrete", "odds": [list(pair) for pair in odds]}

    @staticmethod
    def from_setting(trust: tuple[str, ...], *, odds: Any) -> Discrete:
        """The lottery that a file describes."""
        return Discrete(dict(odds))

    def log_survival(self, x: FloatArray) -> FloatArray:
        return self._log(np.append(self.at_least, 0.0), x)

    def log_cdf(self, x: FloatArray) -> FloatArray:
        return self._log(np.append(self.below, 1.0), x)

    def _log(self, probability: FloatArray, x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(probability[np.searchsorted(self.outcomes, x, side="right")])

    def quantile(self, p: FloatArray) -> FloatArray:
        up_to = np.append(self.below[1:], 1.0)
        return self.outcomes[np.minimum(np.searchsorted(up_to, p, side="left"), up_to.size - 1)]

    def landmarks(self) -> FloatArray:
        return self.outcomes

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        drawn = rng.random(size)
        if self._edges.size > FEW:
            return self._outcomes[np.searchsorted(self._edges, drawn, side="right")]
        index = np.zeros(size, dtype=np.int8)
        for edge in self._edges:  # faster than a search, for few outcomes
            index += drawn >= edge
        return self._outcomes[index]

    @cached_property
    def _edges(self) -> FloatArray:
        return self.below[1:]


class Bernoulli(Discrete):
    """1 with probability p, else 0; its value is w(p).

    Args:
        p: The probability of 1.

    >>> Bernoulli(0.3).mean
    0.3
    """

    def __init__(self, p: float) -> None:
        chance = real("p", p, "Give a probability.")
        if not 0.0 <= chance <= 1.0:
            raise ValueError(f"a probability must lie in [0, 1]; got {chance:g}. Give a share of 1.")
        self.p = chance
        super().__init__({1.0: chance, 0.0: 1.0 - chance})

    def __repr__(self) -> str:
        return f"Bernoulli({self.p:g})"


class Empirical(Discrete):
    """The empirical distribution of samples: each has probability 1/n.

    Args:
        samples: The outcomes that were seen.

    >>> Empirical([3.0, 1.0, 3.0]).probabilities
    array([0.33333333, 0.66666667])
    """

    def __init__(self, samples: ArrayLike) -> None:
        self._outcomes, self._counts = np.unique(finite_array("samples", samples), return_counts=True)
        self._size = int(self._counts.sum())

    def __repr__(self) -> str:
        low, high = self.support
        return f"Empirical(<{self._size} samples from {low:g} to {high:g}>)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Empirical)
            and np.array_equal(self._outcomes, other._outcomes)
            and np.array_equal(self._counts, other._counts)
        )

    def __hash__(self) -> int:
        return hash((Empirical, self._size, *self.support))

    @property
    def probabilities(self) -> FloatArray:
        return self._counts / self._size

    @cached_property
    def at_least(self) -> FloatArray:
        return np.cumsum(self._counts[::-1])[::-1] / self._size

    @cached_property
    def below(self) -> FloatArray:
        return (np.cumsum(self._counts) - self._counts) / self._size


def lottery_of(text: str) -> Discrete:
    """The lottery that outcomes and probabilities describe.

    >>> lottery_of("50:0.1, 0:0.9")
    Discrete({50: 0.1, 0: 0.9})
    """
    chances: dict[float, float] = {}
    for part in text.split(","):
        outcome, colon, chance = part.partition(":")
        try:
            key, probability = float(outcome), float(chance)
        except ValueError:
            raise ValueError(
                f'a lottery is outcomes and probabilities, such as "50:0.1,0:0.9"; got {part.strip()!r} in {text!r}. '
                + ("Write numbers." if colon else "Write outcome:probability.")
            ) from None
        if key in chances:
            raise ValueError(f"an outcome is given once; got {key:g} twice in {text!r}. Add its probabilities up.")
        chances[key] = probability
    return Discrete(chances)
