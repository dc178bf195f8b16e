"""What is known: recommendations, values and verdicts."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from allais.evidence import Verdict, Verdicts
from allais.evidence.data import Log, known_ends, numbered, place_of
from allais.evidence.ratio import ALARM, Word, log_ratio_evidence
from allais.evidence.verdicts import verdict_of
from allais.learner import Learner
from allais.policies.core.base import Policy
from allais.policies.core.guardrails import BREAKS, KEEPS, OPEN, Feasibility
from allais.preferences import Preference, expected_value
from allais.preferences.valuation import sure_amount
from allais.samples.cuts import Cut
from allais.serve.api.schemas import MOST_GROUPS, PlannedTest
from allais.serve.core.errors import Refused, refusing
from allais.serve.core.experiment import Experiment
from allais.serve.core.parse_settings import metrics_of_test
from allais.serve.core.restore import cuts_told
from allais.serve.core.service import Service
from allais.serve.store.tables import ARCHIVED, CANCELLED, decisions
from allais.serve.store.tables import OPEN as WAITING
from allais.serve.unfinished import ages_of

SHOWN = {KEEPS: "keeps", OPEN: "open", BREAKS: "breaks"}
LOOKED = 1.0 + 1.0 / 32.0  # from one look at a test that ends by itself to the next


def finite(number: float) -> float | None:
    """A number as JSON has it: none where there is none."""
    return number if math.isfinite(number) else None


async def copy_for(service: Service, name: str, person: str | None) -> tuple[Experiment, Learner, Preference | None]:
    """A learner that nobody else changes, on disk by now, and whose preference counts.

    A copy, since looking at the live one would make views that a restarted service does not have.
    """
    known = None if person is None else await service.people.preference_of(person)
    twin = await service.copy_of_learner(name)
    experiment = service.experiment(name)
    await service.write([])
    return experiment, twin, None if known is None else known[1]


async def recommend(service: Service, name: str, person: str | None) -> dict[str, Any]:
    """The best arm so far."""
    _, learner, preference = await copy_for(service, name, person)
    with refusing():
        best = await asyncio.to_thread(learner.recommend, preference)
    low, high = (None, None) if best.interval is None else (best.interval.low, best.interval.high)
    return {
        "arm": None if best.arm is None else str(best.arm), "guardrails": best.guardrails or None,
        "unfinished": best.unfinished or None,
        "value": finite(best.value), "low": low, "high": high, "settled": best.settled,
        "person": person, "feels_like": finite(sure_amount(_framed(learner, preference), best.value)),
    }  # fmt: skip


async def value(service: Service, name: str, person: str | None) -> dict[str, Any]:
    """What every arm is worth."""
    experiment, learner, preference = await copy_for(service, name, person)
    pulls = experiment.pulls()
    with refusing():
        arms = await asyncio.to_thread(values_of, learner, preference, pulls)
    in_play = [arm for arm in arms if arm["in_play"]]
    return {
        "person": person,
        "arms": arms,
        "best": _highest(in_play, "value"),
        "best_mean": _highest(in_play, "mean", costs=learner.policy.preference.costs),
    }


def _framed(learner: Learner, preference: Preference | None) -> Preference:
    """Somebody's preference as it values the outcomes of this experiment."""
    mine = learner.policy.preference
    return mine if preference is None else preference.in_frame_of(mine)


def _highest(arms: list[dict[str, Any]], by: str, *, costs: bool = False) -> str:
    """The best arm by one of its numbers; of costs, the lowest."""
    sign = -1.0 if costs else 1.0
    return str(max(arms, key=lambda arm: -math.inf if arm[by] is None else sign * arm[by])["name"])


def values_of(learner: Learner, preference: Preference | None, outcomes: dict[str, int]) -> list[dict[str, Any]]:
    """All arms as somebody values them, which is higher for a better one, and their means in the experiment's unit."""
    framed, plain = _framed(learner, preference), _framed(learner, expected_value())
    means = learner.value(plain)
    values = learner.value(preference)
    intervals = learner.intervals() if framed == learner.policy.preference else {}
    drift = learner.drift() if learner.policy.keeps_outcomes else {}
    in_play, shown, unfinished = set(learner.arms), guardrails_of(learner), learner.unfinished
    return [
        {
            "name": str(arm),
            "in_play": arm in in_play,
            "outcomes": outcomes[str(arm)],
            "unfinished": unfinished[arm],
            "value": finite(values[arm]),
            "feels_like": finite(sure_amount(framed, values[arm])),
            "mean": finite(sure_amount(plain, means[arm])),
            "low": finite(intervals[arm].low) if arm in intervals else None,
            "high": finite(intervals[arm].high) if arm in intervals else None,
            "alarms": drift[arm].alarms if arm in drift else 0,
            "last_alarm": drift[arm].ago if arm in drift else None,
            "guardrails": shown.get(arm),
        }
        for arm in learner.pulls
    ]


def guardrails_of(learner: Learner) -> dict[Hashable, str]:
    """What is shown about each arm's guardrails: keeps, open or breaks; nothing where there are none."""
    policy = learner.policy
    if not policy.guardrails:
        return {}
    shown = Feasibility(policy, learner.n_arms).shown(learner.state.memory).tolist()
    return {name: SHOWN[one] for name, one in zip(learner.pulls, shown, strict=True)}


# -- verdicts -------------------------------------------------------------------------------------


class Known(NamedTuple):
    """What a test knows of itself: read in the thread of the event loop, where it cannot change meanwhile."""

    id: int
    test: PlannedTest
    policy: Policy
    arms: list[str]  # that are compared
    planned: list[str]  # that were ever in the test: they share delta
    shares: dict[str, float] | None  # that were planned, where they were kept
    unit: str
    ages: dict[int, Cut]  # what time tells of open decisions, where the outcome is elapsed time
    counts_expired: bool  # then rows are in the order of decisions: expired ones are closed late

    @classmethod
    def of(cls, experiment: Experiment) -> Known:
        """What is known of the test of an experiment; where none was declared, that of its arms as they are."""
        policy = experiment.learner.policy
        if not policy.keeps_outcomes or experiment.settings.apprentice:
            raise Refused(
                409, f"a verdict compares arms without features; {experiment.name!r} has some, or only watches."
            )
        arms = [str(arm) for arm in experiment.learner.arms]
        test = experiment.settings.test or PlannedTest()
        ever = list(map(str, test.shares or experiment.pulls()))
        if len(arms) < 2:  # the others went out of play: what was found until then
            arms = ever
        planned = test.shares
        if planned is not None and len(experiment.learner.arms) < 2 < len(arms):
            planned = None  # one after the other, so that shares changed
        if len(arms) > MOST_GROUPS:
            raise Refused(409, f"a verdict compares {MOST_GROUPS} arms at most; {experiment.name!r} has {len(arms):,}.")
        settings, ages = experiment.settings, ages_of(experiment)
        counts = experiment.elapsed or settings.expires_as is not None
        return cls(experiment.id, test, policy, arms, ever, planned, settings.unit, ages, counts)


class Judged(NamedTuple):
    """What the outcomes of a test say."""

    groups: list[dict[str, Any]]
    found: Verdicts | None  # none while a group has too few outcomes
    notes: list[str]

    @property
    def decided(self) -> bool:
        """Whether every group is: lost by one metric, or decided by all. One without outcomes is not."""
        names = () if self.found is None else self.found.log.names
        return len(names) == len(self.groups) and all(self._words(group) is not None for group in names[1:])

    def _words(self, group: Hashable) -> list[Word] | None:
        words = [one.word for one in self.found or () if one.group == group]
        return words if "worse" in words or "not yet" not in words else None

    @property
    def winner(self) -> str:
        """What to choose: the best by the first metric among the groups that are worse by none, or the control."""
        assert self.found is not None
        won = {}
        for one in reversed(self.found):  # the first metric counts
            if "worse" not in (self._words(one.group) or ()):
                won[str(one.group)] = one.difference.value * (1.0 if one.metric.costs else -1.0)
        return min(won, key=won.__getitem__, default=str(self.found.log.names[0]))

    @property
    def summary(self) -> str:
        """One sentence or two."""
        return "No verdict yet: a group has too few outcomes." if self.found is None else self.found.summary


def judged(connection: Connection, known: Known) -> Judged:
    """The verdict by what is on disk: a function of the decisions, so that it survives whatever they survive."""
    test, names = known.test, known.arms
    here = [decisions.c.experiment == known.id, decisions.c.number >= test.since, decisions.c.arm.in_(names)]
    if test.ended is not None:
        here.append(decisions.c.number <= test.ended.last)
    columns = [decisions.c[one] for one in ("arm", "number", "state", "outcome", "person", "asked_at", "closed_at")]
    rows = connection.execute(select(*columns).where(*here)).all()
    cuts = cuts_told(connection, known.id) | known.ages
    told: list[Any] = []
    others: list[Any] = []
    for row in rows:  # an expired one may count as an outcome; open and expired ones may be known in part
        counts = row.state != CANCELLED and (row.outcome is not None or row.number in cuts)
        (told if counts else others).append(row)
    shares = None if known.shares is None else {name: known.shares[name] for name in names}
    groups = _groups(names, told, others, shares)
    control = known.planned[place_of(test.control, known.planned)]
    first = names.index(control) if control in names else 0
    gone = [] if control in names else [f"{control!r} is out of play: others are compared with {names[0]!r}."]
    units = {group["name"]: group["outcomes"] for group in groups}
    if test.shares is not None:  # who has a name is one unit
        units = _units(told)
    enough = [name for name in names if units.get(name, 0) > 1]
    if names[first] not in enough or len(enough) < 2:
        return Judged(groups, None, [*gone, *_missing(groups, None)])
    order = [names[first], *(name for name in enough if name != names[first])]
    place = {name: k for k, name in enumerate(order)}
    when = {row.number: row.closed_at if row.closed_at and not known.counts_expired else row.asked_at for row in told}
    told = sorted((row for row in told if row.arm in place), key=lambda row: (when[row.number], row.number))
    users = None
    if test.shares is not None and any(row.person is not None for row in told):
        _, users = numbered([row.number if row.person is None else row.person for row in told])
    ends = [cuts[row.number] if row.outcome is None else (row.outcome, row.outcome) for row in told]
    low, high = np.array(ends, dtype=np.float64).T
    log = Log(
        tuple(order), np.array([place[row.arm] for row in told]), known_ends((low, high)), users,
        np.maximum.accumulate([when[row.number] for row in told]),
        reach=(low, high) if (low < high).any() else None,
    )  # fmt: skip
    by, costs, bounds, rarest = metrics_of_test(test, known.policy, order)
    planned: Any = "any" if shares is None else {name: shares[name] for name in order}
    lost = None if shares is None else _lost_unlike([row for row in others if row.state != WAITING], groups)
    found = verdict_of(log, by, costs, test.no_worse_than, bounds, rarest, planned, test.delta, known.unit,
                       arms=len(known.planned))  # fmt: skip
    if lost is not None:
        found = found.withheld(lost)
    return Judged(groups, found, [*gone, *_missing(groups, lost)])


def _groups(
    names: list[str], told: list[Any], others: list[Any], shares: dict[str, float] | None
) -> list[dict[str, Any]]:
    outcomes = Counter(row.arm for row in told)
    waiting = Counter(row.arm for row in others if row.state == WAITING)
    lost = Counter(row.arm for row in others) - waiting
    return [
        {
            "name": name, "share": None if shares is None else shares[name] / sum(shares.values()),
            "decisions": outcomes[name] + waiting[name] + lost[name],
            "outcomes": outcomes[name], "waiting": waiting[name], "lost": lost[name],
        }
        for name in names
    ]  # fmt: skip


def _units(rows: list[Any]) -> dict[str, int]:
    """How many units each arm has: people, and decisions for nobody in particular."""
    each = {(row.arm, row.number if row.person is None else row.person) for row in rows}
    return Counter(arm for arm, _ in each)


def _lost_unlike(lost: list[Any], groups: list[dict[str, Any]]) -> str | None:
    """A sentence where groups lose outcomes unequally: otherwise, those that lose any would have the planned shares."""
    units = _units(lost)
    counts, planned = [units.get(group["name"], 0) for group in groups], np.array([group["share"] for group in groups])
    if log_ratio_evidence([counts], planned)[0] < math.log(1.0 / ALARM):
        return None
    each = ", ".join(f"{group['name']}: {group['lost']:,} of {group['decisions']:,}" for group in groups)
    return (
        f"Outcomes are lost more often in one group than in another ({each}), and what is lost may be what matters. "
        "Find out why, or tell an outcome for those, too, such as the time after which a request was given up."
    )


def _missing(groups: list[dict[str, Any]], lost: str | None) -> Iterator[str]:
    """What is said of decisions without an outcome."""
    for of, what in (("waiting", "still wait for their outcome"), ("lost", "were lost (expired or cancelled)")):
        if any(group[of] for group in groups):
            each = ", ".join(f"{group['name']}: {group[of] / max(group['decisions'], 1):.2%}" for group in groups)
            yield f"Decisions that {what}: {each}. The verdict is about the others."
    if lost is not None:
        yield lost


async def verdict(service: Service, name: str) -> dict[str, Any]:
    """What the outcomes of a test say, by what is on disk."""
    known = Known.of(await service.idle(name))
    await service.write([])
    with refusing():
        found = await service.read(partial(judged, known=known), long=True)
    notes = [*found.notes, *dict.fromkeys(one.doubt for one in found.found or () if one.doubt)]
    return {
        "summary": found.summary, "notes": list(dict.fromkeys(notes)), "decided": found.decided,
        "verdicts": [_comparison(one) for one in found.found or ()], "groups": found.groups,
        "assumptions": [] if found.found is None else found.found.assumptions, "ended": known.test.ended,
    }  # fmt: skip


def _comparison(one: Verdict) -> dict[str, Any]:
    return {
        "group": str(one.group), "control": str(one.control), "by": one.by, "word": one.word, "sentence": one.sentence,
        "difference": [finite(end) for end in one.difference],
        "relative": None if one.relative is None else [finite(end) for end in one.relative],
        "p_value": one.p_value, "e_value": one.e_value, "promise": one.promise, "doubt": one.doubt,
        "forecast": None if one.forecast is None else str(one.forecast),
    }  # fmt: skip


async def stop_if_decided(service: Service, name: str) -> None:
    """End a test that is to end by itself, if every group is decided."""
    found = await service.read(partial(judged, known=Known.of(await service.idle(name))), long=True)
    experiment = await service.idle(name)
    test = experiment.settings.test
    if not found.decided or test is None or not test.stop or test.ended is not None or experiment.state == ARCHIVED:
        return
    with service.changing:
        rows = experiment.end_test(found.winner, found.summary, time.time())
    await service.write(rows)


async def watch(service: Service) -> None:
    """Look at tests that end by themselves, whenever their outcomes have grown by a 32nd, until the service stops."""

    def due(experiment: Experiment, before: int | None) -> int | None:
        test, seen = experiment.settings.test, experiment.learner.samples
        runs = test is not None and test.stop and test.ended is None
        return seen if runs and seen >= (before or 1) * LOOKED else None

    failed = "the test of %s could not be looked at"
    await service.watch(lambda one: stop_if_decided(service, one.name), failed, due)
