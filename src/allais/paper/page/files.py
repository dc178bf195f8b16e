"""Files of the report."""

from __future__ import annotations

import contextlib
from pathlib import Path

from allais.files.atomic import write_atomically


def write_changed(path: Path, text: str) -> None:
    """Write a file unless it is there as it should be: a disk takes its time to be sure of twenty figures."""
    with contextlib.suppress(OSError, ValueError):
        if path.read_text(encoding="utf-8") == text:
            return
    write_atomically(path, text)
