"""Calls in the shape of Azure Personalizer, so that a client moves by changing its address and its key.

Its address is /v1/experiments/NAME. An action is an arm, known by its id. Where the experiment declares terms, actions
are ranked by what the terms say of their features and of the context's. Elsewhere arms are learned one by one: an
action that was never seen comes into play, if the key or the experiment (`arms_by_rank`) lets it, and the answer names
the features, which are not used. An apprentice answers with the first action, as Personalizer's did: that is what the
application would have done.
"""

from __future__ import annotations

import time
import uuid
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from allais.forests.encoding import flat
from allais.serve.api.http import REFUSALS, JSONRoute, Segment, TheService, ToDecide, answered
from allais.serve.api.schemas import Decide, ExperimentName, Reward
from allais.serve.api.schemas_people import Rank, Ranking, RewardValue
from allais.serve.core import decisions
from allais.serve.core.errors import Refused, refusing
from allais.serve.core.experiment import Experiment
from allais.serve.core.experiments import audited
from allais.serve.core.keys import Key
from allais.serve.core.service import Service
from allais.serve.store.writer import Row

router = APIRouter(
    route_class=JSONRoute, prefix="/v1/experiments/{name}/personalizer/{version}", tags=["personalizer"],
    responses=REFUSALS,
)  # fmt: skip
Name = Annotated[ExperimentName, Path()]
Version = Annotated[str, Path(pattern=r"^v1\.[01](-preview\.[0-9])?$")]


@router.post("/rank", response_model=Ranking, response_model_exclude_unset=True, status_code=201)
async def rank(service: TheService, key: ToDecide, name: Name, version: Version, body: Rank) -> Any:
    """Decide: the first action of the ranking is the one to show."""
    ranking = await _ranked(service, name, body, key)
    return answered(ranking, 201)  # as it is: to check thousands of our own entries would hold the event loop


@router.post("/events/{event}/reward", status_code=204)
async def reward(
    service: TheService, key: ToDecide, name: Name, version: Version, event: Segment, body: RewardValue
) -> Response:
    """What an event brought."""
    await decisions.reward(service, name, Reward(decision_key=event, outcome=body.value))
    return Response(status_code=204)


@router.post("/events/{event}/activate", status_code=204)
async def activate(service: TheService, key: ToDecide, name: Name, version: Version, event: Segment) -> Response:
    """Nothing is left to do: a decision without a reward expires, and then counts for nothing."""
    service.experiment(name)
    return Response(status_code=204)


async def _ranked(service: Service, name: str, call: Rank, key: Key) -> dict[str, Any]:
    """The best action first, then the others as they came."""
    experiment = service.experiment(name)
    excluded = set(call.excludedActions or ())
    ids = [action.id for action in call.actions]
    allowed = [id_ for id_ in ids if id_ not in excluded]
    if not allowed or len(set(ids)) != len(ids):
        raise Refused(422, "actions must have ids of their own, and one must not be excluded. Check them.")
    named = experiment.features.encoding is not None
    if not named:
        known = (await service.idle(name)).learner.pulls
        if strange := [id_ for id_ in allowed if id_ not in known]:
            await _bring_in(service, name, strange, key)
    all_in_play = not named and set(allowed) == set((await service.idle(name)).learner.arms)
    event = call.eventId or uuid.uuid4().hex
    with refusing():
        features = {action.id: flat(action.features or {}) for action in call.actions}
        context = flat(call.contextFeatures or {})
    sent = any(features.values()) or bool(context)
    asked = Decide(
        key=event, allowed=None if all_in_play else allowed, did=allowed[0] if experiment.settings.apprentice else None,
        features=features if sent or named else None, context=context if sent else None,
    )  # fmt: skip
    chosen = await decisions.decide(service, name, asked)
    others = [id_ for id_ in ids if id_ != chosen["arm"]]
    first = {"id": chosen["arm"], "probability": chosen["propensity"]}
    return {
        "ranking": [first, *({"id": id_, "probability": None} for id_ in others)],
        "eventId": event,
        "rewardActionId": chosen["arm"],
        **({"unusedFeatures": chosen["unused"]} if chosen.get("unused") else {}),
    }


async def _bring_in(service: Service, name: str, arms: list[str], key: Key) -> None:
    experiment = await service.idle(name)
    experiment.require_running()
    if experiment.settings.arms_by_rank is False and "manage" not in key.scopes:
        raise Refused(
            403,
            f"actions are arms of the experiment unless its setting arms_by_rank is true; {arms[0]!r} is not one. "
            "Add it, or use a key with the scope 'manage'.",
        )

    def adding(experiment: Experiment) -> tuple[None, list[Row]]:
        experiment.require_running()
        now_known = experiment.learner.pulls
        new = [arm for arm in arms if arm not in now_known]  # another call may have brought some meanwhile
        rows = experiment.add_all(new, time.time()) if new else []
        return None, [*rows, audited(key, "add arm", name, new)]

    await service.change_in_thread(name, adding)
