"""Calls of HTTP in the shape of Azure Personalizer: its address is /v1/experiments/NAME."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from fastapi.responses import JSONResponse

from allais.serve.api import personalizer
from allais.serve.api.http import REFUSALS, JSONRoute, Segment, TheService, ToDecide
from allais.serve.api.schemas import ExperimentName
from allais.serve.api.schemas_people import Rank, Ranking, RewardValue

router = APIRouter(
    route_class=JSONRoute, prefix="/v1/experiments/{name}/personalizer/{version}", tags=["personalizer"],
    responses=REFUSALS,
)  # fmt: skip
Name = Annotated[ExperimentName, Path()]
Version = Annotated[str, Path(pattern=r"^v1\.[01](-preview\.[0-9])?$")]
Event = Segment


@router.post("/rank", response_model=Ranking, response_model_exclude_unset=True, status_code=201)
async def rank(service: TheService, key: ToDecide, name: Name, version: Version, body: Rank) -> Any:
    """Decide: the first action of the ranking is the one to show."""
    ranking = await personalizer.rank(service, name, body, key)
    # as it is: to check thousands of our own entries would hold the event loop
    return JSONResponse(ranking, status_code=201)


@router.post("/events/{event}/reward", status_code=204)
async def reward(
    service: TheService, key: ToDecide, name: Name, version: Version, event: Event, body: RewardValue
) -> Response:
    """What an event brought."""
    await personalizer.reward(service, name, event, body.value)
    return Response(status_code=204)


@router.post("/events/{event}/activate", status_code=204)
async def activate(service: TheService, key: ToDecide, name: Name, version: Version, event: Event) -> Response:
    """Nothing is left to do: a decision without a reward expires, and then counts for nothing."""
    service.experiment(name)
    return Response(status_code=204)
