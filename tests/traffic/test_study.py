"""The whole study: reproducible, judged, drawn; and on four seeds, what the application is about."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from matplotlib.figure import Figure

from allais.traffic import grid_problem, record
from allais.traffic.play import MODEL_FREE, PEOPLE
from allais.traffic.study import Scale, study
from tests.traffic.needs import needs_sumo
from tests.traffic.test_analysis import made_up

pytestmark = needs_sumo
SMALL = Scale(rounds=300, runs=2, resamples=20)


@lru_cache
def small(jobs):
    return study(seed=3, scale=SMALL, n_jobs=jobs, blocks=2)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_on_one_process_and_on_two():
    one, two = small(1), small(2)
    assert one.text == two.text
    assert np.array_equal(one.measured.table.excess, two.measured.table.excess)
    assert one.measured.policies == two.measured.policies


@pytest.mark.slow
def test_a_study_is_text_judgements_and_pictures(tmp_path):
    found = small(2)
    rows = [line for line in found.text.split("whether it does:")[1].splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [one.claim for one in found.judgements]
    first, *rest = (one._replace(holds=True) for one in found.judgements)
    good = replace(found, judgements=(first, *rest))
    bad = replace(found, judgements=(*rest, first._replace(holds=False)))
    assert (good.holds, good.text.count("| NO |")) == (True, 0)
    assert (bad.holds, bad.text.count("| NO |")) == (False, 1)
    figure = Figure()
    found.draw_maps(figure)
    (axes,) = figure.axes
    thick = [line for line in axes.lines if line.get_linewidth() == 5.0]
    assert [line.get_label().partition(",")[0] for line in thick] == [found.measured.fastest, found.measured.preferred]
    figure = Figure()
    found.draw_delays(figure)
    assert len(figure.axes) == 12
    found.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["traffic-delays.png", "traffic-map.png", "traffic.md"]


def test_a_recording_of_another_network_is_refused():
    with pytest.raises(ValueError, match="the recording's R1 leaves it"):
        study(recording=made_up())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_mean_and_people_choose_different_routes_and_each_policy_finds_its_own(seed):
    """Seeds are fixed, so nothing here is left to luck; other seeds are as far apart (benchmarks/results.md)."""
    found = study(seed, replace(Scale.quick(), resamples=200), recording=recorded(seed)).measured
    table = found.table
    fast, liked = table.best("mean"), table.best(PEOPLE)
    assert (found.fastest, found.preferred) == ("R1", "R2")
    assert table.gap("mean", fast, liked).errors > 3.0
    assert table.gap(PEOPLE, liked, fast).errors > 3.0
    assert table.shares("TK 0.1")[fast] < 0.05  # avoided; which of the others is chosen, the longest delays decide
    for one in found.of("OFUL") + found.of("UCB1") + found.of("W-OFUL 0.61", "normal"):
        assert (one.route, one.agreement) == (found.fastest, 1.0), one
    for one in found.of("W-OFUL 0.61", "residuals") + [one for name in MODEL_FREE for one in found.of(name)]:
        assert (one.route, one.agreement) == (found.preferred, 1.0), one


def recorded(seed):
    return record(grid_problem("stream"), 15, seed, stratified=True)
