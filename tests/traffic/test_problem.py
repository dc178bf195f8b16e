from dataclasses import replace

import numpy as np
import pytest

from allais import WLUCB, WUCB, Bounded, Preference, TverskyKahneman, best_arm, simulate
from allais.errors import RunCut
from allais.traffic import Crossing, TrafficProblem, grid_problem
from allais.traffic.probes import Passages
from tests.traffic.needs import needs_sumo

pytestmark = needs_sumo
PEOPLE = Preference(TverskyKahneman(0.61), reference=250.0, costs=True)
SHORT = Bounded(0.0, 7200.0)


@pytest.fixture(scope="module")
def grid():
    problem = grid_problem("fresh")
    problem.moments  # noqa: B018  # saved once, for all tests
    return problem


def few(problem, way):
    copy = TrafficProblem(problem.network, problem.routes[:2], problem.demand, way)
    copy._moments = problem._moments
    return copy


def test_fresh_draws_are_reproducible_and_differ(grid):
    drawn = [few(grid, "fresh").draw(0, np.random.default_rng(seed), 2) for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1])
    assert len({*drawn[0], *drawn[2]}) > 1
    assert "fresh" in repr(grid)


def test_fresh_draws_meet_closures_that_began_before_they_left(grid):
    problem = TrafficProblem(grid.network, grid.routes[:2], grid.demand)
    problem._moments = grid._moments
    often = TrafficProblem(grid.network, grid.routes[:2], _shut_half_the_day(grid.demand))
    often._moments = grid._moments
    delays = often.draw(0, np.random.default_rng(1), 8)
    assert delays.max() > 350.0
    assert often.draw(1, np.random.default_rng(1), 3).max() < 350.0


def _shut_half_the_day(demand):
    return replace(demand, crossing=Crossing("X", closures_per_day=72.0))


@pytest.mark.slow
def test_a_learner_a_simulation_and_a_search_run_on_the_simulator(grid):
    problem = few(grid, "fresh")
    learner = WUCB.as_printed(PEOPLE, SHORT).start(problem.arms, seed=1)
    choice = learner.ask()
    learner.tell(choice, float(problem.draw(problem.arms.index(choice.arm), np.random.default_rng(1), 1)[0]))
    assert learner.samples == 1
    one, two = (
        simulate(WUCB.as_printed(PEOPLE, SHORT), problem, 3, 2, seed=1, n_jobs=jobs, trace=True) for jobs in (1, 2)
    )
    assert np.array_equal(one.choices, two.choices)
    stream = few(grid, "stream")
    answer = best_arm(WLUCB(PEOPLE, SHORT, delta=0.1), stream, seed=1, max_samples=20)
    assert answer.samples == 20
    assert not answer.settled


def test_a_probe_that_has_not_arrived_may_count_as_cut_off(grid, monkeypatch):
    problem = TrafficProblem(grid.network, grid.routes[:2], grid.demand, "fresh", cut=True)
    problem._moments = [(0.0, "")]
    nothing, late = np.array([np.nan]), np.array([7200.0])
    sent = Passages(np.array([0]), nothing, ((),), 0, 1, late)
    monkeypatch.setattr("allais.traffic.problem.send", lambda *_, **__: sent)
    with pytest.raises(RunCut, match="within 7200 s") as cut:
        problem.draw(0, np.random.default_rng(1), 1)
    assert cut.value.at_least == 7200.0
    with pytest.raises(ValueError, match="one by one, in fresh draws"):
        TrafficProblem(grid.network, grid.routes[:2], grid.demand, "stream", cut=True)


def test_a_stream_gives_as_many_draws_as_asked_and_says_what_it_is(grid):
    demand = replace(grid.demand, vehicles_per_hour=grid.demand.vehicles_per_hour / 4.0)  # SUMO runs as long as it is
    problem = TrafficProblem(grid.network, grid.routes[:2], demand, "stream", headway=20.0)
    assert "stream" in repr(problem)
    one, same = (problem.draw(1, np.random.default_rng(5), 12) for _ in range(2))
    assert one.size == 12
    assert np.array_equal(one, same)
    with pytest.raises(ValueError, match="'fresh' or 'stream'"):
        few(grid, "slow")
    with pytest.raises(ValueError, match="a route to choose"):
        TrafficProblem(grid.network, [])
