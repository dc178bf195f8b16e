"""`allais serve` in a process of its own, and callers that drive it until it dies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx


class Served:
    """A server that can be killed and started again; its key is that of the first start."""

    def __init__(self, folder: Path, database: str, settings: dict[str, Any]) -> None:
        self._folder, self.key = folder, ""
        self._process: Any = None
        lines = [f"database = {json.dumps(database)}", "port = 0", "snapshot_every = 500", "[experiments.routes]"]
        (folder / "advisor.toml").write_text("\n".join([*lines, *as_toml(settings)]) + "\n")
        self.start()

    def start(self) -> None:
        """Run until it says where it is."""
        command = [sys.executable, "-m", "allais.cli", "serve", "advisor.toml"]
        self._process = subprocess.Popen(
            command, cwd=self._folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._listen()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if found := re.search(r"pid (\d+)", line):
                self.pid = int(found[1])
            if found := re.search(r"alk_\S+", line):
                self.key = found[0]
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
                return
            if line == "ended\n":
                break
        raise AssertionError("".join(said))

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.communicate()

    def client(self) -> httpx.Client:
        """A client with the key."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=30.0)


class ServedByFork(Served):
    """The same from a process that has loaded everything: for a server that is killed often."""

    def start(self) -> None:
        """Make a server, and wait until it says where it is."""
        if self._process is None:
            root = str(Path(__file__).parents[2])
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.serve.zygote", str(self._folder / "advisor.toml")],
                cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write("start\n")
        self._process.stdin.flush()
        self._listen()

    def kill(self) -> None:
        """End the server, not the process that makes them."""
        os.kill(self.pid, signal.SIGKILL)
        assert self._process.stdout is not None
        while self._process.stdout.readline() not in ("ended\n", ""):
            pass

    def close(self) -> None:
        """End both: the server, too, after a test that failed."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._process.communicate()


def as_toml(settings: dict[str, Any]) -> list[str]:
    """The lines of a table."""

    def one(thing: Any) -> str:
        if isinstance(thing, dict):
            return "{" + ", ".join(f"{name} = {one(entry)}" for name, entry in thing.items()) + "}"
        return json.dumps(thing)

    return [f"{name} = {one(entry)}" for name, entry in settings.items()]


class Drivers:
    """Threads that decide and reward, and know what was acknowledged; what was not is told again after a restart."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome
        self.answered: dict[int, str] = {}
        self.told: dict[int, float] = {}
        self.repeated = 0
        self._unsure: list[int] = []  # choices whose reward was sent and not answered
        self._lock = threading.Lock()

    def run(self, served: Served, seconds: float, threads: int = 6) -> None:
        """Drive a server, kill it after so many seconds, and wait for the callers to notice."""
        running = [threading.Thread(target=self._drive, args=(served.client(),)) for _ in range(threads)]
        for thread in running:
            thread.start()
        time.sleep(seconds)
        served.kill()
        for thread in running:
            thread.join()

    def _drive(self, client: httpx.Client) -> None:
        try:
            while True:
                with self._lock:
                    number = self._unsure.pop() if self._unsure else None
                again = number is not None
                if number is None:
                    asked = client.post("/v1/experiments/routes/decide", json={})
                    assert asked.status_code == 200, asked.text
                    number = asked.json()["choice"]
                    with self._lock:
                        assert number not in self.answered, "a choice was given twice"
                        self.answered[number] = asked.json()["arm"]
                body = {"choice": number, "outcome": self.outcome(number), "key": f"trip-{number}"}
                try:
                    done = client.post("/v1/experiments/routes/reward", json=body)
                except httpx.TransportError:
                    with self._lock:
                        self._unsure.append(number)
                    raise
                assert done.status_code == 200, done.text
                with self._lock:
                    self.told[number] = body["outcome"]
                    self.repeated += again
        except httpx.TransportError:
            client.close()
