"""What is stored can be read again; what was damaged on the disk is found, and breaks one experiment only."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from allais.serve.core import restore
from allais.serve.store.database import Database
from tests.serve.conftest import ROUTES, Caller

LINEAR = {
    "policy": {"type": "LinTS", "noise": {"type": "Gaussian", "sigma": 1.0}}, "terms": ["price"], "arms": ["a", "b"],
}  # fmt: skip


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"price": 1.0}
    for _ in range(levels):
        inner = {"inside": inner}
    return inner


def change(database: str, statement: str) -> None:
    """Change the database behind the service's back."""
    there = Database(database)
    with there.connect() as connection:
        connection.execute(text(statement))
        connection.commit()
    there.dispose()


@pytest.mark.parametrize("levels", [25, 200, 400])
def test_features_that_no_start_could_read_are_refused(caller, levels):
    body = {**ROUTES, "features": {"A21": nested(levels)}, "name": "deep"}
    refused = caller.post("/v1/experiments", json=body)
    assert refused.status_code in (400, 422)
    assert "20 levels at most" in refused.json()["error"] or "recursion limit" in refused.json()["error"]
    assert caller.get("/v1/experiments/deep").status_code == 404


def test_an_experiment_is_read_back_before_it_is_answered(caller, monkeypatch):
    def unreadable(_: str) -> Any:
        raise ValueError("recursion limit exceeded")

    monkeypatch.setattr(restore, "settings_of", unreadable)
    refused = caller.post("/v1/experiments", json={**ROUTES, "name": "other"})
    assert refused.status_code == 422
    assert "readable again; this experiment is not (recursion limit exceeded)" in refused.json()["error"]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE experiments SET settings = replace(settings, 'A21', 'A22') WHERE name = 'bad'", "settings is damaged"),
        ("UPDATE experiments SET settings = '[[' WHERE name = 'bad'", "settings is damaged"),
        ("UPDATE events SET body = replace(body, '7.0', '8.0') WHERE experiment = 1 AND seq = 2", "event 2 is damaged"),
        ("DELETE FROM events WHERE experiment = 1 AND seq = 2", "event 2 is missing"),
        ("DELETE FROM snapshots WHERE experiment = 1", "snapshot is missing"),
        ("UPDATE snapshots SET seq = 2 WHERE experiment = 1", "snapshot 2 is damaged"),
        ("UPDATE experiments SET state = 'sunning' WHERE name = 'bad'", "no 'sunning'"),
        ("UPDATE decisions SET state = 'told' WHERE experiment = 1 AND state = 'open'", "open decisions"),
    ],
)
def test_a_damaged_experiment_does_not_keep_the_others_from_starting(calling, database, statement, why, monkeypatch):
    with calling(snapshot_every=10**9) as caller:
        caller.create("bad")
        caller.create("good")
        monkeypatch.setattr(type(caller.service), "_take_snapshot", no_snapshot)
        for name in ("bad", "good"):
            caller.tell(caller.ask(name)["choice"], 7.0, name)
            caller.ask(name)
    change(database, statement)
    with calling() as again:
        assert again.ask("good")["choice"] == 3
        answers = [
            again.post("/v1/experiments/bad/decide", json={}),
            again.post("/v1/experiments/bad/reward", json={"choice": 2, "outcome": 7.0}),
            again.get("/v1/experiments/bad"),
        ]
        assert {one.status_code for one in answers} == {503}
        assert all(why in one.json()["error"] for one in answers)
        assert all(one.json()["error"].endswith("Restore a backup, or delete the experiment.") for one in answers)
        listed = {one["name"]: one for one in again.get("/v1/experiments").json()}
        assert (listed["bad"]["state"], listed["good"]["state"]) == ("broken", "running")
        assert why in listed["bad"]["broken"]
        assert again.get("/ready").json() == {"status": "ready", "experiments": 1, "broken": 1}
        assert "allais_broken_experiments 1.0" in again.get("/metrics").text
        taken = again.post("/v1/experiments", json={**ROUTES, "name": "bad"})
        assert taken.status_code == 409
        assert again.post("/sign-in", data={"key": again.key}).status_code == 303
        page = again.get("/")
        assert (page.status_code, "It cannot be read" in page.text) == (200, True)
        assert again.get("/experiments/bad").status_code == 503


def test_events_whose_end_is_hidden_are_missed_though_no_decision_waits(calling, database, monkeypatch):
    with calling(snapshot_every=10**9) as caller:
        caller.create()
        monkeypatch.setattr(type(caller.service), "_take_snapshot", no_snapshot)
        for _ in range(2):
            caller.tell(caller.ask()["choice"], 7.0)
    change(database, "DELETE FROM events WHERE seq > 2")  # as a damaged index does: no gap, and nothing is open
    with calling() as again:
        answer = again.post("/v1/experiments/routes/decide", json={})
        assert answer.status_code == 503
        assert "its events end before its decision 2" in answer.json()["error"]


@pytest.mark.parametrize("last", [2, 4])  # the whole import is hidden, or its second half
@pytest.mark.parametrize("key", [None, "history"])
def test_an_import_whose_end_is_hidden_is_missed(calling, database, monkeypatch, key, last):
    with calling(snapshot_every=10**9) as caller:
        caller.create()
        monkeypatch.setattr(type(caller.service), "_take_snapshot", no_snapshot)
        monkeypatch.setattr("allais.serve.core.experiment.OUTCOMES_PER_EVENT", 2)
        caller.tell(caller.ask()["choice"], 7.0)
        body = {"arms": ["A21", "A28"] * 3, "outcomes": [7.0] * 6, "key": key}
        assert caller.post("/v1/experiments/routes/import", json=body).json() == {"imported": 6}
    with calling() as whole:  # nothing came after it
        assert whole.get("/v1/experiments/routes").json()["outcomes"] == 7
        monkeypatch.setattr(type(whole.service), "_take_snapshot", no_snapshot)
    change(database, f"DELETE FROM events WHERE seq > {last}")
    with calling() as again:
        answer = again.get("/v1/experiments/routes")
        assert answer.status_code == 503
        assert "its events end before those of an import of 6 outcomes" in answer.json()["error"]


def test_a_broken_experiment_can_be_deleted_and_its_name_used_again(calling, database):
    with calling() as caller:
        caller.create("bad")
        caller.create("good")
        caller.tell(caller.ask("bad")["choice"], 7.0, "bad")
    change(database, "UPDATE experiments SET settings = '[[' WHERE name = 'bad'")
    with calling() as again:
        assert again.post("/v1/experiments/bad/archive").status_code == 503
        assert again.delete("/v1/experiments/bad").status_code == 204
        assert again.delete("/v1/experiments/bad").status_code == 404
        assert again.get("/ready").json() == {"status": "ready", "experiments": 1, "broken": 0}
        entries = [(one["action"], one["target"]) for one in again.get("/v1/audit").json()]
        assert entries.count(("delete", "bad")) == 1
        assert again.delete("/v1/experiments/good").status_code == 409  # only what is broken need not be archived
        again.create("bad")
        assert again.ask("bad")["choice"] == 1
    with calling() as third:
        assert (third.ask("bad")["choice"], third.ask("good")["choice"]) == (2, 1)


async def no_snapshot(*_: Any) -> None:
    """Leave the events as they are."""


def test_rows_of_older_versions_have_no_checksum_and_are_read(calling, database):
    with calling() as caller:
        caller.create()
        caller.ask()
    for table in ("experiments", "events", "snapshots"):
        change(database, f"UPDATE {table} SET checksum = NULL")
    change(database, "UPDATE decisions SET clock = NULL")
    with calling() as again:
        assert again.ask()["choice"] == 2


@pytest.mark.parametrize("flips", [60, pytest.param(1_500, marks=pytest.mark.slow)])
def test_a_bit_that_flips_in_the_database_never_gives_a_different_learner(tmp_path, flips, monkeypatch):
    from allais.serve.settings_file import ServerSettings

    place = tmp_path / "advisor.db"
    with Caller(ServerSettings(database=str(place), snapshot_every=10**9)) as caller:
        caller.create()
        for step in range(60):
            choice = caller.ask()["choice"]
            if step % 3:
                caller.tell(choice, float(step % 40))
            if step == 20:
                with_snapshot(caller)
        monkeypatch.setattr(type(caller.service), "_take_snapshot", no_snapshot)
    truth, found = as_loaded(place), 0
    assert isinstance(truth, str)
    content, generator = place.read_bytes(), random.Random(1)
    written = [place for place, byte in enumerate(content) if byte]  # most of a young file is empty
    for flip in range(flips):
        damaged = bytearray(content)
        bit = 8 * generator.choice(written) + generator.randrange(8)
        damaged[bit // 8] ^= 1 << bit % 8
        copy = tmp_path / f"flipped-{flip}.db"
        copy.write_bytes(bytes(damaged))
        loaded = as_loaded(copy)
        assert loaded in (truth, None), f"bit {bit} gave another learner"
        found += loaded is None
        for leftover in tmp_path.glob(f"flipped-{flip}.db*"):
            leftover.unlink()
    assert found > flips / 50


def with_snapshot(caller: Caller) -> None:
    import asyncio

    service = caller.service
    snapshot = service._take_snapshot(service.experiments["routes"])
    asyncio.run_coroutine_threadsafe(snapshot, service.writer._loop).result()


def as_loaded(place: Path) -> str | None:
    """The learner as a start would read it, with what waits; None if it is refused."""
    database = Database(str(place))
    try:
        with database.connect() as connection:
            rows = restore.rows_of_experiments(connection)
            if len(rows) != 1:
                return None  # nobody would find it under its name
            experiment = restore.load(connection, rows[0])
            return json.dumps([experiment.learner.snapshot(), experiment.seq, sorted(experiment.open)])
    except Exception:
        return None
    finally:
        database.dispose()
