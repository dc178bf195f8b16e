"""A conflict belongs to its caller: others do not notice."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from sqlalchemy import insert

from allais.serve.api.schemas import Decide, Import
from allais.serve.core import decisions, import_export, people
from allais.serve.core.errors import Refused
from allais.serve.core.keys import digest_of
from allais.serve.settings_file import ServerSettings
from allais.serve.store import tables
from allais.serve.store.database import Database
from tests.serve.conftest import ROUTES, Caller

AT_ONCE = 12


def in_loop(caller: Any, work: Any) -> Any:
    """What a coroutine gives that runs where the service does."""
    return asyncio.run_coroutine_threadsafe(work, caller.service.writer._loop).result()


@pytest.mark.parametrize("rounds", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_the_same_import_from_many_callers_at_once_counts_once_and_disturbs_nobody(caller, rounds):
    caller.create("bystander")
    key = caller.service.ring._keys[caller.key.split("_")[1]]

    async def one_round(number: int) -> list[Any]:
        call = Import(arms=["A21"], outcomes=[7.0], key=f"day-{number}")
        imports = [import_export.take_in(caller.service, "routes", call, key) for _ in range(AT_ONCE)]
        others = [decisions.decide(caller.service, "bystander", Decide()) for _ in range(3)]
        return await asyncio.gather(*imports, *others, return_exceptions=True)

    for number in range(rounds):
        answers = in_loop(caller, one_round(number))
        assert answers[:AT_ONCE] == [{"imported": 1}] * AT_ONCE
        assert all("choice" in one for one in answers[AT_ONCE:])
    assert caller.service.failures == 0
    assert caller.get("/v1/experiments/routes").json()["outcomes"] == rounds
    assert not caller.service._keyed


def test_the_same_import_over_http_is_answered_alike(caller):
    answers: list[tuple[int, Any]] = []
    body = {"arms": ["A21"], "outcomes": [7.0], "key": "monday"}

    def importing() -> None:
        answer = caller.post("/v1/experiments/routes/import", json=body)
        answers.append((answer.status_code, answer.json()))

    threads = [threading.Thread(target=importing) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(200, {"imported": 1})] * AT_ONCE


def test_a_preference_that_another_process_stores_at_the_same_moment_is_used(postgres, monkeypatch):
    """The other one stores it after ours has looked for it, and before ours has stored its own."""
    address = postgres.make("advisor_same_preference")
    with Caller(ServerSettings(database=address)) as caller:
        caller.create()
        other, seen, inserted = Database(address), dict[str, str](), people.insert

        def digesting(document: str) -> str:
            seen.update(digest=digest_of(document), document=document)
            return seen["digest"]

        def inserting(table: Any) -> Any:
            monkeypatch.setattr(people, "insert", inserted)
            with other.connect() as connection:
                connection.execute(inserted(table).values(seen))
                connection.commit()
            return inserted(table)

        monkeypatch.setattr(people, "digest_of", digesting)
        monkeypatch.setattr(people, "insert", inserting)
        put = caller.put("/v1/people/joe", json={"preference": {"name": "cvar", "level": 0.1}})
        other.dispose()
        assert put.status_code == 200
        assert people.insert is inserted
        assert caller.service.failures == 0
        assert caller.ask(person="joe")["choice"] == 1


def test_a_conflict_that_stays_is_refused_to_its_caller_alone(caller):
    def taken(connection: Any) -> None:
        connection.execute(insert(tables.experiments).values(name="routes", state="x", settings="{}", created_at=0.0))

    async def change() -> None:
        await caller.service.change(taken)

    with pytest.raises(Refused, match="came second") as refusal:
        in_loop(caller, change())
    assert refusal.value.status == 409
    assert caller.service.failures == 0
    assert caller.ask()["choice"] == 1


def test_one_of_two_processes_gets_a_name_and_the_other_is_told(calling):
    ours, theirs = calling(only=["a", "boats"]), calling(only=["b", "boats"])
    with ours as first, theirs as second:
        for one in (first, second):  # FastAPI makes its routes at the first call, and changes filters of warnings then,
            assert one.post("/v1/experiments", json={}).status_code == 422  # which two threads of one process share
        answers: list[int] = []

        def create(caller: Any) -> None:
            answers.append(caller.post("/v1/experiments", json={"name": "boats", **ROUTES}).status_code)

        threads = [threading.Thread(target=create, args=(one,)) for one in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [201, 409]
        assert first.service.failures == second.service.failures == 0
