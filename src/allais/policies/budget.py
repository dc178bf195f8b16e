"""Budgets of samples, as policies take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from allais._checks import share


def whole_budget(name: str, budget: Any) -> int:
    """A budget as an int, or an error that says what came."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise ValueError(f"{name} must be a whole number of samples; got {budget!r}. Give an int.")
    return int(budget)


def more_than_arms(budget: int, n_arms: int) -> None:
    """Refuse a budget that does not give every arm a sample and one more."""
    if budget <= n_arms:
        raise ValueError(
            f"budget must exceed the number of arms; got {budget} samples for {n_arms} arms. Give more samples."
        )


def floor_of_budget(name: str, given: Any) -> float:
    """The share of a budget that is spread evenly."""
    return share(name, given, one=True, advice="Give the share of the budget that is spread evenly.")
