"""The people whom this process knows: the preferences of those who called of late."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from allais.preferences import Preference
from allais.serve.experiment import Known
from allais.serve.tables import people, preferences
from allais.settings import from_spec

FRESH = 2.0  # seconds after which a change by another process is known here
MOST = 100_000  # people who are kept in memory

Read = Callable[[Callable[[Connection], Any]], Awaitable[Any]]


class Acquaintances:
    """Preferences by the names of people; None for those who have none of their own."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: OrderedDict[str, tuple[float, Known | None]] = OrderedDict()
        self._made: dict[int, Preference] = {}  # by number: people of one taste share one object, and one view

    async def preference_of(self, person: str) -> Known | None:
        """The preference of a person and its number."""
        found = self._known.get(person)
        if found is not None and time.monotonic() - found[0] < FRESH:
            return found[1]
        row = await self._read(partial(stored_preference, person=person))
        known = None if row is None else (row.id, self._preference(row.id, row.document))
        self._known[person] = (time.monotonic(), known)
        self._known.move_to_end(person)
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return known

    def _preference(self, number: int, document: str) -> Preference:
        if number not in self._made:
            self._made[number] = from_spec(json.loads(document))
        return self._made[number]

    def forget(self, person: str) -> None:
        """Look a person up anew."""
        self._known.pop(person, None)


def stored_preference(connection: Connection, person: str) -> Any:
    """The row of a person's preference, or None."""
    wanted = select(preferences.c.id, preferences.c.document, people.c.source, people.c.changed_at, people.c.fitted_in)
    joined = wanted.join(people, people.c.preference == preferences.c.id).where(people.c.name == person)
    return connection.execute(joined).one_or_none()
