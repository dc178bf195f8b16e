"""Routing by p95 with time-outs and changing providers: `examples/tail_routing` beside LiteLLM's rule."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from allais import Preference, quantile
from allais.report.markup import markdown_table

ROUTES = 16  # runs of each router
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


def _routing_table(preference: Preference) -> str:
    tail, rows = example(), []
    for first, (title, providers) in zip((True, False, False, False), tail.SCENARIOS.items(), strict=True):
        for name, make in tail.ROUTERS.items():
            if make is tail.Forgetful and not tail.times_out(providers):
                continue  # the same as the one before
            lost = []
            for seed in range(ROUTES):
                phases = [(providers, LONG if first else BEFORE), (tail.changed(providers), AFTER)]
                lost.append(tail.play(make(list(providers), preference, seed), phases, preference, seed))
            requests = np.array([many for _, many in phases], dtype=float)
            halves = 1000.0 * np.array(lost)
            both = halves @ requests / requests.sum()
            cells = [f"{one.mean():.1f} ± {one.std(ddof=1) / math.sqrt(ROUTES):.1f}" for one in (both, *halves.T)]
            rows.append((title, name, *cells))
            print(*rows[-1], flush=True)
    header = ("providers", "router", "p95 seconds lost per 1,000 requests", "before the change", "after the change")
    return markdown_table(header, rows)


def _rate(requests: int) -> float:
    """What learning costs in the first case by the rate of Lai and Robbins (1985), in seconds per 1,000 requests.

    To tell a provider with 10 % slow requests from one with 5 %, by whose p95 it would be no worse, takes some
    log(T) / kl(0.1, 0.05) requests to it, for whoever is to be right whatever the providers are.
    """
    tail, p95 = example(), quantile(0.95, costs=True)
    slow, steady = (tail.worth(one, p95) for one in next(iter(tail.SCENARIOS.values())).values())
    kl = 0.1 * math.log(0.1 / 0.05) + 0.9 * math.log(0.9 / 0.95)
    return 1000.0 * (slow - steady) * math.log(requests) / kl / requests


def run() -> str:
    return "\n\n".join(
        [
            "## Routing by p95",
            f"`examples/tail_routing`: {ROUTES} runs of {BEFORE:,} requests ({LONG:,} in the first case) before the "
            f"first two providers swap their ways, and {AFTER:,} after. A request is given up after 2 s. By the rate "
            f"of Lai and Robbins, which holds in the long run, learning costs {_rate(LONG):.1f} per 1,000 requests in "
            "the first case, before the change. A rule that sticks to what was good by chance loses less, until then.",
            _routing_table(quantile(0.95, costs=True)),
        ]
    )
