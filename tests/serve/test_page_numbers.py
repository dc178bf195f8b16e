"""The numbers behind the pages: values, counts in bounded memory, and a past that survives a restart."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import insert

from allais import NPTS, Bounded, Preference, TverskyKahneman
from allais.serve.database import Database
from allais.serve.pages.history import History
from allais.serve.pages.spread import redrawn, values_of
from allais.serve.pages.traffic import MOST_ARMS, MOST_BUCKETS, MOST_TASTES, OTHER_ARMS, OTHERS, Traffic
from allais.serve.tables import decisions, experiments, people, preferences

PREFERENCE = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=4.0, costs=True)


def told(n=500):
    learner = NPTS(PREFERENCE, Bounded(0, 20)).start(["a", "b"], seed=1)
    learner.observe("a", np.random.default_rng(1).uniform(0, 20, n))
    return learner


def test_redrawn_values_are_those_of_the_learner():
    learner = told()
    outcomes, counts = learner.outcomes("a")
    felt = np.sort(PREFERENCE.felt(outcomes))
    assert counts.max() == 1
    exact = values_of(PREFERENCE, felt, np.full((1, 500), 1 / 500))[0]
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
    assert len({taste for taste, _ in cells} - {OTHERS}) <= MOST_TASTES
    assert len({arm for _, arm in cells} - {OTHER_ARMS}) <= MOST_ARMS
    assert cells[OTHERS, OTHER_ARMS] > 0
    again = Traffic(1)
    again.catch_up(stored)
    assert [bucket.total() for bucket in again.buckets] == [bucket.total() for bucket in traffic.buckets]


def test_the_past_is_read_again_after_a_restart(stored):
    rng = np.random.default_rng(1)
    stored.execute(insert(decisions), [decided(n, "ab"[n % 2], outcome=rng.uniform(0, 20)) for n in range(1, 301)])
    history = History()
    history.recall(stored, told(), 1)
    assert history.moments[-1].outcomes == 300
    assert 10 < len(history.moments) < 30
    first, last = (moment.sure["a"] for moment in (history.moments[4], history.moments[-1]))
    assert last.high - last.low < first.high - first.low
    assert not history.is_due(301)
    assert history.is_due(331)


def test_a_page_counts_alike_on_both_databases(caller):
    caller.put("/v1/people/ann", json={"preference": {"name": "expected_value"}}).raise_for_status()
    for k in range(150):  # more than there are buckets
        caller.tell(caller.ask(person="ann" if k % 3 else None)["choice"], 7.0)
    caller.post("/sign-in", data={"key": caller.key})
    page = caller.get("/experiments/routes").text
    assert "1 person, 100 decisions" in page
    assert "the experiment's own, 50 decisions" in page
