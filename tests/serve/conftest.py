"""A service in this process, as callers see it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from allais.serve.api.schemas import NewKey
from allais.serve.core.experiments import make_key
from allais.serve.core.service import Service
from allais.serve.dashboard.dashboard_state import Dashboard
from allais.serve.running import config_for, make_app
from allais.serve.settings_file import ServerSettings
from allais.serve.store.database import Database
from tests.serve.postgres import ABSENT, Postgres, binaries

TEMPLATE = "with_tables"
ROUTES = {
    "policy": {"type": "NPTS"},
    "arms": ["A21", "A28"],
    "preference": {"gains": {"type": "TverskyKahneman", "eta": 0.61}},
    "rewards": {"type": "Bounded", "low": 0.0, "high": 50.0},
    "seed": 1,
}


class Caller(httpx.Client):
    """A client whose calls carry a key, and the server that answers them, in a thread; `service` is behind it."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(timeout=60.0, verify=False)  # loopback: reading certificates takes longer than most calls
        self._began = threading.Event()
        self._app = make_app(settings, self._started)
        self._server = uvicorn.Server(config_for(self._app, settings.limits))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    async def _started(self, service: Service) -> None:
        self.service = service
        self.key, _ = await make_key(service, NewKey(name="test", scopes=["read", "decide", "manage"]), None)
        self.headers["Authorization"] = f"Bearer {self.key}"
        self._began.set()

    def __enter__(self) -> Caller:
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread.start()
        while not self._began.wait(0.05):
            assert self._thread.is_alive(), "the server did not start"
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    @property
    def dashboard(self) -> Dashboard:
        """What the pages know."""
        dashboard: Dashboard = self._app.app.state.dashboard
        return dashboard

    def ask(self, name: str = "routes", **body: Any) -> dict[str, Any]:
        answer = self.post(f"/v1/experiments/{name}/decide", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def tell(self, choice: int, outcome: float, name: str = "routes", **more: Any) -> dict[str, Any]:
        answer = self.post(f"/v1/experiments/{name}/reward", json={"choice": choice, "outcome": outcome, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def create(self, name: str = "routes", **changes: Any) -> dict[str, Any]:
        answer = self.post("/v1/experiments", json={"name": name, **ROUTES, **changes})
        assert answer.status_code == 201, answer.text
        return answer.json()


# what these check happens before a database is reached, so that one kind is enough outside of the slow set
BEFORE_DATABASES = (
    *("client", "connections", "edge", "features", "keys", "links", "page", "page_numbers", "page_parts", "refusals"),
    *("contexts", "scopes"),
)
# what these check happens once their rows are read
AFTER_DATABASES = (
    "test_a_damaged_experiment_does_not_keep_the_others_from_starting",
    "test_an_experiment_may_only_raise_an_alarm",
    "test_what_is_no_guardrail_is_refused",
    "test_people_keep_their_arm_and_groups_have_their_shares",
    "test_a_guardrail_that_breaks_ends_a_test_of_two",
    "test_what_is_late_or_lost_is_said_and_withholds_the_verdict_where_groups_differ",
    "test_an_arm_without_outcomes_is_not_decided_and_one_person_is_no_group",
    "test_a_bandit_has_a_verdict_and_a_control_share_with_exact_propensities",
    "test_what_is_no_test_is_refused",
    "test_calls_that_do_not_fit_a_test_are_refused",
    "test_the_page_of_a_test_begins_with_its_verdict",
    "test_the_lines_of_the_canary_page_run_as_they_stand",
)


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of callers, keys and bodies on PostgreSQL belong to the slow set."""
    for item in items:
        called = getattr(item, "callspec", None)
        with_database = called is not None and called.params.get("database")
        one_is_enough = (
            item.path.stem.removeprefix("test_") in BEFORE_DATABASES or item.name.partition("[")[0] in AFTER_DATABASES
        )
        if with_database == "postgresql" and one_is_enough:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of PostgreSQL; in a folder of its own, since pytest closes its folders to others at every start.

    In memory, where there is enough of it: to copy the files of a database on a disk takes five times as long.
    """
    if binaries() is None:
        if os.environ.get("ALLAIS_POSTGRES") == "required":
            pytest.fail(ABSENT)
        pytest.skip(ABSENT)
    roomy = Path("/dev/shm").is_dir() and shutil.disk_usage("/dev/shm").free > 4e9
    with tempfile.TemporaryDirectory(prefix="allais-postgres-", dir="/dev/shm" if roomy else None) as folder:
        server = Postgres(Path(folder))
        yield server
        server.stop(signal.SIGQUIT)  # nothing of it is needed any more, so it need not write it down


@pytest.fixture(scope="session")
def with_tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """A database of either kind that has the tables of this version, and nothing in them: made once, and copied."""

    @cache
    def made(kind: str) -> str:
        file = str(tmp_path_factory.mktemp("tables") / "advisor.db")
        address = file if kind == "sqlite" else request.getfixturevalue("postgres").make(TEMPLATE)
        database = Database(address)
        database.migrate()
        database.dispose()
        return file if kind == "sqlite" else TEMPLATE

    return made


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, with_tables: Callable[[str], str]) -> Iterator[str]:
    """The address of a database of either kind, which has tables and nothing in them."""
    if request.param == "sqlite":
        yield str(shutil.copy(with_tables("sqlite"), tmp_path / "advisor.db"))
        return
    template, server, name = (
        with_tables("postgresql"),
        request.getfixturevalue("postgres"),
        f"advisor_{uuid.uuid4().hex}",
    )
    yield server.make(name, template)
    server.drop(name)


@pytest.fixture
def calling(database: str) -> Callable[..., Caller]:
    """Makes clients of services on the database of this test; each is started by `with`."""

    def made(**settings: Any) -> Caller:
        return Caller(ServerSettings(database=database, **settings))

    return made


@pytest.fixture
def caller(calling: Callable[..., Caller]) -> Iterator[Caller]:
    """A client of a service with one experiment, `routes`."""
    with calling() as client:
        client.create()
        yield client
