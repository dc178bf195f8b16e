"""Figures for Prometheus, and what is noted about each request: how long it took and, if asked for, a line in the log.

A line has the method, the route as the API document writes it, the status, the milliseconds, the name of the key and
the id of the request: no names from the address, no bodies, no keys, no tokens. Lines go to the logger
`allais.serve.requests`. As JSON, a line also has the trace of a caller who sent one.
"""

from __future__ import annotations

import json
import logging
import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from allais.serve.core.service import Service

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds; as Prometheus's own
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER = "other"  # of a route or a method that the service does not have: callers must not make up labels
FREQUENT = {f"/v1/experiments/{{name}}/{verb}": verb for verb in ("decide", "reward")}

TRACE = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")  # https://www.w3.org/TR/trace-context
FACTS = ("method", "route", "status", "ms", "key", "request")  # of a request, in the order of a line

log = logging.getLogger("allais.serve.requests")


class Requests:
    """The requests of this process; it belongs to the event loop."""

    def __init__(self, *, logged: bool) -> None:
        self._logged = logged
        # by method, route and status: the number in each bucket, and the sum of seconds
        self._seen: dict[tuple[str, str | None, int], list[float]] = {}

    def note(
        self, method: str, route: str | None, status: int, seconds: float, key: str | None, id: bytes = b"-",
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:  # fmt: skip
        """Count a request that was answered."""
        numbers = self._seen.get((method, route, status))
        if numbers is None:
            method = method if method in METHODS else OTHER
            numbers = self._seen.setdefault((method, route, status), [0.0] * (len(BOUNDS) + 2))
        numbers[bisect_left(BOUNDS, seconds)] += 1
        numbers[-1] += seconds
        if self._logged:
            facts = (method, route or OTHER, status, round(1e3 * seconds, 1), key or "-", id.decode())
            found = next((TRACE.fullmatch(content) for name, content in headers if name == b"traceparent"), None)
            trace = {} if found is None else {"trace_id": found[1].decode(), "span_id": found[2].decode()}
            extra = {"facts": dict(zip(FACTS, facts, strict=True)) | trace}
            log.info("%s %s %d %.1f ms key=%s request=%s", *facts, extra=extra)

    def collect(self) -> Iterator[Metric]:
        """The figures of all requests."""
        labels = ["method", "route", "status"]
        family = HistogramMetricFamily("allais_request_seconds", "How long requests took.", labels=labels)
        calls = CounterMetricFamily("allais_calls", "Calls of decide and reward.", labels=["call", "status"])
        classes: dict[tuple[str, str, str], list[float]] = {}
        for (method, route, status), numbers in self._seen.items():
            place = (method, route or OTHER, f"{status // 100}xx")
            before = classes.get(place, [0.0] * len(numbers))
            classes[place] = [a + b for a, b in zip(before, numbers, strict=True)]
            if route in FREQUENT:
                calls.add_metric([FREQUENT[route], str(status)], sum(numbers[:-1]))
        for place, (*counts, seconds) in classes.items():
            below = [sum(counts[: k + 1]) for k in range(len(counts))]
            buckets = list(zip((*map(str, BOUNDS), "+Inf"), below, strict=True))
            family.add_metric(list(place), buckets, seconds)
        yield from (calls, family)


class AsJSON(logging.Formatter):
    """One line of JSON for each message: when, how bad, from where, what, and the facts of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """A message as a line."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {"time": f"{when}.{int(record.msecs):03}Z", "level": record.levelname.lower(), "logger": record.name}
        facts = getattr(record, "facts", None)
        line |= {"message": record.getMessage()} if facts is None else facts
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_stderr(*, requests: bool, as_json: bool) -> None:
    """Write lines about requests where a server's other messages go; as JSON, all of them."""
    handler = logging.StreamHandler()
    handler.setFormatter(AsJSON() if as_json else logging.Formatter("%(asctime)s %(message)s"))
    if requests:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
    if as_json:
        for name in ("allais.serve", "uvicorn"):
            others = logging.getLogger(name)
            others.handlers, others.propagate = [handler], False


class _Figures:
    """What Prometheus calls a collector."""

    def __init__(self, service: Service, requests: Requests) -> None:
        self._service, self._requests = service, requests

    def describe(self) -> list[Metric]:
        """Nothing is known before it is asked for."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All figures, now."""
        service = self._service
        yield GaugeMetricFamily("allais_ready", "Whether it can decide.", float(service.ready))
        broken = float(len(service.broken))
        yield GaugeMetricFamily("allais_broken_experiments", "Experiments that could not be read.", broken)
        yield CounterMetricFamily("allais_failures", "Failures of the database.", float(service.failures))
        yield CounterMetricFamily("allais_commits", "Transactions that are on disk.", float(service.writer.commits))
        yield CounterMetricFamily("allais_rows", "Rows that are on disk.", float(service.writer.rows))
        yield from self._requests.collect()
        open_ = GaugeMetricFamily("allais_open_decisions", "Decisions that wait.", labels=["experiment"])
        outcomes = GaugeMetricFamily("allais_outcomes", "Outcomes that are known.", labels=["experiment", "arm"])
        ended = CounterMetricFamily(
            "allais_decisions", "Decisions of this process, asked and ended.", labels=["experiment", "state"]
        )
        for experiment in service.experiments.values():
            open_.add_metric([experiment.name], len(experiment.open))
            for arm, pulls in experiment.learner.pulls.items():
                outcomes.add_metric([experiment.name, str(arm)], pulls)
            for state, count in experiment.counts.items():
                ended.add_metric([experiment.name, state], count)
        yield from (open_, outcomes, ended)


def exposition(service: Service, requests: Requests) -> bytes:
    """The figures as Prometheus reads them."""
    registry = CollectorRegistry()
    figures: Any = _Figures(service, requests)
    registry.register(figures)
    return generate_latest(registry)
