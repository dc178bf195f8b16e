"""Where a route begins or ends: a node, an edge, or a point near a node."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from allais.traffic import sumo

if TYPE_CHECKING:
    from allais.traffic.network import RoadNetwork

PlaceLike = str | tuple[float, float]
Point = tuple[float, float]

DEGREE = 111_195.0  # metres from one parallel to the next


class Place(NamedTuple):
    """A place of a network."""

    name: str  # of a node or an edge
    edges: tuple[str, ...]  # that leave it, or arrive there; an edge is itself
    away: float = 0.0  # metres from the point that was asked for


def find_place(network: RoadNetwork, where: PlaceLike, leaving: bool) -> Place:
    """A node's name, else an edge's name, else two numbers: lon,lat where the network lies there, else x,y."""
    if isinstance(where, str) and where in network.neighbours:
        edges = edges_at(network, leaving).get(where)
        if edges is None:
            what, other = ("begins", "leave") if leaving else ("ends", "arrive")
            raise ValueError(f"a route {what} where cars {other}; none do at {where!r}. Choose another node.")
        return Place(where, edges)
    if isinstance(where, str) and where in network.edges:
        return Place(where, (where,))
    point = _point(where)
    if point is None:
        raise ValueError(
            f"a route begins and ends at nodes or edges of the network, at x,y or at lon,lat; {where!r} is not one. "
            f"Try {', '.join(_similar(str(where), network))}."
        )
    return _nearest(network, point, edges_at(network, leaving))


def _point(where: PlaceLike) -> Point | None:
    try:
        x, y = where.split(",") if isinstance(where, str) else where
        point = float(x), float(y)
    except (TypeError, ValueError):
        return None
    return point if all(map(math.isfinite, point)) else None


def _similar(name: str, network: RoadNetwork) -> list[str]:
    near = get_close_matches(name, [*network.neighbours, *network.edges], 5)
    return near or list(islice(network.neighbours, 5))


@lru_cache(maxsize=16)
def edges_at(network: RoadNetwork, leaving: bool) -> dict[str, tuple[str, ...]]:
    """The edges that leave each node, or arrive there."""
    found: dict[str, list[str]] = {}
    for edge in network.edges.values():
        found.setdefault(edge.start if leaving else edge.end, []).append(edge.name)
    return {node: tuple(edges) for node, edges in found.items()}


def _nearest(network: RoadNetwork, point: Point, edges: Mapping[str, tuple[str, ...]]) -> Place:
    """The node nearest to a point, of those where cars leave or arrive."""
    spots = {node: network.places[node] for node in edges if node in network.places}
    degrees = _degrees(network)
    if degrees and _around(degrees.values(), point):
        scale = math.cos(math.radians(point[1]))
        spots = {node: (DEGREE * scale * lon, DEGREE * lat) for node, (lon, lat) in degrees.items() if node in edges}
        point = (DEGREE * scale * point[0], DEGREE * point[1])
    elif not _around(network.places.values(), point):
        raise ValueError(
            f"a point must lie in the network; {point[0]:g},{point[1]:g} does not. "
            f"Give {_box(network.places.values())} in metres"
            + (f", or {_box(degrees.values())} as lon,lat." if degrees else ".")
        )
    away, name = min((math.dist(point, spot), node) for node, spot in spots.items())
    return Place(name, edges[name], away)


def _bounds(points: Iterable[Point]) -> tuple[float, float, float, float]:
    xs, ys = zip(*points, strict=True)
    return min(xs), max(xs), min(ys), max(ys)


def _around(points: Iterable[Point], point: Point) -> bool:
    left, right, low, high = _bounds(points)
    return left <= point[0] <= right and low <= point[1] <= high


def _box(points: Iterable[Point]) -> str:
    left, right, low, high = _bounds(points)
    return f"{left:g} to {right:g}, {low:g} to {high:g}"


@lru_cache(maxsize=8)
def _degrees(network: RoadNetwork) -> dict[str, Point]:
    """Longitude and latitude of each node, where there is a projection: SUMO's own program knows them all."""
    if network.projection == "!":
        return {}
    with tempfile.TemporaryDirectory(prefix="allais-places-") as name:
        folder = Path(name)
        (folder / "net.xml").write_text(network.content, encoding="utf-8")
        files = ("--sumo-net-file", folder / "net.xml", "--plain-output-prefix", folder / "plain")
        try:
            sumo.run("netconvert", [*files, "--proj.plain-geo", "true"])
        except sumo.SumoError:  # a projection that only its author knows: metres are left
            return {}
        nodes = ElementTree.parse(folder / "plain.nod.xml").getroot().iter("node")
        return {node.attrib["id"]: (float(node.attrib["x"]), float(node.attrib["y"])) for node in nodes}
