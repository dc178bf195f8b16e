"""The past of an experiment: how intervals closed, and where decisions went; in memory that does not grow.

Intervals are noted when the outcomes have grown by a tenth, so that few moments tell a long story. Decisions are
counted by the database, in buckets of decision numbers.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter, deque
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, and_, func, select

from allais.bands import Interval
from allais.learner import Learner
from allais.learner.reading import sure_interval, sure_intervals
from allais.preferences.valuation import grouped
from allais.serve.store.tables import decisions, moments, people
from allais.serve.store.writer import Kind, Row

GROWTH = 1.1  # of the outcomes between two moments: 150 moments for a million outcomes
MOST_ARMS = 12  # whose intervals are looked at
PACE = 60  # moments, one per second, over which the pace is measured
DRAWS = 200  # of the outcomes, for a bootstrap interval
MOST_GROUPS = 400  # neighbours beyond them share a place, which a picture does not show
TAIL = 0.025  # on either side
MOST_BUCKETS = 120
MOST_PREFERENCES = 12  # with counts of their own; the others are counted together
MOST_COUNTED_ARMS = 24
OTHERS = -1  # the place of preferences beyond these
OTHER_ARMS = ""  # no arm has this name

Cell = tuple[int | None, str]  # the number of a preference, or None for the experiment's own; an arm


class Moment(NamedTuple):
    """The certainty equivalents after so many outcomes."""

    outcomes: int
    sure: dict[str, Interval]


class History:
    """The past of one experiment."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.restored = False  # whether those of earlier processes are here
        self._pace: deque[tuple[float, int]] = deque(maxlen=PACE)

    def note(self, next_choice: int) -> None:
        """Remember how many decisions there were now."""
        self._pace.append((time.monotonic(), next_choice))

    def per_minute(self) -> float:
        """How many decisions there were per minute, lately."""
        if len(self._pace) < 2:
            return 0.0
        (then, before), (now, after) = self._pace[0], self._pace[-1]
        return 60.0 * (after - before) / max(now - then, 1e-9)

    def is_due(self, outcomes: int) -> bool:
        """Whether there is enough new to look at the values again."""
        return outcomes > 1 and (not self.moments or outcomes >= GROWTH * self.moments[-1].outcomes)

    def look(self, learner: Learner, outcomes: int) -> Moment:
        """Note the values as they are now."""
        self.moments.append(Moment(outcomes, certainty_equivalents(learner, leading(learner))))
        return self.moments[-1]

    def restore(self, connection: Connection, experiment: int) -> None:
        """Read the moments that the database has."""
        wanted = select(moments.c.outcomes, moments.c.sure).where(moments.c.experiment == experiment)
        for outcomes, sure in connection.execute(wanted.order_by(moments.c.id)):
            self.moments.append(Moment(outcomes, {arm: Interval(*one) for arm, one in json.loads(sure).items()}))
        self.restored = True


def row_of(moment: Moment, experiment: int) -> Row:
    """A moment as the database has it."""
    return Kind.MOMENT, (experiment, moment.outcomes, json.dumps(moment.sure))


def listed(learner: Learner) -> list[str]:
    """The arms that a page shows: the leading ones, and where there is room those in play that nobody saw."""
    best = leading(learner)
    unseen = [str(name) for name in learner.arms if str(name) not in best][: MOST_ARMS - len(best)]
    shown = {*best, *unseen}
    return [str(name) for name in learner.pulls if str(name) in shown]


def leading(learner: Learner) -> list[str]:
    """The arms with the highest values, in the order they came."""
    values = learner.value()
    seen = [name for name in values if not math.isnan(values[name])]
    best = set(sorted(seen, key=lambda name: -values[name])[:MOST_ARMS])
    return [str(name) for name in values if name in best]


def certainty_equivalents(learner: Learner, arms: list[str]) -> dict[str, Interval]:
    """The certainty equivalents of arms, with the policy's intervals, or with bootstrap intervals where it has none."""
    pulls, intervals = learner.pulls, learner.intervals()
    if not learner.policy.keeps_outcomes:  # one outcome tells about all arms
        pulls = dict.fromkeys(pulls, learner.samples)
    if keeps_intervals(learner):
        sure = sure_intervals(learner, pulls, {name: intervals[name] for name in arms})
        return {str(name): one for name, one in sure.items()}
    return {name: sure_interval(learner.policy.preference, redrawn(learner, name)) for name in arms if pulls[name]}


def keeps_intervals(learner: Learner) -> bool:
    """Whether the policy has intervals of its own; where outcomes are not kept there are no others."""
    if not learner.policy.keeps_outcomes or learner.policy.of_mean:
        return True
    return any(math.isfinite(one.low) and math.isfinite(one.high) for one in learner.intervals().values())


def redrawn(learner: Learner, arm: str) -> Interval:
    """An arm's value, and where 95 % of the values lie when its outcomes are redrawn; by a fixed draw."""
    outcomes, counts = learner.outcomes(arm)
    total = int(counts.sum())
    preference = learner.policy.preference
    if total < 2:
        return Interval(-math.inf, float(preference.utilities(outcomes)[0]) if total else math.nan, math.inf)
    outcomes, counts = grouped(outcomes, counts, MOST_GROUPS)
    drawn = np.random.default_rng(0).multinomial(total, counts / total, size=DRAWS)
    value, *values = preference.values(outcomes, np.vstack([counts, drawn]))
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL])
    return Interval(float(low), float(value), float(high))


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
        if arm not in self.arms and len(self.arms) >= MOST_COUNTED_ARMS:
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
