"""What is done on the machine itself, beside a server that runs or without one: a new key, a backup."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy import insert, inspect
from sqlalchemy.exc import DatabaseError

from allais.serve.api.schemas import NewKey
from allais.serve.core import keys
from allais.serve.core.errors import dumps
from allais.serve.store import tables
from allais.serve.store.database import HEAD, PATIENCE, Database, brief_of, open_privately

CONSOLE = "console"  # who did it, in the audit trail: somebody with access to the machine
DAY = 86_400.0


def make_key(
    address: str, name: str, scopes: Sequence[str], expires_in_days: float | None, experiments: Sequence[str]
) -> str:
    """A new key of a database that is there; servers know it within seconds."""
    seconds = None if expires_in_days is None else expires_in_days * DAY
    asked = {"name": name, "scopes": list(scopes), "expires_in": seconds, "experiments": list(experiments) or None}
    call = NewKey.model_validate(asked)
    with _existing(address) as database:
        if database.version() != HEAD:
            raise ValueError(f"a key needs a database of this version; {database.shown} is of another. Start it once.")
        in_order = tuple(scope for scope in keys.SCOPES if scope in call.scopes)
        only = None if call.experiments is None else tuple(call.experiments)
        whole, made = keys.new_key(call.name, in_order, time.time(), call.expires_in, only)
        entries = {"key": CONSOLE, "action": "make key", "target": made.id, "detail": dumps(keys.limits(made))}
        try:
            with database.connect() as connection:
                keys.store(connection, made)
                connection.execute(insert(tables.audit).values(at=time.time(), **entries))
                connection.commit()
        except DatabaseError as error:
            raise ValueError(f"a key must be written; {database.shown} refused it ({brief_of(error)}).") from None
        return whole


def back_up(address: str, to: Path) -> int:
    """Copy an SQLite database as it is at one moment, also while a server writes to it; how many bytes the copy has.

    The copy is checked, and is there as a whole or not at all.
    """
    if not (given := Database(address)).is_sqlite:
        raise ValueError(f"a PostgreSQL database is backed up by its own tool; got {given.shown}. Use pg_dump.")
    with _existing(address) as database:
        if to.exists():
            raise ValueError(f"a backup overwrites nothing; {to} is there. Choose another name.")
        partial = to.with_name(f"{to.name}.partial")
        try:
            partial.unlink(missing_ok=True)
            open_privately(str(partial)).close()
            with contextlib.closing(sqlite3.connect(partial)) as copy:
                with contextlib.closing(sqlite3.connect(database.file, timeout=PATIENCE)) as original:
                    original.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
                (found,) = copy.execute("PRAGMA integrity_check").fetchone()
            if found != "ok":
                raise ValueError(f"a backup must be whole; {database.file} is damaged ({found}). Use an older backup.")
            with open(partial, "rb") as written:
                os.fsync(written.fileno())
            partial.rename(to)
        except sqlite3.Error as error:
            raise ValueError(f"a backup reads the whole database; {database.file} refused ({error}).") from None
        finally:
            partial.unlink(missing_ok=True)
    return to.stat().st_size


@contextlib.contextmanager
def _existing(address: str) -> Iterator[Database]:
    """The database at an address, which must be one of this version."""
    database = Database(address)
    try:
        if database.is_sqlite and not database.file.exists():
            raise ValueError(f"a database must be there; there is none at {database.file}. Check the address.")
        try:
            with database.connect() as connection:
                there = inspect(connection).has_table("keys")
        except DatabaseError as error:
            raise ValueError(
                f"a database must answer; {database.shown} does not ({brief_of(error)}). Check the address."
            ) from None
        if not there:
            raise ValueError(f"a database must be one of allais serve; {database.shown} is another. Check the address.")
        yield database
    finally:
        database.dispose()
