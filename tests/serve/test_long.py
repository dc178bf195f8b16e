"""What takes long keeps nobody else waiting: it is done by a thread, many at a time, or not at all."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice

import pytest

from allais.serve.core import experiment, interviews
from allais.serve.core.errors import Refused
from allais.serve.store import tables
from tests.serve.conftest import ROUTES
from tests.serve.events import goes_on_alike, rows_of

URL, OTHER = "/v1/experiments/routes", "/v1/experiments/other"
RANK = f"{URL}/personalizer/v1.0/rank"
LINEAR = {
    "policy": {"type": "LinTS", "noise": {"type": "AdditiveNoise", "lottery": {"type": "Normal", "mean": 0, "sd": 1}}},
    "preference": {"name": "expected_value"}, "rewards": None, "arms": ["soup", "pasta"],
    "terms": [f"f{k}" for k in range(200)],
}  # fmt: skip


@pytest.fixture
def database(tmp_path):
    """One kind is enough: threads and rows are the same on both."""
    return str(tmp_path / "advisor.db")


@pytest.fixture
def held(caller, monkeypatch):
    """Imports of `routes` that wait for a word: how many began, and the word."""
    began, word = threading.Semaphore(0), threading.Event()
    check = caller.service.experiments["routes"].check

    def waiting(*given):
        began.release()
        assert word.wait(60)
        return check(*given)

    monkeypatch.setattr(caller.service.experiments["routes"], "check", waiting)
    with ThreadPoolExecutor(20) as threads:
        yield began, word, threads
        word.set()


def imported(caller, key="x"):
    return caller.post(f"{URL}/import", json={"arms": ["A21"] * 3, "outcomes": [7.0] * 3, "key": key})


def actions(many, first=0):
    return {"actions": [{"id": f"a{k}"} for k in range(first, first + many)]}


def test_new_actions_come_at_once_up_to_as_many_as_an_experiment_may_have(calling, database, monkeypatch):
    monkeypatch.setattr(experiment, "MOST_ARMS", 1_502)
    with calling() as caller:
        caller.create()
        answer = caller.post(RANK, json=actions(1_500))
        assert answer.status_code == 201
        assert len(answer.json()["ranking"]) == 1_500
        bodies = [json.loads(row.body) for row in rows_of(database, tables.events)]
        assert [next(iter(body)) for body in bodies] == ["add all", "ask"]  # one event for all of them
        listed = {row.name: row.position for row in rows_of(database, tables.arms)}
        assert (len(listed), listed["a0"], listed["a1499"]) == (1_502, 2, 1_501)
        for one in (actions(1, 1_500), {"actions": [{"id": "b"}, {"id": "c"}]}):
            refused = caller.post(RANK, json=one)
            assert (refused.status_code, "1,502 arms at most" in refused.json()["error"]) == (422, True)
        refused = caller.post(f"{URL}/arms", json={"name": "b"})
        assert (refused.status_code, "1,502 arms at most" in refused.json()["error"]) == (422, True)
    with calling() as caller:
        assert len(caller.get(URL).json()["arms"]) == 1_502


def test_a_killed_server_goes_on_alike_after_many_arms_came(calling, database):
    with calling() as caller:
        caller.create()
        caller.post(RANK, json=actions(30)).raise_for_status()
        for step in range(40):
            caller.tell(caller.ask()["choice"], float(step))
        caller.post(RANK, json=actions(30, first=20)).raise_for_status()
    with calling() as caller:
        goes_on_alike(caller, database, ROUTES)


def test_a_long_change_holds_calls_of_its_experiment_and_no_others(caller, held):
    began, word, threads = held
    caller.create("other")
    before = caller.ask()
    change = threads.submit(imported, caller)
    assert began.acquire(timeout=60)
    for _ in range(20):  # the loop is free
        assert caller.post(f"{OTHER}/decide", json={}).status_code == 200
    assert caller.get("/ready").status_code == 200
    waiting = [
        threads.submit(caller.post, f"{URL}/decide", json={}),
        threads.submit(caller.post, f"{URL}/reward", json={"choice": before["choice"], "outcome": 7.0}),
        threads.submit(caller.get, URL),
        threads.submit(caller.get, f"{URL}/value"),
        threads.submit(caller.post, f"{URL}/arms", json={"name": "B7"}),
        threads.submit(imported, caller, "y"),
    ]
    for _ in range(20):
        assert caller.post(f"{OTHER}/decide", json={}).status_code == 200
    assert not any(one.done() for one in (change, *waiting))
    word.set()
    assert [one.result().status_code for one in (change, *waiting)] == [200] * 7
    assert caller.get(URL).json()["outcomes"] == 7


def test_a_long_change_that_the_database_did_not_see_is_refused_and_done_once(caller, held):
    began, word, threads = held
    change = threads.submit(imported, caller)
    assert began.acquire(timeout=60)
    caller.service.writer._loop.call_soon_threadsafe(caller.service.fail, OSError("the disk is gone"))
    while caller.get("/ready").status_code != 503 and not caller.service.failures:
        pass
    while caller.get("/ready").status_code != 200:
        pass
    word.set()
    assert change.result().status_code == 503
    assert caller.get(URL).json()["outcomes"] == 0
    assert imported(caller).json() == imported(caller).json() == {"imported": 3}
    assert caller.get(URL).json()["outcomes"] == 3


def test_a_decision_among_many_rows_of_many_terms_is_made_by_a_thread(caller, monkeypatch):
    caller.create("menu", **LINEAR)
    seen = []
    decide = caller.service.experiments["menu"].decide

    def noting(*given):
        seen.append(threading.current_thread().name)
        return decide(*given)

    monkeypatch.setattr(caller.service.experiments["menu"], "decide", noting)
    few, many = ({"features": {f"a{k}": {f"f{k % 200}": 1.0} for k in range(n)}} for n in (3, 500))
    numbers = [caller.ask("menu", **body)["choice"] for body in (few, many, few)]
    assert numbers == [1, 2, 3]
    assert ["long-changes" in name for name in seen] == [False, True, False]


def test_interviews_that_begin_at_once_leave_decisions_their_threads(caller, monkeypatch):
    word, most = threading.Event(), interviews.MOST_BEGINNINGS

    def waiting(settings):
        assert word.wait(60)
        raise Refused(422, "this was no interview.")

    monkeypatch.setattr(interviews, "_made", waiting)
    with ThreadPoolExecutor(60) as threads:
        begun = [threads.submit(caller.post, f"/v1/people/p{k}/interview", json={}) for k in range(60)]
        refused = [one.result() for one in islice(as_completed(begun), 60 - most)]  # at once, not in turn
        for k in range(10):
            assert caller.ask(key=f"trip-{k}")["choice"] == k + 1
        assert sum(one.done() for one in begun) == 60 - most
        word.set()
    assert {one.status_code for one in refused} == {503}
    assert {one.headers["Retry-After"] for one in refused} == {"2"}
    assert f"at most {most} interviews run at a time" in refused[0].json()["error"]
    assert sorted(one.result().status_code for one in begun) == [422] * most + [503] * (60 - most)
