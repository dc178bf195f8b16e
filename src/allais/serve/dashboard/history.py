"""How intervals closed: noted when the outcomes have grown by a tenth, so that few moments tell a long story."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from allais._checks import FloatArray, IntArray
from allais.bands import Interval
from allais.learner import Learner
from allais.report.certainty_equivalents import sure_interval, sure_intervals
from allais.serve.store.rows import Kind, Row
from allais.serve.store.tables import moments

GROWTH = 1.1  # of the outcomes between two moments: 150 moments for a million outcomes
MOST_ARMS = 12  # whose intervals are looked at
PACE = 60  # moments, one per second, over which the pace is measured
DRAWS = 200
MOST_GROUPS = 400  # neighbours beyond them share a place, which a picture does not show
TAIL = 0.025  # on either side


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
        """Decisions per minute of late."""
        if len(self._pace) < 2:
            return 0.0
        (then, before), (now, after) = self._pace[0], self._pace[-1]
        return 60.0 * (after - before) / max(now - then, 1e-9)

    def is_due(self, outcomes: int) -> bool:
        """Whether there is enough new to look at the values again."""
        return outcomes > 1 and (not self.moments or outcomes >= GROWTH * self.moments[-1].outcomes)

    def look(self, learner: Learner, outcomes: int) -> Moment:
        """Write down the values of now."""
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
    """The certainty equivalents of arms, with the policy's intervals, or with those for the eye where it has none."""
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


def redrawn(learner: Learner, arm: str) -> Interval:
    """An arm's value, and where 95 % of the values lie when its outcomes are redrawn; by a fixed draw."""
    outcomes, counts = learner.outcomes(arm)
    total = int(counts.sum())
    preference = learner.policy.preference
    if total < 2:
        return Interval(-math.inf, float(preference.utilities(outcomes)[0]) if total else math.nan, math.inf)
    outcomes, counts = _grouped(outcomes, counts)
    drawn = np.random.default_rng(0).multinomial(total, counts / total, size=DRAWS)
    value, *values = preference.values(outcomes, np.vstack([counts, drawn]))
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL])
    return Interval(float(low), float(value), float(high))


def _grouped(outcomes: FloatArray, counts: IntArray) -> tuple[FloatArray, IntArray]:
    """At most so many outcomes: rare ends stay apart, neighbours in the middle share their mean."""
    if outcomes.size <= MOST_GROUPS:
        return outcomes, counts
    order = np.argsort(outcomes)
    outcomes, counts = outcomes[order], counts[order]
    middles = (np.cumsum(counts) - counts / 2.0) / counts.sum()
    cuts = 0.5 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, MOST_GROUPS + 1)))[1:-1]  # narrow at both ends
    group = np.searchsorted(cuts, middles)
    starts = np.flatnonzero(np.append(True, np.diff(group) > 0))
    together = np.add.reduceat(counts, starts)
    return np.add.reduceat(outcomes * counts, starts) / together, together
