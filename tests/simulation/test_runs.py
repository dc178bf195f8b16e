"""Simulation: the same numbers on any workers, true regret, files and pictures."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import matplotlib.pyplot as plt
import numpy as np
import pytest

from allais import (
    LUCB,
    UCB1,
    WLUCB,
    WSR,
    WUCB,
    Bandit,
    Bernoulli,
    Bounded,
    Discrete,
    Learner,
    Normal,
    Preference,
    Simulator,
    SubGaussian,
    TverskyKahneman,
    best_arm,
    compare,
    simulate,
    testing,
    theory,
)
from allais.simulation import Results

PEOPLE = Preference(TverskyKahneman(0.61))
LOTTERY = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
POLICY = WUCB.as_printed(PEOPLE, Bounded(0, 50))


def walk(arm, rng):
    return float(rng.normal(arm, 1.0))


def same(left, right):
    for name in ("checkpoints", "pulls", "recommended", "samples", "stopped", "choices"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


def test_any_number_of_workers_and_any_executor_give_the_same_numbers():
    alone = simulate(POLICY, LOTTERY, 2_000, 10, seed=5)
    same(alone, simulate(POLICY, LOTTERY, 2_000, 10, seed=5, n_jobs=2))
    same(alone, simulate(POLICY, LOTTERY, 2_000, 10, seed=5, n_jobs=-1))
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(2) as executor:
            same(alone, simulate(POLICY, LOTTERY, 2_000, 10, seed=5, executor=executor))
            assert executor.submit(int, 1).result() == 1  # the caller's own, left running


def test_a_python_simulator_runs_in_processes_with_the_same_numbers():
    problem = Simulator(walk, arms=[0, 1], true_values=[0.0, 1.0])
    policy = UCB1(SubGaussian(1.0, 1.0))
    alone = simulate(policy, problem, 60, 4, seed=5)
    same(alone, simulate(policy, problem, 60, 4, seed=5, n_jobs=2))
    assert alone.regret.shape[0] == 4
    testing.check_problem(problem)


def test_a_simulator_without_values_has_no_regret():
    results = simulate(UCB1(SubGaussian(1.0, 1.0)), Simulator(walk, arms=2), 20, 1, seed=1)
    with pytest.raises(ValueError, match="regret needs the true values"):
        _ = results.regret


def test_two_policies_with_one_seed_meet_the_same_outcomes():
    drawn = []

    class Recorded(Bandit):
        def draw(self, arm, rng, size):
            outcomes = super().draw(arm, rng, size)
            drawn.append((arm, size, outcomes))
            return outcomes

    problem = Recorded([Normal(0, 1), Normal(1, 1)])
    for policy in (UCB1(SubGaussian(1.0, 1.0)), WUCB.as_printed(PEOPLE, SubGaussian(1.0, 1.0))):
        simulate(policy, problem, 100, 1, seed=3)
    first = {(arm, size): outcomes for arm, size, outcomes in drawn[:2]}
    for arm, size, outcomes in drawn[2:]:
        if (arm, size) in first:
            np.testing.assert_array_equal(first[arm, size], outcomes)


def test_regret_is_what_the_pulls_lost():
    results = simulate(POLICY, LOTTERY, 1_000, 3, seed=1, checkpoints=[10, 100, 1_000])
    gap = 9.31512831885871 - 7.0
    np.testing.assert_allclose(results.regret, gap * results.pulls[:, :, 1])
    np.testing.assert_array_equal(results.pulls.sum(axis=2), np.tile([10, 100, 1_000], (3, 1)))
    np.testing.assert_allclose(results.mean_regret, results.regret.mean(axis=0))


def test_a_trace_holds_every_choice():
    results = simulate(POLICY, LOTTERY, 500, 2, seed=1, trace=True)
    assert results.choices.shape == (2, 500)
    np.testing.assert_array_equal((results.choices == 1).sum(axis=1), results.pulls[:, -1, 1])


def test_checkpoints_are_spaced_by_ratio_and_include_the_end():
    marks = simulate(POLICY, LOTTERY, 100_000, 1, seed=1).checkpoints
    assert marks[0] == 1
    assert marks[-1] == 100_000
    assert marks.size <= 200


def test_a_policy_that_stops_keeps_its_last_numbers():
    problem = Bandit([Bernoulli(1.0), Bernoulli(0.0)])
    results = simulate(LUCB(Bounded(0, 1), delta=0.1), problem, 1_000, 2, seed=1)
    assert results.stopped.all()
    np.testing.assert_array_equal(results.samples, [70, 70])
    np.testing.assert_array_equal(results.pulls[:, -1], [[35, 35]] * 2)
    assert results.error_rate[-1] == 0.0


def test_results_survive_a_file(tmp_path):
    results = simulate(POLICY, LOTTERY, 300, 3, seed=1)
    results.save(tmp_path / "runs.npz")
    again = Results.load(tmp_path / "runs.npz")
    same(results, again)
    np.testing.assert_array_equal(results.regret, again.regret)
    whole = (tmp_path / "runs.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        Results.load(tmp_path / "cut.npz")
    with pytest.raises(ValueError, match="does not exist"):
        Results.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("recommended", lambda table: table + 10**7),
        ("values", lambda table: table[:1]),
        ("pulls", lambda table: table[:, :, :1]),
    ],
    ids=["an arm that is not there", "values of fewer arms", "pulls of fewer arms"],
)
def test_results_that_do_not_fit_together_are_refused(name, change, tmp_path):
    simulate(POLICY, LOTTERY, 300, 3, seed=1).save(tmp_path / "runs.npz")
    with np.load(tmp_path / "runs.npz") as stored:
        tables = dict(stored)
    np.savez(tmp_path / "runs.npz", **{**tables, name: change(tables[name])})
    with pytest.raises(ValueError, match=r"saved results must be whole; the tables of .* do not fit together"):
        Results.load(tmp_path / "runs.npz")


def test_the_picture_shows_the_mean_the_band_and_the_bound():
    results = simulate(POLICY, LOTTERY, 1_000, 5, seed=1)
    bound = np.array(
        [theory.wucb_regret(PEOPLE, Bounded(0, 50), results.values, max(n, 2)) for n in results.checkpoints]
    )
    axes = results.plot()
    assert axes.get_xscale() == "log"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), results.mean_regret)
    np.testing.assert_allclose(axes.lines[1].get_ydata(), bound, rtol=1e-3)  # whole pulls, interpolated
    assert len(axes.collections) == 1
    plt.close(axes.figure)


def test_a_comparison_measures_every_policy_by_what_people_prefer():
    comparison = compare([POLICY, UCB1(Bounded(0, 50))], LOTTERY, 50_000, n_runs=4, seed=1, judge=PEOPLE)
    rows = {row["policy"]: row for row in comparison.rows()}
    assert set(rows) == {"W-UCB", "UCB1"}
    assert rows["W-UCB"]["error rate"] == 0.0
    assert rows["UCB1"]["error rate"] == 1.0  # it settles on the sure 7
    assert "W-UCB" in str(comparison)
    assert comparison.table().row_count == 2
    axes = comparison.plot()
    assert [line.get_label() for line in axes.lines] == ["W-UCB", "UCB1"]
    plt.close(axes.figure)


def test_best_arm_keeps_what_it_learned_when_samples_run_out():
    answer = best_arm(WLUCB(PEOPLE, Bounded(0, 50), delta=0.1), LOTTERY, seed=1, max_samples=1_001)
    assert not answer.settled
    assert answer.samples == 1_001
    assert sum(answer.pulls.values()) == 1_001
    assert set(answer.intervals) == {0, 1}
    assert isinstance(answer.learner, Learner)
    answer.learner.tell(answer.learner.ask(), 7.0)
    assert answer.learner.samples == 1_002
    assert "not settled" in str(answer)


def test_best_arm_goes_on_from_a_learner_that_was_stopped():
    policy = WSR(PEOPLE, budget=500)
    whole = best_arm(policy, LOTTERY, seed=1)
    assert whole.settled
    assert whole.learner.recommend().settled


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: simulate(POLICY, LOTTERY, 0, 1, seed=1), "n_rounds must be a whole number, 1 or more; got 0"),
        (lambda: simulate(POLICY, LOTTERY, 10, 2.5, seed=1), "n_runs must be a whole number, 1 or more; got 2.5"),
        (lambda: simulate(POLICY, LOTTERY, 10, 1, seed="x"), "a seed must be a non-negative int"),
        (lambda: simulate(POLICY, LOTTERY, 10, 1, seed=1, n_jobs=0), "n_jobs must be 1 or more, or -1"),
        (lambda: simulate(POLICY, LOTTERY, 10, 1, seed=1, checkpoints=[11]), "between 1 and n_rounds = 10"),
        (lambda: best_arm(POLICY, LOTTERY, seed=1), "best_arm needs a policy that stops; WUCB"),
        (lambda: compare([], LOTTERY, 10), "there must be a policy to compare"),
        (lambda: Bandit([Bernoulli(0.5)], arms=["A", "B"]), "one name for each arm; got 2 for 1"),
        (lambda: Simulator(walk, arms=2, true_values=[1.0]), "true_values must be one per arm; got 1 for 2"),
        (
            lambda: simulate(UCB1(Bounded(0, 1)), Simulator(lambda a, r: np.nan, 2), 5, 1, seed=1),
            "finite numbers; got nan",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_is_no_problem_is_refused():
    with pytest.raises(TypeError, match="made of lotteries"):
        Bandit([7.0])
    with pytest.raises(TypeError, match="a function of an arm and a generator; got 3"):
        Simulator(3, arms=2)


def test_a_seed_sequence_is_not_used_up():
    root = np.random.SeedSequence(7)
    first = simulate(POLICY, LOTTERY, 100, 2, seed=root)
    same(first, simulate(POLICY, LOTTERY, 100, 2, seed=root))
    assert root.n_children_spawned == 0
