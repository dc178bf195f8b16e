"""Preferences as files: readable JSON with a format, a version and a checksum."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allais.files.atomic import write_atomically
from allais.files.reading import DAMAGE, checksum, reason, require, text_of
from allais.settings import checked_trust, from_spec, to_spec

if TYPE_CHECKING:
    from allais.preferences.preference import Preference

FORMAT, VERSION = "allais preference", 1


def write_preference(path: Path, preference: Preference, more: dict[str, Any]) -> None:
    """Write a preference to a file, and what else is known about where it comes from."""
    document = {"format": FORMAT, "version": VERSION, "preference": to_spec(preference), **more}
    document["checksum"] = checksum(document)
    write_atomically(path, json.dumps(document, allow_nan=False) + "\n")


def read_document(path: Path) -> dict[str, Any]:
    """What a preference file holds, whole and as it was written."""
    content = text_of(path, "a preference is")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"not a preference file: {path}. Check the path.")
    if document.get("version") != VERSION:
        raise ValueError(f"a preference file must be of version {VERSION}; {path} is not. Update allais.")
    if document.get("checksum") != checksum(document):
        raise ValueError(f"a preference file must match its checksum; {path} is damaged. Use a backup.")
    return document


def read_preference(kind: type[Preference], path: Path, trust: Sequence[str]) -> Preference:
    """The preference that a file holds."""
    trusted = checked_trust(trust)
    document = read_document(path)
    try:
        found = from_spec(document["preference"], trusted)
        require(isinstance(found, kind), "it holds no preference")
    except DAMAGE as error:
        raise ValueError(
            f"a preference file must be whole; {path} is damaged ({reason(error)}). Use a backup."
        ) from None
    return found
