"""The application with all routes, and a server that runs it until it is told to stop."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from allais import __version__
from allais.serve import webhooks
from allais.serve.api import routes_decisions, routes_experiments, routes_people
from allais.serve.api.connections import limited, make_room
from allais.serve.api.http import Front, add_refusals
from allais.serve.api.metrics import log_to_stderr
from allais.serve.api.schemas import NewKey, Scope
from allais.serve.core import experiments, keys, values
from allais.serve.core.errors import Refused
from allais.serve.core.service import Service
from allais.serve.dashboard import routes as pages
from allais.serve.dashboard.dashboard_state import Dashboard
from allais.serve.demo import Travellers
from allais.serve.settings_file import Limits, ServerSettings
from allais.serve.store.database import Database

ROUTERS = (
    routes_decisions.direct_router, routes_decisions.router, routes_experiments.router,
    routes_experiments.values_router, routes_people.router, routes_decisions.ranking,
    routes_people.keys_router, routes_people.trail_router, routes_people.open_router,
    pages.router,
)  # fmt: skip
ABOUT = "Bandits that choose as people do: decide, reward, and one memory of the world for many people."


def make_app(settings: ServerSettings, started: Callable[[Service], Awaitable[None]] | None = None) -> Front:
    """The application of a process; `started` is called when its service is ready, before the first call."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        try:
            hooks = webhooks.hooks_of(settings.webhooks)
            service = app.state.service = Service(settings, Database(settings.database))
            await service.start()
        except Exception as error:
            app.state.failure = error
            raise
        try:
            dashboard = app.state.dashboard = Dashboard(service)
            service.begin(dashboard.run())
            service.begin(experiments.clear_hidden(service))
            service.begin(values.watch(service))
            service.begin(webhooks.watch(service, hooks))
            for hook in hooks:
                service.begin(webhooks.send(service, hook))
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
    return Front(app, settings, routes_decisions.direct_router.routes)


GARBAGE = (50_000, 20, 50)  # new objects until a look at these, and so many looks until one at older ones
SWITCH = 0.001  # seconds after which Python lets another thread run: the writer's must not wait long


def serve(settings: ServerSettings, say: Callable[[str], None], *, demo: bool = False) -> None:
    """Serve until a signal comes; with `demo`, travellers call the service meanwhile."""
    travellers: list[Travellers] = []
    serving: list[str] = []
    listening = _socket(settings.host, settings.port)
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def started(service: Service) -> None:
        await _begin(service, say)
        service.precompiler.begin()
        if demo:
            scopes: list[Scope] = ["decide", "manage"]
            key, _ = await experiments.make_key(service, NewKey(name="travellers", scopes=scopes), None)
            travellers.append(Travellers(address, key))
            travellers[0].start()
        serving.append(address)
        say(f"Serving {len(service.experiments)} experiments from {service.database.shown} at {address}")

    app = make_app(settings, started)
    config = config_for(app, settings.limits)
    # why a start failed is said once, in one sentence, and not in the server's log, too
    logging.getLogger("uvicorn.error").addFilter(lambda record: bool(serving))
    log_to_stderr(requests=settings.request_log, as_json=settings.log_format == "json")
    share_the_interpreter()
    try:
        with contextlib.closing(listening):
            uvicorn.Server(config).run(sockets=[listening])
    except SystemExit:  # by which the server says that it could not start
        if not hasattr(app.app.state, "failure"):
            raise
    for everybody in travellers:
        everybody.stop()
    if hasattr(app.app.state, "failure"):
        raise app.app.state.failure


def share_the_interpreter() -> None:
    """Let threads take turns often, and look for garbage seldom, and not in all that was imported.

    While Python looks for garbage, no thread runs: an import of 70,000 outcomes stopped the event loop for up to 48 ms
    several times.
    """
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def config_for(app: Front, limits: Limits) -> uvicorn.Config:
    """How the server runs: HTTP only, within the limits."""
    limits = limits.model_copy(update={"connections": make_room(limits.connections)})
    return uvicorn.Config(
        app, http=limited(limits), ws="none", lifespan="on", log_level="warning", access_log=False, server_header=False,
        proxy_headers=False, timeout_graceful_shutdown=5, timeout_keep_alive=limits.idle_seconds,
    )  # fmt: skip


async def _begin(service: Service, say: Callable[[str], None]) -> None:
    """The first key of a database, and the experiments that the settings name and the database lacks."""
    if not await service.read(keys.stored):
        whole, _ = await experiments.make_key(service, NewKey(name="first", scopes=["read", "decide", "manage"]), None)
        say(f"API key, shown this once: {whole}")
    maker = (await service.read(keys.stored))[0]
    for name, settings in service.settings.experiments.items():
        if service.serves(name) and name not in service.experiments and name not in service.broken:
            try:
                await experiments.create(service, name, settings, maker)
            except Refused as refusal:
                raise ValueError(f"experiments.{name}: {refusal.sentence}") from None
            say(f"Created the experiment {name}")


def _socket(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2048
        )
    except OSError as error:
        named = error.errno is None or error.errno < 0  # of a name that stands for no address
        said = error.strerror if named else os.strerror(error.errno or 0)
        raise ValueError(
            f"a service needs an address that is free; {host}:{port} is not ({said}). Choose another --host or --port."
        ) from None
