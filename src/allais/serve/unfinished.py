"""Outcomes of decisions that are not finished: what a caller tells of them, what time tells, and what expiry means."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
from typing import Any

from allais.learner import Learner, NotNow
from allais.samples.cuts import Cut, in_words, known_cut
from allais.serve.api.schemas import ExperimentSettings, Import, Reward
from allais.serve.core.errors import Refused, refusing
from allais.serve.core.experiment import MOST_AT_ONCE, Experiment
from allais.serve.store.tables import ARCHIVED, EXPIRED, RUNNING
from allais.serve.store.writer import Row

FIRST = 1e-3  # of the time until expiry: until then nothing is known of a decision
GROWTH = 1.1  # by which a decision grows older before that is noted: each is noted some 70 times at most
SECONDS = {
    **dict.fromkeys(("", "s", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}


def longest(settings: ExperimentSettings) -> float:
    """The time after which a decision expires, in the unit of outcomes."""
    return settings.expires_after / SECONDS[settings.unit.strip().lower()]


def check_outcome(settings: ExperimentSettings, learner: Learner) -> None:
    """Refuse an experiment whose outcomes, or what expired decisions count as, its policy cannot take."""
    if settings.outcome == "elapsed":
        if settings.unit.strip().lower() not in SECONDS:
            raise Refused(422, f"elapsed time is in seconds, ms, minutes, hours or days; got {settings.unit!r}.")
        if settings.apprentice or settings.terms is not None or settings.expires_as is not None:
            raise Refused(422, "elapsed time cannot be combined with apprentice, terms or expires_as. Leave these out.")
        for arm in learner.arms:
            learner.check_cut(arm, at_least=longest(settings))
    elif settings.expires_as is not None:
        if settings.apprentice or settings.terms is not None:
            raise Refused(422, "expires_as cannot be combined with apprentice or terms. Leave it out.")
        for arm in learner.arms:
            learner.check_reward(arm, settings.expires_as)


def warm(learner: Learner) -> None:
    """Compile what unfinished outcomes need, on a learner of its own: in a thread, so that nobody waits for it."""
    low = next((one.support[0] for one in learner.policy.rewards_of(1)), 0.0)
    learner.tell(learner.ask(), at_least=low if math.isfinite(low) else 0.0)
    learner.ask()


async def warmed(experiment: Experiment, call: Reward | Import) -> None:
    """Compile what the first unfinished outcome of an experiment needs, before a call brings it."""
    if call.at_least is not None or call.at_most is not None:
        learner = experiment.learner
        if not any(learner.unfinished.values()) and experiment.state == RUNNING:
            with contextlib.suppress(ValueError, NotNow):  # whoever has no use for it says so when it is told
                await asyncio.to_thread(warm, learner.copy())


def age_of(experiment: Experiment, number: int) -> float:
    """How long a decision has lasted so far, in the unit of outcomes; one that is overdue counts as expired."""
    return _in_units(experiment.settings, experiment.clock.now() - experiment.open[number].clock)


def ages_of(experiment: Experiment) -> dict[int, Cut]:
    """What time tells of all decisions that are open, where the outcome is elapsed time.

    Once no reward is taken any more, time tells nothing: then the last of them says how long they were open at least.
    """
    if not (experiment.elapsed and experiment.open):
        return {}
    asked = {number: found.clock for number, found in experiment.open.items()}
    now = max(asked.values()) if experiment.state == ARCHIVED else experiment.clock.now()
    return {number: (_in_units(experiment.settings, now - began), math.inf) for number, began in asked.items()}


def _in_units(settings: ExperimentSettings, seconds: float) -> float:
    return min(max(seconds, 0.0) / SECONDS[settings.unit.strip().lower()], longest(settings))


def grow(experiment: Experiment) -> None:
    """Let open decisions be known to last at least as long as they have, where the outcome is elapsed time.

    That is not an event: it follows from when they were asked.
    """
    due, clock = experiment.due if experiment.state != ARCHIVED else [], experiment.clock.now()
    for _ in range(MOST_AT_ONCE):
        if not due or due[0][0] > clock:
            return
        _, number = heapq.heappop(due)
        if (found := experiment.open.get(number)) is None:
            continue
        first, age = FIRST * experiment.settings.expires_after, clock - found.clock
        if age >= first:
            experiment.learner.tell(number, at_least=age_of(experiment, number))
        heapq.heappush(due, (found.clock + max(first, GROWTH * age), number))


def reward(experiment: Experiment, number: int, call: Reward, now: float) -> list[Row] | None:
    """The rows of a reward, or of what is known of it so far; None if the decision is not open."""
    cut = None if (call.at_least, call.at_most) == (None, None) else (call.at_least, call.at_most)
    found = experiment.open.get(number)
    if experiment.elapsed:
        if call.outcome is not None or cut is not None:
            raise Refused(422, "here an outcome is the time until the reward comes; got an outcome. Leave it out.")
        if found is None:
            return None
        experiment.require_open()
        late = experiment.clock.now() - found.clock >= experiment.settings.expires_after
        return give_up(experiment, number, now) if late else experiment.reward(
            number, age_of(experiment, number), call.key, now
        )  # fmt: skip
    if (call.outcome is None) == (cut is None):
        got = "neither" if cut is None else "both"
        raise Refused(422, f"a reward has an outcome, or at_least and at_most; got {got}. Send one of them.")
    if cut is None:
        assert call.outcome is not None
        return experiment.reward(number, call.outcome, call.key, now)
    if found is None:
        return None
    experiment.require_open()
    if found.apprentice:
        raise Refused(422, "an apprentice learns from finished outcomes only; got a part. Send the outcome.")
    with refusing(experiment.name):
        known_cut(between=cut)
        experiment.learner.tell(number, between=cut, final=call.final)
    rows = [experiment.event({"tell": number, "cut": list(cut), "final": call.final}, now)]
    return [*rows, experiment.close(number, EXPIRED, None, call.key, now)] if call.final else rows


def give_up(experiment: Experiment, number: int, now: float) -> list[Row]:
    """The rows of a decision that expires: it counts as lasting so long at least, as a stated value, or not at all."""
    settings, learner = experiment.settings, experiment.learner
    event: dict[str, Any]
    if settings.outcome == "elapsed":
        limit = longest(settings)
        learner.tell(number, at_least=limit, final=True)
        event = {"tell": number, "cut": [limit, None], "final": True}
    elif settings.expires_as is not None:
        learner.tell(number, settings.expires_as)
        event = {"tell": number, "reward": settings.expires_as}
    else:
        return experiment.cancel(number, now, EXPIRED) or []
    return [experiment.event(event, now), experiment.close(number, EXPIRED, settings.expires_as, None, now)]


def expiry_in_words(settings: ExperimentSettings) -> str:
    """What expired decisions count as."""
    if settings.outcome == "elapsed":
        return f"; each counts as {in_words((longest(settings), float('inf')))} {settings.unit or 'seconds'}"
    return "" if settings.expires_as is None else f"; each counts as {settings.expires_as:g} {settings.unit}".rstrip()
