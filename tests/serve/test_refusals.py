"""Each refusal has its status and one sentence; nothing has changed after it."""

from __future__ import annotations

import json
import time

import pytest

from allais.serve.core.errors import Refused
from allais.serve.core.keys import MOST, RateLimit
from allais.serve.store import tables
from tests.serve.conftest import ROUTES
from tests.serve.events import rows_of

DECIDE, REWARD = "/v1/experiments/routes/decide", "/v1/experiments/routes/reward"


def test_a_call_without_a_key_or_with_a_wrong_one_is_refused(caller):
    for headers in (
        {"Authorization": ""},
        {"Authorization": f"Bearer {caller.key[:-1]}x"},
        {"Authorization": "Basic x"},
    ):
        for answer in (caller.post(DECIDE, json={}, headers=headers), caller.get("/v1/experiments", headers=headers)):
            assert answer.status_code == 401
            assert answer.json()["error"].startswith("a call needs a valid key")
            assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_opens_nothing(caller):
    made = caller.post("/v1/keys", json={"name": "phone", "scopes": ["decide"]}).json()
    with_it = {"Authorization": f"Bearer {made['key']}"}
    assert caller.post(DECIDE, json={}, headers=with_it).status_code == 200
    assert caller.delete(f"/v1/keys/{made['id']}").status_code == 204
    refused = caller.post(DECIDE, json={}, headers=with_it)
    assert (refused.status_code, "was revoked" in refused.json()["error"]) == (401, True)
    assert caller.delete("/v1/keys/nobody").status_code == 404


def test_a_key_opens_what_its_scopes_name_and_nothing_else(caller):
    paths = {"read": ("GET", "/v1/experiments"), "decide": ("POST", DECIDE), "manage": ("GET", "/v1/keys")}
    for scope in paths:
        made = caller.post("/v1/keys", json={"name": scope, "scopes": [scope]}).json()
        for other, (method, path) in paths.items():
            body = {"json": {}} if method == "POST" else {}
            answer = caller.request(method, path, headers={"Authorization": f"Bearer {made['key']}"}, **body)
            assert answer.status_code == (200 if other == scope else 403)
            if other != scope:
                assert f"the scope '{other}'" in answer.json()["error"]


def test_keys_are_shown_once_and_stored_as_digests(caller, database):
    made = caller.post("/v1/keys", json={"name": "phone", "scopes": ["read"]}).json()
    secret = made["key"].split("_", 2)[2]
    assert secret not in caller.get("/v1/keys").text
    for table in tables.metadata.sorted_tables:
        assert secret not in str(rows_of(database, table))


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (DECIDE, {"persn": "alice"}, 422, "persn: there is no such entry"),
        (DECIDE, {"person": 7}, 422, "person: "),
        (DECIDE, {"person": "a\x00b"}, 422, "person: "),
        (DECIDE, {"allowed": ["B9"]}, 422, "'B9' is not"),
        (DECIDE, {"allowed": []}, 422, "allowed: "),
        (DECIDE, {"features": [[1.0]]}, 422, "takes no features"),
        (DECIDE, {"did": "A21"}, 422, "only an apprentice"),
        (REWARD, {"choice": 1, "outcome": 51.0}, 422, "51"),
        (REWARD, {"choice": 1, "outcome": "7"}, 422, "outcome: "),
        (REWARD, {"choice": 1, "outcome": True}, 422, "outcome: "),
        (REWARD, {"choice": 1}, 422, "a reward has an outcome"),
        (REWARD, {"choice": 99, "outcome": 7.0}, 404, "there is no 99"),
        (REWARD, {"choice": 10**30, "outcome": 7.0}, 422, "choice: "),
        ("/v1/experiments/trains/decide", {}, 404, "there is no 'trains'"),
    ],
)  # fmt: skip
def test_a_body_that_does_not_fit_is_refused(caller, path, body, status, words):
    assert caller.ask()["choice"] == 1
    answer = caller.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]
    assert caller.tell(1, 7.0)["outcome"] == 7.0  # nothing has changed


@pytest.mark.parametrize("outcome", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_an_outcome_is_a_finite_number(caller, outcome):
    caller.ask()
    answer = caller.post(REWARD, content=f'{{"choice": 1, "outcome": {outcome}}}')
    assert (answer.status_code, answer.json()["error"].startswith("outcome: ")) == (422, True)


def test_what_is_no_json_is_refused(caller):
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000):
        answer = caller.post(DECIDE, content=content)
        assert answer.status_code == 422
        assert answer.json()["error"]


def test_bodies_that_are_too_large_are_refused(calling):
    with calling(limits={"body_bytes": 1_000}) as caller:
        caller.create()
        large = json.dumps({"person": "x" * 2_000}).encode()
        for path in (DECIDE, "/v1/experiments"):
            for content in (large, iter([large[:900], large[900:]])):  # with a stated length, and in parts
                answer = caller.post(path, content=content)
                assert (answer.status_code, "1,000 bytes" in answer.json()["error"]) == (413, True)


def test_a_key_that_calls_too_fast_is_refused_for_a_moment(calling):
    with calling(limits={"requests_per_second": 0.1}) as caller:
        fast, slow = caller.get("/v1/experiments"), caller.get("/v1/experiments")
        assert (fast.status_code, slow.status_code) == (200, 429)
        assert 1 <= int(slow.headers["Retry-After"]) <= 10
        assert "0.1 times per second" in slow.json()["error"]


def test_wrong_keys_are_refused_for_a_while_and_the_right_one_is_not(calling):
    with calling(limits={"wrong_keys_per_minute": 5.0}) as caller:
        caller.create()
        wrong = {"Authorization": "Bearer alk_0123456789ab_wrong"}
        answers = [caller.post(DECIDE, json={}, headers=wrong) for _ in range(5)]
        answers += [caller.get("/v1/experiments", headers={"Authorization": ""}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 3
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 12
        assert "5 wrong keys per minute" in answers[-1].json()["error"]
        assert caller.post("/sign-in", data={"key": "alk_wrong"}).status_code == 429
        assert caller.ask()["choice"] == 1  # from the same address
        assert caller.post("/sign-in", data={"key": caller.key}).status_code == 303


def test_guesses_come_back_with_time_and_few_addresses_are_remembered(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    guesses = RateLimit(2.0, 60.0, "wait")
    for address in ("a", "a", "b"):
        guesses.take(address)
    with pytest.raises(Refused) as refused:
        guesses.take("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 30)
    now[0] = 30.0
    guesses.take("a")
    for k in range(MOST + 5):
        guesses.take(str(k))
    assert len(guesses._left) == MOST


def test_an_experiment_is_made_of_known_types_only(caller):
    body = {**ROUTES, "name": "trains"}
    for change, words in (
        ({"policy": {"type": "os:system"}}, "a policy needs a type, such as NPTS"),
        ({"policy": {"type": "Power", "alpha": 0.5}}, "got 'Power'"),
        ({"preference": {"gains": {"type": "os:system", "command": "x"}}}, "only modules that you trust"),
        ({"preference": {"gains": {"type": "function", "function": "os:getcwd"}}}, "only modules that you trust"),
        ({"preference": {"name": "nobody"}}, "a named preference is"),
        ({"rewards": {"type": "Bounded", "low": 3.0}}, "high"),
        ({"rewards": {"type": "Bounded", "low": 3.0, "high": 1.0}}, "low"),
        ({"policy": {"type": "WSR", "budget": 10}}, "ends when its budget is spent"),
        ({"arms": ["a", "a"]}, "distinct"),
        ({"arms": []}, "arms: "),
        ({"name": "../x"}, "name: "),
    ):
        answer = caller.post("/v1/experiments", json={**body, **change})
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["error"]
    assert caller.create("routes-2")["name"] == "routes-2"
    taken = caller.post("/v1/experiments", json={**body, "name": "routes"})
    assert (taken.status_code, "taken" in taken.json()["error"]) == (409, True)


def test_no_other_origin_is_let_in(caller):
    answer = caller.options(DECIDE, headers={"Origin": "https://a.test", "Access-Control-Request-Method": "POST"})
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in caller.get("/health", headers={"Origin": "https://a.test"}).headers
