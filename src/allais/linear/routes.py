"""Routes of a network: too many to list, found by dynamic programming over hops.

A route is a set of roads, so its features are 0 and 1, and its length is the root of its number of roads. For routes
of the same number of roads the value falls with the sum of their delays (or rises, for rewards): so the best route of
each number of roads is a layered shortest path, and the best of all is the best of these. This is exact on graphs
without cycles; on others a layered path may visit a place twice, and `simple_routes` lists simple routes instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray, finite_array, same_length, whole
from allais._kernels import routine
from allais._system.extras import extra
from allais.linear.arm_sets import Arm, Judge, LinearBandit
from allais.linear.noise import Noise, ParameterNoise
from allais.preferences import Preference


class Routes:
    """All routes from one node to another of a directed graph without cycles.

    Args:
        graph: A networkx DiGraph; roads are numbered as `graph.edges` lists them.
        source: Where routes begin.
        target: Where routes end.

    >>> import networkx
    >>> routes = Routes(networkx.DiGraph([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("a", "d")]), "a", "d")
    >>> routes.dimension, routes.count()
    (5, 3)
    """

    def __init__(self, graph: Any, source: Hashable, target: Hashable) -> None:
        with extra("routes", "a set of routes"):
            import networkx

        if not networkx.is_directed_acyclic_graph(graph):
            raise ValueError(
                "routes are found in a directed graph without cycles, since others would allow walks in circles; "
                "this one has some. Use simple_routes(graph, source, target, k), which lists the k shortest."
            )
        for node in (source, target):
            if node not in graph:
                raise ValueError(f"a route begins and ends at nodes of the graph; {node!r} is not one. Check the name.")
        # only what lies on some route counts, in topological order
        useful = (networkx.descendants(graph, source) | {source}) & (networkx.ancestors(graph, target) | {target})
        if source not in useful or source == target:
            raise ValueError(f"there must be a route from {source!r} to {target!r}; there is none. Check the graph.")
        self.source, self.target = source, target
        self.nodes: tuple[Hashable, ...] = tuple(n for n in networkx.topological_sort(graph) if n in useful)
        self.roads: tuple[tuple[Hashable, Hashable], ...] = tuple(graph.edges)
        place = {node: k for k, node in enumerate(self.nodes)}
        kept = [(place[b], place[a], road) for road, (a, b) in enumerate(self.roads) if a in place and b in place]
        kept.sort()  # roads by where they end
        self._ends: IntArray = np.array([end for end, _, _ in kept])
        self._starts: IntArray = np.array([start for _, start, _ in kept])
        self._numbers: IntArray = np.array([road for _, _, road in kept])
        hops = np.full(len(self.nodes), -1)
        hops[0] = 0
        for end, start, _ in kept:  # the longest route, in roads
            hops[end] = max(hops[end], hops[start] + 1)
        self.most_hops = int(hops[-1])

    @property
    def dimension(self) -> int:
        """How many roads there are."""
        return len(self.roads)

    def count(self) -> int:
        """How many routes there are, exactly."""
        ways = [0] * len(self.nodes)
        ways[0] = 1
        for end, start in zip(self._ends.tolist(), self._starts.tolist(), strict=True):
            ways[end] += ways[start]
        return ways[-1]

    def features(self, route: Sequence[Hashable]) -> FloatArray:
        """The features of a route, given by its nodes.

        Args:
            route: The nodes of the route, in order.
        """
        number = {road: k for k, road in enumerate(self.roads)}
        row = np.zeros(self.dimension)
        for step in pairwise(route):
            if step not in number:
                raise ValueError(f"a route follows roads of the graph; {step} is not one. Check it.")
            row[number[step]] = 1.0
        return row

    def best(self, theta: FloatArray, judge: Judge) -> Arm:
        """The route of the highest value, if theta has the mean delay (or reward) of each road.

        Args:
            theta: The mean delay (or reward) of each road.
            judge: What values routes, at a theta.
        """
        return self.k_best(theta, judge, 1)[0][0]

    def k_best(self, theta: FloatArray, judge: Judge, k: int) -> list[tuple[Arm, float]]:
        """The k routes of the highest values, best first, with their values.

        Args:
            theta: The mean delay (or reward) of each road.
            judge: What values routes, at a theta.
            k: How many routes.
        """
        weights = finite_array("theta", theta)
        same_length("theta must have one number per road", weights.size, self.dimension, "roads")
        whole("k", k, "1 or more")
        sign = 1.0 if judge.preference.costs else -1.0
        costs = sign * weights[self._numbers]  # to be made small
        # the k cheapest ways to each node by each number of roads: cost, last road, rank of the way before it
        total = np.full((self.most_hops + 1, len(self.nodes), k), np.inf)
        total[0, 0, 0] = 0.0
        by_road, by_rank = np.full(total.shape, -1, dtype=np.int64), np.full(total.shape, -1, dtype=np.int64)
        _fill_layers(self._ends, self._starts, costs, total, by_road, by_rank)
        candidates = []
        for hops in range(1, self.most_hops + 1):
            for rank in range(k):
                cost = total[hops, -1, rank]
                if np.isfinite(cost):
                    candidates.append((judge.value(sign * float(cost), float(np.sqrt(hops))), hops, rank))
        candidates.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
        return [(self._traced(hops, rank, by_road, by_rank), value) for value, hops, rank in candidates[:k]]

    def _traced(self, hops: int, rank: int, by_road: IntArray, by_rank: IntArray) -> Arm:
        """Walk a route back from its end."""
        features = np.zeros(self.dimension)
        node = len(self.nodes) - 1
        route = [self.nodes[node]]
        for layer in range(hops, 0, -1):
            road, rank_before = by_road[layer, node, rank], by_rank[layer, node, rank]
            features[self._numbers[road]] = 1.0
            node, rank = int(self._starts[road]), int(rank_before)
            route.append(self.nodes[node])
        return Arm(tuple(route[::-1]), features)


@routine
def _fill_layers(ends, starts, costs, total, by_road, by_rank):
    most = total.shape[2]
    for layer in range(1, total.shape[0]):
        for road in range(ends.size):
            node, before = ends[road], starts[road]
            for rank in range(most):
                cost = total[layer - 1, before, rank] + costs[road]
                if not cost < total[layer, node, most - 1]:
                    break  # ranks ascend, so no later one enters either
                at = most - 1
                while at > 0 and total[layer, node, at - 1] > cost:
                    total[layer, node, at] = total[layer, node, at - 1]
                    by_road[layer, node, at] = by_road[layer, node, at - 1]
                    by_rank[layer, node, at] = by_rank[layer, node, at - 1]
                    at -= 1
                total[layer, node, at] = cost
                by_road[layer, node, at] = road
                by_rank[layer, node, at] = rank


class PathProblem:
    """A traveller's choice among all routes of a network, each day anew; delays are x.theta plus noise.

    Args:
        routes: The routes.
        theta: One number per road, in the order of `routes.roads`: a delay, if the preference has `costs`.
        noise: What is added; by default `ParameterNoise()`.

    >>> import networkx
    >>> from allais.linear import LinTS
    >>> routes = Routes(networkx.DiGraph([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")]), "a", "d")
    >>> town = PathProblem(routes, theta=[10.0, 10.0, 9.0, 12.0])  # a-b, a-c, b-d, c-d
    >>> people = Preference(TverskyKahneman(0.61), reference=25, costs=True)
    >>> regret = town.play(LinTS(people, ParameterNoise(), regularisation=0.01), n_rounds=200, seed=1)
    >>> bool(regret[-50:].mean() < regret[:50].mean())
    True
    """

    def __init__(self, routes: Routes, theta: Any, noise: Noise | None = None) -> None:
        self.routes, self.theta = routes, finite_array("theta", theta)
        same_length("theta must have one number per road", self.theta.size, routes.dimension, "roads")
        self.noise: Noise = ParameterNoise() if noise is None else noise

    def draw(self, features: FloatArray, rng: np.random.Generator) -> float:
        """What a route brings on one day.

        Args:
            features: The features of the route.
            rng: The generator of the noise.
        """
        lottery = self.noise.of(features[None]).lottery(0, float(features @ self.theta))
        return lottery.sample(rng)

    def value(self, preference: Preference, features: FloatArray) -> float:
        """The true value of a route.

        Args:
            preference: What is maximised.
            features: The features of the route.
        """
        return Judge(preference, self.noise).value(float(features @ self.theta), float(np.linalg.norm(features)))

    def best_value(self, preference: Preference) -> float:
        """The true value of the best route.

        Args:
            preference: What is maximised.
        """
        judge = Judge(preference, self.noise)
        return self.routes.k_best(self.theta, judge, 1)[0][1]

    def play(self, policy: Any, n_rounds: int, seed: int = 0) -> FloatArray:
        """Play a policy, and return the regret of each round.

        Args:
            policy: A linear policy whose learner takes `among=`, such as LinTS.
            n_rounds: The number of rounds.
            seed: The seed of choices and outcomes.
        """
        chooser, teller = np.random.SeedSequence(seed).spawn(2)
        rng = np.random.default_rng(teller)
        judge = Judge(policy.preference, self.noise)
        start = self.routes.best(np.ones(self.routes.dimension), judge)
        learner = policy.start([0], np.random.default_rng(chooser), features=[start.features])
        best = self.best_value(policy.preference)
        regret = np.empty(n_rounds)
        for day in range(n_rounds):
            choice = learner.ask(among=self.routes)
            features = learner.features_of(choice)
            regret[day] = best - judge.value(float(features @ self.theta), float(np.linalg.norm(features)))
            learner.tell(choice, self.draw(features, rng))
        return regret


def simple_routes(
    graph: Any, source: Hashable, target: Hashable, k: int, theta: Any, noise: Noise | None = None
) -> LinearBandit:
    """The k simple routes with the smallest sums of `theta` in any directed graph, as a linear bandit.

    Routes beyond these k are left out, whatever their value.

    Args:
        graph: A networkx DiGraph.
        source: Where routes begin.
        target: Where routes end.
        k: How many routes.
        theta: One number per road, in the order of `graph.edges`.
        noise: What is added; by default `ParameterNoise()`.

    >>> import networkx
    >>> ring = networkx.DiGraph([("a", "b"), ("a", "c"), ("b", "a"), ("b", "c")])
    >>> simple_routes(ring, "a", "c", k=5, theta=[1.0, 3.0, 1.0, 1.0]).arms
    (('a', 'b', 'c'), ('a', 'c'))
    """
    with extra("routes", "a list of routes"):
        import networkx

    roads = list(graph.edges)
    means = finite_array("theta", theta)
    same_length("theta must have one number per road", means.size, len(roads), "roads")
    if (means < 0.0).any():
        raise ValueError(f"the shortest routes need delays that are not negative; got {means.min():g}. Repair theta.")
    weighted = networkx.DiGraph()
    weighted.add_weighted_edges_from((a, b, mean) for (a, b), mean in zip(roads, means.tolist(), strict=True))
    try:
        found = list(
            islice(
                networkx.shortest_simple_paths(weighted, source, target, weight="weight"), whole("k", k, "1 or more")
            )
        )
    except (networkx.NetworkXNoPath, networkx.NodeNotFound):
        raise ValueError(f"there must be a route from {source!r} to {target!r}; there is none.") from None
    number = {road: i for i, road in enumerate(roads)}
    features = np.zeros((len(found), len(roads)))
    for arm, route in enumerate(found):
        features[arm, [number[step] for step in pairwise(route)]] = 1.0
    return LinearBandit(features, means, noise, arms=[tuple(route) for route in found])
