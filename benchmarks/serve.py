"""The service under load: callers in other processes on loopback, a bare handler of the same durability beside it."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.serve.postgres import Postgres
from tests.serve.processes import as_toml

from benchmarks.serve_million import SETTINGS
from benchmarks.tables import Table

SECONDS = 10.0
PROCESSES, CALLERS = 2, 32  # callers in each process
HALF = 1_000.0  # pairs per second at which latencies are measured: half of what is asked for
TURNS = 3
LOOKERS, EVERY = 3, 2.0  # dashboards that are open, and seconds after which each asks for news
FORM = "application/x-www-form-urlencoded"


class Run(NamedTuple):
    """What callers saw, and what the server spent."""

    pairs: float  # per second
    middle: float  # ms
    late: float  # ms, the 99th percentile
    cpu: float  # microseconds of the server per pair


@contextmanager
def server(*command: str, folder: str) -> Iterator[tuple[int, str, str, float]]:
    """A server in a process: its number, its address, its key, and the seconds until it answered."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", *command], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    key, said = "none", []
    try:
        for line in process.stdout:
            said.append(line)
            key = found[0] if (found := re.search(r"alk_\S+", line)) else key
            if found := re.search(r"http://\S+", line):
                yield process.pid, found[0], key, time.perf_counter() - began
                return
        raise RuntimeError("".join(said))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def cpu_of(pid: int) -> float:
    """Seconds that a process has used."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def drive(pid: int, address: str, key: str, rate: float) -> Run:
    """All callers at once, for some seconds."""
    command = [sys.executable, "-m", "benchmarks.serve_client", address, key, str(CALLERS), str(SECONDS)]
    before = cpu_of(pid)
    running = [
        subprocess.Popen([*command, str(rate / PROCESSES)], stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    seen = [json.loads(process.communicate()[0]) for process in running]
    used = cpu_of(pid) - before
    pairs = sum(one["pairs"] for one in seen)
    calls = sorted(call for one in seen for call in one["calls"])
    seconds = max(one["seconds"] for one in seen)
    return Run(pairs / seconds, 1e3 * calls[len(calls) // 2], 1e3 * calls[int(0.99 * len(calls))], 1e6 * used / pairs)


def settings_in(folder: str, database: str) -> str:
    """A file of settings for the scenario."""
    lines = [f"database = {json.dumps(database)}", "port = 0", "[limits]", "requests_per_second = 1e6"]
    path = Path(folder) / "advisor.toml"
    path.write_text("\n".join([*lines, "[experiments.routes]", *as_toml(SETTINGS)]) + "\n")
    return str(path)


@contextmanager
def watched(address: str, key: str) -> Iterator[None]:
    """Within: dashboards are open, and fresh."""
    place = urlsplit(address)
    ended = threading.Event()

    def look() -> None:
        browser = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        browser.request("POST", "/sign-in", urlencode({"key": key}), {"Content-Type": FORM})
        answer = browser.getresponse()
        answer.read()
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        while not ended.is_set():
            browser.request("GET", "/experiments/routes/live", headers={"Cookie": cookie})
            answer = browser.getresponse()
            if answer.status != 200 or not answer.read():
                raise RuntimeError(f"a dashboard got {answer.status}")
            ended.wait(EVERY)
        browser.close()

    looking = [threading.Thread(target=look) for _ in range(LOOKERS)]
    for thread in looking:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in looking:
            thread.join()


def served(database: str, folder: str) -> tuple[list[Run], Run]:
    """The service: as fast as it goes, some times, then at half the pace that is asked for; and so with dashboards."""
    with server("allais.cli", "serve", settings_in(folder, database), folder=folder) as (pid, address, key, _):
        drive(pid, address, key, 200.0)  # compiles what is left
        runs = [drive(pid, address, key, rate) for rate in (*[0.0] * TURNS, HALF)]
        with watched(address, key):
            return runs, drive(pid, address, key, HALF)


def bare(folder: str) -> list[Run]:
    """The bare handler in the same way."""
    file = str(Path(folder) / "bare.db")
    with server("benchmarks.serve_bare", file, folder=str(Path.cwd())) as (pid, address, key, _):
        return [drive(pid, address, key, rate) for rate in (*[0.0] * TURNS, HALF)]


def commit_time(folder: str) -> float:
    """Milliseconds of one sync of this disk."""
    with open(Path(folder) / "sync", "wb") as file:
        began = time.perf_counter()
        for _ in range(100):
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
    return 10.0 * (time.perf_counter() - began)


def run() -> str:
    """The section of the results."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        sync = commit_time(folder)
        rows: list[tuple[str, list[Run], Run | None]] = [("bare Starlette and SQLite", bare(folder), None)]
        rows.append(("the service on SQLite", *served("advisor.db", folder)))
    with tempfile.TemporaryDirectory() as folder:
        postgres = Postgres(Path(folder))
        try:
            rows.append(("the service on PostgreSQL", *served(postgres.make("advisor"), folder)))
        finally:
            postgres.stop()
    table = Table("", "pairs per second", "99 % of calls, ms", "at a pace of", "half of calls, ms", "99 %, ms",
                  f"99 % with {LOOKERS} open dashboards, ms", "CPU of the server per pair, us")  # fmt: skip
    for name, (*fast, paced), seen in rows:
        best = max(fast, key=lambda one: one.pairs)
        table.add(name, f"{best.pairs:,.0f}", f"{best.late:.1f}", f"{paced.pairs:,.0f}", f"{paced.middle:.1f}",
                  f"{paced.late:.1f}", "" if seen is None else f"{seen.late:.1f}",
                  f"{min(one.cpu for one in fast):.0f}")  # fmt: skip
    return (
        f"## The service\n\nPairs of decide and reward, each on disk before it is answered: {PROCESSES * CALLERS}"
        f" callers in {PROCESSES} processes on the same {os.cpu_count()} cores, best of {TURNS} times {SECONDS:.0f} s."
        f" One sync of the disk takes {sync:.1f} ms; the load was {load:.1f} before it began.\n\n"
        f"{table}"
    )
