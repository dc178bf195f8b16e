"""Whose regret a comparison counts: it never depends on the order of policies, and every table and axis says it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from allais import (
    NPTS,
    UCB1,
    Bandit,
    Bernoulli,
    Bounded,
    Discrete,
    Preference,
    TverskyKahneman,
    Weight,
    compare,
    expected_value,
    simulate,
)
from allais.simulation import Comparison, Results

PEOPLE, FIFTY = Preference(TverskyKahneman(0.61)), Bounded(0, 50)
LOTTERY = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
OURS, MEAN = NPTS(PEOPLE, FIFTY), UCB1(FIFTY)
TK = "Tversky-Kahneman 0.61"


def numbers(comparison):
    return {(row["policy"], row["judge"]): (row["regret"], row["error rate"]) for row in comparison.rows()}


def test_policies_in_either_order_have_the_same_numbers():
    one, other = (compare(order, LOTTERY, 20_000, n_runs=3, seed=1) for order in ([OURS, MEAN], [MEAN, OURS]))
    assert numbers(one) == numbers(other)
    assert set(numbers(one)) == {("NPTS", TK), ("NPTS", "the mean"), ("UCB1", TK), ("UCB1", "the mean")}
    assert numbers(one)["UCB1", TK][1] == 1.0
    assert numbers(one)["UCB1", "the mean"][1] == 0.0
    assert one.results["NPTS"].judge == TK  # each by its own preference


def test_one_judge_counts_for_all_and_is_named_in_table_and_picture():
    comparison = compare([MEAN, OURS], LOTTERY, 2_000, n_runs=3, seed=1, judge=PEOPLE)
    assert [row["judge"] for row in comparison.rows()] == [TK, TK]
    assert str(comparison).count(TK) == 2
    axes = comparison.plot()
    assert axes.get_ylabel() == f"regret by {TK}"
    plt.close(axes.figure)
    axes = simulate(MEAN, LOTTERY, 100, seed=1).plot()
    assert axes.get_ylabel() == "regret by the mean"
    plt.close(axes.figure)


def test_a_picture_of_two_judges_asks_which():
    comparison = compare([MEAN, OURS], LOTTERY, 500, seed=1)
    with pytest.raises(ValueError, match=f"got None of 'the mean', '{TK}'. Name one"):
        comparison.plot()
    axes = comparison.plot(judge="the mean")
    assert axes.get_ylabel() == "regret by the mean"
    plt.close(axes.figure)


def test_a_table_has_whole_numbers_and_a_dash_for_what_one_run_cannot_tell():
    lines = str(compare([OURS, MEAN], LOTTERY, 20_000, seed=1, judge=PEOPLE)).splitlines()
    assert lines[0].split("  ")[0] == "policy"
    assert "wrong in" in lines[0]
    assert lines[2].split()[-6:] == ["-", "1", "of", "1", "runs", "20,000"]
    assert "nan" not in "".join(lines)
    assert "e+" not in "".join(lines)


def test_judges_of_one_name_are_told_apart():
    """Two curves that are called alike, and one weight with two references."""
    curves = [Weight.from_function(lambda p, a=a: p**a, name="mine") for a in (1.0, 3.0)]
    coins = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    policies = [NPTS(Preference(curve), Bounded(0, 1), name=f"{k}") for k, curve in enumerate(curves)]
    comparison = compare(policies, coins, 200, seed=1)
    assert len({row["judge"] for row in comparison.rows()}) == 2
    for policy, curve in zip(policies, curves, strict=True):
        worth = [judged for judged in comparison.values.values() if np.allclose(judged, curve(np.array([0.4, 0.6])))]
        assert len(worth) == 1, policy
    shifted = [NPTS(expected_value(reference=r), Bounded(0, 1), name=f"{r}") for r in (0.0, 0.5)]
    words = [row["judge"] for row in compare(shifted, coins, 200, seed=1).rows()]
    assert set(words) == {"the mean, gains from 0", "the mean, gains from 0.5"}


def test_results_keep_their_judge_in_a_file(tmp_path):
    results = simulate(OURS, LOTTERY, 100, seed=1)
    results.save(tmp_path / "results.npz")
    assert Results.load(tmp_path / "results.npz").judge == TK


def test_the_former_name_of_the_values_of_a_comparison_works_with_a_warning():
    comparison = Comparison({}, {"the mean": np.array([0.4, 0.6])})
    with pytest.warns(DeprecationWarning, match="`worths` is now `values`"):
        assert comparison.worths is comparison.values
