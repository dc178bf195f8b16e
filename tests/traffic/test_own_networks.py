"""Networks, demands and places that are not ours: those that SUMO makes and ships, and broken ones."""

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from rich.console import Console

from allais.traffic import Demand, Recording, RoadNetwork, Route, SumoError, TrafficProblem, grid_network, record, sumo
from allais.traffic.demand import Crossing, pairs_of, ways_of
from allais.traffic.play import view
from allais.traffic.recording import _on_roads
from allais.traffic.report import MEAN, VALUE, Preferred
from tests.problems.test_program import is_gone
from tests.traffic.needs import needs_sumo
from tests.traffic.test_cli import refused, run

SHAPES = {
    "grid": ["--grid", "--grid.number", "6", "--grid.length", "120"],
    "spider": ["--spider", "--spider.arm-number", "8", "--spider.circle-number", "5"],
    "random": ["--rand", "--rand.iterations", "80"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Networks of netgenerate, by shape."""
    folder = tmp_path_factory.mktemp("made")
    for name, shape in SHAPES.items():
        sumo.run("netgenerate", [*shape, "--seed", "1", "--output-file", folder / f"{name}.net.xml"])
    return lambda name: folder / f"{name}.net.xml"


def shipped(name):
    return Path(sumo.program("sumo")).parents[1] / "tools" / "game" / name


def sound(network, source, target, k):
    """The routes, each of which can be driven and is in its place."""
    routes = network.routes(source, target, k)
    assert len({route.edges for route in routes}) == len(routes)
    times = [network.time(route.edges) for route in routes]
    assert times == sorted(times)
    assert times[-1] <= 3.0 * times[0] * (1.0 + 1e-6)
    for route in routes:
        assert all(turn in network.turns for turn in pairwise(route.edges))
    return routes


@needs_sumo
@pytest.mark.parametrize("shape", SHAPES)
def test_every_pair_of_ends_of_a_generated_network_has_its_routes(made, shape):
    network = RoadNetwork.read(made(shape))
    for pair in pairs_of(network)[::40]:
        routes = sound(network, *pair, 5)
        assert all(len(set(route.nodes)) == len(route.nodes) for route in routes)


@needs_sumo
@pytest.mark.parametrize(
    "name",
    [
        "A10KW/osm.net.xml",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("DRT/osm.net.xml", "fkk_in/ingolstadt.net.xml.gz")),
    ],
)
def test_every_pair_of_ends_of_a_real_town_has_its_routes_on_streets_for_cars(name):
    network = RoadNetwork.read(shipped(name))
    assert all(sound(network, *pair, 4) for pair in pairs_of(network)[::7])
    footpaths = {"-255835060#1", "-27571092#3"} if name.startswith("A10KW") else set()
    assert footpaths.isdisjoint(network.edges)


@needs_sumo
def test_cars_keep_to_the_streets_that_sumo_opens_to_them():
    network = RoadNetwork.read(shipped("A10KW/osm.net.xml"))
    assert len(network.edges) == 125  # of 509, as sumolib's edge.allows("passenger") counts them
    with pytest.raises(ValueError, match=r"needs streets for cars; net\.net\.xml has none"):
        RoadNetwork.read(shipped("rail/net.net.xml"))


@needs_sumo
def test_the_traffic_of_the_papers_grid_is_what_it_always_was():
    network = grid_network()
    ways = [ways_of(network, *pair) for pair in pairs_of(network)]
    assert zlib.crc32(json.dumps(ways).encode()) == 2_961_845_017  # of version 0.1.0, whose figures the pages show


def town(turns, **lanes):
    """A network by hand: a square of nodes, and the turns that are given."""
    spots = {"a": (0, 0), "b": (100, 0), "c": (100, 100), "d": (0, 100)}
    streets = ("ab", "bc", "cd", "ad", "dc", "ba")
    edges = "".join(
        f'<edge id="{s}" from="{s[0]}" to="{s[1]}"><lane id="{s}_0" index="0" speed="10" length="100" '
        f"{lanes.get(s, '')}/></edge>"
        for s in streets
    )
    nodes = "".join(f'<junction id="{n}" type="priority" x="{x}" y="{y}"/>' for n, (x, y) in spots.items())
    links = "".join(f'<connection from="{a}" to="{b}" fromLane="0" toLane="0"/>' for a, b in turns)
    return RoadNetwork(f"<net>{edges}{nodes}{links}</net>", "town.net.xml")


def test_lanes_and_turns_that_are_closed_to_cars_are_not_used():
    turns = [("ab", "bc"), ("ad", "dc")]
    assert [route.nodes for route in town(turns).routes("a", "c", 5)] == [("a", "b", "c"), ("a", "d", "c")]
    for rule in ('allow="bus tram"', 'disallow="passenger truck"', 'disallow="all"'):
        assert [route.nodes for route in town(turns, bc=rule).routes("a", "c", 5)] == [("a", "d", "c")]
    assert len(town(turns, bc='disallow="bus"').routes("a", "c", 5)) == 2


def test_a_place_is_a_node_an_edge_or_a_point():
    network = town([("ab", "bc"), ("ad", "dc"), ("bc", "cd")])
    assert [route.edges for route in network.routes("ab", "cd", 5)] == [("ab", "bc", "cd")]
    assert network.place("3,2").name == "a"
    assert network.place((90.0, 97.0)).name == "c"
    assert [route.nodes for route in network.routes("1,1", (99.0, 99.0), 1)] == [("a", "b", "c")]
    for where, message in (
        ("z", "'z' is not one. Try a, b"),
        ("400,1", r"400,1 does not. Give 0 to 100, 0 to 100 in metres\."),
        ("nan,1", "'nan,1' is not one"),
        ((1.0, 2.0, 3.0), "is not one"),
    ):
        with pytest.raises(ValueError, match=message):
            network.routes(where, "c", 1)
    with pytest.raises(ValueError, match="slower must be 1 or more"):
        network.routes("a", "c", 1, slower=0.5)


@needs_sumo
def test_longitude_and_latitude_are_understood_where_there_is_a_projection():
    network = RoadNetwork.read(shipped("A10KW/osm.net.xml"))
    degrees = {"34160724": (13.596007, 52.316334), "32500320": (13.607446, 52.318066)}
    for name, (lon, lat) in degrees.items():
        place = network.place(f"{lon},{lat}")
        assert place.name == name
        assert place.away < 1.0
        assert network.place((lon, lat)) == place
        assert network.place(network.places[name]).name == name  # the same in metres
    (west, south), (east, north) = degrees.values()
    shift = np.subtract((east, north), (west, south)) * (111_195.0 * np.cos(np.radians(south)), 111_195.0)
    metres = np.subtract(*(network.places[name] for name in reversed(degrees)))
    # a globe is no ellipsoid: they differ by less than one per cent, where a mistake is much more
    assert np.hypot(*shift) == pytest.approx(np.hypot(*metres), rel=0.01)
    with pytest.raises(ValueError, match=r"13\.6,53 does not\. Give .* in metres, or 13\.58.* as lon,lat"):
        network.place("13.6,53")


@needs_sumo
def test_no_route_and_only_one_are_said_in_a_sentence(made, tmp_path):
    one = tmp_path / "town.net.xml"
    one.write_text(town([("ab", "bc")]).content)
    answer = run("routes", one, "--from", "a", "--to", "c")
    assert answer.exit_code == 0
    assert "R1     20.0 s   0.20 km  a-b-c" in answer.output
    assert "only one route leads there in at most 3 times the fastest; 10 were asked for" in answer.output
    none = "there must be a route from 'c' to 'b'; there is none for cars. Choose other places."
    assert refused("routes", one, "--from", "c", "--to", "b") == none
    record_one = run("record", tmp_path / "x.npz", "--network", one, "--from", "a", "--to", "c")
    assert record_one.exit_code == 2
    assert "there must be two routes to choose from; only one leads from 'a' to 'c'" in record_one.output
    assert "one is missing. Add --from A --to B" in refused("record", tmp_path / "x.npz", "--network", one)
    assert "Add --network NET.net.xml" in refused("record", tmp_path / "x.npz", "--from", "a")


def test_a_trip_of_hours_and_two_routes_of_one_name_are_refused():
    turns = [("ab", "bc"), ("ad", "dc")]
    far = RoadNetwork(town(turns).content.replace('length="100"', 'length="60000"'))
    with pytest.raises(ValueError, match=r"must take 1 h at most on empty roads, .* after 2 h; got one of 3\.3 h"):
        TrafficProblem(far, far.routes("a", "c", 2))
    near = town(turns)
    with pytest.raises(ValueError, match="must have different names; got R1, R1"):
        TrafficProblem(near, near.routes("a", "c", 1) * 2)
    with pytest.raises(ValueError, match="headway must be above 0"):
        TrafficProblem(near, near.routes("a", "c", 1), headway=0.0)


def test_a_road_is_not_taken_apart_at_a_plus_in_an_edges_own_name():
    route = Route("R1", ("a", "b", "c", "d"), ("x+y", "p", "q"), ("x+y", "p+q"))
    assert _on_roads(route, (10.0, 20.0, 30.0)) == [10.0, 50.0]


class Advised:
    """What the live view asks of a learner, without a minute of compiling."""

    pulls: ClassVar = {"[/x]": 1, "[b]": 0}

    def recommend(self):
        return SimpleNamespace(arm="[/x]")

    def value(self):
        return {"[/x]": -1.0, "[b]": 0.0}

    def outcomes(self, name):
        return np.array([1.0]), np.array([1])


def test_a_route_may_have_any_name_in_the_live_view():
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(view(Advised(), 1, "[/x]", 1.0))
    shown = console.export_text()
    assert "advised [/x]" in shown
    assert "[b]" in shown


def test_a_route_may_have_any_name_among_those_that_are_preferred():
    names = ["[/x]", "plan [a]", ":car:"]
    table = SimpleNamespace(names=names, columns=[MEAN, VALUE], excess=np.zeros((2, 3)), errors=np.ones((2, 3)))
    table.best = lambda column: 0
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(Preferred(SimpleNamespace(samples=lambda k: np.ones(4)), table, 0.0).view())
    shown = [line.split("│")[1].strip() for line in console.export_text().splitlines() if line.count("│") > 5]
    assert shown == names


RUNS_SUMO = """
import sys
from allais.traffic import sumo
sumo.program = lambda name: sys.argv[1]
sumo.run("sumo", [])
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds what was started in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_sumo_ends_with_the_process_that_started_it(tmp_path, number):
    slow, pid = tmp_path / "sumo", tmp_path / "pid"
    slow.write_text(f"#!/bin/sh\necho $$ > {pid}.new\nmv {pid}.new {pid}\nexec sleep 600\n")
    slow.chmod(0o755)
    process = subprocess.Popen([sys.executable, "-c", RUNS_SUMO, str(slow)])
    while not pid.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    process.wait()
    assert is_gone(int(pid.read_text()))


def trips(edges, *departures, extra=""):
    cars = "".join(f'<vehicle id="probe{k}" type="car" depart="{t}"><route edges="{edges}"/></vehicle>' for k, t in
                   enumerate(departures))  # fmt: skip
    return f'<routes><vType id="car"/><vType id="probe"/>{cars}{extra}</routes>'


@needs_sumo
def test_a_demand_is_read_whatever_its_names_and_its_order(made, tmp_path):
    network = RoadNetwork.read(made("grid"))
    routes = network.routes("A0", "F5", 2)
    edges = " ".join(routes[0].edges)
    path = tmp_path / "own.rou.xml"
    path.write_text(trips(edges, "8:30:00", 28_800, "08:20:00"))
    packed = tmp_path / "more.rou.xml.gz"
    packed.write_bytes(gzip.compress(b'<additional><flow id="f" begin="28800" end="31000" number="9" from="A0A1" '
                                     b'to="E5F5"/></additional>'))  # fmt: skip
    demand = Demand.read(path, packed)
    assert demand.span == (28_800.0, 31_000.0)
    problem = TrafficProblem(network, routes, demand, way="stream")
    assert problem.clock == (28_800.0, 550.0, 1650.0)
    delays = problem.draw(0, np.random.default_rng(1), 3)
    assert (delays > 0.8 * network.time(routes[0].edges)).all()


@needs_sumo
def test_a_block_must_fit_into_its_demand(made, tmp_path):
    network = RoadNetwork.read(made("grid"))
    routes = network.routes("A0", "F5", 2)
    edges = " ".join(routes[0].edges)
    short = TrafficProblem(network, routes, Demand(file=trips(edges, 0, 1800)), way="stream")
    with pytest.raises(ValueError, match=r"depart for 0.38 h once the roads have filled; got 1 h. Give 0.37 h or less"):
        record(short, 1, seed=1, hours=1.0, n_jobs=1)
    with pytest.raises(ValueError, match=r"a demand must last, .*; its vehicles depart from 0 to 60 s"):
        TrafficProblem(network, routes, Demand(file=trips(edges, 0, 60)), way="stream")
    path = tmp_path / "own.rou.xml"
    for content, message in (
        (b"<routes", "a demand must be whole XML; own.rou.xml is damaged"),
        (b"<net/>", "own.rou.xml holds <net>. Give a .rou.xml."),
        (b'<routes><include href="types.xml"/></routes>', "own.rou.xml includes 'types.xml'. Give both files instead."),
        (b"\x1f\x8bdamaged", "cannot be read (its packing is damaged)"),
        (b"\xff\xfe\xff", "cannot be read (it is not text)"),
    ):
        path.write_bytes(content)
        words = ["--network", made("grid"), "--from", "A0", "--to", "F5", "--demand", path]
        assert message in refused("record", tmp_path / "x.npz", *words)
    path.write_text(trips("nowhere", 0, 1800))
    sentence = refused("record", tmp_path / "x.npz", *words, "--k", "2", "--workers", "1", "--blocks", "1")
    assert "'nowhere'" in sentence
    assert "allais-traffic-" not in sentence  # a folder that is gone
    assert not (tmp_path / "x.npz").exists()


@needs_sumo
def test_a_jam_that_does_not_dissolve_is_a_sentence(made):
    network = RoadNetwork.read(made("grid"))
    routes = network.routes("A0", "F5", 2)
    first = routes[0].edges[1]
    broken_down = f'<vehicle id="stuck" depart="0"><route edges="{first}"/><stop lane="{first}_0" duration="99999"/>' \
        "</vehicle>"  # fmt: skip
    file = f'<routes>{broken_down}<flow id="f" begin="0" end="2400" number="2" from="{first}" to="{first}"/></routes>'
    problem = TrafficProblem(network, routes, Demand(file=file), way="stream")
    with pytest.raises(SumoError, match=r"probes must arrive; 4 of 4 along R1 did not within 2 hours, .* Lower the"):
        problem.draw(0, np.random.default_rng(1), 4)


SAME = """
import sys
import numpy as np
from allais.traffic import Demand, RoadNetwork, TrafficProblem
network = RoadNetwork.read(sys.argv[1])
problem = TrafficProblem(network, network.routes("A1", "E4", 3), Demand(vehicles_per_hour=200), way="stream")
print(problem.draw(1, np.random.default_rng(5), 3).tolist(), [route.edges for route in problem.routes])
"""


@needs_sumo
def test_the_same_seed_gives_the_same_delays_in_another_process_and_another_folder(made, tmp_path):
    told = []
    for seed in ("1", "2"):  # of the order of sets
        copy = tmp_path / seed / "spider.net.xml"
        copy.parent.mkdir()
        copy.write_bytes(made("spider").read_bytes())
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", SAME, copy.name], cwd=copy.parent, env=environment,
                              capture_output=True, text=True, check=True)  # fmt: skip
        told.append(done.stdout)
    assert told[0] == told[1]
    assert told[0].startswith("[")


@needs_sumo
def test_a_network_and_a_demand_of_ones_own_from_the_files_to_the_preferred_route(made, tmp_path):
    delays = tmp_path / "delays.npz"
    where = ["--network", made("spider"), "--from", "A1", "--to", "E4", "--k", "2", "--vehicles-per-hour", "200"]
    answer = run("record", delays, *where, "--blocks", "2", "--hours", "0.1", "--workers", "1")
    assert answer.exit_code == 0, answer.output
    kept = Recording.load(delays)
    assert kept.n_blocks == 2
    assert str(tmp_path).encode() not in delays.read_bytes()  # nothing of it depends on where it was made
    told = run("prefer", delays, "--weight", "prelec:0.65")
    assert told.exit_code == 0, told.output
    assert "People prefer R" in told.output
    assert "is the fastest on average" in told.output
    assert "there is no weight 'tversky'" in refused("prefer", delays, "--weight", "tversky")


@needs_sumo
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["A10KW/osm.net.xml", "DRT/osm.net.xml", "bs3d/bs.net.xml", "fkk_in/ingolstadt.net.xml.gz", *SHAPES]
)
def test_both_ways_to_draw_work_on_any_network(made, name):
    network = RoadNetwork.read(made(name) if name in SHAPES else shipped(name))
    source, target = max(pairs_of(network)[::11], key=lambda pair: len(network.routes(*pair, 3)))
    routes = network.routes(source, target, 2)
    least = network.time(routes[0].edges)
    for way, draws in (("stream", 5), ("fresh", 2)):
        problem = TrafficProblem(network, routes, Demand(vehicles_per_hour=200), way=way)
        delays = problem.draw(0, np.random.default_rng(1), draws)
        assert (delays > 0.6 * least).all()


@needs_sumo
def test_a_crossing_at_a_node_without_a_signal_is_refused_before_anything_runs():
    network = grid_network()
    with pytest.raises(ValueError, match="a crossing is a node with a signal; '1' has none"):
        TrafficProblem(network, network.routes("12", "4", 2), Demand(crossing=Crossing("1")), "stream")


@needs_sumo
@pytest.mark.parametrize("attempt", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2))])
def test_recording_ends_in_a_sentence_when_sumo_refuses_the_network_in_every_worker(tmp_path, attempt):
    content = re.sub(' via="[^"]*"', ' via=":nowhere_0_0"', grid_network().content, count=1)
    (tmp_path / "own.net.xml").write_text(content, encoding="utf-8")
    words = ["traffic", "record", "x.npz", "--network", "own.net.xml", "--from", "12", "--to", "4"]
    ended = subprocess.run(
        [sys.executable, "-m", "allais.cli", *words, "--blocks", "10", "--workers", "2", "--hours", "0.1"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: sumo must end well; it failed (Error: An unknown lane (':nowhere_0_0')")
