"""Families that have a short name, for commands and services."""

from __future__ import annotations

from allais.people.family import Family
from allais.weights import Identity, Prelec, TverskyKahneman

FAMILIES = {  # and what they ask about
    "cpt": "one weight for gains and losses (Tversky and Kahneman's), power utility, loss aversion",
    "cpt-two-weights": "the same with a weight of its own for losses",
    "prelec": "Prelec's weight, power utility, loss aversion",
    "utility": "no weights: power utility and loss aversion only",
}


def family_named(name: str, stakes: tuple[float, float], *, reference: float = 0.0, costs: bool = False) -> Family:
    """A family by its short name, for outcomes between two stakes.

    >>> family_named("prelec", (-50.0, 200.0)).names
    ('weight_alpha', 'utility_alpha', 'loss_aversion', 'temperature')
    """
    stake = max(abs(end - reference) for end in stakes) / 2.0  # a typical one
    point = {"stake": stake, "reference": reference, "costs": costs}
    if name == "cpt-two-weights":
        return Family(TverskyKahneman, TverskyKahneman, **point)  # type: ignore[arg-type]
    if name == "prelec":
        return Family(Prelec, beta=1.0, **point)  # type: ignore[arg-type]
    return Family(Identity() if name == "utility" else TverskyKahneman, **point)  # type: ignore[arg-type]
