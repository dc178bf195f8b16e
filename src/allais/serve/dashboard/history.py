"""How values closed: looked at when the outcomes have grown by a tenth, so that few moments tell a long story."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from typing import NamedTuple

from sqlalchemy import Connection, select

from allais.bands import Interval
from allais.learner import Learner
from allais.report.sure import sure_interval, sure_intervals
from allais.serve.dashboard.bootstrap import redrawn
from allais.serve.store.rows import Kind, Row
from allais.serve.store.tables import moments

GROWTH = 1.1  # of the outcomes between two moments: 150 moments for a million outcomes
MOST_ARMS = 12  # whose intervals are looked at
PACE = 60  # moments, one per second, over which the pace is measured


class Moment(NamedTuple):
    """What was known after so many outcomes, in the user's units."""

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
        """Decisions per minute of late."""
        if len(self._pace) < 2:
            return 0.0
        (then, before), (now, after) = self._pace[0], self._pace[-1]
        return 60.0 * (after - before) / max(now - then, 1e-9)

    def is_due(self, outcomes: int) -> bool:
        """Whether it is worth looking at the values again."""
        return outcomes > 1 and (not self.moments or outcomes >= GROWTH * self.moments[-1].outcomes)

    def look(self, learner: Learner, outcomes: int) -> Moment:
        """Write down the values of now."""
        self.moments.append(Moment(outcomes, known(learner, leading(learner))))
        return self.moments[-1]

    def restore(self, connection: Connection, experiment: int) -> None:
        """Know the moments that the database has."""
        wanted = select(moments.c.outcomes, moments.c.sure).where(moments.c.experiment == experiment)
        for outcomes, sure in connection.execute(wanted.order_by(moments.c.id)):
            self.moments.append(Moment(outcomes, {arm: Interval(*one) for arm, one in json.loads(sure).items()}))
        self.restored = True


def row_of(moment: Moment, experiment: int) -> Row:
    """A moment as the database has it."""
    return Kind.MOMENT, (experiment, moment.outcomes, json.dumps(moment.sure))


def listed(learner: Learner) -> list[str]:
    """The arms that a page shows: those worth looking at, and where there is room those in play that nobody saw."""
    best = leading(learner)
    unseen = [str(name) for name in learner.arms if str(name) not in best][: MOST_ARMS - len(best)]
    shown = {*best, *unseen}
    return [str(name) for name in learner.pulls if str(name) in shown]


def leading(learner: Learner) -> list[str]:
    """The arms that are worth looking at, in the order they came: all, or those worth most."""
    values = learner.value()
    seen = [name for name in values if not math.isnan(values[name])]
    best = set(sorted(seen, key=lambda name: -values[name])[:MOST_ARMS])
    return [str(name) for name in values if name in best]


def known(learner: Learner, arms: list[str]) -> dict[str, Interval]:
    """What arms feel like for sure, with the policy's intervals, or with those for the eye where it has none."""
    pulls, intervals = learner.pulls, learner.intervals()
    if not learner.policy.keeps_outcomes:  # one outcome tells about all arms
        pulls = dict.fromkeys(pulls, learner.samples)
    if keeps_intervals(learner):
        sure = sure_intervals(learner, pulls, {name: intervals[name] for name in arms})
        return {str(name): one for name, one in sure.items()}
    return {name: sure_interval(learner.policy.preference, redrawn(learner, name)) for name in arms if pulls[name]}


def keeps_intervals(learner: Learner) -> bool:
    """Whether the policy has intervals of its own; where outcomes are not kept there are no others."""
    if not learner.policy.keeps_outcomes or getattr(learner.policy, "of_mean", False):
        return True
    return any(math.isfinite(one.low) and math.isfinite(one.high) for one in learner.intervals().values())
