"""Outcomes come and go; figures for Prometheus; clients of Personalizer."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
from prometheus_client.parser import text_string_to_metric_families

from allais.serve.store import tables
from tests.serve.conftest import ROUTES
from tests.serve.events import goes_on_alike, rows_of

URL = "/v1/experiments/routes"


def test_decisions_are_exported_in_three_formats(caller):
    for step in range(3):
        caller.tell(caller.ask(person="=ann")["choice"], float(step))
    caller.ask()
    lines = [json.loads(line) for line in caller.get(f"{URL}/export").text.splitlines()]
    assert [line["outcome"] for line in lines] == [0.0, 1.0, 2.0, None]
    assert [line["state"] for line in lines] == ["told", "told", "told", "open"]
    table = pq.read_table(io.BytesIO(caller.get(f"{URL}/export", params={"format": "parquet"}).content))
    assert table.to_pylist() == lines
    rows = list(csv.DictReader(io.StringIO(caller.get(f"{URL}/export", params={"format": "csv"}).text)))
    assert [row["outcome"] for row in rows] == ["0.0", "1.0", "2.0", ""]
    assert rows[0]["person"] == "'=ann"  # no formula
    assert caller.get("/v1/experiments/trains/export").status_code == 404


def test_history_is_imported_once_and_as_a_whole(caller, database):
    history = {"arms": ["A21", "A21", "A28"], "outcomes": [1.0, 2.0, 3.0], "key": "2025"}
    for _ in range(2):
        assert caller.post(f"{URL}/import", json=history).json() == {"imported": 3}
    for wrong in ({"outcomes": [1.0, 2.0, 99.0]}, {"arms": ["A21", "A28", "B9"]}, {"arms": ["A21"]}):
        assert caller.post(f"{URL}/import", json={**history, "key": "other", **wrong}).status_code == 422
    assert caller.get(URL).json()["outcomes"] == 3
    goes_on_alike(caller, database, ROUTES)


def test_a_long_history_is_few_events_and_comes_out_as_it_went_in(caller, database):
    arms = ["A21", "A28", "A28"] * 500
    outcomes = [float(step % 7) for step in range(len(arms))]
    assert caller.post(f"{URL}/import", json={"arms": arms, "outcomes": outcomes}).json() == {"imported": 1_500}
    lines = [json.loads(line) for line in caller.get(f"{URL}/export").text.splitlines()]
    assert [(line["arm"], line["outcome"]) for line in lines] == list(zip(arms, outcomes, strict=True))
    assert len(rows_of(database, tables.events)) == 2
    goes_on_alike(caller, database, ROUTES)


def test_prometheus_reads_the_figures(caller):
    caller.tell(caller.ask()["choice"], 7.0)
    caller.ask()
    families = {one.name: one for one in text_string_to_metric_families(caller.get("/metrics").text)}
    assert families["allais_ready"].samples[0].value == 1.0
    assert families["allais_open_decisions"].samples[0].value == 1.0
    calls = {tuple(one.labels.values()): one.value for one in families["allais_calls"].samples}
    assert calls == {("decide", "200"): 2.0, ("reward", "200"): 1.0}
    assert caller.get("/metrics", headers={"Authorization": ""}).status_code == 401


def test_a_client_of_personalizer_changes_its_address_and_its_key(caller):
    address, headers = f"{URL}/personalizer/v1.0", {"Authorization": "", "Ocp-Apim-Subscription-Key": caller.key}
    body = {
        "contextFeatures": [{"time": "morning"}], "eventId": "event-1", "deferActivation": False,
        "actions": [{"id": "pasta", "features": [{"hot": 1}]}, {"id": "ice", "features": []}, {"id": "A21"}],
        "excludedActions": ["A21"],
    }  # fmt: skip
    ranked = caller.post(f"{address}/rank", json=body, headers=headers)
    assert ranked.status_code == 201
    answer = ranked.json()
    assert (answer["eventId"], answer["rewardActionId"]) == ("event-1", answer["ranking"][0]["id"])
    assert sorted(one["id"] for one in answer["ranking"]) == ["A21", "ice", "pasta"]
    assert answer["rewardActionId"] in ("pasta", "ice")
    assert caller.post(f"{address}/rank", json=body, headers=headers).json() == answer
    for _ in range(2):
        done = caller.post(f"{address}/events/event-1/reward", json={"value": 1.0}, headers=headers)
        assert done.status_code == 204
    assert caller.post(f"{address}/events/event-1/activate", headers=headers).status_code == 204
    assert caller.get(URL).json()["outcomes"] == 1
    assert caller.post(f"{address}/events/event-9/reward", json={"value": 1.0}, headers=headers).status_code == 404


def test_an_apprentice_knows_what_its_choices_would_be_worth(calling):
    with calling() as caller:
        caller.create(apprentice=True)
        for step in range(40):
            did = "A28" if step % 2 else "A21"
            caller.tell(caller.ask(did=did)["choice"], 30.0 if did == "A21" else 1.0)
        found = caller.get(f"{URL}/apprentice").json()
        assert found["decisions"] == 40
        assert 15 <= found["agreed"] < 40
        assert found["would_be_worth"] > found["worth"]
    with calling() as caller:
        caller.create("trains")
        assert caller.get("/v1/experiments/trains/apprentice").status_code == 409
