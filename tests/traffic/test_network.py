from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

from allais.traffic import RoadNetwork, grid_network, grid_routes, sumo
from allais.traffic.demand import Demand, pairs_of
from allais.traffic.network import route_matrix
from allais.traffic.problem import ARTERIAL, PAPER_DETOUR, PAPER_SHORT, SAFE, TrafficProblem, named, places
from tests.traffic.needs import needs_sumo

pytestmark = needs_sumo


@lru_cache
def grid():
    return grid_network()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "large.net.xml"
    shape = ["--grid", "--grid.number", "10", "--grid.length", "150", "--grid.attach-length", "100"]
    sumo.run("netgenerate", [*shape, "--no-turnarounds", "true", "--seed", "1", "--output-file", path])
    return path


def test_the_grid_has_the_nodes_of_the_figure():
    network = grid()
    assert sorted(network.ends, key=int) == [str(k) for k in range(1, 13)]
    assert sum(node.startswith("J") for node in network.places) == 9
    spots = places()
    assert spots["12"][1] == spots["J20"][1] == spots["6"][1]  # the bottom row, as in the figure
    assert spots["4"][1] == spots["J02"][1] == spots["10"][1]
    assert spots["1"][0] == spots["J00"][0] == spots["7"][0]
    for pair in (("12", "J20"), ("J02", "4"), ("J22", "9"), ("2", "J01")):
        assert network.graph.has_edge(*pair)
        assert network.graph.has_edge(*pair[::-1])


def test_twelve_simple_routes_lead_from_12_to_4_and_the_highlighted_ones_are_among_them():
    routes = grid_routes(grid())
    assert [route.name for route in routes] == [f"R{k}" for k in range(1, 13)]
    assert len({route.nodes for route in routes}) == 12
    assert all(len(set(route.nodes)) == len(route.nodes) for route in routes)
    assert named(routes, ARTERIAL).name == "R1"
    assert named(routes, SAFE).name == "R2"
    assert len(named(routes, PAPER_SHORT).roads) == 6
    assert len(named(routes, PAPER_DETOUR).roads) == 10
    times = [grid().time(route.edges) for route in routes]
    assert times == sorted(times)


def test_roads_do_not_determine_routes():
    features, roads = route_matrix(grid_routes(grid()))
    assert features.shape == (12, 18)
    assert np.linalg.matrix_rank(features) == 9
    assert "J00_X+X_J01" in roads  # both sides of the crossing are one road


def test_drivers_come_from_all_132_pairs_of_ends():
    assert len(pairs_of(grid())) == 132
    rng = np.random.default_rng(1)
    trips = Demand(vehicles_per_hour=1200).trips(grid(), 0.0, 36_000.0, rng)
    assert abs(len(trips) - 12_000) < 6 * np.sqrt(12_000)  # a Poisson number: a chance of 2e-9
    pairs = {(edges.split()[0], edges.split()[-1]) for _, edges in trips}
    assert len(pairs) == 132


def test_what_is_no_route_is_refused_with_advice(tmp_path):
    network = grid()
    for source, target, message in (("12", "99", "'99' is not one"), ("12", "12", "twice")):
        with pytest.raises(ValueError, match=message):
            network.routes(source, target, 3)
    with pytest.raises(ValueError, match="1 or more"):
        network.routes("12", "4", 0)
    with pytest.raises(ValueError, match="there is no way from '12_J20' to 'J00_J10'"):
        network.route("mine", ["12_J20", "J00_J10"])
    with pytest.raises(ValueError, match="follows edges"):
        network.route("mine", ["12_J99"])
    one_way = network.content.replace('from="12" to="J20"', 'from="12" to="12"')
    with pytest.raises(ValueError, match="there is none"):
        RoadNetwork(one_way).routes("12", "4", 1)
    for content, message in (("<net", "damaged"), ("<routes/>", "netconvert")):
        with pytest.raises(ValueError, match=message):
            RoadNetwork(content)
    with pytest.raises(ValueError, match="cannot be read"):
        RoadNetwork.read(tmp_path / "none.net.xml")
    with pytest.raises(ValueError, match="a signal"):
        network.lights("12")


def test_the_best_routes_of_a_larger_network_are_simple_and_can_be_driven(large):
    network = RoadNetwork.read(large)
    assert len(network.places) > 100
    source, target = network.ends[0], network.ends[-1]
    routes = network.routes(source, target, 6)
    assert len({route.nodes for route in routes}) == 6
    for route in routes:
        assert len(set(route.nodes)) == len(route.nodes)
        assert all(turn in network.turns for turn in pairwise(route.edges))
    times = [network.time(route.edges) for route in routes]
    assert times == sorted(times)
    problem = TrafficProblem(network, routes[:2], Demand(vehicles_per_hour=300), way="stream")
    delays = problem.draw(1, np.random.default_rng(1), 5)
    assert (delays > 0.8 * times[1]).all()  # nobody is much faster than on empty roads
    assert problem.failed == 0


def test_a_file_of_trips_is_the_demand_if_one_is_given(large):
    network = RoadNetwork.read(large)
    (route,) = network.routes(network.ends[0], network.ends[-1], 1)
    edges = " ".join(route.edges)
    flow = f'<flow id="own" begin="0" end="4000" number="400"><route edges="{edges}"/></flow>'
    busy = TrafficProblem(network, [route], Demand(file=f"<routes>{flow}</routes>"), way="stream")
    quiet = TrafficProblem(network, [route], Demand(file="<routes/>"), way="stream")
    ours, theirs = (problem.draw(0, np.random.default_rng(1), 8) for problem in (busy, quiet))
    assert ours.mean() > theirs.mean()
    with pytest.raises(ValueError, match="way='stream'"):
        TrafficProblem(network, [route], Demand(file="<routes/>"), way="fresh")
    with pytest.raises(ValueError, match="a demand must be whole XML; the file is damaged"):
        Demand(file="<routes")
