"""A bound that turns out wrong: the search goes on with wider ones, and says what that does to its promise."""

from __future__ import annotations

from typing import Any

from allais.errors import OutOfBounds
from allais.policies.base import Policy

KEPT = (
    "The promise then rests on the wider bounds, and holds if no outcome can lie beyond them: they make every interval "
    "wider, so it does no harm to have seen outcomes first."
)


def offered(error: OutOfBounds) -> OutOfBounds:
    """An error that says how to go on."""
    how = "go on with wider bounds: wider=Bounded(low, high) in Python, --wider LOW HIGH on the command line"
    sentence = f"{error} Every finished run stays usable; {how}. {KEPT}"
    return OutOfBounds(sentence, error.details)


def going_on(error: OutOfBounds, wide: Policy, runs: int | None) -> str:
    """What is said when a search goes on with wider bounds; a journal says by itself how many runs it has."""
    again = "" if runs is None else f" and uses its {runs:,} finished runs again"
    rewards: Any = wide
    return f"{error} The search goes on with {rewards.rewards}{again}. {KEPT}"
