"""The database is taken away for a while: calls are refused, nothing differs from it, and it needs no restart."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from allais.serve.settings_file import ServerSettings
from allais.serve.store import tables
from allais.serve.store.database import PATIENCE
from tests.serve.conftest import ROUTES, Caller
from tests.serve.events import goes_on_alike, rows_of


@contextmanager
def away(request: pytest.FixtureRequest, database: str) -> Iterator[None]:
    """Within: nothing can be written."""
    if "://" in database:
        server = request.getfixturevalue("postgres")
        server.stop()
        try:
            yield
        finally:
            server.start()
        return
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def wait_until_ready(caller: Any) -> None:
    while caller.get("/ready").status_code != 200:
        time.sleep(0.05)


def test_calls_are_refused_while_the_database_is_away_and_go_on_when_it_is_back(request, caller, database):
    for step in range(10):
        caller.tell(caller.ask()["choice"], float(step))
    open_one = caller.ask()["choice"]
    with away(request, database):
        for path, body in (("decide", {}), ("reward", {"choice": open_one, "outcome": 7.0})):
            refused = caller.post(f"/v1/experiments/routes/{path}", json=body)
            assert refused.status_code == 503
            assert refused.headers["Retry-After"] == "1"
            assert refused.json()["error"].endswith("Repeat the call in a moment.")
        assert caller.get("/health").status_code == 200
    wait_until_ready(caller)
    assert caller.tell(open_one, 7.0)["state"] == "told"
    goes_on_alike(caller, database, ROUTES)


def test_many_callers_at_the_moment_of_failure_leave_nothing_that_differs(request, caller, database):
    answered: list[tuple[int, str]] = []
    told: dict[int, float] = {}
    stop = threading.Event()

    def drive() -> None:
        while not stop.is_set():
            asked = caller.post("/v1/experiments/routes/decide", json={})
            if asked.status_code != 200:
                assert asked.status_code == 503
                time.sleep(0.02)
                continue
            answered.append((asked.json()["choice"], asked.json()["arm"]))
            number = asked.json()["choice"]
            done = caller.post("/v1/experiments/routes/reward", json={"choice": number, "outcome": float(number % 50)})
            if done.status_code == 200:
                told[number] = float(number % 50)

    threads = [threading.Thread(target=drive) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    with away(request, database):
        until = time.monotonic() + 20.0 * PATIENCE
        while not caller.service.failures and time.monotonic() < until:  # a busy machine takes its time
            time.sleep(0.05)
    wait_until_ready(caller)
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join()
    stored = {row.number: row for row in rows_of(database, tables.decisions)}
    assert all(stored[number].arm == arm for number, arm in answered)
    assert all(stored[number].outcome == outcome for number, outcome in told.items())
    assert len(told) > 20
    assert caller.service.failures > 0
    goes_on_alike(caller, database, ROUTES)


def test_a_change_that_breaks_off_is_undone(caller, database, monkeypatch):
    caller.tell(caller.ask()["choice"], 7.0)
    monkeypatch.setattr("allais.Learner.why", lambda *_: 1 / 0)
    assert caller.post("/v1/experiments/routes/decide", json={}).status_code == 503
    monkeypatch.undo()
    wait_until_ready(caller)
    goes_on_alike(caller, database, ROUTES)


def test_a_full_disk_is_called_by_its_name_and_nothing_is_lost(tmp_path):
    place = str(tmp_path / "advisor.db")
    with Caller(ServerSettings(database=place)) as caller:
        caller.create()

        def fill(connection: Any) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 5}")

        async def filling() -> None:
            await caller.service.change(fill)

        asyncio.run_coroutine_threadsafe(filling(), caller.service.writer._loop).result()
        answer = None
        while answer is None or answer.status_code == 200:
            answer = caller.post("/v1/experiments/routes/decide", json={})
        assert (answer.status_code, "the disk is full" in answer.json()["error"]) == (503, True)
        wait_until_ready(caller)  # on another connection, whose pages nobody counts
        goes_on_alike(caller, place, ROUTES)
