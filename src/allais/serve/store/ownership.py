"""One process serves an experiment: a lock that dies with its owner.

On PostgreSQL it is an advisory lock of the writer's own session: whoever loses the session can write no more, so two
processes never write one experiment. On SQLite it is a locked file beside the database.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import Connection, text

from allais.files.atomic import locked
from allais.serve.core.errors import unavailable
from allais.serve.store.database import MIGRATING, Database, open_privately

PATIENCE, PAUSE = 5.0, 0.05  # seconds for which a start waits for the end of a process before it, and between looks
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
        """Own an experiment no more, since it is deleted."""
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
        """Let go of the files; a session lets go of its locks itself."""
        for handle in self._files.values():
            handle.close()
        self._files, self._names = {}, {}
