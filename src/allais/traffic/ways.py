"""Where a route begins or ends (a node, an edge, or a point near a node), and the k fastest ways in between.

Ways go turn by turn through a graph of edges. Yen (1971) takes the fastest way and asks for the fastest way that
leaves it at each of its edges. Two things make that quick on large networks. One search back from the target gives
every edge its time to the target when nothing is forbidden: a bound that steers each search along the right streets.
And a search is made only when its bound is the lowest of all, so that most are never made. Lawler's partition (1972)
lets no way come twice.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from allais._checks import FloatArray
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


ROUNDING = 1e-9  # relative: sums of the same times in another order differ by less
DECIMALS = 6  # of seconds: ways that differ by less are as fast
PER_EDGE = 1e-9  # seconds, less than that: of edges from which home is as far, the one with fewer edges to go


class Ways(NamedTuple):
    """All ways that begin with `root` and continue with an edge that is not `closed`; with the fastest, once found."""

    bound: float  # no way of these is faster, seconds
    number: int  # of those that are as fast, the ones that were met first come first
    root: tuple[int, ...]
    closed: frozenset[int]
    fastest: tuple[int, ...] | None


class EdgeGraph:
    """Edges by number, with the turns between them: a way is a row of edges, so that forbidden turns are never taken.

    Without `loops` a way passes no junction twice; with them it drives along no edge twice. The fastest way without
    loops is hard to find where turns are forbidden (NP-hard): a search drops a loop as soon as it closes, which can
    miss a way, but never gives a wrong one, and misses none where all turns are allowed.

    >>> graph = EdgeGraph(times=[1.0, 1.0, 3.0], starts=[0, 1, 0], ends=[1, 2, 2], turns=[(0, 1)])
    >>> graph.fastest(sources=[0, 2], targets=[1, 2], k=5, slower=3.0)
    [(0, 1), (2,)]
    """

    def __init__(
        self,
        times: Sequence[float],
        starts: Sequence[int],
        ends: Sequence[int],
        turns: Sequence[tuple[int, int]],
        loops: bool = False,
    ) -> None:
        self.times, self.starts, self.loops = [time + PER_EDGE for time in times], list(starts), loops
        once = range(len(self.times)) if loops else ends  # what a way may pass once only: edges, or junctions
        self.marks = [1 << number for number in once]  # as bits, since a way carries all that it has passed
        self.after: list[list[int]] = [[] for _ in self.times]
        for edge, turned in turns:
            if loops or starts[edge] not in (ends[turned], ends[edge]):  # who turns around is back where it began
                self.after[edge].append(turned)
        rows = [(turned, edge) for edge, follow in enumerate(self.after) for turned in follow]
        back, forth = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        size = len(self.times)
        self._backwards = csr_array((np.asarray(self.times)[back], (back, forth)), shape=(size, size))

    def remaining(self, targets: Collection[int]) -> FloatArray:
        """Seconds from the end of each edge to the end of the nearest target; infinite where there is no way."""
        found: FloatArray = dijkstra(self._backwards, indices=sorted(targets), min_only=True)
        return found

    def fastest(
        self,
        sources: Collection[int],
        targets: Collection[int],
        k: int,
        slower: float,
        remaining: FloatArray | None = None,
    ) -> list[tuple[int, ...]]:
        """At most k ways from one of the sources to one of the targets, none more than `slower` times the fastest."""
        home = (self.remaining(targets) if remaining is None else remaining).tolist()
        ends, numbers = frozenset(targets), count()
        found: list[tuple[int, ...]] = []
        waiting: list[Ways] = []
        longest = np.inf

        def consider(root: tuple[int, ...], spent: float, closed: frozenset[int]) -> None:
            bound = spent + min(
                (self.times[edge] + home[edge] for edge in self._steps(root, closed, sources)), default=np.inf
            )
            if bound < np.inf and bound <= longest:
                heappush(waiting, Ways(round(bound, DECIMALS), next(numbers), root, closed, None))

        consider((), 0.0, frozenset())
        while waiting and len(found) < k:
            ways = heappop(waiting)
            if ways.fastest is None:
                way = self._search(ways, sources, ends, home, longest)
                if way is not None:
                    taken = sum(self.times[edge] for edge in way)
                    heappush(waiting, ways._replace(bound=round(taken, DECIMALS), fastest=way))
                continue
            way = ways.fastest
            found.append(way)
            if len(found) == 1:
                longest = slower * ways.bound * (1.0 + ROUNDING)
            spent = sum(self.times[edge] for edge in ways.root)
            for place in range(len(ways.root), len(way)):
                closed = ways.closed if place == len(ways.root) else frozenset[int]()
                consider(way[:place], spent, closed | {way[place]})
                spent += self.times[way[place]]
        return found

    def _steps(self, root: tuple[int, ...], closed: frozenset[int], sources: Collection[int]) -> list[int]:
        """The edges with which a way may go on after its root."""
        passed = self._passed(root)
        return [
            edge for edge in (self.after[root[-1]] if root else sorted(sources))
            if edge not in closed and not passed & self.marks[edge]
        ]  # fmt: skip

    def _passed(self, root: tuple[int, ...]) -> int:
        passed = 1 << self.starts[root[0]] if root and not self.loops else 0
        for edge in root:
            passed |= self.marks[edge]
        return passed

    def _search(
        self, ways: Ways, sources: Collection[int], targets: frozenset[int], home: Sequence[float], longest: float
    ) -> tuple[int, ...] | None:
        """The fastest of some ways (A*): edges are looked at in the order of the time that a way over them needs.

        Of ways that are as fast, which are many on a regular grid, the one that is the nearest to home is followed.
        """
        root, times, marks = ways.root, self.times, self.marks
        number = count().__next__
        spent, passed = sum(times[edge] for edge in root), self._passed(root)
        reached: dict[int, tuple[float, int, int]] = {}  # seconds, what was passed, the edge before
        ahead: list[tuple[float, float, int, int]] = []
        for edge in self._steps(root, ways.closed, sources):
            after, whole = spent + times[edge], spent + times[edge] + home[edge]
            if whole <= longest:
                begun = passed if root or self.loops else 1 << self.starts[edge]
                reached[edge] = (after, begun | marks[edge], -1)
                heappush(ahead, (round(whole, DECIMALS), home[edge], number(), edge))
        done: set[int] = set()
        while ahead:
            edge = heappop(ahead)[-1]
            if edge in done:
                continue
            done.add(edge)
            before, passed, _ = reached[edge]
            if edge in targets:
                way = [edge]
                while (edge := reached[edge][2]) >= 0:
                    way.append(edge)
                return root + tuple(reversed(way))
            for turned in self.after[edge]:
                after = before + times[turned]
                whole = after + home[turned]
                if not whole <= longest or whole == np.inf or passed & marks[turned] or turned in done:
                    continue
                if turned not in reached or after < reached[turned][0]:
                    reached[turned] = (after, passed | marks[turned], edge)
                    heappush(ahead, (round(whole, DECIMALS), home[turned], number(), turned))
        return None
