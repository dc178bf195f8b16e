"""The frequent calls: decide, reward, cancel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection

from allais.serve import unfinished
from allais.serve.api.schemas import Cancel, Decide, Reward
from allais.serve.core import restore
from allais.serve.core.errors import Refused, not_found
from allais.serve.core.experiment import Closed, Experiment
from allais.serve.core.service import Service
from allais.serve.store.tables import CANCELLED, EXPIRED, OPEN, TOLD
from allais.serve.store.writer import Row

AT_A_TIME = 50  # calls of a batch that share one commit: some 5 ms of work between two turns of others


async def decide(service: Service, name: str, call: Decide, *, new: bool = False) -> dict[str, Any]:
    """A choice for a caller, on disk when this returns.

    A repeated call with a key gets the same one, unless the call is known to be `new`.
    """
    if call.key is not None and not new:
        find = partial(_decided, experiment=service.experiment(name).id, call=call)
        return await service.once(
            "decide", name, call.key, find=find, make=partial(decide, service, name, call, new=True)
        )
    preference = None if call.person is None else await service.people.preference_of(call.person)
    experiment = service.experiment(name)
    if experiment.busy is not None:
        experiment = await service.idle(name)
    if experiment.takes_long(call):
        return await service.change_in_thread(name, lambda one: one.decide(call, preference, time.time()))
    with service.changing:
        if experiment.elapsed:
            unfinished.grow(experiment)
        answer, rows = experiment.decide(call, preference, time.time())
    await service.writer.put(rows)
    return answer


def _decided(connection: Connection, experiment: int, call: Decide) -> dict[str, Any] | None:
    """The answer that a call with this key had."""
    found = restore.decision_by_key(connection, experiment, call.key or "")
    if found is None:
        return None
    if found.person != call.person:
        raise Refused(409, f"a key names one decision; {call.key!r} was for another person. Use a key of its own.")
    detail = restore.detail_of(found.detail)
    return {
        "choice": found.number,
        "arm": detail.get("row", found.arm),
        "propensity": found.propensity,
        "why": detail["why"],
        "would": detail.get("would"),
        **({"unused": detail["unused"]} if "unused" in detail else {}),
    }


async def reward(service: Service, name: str, call: Reward) -> dict[str, Any]:
    """Learn what a choice brought; a repeated call is answered as the first was."""
    experiment, number = await _found(service, name, call)
    if call.outcome is None:
        await unfinished.warmed(experiment, call)
        experiment = await service.idle(name)
    with service.changing:
        rows = unfinished.reward(experiment, number, call, time.time())
    if rows is not None:
        return await _close(service, experiment, number, rows)
    ended = await _ended(service, name, number)
    if (call.outcome is None and ended.state == TOLD) or (call.final and ended.state == EXPIRED):
        return experiment.answer(number, ended)  # the time until the first call, or what it told for good
    if ended.state == EXPIRED:
        raise Refused(410, f"a reward must come before its choice expires; {number} has expired. Raise expires_after.")
    if ended.state == CANCELLED:
        raise Refused(409, f"a choice is told or cancelled once; {number} was cancelled. Ask for another.")
    if ended.outcome != call.outcome or (call.key is not None and ended.key is not None and call.key != ended.key):
        raise Refused(
            409,
            f"a choice has one outcome; {number} was told {ended.outcome:g} by another call. Import further outcomes.",
        )
    return experiment.answer(number, ended)


async def cancel(service: Service, name: str, call: Cancel) -> dict[str, Any]:
    """Give a choice up; a repeated call is answered as the first was."""
    experiment, number = await _found(service, name, call)
    with service.changing:
        rows = experiment.cancel(number, time.time())
    if rows is not None:
        return await _close(service, experiment, number, rows)
    ended = await _ended(service, name, number)
    if ended.state == TOLD:
        raise Refused(409, f"a choice is told or cancelled once; {number} was told. Nothing is left to cancel.")
    return experiment.answer(number, ended)


async def _found(service: Service, name: str, call: Reward | Cancel) -> tuple[Experiment, int]:
    """The experiment, once nothing keeps it busy, and the number of the decision that a call is about."""
    number, key = call.choice, call.decision_key
    if (number is None) == (key is None):
        got = "neither" if key is None else "both"
        raise Refused(422, f"a choice is known by its number or by its key; got {got}. Send choice or decision_key.")
    experiment = service.experiment(name)
    if key is not None and (number := experiment.numbers.get(key)) is None:
        found = await service.read(partial(restore.decision_by_key, experiment=experiment.id, key=key))
        if found is None:
            raise not_found("a decision", key, "Send the key that decide was called with.")
        number = int(found.number)
    assert number is not None
    experiment = service.experiment(name)
    return (experiment if experiment.busy is None else await service.idle(name)), number


async def each(
    service: Service, name: str, calls: Sequence[Any], answer: Callable[[Service, str, Any], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """The answers to several calls, each as if it had come alone; some at a time, so that others get their turn."""
    service.experiment(name)  # refuses once what would be refused for all
    answers: list[dict[str, Any]] = []
    for first in range(0, len(calls), AT_A_TIME):
        some = (answer(service, name, call) for call in calls[first : first + AT_A_TIME])
        for found in await asyncio.gather(*some, return_exceptions=True):
            if isinstance(found, Refused):
                answers.append({"status": found.status, "error": found.sentence})
            elif isinstance(found, BaseException):
                raise found
            else:
                answers.append({"status": 200, "answer": found})
    return {"answers": answers}


async def _close(service: Service, experiment: Experiment, number: int, rows: list[Row]) -> dict[str, Any]:
    """The answer to the call that ends a choice, once that is on disk; or that told a part of its outcome."""
    closed = experiment.closing.get(number) or Closed(experiment.open[number].arm, OPEN, None, None)
    await service.writer.put(rows)
    experiment.closing.pop(number, None)
    return experiment.answer(number, closed)


async def _ended(service: Service, name: str, number: int) -> Closed:
    """How a choice ended that is no longer open, once that is on disk."""
    experiment = service.experiment(name)
    pending = experiment.closing.get(number)
    if pending is not None:
        await service.writer.put(())  # behind the rows that close it
        return pending
    found = await service.read(partial(restore.closed_decision, experiment=experiment.id, number=number))
    if found is None:
        raise not_found("a choice", number, "Tell what decide answered.")
    return found
