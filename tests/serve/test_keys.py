"""Keys that expire, that are for some experiments only, that are made on the machine, and the last one that manages."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from allais.cli.app import app
from allais.serve.settings_file import ServerSettings
from tests.serve.conftest import ROUTES, Caller
from tests.serve.events import goes_on_alike


def make(caller: Caller, **limits: Any) -> dict[str, Any]:
    body = {"name": "shop", "scopes": ["read", "decide", "manage"], **limits}
    made = caller.post("/v1/keys", json=body)
    assert made.status_code == 201, made.text
    return made.json()


def with_key(caller: Caller, key: str) -> httpx.Client:
    return httpx.Client(base_url=caller.base_url, headers={"Authorization": f"Bearer {key}"}, timeout=60.0)


def test_a_key_opens_nothing_after_it_has_expired(caller, monkeypatch):
    made = make(caller, expires_in=60.0)
    assert made["expires_at"] - made["created_at"] == pytest.approx(60.0)
    with with_key(caller, made["key"]) as shop:
        assert shop.post("/v1/experiments/routes/decide", json={}).status_code == 200
        assert shop.post("/sign-in", data={"key": made["key"]}).headers["location"] == "/"
        assert shop.get("/").status_code == 200
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() + 61.0)
        refused = shop.post("/v1/experiments/routes/decide", json={})
        assert (refused.status_code, "has expired" in refused.json()["error"]) == (401, True)
        assert shop.get("/v1/experiments").status_code == 401
        assert shop.get("/").headers["location"] == "/sign-in"
    assert caller.ask()["choice"] == 2


def test_a_key_for_some_experiments_opens_no_others(caller):
    caller.create("trains")
    made = make(caller, experiments=["trains", "boats"])
    assert made["experiments"] == ["trains", "boats"]
    with with_key(caller, made["key"]) as shop:
        assert [one["name"] for one in shop.get("/v1/experiments").json()] == ["trains"]
        assert shop.post("/v1/experiments/trains/decide", json={}).status_code == 200
        assert shop.get("/v1/experiments/trains/value").status_code == 200
        assert shop.post("/v1/experiments", json={"name": "boats", **ROUTES}).status_code == 201
        closed = [
            shop.post("/v1/experiments/routes/decide", json={}),
            shop.post("/v1/experiments/routes/reward", json={"choice": 1, "outcome": 1.0}),
            shop.get("/v1/experiments/routes"),
            shop.get("/v1/experiments/routes/export"),
            shop.post("/v1/experiments/routes/import", json={"arms": ["A21"], "outcomes": [1.0]}),
            shop.post("/v1/experiments/nowhere/decide", json={}),  # as for one that is there
            shop.post("/v1/experiments", json={"name": "cars", **ROUTES}),
            shop.get("/v1/keys"),
            shop.post("/v1/keys", json={"name": "more", "scopes": ["manage"]}),
            shop.get("/v1/audit"),
            shop.get("/v1/people"),
            shop.put("/v1/people/joe", json={"preference": {"name": "expected_value"}}),
            shop.get("/metrics"),
        ]
        assert {one.status_code for one in closed} == {403}
        assert "is for the experiments trains, boats; the call is about 'routes'" in closed[0].json()["error"]
        assert "about all experiments. Use another key." in closed[-1].json()["error"]
        shop.post("/sign-in", data={"key": made["key"]})
        page = shop.get("/").text
        assert ("trains" in page, "routes" in page) == (True, False)
        assert shop.get("/experiments/trains").status_code == 200
        assert {shop.get(path).status_code for path in ("/experiments/routes", "/people", "/changes")} == {403}


def test_the_last_key_that_manages_cannot_be_revoked(caller):
    own = caller.key.split("_")[1]
    make(caller, experiments=["routes"])
    make(caller, expires_in=60.0)
    make(caller, scopes=["read", "decide"])
    refused = caller.delete(f"/v1/keys/{own}")
    assert (refused.status_code, "cannot be revoked. Make another first" in refused.json()["error"]) == (409, True)
    other = make(caller)
    assert caller.delete(f"/v1/keys/{other['id']}").status_code == 204
    assert caller.delete(f"/v1/keys/{own}").status_code == 409
    other = make(caller)
    assert caller.delete(f"/v1/keys/{own}").status_code == 204
    with with_key(caller, other["key"]) as shop:
        assert shop.get("/v1/keys").status_code == 200


def test_a_lost_key_is_replaced_on_the_machine_while_the_server_runs(caller, database):
    done = CliRunner().invoke(app, ["serve", "key", "new", "--database", database, "--name", "found again"])
    assert done.exit_code == 0, done.output
    key = done.output.split()[-1]
    with with_key(caller, key) as again:
        while (found := again.get("/v1/keys")).status_code == 401:  # a server looks every two seconds
            time.sleep(0.1)
        assert "found again" in [one["name"] for one in found.json()]
        assert again.get("/v1/audit").json()[-1]["key"] == "console"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["key", "new", "--database", "none.db"], "no database at"),
        (["key", "new", "--database", "text.db"], "a database must answer"),
        (["key", "new", "--database", "empty.db"], "a database must be one that allais serve made"),
        (["backup", "copy.db", "--database", "none.db"], "no database at"),
        (["backup", "text.db", "--database", "advisor.db"], "a backup overwrites nothing"),
        (["backup", "copy.db", "--database", "postgresql://x:geheim@127.0.0.1:1/y"], "Use pg_dump"),
    ],
)
def test_commands_beside_a_server_say_what_is_wrong(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    Path("text.db").write_text("this is no database. " * 100)
    Path("empty.db").touch()
    from allais.serve.store.database import Database

    Database("advisor.db").migrate()
    done = CliRunner().invoke(app, ["serve", *arguments])
    assert done.exit_code == 2
    assert sentence in done.output
    assert "geheim" not in done.output
    assert not Path("none.db").exists()
    assert not Path("copy.db").exists()


def test_a_backup_of_a_server_that_writes_is_a_database_that_goes_on(tmp_path):
    place, copy = str(tmp_path / "advisor.db"), tmp_path / "copy.db"
    stop, told = threading.Event(), []
    with Caller(ServerSettings(database=place)) as caller:
        caller.create()

        def drive() -> None:
            while not stop.is_set():
                choice = caller.ask()["choice"]
                caller.tell(choice, float(choice % 50))
                told.append(choice)

        driver = threading.Thread(target=drive)
        driver.start()
        while len(told) < 20:
            time.sleep(0.01)
        done = CliRunner().invoke(app, ["serve", "backup", str(copy), "--database", place])
        before = len(told)
        stop.set()
        driver.join()
    assert (done.exit_code, "whole and checked" in done.output) == (0, True), done.output
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy.db*")) == ["copy.db"]
    with Caller(ServerSettings(database=str(copy))) as again:
        assert again.get("/v1/experiments/routes").json()["outcomes"] >= 20
        assert again.get("/v1/experiments/routes").json()["outcomes"] <= before + 1
        for number in again.service.experiments["routes"].open.copy():
            again.tell(number, 1.0)
        goes_on_alike(again, str(copy), ROUTES)
