"""One process serves an experiment."""

from __future__ import annotations

import pytest

from allais.serve.database import Database
from allais.serve.ownership import Ownership


def test_a_second_service_on_the_same_experiment_is_refused_with_a_sentence(caller, database):
    second = Ownership(other := Database(database))
    refusal = pytest.raises(ValueError, match=r"'routes' is served by another\. Close it there first")
    with other.connect() as connection, refusal:
        second.take(connection, caller.service.experiments["routes"].id, "routes")
    other.dispose()


def test_processes_share_a_database_when_each_has_experiments_of_its_own(calling):
    with calling(only=["routes"]) as first:
        first.create()
        with calling(only=["trains"]) as second:
            second.create("trains")
            first.tell(first.ask()["choice"], 7.0)
            second.tell(second.ask("trains")["choice"], 7.0, "trains")
            elsewhere = second.post("/v1/experiments/routes/decide", json={})
            assert (elsewhere.status_code, "not served by this one" in elsewhere.json()["error"]) == (421, True)
            assert second.post("/v1/experiments", json={"name": "boats"}).status_code == 422


def test_an_experiment_is_free_again_when_its_service_has_ended(calling):
    with calling() as first:
        first.create()
    with calling() as second:
        assert [one["name"] for one in second.get("/v1/experiments").json()] == ["routes"]
