"""Families with a short name, for commands and services, and families in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from allais.people.model.family import Family
from allais.preferences import PowerUtility
from allais.weights import Identity, Prelec, TverskyKahneman

FAMILIES = {  # and what is free in them
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


NINETY = 1.6449  # standard deviations to either side: 90 % of a normal distribution


def describe(family: Family) -> str:
    """The weights, the utility and the choice rule, and each parameter with its prior."""
    if family.losses is None or family.losses == "dual":
        weights = f"gains and losses by {_named(family.gains)}" + (" and its dual" if family.losses else "")
    else:
        weights = f"gains by {_named(family.gains)}, losses by {_named(family.losses)}"
    utility = "a linear utility" if family.utility is None else PowerUtility.__name__
    lines = [f"Family: {weights}, {utility}, {type(family.choice).__name__} on {family.choice.on}"]
    prior = family.prior
    width = max(map(len, (*family.names, *family.fixed)), default=0)
    if family.names:
        ends = np.stack([prior.mean, prior.mean - NINETY * prior.spread, prior.mean + NINETY * prior.spread])
        for name, (median, low, high) in zip(family.names, family.natural(ends).T, strict=True):
            lines.append(f"  {name:<{width}}   median {median:.2g}, 90 % from {low:.2g} to {high:.2g}")
    lines += [f"  {name:<{width}}   {value:g}, fixed" for name, value in family.fixed.items()]
    return "\n".join(lines)


def short_name(family: Family) -> str:
    """A family by its weights and what is free.

    >>> from allais.people import Family
    >>> short_name(Family(alpha=0.88))
    'TverskyKahneman: weight_eta, loss_aversion, temperature'
    """
    weights = [_named(one) for one in (family.gains, family.losses) if one is not None]
    return f"{' and '.join(weights)}: {', '.join(family.names) or 'nothing free'}"


def _named(weight: Any) -> str:
    return weight.__name__ if isinstance(weight, type) else repr(weight)
