"""Experiments that pause, end and change; decisions that expire; snapshots; an apprentice; who changed what."""

from __future__ import annotations

import json
import time

from allais.serve.store import tables
from tests.serve.conftest import ROUTES
from tests.serve.events import goes_on_alike, lived_again, rows_of

URL = "/v1/experiments/routes"


def test_a_paused_experiment_takes_rewards_and_decides_nothing(caller):
    number = caller.ask()["choice"]
    assert caller.post(f"{URL}/pause").json()["state"] == "paused"
    refused = caller.post(f"{URL}/decide", json={})
    assert (refused.status_code, "is paused. Resume it." in refused.json()["error"]) == (409, True)
    caller.tell(number, 7.0)
    assert caller.post(f"{URL}/resume").json()["state"] == "running"
    assert caller.ask()["choice"] == number + 1


def test_the_recommended_policy_is_chosen_once(calling):
    with calling() as caller:
        refused = caller.post(
            "/v1/experiments", json={**ROUTES, "name": "other", "policy": {"type": "auto", "budget": 100}}
        )
        assert (refused.status_code, "ends when its budget is spent" in refused.json()["error"]) == (422, True)
        caller.create(policy={"type": "auto", "floor": 0.02})
        assert caller.get(URL).json()["policy"]["type"] == "NPTS"
    with calling() as caller:
        policy = caller.get(URL).json()["policy"]
        assert (policy["type"], policy["floor"], policy["draws"]) == ("NPTS", 0.02, 16)


def test_an_archived_experiment_is_read_only_also_after_a_restart(calling):
    with calling() as caller:
        caller.create()
        number = caller.ask()["choice"]
        assert caller.post(f"{URL}/archive").json()["state"] == "archived"
    with calling() as caller:
        for path, body in (("decide", {}), ("reward", {"choice": number, "outcome": 7.0}), ("resume", None)):
            assert caller.post(f"{URL}/{path}", json=body).status_code == 409
        assert caller.get(URL).json()["state"] == "archived"


def test_arms_come_and_go(caller, database):
    added = caller.post(f"{URL}/arms", json={"name": "B7"}).json()["arms"]
    assert [arm["name"] for arm in added] == ["A21", "A28", "B7"]
    assert caller.delete(f"{URL}/arms/A21").json()["arms"][0]["in_play"] is False
    assert {caller.ask()["arm"] for _ in range(2)} == {"A28", "B7"}
    assert caller.post(f"{URL}/arms", json={"name": "A21"}).json()["arms"][0]["in_play"] is True
    assert caller.delete(f"{URL}/arms/C1").status_code == 422
    assert {row.name: row.in_play for row in rows_of(database, tables.arms)} == {"A21": True, "A28": True, "B7": True}
    goes_on_alike(caller, database, ROUTES)


def test_a_decision_without_a_reward_expires(calling, database):
    with calling() as caller:
        caller.create(expires_after=0.5)
        number = caller.ask()["choice"]
        while caller.get(URL).json()["open_decisions"]:
            time.sleep(0.05)
        late = caller.post(f"{URL}/reward", json={"choice": number, "outcome": 7.0})
        assert (late.status_code, "has expired" in late.json()["error"]) == (410, True)
        assert [row.state for row in rows_of(database, tables.decisions)] == ["expired"]
        goes_on_alike(caller, database, ROUTES, rounds=5)


def test_a_start_reads_a_snapshot_and_the_events_after_it(calling, database):
    with calling(snapshot_every=100) as caller:
        caller.create()
        for step in range(150):  # more different outcomes than a memory keeps in a row
            caller.tell(caller.ask()["choice"], 50.0 * ((step * 0.618) % 1.0))
        while len(rows_of(database, tables.snapshots)) < 2:
            time.sleep(0.05)
        for step in range(150):
            caller.tell(caller.ask()["choice"], 50.0 * ((step * 0.382) % 1.0))
    bodies = [json.loads(row.body) for row in rows_of(database, tables.events)]
    assert {"laid out": True} in bodies
    assert lived_again(database, ROUTES).samples == 300
    with calling() as caller:
        goes_on_alike(caller, database, ROUTES)


def test_an_apprentice_watches_what_the_application_does(calling, database):
    with calling() as caller:
        caller.create(apprentice=True)
        for step in range(10):
            answer = caller.ask(did="A28")
            assert answer["arm"] == "A28"
            assert answer["would"] in ("A21", "A28")
            caller.tell(answer["choice"], float(step))
        shown = caller.get(URL).json()
        assert [arm["outcomes"] for arm in shown["arms"]] == [0, 10]
        assert caller.post(f"{URL}/decide", json={}).status_code == 422
    with calling() as caller:
        assert [arm["outcomes"] for arm in caller.get(URL).json()["arms"]] == [0, 10]


def test_the_trail_says_who_changed_what(caller, database):
    caller.post(f"{URL}/pause")
    caller.post(f"{URL}/arms", json={"name": "B7"})
    trail = rows_of(database, tables.audit)
    assert [(row.action, row.target) for row in trail] == [
        ("create", "routes"), ("pause", "routes"), ("add arm", "routes"),
    ]  # fmt: skip
    assert {row.key for row in trail} == {caller.key.split("_")[1]}
