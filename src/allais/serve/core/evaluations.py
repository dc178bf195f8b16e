"""What other policies would have brought, by an experiment's own decisions; and what an apprentice would have gained.

Policies that are evaluated choose, in each decision, by the outcomes of earlier ones: what came later is not used.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from allais.evidence import Decisions, Evaluation, Worth, best_so_far, evaluate
from allais.evidence.data import numbered
from allais.evidence.targets import LOGGING
from allais.learner import Learner, LinearLearner
from allais.preferences import Preference, expected_value
from allais.preferences.named import in_words, preference_named
from allais.report.evidence_pages import AS_DECIDED, answers, assumptions, pictures, table
from allais.report.markup import share
from allais.serve.core.errors import Refused, refusing
from allais.serve.core.experiment import Experiment
from allais.serve.core.features import Encoding
from allais.serve.core.parse_settings import bounds_of
from allais.serve.core.restore import cuts_told, detail_of
from allais.serve.core.service import Service
from allais.serve.core.values import copy_for, finite
from allais.serve.store.tables import EXPIRED, OPEN, decisions

if TYPE_CHECKING:
    from markupsafe import Markup

PAGE = 5_000  # decisions that are read at once
MOST = 100_000  # decisions that are evaluated: the last ones
MOST_ARMS = 200
MOST_PREFERENCES = 4  # beside the experiment's own and the mean
APPRENTICE = "The policy that watches"
DELTA = 0.1
UNKNOWN = (
    "Nobody logged how likely the application's choices were. They are assumed to be independent of whatever else "
    "outcomes depend on: if the application chooses by what it knows about a case, this does not hold."
)


class Wanted(NamedTuple):
    """What an evaluation is asked for."""

    by: tuple[str, ...] = ()  # names of preferences
    floor: float | None = None
    person: str | None = None  # whose preference counts, too


class Asked(NamedTuple):
    """What is evaluated: read in the thread of the event loop, where it cannot change meanwhile."""

    id: int
    preferences: list[Preference]  # the experiment's own first
    floor: float | None
    bounds: tuple[float, float] | None
    apprentice: bool
    unit: str
    test: bool

    @classmethod
    def of(cls, experiment: Experiment, wanted: Wanted | None = None, persons: Preference | None = None) -> Asked:
        """What is asked about an experiment, checked."""
        policy, settings, wanted = experiment.learner.policy, experiment.settings, wanted or Wanted()
        if not policy.keeps_outcomes:
            raise Refused(
                409, f"other policies are evaluated for arms without features; {experiment.name!r} has some. Export "
                "its decisions, and call `allais evaluate` with the columns of its context.",
            )  # fmt: skip
        if experiment.learner.n_arms > MOST_ARMS:
            raise Refused(409, f"at most {MOST_ARMS} arms are evaluated; {experiment.name!r} has more. Export it.")
        mine = policy.preference
        with refusing():
            named = [preference_named(name, costs=mine.costs) for name in wanted.by]
        others = [expected_value(), *named, *([] if persons is None else [persons])]
        each = {in_words(one): one for one in (mine, *(other.in_frame_of(mine) for other in others))}
        bounds = bounds_of(policy)
        return cls(experiment.id, list(each.values()), wanted.floor, bounds, settings.apprentice, settings.unit,
                   settings.test is not None and settings.test.shares is not None)  # fmt: skip

    @classmethod
    def of_apprentice(cls, experiment: Experiment) -> Asked | None:
        """What is asked about an apprentice, beside what the application did; None where nothing is evaluated."""
        learner = experiment.learner
        evaluated = learner.policy.keeps_outcomes and learner.n_arms <= MOST_ARMS
        return cls.of(experiment) if experiment.settings.apprentice and evaluated else None


class Evaluated(NamedTuple):
    """What was found."""

    found: Evaluation | None  # none before there are outcomes
    notes: list[str]
    unit: str
    decisions: int

    @property
    def summary(self) -> str:
        """One sentence for each preference."""
        return "No outcomes yet." if self.found is None else " ".join(answers(self.found, self.unit))

    @property
    def assumptions(self) -> list[str]:
        """What it rests on."""
        return [] if self.found is None else assumptions(self.found)

    @property
    def pictures(self) -> list[tuple[str, Markup]]:
        """All policies with their intervals, by each preference."""
        return [] if self.found is None else pictures(self.found, self.unit)

    @property
    def table(self) -> Markup | str:
        """All numbers."""
        return "" if self.found is None else table(self.found, self.unit)


def evaluated(connection: Connection, asked: Asked) -> Evaluated:
    """What other policies would have brought, by what is on disk; in a thread, since it takes long."""
    log, would, notes = _read(connection, asked)
    if log is None or not log.told.n:
        return Evaluated(None, notes, asked.unit, 0 if log is None else log.n)
    targets: dict[str, Any] = {AS_DECIDED: LOGGING}
    if would is not None:
        targets[APPRENTICE] = would
    for preference in asked.preferences:
        targets[f"Always the best by {in_words(preference)}"] = best_so_far(log, preference)
    if asked.floor is not None:
        targets[f"The best, floor of {share(asked.floor)}"] = best_so_far(log, asked.preferences[0], floor=asked.floor)
    if asked.apprentice:
        notes.append(UNKNOWN)
    if asked.test:
        notes.append(
            "This is a test with fixed shares: its verdict counts each person once, and these intervals do not."
        )
    found = evaluate(log, targets, asked.preferences, delta=DELTA, bounds=_around(asked.bounds, log))
    findings = (one for one in found.findings if not (asked.apprentice and "propensities" in one))
    caveats = (one.caveat for one in found.worths if one.caveat)
    return Evaluated(found, list(dict.fromkeys([*notes, *findings, *caveats])), asked.unit, log.n)


def _around(bounds: tuple[float, float] | None, log: Decisions) -> tuple[float, float] | None:
    """The bounds, if all outcomes are within them: those of a retired arm may not be."""
    known = log.told.outcome
    return bounds if bounds is not None and bounds[0] <= known.min() and known.max() <= bounds[1] else None


def _read(connection: Connection, asked: Asked) -> tuple[Decisions | None, list[Any] | None, list[str]]:
    """The decisions as a log, what an apprentice would have done in each, and what is said of those left out."""
    columns = [decisions.c.arm, decisions.c.outcome, decisions.c.propensity, decisions.c.state, decisions.c.number]
    if asked.apprentice:
        columns.append(decisions.c.detail)
    wanted = select(*columns).where(decisions.c.experiment == asked.id).order_by(decisions.c.number.desc())
    rows = connection.execute(wanted.limit(MOST + 1)).all()[::-1]
    notes = []
    if len(rows) > MOST:
        rows = rows[1:]
        notes.append(f"These are the last {MOST:,} decisions.")
    if not rows:
        return None, None, notes
    if not asked.apprentice:
        known = [row for row in rows if row.propensity is not None]
        if not known:
            raise Refused(
                409, "other policies are evaluated by decisions that have a propensity; those of this experiment have "
                "none. NPTS, WUCB, IMED and tests with fixed shares have one.",
            )  # fmt: skip
        if len(known) < len(rows):
            notes.append(f"{len(rows) - len(known):,} decisions have no propensity, and are left out.")
        rows = known
    arms, chosen = numbered([row.arm for row in rows])
    outcome = np.array([math.nan if row.outcome is None else row.outcome for row in rows], dtype=np.float64)
    if not asked.apprentice:
        cuts, nothing = cuts_told(connection, asked.id), (math.nan, math.nan)
        ends = [cuts.get(row.number, nothing) if row.state in (OPEN, EXPIRED) else nothing for row in rows]
        low, high = (np.where(np.isnan(outcome), end, outcome) for end in np.array(ends).T)
        reach = (low, high) if np.isnan(outcome).sum() > np.isnan(low).sum() else None
        propensity = np.array([row.propensity for row in rows])
        return Decisions(tuple(arms), chosen, outcome, propensity, {}, reach), None, notes
    often = np.bincount(chosen) / chosen.size
    would = [detail_of(row.detail)["would"] for row in rows]
    return Decisions(tuple(arms), chosen, outcome, often[chosen], {}), would, notes


async def look(service: Service, name: str, wanted: Wanted) -> Evaluated:
    """What other policies would have brought."""
    known = None if wanted.person is None else await service.people.preference_of(wanted.person)
    if wanted.person is not None and known is None:
        raise Refused(404, f"a person must have a preference; {wanted.person!r} has none. Give her one.")
    asked = Asked.of(await service.idle(name), wanted, None if known is None else known[1])
    await service.write([])
    with refusing():
        return await service.read(partial(evaluated, asked=asked), long=True)


async def evaluation(service: Service, name: str, wanted: Wanted) -> dict[str, Any]:
    """What other policies would have brought, as an answer."""
    seen = await look(service, name, wanted)
    targets = [] if seen.found is None else [_shown(one) for one in seen.found.worths]
    return {
        "summary": seen.summary, "notes": seen.notes, "targets": targets,
        "decisions": seen.decisions, "outcomes": 0 if seen.found is None else seen.found.log.told.n, "delta": DELTA,
        "assumptions": seen.assumptions,
    }  # fmt: skip


def _shown(one: Worth) -> dict[str, Any]:
    return {
        "target": one.target, "by": one.by, "value": finite(one.value),
        "interval": [finite(end) for end in one.interval],
        "proven": None if one.proven is None else [finite(end) for end in one.proven], "outcomes": one.effective,
        "untried": one.untried, "caveat": one.caveat,
    }  # fmt: skip


# -- apprentices ----------------------------------------------------------------------------------


async def apprenticed(service: Service, name: str) -> dict[str, Any]:
    """What an apprentice would have done, and what that is worth by what is known now."""
    experiment, learner, _ = await copy_for(service, name, None)
    if not experiment.settings.apprentice:
        raise Refused(409, f"only an apprentice has such an answer; {name!r} decides by itself. Read its values.")

    values = {str(arm): value for arm, value in (await asyncio.to_thread(learner.value)).items()}

    def reading(connection: Connection) -> dict[str, Any]:
        wanted = select(decisions.c.arm, decisions.c.detail).where(decisions.c.experiment == experiment.id)
        rows = connection.execution_options(yield_per=PAGE).execute(wanted)
        many = agreed = 0
        sums, known = [0.0, 0.0], 0
        for page in rows.partitions():
            both = [(arm, detail_of(detail)) for arm, detail in page]
            many, agreed = many + len(both), agreed + sum(did == detail["would"] for did, detail in both)
            for pair in _worth(learner, values, both, experiment.features.encoding):
                if learner.samples and not any(map(math.isnan, pair)):
                    sums, known = [sums[0] + pair[0], sums[1] + pair[1]], known + 1
        worth, would = (one / known if known else None for one in sums)
        return {"decisions": many, "agreed": agreed, "worth": worth, "would_be_worth": would}

    answer = await service.read(reading, long=True)
    if (asked := Asked.of_apprentice(experiment)) is None:
        return answer
    seen = await service.read(partial(evaluated, asked=asked), long=True)
    both = [_brought(seen, target) for target in (AS_DECIDED, APPRENTICE)]
    return {**answer, "brought": both[0], "would_have_brought": both[1], "notes": seen.notes}


def _brought(seen: Evaluated, target: str) -> dict[str, float | None] | None:
    if seen.found is None:
        return None
    one = seen.found.worth(target)
    return {"value": finite(one.value), "low": finite(one.interval[0]), "high": finite(one.interval[1])}


def _worth(
    learner: Learner, values: dict[str, float], both: list[tuple[str, dict[str, Any]]], encoding: Encoding | None
) -> Iterator[tuple[float, float]]:
    """What was done, and what would have been done, by what is known now: of arms, or of what was seen of them."""
    if "features" not in both[0][1]:
        for did, detail in both:
            yield values[did], values[detail["would"]]
        return
    assert isinstance(learner, LinearLearner)
    assert encoding is not None
    done, would = (
        learner.values_of([encoding.padded(detail[name]) for _, detail in both])
        for name in ("features", "would features")
    )
    yield from zip(done.tolist(), would.tolist(), strict=True)
