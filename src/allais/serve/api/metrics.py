"""Metrics for Prometheus, and how lines of the log are written."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from allais.serve.api.http import BOUNDS, OTHER, Requests, requests_log
from allais.serve.core.service import Service

FREQUENT = {f"/v1/experiments/{{name}}/{verb}": verb for verb in ("decide", "reward")}


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
        requests_log.addHandler(handler)
        requests_log.setLevel(logging.INFO)
        requests_log.propagate = False
    if as_json:
        for name in ("allais.serve", "uvicorn"):
            others = logging.getLogger(name)
            others.handlers, others.propagate = [handler], False


def figures_of(requests: Requests) -> Iterator[Metric]:
    """The metrics of all requests."""
    labels = ["method", "route", "status"]
    family = HistogramMetricFamily("allais_request_seconds", "How long requests took.", labels=labels)
    calls = CounterMetricFamily("allais_calls", "Calls of decide and reward.", labels=["call", "status"])
    classes: dict[tuple[str, str, str], list[float]] = {}
    for (method, route, status), numbers in requests.seen.items():
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


class Figures(Collector):
    """A collector, as Prometheus calls it: all metrics of the service."""

    def __init__(self, service: Service, requests: Requests) -> None:
        self._service, self._requests = service, requests

    def collect(self) -> Iterator[Metric]:
        """All metrics, as they are now."""
        service = self._service
        yield GaugeMetricFamily("allais_ready", "Whether it can decide.", float(service.ready))
        broken = float(len(service.broken))
        yield GaugeMetricFamily("allais_broken_experiments", "Experiments that could not be read.", broken)
        yield CounterMetricFamily("allais_failures", "Failures of the database.", float(service.failures))
        yield CounterMetricFamily("allais_commits", "Transactions that are on disk.", float(service.writer.commits))
        yield CounterMetricFamily("allais_rows", "Rows that are on disk.", float(service.writer.rows))
        yield from figures_of(self._requests)
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
