"""How long one caller holds the event loop: the largest calls that the limits admit, beside a probe in the loop.

The server has a process of its own (`python -m benchmarks.serve_limits DATABASE`), so that its lock is not the
caller's.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send
from tests.serve.conftest import ROUTES

from allais.report.markup import markdown_table
from allais.serve.api.http import answered
from allais.serve.api.schemas import MOST_ARMS, NewKey
from allais.serve.core.experiments import make_key
from allais.serve.core.service import Service
from allais.serve.running import config_for, make_app, share_the_interpreter
from allais.serve.settings_file import ServerSettings
from benchmarks.serve import server

EVERY = 0.001  # seconds between two looks of the probe
LONGEST = 50.0  # seconds, about as long as the longest call takes: what a machine does by itself
TURNS = 3  # of each call that can be repeated; the table has the middle one
URL = "/v1/experiments/routes"
RANK = f"{URL}/personalizer/v1.0/rank"
LINEAR: dict[str, Any] = {
    "policy": {"type": "LinTS", "noise": {"type": "AdditiveNoise", "lottery": {"type": "Normal", "mean": 0, "sd": 1}}},
    "preference": {"name": "expected_value"}, "rewards": None, "arms": ["soup", "pasta"],
    "terms": [f"f{k}" for k in range(500)],
}  # fmt: skip


class Probe:
    """Looks at the clock in the event loop of a service; what it is late is what anybody else is."""

    def __init__(self, settings: ServerSettings) -> None:
        self._app = make_app(settings, self._started)
        self._busy = self._others = self._late = 0.0
        share_the_interpreter()  # as `allais serve` does
        self._socket = socket.create_server(("127.0.0.1", 0))
        uvicorn.Server(config_for(self, settings.limits)).run([self._socket])  # type: ignore[arg-type]  # in front of it

    async def _started(self, service: Service) -> None:
        key, _ = await make_key(service, NewKey(name="test", scopes=["read", "decide", "manage"]), None)
        service.begin(self._look())
        print(key, f"http://127.0.0.1:{self._socket.getsockname()[1]}", flush=True)

    async def _look(self) -> None:
        while True:
            before, used, by_all = time.perf_counter(), time.thread_time(), time.process_time()
            await asyncio.sleep(EVERY)
            own = time.thread_time() - used
            self._busy = max(self._busy, own)
            self._others = max(self._others, time.process_time() - by_all - own)
            self._late = max(self._late, time.perf_counter() - before - EVERY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call, or say what was seen since this was last asked for."""
        if scope.get("path") != "/probe":
            await self._app(scope, receive, send)
            return
        seen = (self._busy, self._others, self._late)
        self._busy = self._others = self._late = 0.0
        await answered(seen)(scope, receive, send)


def run() -> str:
    """The section."""
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        server("benchmarks.serve_limits", str(Path(folder) / "advisor.db"), folder=str(Path.cwd())) as (_, url, key, _),
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120.0) as client,
    ):
        rows = _measured(client)
    heads = ["call", "took, ms", "the loop computed, ms", "other threads meanwhile, ms", "the loop was late, ms"]
    table = markdown_table(heads, rows)
    return (
        "## The service: how long one caller holds the event loop\n\n"
        "The largest calls that the limits admit, on SQLite, beside a probe that looks at the clock in the event loop "
        "every millisecond: the processor time that the loop spent without a break, that of other threads of its "
        "process between two looks, which it may have waited for, and what it was late, which is what anybody else "
        f"waits. The caller is another process. Numbers are the middle of {TURNS} turns, or of one turn where a call "
        f"cannot be repeated. The machine had a load of {load:.1f} on {os.cpu_count()} cores before, "
        f"so what is late is also what others did there.\n\n{table}\n"
    )


def _measured(client: httpx.Client) -> list[list[str]]:
    def actions(first: int, many: int) -> dict[str, Any]:
        return {"actions": [{"id": f"a{k}"} for k in range(first, first + many)]}

    def post(path: str, body: Any) -> httpx.Response:
        return client.post(path, json=body).raise_for_status()

    post("/v1/experiments", {"name": "routes", **ROUTES})
    post("/v1/experiments", {"name": "menu", **ROUTES, **LINEAR})
    for name, body in (("routes", {}), ("menu", {"features": {f"a{k}": {"f1": 1.0} for k in range(100)}})):
        choice = post(f"/v1/experiments/{name}/decide", body).json()["choice"]  # what is compiled is compiled now
        post(f"/v1/experiments/{name}/reward", {"choice": choice, "outcome": 7.0})
    post("/v1/experiments/menu/import", {"arms": ["soup"], "outcomes": [0.5], "features": [{"f1": 1.0}]})
    post(RANK, actions(0, 1))
    client.get("/metrics").raise_for_status()
    outcomes = {"arms": ["A21", "A28"] * 35_000, "outcomes": [7, 8] * 35_000}
    arms_seen = {"arms": ["soup", "pasta"] * 15_000, "outcomes": [0.5, 0.25] * 15_000}
    with_features = {**arms_seen, "features": [{f"f{k % 500}": 1.0} for k in range(30_000)]}
    described = {"features": {f"a{k}": {f"f{k % 500}": 1.0} for k in range(5_000)}}
    names = [f"a{k}" for k in range(1, 5_001)]
    calls: list[tuple[str, int, str, Any]] = [
        ("nothing", TURNS, "/health", None),
        ("decide", TURNS, f"{URL}/decide", {}),
        ("import of 70,000 outcomes, arms in turn", TURNS, f"{URL}/import", outcomes),
        ("import of 30,000 outcomes with features, 500 terms", 1, "/v1/experiments/menu/import", with_features),
        ("nothing for as long", 1, "", None),
        ("rank with 1,500 new actions", 1, RANK, actions(1, 1_500)),
        (f"rank with new actions up to {MOST_ARMS:,}", 1, RANK, actions(1_501, MOST_ARMS - 1_503)),
        (f"decide among 5,000 of {MOST_ARMS:,} arms", TURNS, f"{URL}/decide", {"allowed": names}),
        (f"one more outcome with {MOST_ARMS:,} arms", TURNS, f"{URL}/import", {"arms": ["a1"], "outcomes": [7]}),
        (f"value of {MOST_ARMS:,} arms", TURNS, f"{URL}/value", None),
        ("decide among 5,000 described arms, 500 terms", TURNS, "/v1/experiments/menu/decide", described),
    ]
    return [[what, *_middle(client, turns, path, body)] for what, turns, path, body in calls]


def _middle(client: httpx.Client, turns: int, path: str, body: Any) -> list[str]:
    """Of some turns the middle one: how long a call took, and what the probe saw; in ms."""
    seen = []
    content = None if body is None else json.dumps(body)
    for _ in range(turns):
        client.get("/probe")
        began = time.perf_counter()
        if path:
            client.request("GET" if body is None else "POST", path, content=content).raise_for_status()
            time.sleep(0.2)  # what a call leaves behind is let go of
        else:
            time.sleep(LONGEST)
        took = time.perf_counter() - began - (0.2 if path else 0.0)
        seen.append((took, *client.get("/probe").json()))
    return [f"{1e3 * sorted(column)[turns // 2]:,.0f}" for column in zip(*seen, strict=True)]


if __name__ == "__main__":
    Probe(ServerSettings(database=sys.argv[1]))
