"""Calls of the shape of Azure Personalizer, so that a client moves by changing its address and its key.

An action is an arm, known by its id; one that was never seen comes into play. Features of actions and of the context
are taken and not used: arms are learned one by one. Use `decide` with `features` for a policy that shares them.
"""

from __future__ import annotations

import time
import uuid
from functools import partial
from typing import Any

from allais.serve import deciding, loading
from allais.serve.keys import Key
from allais.serve.managing import audited
from allais.serve.refusals import Refused, unknown
from allais.serve.schemas import Decide, Reward
from allais.serve.schemas_people import Rank
from allais.serve.service import Service


async def rank(service: Service, name: str, call: Rank, key: Key) -> dict[str, Any]:
    """The best action first, then the others as they came."""
    experiment = service.experiment(name)
    excluded = set(call.excludedActions or ())
    ids = [action.id for action in call.actions]
    allowed = [id_ for id_ in ids if id_ not in excluded]
    if not allowed or len(set(ids)) != len(ids):
        raise Refused(422, "actions must have ids of their own, and one must not be excluded. Check them.")
    if strange := [id_ for id_ in allowed if id_ not in experiment.learner.pulls]:
        await _bring_in(service, name, strange, key)
    all_in_play = set(allowed) == set(service.experiment(name).learner.arms)
    event = call.eventId or uuid.uuid4().hex
    chosen = await deciding.decide(service, name, Decide(key=event, allowed=None if all_in_play else allowed))
    others = [id_ for id_ in ids if id_ != chosen["arm"]]
    first = {"id": chosen["arm"], "probability": chosen["propensity"]}
    return {
        "ranking": [first, *({"id": id_, "probability": None} for id_ in others)],
        "eventId": event,
        "rewardActionId": chosen["arm"],
    }


async def _bring_in(service: Service, name: str, arms: list[str], key: Key) -> None:
    experiment = service.experiment(name)
    with service.changing():
        rows = [row for arm in arms for row in experiment.add(arm, None, None, time.time())]
    await service.write([*rows, audited(key, "add arm", name, arms)])


async def reward(service: Service, name: str, event: str, value: float) -> None:
    """What an event brought."""
    experiment = service.experiment(name)
    found = await service.read(partial(loading.decision_by_key, experiment=experiment.id, key=event))
    if found is None:
        raise unknown("an event", event, "Rank it first.")
    await deciding.reward(service, name, Reward(choice=found.number, outcome=value))
