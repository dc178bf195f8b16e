"""A whole service as one file of JSON lines, to move it to another database: SQLite or PostgreSQL, either way.

The first line says what the file is, then comes every row of every table, and the last line has their number and a
checksum. The rows are those of one moment, also while a server runs. An import begins with an empty database, and is
one transaction: all of the file, or nothing.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import io
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, LargeBinary, Table, func, insert, inspect, select, text
from sqlalchemy.exc import DatabaseError

from allais import __version__
from allais.serve.api.schemas import NewKey
from allais.serve.core import keys
from allais.serve.core.errors import Refused
from allais.serve.core.parse_settings import learner_from_settings, with_policy
from allais.serve.settings_file import ServerSettings
from allais.serve.store import tables
from allais.serve.store.database import HEAD, PATIENCE, Database, brief_of, open_privately, private
from allais.serve.store.tables import metadata
from allais.serve.store.writer import as_json
from allais.serve.webhooks import hook_of

FORMAT, VERSION = "allais service", 1
AT_A_TIME = 1_000  # rows in one statement
DAMAGED = "an export must be whole; {path} is not ({why}). Export again, or use a copy."


def export_to(database: Database, path: Path) -> int:
    """Write all rows of a database to a new file, compressed if its name ends with .gz; how many there were."""
    if database.is_sqlite and not database.file.exists():
        raise ValueError(f"an export needs a database; there is none at {database.shown}. Check the address.")
    database.migrate()
    digest, rows = hashlib.sha256(), 0
    with _opened(path, "x") as file, database.connect() as connection:
        if database.is_sqlite:  # one moment for all tables: the driver begins no transaction to read
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")

        def put(line: dict[str, Any]) -> None:
            written = json.dumps(line, separators=(",", ":")) + "\n"
            digest.update(written.encode())
            file.write(written)

        put({"format": FORMAT, "version": VERSION, "tables": HEAD, "allais": __version__})
        for table in metadata.sorted_tables:
            rows_of = select(table).order_by(*table.primary_key)
            for row in connection.execution_options(yield_per=AT_A_TIME).execute(rows_of):
                put(
                    {
                        "table": table.name,
                        "row": [base64.b64encode(it).decode() if isinstance(it, bytes) else it for it in row],
                    }
                )
                rows += 1
        file.write(json.dumps({"rows": rows, "sha256": digest.hexdigest()}) + "\n")
    return rows


def import_from(path: Path, database: Database) -> int:
    """Write all rows of a file to a database that has none; how many there were."""
    database.migrate()
    with _opened(path, "r") as file, database.connect() as connection:
        for table in metadata.sorted_tables:
            if connection.execute(select(func.count()).select_from(table)).scalar_one():
                raise ValueError(
                    f"an import begins with an empty database; {database.shown} has {table.name}. Name a new one."
                )
        rows = 0
        for table, some in _batches(_rows(file, path)):
            connection.execute(insert(table), [dict(zip(table.c.keys(), row, strict=True)) for row in some])
            rows += len(some)
        if not database.is_sqlite:
            _go_on_counting(connection)
        connection.commit()
    return rows


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Iterator[IO[str]]:
    try:
        raw = open(path, f"{mode}b", opener=private)  # noqa: SIM115  # it has names of people
    except FileExistsError:
        raise ValueError(f"an export is a new file; {path} is there already. Name another.") from None
    except OSError as error:
        raise ValueError(f"cannot open {path}: {error.strerror}. Check the path.") from None
    stream: Any = gzip.GzipFile(fileobj=raw, mode=mode.replace("x", "w")) if path.suffix == ".gz" else raw
    with raw, io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as opened:
        yield opened


def _rows(file: IO[str], path: Path) -> Iterator[tuple[Table, list[Any]]]:
    """The rows of a file by their tables; at its end it must be as it was written."""
    rows, last, number = 0, None, 1
    try:
        first = file.readline()
        head = json.loads(first)
    except (EOFError, OSError, ValueError) as error:
        raise ValueError(DAMAGED.format(path=path, why=f"line 1: {error}")) from None
    _require_known(head, path)
    digest = hashlib.sha256(first.encode())
    try:
        for number, line in enumerate(file, start=2):  # noqa: B007
            found = json.loads(line)
            if "sha256" in found:
                last = found
                break
            digest.update(line.encode())
            rows += 1
            table = metadata.tables[found["table"]]
            kinds = [isinstance(column.type, LargeBinary) for column in table.c]
            yield table, [base64.b64decode(it) if binary and it is not None else it
                          for it, binary in zip(found["row"], kinds, strict=True)]  # fmt: skip
    except (EOFError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(DAMAGED.format(path=path, why=f"line {number}: {error}")) from None
    if last is None or last.get("rows") != rows or last["sha256"] != digest.hexdigest():
        why = "its last line is missing" if last is None else "its checksum differs"
        raise ValueError(DAMAGED.format(path=path, why=why))


def _require_known(head: Any, path: Path) -> None:
    """Refuse a file of another kind or version."""
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ValueError(f"an import is a file that `allais serve export` wrote; {path} is not. Check the path.")
    if head.get("version") != VERSION or head.get("tables") != HEAD:
        raise ValueError(
            f"an export is read by the version that wrote it; {path} is of allais {head.get('allais')}, this is "
            f"{__version__}. Import it with that version, and let this one open the database."
        )


def _batches(rows: Iterator[tuple[Table, list[Any]]]) -> Iterator[tuple[Table, list[list[Any]]]]:
    """Rows of one table together, some at a time."""
    for table, of_it in groupby(rows, key=itemgetter(0)):
        while some := [row for _, row in islice(of_it, AT_A_TIME)]:
            yield table, some


def _go_on_counting(connection: Connection) -> None:
    """Let PostgreSQL number new rows after those that came with their numbers."""
    for table in metadata.sorted_tables:
        key = list(table.primary_key)
        if len(key) == 1 and key[0].autoincrement and key[0].type.python_type is int:
            name = {"table": table.name, "column": key[0].name}
            sequence = connection.execute(text("SELECT pg_get_serial_sequence(:table, :column)"), name).scalar()
            last = connection.execute(select(func.max(key[0]))).scalar()
            if sequence is not None and last is not None:
                connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})


# ---- What is done on the machine itself, beside a server that runs or without one: a new key, a backup.

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
        whole, made = keys.new_key(call, time.time())
        entries = {"key": CONSOLE, "action": "make key", "target": made.id, "detail": as_json(keys.limits(made))}
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
            raise ValueError(f"a backup overwrites nothing; {to} exists. Choose another name.")
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


def check(settings: ServerSettings) -> Iterator[tuple[bool, str]]:
    """What a start with these settings would meet: whether each is all right, and a sentence about it."""
    for name, experiment in settings.experiments.items():
        try:
            learner_from_settings(with_policy(experiment))
            yield True, f"experiments.{name}: {len(experiment.arms)} arms"
        except (ValueError, Refused) as error:
            yield False, f"experiments.{name}: {error.sentence if isinstance(error, Refused) else error}"
    for name, hook in settings.webhooks.items():
        try:
            hook_of(name, hook)
            yield True, f"webhooks.{name}: {', '.join(hook.events)} to {hook.url}"
        except ValueError as error:
            yield False, str(error)
    try:
        yield True, f"database: {_state_of(Database(settings.database))}"
    except ValueError as error:
        yield False, f"database: {error}"
    here = settings.host in ("localhost", "127.0.0.1", "::1")
    beyond = "" if here else ", beyond this machine and over plain HTTP: let others reach it by a proxy that does TLS"
    yield True, f"address: {settings.host}:{settings.port}{beyond}"


def _state_of(database: Database) -> str:
    """What a start would do with a database, in words."""
    with contextlib.closing(database):
        if database.is_sqlite and not database.file.exists():
            if not os.access(database.file.parent, os.W_OK):
                raise ValueError(
                    f"{database.file.parent} is not a folder that can be written to. Create it, or grant the rights."
                )
            return f"{database.shown} will be made"
        try:
            with database.connect() as connection:
                empty = not inspect(connection).get_table_names()
        except DatabaseError as error:
            raise ValueError(f"{database.shown} does not answer ({brief_of(error)}). Check the address.") from None
        version = database.version()
        if version is None and not empty:
            raise ValueError(f"{database.shown} has tables of something else. Name another.")
        if version is not None and version > HEAD:
            raise ValueError(f"{database.shown} is of a newer version of allais. Update allais.")
        if version == HEAD:
            return f"{database.shown} is of this version"
        return f"{database.shown} " + ("is empty" if empty else "is older, and a start brings it up to date")


@contextlib.contextmanager
def _existing(address: str) -> Iterator[Database]:
    """The database at an address, which must be one of this version."""
    database = Database(address)
    try:
        if database.is_sqlite and not database.file.exists():
            raise ValueError(f"no database at {database.file}. Check the address.")
        try:
            with database.connect() as connection:
                there = inspect(connection).has_table("keys")
        except DatabaseError as error:
            raise ValueError(
                f"a database must answer; {database.shown} does not ({brief_of(error)}). Check the address."
            ) from None
        if not there:
            raise ValueError(
                f"a database must be one that allais serve made; {database.shown} is not. Check the address."
            )
        yield database
    finally:
        database.dispose()
