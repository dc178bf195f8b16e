"""The database: where it is, how it is opened, and the tables it must have."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
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

PATIENCE = 2.0  # seconds that a write waits for another process to finish its own
HEAD = "0003"  # the last of the steps in `migrations/versions`
MIGRATING = 7_220_000  # the number of the lock under which tables change; those of experiments lie above


class Database:
    """A database by its address: the path of an SQLite file, or postgresql://..."""

    def __init__(self, address: str) -> None:
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
        return self.engine.connect()

    def migrate(self) -> None:
        """Give the database the tables of this version."""
        if self._version() == HEAD:
            return
        from alembic import command  # half a second, which a start that needs nothing is spared
        from alembic.config import Config
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
        try:
            with self.engine.connect() as connection:
                if not self.is_sqlite:  # two processes may start at once; SQLite locks the file itself
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATING})"))
                config.attributes["connection"] = connection
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

    def _version(self) -> str | None:
        """The last step that the database has taken; None before the first."""
        with contextlib.suppress(DatabaseError), self.engine.connect() as connection:  # said when it migrates
            if inspect(connection).has_table("alembic_version"):
                return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return None

    def dispose(self) -> None:
        """Close every connection that is not in use."""
        self.engine.dispose()


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
    driver = getattr(error, "orig", None) or error
    full = getattr(driver, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(driver, "sqlstate", "") == "53100"
    return "the disk is full" if full else "the database does not answer"


def _engine(address: str, mark: str) -> Engine:
    if address.startswith(("postgresql://", "postgres://")):
        address = "postgresql+psycopg://" + address.partition("://")[2]
    elif "://" not in address:
        address = f"sqlite:///{Path(address).absolute()}"
    try:
        url = make_url(address)
        if url.drivername not in ("sqlite", "postgresql+psycopg"):
            raise ArgumentError(url.drivername)
    except ArgumentError:
        raise ValueError(
            f"a database is the path of a file, or postgresql://...; got {address!r}. Write one of them."
        ) from None
    if url.drivername != "sqlite":
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 5, "application_name": mark})
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": PATIENCE})
    event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    """Readers do not wait for the writer (WAL), and a commit is on disk when it returns (FULL)."""
    cursor = connection.cursor()
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "wal_autocheckpoint = 4000"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()
