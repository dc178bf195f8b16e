"""Many rows with few statements: a driver lets other threads run around each one, and gets its turn back late."""

from __future__ import annotations

from itertools import chain
from typing import Any

from sqlalchemy import Dialect, Table

from allais.serve.store import tables
from allais.serve.store.rows import ORDER, Kind, statements_for

SIZES = (64, 16, 4, 1)  # of rows in one statement: few texts, so that a driver prepares each of them once

Rows = dict[Kind, list[tuple[Any, ...]]]


class Batches:
    """Writes rows by their kinds on a connection of the driver."""

    def __init__(self, dialect: Dialect) -> None:
        self._single = statements_for(dialect)
        self._many = {
            Kind.EVENT: {size: _inserting(dialect, tables.events, Kind.EVENT, size) for size in SIZES},
            Kind.DECISION: {size: _inserting(dialect, tables.decisions, Kind.DECISION, size) for size in SIZES},
            Kind.CLOSING: {size: _closing(dialect, size) for size in SIZES},
        }

    def write(self, connection: Any, rows: Rows) -> None:
        """Write rows, those of one kind after those of another; the caller commits."""
        cursor = connection.cursor()
        for kind in sorted(rows):
            many = self._many.get(kind)
            if many is None:
                cursor.executemany(self._single[kind], rows[kind])
                continue
            left, place = rows[kind], 0
            for size in SIZES:
                while len(left) - place >= size:
                    cursor.execute(many[size], tuple(chain.from_iterable(left[place : place + size])))
                    place += size
        cursor.close()


def _places(dialect: Dialect, table: Table, names: tuple[str, ...]) -> str:
    """The places of one row's entries; PostgreSQL must be told their types."""
    if dialect.name == "sqlite":
        return f"({', '.join('?' for _ in names)})"
    return f"({', '.join(f'%s::{table.c[name].type.compile(dialect)}' for name in names)})"


def _inserting(dialect: Dialect, table: Table, kind: Kind, size: int) -> str:
    rows = ", ".join([_places(dialect, table, ORDER[kind])] * size)
    return f"INSERT INTO {table.name} ({', '.join(ORDER[kind])}) VALUES {rows}"


def _closing(dialect: Dialect, size: int) -> str:
    """Close many decisions: all that `rows.STATEMENTS` does for one."""
    names = tuple(name.removeprefix("of_") for name in ORDER[Kind.CLOSING])
    rows = ", ".join([_places(dialect, tables.decisions, names)] * size)
    changes = ", ".join(f"{name} = ended.{name}" for name in names[:-2])
    where = " AND ".join(f"decisions.{name} = ended.{name}" for name in names[-2:])
    return f"WITH ended({', '.join(names)}) AS (VALUES {rows}) UPDATE decisions SET {changes} FROM ended WHERE {where}"
