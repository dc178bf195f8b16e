"""The database: where it is, how it is opened, the tables it must have, and which process may write an experiment.

One process serves an experiment, by a lock that ends with its owner. On PostgreSQL it is an advisory lock of the
writer's own session: whoever loses the session can write no more, so two processes never write one experiment. On
SQLite it is a locked file beside the database.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import sqlite3
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)

from allais.files import locked
from allais.serve.core.errors import unavailable
from allais.serve.store.tables import metadata

PATIENCE = 2.0  # seconds that a write waits for another process to finish its own
START_PATIENCE, PAUSE = 5.0, 0.05  # seconds that a start waits for a process before it to end, and between looks
HEAD = "0004"  # the last of the steps in `migrations/versions`
MIGRATING = 7_220_000  # the number of the lock under which tables change; those of experiments lie above


PROBE = text("UPDATE alembic_version SET version_num = version_num")  # a write that changes nothing


class Gone(OSError):  # noqa: N818
    """The file of a database is no longer where it was opened."""


class Database:
    """A database by its address: the path of an SQLite file, or postgresql://..."""

    def __init__(self, address: str) -> None:
        self._opened: tuple[int, int] | None = None  # which file it was, once it has its tables
        self.mark = f"allais-{secrets.token_hex(8)}"  # by which a session of this process is known to PostgreSQL
        self.engine = _engine(address, self.mark)
        self.is_sqlite = self.engine.dialect.name == "sqlite"

    @property
    def file(self) -> Path:
        """The file of an SQLite database."""
        return Path(self.engine.url.database or "")

    @property
    def shown(self) -> str:
        """The address without its password."""
        return str(self.file) if self.is_sqlite else self.engine.url.render_as_string(hide_password=True)

    def connect(self) -> Connection:
        """A connection; it is used by one thread at a time."""
        self.require_there()
        return self.engine.connect()

    def require_there(self) -> None:
        """Refuse to go on without the file: SQLite itself would write on to one that nobody finds any more."""
        if self._opened is not None and _identity(self.file) != self._opened:
            raise Gone(f"the file {self.file} was removed or replaced while it was in use")

    def migrate(self) -> None:
        """Give the database the tables of this version; make it if there never was one."""
        try:
            if self.is_sqlite:
                _make_file(self.file)
            self._upgrade()
            if self.is_sqlite:
                self._opened = _identity(self.file)
                open_privately(f"{self.file}.owner").close()  # the mark by which a later start misses it
        except OSError as error:
            raise ValueError(
                f"a service needs its database; {self.shown} cannot be opened ({error.strerror}). Check the address."
            ) from None

    def _upgrade(self) -> None:
        if self.version() == HEAD:
            return
        from alembic import command  # half a second, which a start that needs nothing is spared
        from alembic.config import Config
        from alembic.migration import MigrationContext
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations").replace("%", "%%"))
        try:
            with self.engine.connect() as connection:
                # two processes may start at once, and one may be killed halfway
                lock = "BEGIN IMMEDIATE" if self.is_sqlite else f"SELECT pg_advisory_xact_lock({MIGRATING})"
                connection.exec_driver_sql(lock)
                config.attributes["connection"] = connection
                if MigrationContext.configure(connection).get_current_revision() is None:
                    metadata.create_all(connection, checkfirst=False)  # none of these may be there
                    command.stamp(config, "head")
                else:
                    command.upgrade(config, "head")
                connection.commit()
        except CommandError:
            raise ValueError(
                f"a database must be of this version or an older one; {self.shown} is of a newer. Update allais."
            ) from None
        except DatabaseError as error:
            raise ValueError(
                f"a service needs its database; {self.shown} cannot be opened ({brief_of(error)}). Check the address."
            ) from None

    def version(self) -> str | None:
        """The last step that the database has taken; None before the first."""
        with contextlib.suppress(DatabaseError), self.engine.connect() as connection:  # said when it migrates
            if inspect(connection).has_table("alembic_version"):
                return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return None

    def dispose(self) -> None:
        """Close every connection that is not in use."""
        self.engine.dispose()

    close = dispose  # for `contextlib.closing`


def brief_of(error: SQLAlchemyError) -> str:
    """What a driver said, on one line."""
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]


def is_away(error: BaseException) -> bool:
    """Whether the database itself is the trouble, and not what one of its rows says."""
    return isinstance(error, OperationalError | InterfaceError | OSError) or (
        isinstance(error, DBAPIError) and error.connection_invalidated
    )


def is_conflict(error: DBAPIError) -> bool:
    """Whether a transaction failed by what another one did, so that doing it again may succeed."""
    return isinstance(error, IntegrityError) or is_given_up(error.orig)


def is_given_up(error: BaseException | None) -> bool:
    """Whether PostgreSQL gave a transaction up in favour of another one: a deadlock, or no serial order."""
    return str(getattr(error, "sqlstate", "")).startswith("40")


def why_failed(error: BaseException) -> str:
    """What callers are told about a failure: no more than they need; the log has what the driver said."""
    if isinstance(error, Gone):
        return "the file of the database was removed or replaced"
    driver = getattr(error, "orig", None) or error
    full = getattr(driver, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(driver, "sqlstate", "") == "53100"
    return "the disk is full" if full else "the database does not answer"


def private(name: str, flags: int) -> int:
    """An opener of files that nobody else may read."""
    return os.open(name, flags, 0o600)


def open_privately(path: str) -> Any:
    """A file to append to that nobody else may read, made if need be."""
    return open(path, "a", encoding="utf-8", opener=private)


def _identity(file: Path) -> tuple[int, int] | None:
    """Which file is at a path; None if there is none."""
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _make_file(file: Path) -> None:
    """Make an empty file for a new database that nobody else may read, unless there was a database before."""
    if file.exists() and file.stat().st_size:
        return
    marks = sorted(glob.glob(f"{glob.escape(str(file))}.owner*"))
    if marks:
        raise ValueError(
            f"a database that was served before must be there; {file} is missing or empty. Restore a backup, or remove "
            f"{marks[0]} and its like to begin a new one."
        )
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite makes its other files with the same rights


def _engine(address: str, mark: str) -> Engine:
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/|postgres(ql)?:", address)  # one letter is a drive of Windows
    if address.startswith(("postgresql://", "postgres://")):
        address = "postgresql+psycopg://" + address.partition("://")[2]
    try:
        url = make_url(address) if scheme else URL.create("sqlite", database=address)
        known = url.drivername in ("sqlite", "postgresql+psycopg")
        if not known or "@" in (url.host or "") or (url.drivername == "sqlite" and not url.database):
            raise ArgumentError(url.drivername)
    except (ArgumentError, ValueError):
        began = scheme[0] if scheme else ""  # the rest is not repeated: it may hold a password
        raise ValueError(
            "a database is the path of a file, or postgresql://USER:PASSWORD@HOST:PORT/NAME with %40 for an @ in the "
            f"password; got another, which begins with {began!r}. Write one of them."
        ) from None
    if url.drivername != "sqlite":
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 5, "application_name": mark})
    file = Path(str(url.database)).resolve()  # whoever comes by a link finds the same locks

    def opened() -> sqlite3.Connection:
        """A connection to a file that is there: a new one is never made here."""
        connection = sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, check_same_thread=False, timeout=PATIENCE)
        # readers do not wait for the writer (WAL), and a commit is on disk when it returns (FULL)
        for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "wal_autocheckpoint = 4000"):
            connection.execute(f"PRAGMA {setting}").close()
        return connection

    return create_engine(url.set(database=str(file)), creator=opened)


# Who holds the lock of an experiment: keys are below 2^32, so that they are in `objid` alone.
HOLDER = text(
    "SELECT a.pid, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
    "WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objsubid = 1 AND l.objid = :key "
    "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class Ownership:
    """The experiments that this process serves. Its calls are made by the writer's thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: dict[int, str] = {}
        self._files: dict[int, Any] = {}

    def take(self, connection: Connection, experiment: int, name: str, patience: float = 0.0) -> None:
        """Own an experiment until this process ends, or refuse.

        A process that was killed a moment ago may still have its session: it is waited for, `patience` seconds.
        """
        refusal = f"an experiment is served by one process; {name!r} is served by another."
        if self._database.is_sqlite:
            if experiment in self._files:
                return
            handle = open_privately(f"{self._database.file}.owner-{experiment}")
            try:
                locked(handle, refusal)
            except ValueError:
                handle.close()
                raise
            self._files[experiment] = handle
        else:
            key = {"key": MIGRATING + experiment}
            until = monotonic() + patience
            while not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), key).scalar_one():
                connection.commit()
                if monotonic() >= until:
                    raise ValueError(f"{refusal} Close it there first.")
                sleep(PAUSE)
            connection.commit()  # the lock is the session's, not the transaction's
        self._names[experiment] = name

    def take_again(self, connection: Connection) -> None:
        """On a new session: own again what the lost one owned; what others have taken meanwhile is theirs.

        PostgreSQL may not know yet that the old session is lost. It is ended then, and this is tried again.
        """
        if self._database.is_sqlite:
            return
        for experiment, name in list(self._names.items()):
            try:
                self.take(connection, experiment, name)
            except ValueError:
                holder = connection.execute(HOLDER, {"key": MIGRATING + experiment}).first()
                if holder is not None and holder.application_name != self._database.mark:
                    del self._names[experiment]
                    continue
                if holder is not None:
                    connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": holder.pid})
                connection.commit()
                raise unavailable("an old session of this process has not ended yet") from None

    def let_go(self, connection: Connection, experiment: int) -> None:
        """Give up the ownership of an experiment that is deleted."""
        if self._names.pop(experiment, None) is None:
            return
        if self._database.is_sqlite:
            if (handle := self._files.pop(experiment, None)) is not None:
                handle.close()
                Path(handle.name).unlink(missing_ok=True)
        else:
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": MIGRATING + experiment})

    def owns(self, experiment: int) -> bool:
        """Whether this process may write an experiment."""
        return experiment in self._names

    def release(self) -> None:
        """Release the files; a session releases its locks itself."""
        for handle in self._files.values():
            handle.close()
        self._files, self._names = {}, {}
