import numpy as np
import pytest

from allais.traffic import Recording, grid_problem, record
from tests.traffic.needs import needs_sumo

pytestmark = needs_sumo


@pytest.fixture(scope="module")
def grid():
    return grid_problem("stream")


def test_a_recording_is_the_same_on_one_process_and_on_two_and_in_its_file(grid, tmp_path):
    one, two = (record(grid, 2, seed=7, hours=0.1, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.delay, two.delay)
    assert (np.bincount(one.route) == np.bincount(one.route)[0]).all()  # every route as often
    one.save(tmp_path / "delays.npz")
    again = Recording.load(tmp_path / "delays.npz")
    assert again.routes == one.routes
    assert np.array_equal(again.delay, one.delay)
    assert np.array_equal(again.block, one.block)
    assert again.road_times == pytest.approx(one.road_times, abs=1e-3, nan_ok=True)
    assert again.about == one.about
    assert "0 lost" in repr(again)
    with np.load(tmp_path / "delays.npz") as stored:
        tables = dict(stored)
    for name, change in (("route", lambda table: table[:-1]), ("route", lambda table: table + 99)):
        np.savez(tmp_path / "other.npz", **{**tables, name: change(tables[name])})
        with pytest.raises(ValueError, match=r"a recording must be whole; .* Record it again"):
            Recording.load(tmp_path / "other.npz")


def test_a_recording_is_a_problem_with_features(grid):
    recording = record(grid, 1, seed=1, hours=0.1, n_jobs=1)
    problem = recording.problem()
    assert problem.features.shape == (12, 18)
    means = [recording.samples(k).mean() for k in range(12)]
    assert recording.baseline == pytest.approx(np.mean(means))
    assert set(problem.draw(3, np.random.default_rng(1), 50)) <= set(recording.samples(3))
    total = np.nansum(recording.road_times, axis=1)
    assert total == pytest.approx(recording.delay, abs=1e-3)


def test_more_spacing_sends_fewer_probes(grid):
    sparse = record(grid, 1, seed=1, hours=0.2, n_jobs=1, spacing=60.0)
    assert sparse.delay.size == 12  # one a minute for twelve minutes
    with pytest.raises(ValueError, match="spacing"):
        record(grid, 1, seed=1, spacing=0.0)


def test_a_recording_needs_a_block(grid):
    with pytest.raises(ValueError, match="0 blocks"):
        record(grid, 0, seed=1)
    with pytest.raises(ValueError, match=r"must be a whole number; 3 h have 0\.5"):
        record(grid, 1, seed=1, hours=3.0, stratified=True)
