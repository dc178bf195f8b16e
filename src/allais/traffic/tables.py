"""The tables of traffic: what each route takes, and what each policy did."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais.report.numbers import with_error
from allais.traffic.analysis import RouteTable
from allais.traffic.maps import TAIL
from allais.traffic.play import PEOPLE, Measurements
from allais.traffic.recording import Recording


class Rows(NamedTuple):
    """A table of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def delays_of(recording: Recording, route: int) -> tuple[str, str]:
    """The mean delay of a route, and the delay that 99 % of its probes stay below."""
    delays = recording.samples(route)
    return f"{delays.mean():.1f}", f"{np.quantile(delays, TAIL):.0f}"


def routes_table(recording: Recording, table: RouteTable) -> Rows:
    """One row per route: its delays, and its excess delay under each objective with the standard error."""
    rows = []
    for k, route in enumerate(recording.routes):
        pairs = zip(table.excess[:, k].tolist(), table.errors[:, k].tolist(), strict=True)
        excess = [with_error(seconds, error) for seconds, error in pairs]
        rows.append((route.name, "-".join(route.nodes), *delays_of(recording, k), *excess))
    header = ("route", "nodes", "mean delay, s", "99 % below", *(f"excess, {name}" for name in table.columns))
    return Rows(header, tuple(rows))


def policies_table(measured: Measurements) -> Rows:
    """One row per policy: its route, how soon it was found, and what it cost."""
    header = ("policy", "knows", "route", "runs that agree", "the same since round", "stopped", f"regret, {PEOPLE}",
              "regret, mean")  # fmt: skip
    rows = [
        (
            one.policy, one.knows, one.route, f"{one.agreement:.0%}", f"{one.unchanged_since:,.0f}", one.stopped,
            f"{one.distorted_regret:,.0f}", f"{one.mean_regret:,.0f}",
        )
        for one in measured.policies
    ]  # fmt: skip
    return Rows(header, tuple(rows))
