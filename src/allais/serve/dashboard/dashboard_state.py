"""What the dashboard remembers: notes moments while nobody looks, and works a page out once for all who do."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from functools import partial

from sqlalchemy import Connection, func, select

from allais.learner import Learner
from allais.serve.core.errors import unavailable
from allais.serve.core.evaluations import Asked
from allais.serve.core.experiment import Experiment
from allais.serve.core.service import Service, log
from allais.serve.core.values import Known
from allais.serve.dashboard.history import History, Traffic, row_of
from allais.serve.dashboard.session import Sessions
from allais.serve.dashboard.view_model import Facts, Snapshot, Summary, gather, summarised, unvalued
from allais.serve.store.tables import CANCELLED, EXPIRED, OPEN, TOLD, decisions

FRESH = 1.0  # seconds for which a page is good
MOST_WORK = 0.05  # of the time is spent on a page that is open, however long it takes to work out
ENDS = (TOLD, CANCELLED, EXPIRED)


class Tracked:
    """What is remembered about one experiment, in memory that does not grow with its decisions."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.traffic, self.history = Traffic(experiment.id), History()
        self.before: dict[str, int] | None = None  # decisions that had ended before this process counted
        self.lock = asyncio.Lock()
        self.facts: Facts | None = None
        self.at, self.lasts = -math.inf, FRESH
        self.summary: tuple[float, Summary] | None = None


class Dashboard:
    """The pages' own memory; it belongs to the event loop of the service."""

    def __init__(self, service: Service) -> None:
        self.service, self.sessions = service, Sessions()
        self._tracked: dict[str, Tracked] = {}

    async def run(self) -> None:
        """Note moments until the service stops."""
        await self.service.watch(lambda one: self._note(self._of(one)), "the values of %s could not be computed")

    async def look(self, name: str) -> Facts:
        """What a page shows about an experiment."""
        tracked = self._of(self.service.experiment(name))
        async with tracked.lock:
            experiment = await self.service.idle(name)
            fresh = tracked.experiment is experiment and time.monotonic() - tracked.at < tracked.lasts
            if tracked.facts is None or not fresh or tracked.facts.state != experiment.state:
                if tracked.before is None:
                    counts = dict(experiment.counts)
                    stored = await self.service.read(partial(_ended, experiment=experiment.id))
                    tracked.before = {end: stored.get(end, 0) - counts[end] for end in ENDS}
                snapshot = _snapshot(experiment, tracked.before, await self._learner(experiment))
                work = partial(gather, snapshot=snapshot, traffic=tracked.traffic, history=tracked.history)
                began = time.monotonic()
                tracked.facts = await self.service.read(work, long=True)
                tracked.at = time.monotonic()
                tracked.lasts = max(FRESH, (tracked.at - began) / MOST_WORK)
            return tracked.facts

    async def summaries(self) -> list[Summary]:
        """All experiments of this process, in a line each."""
        if not self.service.ready:
            raise unavailable()
        found = []
        for experiment in list(self.service.experiments.values()):
            await experiment.idle()
            tracked = self._of(experiment)
            if tracked.summary is None or time.monotonic() - tracked.summary[0] >= FRESH:
                snapshot = _snapshot(experiment, dict.fromkeys(ENDS, 0), await self._learner(experiment))
                tracked.summary = (time.monotonic(), await asyncio.to_thread(_summary, snapshot))
            found.append(tracked.summary[1]._replace(state=experiment.state, waiting=len(experiment.open)))
        broken = self.service.broken.items()
        return [*found, *(Summary(name, "broken", trouble=why) for name, why in broken)]

    async def _learner(self, experiment: Experiment) -> Learner:
        """A learner that threads may look at, while decisions go on."""
        if experiment.learner.policy.keeps_outcomes and experiment.has_few_arms:
            return experiment.learner  # a linear one writes while it is asked
        return await self.service.copy_of_learner(experiment.name)

    def _of(self, experiment: Experiment) -> Tracked:
        """What is remembered about an experiment; after a failure it is another object, and its counts begin anew."""
        found = self._tracked.get(experiment.name)
        if found is None or found.experiment.id != experiment.id:
            found = self._tracked[experiment.name] = Tracked(experiment)
        elif found.experiment is not experiment:
            found.experiment, found.before, found.facts = experiment, None, None
            found.summary = None
        return found

    async def _note(self, tracked: Tracked) -> None:
        if tracked.experiment.busy is not None:
            return
        learner = tracked.experiment.learner
        tracked.history.note(learner.asked + 1)
        outcomes = learner.samples
        if not tracked.history.restored:
            await self.service.read(partial(tracked.history.restore, experiment=tracked.experiment.id))
        if tracked.history.is_due(outcomes):
            twin = await self._learner(tracked.experiment)
            moment = await asyncio.to_thread(tracked.history.look, twin, outcomes)
            if self.service.experiments.get(tracked.experiment.name) is tracked.experiment:  # else it was deleted
                await self.service.write([row_of(moment, tracked.experiment.id)])


def _summary(snapshot: Snapshot) -> Summary:
    """An experiment in one line; one that fails leaves the lines of the others as they are."""
    try:
        return summarised(snapshot)
    except Exception:
        log.exception("the summary of %s failed", snapshot.name)
        return unvalued(snapshot)


def _ended(connection: Connection, experiment: int) -> dict[str, int]:
    counted = select(decisions.c.state, func.count()).where(
        decisions.c.experiment == experiment, decisions.c.state != OPEN
    )
    return {row[0]: int(row[1]) for row in connection.execute(counted.group_by(decisions.c.state))}


def _snapshot(experiment: Experiment, before: dict[str, int], learner: Learner) -> Snapshot:
    first = next(iter(experiment.open.values()), None)
    return Snapshot(
        experiment.name, experiment.id, experiment.state, experiment.settings, experiment.created_at,
        learner, experiment.pulls(), len(experiment.open), None if first is None else first.asked_at,
        {end: before[end] + experiment.counts[end] for end in ENDS},
        None if experiment.settings.test is None else Known.of(experiment), Asked.of_apprentice(experiment),
    )  # fmt: skip


def tag_of(content: str) -> str:
    """The ETag of a page."""
    return f'"{hashlib.sha256(content.encode()).hexdigest()[:20]}"'
