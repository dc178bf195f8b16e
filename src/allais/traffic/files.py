"""Read the XML files of SUMO, packed or not; what cannot be read is refused in one sentence."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from xml.etree import ElementTree

PACKED = b"\x1f\x8b"  # how a .gz begins


def read_text(path: str | Path, thing: str) -> str:
    """The text of a file, unpacked if it is a .gz."""
    try:
        content = Path(path).read_bytes()
        return (gzip.decompress(content) if content.startswith(PACKED) else content).decode("utf-8-sig")
    except UnicodeDecodeError:
        reason = "it is no text"
    except (EOFError, zlib.error, gzip.BadGzipFile):
        reason = "its packing is damaged"
    except OSError as error:
        reason = str(error.strerror)
    raise ValueError(f"{thing} is read from a file; {path} cannot be read ({reason}). Check the path.")


def parsed(content: str, thing: str, name: str) -> ElementTree.Element:
    """The root of an XML text."""
    try:
        return ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError) as error:  # a ValueError: an encoding that nobody knows
        raise ValueError(f"{thing} must be whole XML; {name} is damaged ({error}). Make it again.") from None
