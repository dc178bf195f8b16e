"""Road networks in SUMO's format: the streets that cars may use, and the fastest routes from one place to another."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.traffic.sumo import parsed, read_text
from allais.traffic.ways import EdgeGraph, Place, PlaceLike, edges_at, find_place

SLOWEST = 3.0  # times the fastest: a longer way round is no alternative
CAR = "passenger"  # SUMO's class of ordinary cars
TREES = 512  # targets of which the times to get there are kept, some 80 kB each in a large town


@dataclass(frozen=True)
class Edge:
    """One direction of a street between two nodes of a network."""

    name: str
    start: str
    end: str
    length: float  # metres
    speed: float  # metres a second

    @property
    def time(self) -> float:
        """Seconds on an empty road."""
        return self.length / self.speed


@dataclass(frozen=True)
class Route:
    """A way from one node to another, by the edges it drives along.

    Args:
        name: What the route is called.
        nodes: The junctions that it passes.
        edges: The edges that it drives along.
        roads: The edges, those joined between which there is no choice.
    """

    name: str
    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    roads: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}: {'-'.join(self.nodes)}"


class RoadNetwork:
    """A network that netconvert or netgenerate wrote; of its streets those that cars may use.

    Args:
        content: The text of a .net.xml file.
        name: What the network is called in messages.
    """

    def __init__(self, content: str, name: str = "network") -> None:
        self.content, self.name = content, name  # kept, so that a worker elsewhere needs no file
        root = parsed(content, "a road network", name)
        if root.tag != "net":
            raise ValueError(f"a road network is what netconvert writes; {name} holds <{root.tag}>. Give a .net.xml.")
        try:
            self._parse(root)
        except (KeyError, ValueError) as error:
            what = f"a part without {error}" if isinstance(error, KeyError) else f"an invalid number ({error})"
            raise ValueError(
                f"a road network must be as netconvert writes it; {name} has {what}. Make it again."
            ) from None
        if not self.edges:
            raise ValueError(f"a road network needs streets for cars; {name} has none. Give a network with roads.")

    def _parse(self, root: ElementTree.Element) -> None:
        self.edges: dict[str, Edge] = {}
        lanes_for_cars: dict[str, set[str]] = {}
        for element in root.iter("edge"):
            if element.get("function", "normal") == "normal" and "from" in element.attrib:
                lanes = [lane.attrib for lane in element.findall("lane") if _open_to_cars(lane.attrib)]
                length = _number(lanes[0], "length") if lanes else 0.0
                speed = max((_number(lane, "speed") for lane in lanes), default=0.0)
                if length > 0.0 and speed > 0.0:
                    name, start, end = (element.attrib[key] for key in ("id", "from", "to"))
                    self.edges[name] = Edge(name, start, end, length, speed)
                    lanes_for_cars[name] = {lane.get("index", "0") for lane in lanes}
        connections = [c.attrib for c in root.iter("connection")]
        self.turns = {
            (c["from"], c["to"])
            for c in connections
            if c.get("fromLane", "0") in lanes_for_cars.get(c["from"], ())
            and c.get("toLane", "0") in lanes_for_cars.get(c["to"], ())
            and self.edges[c["from"]].end == self.edges[c["to"]].start
            and _open_to_cars(c)
        }
        self._links = {(c["tl"], c["linkIndex"]) for c in connections if "tl" in c}
        self.places: dict[str, tuple[float, float]] = {
            node.attrib["id"]: (_number(node.attrib, "x"), _number(node.attrib, "y"))
            for node in root.iter("junction")
            if node.get("type") != "internal"
        }
        location = root.find("location")
        self.projection = "!" if location is None else location.get("projParameter", "!")  # "!" where there is none

    @classmethod
    def read(cls, path: str | Path) -> RoadNetwork:
        """Read the network of a .net.xml or .net.xml.gz file.

        Args:
            path: The file.
        """
        return cls(read_text(path, "a road network"), Path(path).name)

    def __repr__(self) -> str:
        return f"<RoadNetwork {self.name}: {len(self.places)} junctions, {len(self.edges)} edges>"

    @cached_property
    def graph(self) -> Any:
        """The network as a networkx graph of junctions; of parallel edges the fastest."""
        with extra("routes", "a graph"):
            import networkx

        graph = networkx.DiGraph()
        for edge in sorted(self.edges.values(), key=lambda edge: (-edge.time, edge.name)):
            graph.add_edge(edge.start, edge.end, edge=edge.name, time=edge.time)
        return graph

    @cached_property
    def neighbours(self) -> dict[str, set[str]]:
        """The nodes beside each node, whichever way the streets between them lead."""
        found: dict[str, set[str]] = {}
        for edge in self.edges.values():
            found.setdefault(edge.start, set()).add(edge.end)
            found.setdefault(edge.end, set()).add(edge.start)
        return found

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The nodes with a single neighbour, where traffic comes in and leaves; all nodes if there are none."""
        ends = tuple(node for node in self.places if len(self.neighbours.get(node, ())) == 1)
        return ends or tuple(node for node in self.places if node in self.neighbours)

    def place(self, where: PlaceLike, leaving: bool = True) -> Place:
        """Where a route begins or ends.

        Args:
            where: A node by its name, an edge by its name, or x,y or lon,lat, which stand for the nearest node.
            leaving: Whether the route begins there, and not ends.
        """
        return find_place(self, where, leaving)

    def routes(self, source: PlaceLike, target: PlaceLike, k: int = 10, slower: float = SLOWEST) -> tuple[Route, ...]:
        """The k fastest routes on empty roads that pass no node twice, named R1, R2, ... in that order.

        There may be fewer than k. Where turns allow no route without a loop, loops are allowed.

        Args:
            source: Where routes begin: a node, an edge, x,y in the network's metres or, where the network has a
                projection, lon,lat.
            target: Where routes end.
            k: How many routes.
            slower: Routes that take more than this many times the fastest are left out.
        """
        if k < 1:
            raise ValueError(f"k must be 1 or more; got {k}. Give the number of routes.")
        if not slower >= 1.0:
            raise ValueError(
                f"slower must be 1 or more, times the fastest; got {slower:g}. Give 3, or inf for no limit."
            )
        begin, end = self.place(source), self.place(target, leaving=False)
        if begin.name == end.name:
            raise ValueError(f"a route leads somewhere else; got {begin.name!r} twice. Choose another end.")
        for loops in (False, True):
            found = self._search(begin.edges, end.edges, k, slower, loops)
            if found:
                found.sort(key=self.time)
                return tuple(self.route(f"R{number}", edges) for number, edges in enumerate(found, 1))
        raise ValueError(
            f"there must be a route from {begin.name!r} to {end.name!r}; there is none for cars. Choose other places."
        )

    def connects(self, source: str, target: str) -> bool:
        """Whether cars can drive from one node to another.

        Args:
            source: A node.
            target: A node.
        """
        leaving, arriving = edges_at(self, True).get(source, ()), edges_at(self, False).get(target, ())
        if source == target or not (leaving and arriving):
            return False
        _, numbers, _ = _numbered(self, loops=True)
        remaining = _remaining(self, arriving, loops=True)
        return any(math.isfinite(remaining[numbers[edge]]) for edge in leaving)

    def _search(
        self, sources: Sequence[str], targets: tuple[str, ...], k: int, slower: float, loops: bool
    ) -> list[tuple[str, ...]]:
        graph, numbers, names = _numbered(self, loops)
        ways = graph.fastest(
            [numbers[edge] for edge in sources], [numbers[edge] for edge in targets], k, slower,
            _remaining(self, targets, loops),
        )  # fmt: skip
        return [tuple(names[edge] for edge in way) for way in ways]

    def _roads(self, edges: Sequence[str]) -> tuple[str, ...]:
        """Edges as roads: those before and after a node with two neighbours only are one road."""
        roads = [[edges[0]]]
        for edge in edges[1:]:
            if len(self.neighbours[self.edges[edge].start]) == 2:
                roads[-1].append(edge)
            else:
                roads.append([edge])
        return tuple("+".join(road) for road in roads)

    def lights(self, node: str) -> int:
        """How many lights the signal at a node has.

        Args:
            node: A node with a signal.
        """
        links = [int(link) for signal, link in self._links if signal == node]
        if not links:
            raise ValueError(f"a crossing is a node with a signal; {node!r} has none. Build it as a traffic_light.")
        return max(links) + 1

    def time(self, edges: Sequence[str]) -> float:
        """Seconds along edges on empty roads.

        Args:
            edges: The edges that are driven along.
        """
        return sum(self.edges[edge].time for edge in edges)

    def length(self, edges: Sequence[str]) -> float:
        """Metres along edges.

        Args:
            edges: The edges that are driven along.
        """
        return sum(self.edges[edge].length for edge in edges)

    def route(self, name: str, edges: Sequence[str]) -> Route:
        """A route by its edges; refused where they do not connect.

        Args:
            name: What the route is called.
            edges: Edges, each connected to the next.
        """
        strange = [edge for edge in edges if edge not in self.edges]
        if strange or not edges:
            raise ValueError(f"a route follows edges of the network; {strange[:1] or 'no edge'} is not one. Check it.")
        for turn in pairwise(edges):
            if turn not in self.turns:
                raise ValueError(f"a route must connect; there is no way from {turn[0]!r} to {turn[1]!r}. Repair it.")
        nodes = (self.edges[edges[0]].start, *(self.edges[edge].end for edge in edges))
        return Route(name, nodes, tuple(edges), self._roads(edges))


def _open_to_cars(attributes: dict[str, str]) -> bool:
    """Whether cars may use a lane or a turn: all may, unless it says who may, or who may not."""
    if "allow" in attributes:
        return not {CAR, "all"}.isdisjoint(attributes["allow"].split())
    return {CAR, "all"}.isdisjoint(attributes.get("disallow", "").split())


def _number(attributes: dict[str, str], name: str) -> float:
    found = float(attributes[name])
    if not math.isfinite(found):
        raise ValueError(f"{name}={attributes[name]!r}")
    return found


# Kept here and not in the network, so that it is sent to workers without them.
@lru_cache(maxsize=8)
def _numbered(network: RoadNetwork, loops: bool) -> tuple[EdgeGraph, dict[str, int], tuple[str, ...]]:
    """The edges by number, as a search needs them."""
    numbers = {name: number for number, name in enumerate(network.edges)}
    nodes = {name: number for number, name in enumerate(network.neighbours)}
    edges = network.edges.values()
    graph = EdgeGraph(
        [edge.time for edge in edges], [nodes[edge.start] for edge in edges], [nodes[edge.end] for edge in edges],
        sorted((numbers[a], numbers[b]) for a, b in network.turns), loops,
    )  # fmt: skip
    return graph, numbers, tuple(network.edges)


@lru_cache(maxsize=TREES)
def _remaining(network: RoadNetwork, targets: tuple[str, ...], loops: bool) -> FloatArray:
    """Seconds from each edge to the nearest target; most traffic goes to few places."""
    graph, numbers, _ = _numbered(network, loops)
    return graph.remaining([numbers[edge] for edge in targets])


def route_matrix(routes: Sequence[Route]) -> tuple[FloatArray, tuple[Hashable, ...]]:
    """Which route uses which road, as features (routes, roads), and the roads' names."""
    roads = tuple(dict.fromkeys(road for route in routes for road in route.roads))
    columns = {road: column for column, road in enumerate(roads)}
    rows = np.zeros((len(routes), len(roads)))
    for arm, route in enumerate(routes):
        rows[arm, [columns[road] for road in route.roads]] = 1.0
    return rows, roads
