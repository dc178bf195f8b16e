"""The application: all routes, and the service behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import perf_counter

from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from allais import __version__
from allais.serve.api import personalizer, routes_decisions, routes_experiments, routes_keys, routes_people
from allais.serve.api.http import (
    OURS,
    STRICT,
    STRICT_NAMES,
    add_refusals,
    address_of,
    given_key,
    read_body,
    refuse,
    with_segments,
)
from allais.serve.api.metrics import Requests
from allais.serve.core import experiments
from allais.serve.core.errors import Refused
from allais.serve.core.service import Service, log
from allais.serve.dashboard import routes as pages
from allais.serve.dashboard.dashboard_state import Dashboard
from allais.serve.settings_file import ServerSettings
from allais.serve.store.database import Database

ROUTERS = (
    routes_decisions.direct_router, routes_decisions.router, routes_experiments.router,
    routes_experiments.values_router, routes_people.router, personalizer.router,
    routes_keys.router, routes_keys.trail_router, routes_keys.open_router,
    pages.router,
)  # fmt: skip
API = "/v1/"
ABOUT = "Bandits that choose as people do: decide, reward, and one memory of the world for many people."


def make_app(settings: ServerSettings, started: Callable[[Service], Awaitable[None]] | None = None) -> Front:
    """The application of a process; `started` is called when its service is ready, before the first call."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        try:
            service = app.state.service = Service(settings, Database(settings.database))
            await service.start()
        except Exception as error:
            app.state.failure = error
            raise
        try:
            dashboard = app.state.dashboard = Dashboard(service)
            service.begin(dashboard.run())
            service.begin(experiments.clear_hidden(service))
            if started is not None:
                await started(service)
            yield
        except Exception as error:
            app.state.failure = error
            raise
        finally:
            await service.stop()

    app = FastAPI(
        title="allais", version=__version__, description=ABOUT, lifespan=life, docs_url=None, redoc_url=None,
        separate_input_output_schemas=False, redirect_slashes=False,
    )  # fmt: skip
    for router in ROUTERS:
        app.include_router(router)
    add_refusals(app, pages.refused)
    return Front(app, settings)


class Front:
    """What every call meets first: its key, its size, strict headers of its answer, and a note of how long it took.

    Calls of the API without a key that is in force go no further: their bodies are not looked at. Direct routes answer
    from here, the others behind the framework.
    """

    def __init__(self, app: FastAPI, settings: ServerSettings) -> None:
        self.app, self._most = app, settings.limits.body_bytes
        self.requests = app.state.requests = Requests(logged=settings.request_log)
        # by the last part of their path: a router of Starlette finds them, too, in 5 us more
        self._direct = {route.path.rpartition("/")[2]: route for route in routes_decisions.direct_routes()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call; note how long that took."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = perf_counter()
        status = 0  # as long as nothing was answered: its caller may go away

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = message["headers"]
                if STRICT_NAMES.isdisjoint([name for name, _ in own]):  # almost always
                    own.extend(STRICT)
                else:
                    own.extend([pair for pair in STRICT if pair[0] not in {name for name, _ in own}])
            await send(message)

        scope["app"] = self.app
        try:
            if scope["path"].startswith(API):
                key = self.app.state.service.ring.known(given_key(scope["headers"]), address_of(scope))
                scope["key"] = key
            scope["body"] = await read_body(scope, receive, self._most)
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
            log.exception("a call failed")  # its caller has an answer, and may go on with the connection
            if not status:
                await refuse(OURS)(scope, receive, sending)
        key, route = scope.get("key"), scope.get("route")
        seconds = perf_counter() - began
        self.requests.note(scope["method"], getattr(route, "path", None), status, seconds, key and key.name)

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
