"""What is known: recommendations, values and verdicts."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, null, select

from allais._checks import IntArray
from allais.evidence import Verdict, Verdicts
from allais.evidence.data import Log, known_ends, place_of
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
from allais.serve.store.tables import ARCHIVED, CANCELLED, EXPIRED, TOLD, decisions
from allais.serve.store.tables import OPEN as WAITING
from allais.serve.unfinished import ages_of

SHOWN = {KEEPS: "keeps", OPEN: "open", BREAKS: "breaks"}
STATES = (WAITING, TOLD, CANCELLED, EXPIRED)
AT_ONCE = 20_000  # rows that are read at a time
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
                409, f"a verdict compares arms without features; {experiment.name!r} has some, or is an apprentice."
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


# A decision of a test: its arm and state by their places, the person or, for nobody in particular, -1; when its outcome
# came; what the outcome is at least and at most, NaN where nothing is known.
ROW = np.dtype([(one, np.int64) for one in ("number", "arm", "state", "unit")] +
               [(one, np.float64) for one in ("at", "low", "high")])  # fmt: skip


def _rows(connection: Connection, known: Known) -> NDArray[Any]:
    """The decisions of a test in the order of their numbers, read in parts: there may be millions."""
    test, names = known.test, known.arms
    here = [decisions.c.experiment == known.id, decisions.c.number >= test.since, decisions.c.arm.in_(names)]
    if test.ended is not None:
        here.append(decisions.c.number <= test.ended.last)
    asked, who = decisions.c.asked_at, decisions.c.person if test.shares is not None else null()
    when = asked if known.counts_expired else func.coalesce(decisions.c.closed_at, asked)
    wanted = select(decisions.c.number, decisions.c.arm, decisions.c.state, who, when, decisions.c.outcome)
    found = connection.execution_options(yield_per=AT_ONCE).execute(wanted.where(*here).order_by(decisions.c.number))
    arms, states = ({name: k for k, name in enumerate(listed)} for listed in (names, STATES))
    people: dict[str, int] = {}
    parts = [np.zeros(0, ROW)]
    for part in found.partitions():
        number, arm, state, person, at, outcome = zip(*part, strict=True)
        parts.append(np.empty(len(part), ROW))
        parts[-1]["number"], parts[-1]["at"], parts[-1]["low"], parts[-1]["high"] = number, at, outcome, outcome
        parts[-1]["arm"], parts[-1]["state"] = [arms[one] for one in arm], [states[one] for one in state]
        parts[-1]["unit"] = [-1 if one is None else people.setdefault(one, len(people)) for one in person]
    rows = np.concatenate(parts)
    cuts = cuts_told(connection, known.id) | known.ages
    if cuts and rows.size:
        which, ends = np.fromiter(cuts, np.int64), np.array(list(cuts.values()), np.float64)
        place = np.minimum(np.searchsorted(rows["number"], which), rows.size - 1)
        cut = (rows["number"][place] == which) & np.isnan(rows["low"][place])
        rows["low"][place[cut]], rows["high"][place[cut]] = ends[cut].T
    return rows


def _told(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which count: an expired one may count as an outcome; open and expired ones may be known in part."""
    return (rows["state"] != STATES.index(CANCELLED)) & ~np.isnan(rows["low"])


def _users(rows: NDArray[Any]) -> IntArray:
    """The unit of each decision, numbered as they came: a person, or the decision itself."""
    alone = rows["unit"] < 0
    unit = np.where(alone, rows["unit"].max(initial=-1) + np.cumsum(alone), rows["unit"])
    _, first, inverse = np.unique(unit, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _units(rows: NDArray[Any], n_arms: int) -> IntArray:
    """How many units each arm has."""
    if (rows["unit"] < 0).all():
        return np.bincount(rows["arm"], minlength=n_arms)
    users = _users(rows)
    pairs = np.sort(rows["arm"] * (users.max() + 1) + users)
    return np.bincount(pairs[np.diff(pairs, prepend=-1) > 0] // (users.max() + 1), minlength=n_arms)


def judged(connection: Connection, known: Known) -> Judged:
    """The verdict by what is on disk: a function of the decisions, so that it survives whatever they survive."""
    test, names, rows = known.test, known.arms, _rows(connection, known)
    told, lost = rows[_told(rows)], rows[~_told(rows) & (rows["state"] != STATES.index(WAITING))]
    shares = None if known.shares is None else {name: known.shares[name] for name in names}
    groups = _groups(names, rows, shares)
    control = known.planned[place_of(test.control, known.planned)]
    first = names.index(control) if control in names else 0
    gone = [] if control in names else [f"{control!r} is out of play: others are compared with {names[0]!r}."]
    enough = np.flatnonzero(_units(told, len(names)) > 1).tolist()
    if first not in enough or len(enough) < 2:
        return Judged(groups, None, [*gone, *_missing(groups, None)])
    order = [first, *(k for k in enough if k != first)]
    place = np.full(len(names), -1)
    place[order] = np.arange(len(order))
    told = told[place[told["arm"]] >= 0]
    told = told[np.lexsort((told["number"], told["at"]))]
    ends = told["low"], told["high"]
    log = Log(
        tuple(names[k] for k in order), place[told["arm"]], known_ends(ends),
        _users(told) if (told["unit"] >= 0).any() else None, np.maximum.accumulate(told["at"]),
        reach=ends if (ends[0] < ends[1]).any() else None,
    )  # fmt: skip
    by, costs, bounds, rarest = metrics_of_test(test, known.policy, list(map(str, log.names)))
    planned: Any = "any" if shares is None else {name: shares[str(name)] for name in log.names}
    unlike = None if shares is None else _lost_unlike(lost, groups)
    found = verdict_of(log, by, costs, test.no_worse_than, bounds, rarest, planned, test.delta, known.unit,
                       arms=len(known.planned))  # fmt: skip
    if unlike is not None:
        found = found.withheld(unlike)
    return Judged(groups, found, [*gone, *_missing(groups, unlike)])


def _groups(names: list[str], rows: NDArray[Any], shares: dict[str, float] | None) -> list[dict[str, Any]]:
    told = _told(rows)
    chosen = told, ~told & (rows["state"] == STATES.index(WAITING)), np.ones(rows.size, np.bool_)
    counts = [np.bincount(rows["arm"][those], minlength=len(names)).tolist() for those in chosen]
    return [
        {
            "name": name, "share": None if shares is None else shares[name] / sum(shares.values()),
            "decisions": decided, "outcomes": outcomes, "waiting": waiting, "lost": decided - outcomes - waiting,
        }
        for name, outcomes, waiting, decided in zip(names, *counts, strict=True)
    ]  # fmt: skip


def _lost_unlike(lost: NDArray[Any], groups: list[dict[str, Any]]) -> str | None:
    """A sentence where groups lose outcomes unequally: otherwise, those that lose any would have the planned shares."""
    counts, planned = _units(lost, len(groups)), np.array([group["share"] for group in groups])
    if log_ratio_evidence([counts.tolist()], planned)[0] < math.log(1.0 / ALARM):
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
