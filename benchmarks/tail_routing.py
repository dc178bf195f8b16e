"""Routing by p95 with time-outs and changing providers: `examples/tail_routing` beside LiteLLM's rule."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from allais import NPTS, Bounded, Preference, quantile
from allais.policies import Recent
from benchmarks.tables import Table, with_error

ROUTES = 16  # runs of each router
WINDOW = 10_000  # requests that the router without an alarm remembers
LONG, BEFORE, AFTER = 60_000, 20_000, 10_000  # requests: 5 % and 10 % slow ones are hard to tell apart


def example() -> ModuleType:
    """The example, as a module."""
    path = Path(__file__).parents[1] / "examples" / "tail_routing" / "tail_routing.py"
    spec = importlib.util.spec_from_file_location("tail_routing", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tail_routing"] = module
    spec.loader.exec_module(module)
    return module


class Windowed:
    """The example's router with a window in the place of alarms."""

    def __init__(self, tail: ModuleType, providers: Sequence[str], preference: Preference, seed: int) -> None:
        router = tail.TailRouter(providers, preference, seed)
        policy = NPTS(preference, Bounded(0.0, tail.WORST), memory=Recent(WINDOW))
        router.learner = policy.start(list(providers), seed)
        self.choose, self.finished, self.timed_out = router.learner.ask, router.finished, router.timed_out


class Watched:
    """A router, and when it learned all anew for the first time after the change."""

    def __init__(self, router: Any, change: int) -> None:
        self.router, self.change, self.asked, self.alarm = router, change, 0, math.nan
        self.finished, self.timed_out = router.finished, router.timed_out

    def choose(self) -> Any:
        before = getattr(self.router, "learner", None)
        choice = self.router.choose()
        self.asked += 1
        if math.isnan(self.alarm) and self.asked > self.change and before is not getattr(self.router, "learner", None):
            self.alarm = self.asked - self.change
        return choice


def _routing_table(preference: Preference) -> Table:
    tail = example()
    table = Table(
        "providers", "router", "p95 seconds lost per 1,000 requests", "before the change", "after the change",
        "requests until it is noticed",
    )  # fmt: skip
    for first, (title, providers) in zip((True, False, False, False), tail.SCENARIOS.items(), strict=True):
        phases = [(providers, LONG if first else BEFORE), (tail.changed(providers), AFTER)]
        requests = np.array([many for _, many in phases], dtype=float)
        rates = np.array([_rate(tail, providers, preference, many) for _, many in phases])
        whole = (rates @ requests / requests.sum(), *rates)
        table.add(title, "the rate of Lai and Robbins", *(f"{one:.1f}" for one in whole), "")
        for name, make in (*tail.ROUTERS.items(), (f"NPTS, a window of {WINDOW:,}, no alarm", partial(Windowed, tail))):
            if make is tail.Forgetful and not tail.times_out(providers):
                continue  # the same as the one before
            lost, alarms = [], []
            for seed in range(ROUTES):
                router = Watched(make(list(providers), preference, seed), phases[0][1])
                lost.append(tail.play(router, phases, preference, seed))
                alarms.append(router.alarm)
            halves = 1000.0 * np.array(lost)
            both = halves @ requests / requests.sum()
            heard = np.array(alarms)
            delay = "" if np.isnan(heard).all() else f"{np.nanmedian(heard):.0f} (at most {np.nanmax(heard):.0f})"
            table.add(title, name, *(with_error(one, ".1f") for one in (both, *halves.T)), delay)
    return table


def _rate(tail: ModuleType, providers: dict[str, Any], p95: Preference, requests: int) -> float:
    """What learning costs by the rate of Lai and Robbins (1985), in seconds per 1,000 requests.

    To tell a provider with a share q of requests beyond the best one's p95 from one with 5 %, by whose p95 it would be
    no worse, takes some log(T) / kl(q, 0.05) requests to it, for whoever is to be right whatever the providers are.
    """
    tails = {name: tail.worth(one, p95) for name, one in providers.items()}
    best, cost = min(tails.values()), 0.0
    for name, one in providers.items():
        if tails[name] == best:
            continue
        beyond = float(np.mean(np.minimum(one(np.random.default_rng(0), 100_000), tail.TIME_OUT) > best))
        kl = sum(p * math.log(p / q) for p, q in ((beyond, 0.05), (1.0 - beyond, 0.95)) if p > 0.0)
        cost += (tails[name] - best) * math.log(requests) / kl
    return 1000.0 * cost / requests


def run() -> str:
    return (
        f"## Routing by p95\n\n`examples/tail_routing`: {ROUTES} runs of {BEFORE:,} requests ({LONG:,} in the first "
        f"case) before the first two providers swap their ways, and {AFTER:,} after. A request is given up after 2 s. "
        "The rate of Lai and Robbins is what learning costs in the long run, for whoever finds the best provider "
        "whatever they are. A rule that sticks to what was good by chance loses less, until then. What is lost after "
        "the change, and after it was noticed, is lost by learning all anew.\n\n"
        f"{_routing_table(quantile(0.95, costs=True))}"
    )
