"""The network of the paper's figure (Section VI): 3 x 3 signalled junctions, twelve nodes around them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from allais.traffic import sumo
from allais.traffic.network import RoadNetwork, Route

SOURCE, TARGET = "12", "4"
CROSSING = "X"  # the level crossing, halfway along J00-J01
ARTERIAL = ("12", "J20", "J10", "J00", "J01", "J02", "4")
SAFE = ("12", "J20", "J10", "J11", "J01", "J02", "4")  # one block aside: around the crossing
# the two routes that the figure highlights
PAPER_SHORT = ("12", "J20", "J21", "J11", "J01", "J02", "4")  # dotted blue, Route 7
PAPER_DETOUR = ("12", "J20", "J21", "J22", "J12", "J11", "J10", "J00", "J01", "J02", "4")  # dotted green, Route 8
KMH = 1.0 / 3.6


@dataclass(frozen=True)
class GridSettings:
    """What the paper's figure of the grid network does not say.

    Args:
        block: The distance between junctions, in metres.
        cycle: The length of a signal's program, in seconds.
        arterial_speed: The speed limit in km/h of the arterial, which has two lanes each way.
        street_speed: The speed limit in km/h of streets, which have one lane each way.
    """

    block: float = 300.0
    cycle: int = 60
    arterial_speed: float = 60.0
    street_speed: float = 50.0


def grid_network(settings: GridSettings | None = None) -> RoadNetwork:
    """The network, built with netconvert.

    Args:
        settings: Sizes and speeds; by default those of `GridSettings()`.
    """
    settings = settings or GridSettings()
    with tempfile.TemporaryDirectory(prefix="allais-grid-") as name:
        folder = Path(name)
        nodes, edges, built = (folder / part for part in ("nodes.xml", "edges.xml", "grid.net.xml"))
        nodes.write_text(_nodes(settings), encoding="utf-8")
        edges.write_text(_edges(settings), encoding="utf-8")
        sumo.run(
            "netconvert",
            [
                *("--node-files", nodes, "--edge-files", edges, "--output-file", built),
                *("--no-turnarounds", "true", "--tls.cycle.time", str(settings.cycle)),
            ],
        )
        return RoadNetwork.read(built)


def grid_routes(network: RoadNetwork) -> tuple[Route, ...]:
    """The twelve simple routes from 12 to 4, fastest on empty roads first: R1 the arterial, R2 one block aside.

    Args:
        network: What `grid_network` returned.
    """
    return network.routes(SOURCE, TARGET, k=100)  # more than there are


def named(routes: tuple[Route, ...], nodes: tuple[str, ...]) -> Route:
    """The route that passes these nodes, whether or not the crossing is listed among them."""
    for route in routes:
        if tuple(node for node in route.nodes if node != CROSSING) == nodes:
            return route
    raise ValueError(f"a route must be one of those listed; {'-'.join(nodes)} is none. Check the nodes.")


def places() -> dict[str, tuple[float, float]]:
    """Where the nodes are, in blocks: J (row, column) with row 0 on top, 1 to 12 clockwise as in the figure."""
    spots = {f"J{row}{column}": (column, -row) for row in range(3) for column in range(3)}
    for k in range(3):
        spots[str(1 + k)] = (k, 1)  # on top
        spots[str(4 + k)] = (3, -k)  # on the right
        spots[str(7 + k)] = (k, -3)  # below
        spots[str(10 + k)] = (-1, -k)  # on the left
    return {name: (float(x), float(y)) for name, (x, y) in spots.items()} | {CROSSING: (0.5, 0.0)}


def _streets() -> list[tuple[str, str]]:
    """Neighbouring nodes, one direction of each pair."""
    spots = {spot: name for name, spot in places().items() if name != CROSSING}
    streets = []
    for (x, y), name in spots.items():
        for neighbour in ((x + 1.0, y), (x, y - 1.0)):
            other = spots.get(neighbour)
            if other is not None and "J" in name + other:  # nodes at the rim are joined to junctions only
                streets.append((name, other))
    streets.remove(("J00", "J01"))
    return [*streets, ("J00", CROSSING), (CROSSING, "J01")]


def _nodes(settings: GridSettings) -> str:
    rows = []
    for name, (x, y) in places().items():
        kind = "traffic_light" if name == CROSSING or name.startswith("J") else "priority"
        rows.append(f'<node id="{name}" x="{x * settings.block}" y="{y * settings.block}" type="{kind}"/>')
    return "<nodes>" + "".join(rows) + "</nodes>"


def _edges(settings: GridSettings) -> str:
    along = set(pairwise(ARTERIAL)) | {("J00", CROSSING), (CROSSING, "J01")}
    rows = []
    for a, b in _streets():
        fast = (a, b) in along or (b, a) in along
        lanes, speed = (2, settings.arterial_speed) if fast else (1, settings.street_speed)
        rows += [
            f'<edge id="{start}_{end}" from="{start}" to="{end}" numLanes="{lanes}" speed="{speed * KMH:.4f}"/>'
            for start, end in ((a, b), (b, a))
        ]
    return "<edges>" + "".join(rows) + "</edges>"
