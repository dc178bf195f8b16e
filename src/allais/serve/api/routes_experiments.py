"""Calls of HTTP: experiments, their arms, what is known about these, and outcomes that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from allais.serve.api import schemas
from allais.serve.api.http import (
    REFUSALS,
    JSONRoute,
    Segment,
    TheService,
    ToManage,
    ToManageItsOwn,
    ToRead,
    ToReadItsOwn,
    answered,
)
from allais.serve.core import evaluations, experiments, import_export, values
from allais.serve.core.keys import require_sight
from allais.serve.store.tables import ARCHIVED, PAUSED, RUNNING


class Comparison(schemas.Strict):
    """An arm beside the control, by one metric; ends of intervals are null where they are not known yet."""

    group: str
    control: str
    by: str
    word: str  # better, worse, no worse than the margin, equal within the margin, or not yet
    sentence: str
    difference: list[float | None]  # the low end, the estimate and the high end; they hold at all looks at once
    relative: list[float | None] | None  # as a share of the control's amount
    p_value: float
    e_value: float
    promise: str
    doubt: str
    forecast: str | None


class GroupShown(schemas.Strict):
    """What is known of a group, and what is missing."""

    name: str
    share: float | None  # planned
    decisions: int
    outcomes: int
    waiting: int
    lost: int  # expired or cancelled


class VerdictShown(schemas.Strict):
    """What the outcomes so far say."""

    summary: str
    notes: list[str]
    decided: bool  # whether every arm is decided
    verdicts: list[Comparison]
    groups: list[GroupShown]
    assumptions: list[str]
    ended: schemas.EndOfTest | None


class TargetShown(schemas.Strict):
    """What a policy would have brought, by one preference; ends of intervals are null where there are none."""

    target: str
    by: str
    value: float | None  # in the experiment's unit; null if nothing of what it does was tried
    interval: list[float | None]  # asymptotic: the low end and the high end
    proven: list[float | None] | None  # where the rewards have bounds; it holds at all times at once
    outcomes: float  # that the estimate rests on, in effect
    untried: float  # the share of its decisions that are on arms which nobody tried
    caveat: str


class EvaluationShown(schemas.Strict):
    """What other policies would have brought."""

    summary: str
    notes: list[str]
    targets: list[TargetShown]
    decisions: int
    outcomes: int
    delta: float  # the chance that any of the intervals misses
    assumptions: list[str]


class Brought(schemas.Strict):
    """What decisions bring on average, with its interval, by the experiment's preference and in its unit."""

    value: float | None
    low: float | None
    high: float | None


class Apprenticed(schemas.Strict):
    """What an apprentice would have done beside what the application did."""

    decisions: int
    agreed: int  # decisions in which both are the same
    worth: float | None  # the mean value of what the application did, by what is known now
    would_be_worth: float | None  # that of what the policy would have chosen
    brought: Brought | None = None  # by what the application did; null with features, and before there are outcomes
    would_have_brought: Brought | None = None  # by what the policy would have chosen
    notes: list[str] | None = None  # what the two rest on


router = APIRouter(route_class=JSONRoute, prefix="/v1/experiments", tags=["experiments"], responses=REFUSALS)
values_router = APIRouter(route_class=JSONRoute, prefix="/v1/experiments", tags=["values"], responses=REFUSALS)
Name = Annotated[schemas.ExperimentName, Path()]
Person = Annotated[schemas.Text | None, Query()]
By = Annotated[tuple[schemas.Text, ...], Query(max_length=evaluations.MOST_PREFERENCES)]


@router.get("", response_model=list[schemas.ExperimentShown])
async def listed(service: TheService, key: ToReadItsOwn) -> Any:
    """All experiments of this process that the key may see."""
    await service.write([])  # what is shown is on disk
    found = [one for one in service.experiments.values() if key.may_see(one.name)]
    for one in found:
        await one.idle()
    whole = [experiments.shown(one) for one in found]
    return [*whole, *(experiments.shown_broken(*one) for one in service.broken.items() if key.may_see(one[0]))]


@router.post("", response_model=schemas.ExperimentShown, status_code=201)
async def create(service: TheService, key: ToManageItsOwn, body: schemas.CreateExperiment) -> Any:
    """Begin an experiment."""
    require_sight(key, body.name)
    settings = schemas.ExperimentSettings.model_validate(body.model_dump(exclude={"name"}))
    return experiments.shown(await experiments.create(service, body.name, settings, key))


@router.get("/{name}", response_model=schemas.ExperimentShown)
async def show(service: TheService, key: ToRead, name: Name) -> Any:
    """One experiment."""
    answer = experiments.shown(await service.idle(name))
    await service.write([])
    return answer


@router.patch("/{name}", response_model=schemas.ExperimentShown)
async def change(service: TheService, key: ToManage, name: Name, body: schemas.ChangeExperiment) -> Any:
    """Widen the bounds, add terms, change the preference or the expiry; all that is sent, or nothing."""
    return experiments.shown(await experiments.change(service, name, body, key))


@router.delete("/{name}", status_code=204)
async def delete(service: TheService, key: ToManage, name: Name) -> Response:
    """Delete an archived experiment, or one that cannot be read, with all its decisions. This cannot be undone."""
    await experiments.delete(service, name, key)
    return Response(status_code=204)


@router.post("/{name}/pause", response_model=schemas.ExperimentShown)
async def pause(service: TheService, key: ToManage, name: Name) -> Any:
    """Stop deciding until the experiment is resumed; rewards are still taken."""
    return experiments.shown(await experiments.change_state(service, name, PAUSED, "pause", key))


@router.post("/{name}/resume", response_model=schemas.ExperimentShown)
async def resume(service: TheService, key: ToManage, name: Name) -> Any:
    """Resume a paused experiment."""
    return experiments.shown(await experiments.change_state(service, name, RUNNING, "resume", key))


@router.post("/{name}/archive", response_model=schemas.ExperimentShown)
async def archive(service: TheService, key: ToManage, name: Name) -> Any:
    """Make an experiment read-only, permanently."""
    return experiments.shown(await experiments.change_state(service, name, ARCHIVED, "archive", key))


@router.post("/{name}/arms", response_model=schemas.ExperimentShown)
async def add_arm(service: TheService, key: ToManage, name: Name, body: schemas.AddArm) -> Any:
    """Bring an arm into play, or one that retired."""
    return experiments.shown(await experiments.add_arm(service, name, body, key))


@router.delete("/{name}/arms/{arm}", response_model=schemas.ExperimentShown)
async def retire_arm(service: TheService, key: ToManage, name: Name, arm: Segment) -> Any:
    """Take an arm out of play; what was learned about it is kept."""
    return experiments.shown(await experiments.retire_arm(service, name, arm, key))


@values_router.get("/{name}/recommend", response_model=schemas.Recommended)
async def recommend(service: TheService, key: ToRead, name: Name, person: Person = None) -> Any:
    """The best arm so far, for a person or by the experiment's own preference."""
    return await values.recommend(service, name, person)


@values_router.get("/{name}/value", response_model=schemas.Values)
async def value(service: TheService, key: ToRead, name: Name, person: Person = None) -> Any:
    """What every arm is worth to a person, and what the mean would choose."""
    return answered(await values.value(service, name, person))  # thousands of arms


@values_router.get("/{name}/verdict", response_model=VerdictShown)
async def verdict(service: TheService, key: ToRead, name: Name) -> Any:
    """Which arms are better or worse than the control, by the outcomes so far: as often as one likes."""
    return await values.verdict(service, name)


@values_router.get("/{name}/apprentice", response_model=Apprenticed)
async def apprentice(service: TheService, key: ToRead, name: Name) -> Any:
    """What an apprentice would have done beside what the application did."""
    return await evaluations.apprenticed(service, name)


@values_router.get("/{name}/evaluation", response_model=EvaluationShown)
async def evaluation(
    service: TheService, key: ToRead, name: Name, by: By = (),
    floor: Annotated[float | None, Query(ge=0.0, le=1.0)] = None, person: Person = None,
) -> Any:  # fmt: skip
    """What other preferences, a floor, or always the best mean would have brought, by the decisions so far."""
    return await evaluations.evaluation(service, name, evaluations.Wanted(by, floor, person))


@values_router.post("/{name}/import", response_model=schemas.Imported)
async def take_in(service: TheService, key: ToManage, name: Name, body: schemas.Import) -> Any:
    """Learn from outcomes that were seen before or elsewhere."""
    return await import_export.take_in(service, name, body, key)


@values_router.get("/{name}/export", response_class=Response, responses={200: {"content": {
    "application/jsonl": {}, "text/csv": {}, "application/vnd.apache.parquet": {}}}})  # fmt: skip
async def export(
    service: TheService, key: ToRead, name: Name, format: Literal["jsonl", "csv", "parquet"] = "jsonl"
) -> Response:
    """Every decision with its outcome."""
    service.experiment(name)  # refuses before the first byte
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"'}
    if format == "parquet":
        file = await import_export.as_parquet(service, name)
        return StreamingResponse(_blocks(file), media_type="application/vnd.apache.parquet", headers=headers)
    if format == "csv":
        return StreamingResponse(import_export.as_csv(service, name), media_type="text/csv", headers=headers)
    return StreamingResponse(import_export.as_lines(service, name), media_type="application/jsonl", headers=headers)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while block := file.read(1 << 16):
            yield block
