"""The k fastest ways against all ways there are, on networks small enough to list them; no simulator is needed."""

from itertools import pairwise

import networkx
import numpy as np
import pytest

from allais.traffic import ways as search_for_ways
from allais.traffic.ways import EdgeGraph


def random_streets(seed, nodes=7, share=0.45):
    """Streets between some pairs of nodes, each with a time of its own; a few of them twice."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < share]
    pairs += [pairs[k] for k in rng.integers(len(pairs), size=3)]
    return pairs, rng.uniform(1.0, 10.0, len(pairs)).tolist(), rng


def all_turns(pairs):
    return [(a, b) for a in range(len(pairs)) for b in range(len(pairs)) if pairs[a][1] == pairs[b][0]]


def all_ways(pairs, turns, source, target):
    graph = networkx.MultiDiGraph()
    for number, (a, b) in enumerate(pairs):
        graph.add_edge(a, b, key=number)
    allowed = set(turns)
    if source not in graph or target not in graph:
        return set()
    ways = (tuple(key for _, _, key in way) for way in networkx.all_simple_edge_paths(graph, source, target))
    return {way for way in ways if allowed.issuperset(pairwise(way))}


def found_ways(pairs, times, turns, source, target, k, slower=np.inf):
    graph = EdgeGraph(times, [a for a, _ in pairs], [b for _, b in pairs], turns)
    begin = [number for number, (a, _) in enumerate(pairs) if a == source]
    end = [number for number, (_, b) in enumerate(pairs) if b == target]
    return graph.fastest(begin, end, k, slower)


@pytest.mark.parametrize("seed", range(12))
def test_where_all_turns_are_allowed_the_k_fastest_ways_are_found_in_their_order(seed):
    pairs, times, _ = random_streets(seed)
    turns = all_turns(pairs)
    total = lambda way: sum(times[edge] for edge in way)  # noqa: E731
    expected = sorted(all_ways(pairs, turns, 0, 6), key=total)
    for k in (1, 5, len(expected) + 3):
        assert found_ways(pairs, times, turns, 0, 6, k) == expected[:k]
    if expected:
        near = [way for way in expected if total(way) <= 1.5 * total(expected[0])]
        assert found_ways(pairs, times, turns, 0, 6, len(expected), slower=1.5) == near


@pytest.mark.parametrize("seed", range(12))
def test_forbidden_turns_are_never_taken_and_no_way_comes_twice(seed):
    pairs, times, rng = random_streets(seed)
    turns = [turn for turn in all_turns(pairs) if rng.random() < 0.7]
    ways = all_ways(pairs, turns, 0, 6)
    found = found_ways(pairs, times, turns, 0, 6, 1000)
    assert len(set(found)) == len(found)
    assert set(found) == ways  # a search may drop a way together with a loop: not here, nor in 150 larger networks


def test_a_way_may_pass_a_junction_twice_only_where_loops_are_allowed():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 1), (1, 4)]  # straight on from 0 to 4 is forbidden, around the block is not
    turns = [(0, 1), (1, 2), (2, 3), (3, 4)]
    starts, ends = zip(*pairs, strict=True)
    times = [1.0] * 5
    assert EdgeGraph(times, starts, ends, turns).fastest([0], [4], 3, np.inf) == []
    assert EdgeGraph(times, starts, ends, turns, loops=True).fastest([0], [4], 3, np.inf) == [(0, 1, 2, 3, 4)]


def square(size):
    """A regular grid, both ways, all streets alike: as many ways as fast as there are, and that is what hurts."""
    nodes = {(x, y): size * x + y for x in range(size) for y in range(size)}
    pairs = [
        (number, nodes[spot])
        for (x, y), number in nodes.items()
        for spot in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
        if spot in nodes
    ]
    leaving = {}
    for number, (a, _) in enumerate(pairs):
        leaving.setdefault(a, []).append(number)
    turns = [(number, turned) for number, (_, b) in enumerate(pairs) for turned in leaving[b]]
    return pairs, turns


def test_on_a_regular_grid_of_ten_thousand_edges_a_search_looks_at_a_small_part(monkeypatch):
    looks = []
    heappop = search_for_ways.heappop
    monkeypatch.setattr(search_for_ways, "heappop", lambda heap: looks.append(1) or heappop(heap))
    pairs, turns = square(51)
    assert len(pairs) > 10_000
    ways = found_ways(pairs, [7.2] * len(pairs), turns, 0, 51 * 51 - 1, 10, 3.0)
    assert len(set(ways)) == 10
    assert {len(way) for way in ways} == {100}  # corner to corner, all of them as short as can be
    assert len(looks) < len(pairs)  # where all that are as fast were followed, each of ten searches looked at a half
