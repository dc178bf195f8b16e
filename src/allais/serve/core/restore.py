"""Experiments read from the database: the last snapshot, and the events after it done again.

An event is what `Learner.apply` takes, with more for what a learner has no event of:

- `{"ask": [[id, arm]], "preference": 3}`: the choice was for the preference with this number
- `{"observe": [arm, ...], "rewards": [...], "imported": key}`: outcomes that came by an import; of one arm up to 0.2.0
- `{"laid out": true}`: the memory was laid out as a snapshot has it, so that learner and snapshot go on alike
"""

from __future__ import annotations

import json
import math
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select

from allais.learner import Learner
from allais.preferences import Preference
from allais.samples.cuts import Cut, known_cut
from allais.serve.api.schemas import ExperimentSettings
from allais.serve.core.experiment import Closed, Experiment, OpenDecision
from allais.serve.core.features import Encoding, NumberedPreference
from allais.serve.core.keys import Clock, digest_of
from allais.serve.store.tables import (
    ARCHIVED,
    DELETED,
    OPEN,
    PAUSED,
    RUNNING,
    TOLD,
    decisions,
    events,
    experiments,
    imports,
    people,
    preferences,
    snapshots,
)
from allais.serve.store.writer import require_same
from allais.settings import from_spec

IMPORTS_AT_ONCE = 50  # events, each of which may have many outcomes
FRESH = 2.0  # seconds after which a preference that another process changed is known here
MOST_PEOPLE = 100_000  # who are kept in memory
FAST = 1  # zlib's level: documents are numbers, and a higher one gains little


def document_bytes(learner: Learner) -> bytes:
    """A learner as a snapshot has it."""
    return zlib.compress(json.dumps(learner.snapshot(), separators=(",", ":")).encode(), FAST)


def learner_of(document: bytes) -> Learner:
    """The learner of a snapshot."""
    return Learner.from_snapshot(json.loads(zlib.decompress(document)))


def apply(learner: Learner, event: Mapping[str, Any]) -> None:
    """Replay an event; for whom a choice was made does not matter."""
    if event.get("laid out") is True:
        learner.lay_out()
    else:
        learner.apply(dict(event))


def load(connection: Connection, row: Row[Any], clock: Clock | None = None) -> Experiment:
    """An experiment as the database has it; `clock` is the one that it has in this process already.

    A row that is not as it was written, or is missing, raises ValueError.
    """
    require_same(row.checksum, "its row of settings", row.settings, row.id, row.name)
    if row.state not in (RUNNING, PAUSED, ARCHIVED):
        raise ValueError(f"its state is damaged: there is no {row.state!r}")
    settings = settings_of(row.settings)
    this = snapshots.c.experiment == row.id
    last = connection.execute(select(snapshots).where(this).order_by(snapshots.c.seq.desc()).limit(1)).one_or_none()
    if last is None:
        raise ValueError("its snapshot is missing")
    require_same(last.checksum, f"its snapshot {last.seq}", last.document, row.id, last.seq)
    learner = learner_of(last.document)
    seq, at = last.seq, last.at
    after = select(events.c.seq, events.c.at, events.c.body, events.c.checksum).where(
        events.c.experiment == row.id, events.c.seq > seq
    )
    for number, at, body, stored in connection.execute(after.order_by(events.c.seq)):  # noqa: B007
        seq += 1
        if number != seq:
            raise ValueError(f"its event {seq} is missing")
        require_same(stored, f"its event {seq}", body, row.id, seq)
        apply(learner, json.loads(body))
    of_it = select(decisions.c.number, decisions.c.asked_at, decisions.c.clock).where(decisions.c.experiment == row.id)
    asked = connection.execute(of_it.order_by(decisions.c.number.desc()).limit(1)).one_or_none()
    if asked is not None and asked.number > learner.asked:  # a damaged index may hide the last events, without a gap
        raise ValueError(f"its events end before its decision {asked.number}")
    _require_last_import(connection, row.id, at)
    if clock is None:
        clock = Clock(None if asked is None or asked.clock is None else (asked.asked_at, asked.clock))
    open_ = _open_decisions(connection, row.id, settings, clock)
    waiting = set(open_) if not settings.apprentice else set()  # an apprentice's are cancelled at once
    if waiting != {choice.id for choice in learner.outstanding}:
        raise ValueError("its open decisions are not those of its events")
    found = Experiment(row.id, row.name, row.state, settings, row.created_at, learner, seq, last.seq, open_, clock)
    if settings.terms is not None:
        found.told.update(_outcomes_by_arm(connection, row.id, settings.arms))
    return found


def _require_last_import(connection: Connection, experiment: int, last: float) -> None:
    """Refuse an experiment whose last event, of this time, is older than its last import, if that is not whole."""
    latest = select(imports).where(imports.c.experiment == experiment).order_by(imports.c.at.desc()).limit(1)
    made = connection.execute(latest).one_or_none()
    if made is None or made.at < last:
        return
    its_own = select(events.c.body).where(events.c.experiment == experiment, events.c.at == made.at)
    found = map(json.loads, connection.execute(its_own).scalars())
    if sum(len(event.get("rewards", ())) + len(event.get("cuts", ())) for event in found) < made.outcomes:
        raise ValueError(f"its events end before those of an import of {made.outcomes:,} outcomes")


def settings_of(text: str) -> ExperimentSettings:
    """Settings as the database has them."""
    return ExperimentSettings.model_validate_json(text)


def _open_decisions(
    connection: Connection, experiment: int, settings: ExperimentSettings, clock: Clock
) -> dict[int, OpenDecision]:
    """The decisions that wait, by number. None was asked after a later one, whatever the clock of its day said."""
    waiting = select(decisions).where(decisions.c.experiment == experiment, decisions.c.state == OPEN)
    rows = list(connection.execute(waiting.order_by(decisions.c.number)))
    asked, latest = dict[int, float](), clock.now()
    for one in reversed(rows):
        asked[one.number] = latest = min(latest, one.asked_at if one.clock is None else one.clock)
    encoding = None if settings.terms is None else Encoding(settings.terms)

    def row_of(detail: str | None) -> tuple[float, ...]:
        """What an apprentice's learner sees of what was done."""
        seen = detail_of(detail).get("features", ()) if settings.apprentice else ()
        return tuple(encoding.padded(seen) if seen and encoding is not None else seen)

    return {
        one.number: OpenDecision(
            one.arm,
            one.asked_at,
            asked[one.number],
            settings.apprentice,
            row_of(one.detail),
            one.key,
            detail_of(one.detail).get("context") if settings.apprentice else None,
        )
        for one in rows
    }


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


def cuts_told(connection: Connection, experiment: int) -> dict[int, Cut]:
    """What was told of outcomes that are not finished, by the numbers of their decisions."""
    told = select(events.c.body).where(events.c.experiment == experiment, events.c.body.like('{"tell":%,"cut":%'))
    found: dict[int, Cut] = {}
    for (body,) in connection.execute(told.order_by(events.c.seq)):
        event = json.loads(body)
        (low, high), before = known_cut(between=event["cut"]), found.get(event["tell"], (-math.inf, math.inf))
        found[event["tell"]] = max(low, before[0]), min(high, before[1])
    return found


def rows_of_experiments(connection: Connection) -> list[Row[Any]]:
    """All experiments of the database, but those that are being deleted."""
    return list(
        connection.execute(select(experiments).where(experiments.c.state != DELETED).order_by(experiments.c.id))
    )


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
    return json.loads(text or "{}")


def preference_numbered(connection: Connection, number: int) -> Preference:
    """A preference of the database."""
    wanted = select(preferences.c.document, preferences.c.digest).where(preferences.c.id == number)
    row = connection.execute(wanted).one_or_none()
    if row is None or digest_of(row.document) != row.digest:
        raise ValueError(f"preference {number}, which an event names, is damaged or missing")
    return from_spec(json.loads(row.document))


PEOPLE = select(people, preferences.c.id, preferences.c.document).join(preferences)


def stored_preference(connection: Connection, person: str) -> Any:
    """The row of a person's preference, or None."""
    return connection.execute(PEOPLE.where(people.c.name == person)).one_or_none()


class PreferenceCache:
    """Preferences by the names of people; None for those who have none of their own."""

    def __init__(self, read: Callable[..., Awaitable[Any]]) -> None:
        self._read = read
        self._known: OrderedDict[str, tuple[float, NumberedPreference | None]] = OrderedDict()
        self._made: dict[int, Preference] = {}  # by number: people of one preference share one object, and one view

    async def preference_of(self, person: str) -> NumberedPreference | None:
        """The preference of a person and its number."""
        found = self._known.get(person)
        if found is not None and time.monotonic() - found[0] < FRESH:
            return found[1]
        row = await self._read(partial(stored_preference, person=person))
        known = None if row is None else (row.id, self._preference(row.id, row.document))
        self._known[person] = (time.monotonic(), known)
        self._known.move_to_end(person)
        if len(self._known) > MOST_PEOPLE:
            self._known.popitem(last=False)
        return known

    def _preference(self, number: int, document: str) -> Preference:
        if number not in self._made:
            self._made[number] = from_spec(json.loads(document))
        return self._made[number]

    def forget(self, person: str) -> None:
        """Forget a person, who is then looked up again."""
        self._known.pop(person, None)
