"""Where decisions went: counted by the database, in buckets of decision numbers, in memory that does not grow."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection, and_, func, select

from allais.serve.store.tables import decisions, people

MOST_BUCKETS = 120
MOST_PREFERENCES = 12  # with counts of their own; the others are counted together
MOST_ARMS = 24
OTHERS = -1  # the place of preferences beyond these
OTHER_ARMS = ""  # no arm has this name

Cell = tuple[int | None, str]  # the number of a preference, or None for the experiment's own; an arm


class Traffic:
    """How many decisions went where; `catch_up` reads what is new."""

    def __init__(self, experiment: int) -> None:
        self.experiment, self.width, self.last = experiment, 1, 0
        self.buckets: list[Counter[Cell]] = []
        self.preferences: set[int | None] = set()
        self.arms: set[str] = set()

    def catch_up(self, connection: Connection) -> None:
        """Count the decisions that came since the last time."""
        of_this = decisions.c.experiment == self.experiment
        top = connection.execute(select(func.max(decisions.c.number)).where(of_this)).scalar()
        if top is None or top <= self.last:
            return
        while top > self.width * MOST_BUCKETS:
            self._widen()
        bucket = (decisions.c.number - 1) // self.width
        new = and_(of_this, decisions.c.number > self.last, decisions.c.number <= top)
        counted = (
            select(bucket, people.c.preference, decisions.c.arm, func.count())
            .select_from(decisions.outerjoin(people, people.c.name == decisions.c.person))
            .where(new)
            .group_by(bucket, people.c.preference, decisions.c.arm)
        )
        for place, preference, arm, many in connection.execute(counted):
            while len(self.buckets) <= place:
                self.buckets.append(Counter())
            self.buckets[place][self._cell(preference, arm)] += many
        self.last = top

    def _cell(self, preference: int | None, arm: str) -> Cell:
        if preference not in self.preferences and len(self.preferences) >= MOST_PREFERENCES:
            preference = OTHERS
        if arm not in self.arms and len(self.arms) >= MOST_ARMS:
            arm = OTHER_ARMS
        self.preferences.add(preference)
        self.arms.add(arm)
        return preference, arm

    def _widen(self) -> None:
        self.width *= 2
        pairs = [self.buckets[k : k + 2] for k in range(0, len(self.buckets), 2)]
        self.buckets = [sum(pair, Counter()) for pair in pairs]

    def total(self) -> Counter[Cell]:
        """All decisions."""
        return sum(self.buckets, Counter())
