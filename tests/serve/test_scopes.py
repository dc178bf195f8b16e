"""A key does what its scopes say and no more, in whatever way it calls; what is archived stays as it is."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import create_engine, update

from allais.serve.store import tables
from allais.serve.store.tables import audit
from tests.serve.events import rows_of

URL = "/v1/experiments/routes"
RANK = f"{URL}/personalizer/v1.0/rank"
ONE = {"questions": 1, "checks": 0, "stakes": [0, 50], "seed": 1}


def key_with(caller, *scopes):
    made = caller.post("/v1/keys", json={"name": "-".join(scopes), "scopes": list(scopes)}).json()
    return {"Authorization": f"Bearer {made['key']}"}, made["id"]


def actions(*names):
    return {"actions": [{"id": name} for name in names]}


def arms_of(caller, name="routes"):
    return [arm["name"] for arm in caller.get(f"/v1/experiments/{name}").json()["arms"]]


def test_a_key_that_may_not_give_preferences_begins_no_interview(caller):
    decides, _ = key_with(caller, "decide", "read")
    refused = caller.post("/v1/people/joe/interview", json=ONE, headers=decides)
    assert (refused.status_code, "the scope 'manage'" in refused.json()["error"]) == (403, True)
    assert caller.get("/v1/people/joe").status_code == 404


def test_the_trail_says_whose_answer_gave_a_person_her_preference(caller, database):
    decides, id_ = key_with(caller, "decide")
    talk = caller.post("/v1/people/joe/interview", json=ONE).json()
    answer = {"question": talk["question"]["id"], "answer": "A"}
    done = caller.post(f"/v1/interviews/{talk['id']}/answer", json=answer, headers=decides).json()
    assert done["settled"]
    assert caller.get("/v1/people/joe").json()["source"] == f"interview {talk['id']}"
    last = rows_of(database, audit)[-1]
    assert (last.key, last.action, last.target) == (id_, "put person", "joe")
    assert json.loads(last.detail) == f"interview {talk['id']}"


def test_an_interview_from_before_scopes_were_checked_needs_a_key_that_may_give_preferences(caller, database):
    decides, _ = key_with(caller, "decide")
    talk = caller.post("/v1/people/joe/interview", json=ONE).json()
    settings = json.loads(rows_of(database, tables.interviews)[0].settings)
    del settings["begun_by"]
    engine = create_engine(caller.service.database.engine.url)
    with engine.begin() as connection:
        connection.execute(update(tables.interviews).values(settings=json.dumps(settings)))
    engine.dispose()
    caller.service.interviews.clear()
    place, answer = f"/v1/interviews/{talk['id']}/answer", {"question": talk["question"]["id"], "answer": "A"}
    assert caller.post(place, json=answer, headers=decides).status_code == 403
    assert caller.post(place, json=answer).json()["settled"]


def test_new_arms_by_rank_need_the_right_key_or_the_experiments_setting(caller):
    decides, _ = key_with(caller, "decide")
    refused = caller.post(RANK, json=actions("A21", "B7"), headers=decides)
    assert (refused.status_code, "'B7' is not one" in refused.json()["error"]) == (403, True)
    assert arms_of(caller) == ["A21", "A28"]
    assert caller.post(RANK, json=actions("A21"), headers=decides).status_code == 201
    assert caller.post(RANK, json=actions("A21", "B7")).status_code == 201  # a key that manages, too
    assert arms_of(caller) == ["A21", "A28", "B7"]
    caller.create("open", arms_by_rank=True)
    assert caller.post(RANK.replace("routes", "open"), json=actions("B9"), headers=decides).status_code == 201
    assert arms_of(caller, "open") == ["A21", "A28", "B9"]


def test_an_experiment_from_before_the_setting_takes_new_arms_by_rank_as_it_did(caller):
    decides, _ = key_with(caller, "decide")
    experiment = caller.service.experiments["routes"]
    experiment.settings = experiment.settings.model_copy(update={"arms_by_rank": None})
    assert caller.post(RANK, json=actions("B7"), headers=decides).status_code == 201


@pytest.mark.parametrize("verb", ["pause", "archive"])
def test_what_does_not_run_gets_no_arms_by_rank(caller, verb):
    caller.post(f"{URL}/{verb}").raise_for_status()
    assert caller.post(RANK, json=actions("B7")).status_code == 409
    assert arms_of(caller) == ["A21", "A28"]


def test_an_archived_experiment_is_read_only_in_every_call(caller, database):
    first, second = caller.ask(key="one"), caller.ask()
    caller.tell(second["choice"], 7.0)
    caller.post(f"{URL}/archive").raise_for_status()
    before = rows_of(database, tables.events), rows_of(database, tables.decisions), rows_of(database, tables.arms)
    for method, path, body in (
        ("POST", "decide", {}),
        ("POST", "reward", {"choice": first["choice"], "outcome": 7.0}),
        ("POST", "cancel", {"choice": first["choice"]}),
        ("POST", "arms", {"name": "B7"}),
        ("DELETE", "arms/A21", None),
        ("POST", "import", {"arms": ["A21"], "outcomes": [7.0]}),
        ("POST", "pause", None),
        ("POST", "resume", None),
        ("POST", "personalizer/v1.0/rank", actions("A21")),
    ):
        answer = caller.request(method, f"{URL}/{path}", json=body)
        assert answer.status_code == 409, path
        assert answer.json()["error"] == "an archived experiment is read-only; 'routes' is archived. Create another."
    experiment = caller.service.experiments["routes"]
    assert experiment.late() == []
    after = rows_of(database, tables.events), rows_of(database, tables.decisions), rows_of(database, tables.arms)
    assert after == before
    assert caller.ask(key="one") == first  # reading
    assert caller.tell(second["choice"], 7.0)["outcome"] == 7.0


def test_a_copied_cookie_ends_with_the_sign_out(caller):
    caller.post("/sign-in", data={"key": caller.key})
    copied = caller.cookies["allais_session"]
    assert caller.get("/people").status_code == 200
    caller.post("/sign-in", data={"key": caller.key})  # the same key in another browser
    other = caller.cookies["allais_session"]
    assert copied != other
    caller.cookies.set("allais_session", copied)
    caller.cookies.clear()
    caller.cookies.set("allais_session", copied)
    assert caller.post("/sign-out").status_code == 303
    for cookie, status in ((copied, 303), (other, 200), ("", 303), ("ä" * 10, 303)):
        answer = caller.get("/people", headers={"Cookie": f"allais_session={cookie}".encode()})
        assert answer.status_code == status
