"""What a service costs without a learner: Starlette, one row per decision, as durable, with the same group commit.

`python -m benchmarks.serve_bare FILE` prints its address.
"""

from __future__ import annotations

import asyncio
import random
import socket
import sqlite3
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Store:
    """A thread that commits all that is queued at once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._queue: SimpleQueue[tuple[str, tuple[Any, ...], asyncio.Future[None]]] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def put(self, statement: str, entries: tuple[Any, ...]) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put((statement, entries, future))
        return future

    def _run(self) -> None:
        connection = sqlite3.connect(self._file)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE decisions (id INTEGER PRIMARY KEY, arm TEXT, outcome REAL)")
        while True:
            batch = [self._queue.get()]
            try:
                while True:
                    batch.append(self._queue.get_nowait())
            except Empty:
                pass
            for statement, entries, _ in batch:
                connection.execute(statement, entries)
            connection.commit()
            futures = [future for _, _, future in batch]
            futures[0].get_loop().call_soon_threadsafe(_settle, futures)


def _settle(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)


def main(file: str) -> None:
    store, rng = Store(file), random.Random(1)
    last = 0

    async def decide(request: Request) -> JSONResponse:
        nonlocal last
        await request.json()
        last = number = last + 1
        arm = rng.choice(["A21", "A28"])
        await store.put("INSERT INTO decisions (id, arm) VALUES (?, ?)", (number, arm))
        return JSONResponse({"choice": number, "arm": arm})

    async def reward(request: Request) -> JSONResponse:
        body = await request.json()
        await store.put("UPDATE decisions SET outcome = ? WHERE id = ?", (body["outcome"], body["choice"]))
        return JSONResponse({"choice": body["choice"], "outcome": body["outcome"]})

    calls = [("decide", decide), ("reward", reward)]
    app = Starlette(routes=[Route(f"/v1/experiments/routes/{name}", call, methods=["POST"]) for name, call in calls])
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"bare at http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, http="httptools", log_level="warning", access_log=False, proxy_headers=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1])
