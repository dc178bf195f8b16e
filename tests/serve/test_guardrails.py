"""Guardrails and tests in the service: arms that go out of play, fixed shares, verdicts, and how tests end."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from allais.serve.api.schemas import PlannedTest
from allais.serve.core.features import group_of

URL = "/v1/experiments/latency"


def settings(**more):
    limit = {"preference": "p90", "at_most": 300.0, **more}
    return {
        "name": "latency", "arms": ["fast", "steady"], "seed": 1, "unit": "ms per request",
        "policy": {"type": "NPTS", "guardrails": [limit]},
        "preference": {"name": "mean", "costs": True}, "rewards": {"type": "Bounded", "low": 0.0, "high": 1000.0},
    }  # fmt: skip


def outcomes(rng, many):
    return np.where(rng.random(many) < 0.7, 50.0, 600.0).tolist()


def test_an_arm_that_breaks_a_guardrail_goes_out_of_play_and_stays_out_after_a_restart(calling):
    rng = np.random.default_rng(1)
    with calling() as caller:
        caller.post("/v1/experiments", json=settings()).raise_for_status()
        for _ in range(150):
            answer = caller.post(f"{URL}/decide", json={}).json()
            outcome = outcomes(rng, 1)[0] if answer["arm"] == "fast" else 150.0
            caller.post(f"{URL}/reward", json={"choice": answer["choice"], "outcome": outcome}).raise_for_status()
        caller.post(f"{URL}/import", json={"arms": ["fast"] * 200, "outcomes": outcomes(rng, 200)}).raise_for_status()
        told = [one for one in caller.get("/v1/audit").json() if one["action"] == "guardrail"]
        assert [(one["target"], one["detail"]) for one in told] == [("latency", {"out of play": "fast"})]
    with calling() as caller:
        shown = {arm["name"]: arm for arm in caller.get(f"{URL}/value").json()["arms"]}
        assert (shown["fast"]["in_play"], shown["fast"]["guardrails"]) == (False, "breaks")
        assert (shown["steady"]["in_play"], shown["steady"]["guardrails"]) == (True, "keeps")
        assert {caller.post(f"{URL}/decide", json={}).json()["arm"] for _ in range(5)} == {"steady"}
        best = caller.get(f"{URL}/recommend").json()
        assert best["arm"] == "steady"
        assert "percentile 90 at most 300" in best["guardrails"]
        page = caller.service.experiments["latency"].learner.recommend()
        assert page.arm == "steady"


def test_an_experiment_may_only_raise_an_alarm(calling):
    rng = np.random.default_rng(2)
    with calling() as caller:
        caller.post("/v1/experiments", json=settings(drop=False)).raise_for_status()
        caller.post(f"{URL}/import", json={"arms": ["fast"] * 300, "outcomes": outcomes(rng, 300)}).raise_for_status()
        shown = {arm["name"]: arm for arm in caller.get(f"{URL}/value").json()["arms"]}
        assert (shown["fast"]["in_play"], shown["fast"]["guardrails"]) == (True, "breaks")
        assert not [one for one in caller.get("/v1/audit").json() if one["action"] == "guardrail"]


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ({"at_most": None}, "a guardrail has one limit"),
        ({"preference": "p100"}, "a percentile lies above 0 and below 100"),
        ({"at_mst": 3}, "Guardrail has no entry 'at_mst'. Did you mean 'at_most'?"),
    ],
)
def test_what_is_no_guardrail_is_refused(calling, limit, sentence):
    with calling() as caller:
        refused = caller.post("/v1/experiments", json=settings(**limit))
    assert refused.status_code == 422
    assert sentence in refused.json()["error"]


# -- tests with fixed shares ----------------------------------------------------------------------

CHECKOUT = "/v1/experiments/checkout"
BOUNDS = {"type": "Bounded", "low": 0.0, "high": 1e4}


def checkout(**more):
    test = {"shares": {"control": 2, "canary": 1}, **more.pop("test", {})}
    return {
        "name": "checkout", "arms": ["control", "canary"], "seed": 1, "unit": "ms",
        "preference": {"name": "p90", "costs": True}, "test": test, **more,
    }  # fmt: skip


def live(caller, n, rng, *, slower=1.6, people=1_000_000, tell=lambda arm, ms: True, url=CHECKOUT):
    """So many people who come once or more; returns their arms."""
    arms = {}
    for first in range(0, n, 250):
        calls = [{"person": f"p{rng.integers(people)}"} for _ in range(min(250, n - first))]
        answers = caller.post(f"{url}/decide/batch", json={"calls": calls}).raise_for_status().json()["answers"]
        told, dropped = [], []
        for call, one in zip(calls, answers, strict=True):
            arm = one["answer"]["arm"]
            assert arms.setdefault(call["person"], arm) == arm, "a person changed groups"
            ms = float(rng.lognormal(4.0, 0.5)) * (slower if arm == "canary" else 1.0)
            if (tells := tell(arm, ms)) is not None:  # else it is late
                (told if tells else dropped).append({"choice": one["answer"]["choice"], "outcome": ms})
        if told:
            caller.post(f"{url}/reward/batch", json={"calls": told}).raise_for_status()
        for one in dropped:
            caller.post(f"{url}/cancel", json={"choice": one["choice"]}).raise_for_status()
    return arms


def ended(caller, url=CHECKOUT):
    """How the test ended, once it has."""
    for _ in range(2_000):
        if found := caller.get(url).json()["test"]["ended"]:
            return found
        time.sleep(0.05)
    raise AssertionError("the test did not end")


def test_people_keep_their_arm_and_groups_have_their_shares(calling):
    rng = np.random.default_rng(1)
    with calling() as caller:
        caller.post("/v1/experiments", json=checkout()).raise_for_status()
        arms = live(caller, 600, rng, people=200)
        with_person = caller.ask("checkout", person="p7")
        assert with_person["arm"] == arms["p7"]
        assert with_person["propensity"] == pytest.approx(2 / 3 if arms["p7"] == "control" else 1 / 3)
        assert "the arm of this person" in with_person["why"]
        drawn = [caller.ask("checkout") for _ in range(60)]
        assert {one["arm"] for one in drawn} == {"control", "canary"}  # 2 ** -35 by luck
    with calling() as caller:  # a hash, and no table: a restart changes nothing
        assert all(caller.ask("checkout", person=who)["arm"] == arm for who, arm in list(arms.items())[:20])
    settings = PlannedTest(shares={"control": 9.0, "canary": 1.0}, salt="checkout")
    many = [f"person {k}" for k in range(20_000)]
    canary = [who for who in many if group_of(settings, who, ["control", "canary"]) == "canary"]
    assert abs(len(canary) - 2_000) < 5 * math.sqrt(2_000 * 0.9)  # 6e-7 by luck
    other = settings.model_copy(update={"salt": "search"})
    both = sum(group_of(other, who, ["control", "canary"]) == "canary" for who in canary)
    assert abs(both - len(canary) / 10) < 5 * math.sqrt(len(canary) * 0.09)  # another test has other groups
    grown = settings.model_copy(update={"shares": {"control": 8.0, "canary": 2.0}})
    assert all(group_of(grown, who, ["control", "canary"]) == "canary" for who in canary)  # nobody leaves what grows


def test_groups_keep_their_shares_among_each_other_when_one_goes_out_of_play():
    test = PlannedTest(shares={"a": 1.0, "b": 2.0, "c": 3.0}, salt="s")
    moved = Counter(
        group_of(test, f"{k}", ["a", "b"]) for k in range(9_000) if group_of(test, f"{k}", ["a", "b", "c"]) == "c"
    )
    assert set(moved) == {"a", "b"}
    assert abs(moved["a"] - moved.total() / 3) < 5 * math.sqrt(moved.total() * 2 / 9)
    stay = [k for k in range(500) if (was := group_of(test, f"{k}", ["a", "b", "c"])) != "c"
            and group_of(test, f"{k}", ["a", "b"]) != was]  # fmt: skip
    assert stay == []


def test_a_test_stops_by_itself_and_callers_get_the_winner_after_a_restart_too(calling):
    rng = np.random.default_rng(2)
    with calling() as caller:
        caller.post("/v1/experiments", json=checkout(test={"stop": True, "no_worse_than": "5%"})).raise_for_status()
        assert "too few outcomes" in caller.get(f"{CHECKOUT}/verdict").json()["summary"]
        before = caller.ask("checkout", person="late")
        live(caller, 1_500, rng)
        found = ended(caller)
        assert found["arm"] == "control"
        assert '"canary" is worse than "control" by percentile 90' in found["why"]
        (entry,) = [one for one in caller.get("/v1/audit").json() if one["action"] == "end of test"]
        assert (entry["key"], entry["target"], entry["detail"]["arm"]) == ("test", "checkout", "control")
        assert {caller.ask("checkout", person=f"new {k}")["arm"] for k in range(20)} == {"control"}
    with calling() as caller:
        after = caller.ask("checkout", person="p1")
        assert (after["arm"], after["propensity"], after["why"]) == (
            "control",
            1.0,
            "control, since the test has ended",
        )
        caller.tell(before["choice"], 60.0, "checkout")
        said = caller.get(f"{CHECKOUT}/verdict").json()
        assert (said["decided"], said["verdicts"][0]["word"]) == (True, "worse")
        assert said["ended"] == found
        # other shares begin a new test, in which nobody is counted yet
        new = caller.patch(CHECKOUT, json={"test": {"shares": {"control": 1, "canary": 1}}}).raise_for_status().json()
        assert (new["test"]["ended"], new["test"]["since"] > found["last"]) == (None, True)
        assert sum(group["decisions"] for group in caller.get(f"{CHECKOUT}/verdict").json()["groups"]) == 0


def test_what_is_late_or_lost_is_said_and_withholds_the_verdict_where_groups_differ(calling):
    rng = np.random.default_rng(3)
    with calling() as caller:
        caller.post("/v1/experiments", json=checkout(test={"stop": True})).raise_for_status()
        waiting = [caller.ask("checkout", person=f"w{k}")["choice"] for k in range(40)]
        live(caller, 1_500, rng, slower=1.6, tell=lambda arm, ms: arm == "control" or ms < 120)
        said = caller.get(f"{CHECKOUT}/verdict").json()
        assert said["verdicts"][0]["word"] == "not yet"
        assert any(one.startswith("Outcomes are lost more often in one group") for one in said["notes"])
        assert any("still wait for their outcome" in one for one in said["notes"])
        assert sum(group["waiting"] for group in said["groups"]) == len(waiting)
        assert all(group["lost"] == 0 for group in said["groups"] if group["name"] == "control")
        assert caller.get(CHECKOUT).json()["test"]["ended"] is None


def test_an_arm_without_outcomes_is_not_decided_and_one_person_is_no_group(calling):
    shares, rng = {"control": 1, "canary": 1, "third": 1}, np.random.default_rng(8)
    with calling() as caller:
        body = checkout(arms=list(shares), test={"shares": shares})
        caller.post("/v1/experiments", json=body).raise_for_status()
        for person in ("p1", "p2", "p3", "p4", "p5", "p6"):  # each comes twice, and only one of each arm is told
            for _ in range(2):
                answer = caller.ask("checkout", person=person)
                if person in ("p1", "p2", "p3"):
                    caller.tell(answer["choice"], 50.0, "checkout")
        first = caller.get(f"{CHECKOUT}/verdict").raise_for_status().json()
        live(caller, 900, rng, slower=2.5, tell=lambda arm, _: None if arm == "third" else True)
        found = caller.get(f"{CHECKOUT}/verdict").raise_for_status().json()
        caller.delete(f"{CHECKOUT}/arms/control").raise_for_status()
        after = caller.get(f"{CHECKOUT}/verdict").raise_for_status().json()
    assert "too few outcomes" in first["summary"]
    assert "'control' is out of play: others are compared with 'canary'." in after["notes"]
    assert ([one["word"] for one in found["verdicts"]], found["decided"]) == (["worse"], False)


def test_a_guardrail_that_breaks_ends_a_test_of_two(calling):
    limit = {"preference": "p90", "at_most": 150.0}
    rng = np.random.default_rng(4)
    with calling() as caller:
        settings = checkout(policy={"type": "NPTS", "guardrails": [limit]}, rewards=BOUNDS)
        caller.post("/v1/experiments", json=settings).raise_for_status()
        live(caller, 900, rng, slower=3.0, tell=lambda arm, ms: ms < 1e4)
        found = caller.get(CHECKOUT).json()["test"]["ended"]
        assert (found["arm"], found["why"]) == ("control", "The other arms went out of play.")
        assert {"guardrail", "end of test"} <= {one["action"] for one in caller.get("/v1/audit").json()}
        assert {caller.ask("checkout", person=f"p{k}")["arm"] for k in range(30)} == {"control"}
        assert caller.get(f"{CHECKOUT}/verdict").json()["ended"] == found


def test_a_bandit_has_a_verdict_and_a_control_share_with_exact_propensities(calling):
    rng = np.random.default_rng(5)
    with calling() as caller:
        caller.create("menu", arms=["old", "new"], policy={"type": "NPTS", "floor": {"old": 0.2}},
                      preference={"name": "mean"}, test={"control": "old"})  # fmt: skip
        seen = Counter()
        for _ in range(200):
            answer = caller.ask("menu")
            seen[answer["arm"]] += 1
            assert answer["propensity"] >= (0.2 if answer["arm"] == "old" else 0.0)
            caller.tell(answer["choice"], float(rng.uniform(0, 5) + (40 if answer["arm"] == "new" else 0)), "menu")
        assert 15 <= seen["old"] <= 90  # of some 160 good draws, a fifth
        said = caller.get("/v1/experiments/menu/verdict").raise_for_status().json()
        assert [(one["group"], one["control"], one["word"]) for one in said["verdicts"]] == [("new", "old", "better")]
        assert said["verdicts"][0]["promise"] == "proven"


NO_TESTS = [
    ({"test": {"shares": {"control": 1, "canry": 1}}}, "shares name every group once"),
    ({"test": {"shares": {"control": 1, "canary": 0}}}, "greater than 0"),
    ({"test": {"control": "cntrol"}}, "the control is one of the arms"),
    ({"test": {"no_worse_than": "-5%"}}, "so it is above 0"),
    ({"test": {"by": "p100"}}, "a percentile lies above 0 and below 100"),
    ({"test": {"by": "mean"}}, "without bounds of the outcomes"),
    ({"test": {"shres": {"control": 1}, "shares": None}}, "test.shres"),
    ({"test": {"shares": None}}, "a test has fixed 'shares', or a policy decides; got neither"),
    ({"preference": None}, "a policy needs a preference; got none"),
    ({"test": {"since": 3}}, "a new test begins with its first decision"),
    ({"apprentice": True}, "a test compares arms that it chooses itself"),
    ({"arms": ["control"]}, "a test compares 2 to 50 arms"),
    ({"policy": {"type": "NPTS", "floor": {"contrl": 0.1}}}, "a floor names arms of the experiment"),
    ({"policy": {"type": "NPTS", "floor": {"control": 1.5}}, "rewards": BOUNDS}, "floor must lie in (0, 1)"),
]


def test_what_is_no_test_is_refused(calling):
    with calling() as caller:
        for more, sentence in NO_TESTS:
            refused = caller.post("/v1/experiments", json=checkout(**more))
            assert refused.status_code == 422
            assert sentence in refused.json()["error"]
        assert caller.get("/v1/experiments").json() == []


def test_calls_that_do_not_fit_a_test_are_refused(calling):
    with calling() as caller:
        caller.post("/v1/experiments", json=checkout()).raise_for_status()
        for method, path, body, status, sentence in (
            ("POST", f"{CHECKOUT}/decide", {"allowed": ["control"]}, 422, "chooses among all its arms"),
            ("POST", f"{CHECKOUT}/arms", {"name": "third"}, 409, "keeps its arms"),
            ("PATCH", CHECKOUT, {"test": {"shares": {"control": 1, "third": 1}}}, 422, "shares name every group once"),
        ):
            refused = caller.request(method, path, json=body)
            assert (refused.status_code, sentence in refused.json()["error"]) == (status, True), refused.text
        body = checkout(test={"shares": None}, policy={"type": "NPTS"}, rewards=BOUNDS, name="many")
        caller.post("/v1/experiments", json={**body, "arms": [f"a{k}" for k in range(50)]}).raise_for_status()
        refused = caller.post("/v1/experiments/many/arms", json={"name": "one more"})
        assert (refused.status_code, "50 arms at most" in refused.json()["error"]) == (422, True)
        caller.create()
        assert caller.patch("/v1/experiments/routes", json={"test": {"stop": True}}).status_code == 422


def test_the_page_of_a_test_begins_with_its_verdict(calling):
    rng = np.random.default_rng(6)
    with calling() as caller:
        caller.post("/v1/experiments", json=checkout(test={"stop": True})).raise_for_status()
        caller.post("/sign-in", data={"key": caller.key})
        assert "No verdict yet" in caller.get("/experiments/checkout").text
        caller.ask("checkout", person="waits")
        live(caller, 1_000, rng, slower=2.0)
        ended(caller)
        caller.dashboard._tracked["checkout"].at = -math.inf
        page = caller.get("/experiments/checkout").text
    assert "a test with fixed shares · goes by percentile 90" in page
    assert "is worse than &#34;control&#34; by percentile 90" in page
    assert "The test has ended:</b> everybody gets" in page
    assert "Decisions that still wait for their outcome" in page


def test_the_lines_of_the_canary_page_run_as_they_stand(caller, capsys):
    page = (Path(__file__).parents[2] / "docs" / "canary.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```python\n(.*?)^```", page.partition("## In the service")[2], re.MULTILINE | re.DOTALL)
    rng = np.random.default_rng(7)
    names = {}
    lines = lines.replace("http://127.0.0.1:8420", str(caller.base_url)).replace(
        "the key that you were given", caller.key
    )
    exec(lines, names)
    assert "No verdict yet" in capsys.readouterr().out
    names["answer"]("ada")
    live(caller, 750, rng, slower=2.5)
    assert '"canary" is worse than "control" by percentile 90' in names["service"].verdict("checkout")["summary"]
    assert ended(caller)["arm"] == "control"
    changed = names["service"].change("checkout", test={"shares": {"control": 3, "canary": 1}, "stop": False})
    assert (changed["test"]["stop"], changed["test"]["ended"]) == (False, None)
    names["service"].close()
