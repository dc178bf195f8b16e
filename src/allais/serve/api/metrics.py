"""Figures for Prometheus, read from the service when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from allais.serve.core.service import Service


class _Figures:
    """What Prometheus calls a collector."""

    def __init__(self, service: Service) -> None:
        self._service = service

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
        calls = CounterMetricFamily("allais_calls", "Calls of decide and reward.", labels=["call", "status"])
        for (call, status), count in service.calls.items():
            calls.add_metric([call, str(status)], count)
        yield calls
        yield from service.requests.histogram()
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


def exposition(service: Service) -> bytes:
    """The figures as Prometheus reads them."""
    registry = CollectorRegistry()
    figures: Any = _Figures(service)
    registry.register(figures)
    return generate_latest(registry)
