"""The page of who changed what."""

from __future__ import annotations

import json
import time
from html import escape
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import Connection, select

from allais.serve.api.http import service_of
from allais.serve.dashboard import pages
from allais.serve.dashboard.routes import PageRoute, viewer
from allais.serve.store.tables import audit, keys

PER_PAGE = 100
LONGEST = 120  # characters of what a change was about
LAST = 2**31 - 1

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/changes")
async def changes(request: Request, before: Annotated[int, Query(ge=1, le=LAST)] = LAST) -> Response:
    """The last changes, the latest on top."""
    viewer(request, "manage")

    def reading(connection: Connection) -> list[Any]:
        wanted = select(audit, keys.c.name).outerjoin(keys, keys.c.id == audit.c.key).where(audit.c.id < before)
        return list(connection.execute(wanted.order_by(audit.c.id.desc()).limit(PER_PAGE)))

    rows = await service_of(request).read(reading)
    body = "".join(
        f"<tr><td>{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(row.at))}</td>"
        f"<td>{escape(row.name or row.key)}</td>"
        f'<td>{escape(row.action)} <b>{escape(row.target)}</b> <span class="small">{escape(_about(row.detail))}</span>'
        "</td></tr>"
        for row in rows
    )
    head = "<thead><tr><th>when</th><th>key</th><th>what</th></tr></thead>"
    table = f'<table class="people changes">{head}<tbody>{body}</tbody></table>'
    if not rows:
        table = '<p class="quiet">Nothing was changed yet.</p>'
    if len(rows) == PER_PAGE:
        table += f'<p><a href="/changes?before={rows[-1].id}">Earlier changes</a></p>'
    return pages.page("Changes", pages.card("Who changed what", table))


def _about(detail: str) -> str:
    """What a change was about, in a few words."""
    found = json.loads(detail)
    text = "" if found is None else found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
