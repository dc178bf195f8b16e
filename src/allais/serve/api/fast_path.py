"""What every call meets first. Calls without a key that is in force go no further: their bodies are not looked at.

Decide and reward go past the framework, whose own work would take more time than theirs. The same functions answer as
behind the routes; only the key, the body and the answer are handled here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.types import Message, Receive, Scope, Send

from allais.serve.api.http import OURS, address_of, given_key, refuse, with_headers, with_segments
from allais.serve.api.schemas import Decide, Reward
from allais.serve.core import decisions
from allais.serve.core.errors import Refused, dumps
from allais.serve.core.service import Service, log
from allais.serve.settings_file import sentence_of

API, BEFORE = "/v1/", "/v1/experiments/"
_ROUTES = {verb: f"{BEFORE}{{name}}/{verb}" for verb in ("decide", "reward")}
Answer = Callable[[Service, str, Any], Awaitable[dict[str, Any]]]
Read = Callable[[bytes], Any]


class Seen:
    """What is noted about one call."""

    __slots__ = ("key", "route", "status")

    def __init__(self) -> None:
        self.route: str | None = None  # as the API document writes it; None where there is none
        self.status = 0  # 0: its caller went away
        self.key: str | None = None  # the name of its key


class Lane:
    """An application of ASGI in front of another, for calls that come often."""

    def __init__(self, app: FastAPI, most: int) -> None:
        self.app, self.most = app, most
        self._calls: dict[str, tuple[Read, Answer]] = {
            "decide": (_reader(Decide), decisions.decide),
            "reward": (_reader(Reward), decisions.reward),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call, or pass it on; note how long that took."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = perf_counter()
        seen = Seen()
        await self._led(scope, receive, with_headers(send), seen)
        requests = self.app.state.service.requests
        requests.note(scope["method"], seen.route, seen.status, perf_counter() - began, seen.key)

    async def _led(self, scope: Scope, receive: Receive, send: Send, seen: Seen) -> None:
        """Lead a call to what answers it."""
        if scope["method"] == "POST":
            path: str = scope["path"]
            if path.startswith(BEFORE):
                name, _, verb = path[len(BEFORE) :].partition("/")
                call = self._calls.get(verb)
                if call is not None:
                    seen.route = _ROUTES[verb]
                    seen.status = await self._answer(name, *call, scope, receive, send, seen)
                    self.app.state.service.calls[verb, seen.status] += 1
                    return
        if scope["path"].startswith(API):
            try:
                seen.key = self.app.state.service.ring.known(given_key(scope["headers"]), address_of(scope)).name
            except Refused as refusal:
                seen.status = refusal.status
                await refuse(refusal)(scope, receive, send)
                return
            others = [pair for pair in scope["headers"] if pair[0] != b"content-type"]
            as_json = [*others, (b"content-type", b"application/json")]  # bodies are JSON here, whatever curl says
            scope = {**with_segments(scope), "headers": as_json}

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception:
            log.exception("a call failed")  # its caller has an answer by now, and may go on with the connection
        seen.route = getattr(scope.get("route"), "path", None)

    async def _answer(self, name: str, read: Read, answer: Answer, scope: Scope, receive: Receive, send: Send,
                      seen: Seen) -> int:  # fmt: skip
        try:
            service: Service = self.app.state.service
            seen.key = service.ring.admit(given_key(scope["headers"]), "decide", address_of(scope), name).name
            try:
                body = read(await self._body(receive))
            except ValidationError as error:
                raise Refused(422, sentence_of(error)) from None
            content = dumps(await answer(service, name, body)).encode()
        except Refused as refusal:
            await refuse(refusal)(scope, receive, send)
            return refusal.status
        except Exception:
            log.exception("a call failed")
            await refuse(OURS)(scope, receive, send)
            return OURS.status
        length = str(len(content)).encode()
        headers = [(b"content-length", length), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})
        return 200

    async def _body(self, receive: Receive) -> bytes:
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            part = message.get("body", b"")
            size += len(part)
            if size > self.most:
                raise Refused(413, f"a body may have {self.most:,} bytes; this one has more. Send less.")
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)


def _reader(schema: type[BaseModel]) -> Read:
    return TypeAdapter(schema).validate_json
