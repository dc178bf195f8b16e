"""One memory, many people: each decides by her own preference, which may come from an interview."""

from __future__ import annotations

import json

import pytest

from allais import NPTS, Bounded, Discrete, Preference, TverskyKahneman, cvar, expected_value
from allais.files import checksum
from allais.people import Family, Interview
from allais.serve.store import tables
from allais.settings import to_spec
from tests.serve.events import rows_of

URL = "/v1/experiments/routes"
LOVES_CHANCES = {"gains": {"type": "TverskyKahneman", "eta": 0.5}}


def test_choices_for_a_person_are_those_of_a_learner_asked_for_her(calling):
    learner = NPTS(Preference(TverskyKahneman(0.61)), Bounded(0, 50), draws=16).start(["A21", "A28"], seed=1)
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
    learner = NPTS(expected_value(), Bounded(0, 50), draws=16).start(["risky", "sure"], seed=1)
    learner.observe("risky", [50.0] + [0.0] * 9)
    learner.observe("sure", [7.0] * 10)
    alice = Preference(TverskyKahneman(0.61))
    assert learner.why("risky") == "risky may be worth more than it seems: its mean is 5, by 10 outcomes"
    assert learner.why("risky", alice) == "risky is worth most so far: it feels like 9.315 for sure, by 10 outcomes"
    assert learner.why("sure") == "sure is worth most so far: its mean is 7, by 10 outcomes"


MINUTES = {
    "arms": ["slow", "fast"], "preference": {"name": "expected_value", "costs": True}, "unit": "minutes",
    "rewards": {"type": "Bounded", "low": 0.0, "high": 60.0},
}  # fmt: skip
EUROS = {"arms": ["little", "much"], "preference": {"name": "expected_value"}, "unit": "euros"}


def interviewed(caller, person, **start):
    """A person who answers as she likes."""
    talk = caller.post(f"/v1/people/{person}/interview", json={"questions": 3, "checks": 0, "seed": 1, **start}).json()
    while not talk["settled"]:
        body = {"question": talk["question"]["id"], "answer": "A"}
        talk = caller.post(f"/v1/interviews/{talk['id']}/answer", json=body).json()


def test_people_of_any_preference_take_the_fast_way_and_the_page_counts_minutes(caller):
    caller.create("to-work", **MINUTES)
    caller.create("prices", **EUROS)
    caller.put("/v1/people/joe", json={"preference": {"name": "expected_value"}}).raise_for_status()
    caller.put("/v1/people/ann", json={"preference": {"name": "tversky_kahneman", "reference": 80}}).raise_for_status()
    caller.put("/v1/people/moe", json={"preference": {"name": "tversky_kahneman"}}).raise_for_status()
    interviewed(caller, "eve")  # with the stakes of the form
    people = ("joe", "ann", "moe", "eve")
    ways = {"arms": ["slow", "fast"] * 30, "outcomes": [50.0, 10.0] * 30}
    caller.post("/v1/experiments/to-work/import", json=ways).raise_for_status()
    sums = {"arms": ["little", "much"] * 30, "outcomes": [10.0, 50.0] * 30}
    caller.post("/v1/experiments/prices/import", json=sums).raise_for_status()
    for person in people:
        for _ in range(5):
            answer = caller.ask("to-work", person=person)
            assert answer["arm"] == "fast"
            caller.tell(answer["choice"], 10.0, "to-work")
            answer = caller.ask("prices", person=person)  # more is better there, and she is the same
            assert answer["arm"] == "much"
            caller.tell(answer["choice"], 50.0, "prices")
        assert caller.get("/v1/experiments/to-work/recommend", params={"person": person}).json()["arm"] == "fast"
        values = caller.get("/v1/experiments/to-work/value", params={"person": person}).json()
        assert (values["best"], values["best_mean"]) == ("fast", "fast")
        for number in ("feels_like", "mean"):  # in minutes, as they were sent
            assert {arm["name"]: arm[number] for arm in values["arms"]} == pytest.approx({"slow": 50.0, "fast": 10.0})
    caller.post("/sign-in", data={"key": caller.key}, headers={"Origin": str(caller.base_url)})
    page = caller.get("/experiments/to-work")
    assert page.status_code == 200
    assert "Always &#34;fast&#34; would have lost 0 minutes" in page.text
    assert "-" not in page.text.partition("Lost so far:")[2].partition("</p>")[0]
    assert page.text.count("<h3>") == 3  # joe goes by the experiment's own; moe and ann are of one taste here


def test_a_person_says_where_her_preference_was_fitted_and_what_of_it_is_used(caller, tmp_path):
    joe = caller.put("/v1/people/joe", json={"preference": {"name": "tversky_kahneman", "costs": True, "reference": 80},
                                             "unit": "euros"}).json()  # fmt: skip
    assert (joe["unit"], joe["stakes"]) == ("euros", None)
    assert "Direction and reference are those of the experiment. Not used: the reference 80 and costs." in joe["note"]
    interviewed(caller, "eve", stakes=[0, 60], unit="minutes", costs=True)
    eve = caller.get("/v1/people/eve").json()
    assert (eve["unit"], eve["stakes"]) == ("minutes", [0.0, 60.0])
    interview = Interview(Family(stake=100.0), stakes=(-50.0, 200.0), questions=1, seed=1, unit="francs")
    interview.tell(interview.ask(), "A")
    interview.save(tmp_path / "bea.json")
    content = json.loads((tmp_path / "bea.json").read_text())
    bea = caller.put("/v1/people/bea", json={"file": content}).json()
    assert (bea["unit"], bea["stakes"]) == ("francs", [-50.0, 200.0])
    for strange in (5, {"settings": 5}, {"settings": {"unit": 5, "stakes": "x"}}):
        odd = {**content, "interview": strange}
        odd["checksum"] = checksum(odd)
        assert caller.put("/v1/people/bea", json={"file": odd}).json()["stakes"] is None
