"""One memory, many people: each decides by her own preference, which may come from an interview."""

from __future__ import annotations

import json

import pytest

from allais import NPTS, Bounded, Discrete, Preference, TverskyKahneman, cvar, expected_value
from allais.serve import tables
from allais.serve.why import why
from allais.settings import to_spec
from tests.serve.events import rows_of

URL = "/v1/experiments/routes"
LOVES_CHANCES = {"gains": {"type": "TverskyKahneman", "eta": 0.5}}


def test_choices_for_a_person_are_those_of_a_learner_asked_for_her(calling):
    learner = NPTS(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).start(["A21", "A28"], seed=1)
    people = {"ann": expected_value(), "ben": cvar(0.25), "cleo": None}
    with calling() as caller:
        caller.create()
        for name, preference in people.items():
            if preference is not None:
                caller.put(f"/v1/people/{name}", json={"preference": to_spec(preference)}).raise_for_status()
    step = 0
    for _ in range(3):
        with calling() as caller:  # also after a restart
            for _ in range(10):
                for name, preference in people.items():
                    step += 1
                    expected, answer = learner.ask(preference=preference), caller.ask(person=name)
                    assert (answer["choice"], answer["arm"]) == expected
                    outcome = 50.0 * ((step * 0.618) % 1.0)
                    learner.tell(expected, outcome)
                    caller.tell(answer["choice"], outcome)


def test_people_part_ways_on_what_all_have_seen(caller):
    caller.put("/v1/people/ann", json={"preference": {"name": "expected_value"}}).raise_for_status()
    caller.put("/v1/people/ben", json={"preference": LOVES_CHANCES}).raise_for_status()
    history = {"arms": ["A21"] * 10 + ["A28"] * 10, "outcomes": [50.0] + [0.0] * 9 + [7.0] * 10}
    assert caller.post(f"{URL}/import", json=history).json() == {"imported": 20}
    best = {
        person: caller.get(f"{URL}/recommend", params={"person": person}).json()["arm"] for person in ("ann", "ben")
    }
    assert best == {"ann": "A28", "ben": "A21"}
    values = caller.get(f"{URL}/value", params={"person": "ben"}).json()
    assert (values["best"], values["best_mean"]) == ("A21", "A28")
    assert values["arms"][0]["value"] == pytest.approx(50.0 * TverskyKahneman(0.5)(0.1))
    own = caller.get(f"{URL}/value").json()
    assert own["arms"][0]["outcomes"] == 10
    assert own["arms"][0]["mean"] == 5.0


def test_a_person_is_put_shown_listed_and_removed(caller, database, tmp_path):
    cvar(0.1).save(tmp_path / "ben.json")
    content = json.loads((tmp_path / "ben.json").read_text())
    put = caller.put("/v1/people/ben", json={"file": content})
    assert (put.json()["source"], put.json()["preference"]) == ("file", to_spec(cvar(0.1)))
    caller.put("/v1/people/ann", json={"preference": {"name": "cvar", "level": 0.1}}).raise_for_status()
    assert len(rows_of(database, tables.preferences)) == 1  # of one taste
    assert [one["name"] for one in caller.get("/v1/people").json()] == ["ann", "ben"]
    assert [one["name"] for one in caller.get("/v1/people", params={"after": "ann"}).json()] == ["ben"]
    assert caller.get("/v1/people/ann").json()["source"] == "cvar"
    assert caller.delete("/v1/people/ann").status_code == 204
    assert caller.get("/v1/people/ann").status_code == 404
    damaged = caller.put("/v1/people/ben", json={"file": {**content, "version": 1, "checksum": "0"}})
    assert (damaged.status_code, "damaged" in damaged.json()["error"]) == (422, True)
    for body in ({}, {"preference": LOVES_CHANCES, "file": {}}, {"preference": {"gains": {"type": "os:system"}}}):
        assert caller.put("/v1/people/ben", json=body).status_code == 422


def test_an_interview_gives_a_person_her_preference_and_survives_a_restart(calling):
    alice = Preference.tversky_kahneman()
    start = {"questions": 6, "checks": 0, "seed": 1}

    def side(question):
        a, b = (dict(question[one]) for one in "ab")
        return "A" if alice.value(Discrete(a)) > alice.value(Discrete(b)) else "B"

    with calling() as caller:
        talk = caller.post("/v1/people/alice/interview", json=start).json()
        first = talk["question"]
        assert first["wording"].startswith("Which would you rather have?")
        for _ in range(3):
            body = {"question": talk["question"]["id"], "answer": side(talk["question"])}
            talk = caller.post(f"/v1/interviews/{talk['id']}/answer", json=body).json()
        again = caller.post(f"/v1/interviews/{talk['id']}/answer", json=body).json()
        assert again == talk  # a repeated answer counts once
    with calling() as caller:
        assert caller.get(f"/v1/interviews/{talk['id']}").json() == talk
        while not talk["settled"]:
            body = {"question": talk["question"]["id"], "answer": side(talk["question"])}
            talk = caller.post(f"/v1/interviews/{talk['id']}/answer", json=body).json()
        assert talk["answered"] == 6
        shown = caller.get("/v1/people/alice").json()
        assert shown["source"] == f"interview {talk['id']}"
        assert shown["preference"] == talk["preference"]
        assert 0.3 < shown["preference"]["gains"]["eta"] < 1.0
        assert (
            caller.post(f"/v1/interviews/{talk['id']}/answer", json={"question": 99, "answer": "A"}).status_code == 422
        )
        assert caller.get("/v1/interviews/nobody").status_code == 404


def test_why_goes_by_the_value_that_an_arm_has_for_the_person():
    learner = NPTS(expected_value(), Bounded(0, 50)).start(["risky", "sure"], seed=1)
    learner.observe("risky", [50.0] + [0.0] * 9)
    learner.observe("sure", [7.0] * 10)
    alice = Preference(TverskyKahneman(0.61))
    assert why(learner, "risky") == "risky may be worth more than it seems: 5, by 10 outcomes"
    assert why(learner, "risky", alice) == "risky is worth most so far: 9.315, by 10 outcomes"
    assert why(learner, "sure") == "sure is worth most so far: 7, by 10 outcomes"
