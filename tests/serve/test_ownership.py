"""One process serves an experiment."""

from __future__ import annotations

import threading
import time

import pytest

from allais.serve.core.errors import Refused
from allais.serve.store.database import Database, Ownership


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


def test_a_start_waits_for_the_session_of_a_process_that_was_just_killed(postgres):
    address = postgres.make("advisor_patient")
    killed, ours = Database(address), Database(address)
    with killed.connect() as dying, ours.connect() as connection:
        Ownership(killed).take(dying, 1, "routes")
        ends = threading.Timer(0.5, dying.invalidate)
        ends.start()
        patient = Ownership(ours)
        patient.take(connection, 1, "routes", patience=60.0)
        assert patient.owns(1)
        ends.join()
    killed.dispose()
    ours.dispose()


def test_a_lost_session_of_ours_is_ended_and_that_of_others_is_not(postgres):
    address = postgres.make("advisor_lost")
    ours, theirs = Database(address), Database(address)
    ownership = Ownership(ours)
    with ours.connect() as lost, ours.connect() as fresh, theirs.connect() as other:
        ownership.take(lost, 1, "routes")
        with pytest.raises(Refused, match="has not ended yet"):
            ownership.take_again(fresh)
        while True:  # until PostgreSQL has ended it
            try:
                ownership.take_again(fresh)
                break
            except Refused:
                time.sleep(0.05)
        assert ownership.owns(1)
        with pytest.raises(ValueError, match="served by another"):
            Ownership(theirs).take(other, 1, "routes")
        lost.invalidate()
    ownership = Ownership(ours)
    with ours.connect() as lost, ours.connect() as fresh, theirs.connect() as other:
        ownership.take(lost, 2, "trains")
        lost.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        Ownership(theirs).take(other, 2, "trains")
        ownership.take_again(fresh)
        assert not ownership.owns(2)
    ours.dispose()
    theirs.dispose()
