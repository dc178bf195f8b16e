"""On delays made by hand: no simulator is needed."""

import numpy as np
import pytest

from allais import Empirical
from allais.linear import OFUL, WOFUL
from allais.traffic.analysis import (
    normal_noise,
    objectives,
    residual_noise,
    road_fit,
    road_noise,
    route_table,
    scheme_error,
)
from allais.traffic.network import Route
from allais.traffic.play import Scale, best_at_fit, play
from allais.traffic.recording import Recording

BLOCKS, EACH = 40, 50


def made_up(seed=1):
    """R1 takes 100 s, and 600 s in one of 40 cases; R2 takes 125 s; both with some noise. A third road for R3."""
    rng = np.random.default_rng(seed)
    routes = (
        Route("R1", ("a", "b"), ("e1",), ("e1",)),
        Route("R2", ("a", "c", "b"), ("e2", "e3"), ("e2", "e3")),
        Route("R3", ("a", "c", "d", "b"), ("e2", "e4"), ("e2", "e4")),
    )
    n = BLOCKS * EACH
    fast = rng.normal(100.0, 5.0, n) + np.where(rng.random(n) < 0.025, 500.0, 0.0)
    halves = rng.normal(62.5, 4.0, (n, 2))
    others = rng.normal(75.0, 4.0, (n, 2))
    times = np.full((3 * n, 2), np.nan)
    times[:n, 0], times[n : 2 * n], times[2 * n :] = fast, halves, others
    route = np.repeat([0, 1, 2], n)
    block = np.tile(np.repeat(np.arange(BLOCKS), EACH), 3)
    about = {"seed": seed, "blocks": BLOCKS, "hours": 1.0, "closures": "made up", "sumo": "none"}
    return Recording(routes, route, block, np.nansum(times, axis=1), times, 0, 0, about)


def test_the_table_values_each_route_exactly_and_its_errors_are_those_of_blocks():
    recording = made_up()
    table = route_table(recording, resamples=400)
    people = objectives(recording.baseline)
    for row, name in enumerate(table.columns):
        for k in range(3):
            exact = -people[name].value(Empirical(recording.samples(k)))
            assert table.excess[row, k] == pytest.approx(exact, rel=1e-9)
    assert table.names[table.best("mean")] == "R1"
    assert table.names[table.best("TK 0.61")] == "R2"
    blocks = recording.samples(0).reshape(BLOCKS, EACH).mean(axis=1)
    expected = blocks.std() / np.sqrt(BLOCKS)
    # a bootstrap of 400 has a relative error of 3.5 %: six of them, a chance of 2e-9
    assert table.errors[0, 0] == pytest.approx(expected, rel=0.21)
    gap = table.gap("TK 0.61", 1, 0)
    assert gap.difference == pytest.approx(table.excess[1, 0] - table.excess[1, 1])
    assert table.shares("TK 0.61").sum() == pytest.approx(1.0)


def test_the_fit_reports_by_how_much_it_misses_a_route():
    recording = made_up()
    fit = road_fit(recording, regularisation=1e-6)
    assert fit.fit.rank == 3
    assert np.abs(fit.misfit).max() < 1e-3  # three routes, four roads: every mean can be met
    strong = road_fit(recording, regularisation=1e4)
    means = np.array([recording.samples(k).mean() for k in range(3)])
    assert (strong.misfit < -0.5 * means).all()


def test_noise_is_centred_and_roads_add_up_as_if_independent():
    recording = made_up()
    features = recording.problem().features
    for noise in (residual_noise(recording), road_noise(recording), normal_noise(recording)):
        assert np.abs(noise.of(features).mean).max() < 1e-9
        assert noise.of(features).scale == pytest.approx(np.linalg.norm(features, axis=1))
    distribution = road_noise(recording).lotteries[1]
    spread = np.sqrt(distribution.probabilities @ distribution.outcomes**2)
    seconds = recording.road_times[recording.route == 1].round()
    shared = recording.road_times[recording.route == 2, 0].round()  # the road that R2 and R3 share is pooled
    pooled = np.concatenate([seconds[:, 0], shared])
    assert spread == pytest.approx(np.sqrt(pooled.var() + seconds[:, 1].var()), rel=1e-6)


def test_skew_moves_the_choice_and_variance_does_not():
    recording = made_up()
    fit = road_fit(recording)
    noises = {
        "residuals": residual_noise(recording), "roads": road_noise(recording), "normal": normal_noise(recording),
    }  # fmt: skip
    found = best_at_fit(recording, fit, noises)
    assert found["residuals"] == {"mean": "R1", "TK 0.61": "R2", "TK 0.69": "R2"}
    assert found["roads"]["TK 0.61"] == "R2"
    assert found["normal"] == {"mean": "R1", "TK 0.61": "R1", "TK 0.69": "R1"}


def test_oful_settles_on_the_fastest_route_and_woful_on_the_preferred_one():
    recording = made_up()
    noise, people = residual_noise(recording), objectives(recording.baseline)
    scale = Scale(rounds=20_000, runs=3)
    plain = OFUL(noise, delta=0.05, beta=400.0, reference=recording.baseline, costs=True)
    for policy, route in ((plain, "R1"), (WOFUL(people["TK 0.61"], noise, delta=0.05, beta=400.0), "R2")):
        summary = play(policy, "residuals", recording, scale, seed=1)
        assert (summary.route, summary.agreement) == (route, 1.0)
        assert summary.unchanged_since < 20_000
    assert summary.distorted_regret < summary.mean_regret


def test_the_papers_scheme_errs_by_more_than_its_table_decides_by():
    from allais.traffic.analysis import PRINTED

    assert PRINTED[7][1] - PRINTED[8][1] < scheme_error(PRINTED[7][0], 6, repeats=30)
