"""Budgets of samples, as policies take them."""

from __future__ import annotations

from typing import Any

from allais._checks import share, whole
from allais._kernels import kernel
from allais.policies.verbs import SETTLED, WAITING


def whole_budget(name: str, budget: Any) -> int:
    """A budget as an int, or an error that says what came."""
    return whole(name, budget, "a whole number of samples")


def more_than_arms(budget: int, n_arms: int) -> None:
    """Refuse a budget that does not give every arm a sample and one more."""
    if budget <= n_arms:
        raise ValueError(
            f"budget must exceed the number of arms; got {budget} samples for {n_arms} arms. Give more samples."
        )


def floor_of_budget(name: str, given: Any) -> float:
    """The share of a budget that is spread evenly."""
    return share(name, given, one=True, advice="Give the share of the budget that is spread evenly.")


@kernel
def spent(budget, state):
    """SETTLED when a whole budget was told, WAITING when it was asked for, 0 before."""
    asked, told = 0, 0
    for arm in range(state.asked.size):
        asked += state.asked[arm]
        told += state.memory.pulls[arm]
    if asked < budget:
        return 0
    return SETTLED if told >= budget else WAITING
