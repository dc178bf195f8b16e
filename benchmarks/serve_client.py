"""Callers in a process of their own: `python -m benchmarks.serve_client ADDRESS KEY CALLERS SECONDS RATE`.

Each caller has one connection, decides, rewards, and begins anew; with a rate, all together begin so many pairs per
second, at random moments. What they saw is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from urllib.parse import urlsplit

import uvloop

PATH = "/v1/experiments/routes/"


class Caller:
    """One connection; a client library would cost more than the service."""

    def __init__(self, address: str, key: str, seen: list[float]) -> None:
        self._place, self._key, self._seen = urlsplit(address), key, seen

    async def run(self, until: float, every: float, rng: random.Random) -> int:
        reader, writer = await asyncio.open_connection(self._place.hostname, self._place.port)

        async def call(verb: str, body: bytes) -> bytes:
            head = (
                f"POST {PATH}{verb} HTTP/1.1\r\nhost: {self._place.netloc}\r\nauthorization: Bearer {self._key}\r\n"
                f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            began = time.perf_counter()
            writer.write(head.encode() + body)
            said = await reader.readuntil(b"\r\n\r\n")
            place = said.lower().index(b"content-length:") + 15
            content = await reader.readexactly(int(said[place : said.index(b"\r\n", place)]))
            self._seen.append(time.perf_counter() - began)
            if not said.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(content.decode())
            return content

        pairs, due = 0, time.perf_counter() + every * rng.random()
        while time.perf_counter() < until:
            if every:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                due = max(due, time.perf_counter() - every) + rng.expovariate(1.0 / every)
            choice = json.loads(await call("decide", b'{"person":"traveller"}'))["choice"]
            outcome = float(choice * 7919 % 60)
            await call("reward", json.dumps({"choice": choice, "outcome": outcome, "key": f"trip-{choice}"}).encode())
            pairs += 1
        writer.close()
        return pairs


async def main(address: str, key: str, callers: int, seconds: float, rate: float) -> None:
    seen: list[float] = []
    began = time.perf_counter()
    every = callers / rate if rate else 0.0
    runs = [Caller(address, key, seen).run(began + seconds, every, random.Random(k)) for k in range(callers)]
    pairs = sum(await asyncio.gather(*runs))
    print(json.dumps({"pairs": pairs, "seconds": time.perf_counter() - began, "calls": sorted(seen)}))


if __name__ == "__main__":
    address, key, callers, seconds, rate = sys.argv[1:]
    uvloop.run(main(address, key, int(callers), float(seconds), float(rate)))
