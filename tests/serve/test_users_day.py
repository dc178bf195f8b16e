"""A user's day over HTTP against a plain model: counts, outcomes, states and directions are what they should be."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from allais import Preference, cvar, expected_value
from tests.serve.day import EXPIRES, Application, ClockedServer, World

DAY = 86_400.0

PEOPLE = {  # each with a direction and a reference of her own, which belong to the experiment
    "joe": {"preference": {"name": "expected_value"}},
    "mia": {"preference": {"name": "expected_value", "costs": True, "reference": 80}, "unit": "minutes"},
    "ann": {"preference": {"name": "tversky_kahneman"}, "unit": "euros"},
    "bob": {"preference": {"name": "tversky_kahneman", "costs": True, "reference": 5}},
    "eve": {"preference": {"name": "cvar", "level": 0.1}},
}


def frames(**frame):
    """How each of them values an experiment."""
    mean, prospects = expected_value(**frame), Preference.tversky_kahneman(**frame)
    worst = cvar(0.1, **frame)
    return {None: mean, "joe": mean, "mia": mean, "ann": prospects, "bob": prospects, "eve": worst}


FRAMES = {"to-work": frames(reference=25.0, costs=True), "offers": frames()}


def between(low: float, high: float):
    return lambda rng: rng.uniform(low, high)


def rarely(outcome: float, chance: float, otherwise):
    def draw(rng: random.Random) -> float:
        return outcome if rng.random() < chance else otherwise(rng)

    return draw


def worlds() -> list[World]:
    """Minutes, less is better; and euros, more is better. The mean and the cautious part ways in both."""
    to_work = {
        "car": rarely(55.0, 0.08, between(11, 13)), "bus": between(19, 23), "walk": between(38, 42),
        "tram": between(6, 8),
    }  # fmt: skip
    offers = {
        "discount": between(0.5, 1.5), "gamble": rarely(20.0, 0.5, lambda rng: -10.0), "fee": between(-4, -3),
        "gift": between(30, 32),
    }  # fmt: skip
    return [
        World("to-work", to_work, {"car", "bus", "walk"}),
        World("offers", offers, {"discount", "gamble", "fee"}),
    ]


BEST = {"to-work": {None: "car", "joe": "car", "mia": "car", "ann": "bus", "bob": "bus", "eve": "bus"},
        "offers": {None: "gamble", "joe": "gamble", "mia": "gamble", "ann": "discount", "bob": "discount",
                   "eve": "discount"}}  # fmt: skip
LATER = {"to-work": "tram", "offers": "gift"}  # for everybody, once it is there


def begun(app: Application) -> None:
    for name, world in app.worlds.items():
        body = {
            "name": name, "policy": {"type": "NPTS"}, "arms": sorted(world.in_play), "seed": 1,
            "preference": {"name": "expected_value", **({"costs": True, "reference": 25} if name == "to-work" else {})},
            "rewards": {"type": "Bounded", "low": 0.0 if name == "to-work" else -20.0, "high": 60.0},
            "unit": "minutes" if name == "to-work" else "euros", "expires_after": EXPIRES,
        }  # fmt: skip
        assert app.client.post("/v1/experiments", json=body).status_code == 201
    for person, body in PEOPLE.items():
        app.client.put(f"/v1/people/{person}", json=body).raise_for_status()


def compare(app: Application) -> None:
    """The service against the model: every decision, every count, every value, every recommendation."""
    for name, world in app.worlds.items():
        assert app.exported(world) == world.decisions
        shown = app.read(world)
        assert shown["open_decisions"] == len(world.open())
        told = {arm: len(world.outcomes(arm)) for arm in world.draw}
        assert {arm["name"]: arm["outcomes"] for arm in shown["arms"]} == {
            arm: told[arm] for arm in (entry["name"] for entry in shown["arms"])
        }
        assert shown["outcomes"] == sum(told.values())
        assert {arm["name"] for arm in shown["arms"] if arm["in_play"]} == world.in_play
        for person, preference in FRAMES[name].items():
            values = app.read(world, "/value", person)
            mine = {arm: preference.estimate(world.outcomes(arm)) for arm in told if told[arm]}
            given = {arm["name"]: arm["value"] for arm in values["arms"] if arm["value"] is not None}
            assert given == pytest.approx(mine, rel=1e-9, abs=1e-9), (name, person)
            best = max(world.in_play & mine.keys(), key=mine.__getitem__)
            assert values["best"] == best
            assert app.read(world, "/recommend", person)["arm"] == best


def shares(world: World, since: int) -> dict[str | None, Counter[str]]:
    """Where each person was sent after a decision."""
    found: dict[str | None, Counter[str]] = {}
    for number, one in world.decisions.items():
        if number > since and not one.key.startswith("flood"):
            found.setdefault(one.person, Counter())[one.arm] += 1
    return found


@pytest.mark.slow
def test_a_day_with_late_lost_repeated_and_wrong_rewards_a_kill_and_clocks_that_jump(tmp_path: Path):
    server = ClockedServer(tmp_path)
    app = Application(server, worlds(), [None, *PEOPLE], seed=1)
    try:
        begun(app)
        app.unlucky = {("to-work", "car"): 3, ("offers", "gamble"): 3}  # the best arms' first rewards get lost
        app.live(400)
        marks = {name: max(world.decisions) for name, world in app.worlds.items()}
        app.live(400)
        compare(app)
        for name, world in app.worlds.items():  # everybody goes her own way, whatever her file says about costs
            for person, went in shares(world, marks[name]).items():
                assert went.most_common(1)[0][0] == BEST[name][person], (name, person, went)
            assert all(world.outcomes(arm) for arm in world.in_play), "an arm was starved"

        offers, to_work = app.worlds["offers"], app.worlds["to-work"]
        app.flood(offers, 600)  # more than the service looks at in one go
        server.move(set_ahead=-DAY)
        app.live(80)
        app.killed()
        compare(app)
        server.move(set_ahead=3.0 * DAY)
        app.live(80)
        compare(app)  # nothing has expired: no time has passed

        for world in app.worlds.values():  # an arm comes, another one goes; its late rewards still count
            new, old = LATER[world.name], "walk" if world is to_work else "fee"
            app.client.post(f"/v1/experiments/{world.name}/arms", json={"name": new}).raise_for_status()
            app.client.delete(f"/v1/experiments/{world.name}/arms/{old}").raise_for_status()
            world.in_play = (world.in_play | {new}) - {old}
            app.wrong(422, world.name, "decide", {"allowed": [old]})
            app.unlucky[world.name, new] = 2
        app.live(200)
        server.move(passed=1.5 * EXPIRES)
        app.expired()
        compare(app)

        server.move(set_ahead=-DAY)
        marks = {name: max(world.decisions) for name, world in app.worlds.items()}
        wide = {"rewards": {"type": "Bounded", "low": 0.0, "high": 90.0}}
        app.client.patch("/v1/experiments/to-work", json=wide).raise_for_status()
        to_work.draw["bus"] = rarely(80.0, 0.1, between(19, 23))  # which was refused before
        app.live(300)
        app.killed()
        compare(app)
        for name, world in app.worlds.items():
            for person, went in shares(world, marks[name]).items():
                assert went.most_common(1)[0][0] == LATER[name], (name, person, went)
        server.move(passed=1.5 * EXPIRES)  # the clock of the day is behind, and time passes all the same
        app.expired()
        compare(app)
        assert all(app.refused[status] for status in (404, 409, 410, 422))
        states = Counter(one.state for world in app.worlds.values() for one in world.decisions.values())
        assert all(states[state] > 40 for state in ("told", "cancelled", "expired")), states
    finally:
        app.client.close()
        server.kill()
