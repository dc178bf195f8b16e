from pathlib import Path

import numpy as np
import pytest

from allais.traffic import Crossing, Demand, grid_network, grid_routes, sumo
from allais.traffic.probes import TELEPORTED, prepare, send
from tests.traffic.needs import needs_sumo

pytestmark = needs_sumo
DEMAND = Demand(crossing=Crossing("X"))


@pytest.fixture(scope="module")
def network():
    return grid_network()


@pytest.fixture(scope="module")
def routes(network):
    return grid_routes(network)


def test_the_same_seed_gives_the_same_delays(network, routes):
    probes = [(300.0 + 17.0 * k, k % 12) for k in range(24)]
    one, same, other = (send(network, DEMAND, routes, probes, np.random.default_rng(seed)).delay for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_delay_is_the_sum_of_the_times_on_its_edges(network, routes):
    probes = [(300.0 + 31.0 * k, k) for k in range(12)]
    passages = send(network, DEMAND, routes, probes, np.random.default_rng(3))
    assert passages.arrived.size == 12
    for k in range(12):
        assert len(passages.edge_times[k]) == len(routes[k].edges)
        assert sum(passages.edge_times[k]) == pytest.approx(passages.delay[k], abs=1e-6)


def test_a_closed_crossing_holds_up_the_arterial_and_not_the_way_around(network, routes):
    probes = [(400.0, 0), (400.0, 1)]
    rng = np.random.default_rng
    shut = send(network, DEMAND, routes, probes, rng(1), closures=[(401.0, 1101.0)]).delay
    free = send(network, DEMAND, routes, probes, rng(1)).delay
    assert shut[0] >= 1101.0 - 400.0  # it cannot pass before the crossing opens
    assert free[0] < 350.0
    assert shut[1] < 350.0
    # the last probe is the longest trip, and it is waited for
    assert send(network, DEMAND, routes, probes[:1], rng(1), closures=[(401.0, 2001.0)]).delay[0] >= 1601.0


def test_closures_before_and_after_each_other_are_a_program_of_the_signal(network):
    crossing = Crossing("X")
    program = crossing.program(network, [(0.0, 30.0), (100.0, 160.0)])
    assert program.count("<phase") == 4  # red from the start, green, red, green for ever
    assert 'duration="70" state="GGGG"' in program
    rng = np.random.default_rng(1)
    closures = [closure for _ in range(200) for closure in crossing.closures(0.0, 86_400.0, rng)]
    assert abs(len(closures) - 800) < 6 * np.sqrt(800)  # a Poisson number, a few joined: a chance of 2e-9
    lengths = np.array([until - begin for begin, until in closures])
    assert lengths.min() >= 479.0
    assert np.mean(lengths <= 721.0) > 0.9  # longer ones are two that overlap


def test_a_probe_that_does_not_arrive_is_counted_and_has_no_delay(network, routes):
    passages = send(network, DEMAND, routes, [(300.0, 0), (310.0, 11)], np.random.default_rng(1), patience=200.0)
    assert passages.lost == 1
    assert np.isnan(passages.delay[1])
    assert passages.arrived.tolist() == [0]
    assert passages.at_least[1] == 200.0  # it had been under way for so long when the simulation ended
    assert np.isnan(passages.at_least[0])
    late = passages.sample(11)
    assert (late.unfinished, late.low.tolist(), late.exact.size) == (1, [200.0], 0)
    assert passages.sample(0).unfinished == 0


def test_a_teleported_probe_is_recognised_from_what_sumo_says(network, routes, tmp_path: Path):
    rng = np.random.default_rng(1)
    options = prepare(tmp_path, network, DEMAND, routes, [(300.0, 0)], rng, 0.0, [(301.0, 1500.0)], True)
    options[options.index("--time-to-teleport") + 1] = "60"  # what `send` never does
    warned = sumo.run("sumo", [*options, "--end", "1000", "--vehroute-output", tmp_path / "passages.xml"])
    assert TELEPORTED.findall(warned) == ["allais.probe0"]
