"""What a page says about an experiment, worked out once for all who look."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from allais.bands import Interval
from allais.learner import ContextualLearner, Learner
from allais.preferences import Explanation, Preference, expected_value
from allais.preferences.named import FELT, heading_of, in_words
from allais.preferences.valuation import sure_amount, sure_in_words
from allais.report.effort import explained
from allais.report.words import ByMean, by_mean
from allais.serve.api.schemas import PlannedTest
from allais.serve.core.evaluations import Asked, Evaluated, evaluated
from allais.serve.core.restore import preference_numbered
from allais.serve.core.service import log
from allais.serve.core.values import Judged, Known, guardrails_of, judged
from allais.serve.dashboard.history import (
    OTHERS,
    Cell,
    History,
    Moment,
    Traffic,
    certainty_equivalents,
    keeps_intervals,
    listed,
)
from allais.serve.store.tables import people
from allais.serve.unfinished import expiry_in_words

T = TypeVar("T")

RECENT = 1_000  # outcomes: an older alarm is not announced
MOST_GROUPS = 6  # of people, that a page shows
COLOURS = 8  # arms beyond them are grey
LATELY = 0.25  # of the buckets at the end, which say where traffic goes now


@dataclass(frozen=True)
class ArmFacts:
    """An arm."""

    name: str
    in_play: bool
    outcomes: int
    waiting: int  # its decisions that wait for a reward
    mean: float
    sure: Interval  # its certainty equivalent by the experiment's own preference
    lately: float  # its share of the last decisions
    alarms: int
    ago: int | None  # outcomes since the last alarm


@dataclass(frozen=True)
class GroupFacts:
    """People with the same preference."""

    label: str
    heading: str  # of their certainty equivalents
    people: int
    decisions: int
    sure: dict[str, float]  # the certainty equivalent of each arm
    best: str | None
    series: list[Counter[str]]  # where their decisions went, bucket by bucket
    why: dict[str, Explanation]  # of their best arm and of that with the best mean

    @property
    def lately(self) -> Counter[str]:
        """How many of the last decisions went to each arm."""
        last = self.series[-max(1, round(LATELY * len(self.series))) :]
        return sum(last, Counter())

    @property
    def explained(self) -> list[str]:
        """The arms whose values are explained, the best one first."""
        return sorted((name for name in self.why if name in self.sure), key=lambda name: name != self.best)


@dataclass(frozen=True)
class Facts:
    """All that a page shows."""

    name: str
    state: str
    unit: str
    costs: bool
    policy: str
    preference: str
    of: Preference  # whose values are shown
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
    own_intervals: bool  # the policy's, and not bootstrap intervals
    groups: list[GroupFacts]
    moments: list[Moment]
    width: int  # decisions per bucket
    lost: list[tuple[float, float]] = field(default_factory=list)  # by bucket: as decided, always the best mean
    failed: list[str] = field(default_factory=list)  # parts that could not be worked out
    broken: list[str] = field(default_factory=list)  # arms that are shown to break a guardrail
    guardrails: str = ""  # what they demand
    test: PlannedTest | None = None
    verdict: Judged | None = None  # of a test
    worth_of_apprentice: Evaluated | None = None  # beside what the application did
    expiry: str = ""  # what expired decisions count as
    unfinished: str = ""  # how many outcomes of the best arm are not finished, and what that leaves open
    across: list[dict[str, Any]] = field(
        default_factory=list
    )  # values of the feature that matters most, and arms there

    def worth(self, sure: float) -> str:
        """What an arm's certainty equivalent means."""
        return sure_in_words(self.of, sure, self.unit, subject="it")

    @property
    def of_each(self) -> str:
        """What the numbers of arms are, as a title begins."""
        heading = heading_of(self.of)
        return "What each arm feels like for sure" if heading == FELT else f"{heading.capitalize()} of each arm"

    def colour(self, name: str) -> str:
        """The class of an arm's colour: by its place, so that it keeps it in all pictures."""
        places = [arm.name for arm in self.arms[:COLOURS]]
        return f"s{places.index(name)}" if name in places else "other"


class Summary(NamedTuple):
    """An experiment in one line."""

    name: str
    state: str
    unit: str = ""
    outcomes: int = 0
    waiting: int = 0
    arms: int = 0
    best: str | None = None
    sure: float = math.nan  # the certainty equivalent of the best
    alarms: int = 0
    trouble: str = ""  # why it could not be read


@dataclass(frozen=True)
class Snapshot:
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
    known: Known | None = None  # of a test
    asked: Asked | None = None  # of an apprentice


def gather(connection: Connection, snapshot: Snapshot, traffic: Traffic, history: History) -> Facts:
    """Work out what a page shows; in another thread."""
    traffic.catch_up(connection)
    learner, settings = snapshot.learner, snapshot.settings
    preference = learner.policy.preference
    failed: list[str] = []

    def worked_out(part: str, otherwise: T, work: Callable[[], T]) -> T:
        """A part of the facts; one that fails leaves the others as they are."""
        try:
            return work()
        except SQLAlchemyError:  # the database is away: there is no page
            raise
        except Exception:
            log.exception("a part of the page of %s failed: %s", snapshot.name, part)
            failed.append(part)
            return otherwise

    shown, by_features = listed(learner), settings.terms is not None or isinstance(learner, ContextualLearner)
    mean = worked_out("The mean", ByMean(None, {}), lambda: _by_mean(learner, by_features=by_features))
    sure: dict[str, Interval] = worked_out(
        "Values", {}, lambda: certainty_equivalents(learner, shown) if learner.samples else {}
    )
    best_mean = None if mean.arm is None else str(mean.arm)
    groups: list[GroupFacts] = worked_out("People", [], lambda: _groups(connection, learner, traffic, shown, best_mean))
    lately = sum((group.lately for group in groups), Counter[str]())
    in_play, pulls, waiting = set(learner.arms), snapshot.pulls, learner.waiting
    drift = learner.drift() if learner.policy.keeps_outcomes else {}
    arms = [
        ArmFacts(
            name, name in in_play, pulls[name], waiting[name], mean.means.get(name, math.nan),
            sure.get(name, Interval(math.nan, math.nan, math.nan)), lately[name] / max(lately.total(), 1),
            drift[name].alarms if name in drift else 0, drift[name].ago if name in drift else None,
        )
        for name in shown
    ]  # fmt: skip
    known, verdict, cut = snapshot.known, None, any(learner.unfinished.values())
    if known is not None:
        verdict = worked_out("The verdict", None, lambda: judged(connection, known))
    asked, worth = snapshot.asked, None
    if asked is not None:
        worth = worked_out("The apprentice", None, lambda: evaluated(connection, asked))
    return Facts(
        snapshot.name, snapshot.state, settings.unit, preference.costs, type(learner.policy).__name__,
        in_words(preference), preference, settings.apprentice, by_features, snapshot.created_at,
        settings.expires_after, learner.samples, snapshot.waiting, snapshot.oldest, snapshot.ended,
        history.per_minute(), traffic.last, arms,
        len(pulls) - len(shown), _best(preference, {arm.name: arm.sure.value for arm in arms if arm.in_play}),
        best_mean, keeps_intervals(learner), groups,
        list(history.moments), traffic.width, _lost(groups, best_mean, costs=preference.costs), failed,
        test=settings.test, verdict=verdict, worth_of_apprentice=worth,
        expiry=expiry_in_words(settings),
        unfinished=worked_out("Unfinished outcomes", "", lambda: learner.recommend().unfinished) if cut else "",
        guardrails=" and ".join(one.in_words(settings.unit) for one in learner.policy.guardrails),
        broken=worked_out("Guardrails", [], lambda: [
            str(arm) for arm, found in guardrails_of(learner).items() if found == "breaks"
        ]),
        across=worked_out("Contexts", [], lambda: _across(learner)),
    )  # fmt: skip


def _across(learner: Learner) -> list[dict[str, Any]]:
    """What arms feel like for sure at some values of the feature that matters most, to a policy that knows contexts."""
    if not isinstance(learner, ContextualLearner):
        return []
    own, feature = learner.policy.preference, next(iter(learner.features), "")
    return [
        {"feature": feature, **row, "sure": {str(arm): sure_amount(own, x) for arm, x in row["values"].items()}}
        for row in learner.across()
    ]


def _by_mean(learner: Learner, *, by_features: bool) -> ByMean:
    """What the mean would choose; a linear policy tells means by theta, and with features it depends on the moment."""
    if learner.policy.keeps_outcomes or not learner.samples:
        found = by_mean(learner)
        return ByMean(None, found.means) if by_features else found
    mine = learner.policy.preference
    plainly = expected_value(reference=mine.reference, costs=mine.costs)
    means = {name: sure_amount(plainly, value) for name, value in learner.value(plainly).items()}
    best = _best(mine, {str(name): mean for name, mean in means.items() if name in learner.arms})
    return ByMean(None if by_features else best, means)


def summarised(snapshot: Snapshot) -> Summary:
    """An experiment in one line."""
    learner, preference = snapshot.learner, snapshot.learner.policy.preference
    sure = {str(name): sure_amount(preference, value) for name, value in learner.value().items()}
    best = _best(preference, {name: sure[name] for name in map(str, learner.arms)})
    drift = learner.drift().values() if learner.policy.keeps_outcomes else ()
    recent = sum(one.ago is not None and one.ago <= RECENT for one in drift)
    return unvalued(snapshot)._replace(best=best, sure=sure.get(best or "", math.nan), alarms=recent)


def unvalued(snapshot: Snapshot) -> Summary:
    """An experiment in one line, without what has to be computed."""
    learner = snapshot.learner
    return Summary(
        snapshot.name, snapshot.state, snapshot.settings.unit, learner.samples, snapshot.waiting, len(learner.arms)
    )


def _best(preference: Preference, sure: dict[str, float]) -> str | None:
    seen = {name: amount for name, amount in sure.items() if not math.isnan(amount)}
    pick = min if preference.costs else max
    return pick(seen, key=seen.__getitem__) if seen else None


def _groups(
    connection: Connection, learner: Learner, traffic: Traffic, shown: list[str], mean: str | None
) -> list[GroupFacts]:
    """Groups of people with the same preference: those with the most decisions, in a stable order."""
    total: Counter[int | None] = Counter()
    for (number, _), many in traffic.total().items():
        total[number] += many
    own = learner.policy.preference
    framed: dict[int | None, Preference] = {None: own, OTHERS: own}
    alike: dict[int | None, set[int | None]] = {None: set()}  # preferences that are the same in this experiment
    first: dict[Preference, int | None] = {own: None}
    for number in sorted(total, key=lambda number: number or 0):
        place = number
        if number is not None and number not in framed:
            framed[number] = preference_numbered(connection, number).in_frame_of(own)
            place = first.setdefault(framed[number], number)
        alike.setdefault(place, set()).add(number)
    for place, numbers in alike.items():
        total[place] = sum(total.pop(number, 0) for number in numbers)
    if not total[None] and len(total) > 1:
        del total[None]
    asked = [number for numbers in alike.values() for number in numbers if number]
    counted = select(people.c.preference, func.count()).where(people.c.preference.in_(asked))
    heads = {row[0]: int(row[1]) for row in connection.execute(counted.group_by(people.c.preference))}
    most = sorted(total, key=lambda number: (number == OTHERS, -total[number]))[:MOST_GROUPS] or [None]
    found = []
    for place in sorted(most, key=lambda number: (number is not None, number == OTHERS, number or 0)):
        preference = framed[place]
        values = learner.value(preference)
        sure = {name: sure_amount(preference, values[name]) for name in shown}
        best = _best(preference, {name: amount for name, amount in sure.items() if name in learner.arms})
        why = {}
        if learner.policy.keeps_outcomes:
            why = {name: explained(learner, name, preference) for name in {best, mean} if name is not None}
        found.append(
            GroupFacts(
                "other people" if place == OTHERS else in_words(preference), heading_of(preference),
                sum(heads.get(number or 0, 0) for number in alike[place]), total[place], sure, best,
                [_counted(bucket, alike[place]) for bucket in traffic.buckets], why,
            )
        )  # fmt: skip
    return found


def _counted(bucket: Counter[Cell], preferences: set[int | None]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (number, arm), many in bucket.items():
        if number in preferences:
            found[arm] += many
    return found


def _lost(groups: list[GroupFacts], mean_best: str | None, *, costs: bool) -> list[tuple[float, float]]:
    """What was lost, bucket after bucket in all, by what is known now: as decided, and by the mean."""
    sign = 1.0 if costs else -1.0
    sums, ours, theirs = [], 0.0, 0.0
    for bucket in range(max((len(group.series) for group in groups), default=0)):
        for group in groups:
            if group.best is None or mean_best not in group.sure:
                continue
            best = group.sure[group.best]
            for arm, many in group.series[bucket].items():
                if not math.isnan(group.sure.get(arm, math.nan)):  # an arm that has retired may have been better
                    ours += many * max(0.0, sign * (group.sure[arm] - best))
                    theirs += many * max(0.0, sign * (group.sure[mean_best or ""] - best))
        sums.append((ours, theirs))
    return sums
