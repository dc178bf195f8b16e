"""Calls of HTTP: decide, reward, cancel. The first two come often, and go past the framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.types import Scope, Send

from allais.serve.api.http import REFUSALS, JSONRoute, TheService, ToDecide
from allais.serve.api.schemas import (
    Cancel,
    Decide,
    Decided,
    DecidedEach,
    Decides,
    ExperimentName,
    Reward,
    Rewarded,
    RewardedEach,
    Rewards,
)
from allais.serve.core import decisions
from allais.serve.core.errors import Refused
from allais.serve.settings_file import sentence_of

PATH = "/v1/experiments/{name}"


class DirectRoute(APIRoute):
    """A route that is documented as all are, and answers without the framework, whose work would take longer than ours.

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
            raise Refused(422, sentence_of(error)) from None
        content = to_json(await self.endpoint(service, key, name, body))
        headers = [(b"content-length", b"%d" % len(content)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


direct_router = APIRouter(route_class=DirectRoute, prefix=PATH, tags=["decisions"], responses=REFUSALS)
router = APIRouter(route_class=JSONRoute, prefix=PATH, tags=["decisions"], responses=REFUSALS)


@direct_router.post("/decide", response_model=Decided)
async def decide(service: TheService, key: ToDecide, name: ExperimentName, body: Decide) -> Any:
    """Which arm, for this person, now? The answer is on disk when it is given."""
    return await decisions.decide(service, name, body)


@direct_router.post("/reward", response_model=Rewarded)
async def reward(service: TheService, key: ToDecide, name: ExperimentName, body: Reward) -> Any:
    """What a choice brought; late, in any order, and repeated if need be: it counts once."""
    return await decisions.reward(service, name, body)


@router.post("/decide/batch", response_model=DecidedEach)
async def decide_each(service: TheService, key: ToDecide, name: ExperimentName, body: Decides) -> Any:
    """Several questions at once; each is answered or refused on its own, in the order of the calls."""
    service.ring.calls.charge(key.id, len(body.calls) - 1)
    return await decisions.each(service, name, body.calls, decisions.decide)


@router.post("/reward/batch", response_model=RewardedEach)
async def reward_each(service: TheService, key: ToDecide, name: ExperimentName, body: Rewards) -> Any:
    """What several choices brought; each is taken or refused on its own, in the order of the calls."""
    service.ring.calls.charge(key.id, len(body.calls) - 1)
    return await decisions.each(service, name, body.calls, decisions.reward)


@router.post("/cancel", response_model=Rewarded)
async def cancel(service: TheService, key: ToDecide, name: ExperimentName, body: Cancel) -> Any:
    """Give up a choice whose outcome will never be known."""
    return await decisions.cancel(service, name, body)


def direct_routes() -> list[DirectRoute]:
    """The routes that answer without the framework."""
    return [route for route in direct_router.routes if isinstance(route, DirectRoute)]
