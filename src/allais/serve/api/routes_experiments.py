"""Calls of HTTP: experiments and their arms."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from allais.serve.api.http import (
    REFUSALS,
    JSONRoute,
    Segment,
    TheService,
    ToManage,
    ToManageItsOwn,
    ToRead,
    ToReadItsOwn,
)
from allais.serve.api.schemas import (
    AddArm,
    ChangeExperiment,
    CreateExperiment,
    ExperimentName,
    ExperimentSettings,
    ExperimentShown,
)
from allais.serve.core import experiments, people
from allais.serve.core.keys import require_sight
from allais.serve.store.tables import ARCHIVED, PAUSED, RUNNING

router = APIRouter(route_class=JSONRoute, prefix="/v1/experiments", tags=["experiments"], responses=REFUSALS)
Name = Annotated[ExperimentName, Path()]


@router.get("", response_model=list[ExperimentShown])
async def listed(service: TheService, key: ToReadItsOwn) -> Any:
    """All experiments of this process that the key may see."""
    await service.write([])  # what is shown is on disk
    found = [one for one in service.experiments.values() if key.may_see(one.name)]
    for one in found:
        await one.idle()
    whole = [experiments.shown(one) for one in found]
    return [*whole, *(experiments.shown_broken(*one) for one in service.broken.items() if key.may_see(one[0]))]


@router.post("", response_model=ExperimentShown, status_code=201)
async def create(service: TheService, key: ToManageItsOwn, body: CreateExperiment) -> Any:
    """Begin an experiment."""
    require_sight(key, body.name)
    settings = ExperimentSettings.model_validate(body.model_dump(exclude={"name"}))
    return experiments.shown(await experiments.create(service, body.name, settings, key))


@router.get("/{name}", response_model=ExperimentShown)
async def show(service: TheService, key: ToRead, name: Name) -> Any:
    """One experiment."""
    answer = experiments.shown(await service.idle(name))
    await service.write([])
    return answer


@router.patch("/{name}", response_model=ExperimentShown)
async def change(service: TheService, key: ToManage, name: Name, body: ChangeExperiment) -> Any:
    """Widen the bounds, add terms, change the preference or the expiry; all that is sent, or nothing."""
    return experiments.shown(await experiments.change(service, name, body, key))


@router.delete("/{name}", status_code=204)
async def delete(service: TheService, key: ToManage, name: Name) -> Response:
    """Delete an archived experiment, or one that cannot be read, with all its decisions, for ever."""
    await people.delete_experiment(service, name, key)
    return Response(status_code=204)


@router.post("/{name}/pause", response_model=ExperimentShown)
async def pause(service: TheService, key: ToManage, name: Name) -> Any:
    """Decide no more until it is resumed; rewards are still taken."""
    return experiments.shown(await experiments.change_state(service, name, PAUSED, "pause", key))


@router.post("/{name}/resume", response_model=ExperimentShown)
async def resume(service: TheService, key: ToManage, name: Name) -> Any:
    """Decide again."""
    return experiments.shown(await experiments.change_state(service, name, RUNNING, "resume", key))


@router.post("/{name}/archive", response_model=ExperimentShown)
async def archive(service: TheService, key: ToManage, name: Name) -> Any:
    """Take no more calls but reading, for ever."""
    return experiments.shown(await experiments.change_state(service, name, ARCHIVED, "archive", key))


@router.post("/{name}/arms", response_model=ExperimentShown)
async def add_arm(service: TheService, key: ToManage, name: Name, body: AddArm) -> Any:
    """Bring an arm into play, or one that retired."""
    return experiments.shown(await experiments.add_arm(service, name, body, key))


@router.delete("/{name}/arms/{arm}", response_model=ExperimentShown)
async def retire_arm(service: TheService, key: ToManage, name: Name, arm: Segment) -> Any:
    """Take an arm out of play; what was learned about it is kept."""
    return experiments.shown(await experiments.retire_arm(service, name, arm, key))
