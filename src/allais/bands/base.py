"""What a band is to a policy: a shape for a given exponent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from allais._kernels import verb
from allais.preferences import Preference
from allais.rewards import Rewards


class Interval(NamedTuple):
    """An estimated value with a confidence interval around it."""

    low: float
    value: float
    high: float


class Band(Protocol):
    """The setting of a band: how to build what its kernels read."""

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> Any:
        """What the kernels read, for the rewards of each arm; the band's numbers in a NamedTuple.

        Arrays that `settle` keeps up to date, one entry an arm, are part of it.
        """
        ...


def _settle(band, memory, arm):
    """Bring what the band keeps of an arm up to date, after its memory changed."""


def _widen(band, memory, exponent, low, high):
    """Write the ends of every arm's interval, valid with probability 1 - 2 e^-exponent each."""


settle, add_settle = verb(_settle)
widen, add_widen = verb(_widen)
