"""What all HTTP calls share: the middleware that each passes first, keys, bodies, refusals, and request metrics."""

from __future__ import annotations

import logging
import re
import secrets
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from itertools import count
from json import JSONDecodeError
from time import perf_counter
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BeforeValidator
from pydantic_core import from_json, to_json
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from allais.serve.api.schemas import Refusal, Text
from allais.serve.core.errors import Refused
from allais.serve.core.keys import ITS_OWN, Key
from allais.serve.core.service import Service, log
from allais.serve.settings_file import ServerSettings, sentence_of

bearer = HTTPBearer(auto_error=False, description="An API key of this service.")
AZURE_HEADER = b"ocp-apim-subscription-key"  # where clients of Personalizer put theirs
API = "/v1/"
API_VERSION = "1.1"  # docs/reference/http-api.md says what each version brought
VERSION_HEADER, REQUEST_HEADER = "allais-api-version", b"x-request-id"
GIVEN_ID = re.compile(rb"[A-Za-z0-9._:-]{1,64}")  # of a request: what a log and a header can hold
SLASH = "\udc2f"  # stands for the slash of a name: no decoded address has a lone surrogate
Segment = Annotated[Text, BeforeValidator(lambda given: given.replace(SLASH, "/")), Path()]  # a name in an address
HEADERS = {  # of every answer that has none of its own, errors included
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
    VERSION_HEADER: API_VERSION,
}
STRICT = [(name.encode(), content.encode()) for name, content in HEADERS.items()]
STRICT_NAMES = {name for name, _ in STRICT}
# for pages of other sites: how they may call, and which headers of an answer they may read
CORS = [
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, x-request-id"),
    (b"access-control-expose-headers", b"retry-after, x-request-id, " + VERSION_HEADER.encode()),
    (b"access-control-max-age", b"7200"),
]
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds; as Prometheus's own
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER = "other"  # for a route or a method that the service does not have: callers must not make up labels
TRACE = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")  # https://www.w3.org/TR/trace-context
FACTS = ("method", "route", "status", "ms", "key", "request")  # of a request, in the order of a line
INTERNAL_ERROR = Refused(500, "internal error in the service; its log has the details.")
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": description}
    for status, description in {
        400: "The body is not JSON.", 401: "No key, or one that is not in force.", 403: "The key does not open this.",
        404: "There is no such thing.", 409: "Not in this state.", 410: "The decision has expired.",
        413: "The body is too large.", 421: "Another process serves this experiment.",
        422: "The body does not fit.", 429: "Too fast.", 503: "The database is away; repeat the call.",
    }.items()
}  # fmt: skip

requests_log = logging.getLogger("allais.serve.requests")


def service_of(request: Request) -> Service:
    """The service behind a call."""
    return request.app.state.service


def given_key(headers: Mapping[bytes, bytes]) -> str:
    """The key that came with a call; empty if there is none."""
    given = headers.get(b"authorization", b"")
    found = given[7:] if given[:7].lower() == b"bearer " else headers.get(AZURE_HEADER, b"")
    return found.strip().decode("latin-1")


def address_of(scope: Scope) -> str:
    """The address that a call came from; behind a proxy, that of the proxy."""
    client = scope.get("client")
    return client[0] if client else ""


def with_segments(scope: Scope) -> None:
    """Tell slashes within names, which are sent as %2F, from those between names in the path of a call."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" in raw.lower():
        scope["path"] = "/".join(unquote(name).replace("/", SLASH) for name in raw.decode("ascii").split("/"))


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, most: int) -> bytes:
    """The body of a call; one that is too large is refused, at once if its length is stated."""
    stated = int(headers.get(b"content-length", 0))
    parts, size, more = [], 0, stated <= most
    while more and size <= most:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
    if max(stated, size) > most:
        raise Refused(413, f"a body may have {most:,} bytes; this one has more. Send it in parts.")
    return parts[0] if len(parts) == 1 else b"".join(parts)


class JSONRoute(APIRoute):
    """A route whose bodies are JSON in Unicode, without lone surrogates, which could not be written again."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        inner = super().get_route_handler()

        async def answer(request: Request) -> Response:
            return await inner(_JSONRequest(request.scope, request.receive))

        return answer


class _JSONRequest(Request):
    async def json(self) -> Any:
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            raise JSONDecodeError(str(error), "", 0) from None


def _admitting(scope: str, about: str | None = None) -> Callable[..., Awaitable[Key]]:
    """A dependency that checks the key of a call: for the experiment named in the path, else for `about`."""

    async def admitted(request: Request, _: Annotated[Any, Depends(bearer)]) -> Key:
        key, ring = request.scope.get("key"), service_of(request).ring
        if key is None:  # outside of the API proper, where it was looked at before
            key = ring.known(given_key(dict(request.scope["headers"])), address_of(request.scope))
        return ring.allow(key, scope, request.path_params.get("name", about))

    return admitted


ToRead = Annotated[Key, Depends(_admitting("read"))]
ToDecide = Annotated[Key, Depends(_admitting("decide"))]
ToManage = Annotated[Key, Depends(_admitting("manage"))]
ToReadItsOwn = Annotated[Key, Depends(_admitting("read", ITS_OWN))]
ToManageItsOwn = Annotated[Key, Depends(_admitting("manage", ITS_OWN))]
TheService = Annotated[Service, Depends(service_of)]


def answered(content: Any, status: int = 200) -> Response:
    """An answer in JSON, as it is: the framework would check it against its schema, on the event loop."""
    return Response(to_json(content), status, media_type="application/json")


def refuse(refusal: Refused) -> Response:
    """A refusal as callers get it."""
    response = answered({"error": refusal.sentence}, refusal.status)
    if refusal.retry_after is not None:
        response.headers["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def add_refusals(app: FastAPI, page: Callable[[Request, Refused], Response]) -> None:
    """Answer every error with a status and one sentence; a browser that asks for a missing page gets a page."""

    async def refused(_: Request, error: Any) -> Response:
        return refuse(error)

    async def misfit(_: Request, error: Any) -> Response:
        return refuse(Refused(422, sentence_of(error.errors())))

    async def known(request: Request, error: Any) -> Response:
        path = request.url.path
        if not path.startswith("/v1") and "text/html" in request.headers.get("accept", ""):
            return page(request, Refused(error.status_code, f"page not found: {path[:100]}. Go back."))
        response = refuse(Refused(error.status_code, f"{str(error.detail).lower()}. See /openapi.json."))
        response.headers.update(error.headers or {})
        return response

    async def ours(_: Request, error: Exception) -> Response:
        return refuse(INTERNAL_ERROR)

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(RequestValidationError, misfit)
    app.add_exception_handler(HTTPException, known)
    app.add_exception_handler(Exception, ours)


class Requests:
    """The requests of this process; it belongs to the event loop.

    Of each it is noted how long it took and, if asked for, a line in the log: the method, the route as the API document
    writes it, the status, the milliseconds, the name of the key and the id of the request; no names from the address,
    no bodies, no keys, no tokens. As JSON, a line also has the trace of a caller who sent one.
    """

    def __init__(self, *, logged: bool) -> None:
        self._logged = logged
        # by method, route and status: the number in each bucket, and the sum of seconds
        self.seen: dict[tuple[str, str | None, int], list[float]] = {}

    def note(
        self, method: str, route: str | None, status: int, seconds: float, key: str | None, id: bytes = b"-",
        trace: bytes = b"",
    ) -> None:  # fmt: skip
        """Count a request that was answered."""
        numbers = self.seen.get((method, route, status))
        if numbers is None:
            method = method if method in METHODS else OTHER
            numbers = self.seen.setdefault((method, route, status), [0.0] * (len(BOUNDS) + 2))
        numbers[bisect_left(BOUNDS, seconds)] += 1
        numbers[-1] += seconds
        if self._logged:
            facts = (method, route or OTHER, status, round(1e3 * seconds, 1), key or "-", id.decode())
            found = TRACE.fullmatch(trace)
            traced = {} if found is None else {"trace_id": found[1].decode(), "span_id": found[2].decode()}
            extra = {"facts": dict(zip(FACTS, facts, strict=True)) | traced}
            requests_log.info("%s %s %d %.1f ms key=%s request=%s", *facts, extra=extra)


class Front:
    """The middleware that every call passes first: it checks key and size, adds strict headers, and counts the call.

    Calls of the API without a valid key go no further: their bodies are not looked at. Direct routes answer
    from here, the others behind the framework. Every request has an id, its caller's own or a new one.
    """

    def __init__(self, app: FastAPI, settings: ServerSettings, direct: Sequence[Any]) -> None:
        self.app, self._most = app, settings.limits.body_bytes
        self._origins = {site.encode() for site in settings.origins}
        self._process, self._count = secrets.token_hex(4).encode(), count(1)
        self.requests = app.state.requests = Requests(logged=settings.request_log)
        # by the last part of their path: a router of Starlette takes 5 us for that
        self._direct = {route.path.rpartition("/")[2]: route for route in direct}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call; note how long that took."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = perf_counter()
        status = 0  # until something is answered: the caller may go away
        headers = dict(reversed(scope["headers"]))  # the first of each name counts
        id, origin = headers.get(REQUEST_HEADER, b""), headers.get(b"origin")
        if not GIVEN_ID.fullmatch(id):
            id = b"%s-%x" % (self._process, next(self._count))
        if origin not in self._origins or not scope["path"].startswith(API):
            origin = None

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = message["headers"]
                if STRICT_NAMES.isdisjoint(dict(own)):  # almost always
                    own.extend(STRICT)
                else:
                    own.extend([pair for pair in STRICT if pair[0] not in dict(own)])
                own.append((REQUEST_HEADER, id))
                if origin is not None:
                    own.extend([(b"access-control-allow-origin", origin), (b"vary", b"origin"), *CORS])
            await send(message)

        scope["app"] = self.app
        try:
            if origin is not None and scope["method"] == "OPTIONS":  # a browser asks whether a page may call
                await Response(status_code=204)(scope, receive, sending)
                return
            if scope["path"].startswith(API):
                scope["key"] = self.app.state.service.ring.known(given_key(headers), address_of(scope))
            scope["body"] = await read_body(headers, receive, self._most)
            parts = scope["path"].split("/")
            route = self._direct.get(parts[4]) if len(parts) == 5 and scope["method"] == "POST" else None
            if route is not None and parts[2] == "experiments":
                scope["route"] = route
                await route.answer(scope, parts[3], sending)
            else:
                await self._framework(scope, receive, sending)
        except Refused as refusal:
            await refuse(refusal)(scope, receive, sending)
        except Exception:
            # the caller gets an answer, and may go on with the connection
            log.exception("a call failed (request %s)", id.decode())
            if not status:
                await refuse(INTERNAL_ERROR)(scope, receive, sending)
        key, path = scope.get("key"), getattr(scope.get("route"), "path", None)
        seconds, trace = perf_counter() - began, headers.get(b"traceparent", b"")
        self.requests.note(scope["method"], path, status, seconds, key and key.name, id, trace)

    async def _framework(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the framework answer, with the body that was read."""
        if "key" in scope:
            with_segments(scope)
            others = [pair for pair in scope["headers"] if pair[0] != b"content-type"]
            scope["headers"] = [*others, (b"content-type", b"application/json")]  # bodies are JSON, whatever curl says
        body = [scope["body"]]

        async def again() -> Message:
            return {"type": "http.request", "body": body.pop()} if body else await receive()

        await self.app(scope, again, send)
