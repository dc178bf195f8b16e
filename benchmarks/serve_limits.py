"""How long one caller holds the event loop: the largest calls that the limits admit, beside a probe in the loop."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.serve.conftest import Caller

from allais.report.tables import markdown_table
from allais.serve.api.schemas import MOST_ARMS
from allais.serve.running import share_the_interpreter
from allais.serve.settings_file import ServerSettings

EVERY = 0.001  # seconds between two looks of the probe
URL = "/v1/experiments/routes"
RANK = f"{URL}/personalizer/v1.0/rank"
LINEAR: dict[str, Any] = {
    "policy": {"type": "LinTS", "noise": {"type": "AdditiveNoise", "lottery": {"type": "Normal", "mean": 0, "sd": 1}}},
    "preference": {"name": "expected_value"}, "rewards": None, "arms": ["soup", "pasta"],
    "terms": [f"f{k}" for k in range(500)],
}  # fmt: skip


class Probe:
    """Looks at the clock in the event loop of a service; what it is late is what anybody else is."""

    def __init__(self, caller: Caller) -> None:
        self._loop = caller.service.writer._loop
        self.worst = self.busiest = 0.0
        self._task = asyncio.run_coroutine_threadsafe(self._look(), self._loop)

    async def _look(self) -> None:
        while True:
            before, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(EVERY)
            self.worst = max(self.worst, time.perf_counter() - before - EVERY)
            self.busiest = max(self.busiest, time.thread_time() - used)

    def during(self, call: Callable[[], Any]) -> tuple[float, float, float]:
        """Milliseconds: how long a call took, what the loop computed without a break, and what it was late at most."""
        self.worst = self.busiest = 0.0
        began = time.perf_counter()
        answer = call()
        took = time.perf_counter() - began
        assert answer.status_code in (200, 201), answer.text[:300]
        return 1e3 * took, 1e3 * self.busiest, 1e3 * self.worst

    def end(self) -> None:
        """Look no more."""
        self._task.cancel()


def run() -> str:
    """The section."""
    before = sys.getswitchinterval()
    share_the_interpreter()  # as `allais serve` does
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            Caller(ServerSettings(database=str(Path(folder) / "advisor.db"))) as caller,
        ):
            rows = _measured(caller)
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
    table = markdown_table(["call", "took, ms", "the loop computed, ms", "the loop was late, ms"], rows)
    busy = os.getloadavg()[0]
    return (
        "## The service: how long one caller holds the event loop\n\n"
        "The largest calls that the limits admit, on SQLite, beside a probe that looks at the clock in the event loop "
        "every millisecond: the processor time that the loop spent without a break, and what it was late, which is "
        f"what anybody else waits. The machine had a load of {busy:.1f} on {os.cpu_count()} cores, so what is late "
        f"is also what others did there.\n\n{table}\n"
    )


def _measured(caller: Caller) -> list[list[str]]:
    def posting(path: str, body: Any) -> Callable[[], Any]:
        content = json.dumps(body)
        return lambda: caller.post(path, content=content)

    def actions(first: int, many: int) -> dict[str, Any]:
        return {"actions": [{"id": f"a{k}"} for k in range(first, first + many)]}

    caller.create()
    caller.create("menu", **LINEAR)
    for name, body in (("routes", {}), ("menu", {"features": {f"a{k}": {"f1": 1.0} for k in range(100)}})):
        caller.tell(caller.ask(name, **body)["choice"], 7.0, name)  # what is compiled once is compiled now
    caller.post(RANK, json=actions(0, 1)).raise_for_status()
    outcomes = {"arms": ["A21", "A28"] * 35_000, "outcomes": [7, 8] * 35_000}
    described = {"features": {f"a{k}": {f"f{k % 500}": 1.0} for k in range(5_000)}}
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("nothing", lambda: caller.get("/health")),
        ("decide", posting(f"{URL}/decide", {})),
        ("import of 70,000 outcomes, arms in turn", posting(f"{URL}/import", outcomes)),
        ("rank with 1,500 new actions", posting(RANK, actions(1, 1_500))),
        (f"rank with new actions up to {MOST_ARMS:,}", posting(RANK, actions(1_501, MOST_ARMS - 1_503))),
        (f"decide among 5,000 of {MOST_ARMS:,} arms", posting(f"{URL}/decide", {"allowed": _names(1, 5_001)})),
        (f"one more outcome with {MOST_ARMS:,} arms", posting(f"{URL}/import", {"arms": ["a1"], "outcomes": [7]})),
        (f"value of {MOST_ARMS:,} arms", lambda: caller.get(f"{URL}/value")),
        ("decide among 5,000 described arms, 500 terms", posting("/v1/experiments/menu/decide", described)),
    ]
    probe = Probe(caller)
    try:
        return [[what, *(f"{number:,.0f}" for number in probe.during(call))] for what, call in calls]
    finally:
        probe.end()


def _names(first: int, last: int) -> list[str]:
    return [f"a{k}" for k in range(first, last)]
