"""Sequential halving: drop the worse half after each phase, and reuse every sample (Karnin et al. 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allais._checks import IntArray
from allais.policies.wsr import WSR


@dataclass(frozen=True)
class SequentialHalving(WSR):
    """The best arm within a budget of samples: drop the worse half after each phase.

    The budget is shared evenly among phases. Values are estimated from all samples of an arm, not
    only those of the last phase, so that nothing is thrown away.

    It is the bold choice: an arm whose rare gain was not seen in the first phase is gone, and nothing warns of it
    (docs/choosing.md). `PatientRejects` looks longer before it rejects.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(SequentialHalving(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    called: ClassVar[str] = "sequential halving"

    def phases(self, n_arms: int) -> IntArray:
        """The phases of halving; arms that are dropped together have the same entry."""
        return halving_phases(self.budget, n_arms)


def halving_phases(budget: int, n_arms: int) -> IntArray:
    """How often an arm that is still alive has been pulled at each rejection, one entry per rejection.

    Arms that are dropped together have the same entry.

    >>> halving_phases(96, 4)  # two of four after 12 pulls each, one of two after 24 more
    array([12, 12, 36])
    """
    rounds = max(math.ceil(math.log2(n_arms)), 1) if n_arms > 1 else 0
    if budget < n_arms * rounds:
        raise ValueError(
            f"budget must give every arm a sample in each of {rounds} phases; got {budget} samples for {n_arms} arms. "
            f"Give at least {n_arms * rounds}."
        )
    ends: list[int] = []
    alive, told = n_arms, 0
    for _ in range(rounds):
        told += budget // (alive * rounds)
        survivors = math.ceil(alive / 2)
        ends += [told] * (alive - survivors)
        alive = survivors
    return np.array(ends, dtype=np.int64)
