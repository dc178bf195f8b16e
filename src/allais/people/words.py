"""Families in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allais.preferences import PowerUtility

if TYPE_CHECKING:
    from allais.people.family import Family

NINETY = 1.6449  # standard deviations on either side hold 90 % of a normal law


def family_in_words(family: Family) -> str:
    """What is weighed how, what is free, and what is believed about it before any data."""
    if family.losses is None or family.losses == "dual":
        weighed = f"gains and losses by {_named(family.gains)}" + (" and its dual" if family.losses else "")
    else:
        weighed = f"gains by {_named(family.gains)}, losses by {_named(family.losses)}"
    utility = "a linear utility" if family.utility is None else PowerUtility.__name__
    lines = [f"Family: {weighed}, {utility}, {type(family.choice).__name__} on {family.choice.on}"]
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
