"""What differs between two settings, in words."""

from __future__ import annotations

import json
from typing import Any

MOST_TEXT = 60  # characters that are shown of a text, from a little before it differs
BEFORE = 20


def changes(before: Any, now: Any, name: str = "") -> list[str]:
    """One entry for each field that differs, with what it was and what it is.

    >>> changes({"delta": 0.1, "rewards": {"high": 30}}, {"delta": 0.1, "rewards": {"high": 50}})
    ['rewards.high: 30 before, 50 now']
    """
    if before == now:
        return []
    if isinstance(before, dict) and isinstance(now, dict) and before.get("type") == now.get("type"):
        keys = [*now, *(key for key in before if key not in now)]
        return [
            entry
            for key in keys
            for entry in changes(before.get(key), now.get(key), f"{name}.{key}" if name else str(key))
        ]
    old, new = _parted(_text(before), _text(now))
    return [f"{name}: {old} before, {new} now" if name else f"{old} before, {new} now"]


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
