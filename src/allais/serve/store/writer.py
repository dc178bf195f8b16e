"""The writer: one thread that writes all that is queued in one transaction, so that many callers share one sync.

A driver lets other threads run around each statement, and gets its turn back late: so few statements write many rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from zlib import crc32

from pydantic_core import to_json
from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.exc import DBAPIError

from allais.serve.core.errors import Refused, unavailable
from allais.serve.store import tables
from allais.serve.store.database import PROBE, Database, Ownership, is_conflict, is_given_up, why_failed


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


ATTEMPTS = 5  # at a transaction that conflicts with those of others


class _Item(NamedTuple):
    rows: Sequence[Row]
    work: Callable[[Connection], Any] | None  # a transaction of its own
    future: asyncio.Future[Any]


class Writer:
    """The only one who writes to the database; it belongs to the event loop that made it."""

    def __init__(self, database: Database, ownership: Ownership, on_failure: Callable[[Exception], None]) -> None:
        self._database, self._ownership, self._on_failure = database, ownership, on_failure
        self._batches = Batches(database.engine.dialect)
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._connection: Connection | None = None
        self._broken = False  # written by the thread only
        self.commits = self.rows = 0  # of rows that were queued
        self._thread = threading.Thread(target=self._run, name="allais-writer", daemon=True)
        self._thread.start()

    # -- of the event loop ------------------------------------------------------------------------

    def put(self, rows: Sequence[Row]) -> asyncio.Future[None]:
        """Queue rows; the future is done when they, and all that was queued before, are on disk."""
        future = self._loop.create_future()
        self._queue.put(_Item(rows, None, future))
        return future

    def call(self, work: Callable[[Connection], Any]) -> asyncio.Future[Any]:
        """Queue a transaction of its own; the future has what it returned."""
        future = self._loop.create_future()
        self._queue.put(_Item((), work, future))
        return future

    def restart(self) -> asyncio.Future[None]:
        """Queue the attempt to go on after a failure; whatever was queued before it has failed by then."""
        return self.call(_RESTART)

    def close(self) -> None:
        """Write what is queued, and end."""
        self._queue.put(None)
        self._thread.join()

    # -- of the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        running = True
        while running:
            item = self._queue.get()
            batch: list[_Item] = []
            with contextlib.suppress(Empty):
                while item is not None:
                    if item.work is None:
                        batch.append(item)
                    else:
                        self._write(batch)
                        self._do(item)
                        batch = []
                    item = self._queue.get_nowait()
                running = False
            self._write(batch)
        if self._connection is not None:
            with contextlib.suppress(Exception):  # it has nothing that is not committed
                self._connection.close()

    def _write(self, batch: list[_Item]) -> None:
        if not batch:
            return
        error: BaseException | None = unavailable() if self._broken else None
        if error is None:
            by_kind: dict[Kind, list[tuple[Any, ...]]] = {}
            for item in batch:
                for kind, entries in item.rows:
                    by_kind.setdefault(kind, []).append(entries)
            try:
                if by_kind:
                    self._commit(by_kind)
                    self.commits += 1
                    self.rows += sum(map(len, by_kind.values()))
                self._database.require_there()
            except Exception as failure:
                error = self._failed(failure)
        self._tell([(item.future, None) for item in batch], error)

    def _commit(self, rows: Rows) -> None:
        """Write rows in one transaction; once more where PostgreSQL gave it up in favour of another one."""
        driver: Any = self._connected().connection.driver_connection
        for left in reversed(range(ATTEMPTS)):
            try:
                self._batches.write(driver, rows)
                driver.commit()
                return
            except Exception as failure:
                if not left or not is_given_up(failure):
                    raise
                driver.rollback()

    def _do(self, item: _Item) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            if item.work is _RESTART:
                self._disconnect()
                connection = self._connected()
                self._ownership.take_again(connection)
                connection.execute(PROBE)
                connection.commit()
                self._broken = False
            elif self._broken:
                error = unavailable()
            else:
                assert item.work is not None
                result = self._done(item.work)
        except (ValueError, Refused) as refusal:  # of the work itself: it has changed nothing
            error = refusal
            if self._connection is not None:
                self._connection.rollback()
        except Exception as failure:
            error = self._failed(failure)
        self._tell([(item.future, result)], error)

    def _done(self, work: Callable[[Connection], Any]) -> Any:
        """What a transaction of its own returns. One that met with another process's is done again: it sees theirs."""
        for left in reversed(range(ATTEMPTS)):
            connection = self._connected()
            try:
                result = work(connection)
                connection.commit()
                self._database.require_there()
                return result
            except DBAPIError as conflict:
                if not is_conflict(conflict):
                    raise
                connection.rollback()
                if not left:
                    raise Refused(409, "two changes conflict; this one came second. Repeat the call.") from conflict
        raise AssertionError("unreachable")

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):  # it may be dead already
                self._connection.invalidate()
                self._connection.close()
            self._connection = None

    def _failed(self, failure: Exception) -> BaseException:
        """Take no more rows until `restart`."""
        self._broken = True
        self._disconnect()
        self._loop.call_soon_threadsafe(self._on_failure, failure)
        refusal = unavailable(why_failed(failure))
        refusal.__cause__ = failure
        return refusal

    def _tell(self, results: Iterable[tuple[asyncio.Future[Any], Any]], error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # of a loop that was closed meanwhile
            self._loop.call_soon_threadsafe(_settle, list(results), error)


def _settle(results: list[tuple[asyncio.Future[Any], Any]], error: BaseException | None) -> None:
    for future, result in results:
        if future.cancelled():  # its caller is gone; the rows are on disk all the same
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
            future.exception()  # asyncio would complain of an error that nobody awaits


def _RESTART(connection: Connection) -> None:  # noqa: N802
    """Mark the attempt to resume after a failure; it is never called."""
