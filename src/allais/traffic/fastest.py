"""The k fastest ways through a graph of edges, turn by turn: Yen's algorithm, guided by the exact way home.

Yen (1971) takes the fastest way and asks for the fastest way that leaves it at each of its edges. Two things make that
quick on large networks. One search back from the target gives every edge its time to the target when nothing is
forbidden: a bound that steers each search along the right streets. And a search is made only when its bound is the
lowest of all, so that most are never made. Lawler's partition (1972) lets no way come twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from allais._checks import FloatArray

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
