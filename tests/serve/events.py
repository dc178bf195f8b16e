"""What a database holds of an experiment, and the learner that went through the same without a service."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from allais.learner import Learner
from allais.serve.api.schemas import ExperimentSettings
from allais.serve.core.features import Candidates, ask_with
from allais.serve.core.parse_settings import learner_from_settings, rows_of_arms
from allais.serve.core.restore import apply
from allais.serve.store import tables
from allais.serve.store.database import Database


def rows_of(address: str, table: Any) -> list[Any]:
    """All rows of a table, by their first columns."""
    database = Database(address)
    with database.connect() as connection:
        rows = list(connection.execute(select(table).order_by(*list(table.primary_key))))
    database.dispose()
    return rows


def lived_again(address: str, settings: dict[str, Any]) -> Learner:
    """A learner that chooses by itself, and is told what the service was told: it must choose what the service chose.

    Every event is there once, in order, and no choice differs: else this fails.
    """
    learner = learner_from_settings(ExperimentSettings(**settings))
    for expected, row in enumerate(rows_of(address, tables.events), start=1):
        assert row.seq == expected, "an event is missing, or there twice"
        event = json.loads(row.body)
        match event:
            case {"ask": [[number, arm]], **more}:
                choice = learner.ask(allowed=more.get("allowed"))
                assert (choice.id, choice.arm) == (number, arm), f"choice {number} differs from that of a run in peace"
                assert more.keys() <= {"allowed"}
            case {"chose": number, "arm": row}:
                choice, repeated = ask(learner, settings)
                assert (choice.id, choice.arm) == (number, row), f"choice {number} differs from that of a run in peace"
                assert repeated == event
            case _:
                apply(learner, event)
    return learner


def ask(learner: Learner, settings: dict[str, Any]) -> Any:
    """A choice as the service makes it for a call that says nothing."""
    if "terms" not in settings:
        return learner.ask(), None
    rows = rows_of_arms(ExperimentSettings(**settings))
    return ask_with(learner, None, None, Candidates(rows, None), None)


def goes_on_alike(client: Any, address: str, settings: dict[str, Any], rounds: int = 20) -> None:
    """The service chooses as the learner that was never disturbed."""
    learner = lived_again(address, settings)
    for step in range(rounds):
        expected, answer = learner.ask(), client.ask()
        assert (answer["choice"], answer["arm"]) == expected
        learner.tell(expected, float(step))
        client.tell(answer["choice"], float(step))
