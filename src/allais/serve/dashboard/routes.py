"""The pages' addresses."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from allais.serve.api.http import OURS, address_of, service_of
from allais.serve.api.schemas import LARGEST_INT, ExperimentSettings
from allais.serve.api.schemas_people import AnswerQuestion, MakeLink, StartInterview
from allais.serve.core import experiments, interviews
from allais.serve.core import people as acquainted
from allais.serve.core.errors import Refused, unknown
from allais.serve.core.keys import ITS_OWN, Key
from allais.serve.core.service import log
from allais.serve.dashboard import experiment_page, pages, session
from allais.serve.dashboard.dashboard_state import Dashboard, tag_of
from allais.serve.settings_file import sentence_of
from allais.serve.store.tables import PAUSED, RUNNING
from allais.settings import from_spec

STATIC = {
    name: (Path(__file__).with_name("static") / name, kind)
    for name, kind in {"dashboard.css": "text/css", "dashboard.js": "text/javascript"}.items()
}
AQuestion = Annotated[int | None, Query(ge=1, le=LARGEST_INT)]
VERBS = {"pause": PAUSED, "resume": RUNNING}


class PageRoute(APIRoute):
    """A route whose refusals, and whose own mistakes, are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        inner = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                if "\0" in request.url.path or "\0" in unquote(request.url.query):
                    raise Refused(404, "a page must exist; no address has a zero character in it. Go back.")
                return await inner(request)
            except session.SignInNeeded:
                return RedirectResponse("/sign-in", 303)
            except Refused as refusal:
                return refused(request, refusal)
            except (HTTPException, RequestValidationError):  # there are handlers for them
                raise
            except Exception:
                log.exception("a page failed")
                return refused(request, OURS)

        return answer


def refused(request: Request, refusal: Refused) -> Response:
    """A refusal as a page."""
    response = pages.refusal(refusal.sentence, refusal.status, signed_in=_signed_in(request))
    if refusal.retry_after is not None:
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


router = APIRouter(route_class=PageRoute, include_in_schema=False)


def _dashboard(request: Request) -> Dashboard:
    dashboard: Dashboard = request.app.state.dashboard
    return dashboard


def viewer(request: Request, scope: str = "read", about: str | None = None) -> Key:
    """The key of whoever looks: at the experiment whose name is in the path, else at what `about` says."""
    return _dashboard(request).sessions.viewer(request, scope, request.path_params.get("name", about))


def may(request: Request, scope: str, about: str | None = None) -> bool:
    """Whether whoever looks has signed in with a key of a scope."""
    try:
        viewer(request, scope, about)
    except (session.SignInNeeded, Refused):
        return False
    return True


def _signed_in(request: Request) -> bool:
    """Whether anybody looks, be it at what the key does not open."""
    try:
        _dashboard(request).sessions.viewer(request, "read", ITS_OWN)
    except (session.SignInNeeded, Refused):
        return False
    return True


def _seen(found: list[pages.Summary], key: Key) -> list[pages.Summary]:
    return [one for one in found if key.may_see(one.name)]


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)


def _fresh(request: Request, content: str) -> Response:
    """A part of a page, or nothing if the reader has it already."""
    tag = tag_of(content)
    response = Response(status_code=304) if request.headers.get("if-none-match") == tag else pages.html(content)
    response.headers["ETag"] = tag
    return response


# -- who ------------------------------------------------------------------------------------------


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A file of ours."""
    if name not in STATIC:
        raise unknown("a file", name, "See the pages themselves.")
    path, kind = STATIC[name]
    return Response(path.read_bytes(), media_type=kind, headers={"Cache-Control": "no-cache"})


@router.get("/sign-in")
async def sign_in(request: Request) -> Response:
    """The form for a key."""
    return pages.page("Sign in", pages.sign_in(), signed_in=False)


@router.post("/sign-in")
async def signed_in(request: Request) -> Response:
    """Take a key."""
    form = await session.form_of(request)
    try:
        key = service_of(request).ring.admit(form.get("key", ""), "read", address_of(request.scope), ITS_OWN)
    except Refused as refusal:
        said = "This key opens nothing here." if refusal.status == 401 else refusal.sentence.capitalize()
        return pages.html(pages.whole("Sign in", pages.sign_in(said), signed_in=False), refusal.status)
    response = _to("/")
    _dashboard(request).sessions.begin(request, response, key)
    return response


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """Forget who looks."""
    await session.form_of(request)
    response = _to("/sign-in")
    _dashboard(request).sessions.end(request, response)
    return response


# -- experiments ----------------------------------------------------------------------------------


@router.get("/")
async def overview(request: Request) -> Response:
    """All experiments."""
    key = viewer(request, about=ITS_OWN)
    found = _seen(await _dashboard(request).summaries(), key)
    listed = pages.live("/live", pages.experiments(found))
    return pages.page("Experiments", pages.framed(listed, manages=may(request, "manage")), here="/")


@router.get("/live")
async def experiments_now(request: Request) -> Response:
    """The list, as it is now."""
    key = viewer(request, about=ITS_OWN)
    return _fresh(request, pages.experiments(_seen(await _dashboard(request).summaries(), key)))


@router.get("/experiments/{name}")
async def experiment(request: Request, name: str) -> Response:
    """One experiment."""
    viewer(request)
    facts = await _dashboard(request).look(name)
    content = await asyncio.to_thread(experiment_page.content, facts, manages=may(request, "manage"))
    return pages.page(name, pages.live(f"/experiments/{name}/live", content))


@router.get("/experiments/{name}/live")
async def experiment_now(request: Request, name: str) -> Response:
    """One experiment, as it is now."""
    viewer(request)
    facts = await _dashboard(request).look(name)
    return _fresh(request, await asyncio.to_thread(experiment_page.content, facts, manages=may(request, "manage")))


@router.post("/experiments/{name}/{verb}")
async def change(request: Request, name: str, verb: str) -> Response:
    """Pause or resume."""
    key = viewer(request, "manage")
    await session.form_of(request)
    if verb not in VERBS:
        raise unknown("a change", verb, "Pause or resume.")
    await experiments.change_state(service_of(request), name, VERBS[verb], verb, key)
    return _to(f"/experiments/{name}")


@router.get("/new")
async def new(request: Request) -> Response:
    """The form of a new experiment."""
    viewer(request, "manage")
    return pages.page("A new experiment", pages.new_experiment({}))


@router.post("/new")
async def begin(request: Request) -> Response:
    """Begin an experiment."""
    key = viewer(request, "manage")
    form = await session.form_of(request)
    try:
        body = _settings(form)
        try:
            settings = ExperimentSettings.model_validate_json(json.dumps(body))
        except ValidationError as error:
            raise Refused(422, sentence_of(error)) from None
        if not session.is_name(form.get("name", "")):
            raise Refused(422, "a name has letters, digits, dots and dashes; this one has others. Change it.")
        await experiments.create(service_of(request), form["name"], settings, key)
    except Refused as refusal:
        said = refusal.sentence[:1].upper() + refusal.sentence[1:]
        return pages.html(pages.whole("A new experiment", pages.new_experiment(form, said)), refusal.status)
    return _to(f"/experiments/{form['name']}")


def _settings(form: dict[str, str]) -> dict[str, Any]:
    """The settings that a form says."""
    low, high = _number(form, "low"), _number(form, "high")
    taste = form.get("taste", "")
    if taste not in pages.TASTES or form.get("policy") not in ("NPTS", "WUCB"):
        raise Refused(422, "a form must be one that these pages have; this one is not. Reload the page.")
    preference: dict[str, Any] = {"name": taste, "costs": bool(form.get("costs"))}
    preference["reference"] = _number(form, "reference") if form.get("reference") else 0.0
    if taste == "cvar":
        preference["level"] = 0.1
    return {
        "policy": {"type": form["policy"]},
        "arms": [line.strip() for line in form.get("arms", "").splitlines() if line.strip()],
        "preference": preference,
        "rewards": {"type": "Bounded", "low": low, "high": high},
        "unit": form.get("unit", ""),
    }


def _number(form: dict[str, str], name: str) -> float:
    try:
        found = float(form.get(name, ""))
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise Refused(422, f"an outcome is a number; got {form.get(name, '')[:40]!r}. Write one.")
    return found


# -- people ---------------------------------------------------------------------------------------


@router.get("/people")
async def people(request: Request, after: str = "") -> Response:
    """People and what they go by."""
    viewer(request)
    most = pages.PEOPLE_PER_PAGE
    rows = await acquainted.listed(service_of(request), after, most)
    found = [(row["name"], from_spec(row["preference"]), row["source"]) for row in rows]
    more = found[-1][0] if len(found) == most else None
    return pages.page("People", pages.people(found, more, manages=may(request, "manage")), here="/people")


@router.post("/interviews")
async def ask(request: Request) -> Response:
    """Begin to ask somebody."""
    key = viewer(request, "manage")  # the answers will be a person's preference
    form = await session.form_of(request)
    person = form.get("person", "")
    if not session.is_text(person):
        raise Refused(422, "a person has a name of 1 to 200 characters; this one has none. Write it.")
    body = {
        "stakes": [_number(form, "low"), _number(form, "high")], "unit": form.get("unit", ""),
        "costs": bool(form.get("costs")),
    }  # fmt: skip
    try:
        call = StartInterview.model_validate_json(json.dumps(body))
    except ValidationError as error:
        raise Refused(422, sentence_of(error)) from None
    service = service_of(request)
    shown = await interviews.start(service, person, call, key)
    if form.get("by") == "link":
        made = await interviews.make(service, shown["id"], MakeLink().expires_after, key)
        scheme = "https" if session.is_secure(request) else "http"
        whole = f"{scheme}://{request.headers.get('host', '')}{made['path']}"
        return pages.page("A link", pages.link(person, whole))
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
    content = pages.interview(shown, service.interviews[id_].interview.unit, here, signed_in=signed_in)
    # the address of a link is a secret: every answer has the policy `same-origin`. With `no-referrer`, browsers would
    # send forms without an origin, which are refused
    return pages.page("An interview", content, signed_in=signed_in)


async def _answered(request: Request, id_: str, key: Key, here: str) -> Response:
    form = await session.form_of(request)
    try:
        call = AnswerQuestion.model_validate_json(
            json.dumps({"question": int(form.get("question", "")), "answer": form.get("answer")})
        )
    except ValueError:
        raise Refused(422, "an answer is A or B to the question that is out; this is neither. Go back.") from None
    await interviews.answer(service_of(request), id_, call, key)
    return _to(here)
