"""Rows that are written often, and the statements that write many of them at once.

A driver lets other threads run around each statement, and gets its turn back late: so few statements are used.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import chain
from typing import Any
from zlib import crc32

from pydantic_core import to_json
from sqlalchemy import Dialect, Table

from allais.serve.store import tables


class Kind(IntEnum):
    """Kinds of rows, in the order in which a transaction writes them."""

    EVENT = 0
    DECISION = 1
    CLOSING = 2
    ARM = 3
    ARM_CHANGE = 4
    SNAPSHOT = 5
    OLD_SNAPSHOTS = 6
    STATE = 7
    AUDIT = 8
    IMPORT = 9
    MOMENT = 10
    SETTINGS = 11


Row = tuple[Kind, tuple[Any, ...]]
Rows = dict[Kind, list[tuple[Any, ...]]]

# new rows: their table, and the columns in the order of their entries
INSERTS: dict[Kind, tuple[Table, str]] = {
    Kind.EVENT: (tables.events, "experiment seq at body checksum"),
    Kind.DECISION: (tables.decisions, "experiment number arm person key asked_at propensity state detail clock"),
    Kind.ARM: (tables.arms, "experiment name position in_play changed_at"),
    Kind.SNAPSHOT: (tables.snapshots, "experiment seq at document checksum"),
    Kind.AUDIT: (tables.audit, "at key action target detail"),
    Kind.IMPORT: (tables.imports, "experiment key outcomes at"),
    Kind.MOMENT: (tables.moments, "experiment outcomes sure"),
}
# changes of rows: their table, the columns that change, then those that say which row it is
UPDATES: dict[Kind, tuple[Table, str, str]] = {
    Kind.CLOSING: (tables.decisions, "state outcome closed_at closing_key", "experiment number"),
    Kind.ARM_CHANGE: (tables.arms, "in_play changed_at", "experiment name"),
    Kind.STATE: (tables.experiments, "state", "id"),
    Kind.SETTINGS: (tables.experiments, "settings checksum", "id"),
}
OLD_SNAPSHOTS = "DELETE FROM snapshots WHERE experiment = {0} AND seq < {0}"
FREQUENT = (Kind.EVENT, Kind.DECISION, Kind.CLOSING)
SIZES = (64, 16, 4, 1)  # of rows in one statement: few texts, so that a driver prepares each of them once


class Batches:
    """Writes rows by their kinds on a connection of the driver."""

    def __init__(self, dialect: Dialect) -> None:
        self._one = {kind: statement(dialect, kind) for kind in Kind}
        self._many = {kind: {size: statement(dialect, kind, size) for size in SIZES} for kind in FREQUENT}

    def write(self, connection: Any, rows: Rows) -> None:
        """Write rows, those of one kind after those of another; the caller commits."""
        cursor = connection.cursor()
        for kind in sorted(rows):
            many = self._many.get(kind)
            if many is None:
                cursor.executemany(self._one[kind], rows[kind])
                continue
            left, place = rows[kind], 0
            for size in SIZES:
                while len(left) - place >= size:
                    cursor.execute(many[size], tuple(chain.from_iterable(left[place : place + size])))
                    place += size
        cursor.close()


def statement(dialect: Dialect, kind: Kind, size: int | None = None) -> str:
    """The statement that writes one row of a kind, or `size` of a frequent kind, as a driver takes it."""
    mark = "?" if dialect.name == "sqlite" else "%s"
    if kind is Kind.OLD_SNAPSHOTS:
        return OLD_SNAPSHOTS.format(mark)
    if kind in INSERTS:
        table, columns = INSERTS[kind]
        names = columns.split()
        return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {_places(dialect, table, names, size or 1)}"
    table, changing, which = UPDATES[kind]
    changed, where = changing.split(), which.split()
    if size is None:
        changes = ", ".join(f"{name} = {mark}" for name in changed)
        return f"UPDATE {table.name} SET {changes} WHERE {' AND '.join(f'{name} = {mark}' for name in where)}"
    names, changes = [*changed, *where], ", ".join(f"{name} = new.{name}" for name in changed)
    these = " AND ".join(f"{table.name}.{name} = new.{name}" for name in where)
    values = _places(dialect, table, names, size)
    return f"WITH new({', '.join(names)}) AS (VALUES {values}) UPDATE {table.name} SET {changes} FROM new WHERE {these}"


def _places(dialect: Dialect, table: Table, names: list[str], size: int) -> str:
    """The places of the entries of some rows; PostgreSQL must be told their types."""
    if dialect.name == "sqlite":
        one = ", ".join("?" for _ in names)
    else:
        one = ", ".join(f"%s::{table.c[name].type.compile(dialect)}" for name in names)
    return ", ".join([f"({one})"] * size)


def as_json(document: Any) -> str:
    """A document as rows have it, without blanks; this is several times as quick as Python's own."""
    return to_json(document, inf_nan_mode="constants").decode()


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
