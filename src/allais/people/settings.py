"""Families as plain JSON, and back."""

from __future__ import annotations

from typing import Any

from allais.people.family import Family
from allais.people.parameters import WEIGHTS
from allais.preferences import PowerUtility
from allais.settings import kind_named, to_spec


def family_setting(family: Family) -> dict[str, Any]:
    """What a file holds of a family."""
    given = [[name, to_spec(wish)] for name, wish in family.given.items()]
    return {
        "type": "Family",
        "gains": _named(family.gains),
        "losses": _named(family.losses),
        "utility": _named(family.utility),
        "choice": to_spec(family.choice),
        "reference": family.reference,
        "costs": family.costs,
        "stake": family.stake,
        "parameters": given,
        "prior": to_spec(family.joint_prior),
    }


def family_from(content: dict[str, Any]) -> Family:
    """The family that a file describes; its weights, its rule and its wishes are made already."""
    family = Family(
        _found(content["gains"]), _found(content["losses"]), _found(content["utility"]), content["choice"],
        reference=content["reference"], costs=content["costs"], stake=content["stake"], **dict(content["parameters"]),
    )  # fmt: skip
    return family if content["prior"] is None else family.with_prior(content["prior"])


def _named(thing: Any) -> Any:
    """A type by its name, which only a family's parts have; anything else as a setting."""
    return thing.__name__ if isinstance(thing, type) else to_spec(thing)


def _found(name: Any) -> Any:
    if not isinstance(name, str) or name == "dual":
        return name
    kind = kind_named(name)
    if kind is not PowerUtility and kind not in WEIGHTS:
        raise ValueError(f"a family has weights and a utility of this library; got {name!r}. Update allais.")
    return kind
