"""Checksums of the rows that determine a learner: a bit that flips on the disk is found when its row is read."""

from __future__ import annotations

from zlib import crc32


def checksum(content: str | bytes, *place: int | str) -> int:
    """The checksum of a row: of its content, and of the columns that say which row it is.

    >>> checksum("body", 1, 7) == checksum("body", 1, 7), checksum("body", 1, 7) == checksum("body", 1, 8)
    (True, False)
    """
    start = crc32(repr(place).encode())
    return crc32(content.encode() if isinstance(content, str) else content, start)


def require_same(stored: int | None, what: str, content: str | bytes, *place: int | str) -> None:
    """Refuse a row that is not as it was written; rows of older versions have no checksum, and are trusted."""
    if stored is not None and stored != checksum(content, *place):
        raise ValueError(f"{what} is damaged: its checksum differs")
