"""Random incidents on a recording: who passes waits, who does not is as before; and a map of it."""

import numpy as np
import pytest

from allais.traffic import Incident, Recording, RoadNetwork, Route, sumo
from allais.traffic.report import preferred
from allais.weights import TverskyKahneman
from tests.traffic.needs import needs_sumo
from tests.traffic.test_cli import refused, run

FAST = Route("R1", ("A", "B", "C", "D"), ("ab", "bc", "cd"), ("ab+bc", "cd"))
SAFE = Route("R2", ("A", "E", "D"), ("ae", "ed"), ("ae", "ed"))


def recorded(blocks=8, probes=50):
    rng = np.random.default_rng(1)
    route = np.tile([0, 1], blocks * probes)
    delay = np.where(route == 0, 100.0, 115.0) + rng.normal(0, 3, route.size)
    about = {"seed": 1, "blocks": blocks, "hours": 1.0}
    times = np.stack([0.6 * delay, 0.4 * delay], axis=1)
    return Recording((FAST, SAFE), route, np.repeat(np.arange(blocks), 2 * probes), delay, times, 0, 0, about)


def test_an_incident_delays_only_those_who_pass_and_as_much_as_renewal_theory_says():
    kept = recorded()
    found = kept.with_incidents(Incident("C", 4, 8, 12))
    assert np.array_equal(found.samples(1), np.tile(kept.samples(1), 40))
    waits = found.samples(0) - np.tile(kept.samples(0), 40)
    assert waits.min() == 0.0
    assert waits.max() <= 12 * 60
    # a moment falls into an incident with probability rate E(L), and the mean wait is rate E(L^2) / 2
    lengths = np.array([8.0, 12.0]) * 60
    square = (lengths[1] ** 3 - lengths[0] ** 3) / 3 / (lengths[1] - lengths[0])
    expected = 4 / 86_400 * square / 2
    # 320 stretches of an hour, each with 0.17 + incidents: the standard error is some 1.5 s, so 8 s are five of them
    assert waits.mean() == pytest.approx(expected, abs=8.0)
    assert (waits > 0).mean() == pytest.approx(4 * 600 / 86_400, abs=0.018)
    np.testing.assert_allclose(found.road_times.sum(axis=1), found.delay, rtol=1e-6)
    assert found.about["incidents"] == [["C", 4, 8, 12]]


def test_people_avoid_the_fastest_route_once_it_is_blocked_now_and_then():
    kept, people = recorded(), TverskyKahneman(0.61)
    assert preferred(kept, people).route == "R1"
    found = preferred(kept.with_incidents(Incident.of("bc:1.5:8-12")), people)
    assert (found.fastest, found.route) == ("R1", "R2")


def test_roads_are_found_by_edges_and_by_nodes():
    places = {"ab": 0, "bc": 0, "cd": 1, "B": 0, "C": 0, "D": 1, "ae": None, "E": None}
    assert {place: Incident(place, 1, 1, 1).road_of(FAST) for place in places} == places


@pytest.mark.parametrize("text", ["", "C", "C:4", ":4:8-12", "C:x:8-12", "C:4:8", "C:1.2.3:8-12"])
def test_an_incident_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match="PLACE:PER_DAY:SHORTEST-LONGEST"):
        Incident.of(text)


@pytest.mark.parametrize("text", ["C:0:8-12", "C:4:12-8", "C:4:0-0", "C:4:8-99999"])
def test_an_incident_that_cannot_be_is_refused(text):
    with pytest.raises(ValueError, match="has a rate above 0"):
        Incident.of(text)


def test_an_incident_where_no_route_passes_is_refused():
    with pytest.raises(ValueError, match=r"none passes 'Z'\. Name one of B, C, E, or an edge"):
        recorded().with_incidents(Incident("Z", 4, 8, 12))


@needs_sumo
def test_the_command_line_has_incidents_and_a_map(tmp_path):
    net = tmp_path / "town.net.xml"
    sumo.run("netgenerate", ["--grid", "--grid.number", "3", "--grid.length", "200", "--output-file", net])
    network, kept = RoadNetwork.read(net), recorded()
    routes = network.routes("A0", "C2", k=2)
    times = np.full((kept.delay.size, max(len(route.roads) for route in routes)), np.nan)
    times[:, 0] = kept.delay
    Recording(routes, kept.route, kept.block, kept.delay, times, 0, 0, kept.about).save(tmp_path / "d.npz")
    only = next(node for node in routes[0].nodes if node not in routes[1].nodes)
    picture = tmp_path / "map.png"
    shown = run("prefer", tmp_path / "d.npz", "--incident", f"{only}:2:8-12", "--plot", picture, "--network", net)
    assert shown.exit_code == 0, shown.output
    assert "People prefer R2" in shown.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    both = run("prefer", tmp_path / "d.npz", "--incident", f"{routes[0].nodes[0]}:2:8-12")
    assert "every route passes" in both.output
    assert "has no edge" in refused("prefer", tmp_path / "d.npz", "--plot", picture).replace("\n", " ")
    assert "PLACE:PER_DAY" in refused("prefer", tmp_path / "d.npz", "--incident", "B1")
