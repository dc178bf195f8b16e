"""A world that changes: what a policy remembers of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from allais._checks import brief, number
from allais.samples.drift import Lifetimes, new_lifetimes


@dataclass(frozen=True)
class Recent:
    """Remember the last n outcomes, of all arms together, exactly: a window.

    Args:
        n: How many outcomes are remembered.

    >>> learner = NPTS(expected_value(), Bounded(0, 50), memory=Recent(3)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [50.0, 7.0])
    >>> learner.observe("A28", [20.0, 30.0])
    >>> learner.outcomes("A21")[0], learner.pulls
    (array([7.]), {'A21': 1, 'A28': 2})
    """

    n: int

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int | np.integer) or self.n < 1:
            raise ValueError(f"a window must hold one outcome or more; got {self.n!r}. Write Recent(5_000).")
        if self.n > 10**9:
            raise ValueError(f"a window must hold 1e9 outcomes at most; got {brief(self.n)}. Leave memory out.")
        object.__setattr__(self, "n", int(self.n))

    def lifetimes(self) -> Lifetimes:
        """Every outcome lives as long."""
        return new_lifetimes(self.n, 0.0, self.n + 2)


@dataclass(frozen=True)
class Fading:
    """Remember outcomes for a random time, half of them for `half_life` further outcomes or more.

    What is left of a moment fades as weights 2^(-age / half_life) would, and is still a sample: outcomes that count
    in full or not at all, so that every band and every draw goes on as before. About 1.44 `half_life` outcomes are
    remembered at a time. Linear policies have weights: a discounted ridge regression.

    Args:
        half_life: After how many further outcomes half of the old ones are forgotten.

    >>> learner = NPTS(expected_value(), Bounded(0, 50), memory=Fading(half_life=100)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [7.0] * 5_000)
    >>> 100 < learner.pulls["A21"] < 200
    True
    """

    half_life: float

    def __post_init__(self) -> None:
        life = number("half_life", self.half_life, "Give a number of outcomes.")
        if not 1.0 <= life <= 1e9:
            raise ValueError(
                f"half_life must lie between 1 and 1e9 outcomes; got {self.half_life!r}. Write Fading(half_life=2_000)."
            )
        object.__setattr__(self, "half_life", life)

    @property
    def mean_life(self) -> float:
        """How long an outcome is remembered on average."""
        return self.half_life / math.log(2.0)

    @property
    def discount(self) -> float:
        """By which weights fade with each further outcome."""
        return float(2.0 ** (-1.0 / self.half_life))

    def lifetimes(self) -> Lifetimes:
        """Lives of random length; the room is never used up, but for a chance of less than 1e-20."""
        usual = self.mean_life + 1.0
        return new_lifetimes(0, self.mean_life, int(usual + 12.0 * math.sqrt(usual)) + 64)


def remembering(name: str, given: Any) -> Any:
    """What is remembered: everything (None), the recent past, or a past that fades."""
    if given is None or isinstance(given, Recent | Fading):
        return given
    raise TypeError(f"{name} must be Recent, Fading or None for everything; got {given!r}. Write Recent(5_000).")
