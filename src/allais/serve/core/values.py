"""What is known: recommendations and values, for a person or for all, and what an apprentice would have gained."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Hashable, Iterator
from typing import Any

from sqlalchemy import Connection, select

from allais.learner import Learner, LinearLearner
from allais.policies.core.guardrails import BREAKS, KEEPS, OPEN, Feasibility
from allais.preferences import Preference, expected_value
from allais.preferences.valuation import sure_amount
from allais.serve.core.errors import Refused
from allais.serve.core.experiment import Experiment
from allais.serve.core.features import Encoding
from allais.serve.core.restore import detail_of
from allais.serve.core.service import Service
from allais.serve.store.tables import decisions

SHOWN = {KEEPS: "keeps", OPEN: "open", BREAKS: "breaks"}
PAGE = 5_000  # decisions that are read at once


def finite(number: float) -> float | None:
    """A number as JSON has it: none where there is none."""
    return number if math.isfinite(number) else None


async def _copy_for(service: Service, name: str, person: str | None) -> tuple[Experiment, Learner, Preference | None]:
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
    _, learner, preference = await _copy_for(service, name, person)
    try:
        best = await asyncio.to_thread(learner.recommend, preference)
    except ValueError as error:
        raise Refused(422, str(error)) from None
    low, high = (None, None) if best.interval is None else (best.interval.low, best.interval.high)
    return {
        "arm": None if best.arm is None else str(best.arm), "guardrails": best.guardrails or None,
        "value": finite(best.value), "low": low, "high": high, "settled": best.settled,
        "person": person, "feels_like": finite(sure_amount(_framed(learner, preference), best.value)),
    }  # fmt: skip


async def value(service: Service, name: str, person: str | None) -> dict[str, Any]:
    """What every arm is worth."""
    experiment, learner, preference = await _copy_for(service, name, person)
    pulls = experiment.pulls()
    try:
        arms = await asyncio.to_thread(values_of, learner, preference, pulls)
    except ValueError as error:
        raise Refused(422, str(error)) from None
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
    in_play, shown = set(learner.arms), guardrails_of(learner)
    return [
        {
            "name": str(arm),
            "in_play": arm in in_play,
            "outcomes": outcomes[str(arm)],
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


async def apprenticed(service: Service, name: str) -> dict[str, Any]:
    """What an apprentice would have done, and what that is worth by what is known now."""
    experiment, learner, _ = await _copy_for(service, name, None)
    if not experiment.settings.apprentice:
        raise Refused(409, f"only an apprentice watches; {name!r} decides itself. Read its values.")

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

    return await service.read(reading, long=True)


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
