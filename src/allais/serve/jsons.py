"""JSON without blanks, by an encoder that is made once; and how deep a document may be."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 20  # levels of a document

dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def is_too_deep(document: Any) -> bool:
    """Whether a document has lists and objects in each other beyond `DEEPEST` levels.

    >>> is_too_deep({"weather": {"rain": [1, 2]}})
    False
    """
    level, levels = [document], 0
    while level and levels <= DEEPEST:
        levels += 1
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
    return levels > DEEPEST
