"""The file of a database: who may read it, and what happens when it is gone."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

import pytest

from allais.serve.settings_file import ServerSettings
from allais.serve.store import database as databases
from allais.serve.store.database import Database, Ownership
from tests.serve.conftest import Caller

CALLS = (("post", "/v1/experiments/routes/decide"), ("get", "/v1/experiments/routes"), ("get", "/ready"))


def statuses(caller: Caller) -> set[int]:
    return {caller.request(verb, path, json={} if verb == "post" else None).status_code for verb, path in CALLS}


def wait_for(caller: Caller, status: int) -> None:
    while statuses(caller) != {status}:
        time.sleep(0.02)


def test_a_file_that_is_removed_is_noticed_and_no_empty_one_is_begun_in_its_place(tmp_path):
    place, aside = tmp_path / "advisor.db", tmp_path / "aside.db"
    with Caller(ServerSettings(database=str(place))) as caller:
        caller.create()
        caller.tell(caller.ask()["choice"], 7.0)
        place.rename(aside)
        refused = caller.post("/v1/experiments/routes/decide", json={})
        assert (refused.status_code, "removed or replaced" in refused.json()["error"]) == (503, True)
        wait_for(caller, 503)
        assert "removed or replaced" in caller.get("/ready").json()["error"]
        assert not place.exists()
        aside.rename(place)
        wait_for(caller, 200)
        place.unlink()
        assert caller.get("/v1/experiments/routes").status_code == 503
        sqlite3.connect(place).close()
        place.touch()  # another, empty file
        assert statuses(caller) == {503}
    with pytest.raises(ValueError, match=r"must be there; .*advisor\.db is missing or empty\. Restore a backup"):
        Database(str(place)).migrate()
    place.unlink()
    with pytest.raises(ValueError, match=r"remove .*advisor\.db\.owner and its like"):
        Database(str(place)).migrate()
    for mark in tmp_path.glob("advisor.db.owner*"):
        mark.unlink()
    Database(str(place)).migrate()


def test_a_second_server_through_a_link_is_refused(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "advisor.db")
    with Caller(ServerSettings(database=str(tmp_path / "advisor.db"))) as caller:
        caller.create()
        for address in (str(tmp_path / "link.db"), f"sqlite:///{tmp_path / 'link.db'}"):
            second = Ownership(other := Database(address))
            with other.connect() as connection, pytest.raises(ValueError, match="'routes' is served by another"):
                second.take(connection, caller.service.experiments["routes"].id, "routes")
            other.dispose()


def test_files_are_for_their_owner_alone(tmp_path):
    with Caller(ServerSettings(database=str(tmp_path / "advisor.db"))) as caller:
        caller.create()
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert len(modes) >= 5  # with WAL and its index, and the marks of owners
    assert set(modes.values()) == {0o600}


def test_a_folder_that_is_not_there_is_said_in_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"a service needs its database; .*No such file or directory"):
        Database(str(tmp_path / "none" / "advisor.db")).migrate()


def full(*_: Any, **__: Any) -> Any:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"  # type: ignore[misc]
    raise error


def test_a_service_on_a_full_disk_is_not_ready_until_it_can_write_again(tmp_path, monkeypatch):
    with Caller(ServerSettings(database=str(tmp_path / "advisor.db"))) as caller:
        caller.create()
        written = databases.Connection.execute
        probes: list[bool] = []

        def probing(connection: Any, statement: Any, *more: Any) -> Any:
            if statement is databases.PROBE:
                probes.append(True)
                full()
            return written(connection, statement, *more)

        monkeypatch.setattr(databases.Connection, "execute", probing)
        refused = caller.get("/ready")
        assert (refused.status_code, "the disk is full" in refused.json()["error"]) == (503, True)
        while len(probes) < 3:  # recovery tries to write, too
            time.sleep(0.02)
        refused = caller.get("/ready")
        assert (refused.status_code, "the disk is full" in refused.json()["error"]) == (503, True)
        monkeypatch.undo()
        wait_for(caller, 200)


def test_a_look_at_readiness_writes_once_a_second_at_most(tmp_path):
    with Caller(ServerSettings(database=str(tmp_path / "advisor.db"))) as caller:
        caller.create()
        changes = 0
        change = caller.service.change

        async def counted(work: Any) -> Any:
            nonlocal changes
            changes += 1
            return await change(work)

        caller.service.change = counted
        began = time.monotonic()
        for _ in range(20):
            assert caller.get("/ready").status_code == 200
        assert changes <= 1 + (time.monotonic() - began)


@pytest.mark.parametrize(
    "address",
    [
        "mysql://me:geheim@host/advisor",
        "postgresql:/me:geheim@host/advisor",
        "postgresql:me:geheim@host",
        "postgresql://me:@geheim@host/advisor",
        "postgresql://me:geheim@host:port/advisor",
        "sqlite://me:geheim@host",
    ],
)
def test_the_password_of_an_address_that_is_refused_is_not_printed(address):
    with pytest.raises(ValueError, match="a database is the path of a file, or postgresql://") as refusal:
        Database(address)
    assert "geheim" not in str(refusal.value)


def test_the_password_of_an_address_that_does_not_answer_is_not_printed():
    with pytest.raises(ValueError, match="cannot be opened") as refusal:
        Database("postgresql://me:geheim@127.0.0.1:1/advisor").migrate()
    assert "geheim" not in str(refusal.value)
