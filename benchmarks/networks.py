"""Routes on networks of others: ten fastest between ends, beside networkx's simple paths, which know no turns."""

from __future__ import annotations

import resource
import tempfile
from functools import partial
from itertools import islice, pairwise
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import networkx
import numpy as np

from allais.report.markup import markdown_table
from allais.traffic import Demand, RoadNetwork, grid_network, sumo
from allais.traffic.demand import pairs_of
from benchmarks.timing import least_cpu

ROUTES, PAIRS, LIMIT = 10, 4, 3  # routes a pair, pairs of ends a network, seconds of a processor that a pair may take
MOST_TRIED = 100_000  # paths with forbidden turns that version 0.1.0 skipped
SHAPES = {
    "grid of netgenerate, 10 x 10": ["--grid", "--grid.number", "10", "--grid.attach-length", "9"],
    "grid of netgenerate, 50 x 50": ["--grid", "--grid.number", "50", "--grid.attach-length", "9"],
    "random of netgenerate": ["--rand", "--rand.iterations", "3200"],
}
SHIPPED = {"A10 near Berlin (OpenStreetMap)": "A10KW", "Adlershof (OpenStreetMap)": "DRT"}


def run() -> str:
    if not sumo.is_installed():
        return "## Traffic, networks of others\n\nNot measured: Eclipse SUMO is not installed."
    header = ("network", "edges for cars", "read", f"{ROUTES} routes, the slowest of {PAIRS} pairs",
              "networkx, the slowest that ended", "ended", "an hour of random trips")  # fmt: skip
    return (
        "## Traffic, networks of others\n\nSeconds of a processor. networkx is what version 0.1.0 searched with; a "
        f"pair was stopped after {LIMIT} s. Trips are 1,200, their routes all searched anew.\n\n"
        + markdown_table(header, [_row(*one) for one in _networks()])
    )


def _networks() -> list[tuple[str, RoadNetwork, float]]:
    found = [("the paper's grid", grid_network(), float("nan"))]
    game = Path(sumo.program("sumo")).parents[1] / "tools" / "game"
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: game / place / "osm.net.xml" for name, place in SHIPPED.items()}
        for number, (name, shape) in enumerate(SHAPES.items()):
            paths[name] = Path(folder, f"{number}.net.xml")
            sumo.run("netgenerate", [*shape, "--no-turnarounds", "true", "--seed", "1", "--output-file", paths[name]])
        for name, path in paths.items():
            begun = process_time()
            network = RoadNetwork.read(path)
            found.append((name, network, process_time() - begun))
    return found


def _row(name: str, network: RoadNetwork, read: float) -> tuple[str, ...]:
    ends = pairs_of(network)
    pairs = [ends[k] for k in np.random.default_rng(1).choice(len(ends), PAIRS, replace=False)]
    ours = [least_cpu(1, partial(network.routes, source, target, ROUTES)) for source, target in pairs]
    network.graph  # noqa: B018  # built once
    theirs = [_limited(network, pair) for pair in pairs]
    ended = [seconds for seconds in theirs if seconds is not None]
    trips = least_cpu(1, lambda: Demand().trips(network, 0.0, 3600.0, np.random.default_rng(1)))
    return (
        name, f"{len(network.edges):,}", "" if np.isnan(read) else f"{read:.2f}", f"{max(ours):.3f}",
        f"{max(ended):.3f}" if ended else "", f"{len(ended)} of {PAIRS}", f"{trips:.1f}",
    )  # fmt: skip


def _by_networkx(network: RoadNetwork, pair: tuple[str, str]) -> int:
    """The routes as version 0.1.0 found them: simple paths of junctions, those with forbidden turns left out."""
    paths = networkx.shortest_simple_paths(network.graph, *pair, weight="time")
    found = 0
    for nodes in islice(paths, MOST_TRIED):
        edges = [network.graph.edges[step]["edge"] for step in pairwise(nodes)]
        found += all(turn in network.turns for turn in pairwise(edges))
        if found == ROUTES:
            break
    return found


def _limited(network: RoadNetwork, pair: tuple[str, str]) -> float | None:
    """Seconds that networkx takes, in a process that the system ends at the limit."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(network, pair, theirs))
    process.start()
    theirs.close()
    try:
        return float(ours.recv())
    except EOFError:
        return None
    finally:
        process.join()


def _measure(network: RoadNetwork, pair: tuple[str, str], told: Any) -> None:
    used = int(process_time()) + LIMIT
    resource.setrlimit(resource.RLIMIT_CPU, (used, used))
    told.send(least_cpu(1, lambda: _by_networkx(network, pair)))


if __name__ == "__main__":
    print(run())
