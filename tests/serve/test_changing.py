"""Experiments that change while they run, and what is deleted for ever."""

from __future__ import annotations

import json
from time import sleep

import pytest

from allais import NPTS, Bounded, Preference, TverskyKahneman, cvar, expected_value
from allais.serve.store import tables
from tests.serve.conftest import ROUTES
from tests.serve.events import rows_of
from tests.serve.test_features import MENU, OFFERS, RAIN

URL = "/v1/experiments/routes"
WIDE = {"type": "Bounded", "low": 0.0, "high": 90.0}


def test_a_refused_reward_names_the_call_that_widens_the_bounds_and_then_is_taken(caller):
    choice = caller.ask()["choice"]
    refused = caller.post(f"{URL}/reward", json={"choice": choice, "outcome": 60.0})
    assert refused.status_code == 422
    assert refused.json()["error"].endswith('PATCH /v1/experiments/routes with {"rewards": ...} does so.')
    shown = caller.patch(URL, json={"rewards": WIDE})
    assert (shown.status_code, shown.json()["policy"]["rewards"]) == (200, WIDE)
    assert caller.tell(choice, 60.0)["state"] == "told"


def test_an_experiment_that_changed_goes_on_as_a_learner_that_changed_also_after_a_restart(calling):
    learner = NPTS(Preference(TverskyKahneman(0.61)), Bounded(0, 50), draws=16).start(["A21", "A28"], seed=1)
    step = 0
    changes = [
        ({}, lambda: None),
        ({"rewards": WIDE}, lambda: learner.widen(Bounded(0, 90))),
        ({"preference": {"name": "cvar", "level": 0.3}}, lambda: learner.change_preference(cvar(0.3))),
        ({"preference": {"name": "tversky_kahneman"}, "expires_after": 7.0},
         lambda: learner.change_preference(Preference.tversky_kahneman())),
    ]  # fmt: skip
    for number, (change, the_same) in enumerate(changes):
        with calling() as caller:
            if number == 0:
                caller.create()
                caller.put("/v1/people/ann", json={"preference": {"name": "expected_value"}}).raise_for_status()
            for _ in range(2):  # a repeated call changes nothing
                caller.patch(URL, json=change).raise_for_status()
            the_same()
            for _ in range(12):
                step += 1
                person = "ann" if step % 3 == 0 else None
                expected = learner.ask(preference=expected_value() if person else None)
                answer = caller.ask(person=person)
                assert (answer["choice"], answer["arm"]) == expected
                outcome = 50.0 * ((step * 0.618) % 1.0)
                learner.tell(expected, outcome)
                caller.tell(answer["choice"], outcome)
            audit = [one for one in caller.get("/v1/audit").json() if one["action"] == "change"]
    assert [one["detail"] for one in audit] == [change for change, _ in changes[1:]]
    assert caller.service.experiments["routes"].settings.expires_after == 7.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rewards": {"type": "Bounded", "low": 0.0, "high": 40.0}}, "wider rewards must admit all that"),
        ({"rewards": WIDE, "preference": {"name": "meen"}}, "a named preference is"),
        (
            {"rewards": WIDE, "preference": {"name": "cvar", "level": 0.1, "costs": True}},
            "costs belongs to the experiment",
        ),
        ({"rewards": WIDE, "terms": ["price"]}, "this experiment began without"),
        ({"apprentice": True}, "apprentice: there is no such entry"),
        ({"expires_after": 0}, "expires_after: input should be greater than 0"),
    ],
)
def test_a_change_that_is_refused_in_one_part_changes_nothing(caller, change, sentence):
    before = caller.get(URL).json()
    answer = caller.patch(URL, json=change)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert caller.get(URL).json() == before
    caller.post(f"{URL}/archive")
    archived = caller.patch(URL, json={"expires_after": 5.0})
    assert archived.status_code == 409


@pytest.mark.parametrize("apprentice", [False, True])
def test_terms_are_added_behind_the_others(calling, apprentice):
    url, did = "/v1/experiments/menu", {"did": "soup"} if apprentice else {}
    with calling() as caller:
        caller.create("menu", **{**MENU, "apprentice": apprentice})
        old = caller.ask("menu", features=OFFERS, context=RAIN, **did)["choice"]
        caller.tell(caller.ask("menu", features=OFFERS, context=RAIN, **did)["choice"], 1.0, "menu")
        assert caller.patch(url, json={"terms": ["hour=9"]}).status_code == 422
        assert caller.patch(url, json={"features": {"soup": {"price": 8}}}).status_code == 422
        more = {"terms": [*MENU["terms"], "hour=9", "organic"], "features": {"soup": {"organic": True}}}
        for _ in range(2):
            answer = caller.patch(url, json=more)
            assert answer.json()["terms"] == more["terms"], answer.text
    with calling() as caller:  # also after a restart
        caller.tell(old, 2.0, "menu")
        caller.tell(caller.ask("menu", features=OFFERS, context={"hour": 9}, **did)["choice"], 3.0, "menu")
        lines = [json.loads(line) for line in caller.get(f"{url}/export").text.splitlines()]
        assert [line["features"].get("hour=9", 0.0) for line in lines] == [0.0, 0.0, 1.0]
        if apprentice:
            assert caller.get(f"{url}/apprentice").json()["decisions"] == 3
            assert lines[2]["features"]["organic"] == 1.0
        assert caller.service.experiments["menu"].learner.theta.size == 8


def test_rewards_and_cancellations_know_a_decision_by_its_own_key(calling):
    with calling() as caller:
        caller.create()
        choices = {key: caller.ask(key=key)["choice"] for key in ("one", "two", "three")}
        for _ in range(2):
            told = caller.post(f"{URL}/reward", json={"decision_key": "one", "outcome": 7.0})
            assert told.json() == {"choice": choices["one"], "arm": told.json()["arm"], "state": "told", "outcome": 7.0}
    with calling() as caller:  # also after a restart
        for _ in range(2):
            caller.post(f"{URL}/reward", json={"decision_key": "two", "outcome": 8.0}).raise_for_status()
            cancelled = caller.post(f"{URL}/cancel", json={"decision_key": "three"}).json()
            assert (cancelled["choice"], cancelled["state"]) == (choices["three"], "cancelled")
        assert caller.post(f"{URL}/reward", json={"decision_key": "two", "outcome": 9.0}).status_code == 409
        for body, status in (
            ({"decision_key": "four"}, 404), ({}, 422), ({"decision_key": "one", "choice": 1}, 422),
        ):  # fmt: skip
            assert caller.post(f"{URL}/reward", json={**body, "outcome": 7.0}).status_code == status
        assert caller.get(URL).json()["outcomes"] == 2


def test_a_batch_answers_each_call_as_if_it_had_come_alone(caller):
    asked = {"calls": [{"key": f"k{one % 150}"} for one in range(200)] + [{"allowed": ["B9"]}]}
    answers = [caller.post(f"{URL}/decide/batch", json=asked).json()["answers"] for _ in range(2)]
    assert answers[0] == answers[1]  # each is idempotent by its key
    assert [one["status"] for one in answers[0]] == [200] * 200 + [422]
    assert len({one["answer"]["choice"] for one in answers[0][:-1]}) == 150
    assert "must be in play" in answers[0][-1]["error"]
    told = [{"decision_key": f"k{one}", "outcome": float(one % 50)} for one in range(150)]
    for _ in range(2):
        back = caller.post(f"{URL}/reward/batch", json={"calls": [*told, {"choice": 999, "outcome": 1.0}]}).json()
        assert [one["status"] for one in back["answers"]] == [200] * 150 + [404]
    assert caller.get(URL).json()["outcomes"] == 150
    assert caller.post(f"{URL}/decide/batch", json={"calls": [{}] * 501}).status_code == 422
    assert caller.post("/v1/experiments/none/decide/batch", json={"calls": [{}]}).status_code == 404


def test_a_batch_counts_as_many_calls_as_it_holds(calling):
    with calling(limits={"requests_per_second": 50}) as caller:
        caller.create()
        caller.post(f"{URL}/decide/batch", json={"calls": [{}] * 200}).raise_for_status()
        refused = caller.post(f"{URL}/decide/batch", json={"calls": [{}]})
        assert refused.status_code == 429


def test_a_deleted_experiment_leaves_nothing_but_the_entry_that_says_so(calling, database):
    with calling() as caller:
        caller.create()
        caller.create("other")
        for _ in range(30):
            caller.tell(caller.ask()["choice"], 7.0)
        kept = caller.ask("other")["choice"]
        caller.ask()
        assert caller.delete(URL).status_code == 409
        caller.post(f"{URL}/archive").raise_for_status()
        assert caller.delete(URL).status_code == 204
        assert caller.delete(URL).status_code == 404
        assert caller.get(URL).status_code == 404
        assert caller.get("/v1/audit").json()[-1]["action"] == "delete"
        id_ = rows_of(database, tables.experiments)[0].id
        held = (tables.events, tables.decisions, tables.snapshots, tables.arms)
        assert all({row.experiment for row in rows_of(database, table)} == {id_} for table in held)
        caller.create()  # its name is free
        assert caller.ask()["choice"] == 1
    with calling() as caller:
        assert caller.tell(kept, 7.0, "other")["state"] == "told"
        assert caller.get(URL).json()["open_decisions"] == 1


def test_a_deletion_that_was_broken_off_goes_on_at_the_next_start(calling, database, monkeypatch):
    with calling() as caller:
        caller.create()
        caller.tell(caller.ask()["choice"], 7.0)
        caller.post(f"{URL}/archive")
        with monkeypatch.context() as patch:

            async def killed(*_):
                raise RuntimeError

            patch.setattr("allais.serve.core.experiments.clear", killed)
            assert caller.delete(URL).status_code == 500
    with calling() as caller:
        assert caller.get(URL).status_code == 404
        caller.create()
        for _ in range(6_000):  # it goes on beside other calls
            if [row.name for row in rows_of(database, tables.experiments)] == ["routes"]:
                break
            sleep(0.05)
    assert [row.name for row in rows_of(database, tables.experiments)] == ["routes"]
    assert rows_of(database, tables.decisions) == []


def test_an_erased_person_is_nowhere(calling, database):
    with calling() as caller:
        caller.create()
        caller.put("/v1/people/joe", json={"preference": {"name": "expected_value"}}).raise_for_status()
        caller.put("/v1/people/joel", json={"preference": {"name": "expected_value"}}).raise_for_status()
        interview = caller.post("/v1/people/joe/interview", json={"questions": 3})
        interview.raise_for_status()
        for person in ("joe", "joe", "joel", None):
            caller.ask(person=person, key=f"{person}-{len(caller.service.experiments['routes'].open)}"[-1])
        for _ in range(2):
            assert caller.delete("/v1/people/joe").status_code == 204
        audit = caller.get("/v1/audit").json()
        assert [one["action"] for one in audit if one["target"].startswith("erased-")] == [
            "put person", "interview", "erase person",
        ]  # fmt: skip
        assert len({one["target"] for one in audit if one["target"].startswith("erased-")}) == 1
        assert caller.get("/v1/people/joe").status_code == 404
        assert caller.get(f"/v1/interviews/{interview.json()['id']}").status_code == 404
        assert [row.person for row in rows_of(database, tables.decisions)] == [None, None, "joel", None]
    for table in tables.metadata.sorted_tables:
        assert not any(
            "joe" in str(entry).split('"') or entry == "joe" for row in rows_of(database, table) for entry in row
        )
    with calling() as caller:
        caller.tell(caller.ask()["choice"], 7.0)
        assert caller.get("/v1/people/joel").status_code == 200


def test_an_erased_name_stays_in_experiments_and_arms_that_are_called_alike(caller):
    caller.create("joe")
    caller.ask("joe", person="joe")
    caller.delete("/v1/people/joe").raise_for_status()
    entry = next(one for one in caller.get("/v1/audit").json() if one["action"] == "create" and one["target"] == "joe")
    assert entry["detail"]["arms"] == ROUTES["arms"]
