"""Routes of the API: people, their preferences and interviews; then keys, the audit log, health and metrics."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from prometheus_client import generate_latest
from sqlalchemy import select

from allais import __version__
from allais.serve.api import schemas_people as schemas
from allais.serve.api.http import (
    API_VERSION,
    REFUSALS,
    JSONRoute,
    Segment,
    TheService,
    ToDecide,
    ToManage,
    ToRead,
    answered,
)
from allais.serve.api.metrics import Figures
from allais.serve.api.schemas import LARGEST_INT, NewKey
from allais.serve.core import experiments, interviews, keys, people
from allais.serve.store.tables import audit

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["people"], responses=REFUSALS)
Person = Segment
After = Annotated[str, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


@router.get("/people", response_model=list[schemas.PersonShown])
async def listed(
    service: TheService, key: ToRead, after: After = "", limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> Any:
    """People who have a preference of their own, by name, after a name."""
    return await people.listed(service, after, limit)


@router.get("/people/{person}", response_model=schemas.PersonShown)
async def show(service: TheService, key: ToRead, person: Person) -> Any:
    """One person."""
    return await people.show(service, person)


@router.put("/people/{person}", response_model=schemas.PersonShown)
async def put(service: TheService, key: ToManage, person: Person, body: schemas.PutPerson) -> Any:
    """Give a person a preference: from now on, it decides for her."""
    return await people.put(service, person, body, key)


@router.delete("/people/{person}", status_code=204)
async def remove(service: TheService, key: ToManage, person: Person) -> Response:
    """Erase a person: her preference, her interviews, and her name wherever it is kept; repeating it is harmless."""
    await people.erase_person(service, person, key)
    return Response(status_code=204)


@router.post("/people/{person}/interview", response_model=schemas.InterviewShown, status_code=201)
async def start(service: TheService, key: ToManage, person: Person, body: schemas.StartInterview) -> Any:
    """Begin to ask a person; the answer has the first question."""
    return await interviews.start(service, person, body, key)


@router.get("/interviews/{id}", response_model=schemas.InterviewShown)
async def interview(
    service: TheService, key: ToDecide, id: Segment, question: Annotated[int | None, Query(ge=1, le=LARGEST_INT)] = None
) -> Any:
    """Where an interview is, and its next question; or one that was answered, to go back to."""
    return await interviews.show(service, id, question)


@router.post("/interviews/{id}/link", response_model=schemas.LinkMade, status_code=201)
async def make_link(service: TheService, key: ToManage, id: Segment, body: schemas.MakeLink) -> Any:
    """A link by which a person answers without a key: it opens this interview only, until it ends."""
    return await interviews.make(service, id, body.expires_after, key)


@router.delete("/interviews/{id}/link", status_code=204)
async def revoke_links(service: TheService, key: ToManage, id: Segment) -> Response:
    """Revoke all links to an interview; repeating it is harmless."""
    await interviews.revoke(service, id, key)
    return Response(status_code=204)


@router.post("/interviews/{id}/answer", response_model=schemas.InterviewShown)
async def answer(service: TheService, key: ToDecide, id: Segment, body: schemas.AnswerQuestion) -> Any:
    """Take an answer; after the last one the person has the preference that her answers show."""
    return await interviews.answer(service, id, body, key)


keys_router = APIRouter(route_class=JSONRoute, prefix="/v1/keys", tags=["keys"], responses=REFUSALS)
trail_router = APIRouter(route_class=JSONRoute, tags=["values"], responses=REFUSALS)
open_router = APIRouter(tags=["health"])


@keys_router.get("", response_model=list[schemas.KeyShown])
async def list_keys(service: TheService, key: ToManage) -> Any:
    """All keys, without their secrets."""
    return [keys.shown(one) for one in await service.read(keys.stored)]


@keys_router.post("", response_model=schemas.KeyMade, status_code=201)
async def make(service: TheService, key: ToManage, body: NewKey) -> Any:
    """A new key; its secret is in this answer and nowhere else."""
    whole, made = await experiments.make_key(service, body, key)
    return {**keys.shown(made), "key": whole}


@keys_router.delete("/{id}", status_code=204)
async def revoke(service: TheService, key: ToManage, id: Segment) -> Response:
    """Revoke a key: here at once, in other processes within seconds."""
    await experiments.revoke_key(service, id, key)
    return Response(status_code=204)


@trail_router.get("/v1/audit", response_model=list[schemas.AuditEntry])
async def trail(
    service: TheService, key: ToManage, after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:  # fmt: skip
    """Who changed what, in order, after a number."""
    wanted = select(audit).where(audit.c.id > after).order_by(audit.c.id).limit(limit)
    return [{**row._mapping, "detail": json.loads(row.detail)} for row in await service.rows(wanted)]


@open_router.get("/health")
async def health() -> Any:
    """Whether the process lives; needs no key."""
    return {"status": "ok", "version": __version__, "api": API_VERSION}


@open_router.get("/metrics", response_class=Response, responses={**REFUSALS, 200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, service: TheService, key: ToRead) -> Response:
    """Metrics for Prometheus."""
    for experiment in list(service.experiments.values()):
        await experiment.idle()
    figures = generate_latest(Figures(service, request.app.state.requests))
    return Response(figures, media_type="text/plain; version=0.0.4; charset=utf-8")


@open_router.get("/ready", responses={503: REFUSALS[503]})
async def ready(service: TheService) -> Response:
    """Whether it can decide: the database can be written to, and every experiment is in memory; needs no key."""
    await service.probe()
    await service.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
    return answered({"status": "ready", "experiments": len(service.experiments), "broken": len(service.broken)})
