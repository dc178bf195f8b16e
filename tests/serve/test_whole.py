"""A whole service moves from one database to another, and goes on as if it had stayed."""

from __future__ import annotations

import json
import logging
import os
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from allais.cli.app import app
from allais.serve.api.http import API_VERSION
from allais.serve.api.metrics import AsJSON
from allais.serve.settings_file import ServerSettings
from allais.serve.store import tables
from tests.serve.conftest import ROUTES, Caller
from tests.serve.events import rows_of

URL = "/v1/experiments/routes"


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(app, ["serve", *arguments])
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.mark.parametrize("way", ["sqlite to postgresql", "postgresql to sqlite"])
def test_a_service_moves_and_goes_on_alike(way, tmp_path, postgres):
    places = [str(tmp_path / "advisor.db"), postgres.make(f"moved_{way[:2]}")]
    here, there = places if way.startswith("sqlite") else reversed(places)
    file = str(tmp_path / "all.jsonl.gz")
    with Caller(ServerSettings(database=here)) as caller:
        caller.create()
        caller.put("/v1/people/ann", json={"preference": {"name": "cvar", "level": 0.2}}).raise_for_status()
        talk = caller.post("/v1/people/joe/interview", json={"questions": 4, "seed": 1}).json()
        for step in range(30):
            caller.tell(caller.ask(person="ann" if step % 2 else None)["choice"], float(step))
        waiting = caller.ask(key="late")["choice"]
        key = caller.key
        assert "rows to" in run("export", file, "--database", here)  # also while it runs
    assert os.stat(file).st_mode & 0o077 == 0
    assert "rows into" in run("import", file, "--database", there)
    for table in tables.metadata.sorted_tables:
        if table is not tables.keys and table is not tables.snapshots:  # the caller makes one more; stopping writes one
            old = [tuple(row) for row in rows_of(here, table)]
            moved = [tuple(row) for row in rows_of(there, table)]
            assert moved == old[: len(moved)]
            assert len(old) - len(moved) <= 1  # the event of the last snapshot
    answers = []
    for place in (here, there):
        with Caller(ServerSettings(database=place)) as caller:
            caller.headers["Authorization"] = f"Bearer {key}"  # the old key opens the new place
            assert caller.get(f"/v1/interviews/{talk['id']}").json() == talk
            caller.post(f"{URL}/reward", json={"decision_key": "late", "outcome": 7.0}).raise_for_status()
            caller.create("second")  # new rows are numbered after the old
            found = []
            for step in range(40):
                found.append(caller.ask(person="ann" if step % 3 else None))
                caller.tell(found[-1]["choice"], float(step))
            answers.append([(one["choice"], one["arm"]) for one in found])
    assert answers[0] == answers[1]
    assert answers[0][0][0] == waiting + 1


def test_an_import_is_whole_or_nothing(tmp_path):
    here, there, file = str(tmp_path / "here.db"), str(tmp_path / "there.db"), tmp_path / "all.jsonl"
    with Caller(ServerSettings(database=here)) as caller:
        caller.create()
        caller.tell(caller.ask()["choice"], 7.0)
    run("export", str(file), "--database", here)
    lines = file.read_text().splitlines(keepends=True)
    wrong = {
        "its last line is missing": lines[:-1],
        "its checksum differs": [*lines[:3], lines[3].replace("test", "tent", 1).replace("A21", "A22", 1), *lines[4:]],
        "line 2": [lines[0], '{"table": "strangers", "row": []}\n'],
        "serve export` wrote": ["{}\n"],
        "is of allais": [json.dumps({**json.loads(lines[0]), "tables": "0009"}) + "\n"],
    }
    for place, (said, content) in enumerate(wrong.items()):
        damaged = tmp_path / f"{place}.jsonl"
        damaged.write_text("".join(content))
        answer = CliRunner().invoke(app, ["serve", "import", str(damaged), "--database", there])
        assert (answer.exit_code, said in answer.output.replace("\n", " ")) == (2, True), answer.output
        assert rows_of(there, tables.experiments) == []
    run("import", str(file), "--database", there)
    for arguments, said in {
        ("import", str(file), "--database", there): "begins with an empty database",
        ("export", str(file), "--database", here): "is there already",
        ("export", str(tmp_path / "new"), "--database", str(tmp_path / "none.db")): "there is none at",
        ("import", str(tmp_path / "new"), "--database", str(tmp_path / "new.db")): "cannot",
    }.items():
        answer = CliRunner().invoke(app, ["serve", *arguments])
        assert (answer.exit_code, said in answer.output.replace("\n", " ")) == (2, True), answer.output


def test_requests_are_logged_without_secrets_and_timed_by_route(calling, caplog):
    with calling(request_log=True) as caller, caplog.at_level(logging.INFO, "allais.serve.requests"):
        caller.create()
        caller.tell(caller.ask(person="ann")["choice"], 7.0)
        caller.get(URL)
        caller.get("/v1/people/nobody-here")
        caller.get("/v1/experiments", headers={"Authorization": "Bearer alk_wrong"})
        caller.get("/no/such/page")
        figures = caller.get("/metrics").text
        lines = [record.getMessage() for record in caplog.records if record.name == "allais.serve.requests"]
    told = [line.split(" ms ")[0].rsplit(" ", 1)[0] for line in lines]
    assert told == [
        "POST /v1/experiments 201", "POST /v1/experiments/{name}/decide 200", "POST /v1/experiments/{name}/reward 200",
        "GET /v1/experiments/{name} 200", "GET /v1/people/{person} 404", "GET other 401", "GET other 404",
        "GET /metrics 200",
    ]  # fmt: skip
    assert [line.rpartition("key=")[2].partition(" ")[0] for line in lines] == ["test"] * 5 + ["-"] * 3
    assert not any(secret in line for line in lines for secret in ("alk_", "ann", "nobody", "routes"))
    family = {one.name: one for one in text_string_to_metric_families(figures)}["allais_request_seconds"]
    counts = {tuple(one.labels.values()): one.value for one in family.samples if one.name.endswith("_count")}
    assert counts["POST", "/v1/experiments/{name}/decide", "2xx"] == 1.0
    assert counts["GET", "/v1/people/{person}", "4xx"] == 1.0
    assert sum(counts.values()) == len(lines) - 1


def test_a_request_has_an_id_in_its_answer_and_in_the_log(calling, caplog):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with calling(request_log=True) as caller, caplog.at_level(logging.INFO, "allais.serve.requests"):
        caller.create()
        path = "/v1/experiments/routes/decide"
        given = caller.post(path, json={}, headers={"X-Request-Id": "shop:42", "Traceparent": trace})
        made = [caller.post(path, json=body) for body in ({}, {"allowed": ["B9"]})]
        bad = caller.post(path, json={}, headers={"X-Request-Id": "two\twords"})
        lines = [json.loads(AsJSON().format(record)) for record in caplog.records if hasattr(record, "facts")][1:]
    assert given.headers["x-request-id"] == "shop:42"
    assert [line["request"] for line in lines] == [answer.headers["x-request-id"] for answer in (given, *made, bad)]
    assert len({line["request"] for line in lines}) == 4
    assert "words" not in bad.headers["x-request-id"]
    assert [line["status"] for line in lines] == [200, 200, 422, 200]
    assert (lines[0]["trace_id"], lines[0]["span_id"]) == (trace[3:35], trace[36:52])
    assert "trace_id" not in lines[1]
    assert lines[1]["route"] == "/v1/experiments/{name}/decide"
    assert {answer.headers["allais-api-version"] for answer in (given, *made)} == {API_VERSION}


def test_requests_are_not_logged_unless_asked_for(caller, caplog):
    with caplog.at_level(logging.INFO, "allais.serve.requests"):
        caller.ask()
    assert not [record for record in caplog.records if record.name == "allais.serve.requests"]


def test_the_page_of_calls_has_every_call_and_fetches_nothing(caller):
    document = caller.get("/openapi.json").json()
    answer = caller.get("/docs", headers={"Authorization": ""})
    assert answer.status_code == 200
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"<code><b>{method.upper()}</b> {path}</code>" in answer.text
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in answer.text
    assert "http://" not in answer.text
    assert "https://" not in answer.text
    assert ROUTES["arms"][0] in answer.text  # an example
    assert sys.getsizeof(answer.text) < 200_000
