"""Rows that are written often: for each kind a statement that the writer runs once for many of them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any
from zlib import crc32

from sqlalchemy import Dialect, bindparam, delete, insert, update
from sqlalchemy.sql import ClauseElement

from allais.serve.store import tables


class Kind(IntEnum):
    """Kinds of rows, in the order in which a transaction writes them."""

    EVENT = 0  # experiment, seq, at, body, checksum
    DECISION = 1  # experiment, number, arm, person, key, asked_at, propensity, state, detail, clock
    CLOSING = 2  # state, outcome, closed_at, closing_key, experiment, number
    ARM = 3  # experiment, name, position, in_play, changed_at
    ARM_CHANGE = 4  # in_play, changed_at, experiment, name
    SNAPSHOT = 5  # experiment, seq, at, document, checksum
    OLD_SNAPSHOTS = 6  # experiment, seq
    STATE = 7  # state, experiment
    AUDIT = 8  # at, key, action, target, detail
    IMPORT = 9  # experiment, key, outcomes, at
    MOMENT = 10  # experiment, outcomes, sure
    SETTINGS = 11  # settings, checksum, experiment


Row = tuple[Kind, tuple[Any, ...]]

ORDER: dict[Kind, tuple[str, ...]] = {
    Kind.EVENT: ("experiment", "seq", "at", "body", "checksum"),
    Kind.DECISION: (
        "experiment",
        "number",
        "arm",
        "person",
        "key",
        "asked_at",
        "propensity",
        "state",
        "detail",
        "clock",
    ),
    Kind.CLOSING: ("state", "outcome", "closed_at", "closing_key", "of_experiment", "of_number"),
    Kind.ARM: ("experiment", "name", "position", "in_play", "changed_at"),
    Kind.ARM_CHANGE: ("in_play", "changed_at", "of_experiment", "of_name"),
    Kind.SNAPSHOT: ("experiment", "seq", "at", "document", "checksum"),
    Kind.OLD_SNAPSHOTS: ("of_experiment", "before"),
    Kind.STATE: ("state", "of_experiment"),
    Kind.AUDIT: ("at", "key", "action", "target", "detail"),
    Kind.IMPORT: ("experiment", "key", "outcomes", "at"),
    Kind.MOMENT: ("experiment", "outcomes", "sure"),
    Kind.SETTINGS: ("settings", "checksum", "of_experiment"),
}


def _inserting(table: Any, kind: Kind) -> ClauseElement:
    return insert(table).values({name: bindparam(name) for name in ORDER[kind]})


def _updating(table: Any, kind: Kind) -> Any:
    return update(table).values({name: bindparam(name) for name in ORDER[kind] if not name.startswith("of_")})


_decision, _arm, _snapshot = tables.decisions.c, tables.arms.c, tables.snapshots.c
STATEMENTS: dict[Kind, ClauseElement] = {
    Kind.EVENT: _inserting(tables.events, Kind.EVENT),
    Kind.DECISION: _inserting(tables.decisions, Kind.DECISION),
    Kind.CLOSING: _updating(tables.decisions, Kind.CLOSING).where(
        _decision.experiment == bindparam("of_experiment"), _decision.number == bindparam("of_number")
    ),
    Kind.ARM: _inserting(tables.arms, Kind.ARM),
    Kind.ARM_CHANGE: _updating(tables.arms, Kind.ARM_CHANGE).where(
        _arm.experiment == bindparam("of_experiment"), _arm.name == bindparam("of_name")
    ),
    Kind.SNAPSHOT: _inserting(tables.snapshots, Kind.SNAPSHOT),
    Kind.OLD_SNAPSHOTS: delete(tables.snapshots).where(
        _snapshot.experiment == bindparam("of_experiment"), _snapshot.seq < bindparam("before")
    ),
    Kind.STATE: _updating(tables.experiments, Kind.STATE).where(tables.experiments.c.id == bindparam("of_experiment")),
    Kind.SETTINGS: _updating(tables.experiments, Kind.SETTINGS).where(
        tables.experiments.c.id == bindparam("of_experiment")
    ),
    Kind.AUDIT: _inserting(tables.audit, Kind.AUDIT),
    Kind.IMPORT: _inserting(tables.imports, Kind.IMPORT),
    Kind.MOMENT: _inserting(tables.moments, Kind.MOMENT),
}


def statements_for(dialect: Dialect) -> dict[Kind, str]:
    """The statements as a driver takes them, with places for a row's entries in their order."""
    style = "qmark" if dialect.name == "sqlite" else "format"
    positional = type(dialect)(paramstyle=style)  # type: ignore[call-arg]
    found = {}
    for kind, statement in STATEMENTS.items():
        compiled: Any = statement.compile(dialect=positional)
        if tuple(compiled.positiontup) != ORDER[kind]:
            raise AssertionError(f"the entries of {kind.name} are {compiled.positiontup}, not {ORDER[kind]}.")
        found[kind] = str(compiled)
    return found


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
