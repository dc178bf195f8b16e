"""The application: all routes, and the service behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from allais import __version__
from allais.serve.api import (
    routes_decisions,
    routes_experiments,
    routes_keys,
    routes_people,
    routes_personalizer,
    routes_values,
)
from allais.serve.api.fast_path import Lane
from allais.serve.api.http import SizeLimit, add_refusals
from allais.serve.core import people
from allais.serve.core.service import Service
from allais.serve.dashboard import audit_page, calls_page
from allais.serve.dashboard import routes as pages
from allais.serve.dashboard.dashboard_state import Dashboard
from allais.serve.settings_file import ServerSettings
from allais.serve.store.database import Database

PARTS = (
    routes_decisions, routes_experiments, routes_values, routes_people, routes_personalizer, routes_keys,
)  # fmt: skip
ABOUT = "Bandits that choose as people do: decide, reward, and one memory of the world for many people."


def make_app(settings: ServerSettings, started: Callable[[Service], Awaitable[None]] | None = None) -> Lane:
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
            service.begin(people.clear_hidden(service))
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
    for part in PARTS:
        app.include_router(part.router)
    app.include_router(routes_keys.open_router)
    app.include_router(pages.router)
    app.include_router(audit_page.router)
    app.include_router(calls_page.router)
    add_refusals(app, pages.refused)
    app.add_middleware(SizeLimit, most=settings.limits.body_bytes)
    return Lane(app, settings.limits.body_bytes)
