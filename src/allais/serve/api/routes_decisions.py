"""Calls of HTTP: decide, reward, cancel. `fast_path.py` takes most of them past the framework."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

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

router = APIRouter(route_class=JSONRoute, prefix="/v1/experiments/{name}", tags=["decisions"], responses=REFUSALS)


@router.post("/decide", response_model=Decided)
async def decide(service: TheService, key: ToDecide, name: ExperimentName, body: Decide) -> Any:
    """Which arm, for this person, now? The answer is on disk when it is given."""
    return await decisions.decide(service, name, body)


@router.post("/reward", response_model=Rewarded)
async def reward(service: TheService, key: ToDecide, name: ExperimentName, body: Reward) -> Any:
    """What a choice brought; late, in any order, and repeated if need be: it counts once."""
    return await decisions.reward(service, name, body)


@router.post("/decide/batch", response_model=DecidedEach)
async def decide_each(service: TheService, key: ToDecide, name: ExperimentName, body: Decides) -> Any:
    """Several questions at once; each is answered or refused on its own, in the order of the calls."""
    service.ring.charge(key, len(body.calls) - 1)
    return await decisions.each(service, name, body.calls, decisions.decide)


@router.post("/reward/batch", response_model=RewardedEach)
async def reward_each(service: TheService, key: ToDecide, name: ExperimentName, body: Rewards) -> Any:
    """What several choices brought; each is taken or refused on its own, in the order of the calls."""
    service.ring.charge(key, len(body.calls) - 1)
    return await decisions.each(service, name, body.calls, decisions.reward)


@router.post("/cancel", response_model=Rewarded)
async def cancel(service: TheService, key: ToDecide, name: ExperimentName, body: Cancel) -> Any:
    """Give up a choice whose outcome will never be known."""
    return await decisions.cancel(service, name, body)
