"""The application: all routes, and the service behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from allais import __version__
from allais.serve.api import personalizer, routes_decisions, routes_experiments, routes_keys, routes_people
from allais.serve.api.http import Front, add_refusals
from allais.serve.core import experiments
from allais.serve.core.service import Service
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
    return Front(app, settings, routes_decisions.direct_routes())
