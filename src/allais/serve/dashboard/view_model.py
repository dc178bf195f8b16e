"""What a page says about an experiment, worked out once for all who look."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from allais.bands import Interval
from allais.learner import Learner
from allais.preferences import Explanation, Preference, expected_value
from allais.preferences.named import in_words
from allais.preferences.valuation import sure_amount
from allais.report.effort import explained
from allais.report.words import ByMean, by_mean
from allais.serve.core.loading import Stored
from allais.serve.core.service import log
from allais.serve.dashboard.decision_counts import OTHERS, Cell, Traffic
from allais.serve.dashboard.history import History, Moment, keeps_intervals, known, listed
from allais.serve.dashboard.pages import Summary
from allais.serve.store.tables import people

T = TypeVar("T")

RECENT = 1_000  # outcomes: an alarm that is older is told quietly
MOST_TASTES = 6  # that a page shows
LATELY = 0.25  # of the buckets at the end, which say where traffic goes now


@dataclass(frozen=True)
class ArmFacts:
    """An arm."""

    name: str
    in_play: bool
    outcomes: int
    waiting: int  # its decisions that wait for a reward
    mean: float
    sure: Interval  # what it feels like to the experiment's own preference, in the user's units
    lately: float  # its share of the last decisions
    alarms: int
    ago: int | None  # outcomes since the last alarm


@dataclass(frozen=True)
class TasteFacts:
    """People who weigh outcomes alike."""

    label: str
    people: int
    decisions: int
    felt: dict[str, float]  # what each arm feels like for sure
    best: str | None
    series: list[Counter[str]]  # where their decisions went, bucket by bucket
    why: dict[str, Explanation]  # of her best arm and of that with the best mean

    @property
    def lately(self) -> Counter[str]:
        """Where the last decisions went."""
        last = self.series[-max(1, round(LATELY * len(self.series))) :]
        return sum(last, Counter())


@dataclass(frozen=True)
class Facts:
    """All that a page shows."""

    name: str
    state: str
    unit: str
    costs: bool
    policy: str
    preference: str
    apprentice: bool
    by_features: bool  # what is best depends on the moment
    created_at: float
    expires_after: float
    outcomes: int
    waiting: int
    oldest: float | None  # when the decision that waits longest was asked
    ended: dict[str, int]
    per_minute: float
    decisions: int
    arms: list[ArmFacts]
    others: int  # arms that are not listed
    best: str | None
    mean_best: str | None
    own_intervals: bool  # the policy's, and not those for the eye
    tastes: list[TasteFacts]
    moments: list[Moment]
    width: int  # decisions per bucket
    lost: list[tuple[float, float]] = field(default_factory=list)  # by bucket: as decided, always the best mean
    failed: list[str] = field(default_factory=list)  # parts that could not be worked out


@dataclass(frozen=True)
class Glance:
    """What is read in the thread of the event loop, where it cannot change meanwhile."""

    name: str
    id: int
    state: str
    settings: Any
    created_at: float
    learner: Learner
    pulls: dict[str, int]
    waiting: int
    oldest: float | None
    ended: dict[str, int]


def gather(connection: Connection, glance: Glance, traffic: Traffic, history: History) -> Facts:
    """Work out what a page shows; in another thread."""
    traffic.catch_up(connection)
    learner, settings = glance.learner, glance.settings
    preference = learner.policy.preference
    failed: list[str] = []

    def worked_out(part: str, otherwise: T, work: Callable[[], T]) -> T:
        """A part of the facts; one that fails leaves the others as they are."""
        try:
            return work()
        except SQLAlchemyError:  # the database is away: there is no page
            raise
        except Exception:
            log.exception("a part of the page of %s failed: %s", glance.name, part)
            failed.append(part)
            return otherwise

    shown, by_features = listed(learner), settings.terms is not None
    mean, sure, tastes = ByMean(None, {}), dict[str, Interval](), list[TasteFacts]()
    mean = worked_out("The mean", mean, lambda: _by_mean(learner, by_features=by_features))
    sure = worked_out("Values", sure, lambda: known(learner, shown) if learner.samples else {})
    best_mean = None if mean.arm is None else str(mean.arm)
    tastes = worked_out("People", tastes, lambda: _tastes(connection, learner, traffic, shown, best_mean))
    lately = sum((taste.lately for taste in tastes), Counter[str]())
    in_play, pulls, waiting = set(learner.arms), glance.pulls, learner.waiting
    drift = learner.drift() if learner.policy.keeps_outcomes else {}
    arms = [
        ArmFacts(
            name, name in in_play, pulls[name], waiting[name], mean.means.get(name, math.nan),
            sure.get(name, Interval(math.nan, math.nan, math.nan)), lately[name] / max(lately.total(), 1),
            drift[name].alarms if name in drift else 0, drift[name].ago if name in drift else None,
        )
        for name in shown
    ]  # fmt: skip
    facts = Facts(
        glance.name, glance.state, settings.unit, preference.costs, type(learner.policy).__name__,
        in_words(preference), settings.apprentice, settings.terms is not None, glance.created_at,
        settings.expires_after, learner.samples, glance.waiting, glance.oldest, glance.ended,
        history.per_minute(), traffic.last, arms,
        len(pulls) - len(shown), _best(preference, {arm.name: arm.sure.value for arm in arms if arm.in_play}),
        None if mean.arm is None else str(mean.arm), keeps_intervals(learner), tastes,
        list(history.moments), traffic.width,
    )  # fmt: skip
    facts.lost.extend(_lost(facts))
    facts.failed.extend(failed)
    return facts


def _by_mean(learner: Learner, *, by_features: bool) -> ByMean:
    """What the mean would choose; a linear policy tells means by theta, and with features it depends on the moment."""
    if learner.policy.keeps_outcomes or not learner.samples:
        return by_mean(learner)
    mine = learner.policy.preference
    plainly = expected_value(reference=mine.reference, costs=mine.costs)
    means = {name: sure_amount(plainly, value) for name, value in learner.value(plainly).items()}
    best = _best(mine, {str(name): mean for name, mean in means.items() if name in learner.arms})
    return ByMean(None if by_features else best, means)


def summarised(glance: Glance) -> Summary:
    """An experiment in one line."""
    learner = glance.learner
    preference = learner.policy.preference
    felt = {str(name): sure_amount(preference, value) for name, value in learner.value().items()}
    best = _best(preference, {name: felt[str(name)] for name in map(str, learner.arms)})
    drift = learner.drift().values() if learner.policy.keeps_outcomes else ()
    recent = sum(one.ago is not None and one.ago <= RECENT for one in drift)
    return Summary(
        glance.name, glance.state, glance.settings.unit, learner.samples, glance.waiting, len(learner.arms), best,
        felt.get(best or "", math.nan), recent,
    )  # fmt: skip


def _best(preference: Preference, felt: dict[str, float]) -> str | None:
    seen = {name: amount for name, amount in felt.items() if not math.isnan(amount)}
    pick = min if preference.costs else max
    return pick(seen, key=seen.__getitem__) if seen else None


def _tastes(
    connection: Connection, learner: Learner, traffic: Traffic, shown: list[str], mean: str | None
) -> list[TasteFacts]:
    """People of one taste each: those with most decisions, in an order that stays."""
    total: Counter[int | None] = Counter()
    for (taste, _), many in traffic.total().items():
        total[taste] += many
    stored, own = Stored(connection), learner.policy.preference
    alike: dict[int | None, set[int | None]] = {None: set()}  # tastes that are one on the gains of this experiment
    first: dict[Preference, int | None] = {own: None}
    for number in sorted(total, key=lambda taste: taste or 0):
        known_as = number if number is None or number == OTHERS else stored[number].in_frame_of(own)
        place = first.setdefault(known_as, number) if isinstance(known_as, Preference) else number
        alike.setdefault(place, set()).add(number)
    for place, numbers in alike.items():
        total[place] = sum(total.pop(number, 0) for number in numbers)
    if not total[None] and len(total) > 1:
        del total[None]
    asked = [number for numbers in alike.values() for number in numbers if number]
    counted = select(people.c.preference, func.count()).where(people.c.preference.in_(asked))
    heads = {row[0]: int(row[1]) for row in connection.execute(counted.group_by(people.c.preference))}
    found = []
    ranked = sorted(total, key=lambda taste: (taste == OTHERS, -total[taste]))
    shown_tastes = ranked[:MOST_TASTES] or [None]
    for taste in sorted(shown_tastes, key=lambda taste: (taste is not None, taste == OTHERS, taste or 0)):  # in place
        preference = own if taste is None or taste == OTHERS else stored[taste].in_frame_of(own)
        values = learner.value(preference)
        felt = {name: sure_amount(preference, values[name]) for name in shown}
        best = _best(preference, {name: amount for name, amount in felt.items() if name in learner.arms})
        series = [_counted(bucket, alike[taste]) for bucket in traffic.buckets]
        why = {}
        if learner.policy.keeps_outcomes:
            why = {name: explained(learner, name, preference) for name in {best, mean} if name is not None}
        label = "other people" if taste == OTHERS else in_words(preference)
        found.append(
            TasteFacts(
                label, sum(heads.get(number or 0, 0) for number in alike[taste]), total[taste], felt, best, series, why
            )
        )
    return found


def _counted(bucket: Counter[Cell], tastes: set[int | None]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (taste, arm), many in bucket.items():
        if taste in tastes:
            found[arm] += many
    return found


def _lost(facts: Facts) -> list[tuple[float, float]]:
    """What was lost in feeling, bucket after bucket in all, by what is known now: as decided, and by the mean."""
    sign = 1.0 if facts.costs else -1.0
    sums, ours, theirs = [], 0.0, 0.0
    for bucket in range(max((len(taste.series) for taste in facts.tastes), default=0)):
        for taste in facts.tastes:
            if taste.best is None or facts.mean_best not in taste.felt:
                continue
            best = taste.felt[taste.best]
            for arm, many in taste.series[bucket].items():
                if not math.isnan(taste.felt.get(arm, math.nan)):  # an arm that has retired may have been better
                    ours += many * max(0.0, sign * (taste.felt[arm] - best))
                    theirs += many * max(0.0, sign * (taste.felt[facts.mean_best or ""] - best))
        sums.append((ours, theirs))
    return sums
