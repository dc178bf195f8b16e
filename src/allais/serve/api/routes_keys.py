"""Calls of HTTP: keys, who changed what, health, readiness, figures."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import select

from allais import __version__
from allais.serve.api.http import REFUSALS, JSONRoute, Segment, TheService, ToManage, ToRead, answered
from allais.serve.api.metrics import exposition
from allais.serve.api.schemas import AuditEntry, KeyMade, KeyShown, NewKey
from allais.serve.core import experiments, keys
from allais.serve.store.tables import audit

router = APIRouter(route_class=JSONRoute, prefix="/v1/keys", tags=["keys"], responses=REFUSALS)
trail_router = APIRouter(route_class=JSONRoute, tags=["values"], responses=REFUSALS)
open_router = APIRouter(tags=["health"])


@router.get("", response_model=list[KeyShown])
async def listed(service: TheService, key: ToManage) -> Any:
    """All keys, without their secrets."""
    return [keys.shown(one) for one in await service.read(keys.stored)]


@router.post("", response_model=KeyMade, status_code=201)
async def make(service: TheService, key: ToManage, body: NewKey) -> Any:
    """A new key; its secret is in this answer and nowhere else."""
    whole, made = await experiments.make_key(service, body, key)
    return {**keys.shown(made), "key": whole}


@router.delete("/{id}", status_code=204)
async def revoke(service: TheService, key: ToManage, id: Segment) -> Response:
    """Let a key open nothing any more: here at once, in other processes within seconds."""
    await experiments.revoke_key(service, id, key)
    return Response(status_code=204)


@trail_router.get("/v1/audit", response_model=list[AuditEntry])
async def trail(
    service: TheService, key: ToManage, after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:  # fmt: skip
    """Who changed what, in order, after a number."""
    wanted = select(audit).where(audit.c.id > after).order_by(audit.c.id).limit(limit)
    rows = await service.read(lambda connection: list(connection.execute(wanted)))
    return [{**row._mapping, "detail": json.loads(row.detail)} for row in rows]


@open_router.get("/health")
async def health() -> Any:
    """Whether the process lives; needs no key."""
    return {"status": "ok", "version": __version__}


@open_router.get("/metrics", response_class=Response, responses={**REFUSALS, 200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, service: TheService, key: ToRead) -> Response:
    """Figures for Prometheus."""
    for experiment in list(service.experiments.values()):
        await experiment.idle()
    return Response(
        exposition(service, request.app.state.requests), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


@open_router.get("/ready", responses={503: REFUSALS[503]})
async def ready(service: TheService) -> Response:
    """Whether it can decide: the database can be written to, and every experiment is in memory; needs no key."""
    await service.probe()
    await service.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
    return answered({"status": "ready", "experiments": len(service.experiments), "broken": len(service.broken)})
