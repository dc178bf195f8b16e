"""What differs between two settings, in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from allais.errors import OutOfBounds
from allais.policies.core.base import Policy

MOST_TEXT = 60  # characters that are shown of a text, from a little before it differs
BEFORE = 20
HARMLESS = (
    "tolerance",
    "rewards",
    "name",
)  # intervals hold at each tolerance, and narrow ones lie in those of wide bounds


def changes(before: Any, now: Any, name: str = "") -> list[str]:
    """One entry for each field that differs, with what it was and what it is.

    >>> before, now = ({"delta": 0.1, "rewards": {"low": 0, "high": high}} for high in (30, 50))
    >>> changes(before, now)
    ['rewards.high: 30 before, 50 now']
    """
    if before == now:
        return []
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [*now, *(key for key in before if key not in now)]
        if before.get("type") != now.get("type"):  # a field that only one of the types has goes with the type
            keys = [key for key in now if key in before and key != "name"]
        if len(keys) > 1:
            parts = ((key, f"{name}.{key}" if name else str(key)) for key in keys)
            return [entry for key, part in parts for entry in changes(before.get(key), now.get(key), part)]
    old, new = _parted(_text(before), _text(now))
    return [f"{name}: {old} before, {new} now" if name else f"{old} before, {new} now"]


def consequence(fields: Sequence[str]) -> str:
    """What it does to a promise that settings were changed when runs were known, in a sentence.

    >>> consequence(["delta: 0.1 before, 0.05 now", "tolerance: 0.0 before, 1.0 now"])
    ' If delta was chosen by what these runs showed, the strict promise needs another seed.'
    """
    names = list(dict.fromkeys(field.partition(":")[0].partition(".")[0] for field in fields))
    chosen = [name if name != "type" else "the type of the policy" for name in names if name not in HARMLESS]
    if chosen:
        return f" If {' or '.join(chosen)} was chosen by what these runs showed, the strict promise needs another seed."
    return (
        " The promise holds as if it had been so from the start: at every tolerance, and for all bounds that are true."
    )


def _text(thing: Any) -> str:
    if isinstance(thing, list) and len(thing) == 1:
        return _text(thing[0])
    if isinstance(thing, dict) and len(thing) == 1 and "type" in thing:
        return str(thing["type"])
    return thing if isinstance(thing, str) else json.dumps(thing)


def _parted(*texts: str) -> list[str]:
    """Texts cut to where they differ: two long ones may begin alike."""
    alike = next((at for at, pair in enumerate(zip(*texts, strict=False)) if len(set(pair)) > 1), min(map(len, texts)))
    begin = max(alike - BEFORE, 0) if max(map(len, texts)) > MOST_TEXT else 0
    return [
        ("..." if begin else "") + text[begin : begin + MOST_TEXT] + ("..." if begin + MOST_TEXT < len(text) else "")
        for text in texts
    ]


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
