"""Outcomes that are not finished, over HTTP: told in part, elapsed time, expiry that counts, restarts, the page."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest

from allais import NPTS, Bounded, expected_value
from allais.evidence import read_decisions
from allais.serve.core import values
from allais.serve.core.parse_settings import DRAWS
from allais.serve.unfinished import warm
from tests.serve.test_expiry import LASTS, Clocks, clocks, waiting  # noqa: F401

TRIPS = {
    "preference": {"name": "mean", "costs": True},
    "rewards": {"type": "Bounded", "low": 0.0, "high": 100.0},
    "expires_after": LASTS,
}


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile before calls are made, so that no caller waits for it."""
    warm(NPTS(expected_value(costs=True), Bounded(0, 100), draws=DRAWS).start(["A21", "A28"], seed=1))


def reward(caller, **body):
    answer = caller.post("/v1/experiments/routes/reward", json=body)
    return answer.status_code, answer.json()


def unfinished(caller):
    arms = caller.get("/v1/experiments/routes/value").json()["arms"]
    return {arm["name"]: arm["unfinished"] for arm in arms}


def test_a_part_of_an_outcome_counts_until_the_rest_is_told(calling):
    with calling() as caller:
        caller.create(**TRIPS)
        first, second = caller.ask(), caller.ask()
        assert reward(caller, choice=first["choice"], at_least=30.0) == (
            200,
            {"choice": 1, "arm": first["arm"], "state": "open", "outcome": None},
        )
        assert unfinished(caller)[first["arm"]] == 1
        status, said = reward(caller, choice=first["choice"], outcome=20.0)
        assert (status, "at least 30; got 20" in said["error"]) == (422, True)
        assert reward(caller, choice=first["choice"], outcome=47.0)[1]["state"] == "told"
        final = {"choice": second["choice"], "at_least": 90.0, "final": True}
        assert reward(caller, **final)[1]["state"] == "expired"
        assert reward(caller, **final)[1]["state"] == "expired"  # a repeated call
        assert reward(caller, choice=second["choice"], outcome=95.0)[0] == 410
        assert caller.get("/v1/experiments/routes/recommend").json()["unfinished"] is None  # the other arm is better
    with calling() as again:
        assert unfinished(again) == {first["arm"]: 0, second["arm"]: 1}
        assert again.ask()["choice"] == 3


def test_open_decisions_last_at_least_as_long_as_they_have_without_any_call(calling, clocks):  # noqa: F811
    with calling() as caller:
        caller.create(**TRIPS, outcome="elapsed", unit="seconds")
        first, second, third = caller.ask(), caller.ask(), caller.ask()
        clocks.passed = 40.0
        told = reward(caller, choice=first["choice"])[1]
        assert told["state"] == "told"
        assert 40.0 <= told["outcome"] < 45.0
        assert reward(caller, choice=first["choice"])[1] == told
        caller.ask()
        learner = caller.service.experiments["routes"].learner
        assert sum(learner.unfinished.values()) == 2
        clocks.passed = LASTS + 1.0
        assert waiting(caller) == 1
        assert sum(learner.unfinished.values()) == 2 + 1
        assert sum(learner.pulls.values()) == 1
        assert reward(caller, choice=second["choice"])[0] == 410
        status, said = reward(caller, choice=third["choice"] + 1, outcome=3.0)
        assert (status, "is the time until the reward comes" in said["error"]) == (422, True)
    with calling() as again:  # as after a kill: what time tells is worked out anew
        learner = again.service.experiments["routes"].learner
        assert sum(learner.unfinished.values()) >= 2
        again.ask()
        assert sum(learner.unfinished.values()) == 3


def test_expiry_may_count_as_a_stated_value(calling, clocks):  # noqa: F811
    with calling() as caller:
        caller.create(**TRIPS, expires_as=100.0)
        caller.ask()
        clocks.passed = LASTS + 1.0
        assert waiting(caller) == 0
        learner = caller.service.experiments["routes"].learner
        assert sum(learner.pulls.values()) == 1
        assert min(learner.value().values()) == -100.0
    with calling() as again:
        assert sum(again.service.experiments["routes"].learner.pulls.values()) == 1


def test_an_export_with_unfinished_outcomes_is_imported_again_as_it_was(calling):
    with calling() as caller:
        caller.create(**TRIPS)
        for k in range(12):
            trip = caller.ask()["choice"]
            known = {"outcome": 20.0 + k} if k % 3 else {"at_least": 10.0 + k, "at_most": 90.0, "final": k % 2 == 0}
            assert reward(caller, choice=trip, **known)[0] == 200
        lines = caller.get("/v1/experiments/routes/export").text.splitlines()
        columns = {"arms": "arm", "outcomes": "outcome", "at_least": "at_least", "at_most": "at_most"}
        body = {name: [json.loads(line)[column] for line in lines] for name, column in columns.items()}
        caller.create("again", **TRIPS)
        wrong = {**body, "at_least": [None] * 12, "at_most": [None] * 12}
        for other, said in ((wrong, "got none. Say what is known"), ({**body, "at_least": [1.0] * 12}, "and bounds"),
                            ({**body, "at_least": [1.0]}, "got 1. Give null"),
                            ({**body, "arms": [*body["arms"][:-1], "A1"]}, "an arm must be one of")):  # fmt: skip
            answer = caller.post("/v1/experiments/again/import", json=other)
            assert answer.status_code == 422
            assert said in answer.json()["error"]
        for _ in range(2):  # the second time it is a repeated call
            answer = caller.post("/v1/experiments/again/import", json={**body, "key": "moved"})
            assert (answer.status_code, answer.json()) == (200, {"imported": 12})
        first, second = (caller.service.experiments[name].learner for name in ("routes", "again"))
        assert second.unfinished == first.unfinished
        assert sum(second.unfinished.values()) == 4
        assert second.value() == pytest.approx(first.value())
        exported = [json.loads(line) for line in caller.get("/v1/experiments/again/export").text.splitlines()]
        shown = [tuple(row[column] for column in columns.values()) for row in exported]
        assert Counter(shown) == Counter(zip(*body.values(), strict=True))
    with calling() as caller:
        again = caller.service.experiments["again"].learner
        assert (again.unfinished, again.value()) == (second.unfinished, second.value())


def test_the_page_says_in_words_what_is_unfinished(calling, clocks):  # noqa: F811
    with calling() as caller:
        caller.create(**TRIPS, outcome="elapsed", unit="seconds")
        for _ in range(4):
            caller.ask()
        clocks.passed = LASTS + 1.0
        waiting(caller)
        for allowed in ("A21", "A28"):
            assert reward(caller, choice=caller.ask(allowed=[allowed])["choice"])[0] == 200
        caller.post("/sign-in", data={"key": caller.key})
        page = caller.get("/experiments/routes").text
        assert "; each counts as at least 100 seconds" in page
        assert "outcomes of &#39;A2" in page
        assert "unfinished. The mean is" in page


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"outcome": "elapsed", "unit": "apples"},
            "in seconds, ms, minutes, hours or days; got 'apples'",
        ),
        ({"outcome": "elapsed", "expires_after": 101.0}, "got at least 101"),
        ({"outcome": "elapsed", "expires_as": 3.0}, "cannot be combined with apprentice, terms or expires_as"),
        ({"outcome": "elapsed", "policy": {"type": "EXP3"}}, "EXP3 learns from finished outcomes only"),
        ({"expires_as": 101.0}, "101"),
    ],
)
def test_experiments_that_could_not_work_are_refused(caller, settings, said):
    body = {"name": "other", "policy": {"type": "NPTS"}, "arms": ["A", "B"], **TRIPS, **settings}
    answer = caller.post("/v1/experiments", json=body)
    assert (answer.status_code, said in answer.json()["error"]) == (422, True), answer.text


def test_a_reward_has_an_outcome_or_a_part_of_it(caller):
    number = caller.ask()["choice"]
    assert "got neither" in reward(caller, choice=number)[1]["error"]
    assert "got both" in reward(caller, choice=number, outcome=3.0, at_least=2.0)[1]["error"]
    assert "got 5 and 4" in reward(caller, choice=number, at_least=5.0, at_most=4.0)[1]["error"]


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_an_export_is_a_log_that_says_what_is_known_of_unfinished_outcomes(calling, clocks, tmp_path, form):  # noqa: F811
    with calling() as caller:
        caller.create(**TRIPS)
        part, lost, done, narrowed, late = (caller.ask() for _ in range(5))
        reward(caller, choice=part["choice"], at_least=30.0)
        reward(caller, choice=part["choice"], at_least=20.0)  # says less than what is known
        reward(caller, choice=lost["choice"], at_least=90.0, final=True)
        reward(caller, choice=done["choice"], at_least=10.0)
        reward(caller, choice=done["choice"], outcome=12.0)
        reward(caller, choice=narrowed["choice"], at_least=5.0, at_most=60.0)
        reward(caller, choice=late["choice"], outcome=47.0)
        answer = caller.get(f"/v1/experiments/routes/export?format={form}")
        path = tmp_path / f"log.{form}"
        path.write_bytes(answer.content)
        evaluated = caller.get("/v1/experiments/routes/evaluation").json()
    log = read_decisions(path)
    assert log.unfinished == 3
    assert log.reach[0].tolist() == [30.0, 90.0, 12.0, 5.0, 47.0]
    assert log.reach[1].tolist() == [math.inf, math.inf, 12.0, 60.0, 47.0]
    assert "3 of 5 outcomes are not finished: nothing is assumed of them." in evaluated["notes"]


def test_an_export_of_elapsed_time_says_how_long_open_decisions_have_lasted(calling, clocks, tmp_path):  # noqa: F811
    with calling() as caller:
        caller.create(**TRIPS, outcome="elapsed", unit="seconds")
        caller.ask()
        clocks.passed = LASTS + 1.0
        caller.ask()
        waiting(caller)
        clocks.passed = LASTS + 41.0
        (tmp_path / "log.jsonl").write_bytes(caller.get("/v1/experiments/routes/export").content)
    log = read_decisions(tmp_path / "log.jsonl")
    assert log.reach[0][0] == LASTS
    assert 40.0 <= log.reach[0][1] < 45.0
    assert np.isinf(log.reach[1]).all()


def test_open_decisions_of_an_archived_experiment_grow_no_older(calling, clocks, tmp_path):  # noqa: F811
    """Nobody can reward them any more, so that they are still open says nothing about how long they lasted."""
    with calling() as caller:
        caller.create(**TRIPS, outcome="elapsed", unit="seconds")
        caller.ask()
        clocks.passed = 10.0
        caller.ask()
        caller.post("/v1/experiments/routes/archive")
    clocks.passed = LASTS
    with calling() as caller:
        (tmp_path / "log.jsonl").write_bytes(caller.get("/v1/experiments/routes/export").content)
    reach = read_decisions(tmp_path / "log.jsonl").reach
    assert 10.0 <= reach[0][0] < 15.0
    assert reach[0][1] == 0.0


@pytest.mark.parametrize("settings", [{"outcome": "elapsed", "unit": "seconds"}, {"expires_as": 100.0}])
def test_a_verdict_counts_decisions_that_expired_and_those_that_are_open(calling, clocks, settings):  # noqa: F811
    """A28 loses four rewards of five: among those that came in time both arms are alike."""
    test = {"shares": {"A21": 1, "A28": 1}, "by": "p75"}
    with calling() as caller:
        caller.create(**{**TRIPS, "preference": {"name": "p75", "costs": True}}, **settings, test=test)
        asked = [caller.ask(person=f"p{k}") for k in range(160)]
        clocks.passed = 5.0
        slow = [one for k, one in enumerate(asked) if one["arm"] == "A28" and k % 5 < 4]
        for one in asked:
            told = {} if "outcome" in settings else {"outcome": 5.0}
            assert one in slow or reward(caller, choice=one["choice"], **told)[0] == 200
        open_ones = caller.get("/v1/experiments/routes/verdict").json()
        waiting_for = sum(group["waiting"] for group in open_ones["groups"])
        assert waiting_for == (0 if "outcome" in settings else len(slow))
        assert "outcome" in settings or open_ones["verdicts"][0]["word"] == "not yet"
        clocks.passed = LASTS + 1.0
        assert waiting(caller) == 0
        said = caller.get("/v1/experiments/routes/verdict").json()
    assert said["verdicts"][0]["word"] == "worse"
    assert sum(group["lost"] for group in said["groups"]) == 0
    assert sum(group["outcomes"] for group in said["groups"]) >= 160
    assert ("are not finished" in " ".join(said["assumptions"])) == ("outcome" in settings)


def test_decisions_are_counted_by_arm_and_by_what_became_of_them():
    names = [f"A{k}" for k in range(100)]
    told = [(arm, "told", 1.0) for arm in range(100) for _ in range(3)]
    rows = np.zeros(len(told) + 4, values.ROW)
    for row, (arm, state, outcome) in zip(
        rows, [*told, *((arm, state, np.nan) for arm in (0, 1) for state in ("open", "expired"))], strict=True
    ):
        row["arm"], row["state"], row["low"] = arm, values.STATES.index(state), outcome
    groups = values._groups(names, rows, dict.fromkeys(names, 1.0))
    one = {"share": 0.01, "decisions": 5, "outcomes": 3, "waiting": 1, "lost": 1}
    assert groups[1] == {"name": "A1", **one}
    assert groups[2] == {"name": "A2", **one, "decisions": 3, "waiting": 0, "lost": 0}
