"""What all calls of HTTP share: keys, refusals, sizes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from json import JSONDecodeError
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BeforeValidator
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from allais.serve.api.schemas import Refusal, Text
from allais.serve.core.errors import Refused, dumps
from allais.serve.core.keys import ITS_OWN, Key
from allais.serve.core.service import Service

bearer = HTTPBearer(auto_error=False, description="An API key of this service.")
AZURE_HEADER = b"ocp-apim-subscription-key"  # where clients of Personalizer put theirs
SLASH = "\udc2f"  # stands for the slash of a name: no decoded address has a lone surrogate
Segment = Annotated[Text, BeforeValidator(lambda given: given.replace(SLASH, "/")), Path()]  # a name in an address
HEADERS = {  # of every answer that has none of its own, errors included
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_SENT = [(name.encode(), content.encode()) for name, content in HEADERS.items()]
OURS = Refused(500, "the service made a mistake of its own; its log has more.")
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": description}
    for status, description in {
        400: "The body is no JSON.", 401: "No key, or one that is not in force.", 403: "The key does not open this.",
        404: "There is no such thing.", 409: "Not in this state.", 410: "The decision has expired.",
        413: "The body is too large.", 421: "Another process serves this experiment.",
        422: "The body does not fit.", 429: "Too fast.", 503: "The database is away; repeat the call.",
    }.items()
}  # fmt: skip


def service_of(request: Request) -> Service:
    """The service behind a call."""
    service: Service = request.app.state.service
    return service


def given_key(headers: list[tuple[bytes, bytes]]) -> str:
    """The key that came with a call; empty if there is none."""
    for name, content in headers:
        if name == b"authorization" and content[:7].lower() == b"bearer ":
            return content[7:].strip().decode("latin-1")
        if name == AZURE_HEADER:
            return content.strip().decode("latin-1")
    return ""


def address_of(scope: Scope) -> str:
    """Where a call came from; behind a proxy all come from there."""
    client = scope.get("client")
    return client[0] if client else ""


def with_segments(scope: Scope) -> Scope:
    """A call whose path tells the slashes of names, which are sent as %2F, from those between names."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return scope
    names = (unquote(name).replace("/", SLASH) for name in raw.decode("ascii").split("/"))
    return {**scope, "path": "/".join(names)}


class JSONRoute(APIRoute):
    """A route whose bodies are JSON in Unicode: no half of a surrogate pair, which nothing could write again."""

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
    """What looks at keys: for the experiment whose name is in the path, else `about`."""

    async def admitted(request: Request, _: Annotated[Any, Depends(bearer)]) -> Key:
        given, name = given_key(request.scope["headers"]), request.path_params.get("name", about)
        return service_of(request).ring.admit(given, scope, address_of(request.scope), name)

    return admitted


ToRead = Annotated[Key, Depends(_admitting("read"))]
ToDecide = Annotated[Key, Depends(_admitting("decide"))]
ToManage = Annotated[Key, Depends(_admitting("manage"))]
ToReadItsOwn = Annotated[Key, Depends(_admitting("read", ITS_OWN))]
ToManageItsOwn = Annotated[Key, Depends(_admitting("manage", ITS_OWN))]
TheService = Annotated[Service, Depends(service_of)]


def answered(content: Any, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(dumps(content), status, media_type="application/json")


def refuse(refusal: Refused) -> Response:
    """A refusal as callers get it."""
    response = answered({"error": refusal.sentence}, refusal.status)
    if refusal.retry_after is not None:
        response.headers["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def with_headers(send: Send) -> Send:
    """Send answers with strict headers."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", ()))
            named = {name.lower() for name, _ in own}
            message["headers"] = own + [pair for pair in _SENT if pair[0] not in named]
        await send(message)

    return sending


def add_refusals(app: FastAPI, page: Callable[[Request, Refused], Response]) -> None:
    """Let every error end in a status and one sentence; whoever looks for a page that is not there gets a page."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return refuse(error)

    async def misfit(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return refuse(Refused(422, f"a body must be JSON; this one is not ({first['ctx']['error']}). Repair it."))
        place = ".".join(str(part) for part in first["loc"] if part != "body") or "what was sent"
        said = "there is no such entry" if first["type"] == "extra_forbidden" else str(first["msg"])
        return refuse(Refused(422, f"{place}: {said[:1].lower()}{said[1:]}. Check it against the schema."))

    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path = request.url.path
        if not path.startswith("/v1") and "text/html" in request.headers.get("accept", ""):
            return page(
                request, Refused(error.status_code, f"a page must exist; there is none at {path[:100]}. Go back.")
            )
        response = refuse(Refused(error.status_code, f"{str(error.detail).lower()}. See /openapi.json."))
        response.headers.update(error.headers or {})
        return response

    async def ours(_: Request, error: Exception) -> Response:
        return refuse(OURS)

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(RequestValidationError, misfit)
    app.add_exception_handler(HTTPException, known)
    app.add_exception_handler(Exception, ours)


class SizeLimit:
    """Refuses bodies that are too large: by their stated length at once, and others when they have grown so far."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        stated = None
        for name, given in scope["headers"]:
            if name == b"content-length":
                stated = int(given)
                break
        if stated is not None:
            if stated > self.most:
                await refuse(self._refusal())(scope, receive, send)
            else:
                await self.app(scope, receive, send)
            return
        whole = await self._whole(receive)
        if whole is None:
            await refuse(self._refusal())(scope, receive, send)
            return
        first = [whole]

        async def again() -> Message:
            if first:
                return {"type": "http.request", "body": first.pop(), "more_body": False}
            return await receive()

        await self.app(scope, again, send)

    async def _whole(self, receive: Receive) -> bytes | None:
        """A body of no stated length, or None if it is too large."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.most:
                return None
            more = message.get("more_body", False)
        return b"".join(parts)

    def _refusal(self) -> Refused:
        return Refused(413, f"a body may have {self.most:,} bytes; this one has more. Send it in parts.")
