"""Calls of HTTP: decide, reward, cancel, and rank. The first two come often, and go past the framework."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Path, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.types import Scope, Send

from allais.forests.encoding import flat
from allais.serve.api import schemas
from allais.serve.api.http import REFUSALS, JSONRoute, Segment, TheService, ToDecide, answered
from allais.serve.api.schemas_people import Rank, Ranking, RewardValue
from allais.serve.core import decisions
from allais.serve.core.errors import Refused, refusing
from allais.serve.core.experiment import Experiment
from allais.serve.core.experiments import audited
from allais.serve.core.keys import Key
from allais.serve.core.service import Service
from allais.serve.settings_file import sentence_of
from allais.serve.store.writer import Row

PATH = "/v1/experiments/{name}"


class DirectRoute(APIRoute):
    """A route that is documented as all are, and answers without the framework, which would take most of the time.

    Its function takes the service, a key with the scope `decide`, the name of an experiment, and a body.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint, **more)
        self._read = get_type_hints(endpoint)["body"].model_validate_json

    async def answer(self, scope: Scope, name: str, send: Send) -> None:
        """Answer a call whose key is known and whose body was read."""
        service = scope["app"].state.service
        key = service.ring.allow(scope["key"], "decide", name)
        try:
            body = self._read(scope["body"])
        except ValidationError as error:
            raise Refused(422, sentence_of(error.errors())) from None
        content = to_json(await self.endpoint(service, key, name, body))
        headers = [(b"content-length", b"%d" % len(content)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


direct_router = APIRouter(route_class=DirectRoute, prefix=PATH, tags=["decisions"], responses=REFUSALS)
router = APIRouter(route_class=JSONRoute, prefix=PATH, tags=["decisions"], responses=REFUSALS)


@direct_router.post("/decide", response_model=schemas.Decided)
async def decide(service: TheService, key: ToDecide, name: schemas.ExperimentName, body: schemas.Decide) -> Any:
    """Which arm, for this person, now? The answer is on disk when it is given."""
    return await decisions.decide(service, name, body)


@direct_router.post("/reward", response_model=schemas.Rewarded)
async def reward(service: TheService, key: ToDecide, name: schemas.ExperimentName, body: schemas.Reward) -> Any:
    """Tell what a choice brought: late, in any order, and repeated if need be; it counts once."""
    return await decisions.reward(service, name, body)


@router.post("/decide/batch", response_model=schemas.DecidedEach)
async def decide_each(service: TheService, key: ToDecide, name: schemas.ExperimentName, body: schemas.Decides) -> Any:
    """Several questions at once; each is answered or refused on its own, in the order of the calls."""
    service.ring.calls.charge(key.id, len(body.calls) - 1)
    return await decisions.each(service, name, body.calls, decisions.decide)


@router.post("/reward/batch", response_model=schemas.RewardedEach)
async def reward_each(service: TheService, key: ToDecide, name: schemas.ExperimentName, body: schemas.Rewards) -> Any:
    """Tell what several choices brought; each is taken or refused on its own, in the order of the calls."""
    service.ring.calls.charge(key.id, len(body.calls) - 1)
    return await decisions.each(service, name, body.calls, decisions.reward)


@router.post("/cancel", response_model=schemas.Rewarded)
async def cancel(service: TheService, key: ToDecide, name: schemas.ExperimentName, body: schemas.Cancel) -> Any:
    """Give up a choice whose outcome will never be known."""
    return await decisions.cancel(service, name, body)


# -- in the shape of Azure Personalizer -----------------------------------------------------------

# A client moves by changing its address, to /v1/experiments/NAME, and its key. An action is an arm, known by its id.
# Where the experiment declares terms, actions are ranked by what the terms say of their features and of the context's.
# Elsewhere arms are learned one by one: an action that was never seen comes into play, if the key or the experiment
# (`arms_by_rank`) lets it, and the answer names the features, which are not used. An apprentice answers with the first
# action, as Personalizer's did: that is what the application would have done.

ranking = APIRouter(
    route_class=JSONRoute, prefix="/v1/experiments/{name}/personalizer/{version}", tags=["personalizer"],
    responses=REFUSALS,
)  # fmt: skip
Name = Annotated[schemas.ExperimentName, Path()]
Version = Annotated[str, Path(pattern=r"^v1\.[01](-preview\.[0-9])?$")]


@ranking.post("/rank", response_model=Ranking, response_model_exclude_unset=True, status_code=201)
async def rank(service: TheService, key: ToDecide, name: Name, version: Version, body: Rank) -> Any:
    """Decide: the first action of the ranking is the one to show."""
    found = await _ranked(service, name, body, key)
    return answered(found, 201)  # as it is: to check thousands of our own entries would hold the event loop


@ranking.post("/events/{event}/reward", status_code=204, name="reward")
async def reward_event(
    service: TheService, key: ToDecide, name: Name, version: Version, event: Segment, body: RewardValue
) -> Response:
    """Tell what an event brought."""
    await decisions.reward(service, name, schemas.Reward(decision_key=event, outcome=body.value))
    return Response(status_code=204)


@ranking.post("/events/{event}/activate", status_code=204)
async def activate(service: TheService, key: ToDecide, name: Name, version: Version, event: Segment) -> Response:
    """Do nothing: every decision is active from the start."""
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
    named, described = experiment.features.encoding is not None, call.actions
    if not named:
        known = (await service.idle(name)).learner.pulls
        described = [action for action in described if action.id not in excluded or action.id in known]
        if strange := [id_ for id_ in allowed if id_ not in known]:
            await _bring_in(service, name, strange, key)
    all_in_play = not named and set(allowed) == set((await service.idle(name)).learner.arms)
    event = call.eventId or uuid.uuid4().hex
    with refusing():
        features = {action.id: flat(action.features or {}) for action in described}
        context = flat(call.contextFeatures or {})
    sent = any(features.values()) or bool(context)
    asked = schemas.Decide(
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
    experiment.require_open(running=True)
    if experiment.settings.arms_by_rank is False and "manage" not in key.scopes:
        raise Refused(
            403,
            f"actions are arms of the experiment unless its setting arms_by_rank is true; {arms[0]!r} is not one. "
            "Add it, or use a key with the scope 'manage'.",
        )

    def adding(experiment: Experiment) -> tuple[None, list[Row]]:
        experiment.require_open(running=True)
        now_known = experiment.learner.pulls
        new = [arm for arm in arms if arm not in now_known]  # another call may have brought some meanwhile
        rows = experiment.add_all(new, time.time()) if new else []
        return None, [*rows, audited(key, "add arm", name, new)]

    await service.change_in_thread(name, adding)
