"""The application with all routes, a server that runs it until it is told to stop, and connections with limits.

uvicorn does not bound how large and how slow a request may be before it is complete, how many connections there are,
and how long each may idle, so that anybody, without a key, could fill the memory with headers or keep every file
descriptor.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from allais import __version__
from allais.serve import webhooks
from allais.serve.api import routes_decisions, routes_experiments, routes_people
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
            hooks = [webhooks.hook_of(*named) for named in settings.webhooks.items()]
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
    for router in ROUTERS:  # as they are: `include_router` would make each anew, at the first call
        app.router.routes.extend(router.routes)
    add_refusals(app, pages.refused)
    return Front(app, settings, routes_decisions.direct_router.routes)


GARBAGE = (50_000, 20, 50)  # new objects until they are looked at, and looks until one at older objects
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
        many = len(service.experiments)
        say(f"Serving {many} experiment{'s' * (many != 1)} from {service.database.shown} at {address}")

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


FRAMING = 8  # bytes around each byte of a body that comes in parts: no honest caller sends more
RESERVED = 100  # file descriptors for all but connections


class LimitedProtocol(HttpToolsProtocol):
    """One connection; a subclass of `limited` has the limits, and counts."""

    limits: Limits
    by_address: Counter[str]

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.access_log = False  # it would have names of people, and fails on what `with_segments` makes of a path
        self._received = self._body = 0  # bytes of the request that is coming in, and those of its body
        self._whole = False  # whether a request became complete in what is being read
        self._counted = False
        self._patience: float | None = None  # seconds for what comes next, once what came is read; None: as before
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count a connection, or refuse it."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if len(self.connections) > self.limits.connections:
            self._refuse(503, f"a service has {self.limits.connections:,} connections at most. Try again in a moment.")
        elif self.by_address[address] >= self.limits.connections_per_address:
            most = self.limits.connections_per_address
            self._refuse(503, f"an address may have {most:,} connections at a time; this one has. Close some.")
        else:
            self.by_address[address] += 1
            self._counted = True
            self._arm(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release what a connection held."""
        self._disarm()
        self._unset_keepalive_if_required()
        if self._counted:
            address = self.client[0] if self.client else ""
            self.by_address[address] -= 1
            if not self.by_address[address]:
                del self.by_address[address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came, within the limits."""
        if self.transport.is_closing():
            return
        self._received += len(data)
        self._patience = None
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._patience is not None:
            self._arm(self._patience)
        if self._whole:
            self._received, self._body, self._whole = 0, 0, False
        elif self._received - self._body > self.limits.head_bytes + FRAMING * self._body:
            most = self.limits.head_bytes
            self._refuse(431, f"the headers of a request may have {most:,} bytes; these have more. Send fewer.")
            return
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._arm(self.limits.head_seconds)

    def on_message_begin(self) -> None:
        """Wait for the headers, for a limited time."""
        super().on_message_begin()
        self._patience = self.limits.head_seconds

    def on_headers_complete(self) -> None:
        """Wait for the body, for a limited time."""
        self._patience = self.limits.body_seconds
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait no more: the rest is the service's."""
        self._patience, self._whole = 0.0, True
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait for a caller who does not read the answer, for a limited time."""
        self._arm(self.limits.body_seconds)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Resume writing."""
        self._disarm()
        super().resume_writing()

    def _arm(self, seconds: float) -> None:
        """Abort after some seconds from now, or never if they are 0."""
        self._disarm()
        if seconds:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int, sentence: str) -> None:
        content = to_json({"error": sentence})
        head = f"content-type: application/json\r\ncontent-length: {len(content)}\r\nconnection: close\r\n"
        self.transport.write(b"".join([STATUS_LINE[status], head.encode(), b"retry-after: 1\r\n\r\n", content]))
        self._arm(self.limits.head_seconds)  # for a caller who does not even read that
        self.transport.close()


def limited(limits: Limits) -> type[LimitedProtocol]:
    """The connections of one server."""
    return type("Connection", (LimitedProtocol,), {"limits": limits, "by_address": Counter()})


def make_room(connections: int) -> int:
    """Raise the number of open files as far as connections need and the system lets us; how many there may be then."""
    if sys.platform == "win32":  # it has no such limit
        return connections
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVED
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(min(connections, most - RESERVED), 1)
