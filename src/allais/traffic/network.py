"""Road networks in SUMO's format: their roads, and the best simple routes from one junction to another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from allais.errors import FloatArray

MOST_TRIED = 100_000  # paths with forbidden turns that are skipped before a search gives up


@dataclass(frozen=True)
class Edge:
    """One direction of a street between two nodes of a network."""

    name: str
    start: str
    end: str
    length: float  # metres
    speed: float  # metres a second
    lanes: int

    @property
    def time(self) -> float:
        """Seconds when nobody is in the way."""
        return self.length / self.speed


@dataclass(frozen=True)
class Route:
    """A way from one node to another, by the edges it drives along."""

    name: str
    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    roads: tuple[str, ...]  # the edges, those joined between which there is no choice

    def __str__(self) -> str:
        return f"{self.name}: {'-'.join(self.nodes)}"


class RoadNetwork:
    """A network that netconvert or netgenerate wrote."""

    def __init__(self, content: str, name: str = "network") -> None:
        self.content, self.name = content, name  # kept, so that a worker elsewhere needs no file
        try:
            root = ElementTree.fromstring(content)
        except ElementTree.ParseError as error:
            raise ValueError(f"a road network must be whole XML; {name} is damaged ({error}). Make it anew.") from None
        if root.tag != "net":
            raise ValueError(f"a road network is what netconvert writes; {name} holds <{root.tag}>. Give a .net.xml.")
        try:
            self._parse(root)
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"a road network must be as netconvert writes it; {name} has a part without {error}. Make it anew."
            ) from None

    def _parse(self, root: ElementTree.Element) -> None:
        self.edges: dict[str, Edge] = {}
        for element in root.iter("edge"):
            lanes = element.findall("lane")
            if element.get("function") is None and lanes and "from" in element.attrib:
                self.edges[element.attrib["id"]] = Edge(
                    element.attrib["id"],
                    element.attrib["from"],
                    element.attrib["to"],
                    float(lanes[0].attrib["length"]),
                    max(float(lane.attrib["speed"]) for lane in lanes),
                    len(lanes),
                )
        connections = [c.attrib for c in root.iter("connection")]
        self.turns = {(c["from"], c["to"]) for c in connections}
        self._links = {(c["tl"], c["linkIndex"]) for c in connections if "tl" in c}
        self.places: dict[str, tuple[float, float]] = {
            node.attrib["id"]: (float(node.attrib["x"]), float(node.attrib["y"]))
            for node in root.iter("junction")
            if node.get("type") != "internal"
        }

    @classmethod
    def read(cls, path: str | Path) -> RoadNetwork:
        """The network of a .net.xml file."""
        try:
            content = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ValueError(
                f"a road network is read from a file; {path} cannot be read ({reason}). Check the path."
            ) from None
        return cls(content, Path(path).name)

    def __repr__(self) -> str:
        return f"<RoadNetwork {self.name}: {len(self.places)} junctions, {len(self.edges)} edges>"

    @cached_property
    def graph(self) -> Any:
        """The network as a networkx graph of junctions; of parallel edges the fastest."""
        import networkx

        graph = networkx.DiGraph()
        for edge in sorted(self.edges.values(), key=lambda edge: (-edge.time, edge.name)):
            graph.add_edge(edge.start, edge.end, edge=edge.name, time=edge.time)
        return graph

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The nodes with a single neighbour, where traffic comes in and leaves; all nodes if there are none."""
        graph = self.graph.to_undirected()
        ends = tuple(node for node in self.places if node in graph and graph.degree(node) == 1)
        return ends or tuple(node for node in self.places if node in graph)

    def routes(self, source: str, target: str, k: int) -> tuple[Route, ...]:
        """The k fastest simple routes on empty roads, named R1, R2, ... in that order."""
        if k < 1:
            raise ValueError(f"k must be 1 or more; got {k}. Give the number of routes.")
        found: list[Route] = []
        for nodes in self._simple_paths(source, target):
            edges = [self.graph.edges[step]["edge"] for step in pairwise(nodes)]
            if all(turn in self.turns for turn in pairwise(edges)):
                found.append(Route(f"R{len(found) + 1}", tuple(nodes), tuple(edges), self._roads(edges)))
            if len(found) == k:
                break
        if not found:
            raise ValueError(
                f"a route must lead from {source!r} to {target!r}; the turns of {self.name} allow none. "
                "Choose other nodes."
            )
        return tuple(found)

    def _simple_paths(self, source: str, target: str) -> Any:
        import networkx

        for node in (source, target):
            if node not in self.graph:
                near = ", ".join(map(str, islice(self.graph, 5)))
                raise ValueError(f"a route begins and ends at nodes of the network; {node!r} is none. Try {near}.")
        if source == target:
            raise ValueError(f"a route leads somewhere else; got {source!r} twice. Choose another end.")
        if not networkx.has_path(self.graph, source, target):
            raise ValueError(f"there must be a route from {source!r} to {target!r}; there is none. Choose other nodes.")
        return islice(networkx.shortest_simple_paths(self.graph, source, target, weight="time"), MOST_TRIED)

    def _roads(self, edges: Sequence[str]) -> tuple[str, ...]:
        """Edges as roads: those before and after a node with two neighbours only are one road."""
        roads = [[edges[0]]]
        neighbours = self.graph.to_undirected(as_view=True)
        for edge in edges[1:]:
            if neighbours.degree(self.edges[edge].start) == 2:
                roads[-1].append(edge)
            else:
                roads.append([edge])
        return tuple("+".join(road) for road in roads)

    def lights(self, node: str) -> int:
        """How many lights the signal at a node has."""
        links = [int(link) for signal, link in self._links if signal == node]
        if not links:
            raise ValueError(f"a crossing is a node with a signal; {node!r} has none. Build it as a traffic_light.")
        return max(links) + 1

    def time(self, edges: Sequence[str]) -> float:
        """Seconds along edges when nobody is in the way."""
        return sum(self.edges[edge].time for edge in edges)

    def route(self, name: str, edges: Sequence[str]) -> Route:
        """A route by its edges; refused where they do not connect."""
        strange = [edge for edge in edges if edge not in self.edges]
        if strange or not edges:
            raise ValueError(f"a route follows edges of the network; {strange[:1] or 'no edge'} is none. Check it.")
        for turn in pairwise(edges):
            if turn not in self.turns:
                raise ValueError(f"a route must connect; there is no way from {turn[0]!r} to {turn[1]!r}. Repair it.")
        nodes = (self.edges[edges[0]].start, *(self.edges[edge].end for edge in edges))
        return Route(name, nodes, tuple(edges), self._roads(edges))


def route_matrix(routes: Sequence[Route]) -> tuple[FloatArray, tuple[Hashable, ...]]:
    """Which route uses which road, as features (routes, roads), and the roads' names."""
    roads = tuple(dict.fromkeys(road for route in routes for road in route.roads))
    rows = np.zeros((len(routes), len(roads)))
    for arm, route in enumerate(routes):
        rows[arm, [roads.index(road) for road in route.roads]] = 1.0
    return rows, roads
