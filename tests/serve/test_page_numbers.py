"""The numbers behind the pages: values, counts in bounded memory, and a past that survives a restart."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sqlalchemy import insert

from allais import NPTS, Bounded, Preference, TverskyKahneman
from allais.serve.dashboard.dashboard_state import MOST_WORK
from allais.serve.dashboard.history import (
    MOST_BUCKETS,
    MOST_COUNTED_ARMS,
    MOST_PREFERENCES,
    OTHER_ARMS,
    OTHERS,
    History,
    Traffic,
    redrawn,
)
from allais.serve.dashboard.view_model import gather
from allais.serve.store.database import Database
from allais.serve.store.tables import decisions, experiments, moments, people, preferences
from tests.serve.events import rows_of
from tests.serve.test_features import MENU

PREFERENCE = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=4.0, costs=True)


def told(n=500):
    learner = NPTS(PREFERENCE, Bounded(0, 20)).start(["a", "b"], seed=1)
    learner.observe("a", np.random.default_rng(1).uniform(0, 20, n))
    return learner


def test_redrawn_values_are_those_of_the_learner():
    learner = told()
    outcomes, counts = learner.outcomes("a")
    exact = PREFERENCE.values(outcomes, [counts])[0]
    assert exact == pytest.approx(learner.value()["a"], abs=1e-9)
    low, value, high = redrawn(learner, "a")
    assert value == pytest.approx(exact, abs=0.02)  # neighbours share a place
    assert low < value < high
    wider = redrawn(told(50), "a")
    assert wider.high - wider.low > 2 * (high - low)  # the square root of ten, by fixed draws


@pytest.fixture
def stored(tmp_path):
    database = Database(str(tmp_path / "advisor.db"))
    database.migrate()
    with database.connect() as connection:
        connection.execute(insert(experiments).values(id=1, name="e", state="running", settings="{}", created_at=0.0))
        yield connection
    database.dispose()


def decided(number, arm, person=None, outcome=None):
    return {
        "experiment": 1, "number": number, "arm": arm, "person": person, "asked_at": 0.0,
        "state": "open" if outcome is None else "told", "outcome": outcome,
    }  # fmt: skip


def test_traffic_is_counted_once_in_bounded_memory(stored):
    for k in range(40):
        stored.execute(insert(preferences).values(id=k + 1, digest=str(k), document="{}"))
        stored.execute(insert(people).values(name=f"p{k}", preference=k + 1, source="x", changed_at=0.0))
    traffic, written = Traffic(1), 0
    for step in (50, 1_000, 3_000):
        rows = [decided(n, f"arm {n % 60}", f"p{n % 41}") for n in range(written + 1, written + step + 1)]
        stored.execute(insert(decisions), rows)
        written += step
        traffic.catch_up(stored)
        traffic.catch_up(stored)
        assert traffic.total().total() == written
        assert len(traffic.buckets) <= MOST_BUCKETS
    cells = traffic.total()
    assert len({taste for taste, _ in cells} - {OTHERS}) <= MOST_PREFERENCES
    assert len({arm for _, arm in cells} - {OTHER_ARMS}) <= MOST_COUNTED_ARMS
    assert cells[OTHERS, OTHER_ARMS] > 0
    again = Traffic(1)
    again.catch_up(stored)
    assert [bucket.total() for bucket in again.buckets] == [bucket.total() for bucket in traffic.buckets]


def test_a_moment_is_due_when_outcomes_have_grown_by_a_tenth():
    history = History()
    assert not history.is_due(1)
    history.look(told(300), 300)
    assert not history.is_due(329)
    assert history.is_due(330)


def test_how_values_closed_survives_a_restart(calling, database):
    def seen(client):
        tracked = client.dashboard._tracked.get("routes")
        return [] if tracked is None else list(tracked.history.moments)

    with calling() as caller:
        caller.create()
        for step, many in enumerate((20, 200, 2_000), start=1):
            history = {"arms": ["A21"] * many, "outcomes": [50.0 * (k % 7) / 6 for k in range(many)]}
            caller.post("/v1/experiments/routes/import", json=history).raise_for_status()
            while len(rows_of(database, moments)) < step:
                time.sleep(0.05)
        before = seen(caller)
        assert [one.outcomes for one in before] == [20, 220, 2_220]
        widths = [one.sure["A21"].high - one.sure["A21"].low for one in before]
        assert widths == sorted(widths, reverse=True)
    with calling() as caller:
        while len(seen(caller)) < 3:
            time.sleep(0.05)
        assert seen(caller) == before


def test_a_page_of_features_has_values_and_makes_no_claim_about_what_depends_on_the_moment(caller):
    caller.create("menu", **MENU)
    for step in range(20):
        answer = caller.ask("menu", context={"weather": "rain" if step % 2 else "sun"})
        caller.tell(answer["choice"], 4.0 if answer["arm"] == "pasta" else 8.0 * (step % 2), "menu")
    caller.post("/sign-in", data={"key": caller.key})
    page = caller.get("/experiments/menu").text
    assert "at a moment without features" in page
    assert page.count("<circle") == 2
    assert "Lost so far" not in page
    assert "The mean would choose" not in page


def test_a_page_that_takes_long_is_worked_out_seldom(caller, monkeypatch):
    def slowly(*arguments, **named):
        time.sleep(0.2)
        return gather(*arguments, **named)

    monkeypatch.setattr("allais.serve.dashboard.dashboard_state.gather", slowly)
    caller.post("/sign-in", data={"key": caller.key})
    caller.get("/experiments/routes").raise_for_status()
    assert caller.dashboard._tracked["routes"].lasts >= 0.2 / MOST_WORK


def test_an_arm_that_nobody_saw_is_shown(caller):
    caller.tell(caller.ask(allowed=["A28"])["choice"], 7.0)
    caller.post("/sign-in", data={"key": caller.key})
    page = caller.get("/experiments/routes").text
    assert "1 outcome<" in page
    assert "0 outcomes<" in page
    assert "not drawn" not in page


def test_a_page_counts_alike_on_both_databases(caller):
    caller.put("/v1/people/ann", json={"preference": {"name": "expected_value"}}).raise_for_status()
    for k in range(150):  # more than there are buckets
        caller.tell(caller.ask(person="ann" if k % 3 else None)["choice"], 7.0)
    caller.post("/sign-in", data={"key": caller.key})
    page = caller.get("/experiments/routes").text
    assert "1 person, 100 decisions" in page
    assert "the experiment's own, 50 decisions" in page


def test_an_arm_whose_rewards_never_come_is_tried_again_and_the_page_says_what_it_waits_for(caller):
    tried = 0
    for _ in range(100):
        choice = caller.ask()
        if choice["arm"] == "A21":
            tried += 1
        else:
            caller.tell(choice["choice"], 7.0)
    assert tried >= 4
    caller.post("/sign-in", data={"key": caller.key})
    page = caller.get("/experiments/routes").text
    assert f"&#34;A21&#34; has 0 outcomes, {tried} waiting: what has none is tried again" in page
