"""The writer: one thread that writes all that is queued in one transaction, so that many callers share one sync.

A caller puts rows into the queue and awaits the future: it is done when the rows are on disk. If a transaction
fails, nobody knows what is on disk. So everything that was queued fails, and everything that comes, until `restart`
has opened a new connection; in between, whoever is ahead of the database reads it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from allais.serve.core.errors import Refused, unavailable
from allais.serve.store.database import PROBE, Database, Ownership, is_conflict, is_given_up, why_failed
from allais.serve.store.rows import Batches, Kind, Row, Rows

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
                    raise Refused(
                        409, "two changes of one thing cannot both be done; this one came second. Repeat the call."
                    ) from conflict
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
            future.exception()  # one that nobody awaits is no news


def _RESTART(connection: Connection) -> None:  # noqa: N802
    """Stand for the attempt to go on."""
