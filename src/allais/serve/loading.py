"""Experiments read from the database: the last snapshot, and the events after it done again."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select

from allais.learner import Learner
from allais.learner.document import document_of, learner_from
from allais.preferences import Preference
from allais.serve import replaying
from allais.serve.experiment import Closed, Experiment, OpenDecision
from allais.serve.schemas import ExperimentSettings
from allais.serve.tables import OPEN, TOLD, decisions, events, experiments, preferences, snapshots
from allais.settings import from_spec

IMPORTS_AT_ONCE = 50  # events, each of which may have many outcomes
FAST = 1  # zlib's level: documents are numbers, and a higher one gains little


def document_bytes(learner: Learner) -> bytes:
    """A learner as a snapshot has it."""
    return zlib.compress(json.dumps(document_of(learner), separators=(",", ":")).encode(), FAST)


def learner_of(document: bytes) -> Learner:
    """The learner of a snapshot."""
    return learner_from(json.loads(zlib.decompress(document)))


def load(connection: Connection, row: Row[Any]) -> Experiment:
    """An experiment as the database has it."""
    this = snapshots.c.experiment == row.id
    last = connection.execute(select(snapshots).where(this).order_by(snapshots.c.seq.desc()).limit(1)).one()
    learner = learner_of(last.document)
    known = Stored(connection)
    seq = last.seq
    after = select(events.c.seq, events.c.body).where(events.c.experiment == row.id, events.c.seq > seq)
    for seq, body in connection.execute(after.order_by(events.c.seq)):  # noqa: B007
        replaying.apply(learner, json.loads(body), known)
    settings = ExperimentSettings.model_validate_json(row.settings)
    waiting = select(decisions).where(decisions.c.experiment == row.id, decisions.c.state == OPEN)
    open_ = {
        one.number: OpenDecision(
            one.arm, one.asked_at, settings.apprentice,
            tuple(detail_of(one.detail).get("features", ())) if settings.apprentice else (),
        )
        for one in connection.execute(waiting.order_by(decisions.c.number))
    }  # fmt: skip
    found = Experiment(row.id, row.name, row.state, settings, row.created_at, learner, seq, last.seq, open_)
    if settings.terms is not None:
        by_arm = _outcomes_by_arm(connection, row.id, settings.arms)
        found.told.update(by_arm)
    return found


def _outcomes_by_arm(connection: Connection, experiment: int, arms: list[str]) -> Counter[str]:
    """How many outcomes each of these arms had, with those that were imported."""
    this = (decisions.c.experiment == experiment, decisions.c.state == TOLD, decisions.c.arm.in_(arms))
    counted = select(decisions.c.arm, func.count()).where(*this).group_by(decisions.c.arm)
    found = Counter({arm: int(many) for arm, many in connection.execute(counted)})
    last = -1
    while page := imported_after(connection, experiment, last, every=False):
        last = page[-1][0]
        for _, _, event in page:
            if event["arm"] in arms:
                found[event["arm"]] += len(event["rewards"])
    return found


def imported_after(
    connection: Connection, experiment: int, seq: int, *, every: bool
) -> list[tuple[int, float, dict[str, Any]]]:
    """The next events that came by imports: number, time, body. `every`: also those that carry no mark."""
    mark = "%" if every else '%"imported":%'
    marked = or_(events.c.body.like(f'{{"observe":{mark}'), events.c.body.like(f'{{"features":{mark}'))
    wanted = select(events.c.seq, events.c.at, events.c.body).where(events.c.experiment == experiment, marked)
    rows = connection.execute(wanted.where(events.c.seq > seq).order_by(events.c.seq).limit(IMPORTS_AT_ONCE))
    return [(row.seq, row.at, json.loads(row.body)) for row in rows]


def rows_of_experiments(connection: Connection) -> list[Row[Any]]:
    """All experiments of the database."""
    return list(connection.execute(select(experiments).order_by(experiments.c.id)))


def closed_decision(connection: Connection, experiment: int, number: int) -> Closed | None:
    """How a decision ended; None if there is none, or it has not ended."""
    wanted = select(decisions).where(decisions.c.experiment == experiment, decisions.c.number == number)
    row = connection.execute(wanted).one_or_none()
    return None if row is None or row.state == OPEN else Closed(row.arm, row.state, row.outcome, row.closing_key)


def decision_by_key(connection: Connection, experiment: int, key: str) -> Row[Any] | None:
    """The decision that a caller gave this name."""
    wanted = select(decisions).where(decisions.c.experiment == experiment, decisions.c.key == key)
    return connection.execute(wanted).one_or_none()


def detail_of(text: str | None) -> dict[str, Any]:
    """What else is known about a decision."""
    found: dict[str, Any] = json.loads(text or "{}")
    return found


class Stored(Mapping[int, Preference]):
    """The preferences of the database by their numbers, each read once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[int, Preference] = {}

    def __getitem__(self, number: int) -> Preference:
        if number not in self._known:
            wanted = select(preferences.c.document).where(preferences.c.id == number)
            self._known[number] = from_spec(json.loads(self._connection.execute(wanted).scalar_one()))
        return self._known[number]

    def __iter__(self) -> Any:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
