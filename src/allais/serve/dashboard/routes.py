"""The pages: their addresses, and what fills them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from sqlalchemy import select
from starlette.exceptions import HTTPException

from allais.preferences.named import in_words
from allais.report.markup import SHARED_STYLE, render, static
from allais.serve.api.http import INTERNAL_ERROR, address_of, service_of
from allais.serve.api.schemas import LARGEST_INT, ExperimentName, ExperimentSettings, Text
from allais.serve.api.schemas_people import AnswerQuestion, MakeLink, StartInterview
from allais.serve.core import evaluations, experiments, interviews
from allais.serve.core import people as known_people
from allais.serve.core.errors import Refused, not_found
from allais.serve.core.keys import ITS_OWN, Key
from allais.serve.core.service import log
from allais.serve.dashboard import experiment_page, session
from allais.serve.dashboard.dashboard_state import Dashboard, tag_of
from allais.serve.dashboard.view_model import Summary
from allais.serve.settings_file import sentence_of
from allais.serve.store.tables import PAUSED, RUNNING, audit, keys
from allais.settings import from_spec

PLACE = "serve/dashboard"  # of templates and static files
STATIC = {
    "dashboard.css": ("text/css", (SHARED_STYLE, f"{PLACE}/static/dashboard.css")),
    "dashboard.js": ("text/javascript", (f"{PLACE}/static/dashboard.js",)),
}
AQuestion = Annotated[int | None, Query(ge=1, le=LARGEST_INT)]
VERBS = {"pause": PAUSED, "resume": RUNNING}
PER_PAGE = 100  # people, or changes
LONGEST = 120  # characters of what a change was about
LAST = 2**31 - 1


class PageRoute(APIRoute):
    """A route whose refusals, and whose own mistakes, are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        inner = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                if "\0" in request.url.path or "\0" in unquote(request.url.query):
                    raise Refused(404, "page not found: an address must not contain a zero character. Go back.")
                return await inner(request)
            except session.SignInNeeded:
                return RedirectResponse("/sign-in", 303)
            except Refused as refusal:
                return refused(request, refusal)
            except (HTTPException, RequestValidationError):  # there are handlers for them
                raise
            except Exception:
                log.exception("a page failed")
                return refused(request, INTERNAL_ERROR)

        return answer


def refused(request: Request, refusal: Refused) -> Response:
    """A refusal as a page."""
    anybody = may(request, "read", ITS_OWN)  # who may look at other pages, though not at this one
    response = _page("refusal", refusal.status, signed_in=anybody, said=_sentence(refusal))
    if refusal.retry_after is not None:
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


def _page(template: str, status: int = 200, *, signed_in: bool = True, **given: Any) -> Response:
    return _html(render(f"{PLACE}/templates/{template}.html.j2", signed_in=signed_in, **given), status)


def _html(content: str, status: int = 200) -> Response:
    return Response(content, status, media_type="text/html; charset=utf-8")


def _sentence(refusal: Refused) -> str:
    return refusal.sentence[:1].upper() + refusal.sentence[1:]


router = APIRouter(route_class=PageRoute, include_in_schema=False)


def _dashboard(request: Request) -> Dashboard:
    return request.app.state.dashboard


def viewer(request: Request, scope: str = "read", about: str | None = None) -> Key:
    """The key of the viewer, if it opens what `about` says; by default the experiment whose name is in the path."""
    about = request.path_params.get("name") if about is None else about
    return _dashboard(request).sessions.viewer(request, scope, about)


def may(request: Request, scope: str, about: str | None = None) -> bool:
    """Whether the viewer has signed in with a key of a scope."""
    try:
        viewer(request, scope, about)
    except (session.SignInNeeded, Refused):
        return False
    return True


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)


def _fresh(request: Request, content: str) -> Response:
    """A part of a page, or nothing if the reader has it already."""
    tag = tag_of(content)
    response = Response(status_code=304) if request.headers.get("if-none-match") == tag else _html(content)
    response.headers["ETag"] = tag
    return response


# -- who ------------------------------------------------------------------------------------------


@router.get("/static/{name}")
async def file(name: str) -> Response:
    """The style sheet of the dashboard, or its script."""
    if name not in STATIC:
        raise not_found("a file", name, "See the pages themselves.")
    kind, parts = STATIC[name]
    return Response(static(*parts), media_type=kind, headers={"Cache-Control": "no-cache"})


@router.get("/sign-in")
async def sign_in(request: Request) -> Response:
    """The form for a key."""
    return _page("sign_in", signed_in=False, said="")


@router.post("/sign-in")
async def signed_in(request: Request) -> Response:
    """Sign in with a key."""
    form = await session.form_of(request)
    try:
        ring = service_of(request).ring
        key = ring.allow(ring.known(form.get("key", ""), address_of(request.scope)), "read", ITS_OWN)
    except Refused as refusal:
        said = "This key opens nothing here." if refusal.status == 401 else _sentence(refusal)
        return _page("sign_in", refusal.status, signed_in=False, said=said)
    response = _to("/")
    _dashboard(request).sessions.begin(request, response, key)
    return response


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """Sign out."""
    await session.form_of(request)
    response = _to("/sign-in")
    _dashboard(request).sessions.end(request, response)
    return response


# -- experiments ----------------------------------------------------------------------------------


@router.get("/")
async def overview(request: Request) -> Response:
    """All experiments."""
    listed, manages = await _listed(request), may(request, "manage")
    return _page("experiments", title="Experiments", address="/live", content=listed, manages=manages)


@router.get("/live")
async def experiments_now(request: Request) -> Response:
    """The list, as it is now."""
    return _fresh(request, await _listed(request))


async def _listed(request: Request) -> str:
    key = viewer(request, about=ITS_OWN)
    found: list[Summary] = [one for one in await _dashboard(request).summaries() if key.may_see(one.name)]
    return render(f"{PLACE}/templates/experiments_list.html.j2", summaries=found)


@router.get("/experiments/{name}")
async def experiment(request: Request, name: str) -> Response:
    """One experiment."""
    return _page("live", title=name, address=f"/experiments/{name}/live", content=await _content(request, name))


@router.get("/experiments/{name}/live")
async def experiment_now(request: Request, name: str) -> Response:
    """One experiment, as it is now."""
    return _fresh(request, await _content(request, name))


async def _content(request: Request, name: str) -> str:
    viewer(request)
    facts = await _dashboard(request).look(name)
    return await asyncio.to_thread(experiment_page.content, facts, manages=may(request, "manage"))


@router.get("/experiments/{name}/evaluation")
async def evaluation(request: Request, name: str, by: str = "", floor: str = "", person: str = "") -> Response:
    """What other policies would have brought, by the decisions so far."""
    viewer(request)
    given = {"by": by, "floor": floor, "person": person}
    try:
        seen = await evaluations.look(service_of(request), name, session.wanted_of(given))
    except Refused as refusal:
        if refusal.status not in (404, 422) or not any(given.values()):
            raise
        return _page("evaluation", refusal.status, name=name, given=given, said=_sentence(refusal), seen=None)
    return _page("evaluation", name=name, given=given, said="", seen=seen)


@router.post("/experiments/{name}/{verb}")
async def change(request: Request, name: str, verb: str) -> Response:
    """Pause or resume."""
    key = viewer(request, "manage")
    await session.form_of(request)
    if verb not in VERBS:
        raise not_found("a change", verb, "Pause or resume.")
    await experiments.change_state(service_of(request), name, VERBS[verb], verb, key)
    return _to(f"/experiments/{name}")


@router.get("/new")
async def new(request: Request) -> Response:
    """The form of a new experiment."""
    viewer(request, "manage")
    return _form({})


def _form(given: dict[str, str], status: int = 200, said: str = "") -> Response:
    return _page("new", status, given=given, said=said, preferences=session.PREFERENCES, policies=session.POLICIES)


@router.post("/new")
async def begin(request: Request) -> Response:
    """Begin an experiment."""
    key = viewer(request, "manage")
    form = await session.form_of(request)
    try:
        body = session.settings_of(form)
        try:
            settings = ExperimentSettings.model_validate_json(json.dumps(body))
        except ValidationError as error:
            raise Refused(422, sentence_of(error.errors())) from None
        if not session.fits(ExperimentName, form.get("name", "")):
            raise Refused(422, "a name has letters, digits, dots and dashes; this one has others. Change it.")
        await experiments.create(service_of(request), form["name"], settings, key)
    except Refused as refusal:
        return _form(form, refusal.status, _sentence(refusal))
    return _to(f"/experiments/{form['name']}")


# -- people ---------------------------------------------------------------------------------------


@router.get("/people")
async def people(request: Request, after: str = "") -> Response:
    """People and their preferences."""
    viewer(request)
    rows = await known_people.listed(service_of(request), after, PER_PAGE)
    found = [(row["name"], in_words(from_spec(row["preference"])), row["source"]) for row in rows]
    more = found[-1][0] if len(found) == PER_PAGE else None
    return _page("people", people=found, more=more, manages=may(request, "manage"))


@router.post("/interviews")
async def ask(request: Request) -> Response:
    """Begin to ask somebody."""
    key = viewer(request, "manage")  # the answers will be a person's preference
    form = await session.form_of(request)
    person = form.get("person", "")
    if not session.fits(Text, person):
        raise Refused(422, "a person has a name of 1 to 200 characters; this one has none. Write it.")
    body = {
        "stakes": [session.number_of(form, "low"), session.number_of(form, "high")], "unit": form.get("unit", ""),
        "costs": bool(form.get("costs")),
    }  # fmt: skip
    try:
        call = StartInterview.model_validate_json(json.dumps(body))
    except ValidationError as error:
        raise Refused(422, sentence_of(error.errors())) from None
    service = service_of(request)
    shown = await interviews.start(service, person, call, key)
    if form.get("by") == "link":
        made = await interviews.make(service, shown["id"], MakeLink().expires_after, key)
        scheme = "https" if session.is_secure(request) else "http"
        whole = f"{scheme}://{request.headers.get('host', '')}{made['path']}"
        return _page("link", person=person, address=whole)
    return _to(f"/interviews/{shown['id']}")


@router.get("/interviews/{id}")
async def interview(request: Request, id: str, question: AQuestion = None) -> Response:
    """The next question, or one to go back to."""
    viewer(request, "decide")
    return await _question(request, id, question, f"/interviews/{id}", signed_in=True)


@router.post("/interviews/{id}")
async def answer(request: Request, id: str) -> Response:
    """Take an answer."""
    return await _answered(request, id, viewer(request, "decide"), f"/interviews/{id}")


@router.get("/answer/{token}")
async def question_by_link(request: Request, token: str, question: AQuestion = None) -> Response:
    """The next question for somebody who has a link."""
    id_, _ = await interviews.admit(service_of(request), token, address_of(request.scope))
    return await _question(request, id_, question, f"/answer/{token}", signed_in=False)


@router.post("/answer/{token}")
async def answer_by_link(request: Request, token: str) -> Response:
    """Take an answer of somebody who has a link."""
    id_, maker = await interviews.admit(service_of(request), token, address_of(request.scope))
    return await _answered(request, id_, maker, f"/answer/{token}")


async def _question(request: Request, id_: str, question: int | None, here: str, *, signed_in: bool) -> Response:
    service = service_of(request)
    shown = await interviews.show(service, id_, question)
    shows = "" if shown["question"] is not None else in_words(from_spec(shown["preference"]))
    unit = service.interviews[id_].interview.unit
    # the address of a link is a secret: every answer has the policy `same-origin`. With `no-referrer`, browsers would
    # send forms without an origin, which are refused
    return _page("interview", signed_in=signed_in, shown=shown, preference=shows, unit=unit, address=here)


async def _answered(request: Request, id_: str, key: Key, here: str) -> Response:
    form = await session.form_of(request)
    try:
        call = AnswerQuestion.model_validate_json(
            json.dumps({"question": int(form.get("question", "")), "answer": form.get("answer")})
        )
    except ValueError:
        raise Refused(422, "an answer to the current question must be A or B; got neither. Go back.") from None
    await interviews.answer(service_of(request), id_, call, key)
    return _to(here)


# -- changes and calls ----------------------------------------------------------------------------


@router.get("/changes")
async def changes(request: Request, before: Annotated[int, Query(ge=1, le=LAST)] = LAST) -> Response:
    """Who changed what: the last changes, the latest on top."""
    viewer(request, "manage")
    wanted = select(audit, keys.c.name).outerjoin(keys, keys.c.id == audit.c.key).where(audit.c.id < before)
    rows = await service_of(request).rows(wanted.order_by(audit.c.id.desc()).limit(PER_PAGE))
    found = [
        (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.at)), row.name or row.key, row.action, row.target,
         _about(row.detail)) for row in rows
    ]  # fmt: skip
    return _page("changes", changes=found, earlier=rows[-1].id if len(rows) == PER_PAGE else None)


def _about(detail: str) -> str:
    """What a change was about, in a few words."""
    found = json.loads(detail)
    text = "" if found is None else found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@router.get("/docs")
async def calls(request: Request) -> Response:
    """All calls by their subjects, then what is sent and got, from the API document: nothing is fetched."""
    document = request.app.openapi()
    subjects: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            subjects.setdefault((call.get("tags") or ["other"])[0], []).append((method, path, call))
    schemas = document.get("components", {}).get("schemas", {})
    signed_in = may(request, "read", ITS_OWN)
    return _page("calls", signed_in=signed_in, subjects=subjects, schemas=schemas, json=json.dumps)
