"""Events as lines of JSON, each with a checksum; and back, with suspicion."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def line_of(event: Event) -> bytes:
    """An event as a line: JSON, whose last entry is the checksum of all before it.

    >>> line_of({"tell": 1, "reward": 7.0})
    b'{"tell": 1, "reward": 7.0, "check": 2627653369}\\n'
    """
    text = json.dumps(event, allow_nan=False).encode()
    return text[:-1] + _ending(text) + b"\n"


def _ending(text: bytes) -> bytes:
    return b', "check": %d}' % zlib.crc32(text)


def event_of(line: bytes) -> Event | None:
    """What a line without its end says, or None if it is not as it was written."""
    if line.startswith(b"{"):
        end = line.rfind(b', "check": ')
        text = line[:end] + b"}"
        if end < 0 or line[end:] != _ending(text):
            return None
    else:  # version 0.1.0 put the checksum of a learner's event first
        text = line[9:]
        if line[:9] != b"%08x " % zlib.crc32(text):
            return None
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def events_in(content: bytes, path: Path, *, numbered: bool, advice: str = "") -> tuple[list[Event], int]:
    """The events of a file, and how many bytes their lines are.

    A line that ends was acknowledged, or may have been: if it is not as it was written, that is damage. The end of
    a line is written last, so one without it was cut off while it was written; it is left out.
    """
    *lines, rest = content.split(b"\n")
    events: list[Event] = []
    for line in lines:
        event = event_of(line)
        if event is None or (numbered and event.pop("n", None) != len(events) + 1):
            also = advice if events else ""
            raise ValueError(
                f"a journal must be as it was written; {path} is damaged in line {len(events) + 1}. Use a backup{also}."
            )
        events.append(event)
    if event_of(rest[:-1]) is not None:  # whole, with something else for its end
        raise ValueError(
            f"a journal must be as it was written; {path} is damaged at its end, in line {len(events) + 1}. "
            "Use a backup."
        )
    return events, len(content) - len(rest)
