"""What is noted about each request: how long it took, and, if the settings ask for it, one line in the log.

A line has the method, the route as the API document writes it, the status, the milliseconds and the name of the key:
no names from the address, no bodies, no keys, no tokens. Lines go to the logger `allais.serve.requests`.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from prometheus_client.metrics_core import HistogramMetricFamily

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds; as Prometheus's own
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER = "other"  # of a route or a method that is none of ours: callers must not make up labels

log = logging.getLogger("allais.serve.requests")


class Requests:
    """The requests of this process; it belongs to the event loop."""

    def __init__(self, *, logged: bool) -> None:
        self._logged = logged
        self._counts: dict[tuple[str, str, int], list[int]] = {}  # by method, route and class of status; per bucket
        self._sums: dict[tuple[str, str, int], float] = {}  # of seconds

    def note(self, method: str, route: str | None, status: int, seconds: float, key: str | None) -> None:
        """Count a request that was answered."""
        route = OTHER if route is None else route
        place = (method if method in METHODS else OTHER, route, status // 100)
        counts = self._counts.get(place)
        if counts is None:
            counts = self._counts[place] = [0] * (len(BOUNDS) + 1)
            self._sums[place] = 0.0
        counts[bisect_left(BOUNDS, seconds)] += 1
        self._sums[place] += seconds
        if self._logged:
            log.info("%s %s %d %.1f ms key=%s", place[0], route, status, 1e3 * seconds, "-" if key is None else key)

    def histogram(self) -> Iterator[Any]:
        """Latencies as Prometheus reads them."""
        labels = ["method", "route", "status"]
        family = HistogramMetricFamily("allais_request_seconds", "How long requests took.", labels=labels)
        for place, counts in self._counts.items():
            method, route, kind = place
            buckets, below = [], 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
                below += count
                buckets.append((bound, below))
            family.add_metric([method, route, f"{kind}xx"], buckets, self._sums[place])
        yield family


def log_to_stderr() -> None:
    """Write the lines where a server's other messages go."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
