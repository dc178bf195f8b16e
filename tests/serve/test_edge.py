"""What comes in at the edge: strange names and bodies, calls without a key, a sign-in that ended."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from allais.serve.api import http
from tests.serve.conftest import ROUTES

MEAN = {"preference": {"name": "expected_value"}}
RANK = "/v1/experiments/routes/personalizer/v1.0/rank"
HALF = "\ud800"  # half of a surrogate pair, which JSON can say and UTF-8 cannot


@pytest.mark.parametrize("name", ["a/b", "a/interview", "/", "a%2Fb", "ä/?#", "..%2f"])
def test_a_name_with_a_slash_is_reached_by_its_own_route(caller, name):
    place = f"/v1/people/{quote(name, safe='')}"
    assert caller.put(place, json=MEAN).json()["name"] == name
    assert caller.get(place).json()["name"] == name
    assert [one["name"] for one in caller.get("/v1/people").json()] == [name]
    assert caller.delete(place).status_code == 204
    assert caller.get(place).status_code == 404
    assert caller.post("/v1/experiments/routes/arms", json={"name": name}).status_code == 200
    gone = caller.delete(f"/v1/experiments/routes/arms/{quote(name, safe='')}").json()
    assert {"name": name, "in_play": False, "outcomes": 0} in gone["arms"]


def test_an_event_with_a_slash_is_rewarded(caller):
    assert caller.post(RANK, json={"actions": [{"id": "A21"}], "eventId": "trip/1"}).status_code == 201
    place = RANK.replace("rank", "events/trip%2F1/reward")
    assert caller.post(place, json={"value": 7.0}).status_code == 204
    assert caller.get("/v1/experiments/routes").json()["outcomes"] == 1


@pytest.mark.parametrize("name", [["x"], {}, 7, True, None, HALF])
def test_a_strange_preference_is_refused_with_a_sentence(caller, name):
    body = json.dumps({"preference": {"name": name, "gains": 1}})
    answer = caller.put("/v1/people/joe", content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]
    assert caller.get("/v1/people/joe").status_code == 404
    made = caller.post("/v1/experiments", content=json.dumps({**ROUTES, "name": "x", "preference": {"name": name}}))
    assert made.status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {"actions": [{"id": "A21", "features": {HALF: 1}}]},
        {"actions": [{"id": "A21", "features": [{"a": {"b": HALF}}]}]},
        {"actions": [{"id": "A21"}], "contextFeatures": [{"a": HALF}]},
    ],
)
def test_half_of_a_surrogate_pair_is_no_json(caller, body):
    answer = caller.post(RANK, content=json.dumps(body))
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("a body must be JSON; this one is not (")


def test_a_body_is_not_looked_at_before_the_key(caller, monkeypatch):
    read = []
    monkeypatch.setattr(http, "from_json", lambda *given, **more: read.append(given) or {})
    body = json.dumps({"actions": [{"id": "A21"}] * 20_000})
    calls = (("POST", RANK), ("POST", "/v1/experiments"), ("PUT", "/v1/people/joe"), ("POST", "/v1/none"))
    for method, path in calls:
        for key in ("", "Bearer alk_x_y"):
            answer = caller.request(method, path, content=body, headers={"Authorization": key})
            assert answer.status_code == 401
    assert read == []
    caller.put("/v1/people/joe", content=body)
    assert len(read) == 1  # the test would notice


def test_a_zero_character_in_the_address_of_a_page_is_not_found(caller):
    caller.post("/sign-in", data={"key": caller.key})
    for path in ("/people?after=%00", "/interviews/%00", "/experiments/%00", "/experiments/a%00/live"):
        answer = caller.get(path)
        assert (answer.status_code, "zero character" in answer.text) == (404, True), path
        assert "Content-Security-Policy" in answer.headers
    assert caller.get("/ready").status_code == 200
