"""Calls of HTTP: people, their preferences, and interviews."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from allais.serve.api.http import REFUSALS, JSONRoute, Segment, TheService, ToDecide, ToManage, ToRead
from allais.serve.api.schemas import LARGEST_INT
from allais.serve.api.schemas_people import (
    AnswerQuestion,
    InterviewShown,
    LinkMade,
    MakeLink,
    PersonShown,
    PutPerson,
    StartInterview,
)
from allais.serve.core import interviews, people

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["people"], responses=REFUSALS)
Person = Segment
After = Annotated[str, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


@router.get("/people", response_model=list[PersonShown])
async def listed(
    service: TheService, key: ToRead, after: After = "", limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> Any:
    """People who have a preference of their own, by name, after a name."""
    return await people.listed(service, after, limit)


@router.get("/people/{person}", response_model=PersonShown)
async def show(service: TheService, key: ToRead, person: Person) -> Any:
    """One person."""
    return await people.show(service, person)


@router.put("/people/{person}", response_model=PersonShown)
async def put(service: TheService, key: ToManage, person: Person, body: PutPerson) -> Any:
    """Give a person a preference: from now on, decisions for her go by it."""
    return await people.put(service, person, body, key)


@router.delete("/people/{person}", status_code=204)
async def remove(service: TheService, key: ToManage, person: Person) -> Response:
    """Erase a person: her preference, her interviews, and her name wherever it is kept; repeating it is harmless."""
    await people.erase_person(service, person, key)
    return Response(status_code=204)


@router.post("/people/{person}/interview", response_model=InterviewShown, status_code=201)
async def start(service: TheService, key: ToManage, person: Person, body: StartInterview) -> Any:
    """Begin to ask a person; the answer has the first question."""
    return await interviews.start(service, person, body, key)


@router.get("/interviews/{id}", response_model=InterviewShown)
async def interview(
    service: TheService, key: ToDecide, id: Segment, question: Annotated[int | None, Query(ge=1, le=LARGEST_INT)] = None
) -> Any:
    """Where an interview is, and its next question; or one that was answered, to go back to."""
    return await interviews.show(service, id, question)


@router.post("/interviews/{id}/link", response_model=LinkMade, status_code=201)
async def make_link(service: TheService, key: ToManage, id: Segment, body: MakeLink) -> Any:
    """A link by which a person answers without a key: it opens this interview only, until it ends."""
    return await interviews.make(service, id, body.expires_after, key)


@router.delete("/interviews/{id}/link", status_code=204)
async def revoke_links(service: TheService, key: ToManage, id: Segment) -> Response:
    """Let no link to an interview open it any more."""
    await interviews.revoke(service, id, key)
    return Response(status_code=204)


@router.post("/interviews/{id}/answer", response_model=InterviewShown)
async def answer(service: TheService, key: ToDecide, id: Segment, body: AnswerQuestion) -> Any:
    """Take an answer; after the last one the person has the preference that her answers show."""
    return await interviews.answer(service, id, body, key)
