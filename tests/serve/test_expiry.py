"""Decisions expire by the time that has passed, whatever happens to the clock of the machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from allais.serve.api.schemas import Decide
from allais.serve.core import decisions, keys
from tests.serve.conftest import Caller
from tests.serve.test_broken import change

DAY = 86_400.0
LASTS = 100.0


class Clocks:
    """The clock of the machine, which may jump, and the time that has passed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.jumped = self.passed = 0.0
        real, steady = time.time, keys.steady
        monkeypatch.setattr(time, "time", lambda: real() + self.jumped + self.passed)
        monkeypatch.setattr(keys, "steady", lambda: steady() + self.passed)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def ask(caller: Caller, many: int = 1) -> None:
    async def asking() -> None:
        await asyncio.gather(*(decisions.decide(caller.service, "routes", Decide()) for _ in range(many)))

    asyncio.run_coroutine_threadsafe(asking(), caller.service.writer._loop).result()


def waiting(caller: Caller) -> int:
    """How many decisions wait after those that are too old have expired."""
    service = caller.service
    expiring = service._expire(service.experiments["routes"])
    asyncio.run_coroutine_threadsafe(expiring, service.writer._loop).result()
    return len(service.experiments["routes"].open)


def test_later_decisions_expire_although_the_clock_was_set_back(calling: Callable[..., Caller], clocks: Clocks):
    with calling() as caller:
        caller.create(expires_after=LASTS)
        ask(caller, 600)  # more than are looked at in one go
        clocks.jumped = -DAY
        ask(caller, 3)
        clocks.passed = LASTS / 2
        assert waiting(caller) == 603
        ask(caller, 2)
        clocks.passed = LASTS + 1.0
        assert waiting(caller) == 2
        clocks.passed = 2.0 * LASTS
        assert waiting(caller) == 0


def test_a_clock_that_jumps_ahead_expires_nothing(calling: Callable[..., Caller], clocks: Clocks):
    with calling() as caller:
        caller.create(expires_after=LASTS)
        ask(caller, 5)
        clocks.jumped = DAY
        assert waiting(caller) == 5
        loop, again = caller.service.writer._loop, caller.service._load_all()  # as after a failure of the database
        asyncio.run_coroutine_threadsafe(again, loop).result()
        assert waiting(caller) == 5
        clocks.passed = LASTS + 1.0
        assert waiting(caller) == 0


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_that_was_lived_through_expires_nothing_after_a_restart(calling, clocks, jump):
    with calling() as caller:
        caller.create(expires_after=LASTS)
        ask(caller, 3)
        clocks.jumped = jump
        ask(caller)
    clocks.passed = LASTS / 2
    with calling() as again:
        assert waiting(again) == 4
        ask(again)
        clocks.passed = LASTS + 1.0
        assert waiting(again) == 1


def test_time_passes_while_no_process_runs(calling, clocks):
    with calling() as caller:
        caller.create(expires_after=LASTS)
        ask(caller, 3)
    clocks.passed = LASTS + 1.0
    with calling() as again:
        assert waiting(again) == 0


def test_open_decisions_of_older_versions_expire_in_the_order_of_their_numbers(calling, clocks, database):
    with calling() as caller:
        caller.create(expires_after=LASTS)
        ask(caller, 4)
    change(database, f"UPDATE decisions SET asked_at = asked_at + {DAY} WHERE number <= 2")  # then it was set back
    change(database, "UPDATE decisions SET clock = NULL")
    with calling() as again:
        assert waiting(again) == 4
        clocks.passed = LASTS + 1.0
        assert waiting(again) == 0
