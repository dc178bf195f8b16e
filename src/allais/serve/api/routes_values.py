"""Calls of HTTP: what is known, outcomes that come and go, who changed what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import select

from allais.serve.api.http import REFUSALS, JSONRoute, TheService, ToManage, ToRead
from allais.serve.api.schemas import (
    Apprenticed,
    AuditEntry,
    ExperimentName,
    Import,
    Imported,
    Recommended,
    Text,
    Values,
)
from allais.serve.core import import_export, values
from allais.serve.store.tables import audit

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["values"], responses=REFUSALS)
Name = Annotated[ExperimentName, Path()]
Person = Annotated[Text | None, Query()]


@router.get("/experiments/{name}/recommend", response_model=Recommended)
async def recommend(service: TheService, key: ToRead, name: Name, person: Person = None) -> Any:
    """The best arm so far, for a person or by the experiment's own preference."""
    return await values.recommend(service, name, person)


@router.get("/experiments/{name}/value", response_model=Values)
async def value(service: TheService, key: ToRead, name: Name, person: Person = None) -> Any:
    """What every arm is worth to a person, and what the mean would choose."""
    return await values.value(service, name, person)


@router.get("/experiments/{name}/apprentice", response_model=Apprenticed)
async def apprentice(service: TheService, key: ToRead, name: Name) -> Any:
    """What an apprentice would have done beside what the application did."""
    return await values.apprenticed(service, name)


@router.post("/experiments/{name}/import", response_model=Imported)
async def take_in(service: TheService, key: ToManage, name: Name, body: Import) -> Any:
    """Learn outcomes that were seen before or elsewhere."""
    return await import_export.take_in(service, name, body, key)


@router.get("/experiments/{name}/export", response_class=Response, responses={200: {"content": {
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


@router.get("/audit", response_model=list[AuditEntry])
async def trail(
    service: TheService, key: ToManage, after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:  # fmt: skip
    """Who changed what, in order, after a number."""
    wanted = select(audit).where(audit.c.id > after).order_by(audit.c.id).limit(limit)
    rows = await service.read(lambda connection: list(connection.execute(wanted)))
    return [{**row._mapping, "detail": json.loads(row.detail)} for row in rows]
