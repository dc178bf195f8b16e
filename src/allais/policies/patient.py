"""Patient rejects: successive rejects after a floor of samples for every arm, so that rare events can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allais._checks import IntArray
from allais.policies.core.base import setting
from allais.policies.wsr import WSR, floor_of_budget, phases


@dataclass(frozen=True)
class PatientRejects(WSR):
    """The best arm within a budget, where outcomes may be rare and no bounds are known: the default for that goal.

    An arm that is rejected before its rare gain was seen never comes back, and one that is kept needs many samples to
    show its rare loss. So a share `floor` of the budget is spread evenly over all arms before any is rejected, and
    the rest is spent as W-SR spends it (Audibert et al. 2010), one rejection after the other. A rare gain of
    probability p is missed in a share of about exp(-p m) of the runs. Here m is the number of samples per arm before
    the first rejection: with 16 arms, about half of budget / arms.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(PatientRejects(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    floor: float = setting(
        0.25, floor_of_budget
    )  # near 0 it is W-SR, at 1 uniform sampling; chosen in docs/choosing.md
    called: ClassVar[str] = "patient rejects"

    def phases(self, n_arms: int) -> IntArray:
        """The phases of W-SR, after the floor."""
        return patient_phases(self.budget, n_arms, self.floor)


def patient_phases(budget: int, n_arms: int, floor: float) -> IntArray:
    """How often an arm that is still alive has been pulled at each rejection, one entry per rejection.

    >>> patient_phases(200, 3, 0.5)  # 33 each, then the phases of W-SR with the 101 that are left
    array([58, 70])
    """
    each = int(floor * budget) // n_arms if budget > n_arms else 0
    rest = budget - each * n_arms
    if each and rest <= n_arms:  # the whole budget is spread evenly
        return np.full(n_arms - 1, each, dtype=np.int64)
    return each + phases(rest, n_arms)
