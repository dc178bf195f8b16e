"""Decide, reward, cancel: what is answered, what is repeated, what is refused."""

from __future__ import annotations

from allais import NPTS, Bounded, Preference, TverskyKahneman
from allais.serve.core.parse_settings import DRAWS


def test_the_service_chooses_as_a_learner_does(caller):
    learner = NPTS(Preference(TverskyKahneman(0.61)), Bounded(0, 50), draws=DRAWS).start(["A21", "A28"], seed=1)
    for outcome in (50.0, 7.0, 0.0, 7.0, 0.0, 7.0, 50.0, 7.0):
        expected, answer = learner.ask(), caller.ask()
        assert (answer["choice"], answer["arm"]) == expected
        learner.tell(expected, outcome)
        assert caller.tell(answer["choice"], outcome)["state"] == "told"


def test_rewards_come_late_and_in_any_order(caller):
    choices = [caller.ask()["choice"] for _ in range(4)]
    for number in reversed(choices):
        caller.tell(number, float(number))
    assert caller.get("/v1/experiments/routes").json()["outcomes"] == 4


def test_a_repeated_reward_is_answered_as_the_first_and_counts_once(caller):
    number = caller.ask()["choice"]
    first = caller.tell(number, 7.0, key="visit-1")
    assert caller.tell(number, 7.0, key="visit-1") == first
    assert caller.get("/v1/experiments/routes").json()["outcomes"] == 1
    other = caller.post("/v1/experiments/routes/reward", json={"choice": number, "outcome": 8.0})
    assert other.status_code == 409
    assert "told 7" in other.json()["error"]


def test_a_repeated_decide_gets_the_same_choice(caller):
    first = caller.ask(key="visit-1", person="alice")
    assert caller.ask(key="visit-1", person="alice") == first
    assert caller.ask(key="visit-2", person="alice")["choice"] == first["choice"] + 1


def test_a_cancelled_choice_counts_for_nothing(caller):
    number = caller.ask()["choice"]
    first = caller.post("/v1/experiments/routes/cancel", json={"choice": number})
    assert first.json()["state"] == "cancelled"
    assert caller.post("/v1/experiments/routes/cancel", json={"choice": number}).json() == first.json()
    late = caller.post("/v1/experiments/routes/reward", json={"choice": number, "outcome": 7.0})
    assert (late.status_code, "was cancelled" in late.json()["error"]) == (409, True)


def test_only_allowed_arms_are_chosen_and_the_others_stay_in_play(caller):
    for _ in range(5):
        answer = caller.ask(allowed=["A28"])
        assert answer["arm"] == "A28"
        caller.tell(answer["choice"], 7.0)
    assert caller.ask()["arm"] == "A21"  # never seen
    assert [arm["in_play"] for arm in caller.get("/v1/experiments/routes").json()["arms"]] == [True, True]


def test_every_choice_has_its_exact_propensity(caller):
    policies = {"WUCB": {"type": "WUCB"}, "EXP3": {"type": "EXP3"}, "NPTS": {"type": "NPTS"}}
    for name, policy in policies.items():
        more = {"preference": None} if name == "EXP3" else {}
        caller.create(name, policy=policy, **more)
        history = {"arms": ["A21"] * 20 + ["A28"] * 20, "outcomes": [10.0, 30.0] * 10 + [12.0, 27.0] * 10}
        if name != "EXP3":
            caller.post(f"/v1/experiments/{name}/import", json=history).raise_for_status()
    assert caller.ask("WUCB")["propensity"] == 1.0
    assert caller.ask("EXP3")["propensity"] == 0.5
    found = [caller.ask("NPTS")["propensity"] for _ in range(10)]
    assert all(0.0 < one <= 1.0 and (DRAWS * one) % 1.0 == 0.0 for one in found)
    assert caller.get("/v1/experiments/NPTS").json()["policy"]["draws"] == DRAWS
    caller.create("few", policy={"type": "NPTS", "draws": 2, "floor": 0.1})
    caller.create("as-before", policy={"type": "NPTS"}, propensity_draws=200)  # a setting of version 0.2
    assert caller.get("/v1/experiments/as-before").json()["policy"]["draws"] == 200
    for _ in range(2):
        caller.ask("few")
    assert caller.ask("few")["propensity"] in (0.1, 0.5, 0.9)


def test_a_restarted_service_goes_on_as_one_that_was_never_stopped(calling):
    learner = NPTS(Preference(TverskyKahneman(0.61)), Bounded(0, 50), draws=DRAWS).start(["A21", "A28"], seed=1)
    for start in range(3):
        with calling() as caller:
            if not start:
                caller.create()
            for step in range(10):
                expected, answer = learner.ask(), caller.ask()
                assert (answer["choice"], answer["arm"]) == expected
                if step % 3:
                    learner.tell(expected, float(step))
                    caller.tell(answer["choice"], float(step))
            assert caller.get("/v1/experiments/routes").json()["open_decisions"] == 4 * (start + 1)
