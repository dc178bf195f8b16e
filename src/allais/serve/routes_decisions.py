"""Calls of HTTP: decide, reward, cancel."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request

from allais.serve import deciding
from allais.serve.http import REFUSALS, ShortRoute, bearer, service_of
from allais.serve.schemas import Cancel, Decide, Decided, ExperimentName, Reward, Rewarded

router = APIRouter(
    prefix="/v1/experiments/{name}",
    tags=["decisions"],
    route_class=ShortRoute,
    responses=REFUSALS,
    dependencies=[Depends(bearer)],  # for the document of the API: the route itself looks at the key
)


@router.post("/decide", response_model=Decided)
async def decide(request: Request, name: ExperimentName, body: Decide) -> Any:
    """Which arm, for this person, now? The answer is on disk when it is given."""
    return await deciding.decide(service_of(request), name, body)


@router.post("/reward", response_model=Rewarded)
async def reward(request: Request, name: ExperimentName, body: Reward) -> Any:
    """What a choice brought; late, in any order, and repeated if need be: it counts once."""
    return await deciding.reward(service_of(request), name, body)


@router.post("/cancel", response_model=Rewarded)
async def cancel(request: Request, name: ExperimentName, body: Cancel) -> Any:
    """Give up a choice whose outcome will never be known."""
    return await deciding.cancel(service_of(request), name, body)
