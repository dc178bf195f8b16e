"""Lotteries over arms that are worth more than the best arm."""

import numpy as np
import pytest

from allais import (
    Bandit,
    Discrete,
    Empirical,
    Mixture,
    Normal,
    Power,
    Preference,
    TverskyKahneman,
    cvar,
    expected_value,
    theory,
)

PEOPLE = Preference(TverskyKahneman(0.61))
BOTH = Preference.tversky_kahneman()
FIFTY, THIRTY, SEVEN = Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})


def random_arms(seed, n_arms, n_outcomes=3):
    rng = np.random.default_rng(seed)
    return [
        Discrete(dict(zip(rng.uniform(-10, 20, n_outcomes), rng.dirichlet(np.ones(n_outcomes)), strict=True)))
        for _ in range(n_arms)
    ]


def test_the_pair_of_the_readme_is_worth_more_as_a_mixture():
    found = theory.best_mixture(PEOPLE, [FIFTY, SEVEN], tolerance=1e-8)
    assert found.shares[0] == pytest.approx(0.907, abs=5e-4)
    assert found.value == pytest.approx(9.387, abs=5e-4)
    assert (found.best_arm, found.best_value) == (0, PEOPLE.value(FIFTY))
    assert found.value <= found.at_most <= found.value + 50e-8
    assert found == theory.best_mixture(PEOPLE, Bandit([FIFTY, SEVEN]), tolerance=1e-8)


@pytest.mark.parametrize("preference", [PEOPLE, BOTH, Preference(TverskyKahneman(0.61), costs=True)])
@pytest.mark.parametrize("seed", range(5))
def test_no_share_on_a_grid_is_worth_more_for_two_arms_and_the_value_is_that_of_the_mixture(preference, seed):
    arms = random_arms(seed, 2)
    found = theory.best_mixture(preference, arms)
    assert found.value == pytest.approx(preference.value(Mixture(arms, found.shares)), abs=1e-9)
    others = [preference.value(Mixture(arms, [part, 1.0 - part])) for part in np.linspace(0.0, 1.0, 201)]
    assert max(others) <= found.at_most
    assert found.at_most - found.value <= 1e-6 * 2.25 * 30.0  # of the range of utilities, which is at most so wide
    assert sum(found.shares) == pytest.approx(1.0, abs=1e-12)


def test_a_grid_of_three_arms_has_nothing_better():
    found = theory.best_mixture(PEOPLE, [FIFTY, THIRTY, SEVEN], tolerance=1e-4)
    assert found.value > 1.01 * found.best_value
    steps = np.arange(51) / 50
    grid = [(a, b, 1.0 - a - b) for a in steps for b in steps if a + b <= 1.0]
    rows = np.clip(grid, 0.0, 1.0) @ np.array([[0.9, 0, 0, 0.1], [0.8, 0, 0.2, 0], [0, 1.0, 0, 0]])
    assert PEOPLE.values([0, 7, 30, 50], rows).max() <= found.value
    assert found.value <= found.at_most <= found.value + 1e-4 * 50


@pytest.mark.parametrize("preference", [expected_value(), cvar(0.2), Preference.rank_dependent(Power(2.0))])
@pytest.mark.parametrize("seed", range(3))
def test_a_mean_or_a_pessimist_is_never_better_off_with_a_mixture(preference, seed):
    arms = random_arms(seed, 4)
    found = theory.best_mixture(preference, arms, tolerance=1e-3)
    assert found.value == found.best_value == max(preference.value(arm) for arm in arms)
    assert found.shares == tuple(float(k == found.best_arm) for k in range(4))


def test_a_dominated_arm_has_no_share_and_costs_nothing():
    worse = [Discrete({49: 0.1, -1: 0.9}), Discrete({6: 1.0}), Discrete({50: 0.05, 0: 0.95})]
    found = theory.best_mixture(PEOPLE, [worse[0], FIFTY, worse[1], SEVEN, worse[2], SEVEN])
    assert found.shares[0] == found.shares[2] == found.shares[4] == found.shares[5] == 0.0
    assert found.value == pytest.approx(theory.best_mixture(PEOPLE, [FIFTY, SEVEN]).value, abs=1e-9)


def test_one_arm_is_its_own_mixture():
    found = theory.best_mixture(BOTH, [FIFTY])
    assert (found.shares, found.value) == ((1.0,), BOTH.value(FIFTY))
    assert theory.best_mixture(PEOPLE, [SEVEN, Discrete({7: 1.0})]).shares == (1.0, 0.0)


def test_mixtures_of_losses_and_of_gains_with_losses_are_found():
    costs = Preference(TverskyKahneman(0.61), costs=True)
    found = theory.best_mixture(costs, [Discrete({50: 0.9, 0: 0.1}), Discrete({43: 1.0})])
    assert found.value > found.best_value  # what is nearly sure to be lost is underweighted
    sides = theory.best_mixture(BOTH, [Discrete({60: 0.1, -5: 0.9}), Discrete({-1: 1.0}), Discrete({4: 0.5, -5: 0.5})])
    assert sides.value >= sides.best_value
    assert sides.at_most >= sides.value


def test_continuous_lotteries_and_empty_lists_are_refused():
    with pytest.raises(ValueError, match="finite lotteries"):
        theory.best_mixture(PEOPLE, [FIFTY, Normal(0, 1)])
    with pytest.raises(ValueError, match="one arm or more"):
        theory.best_mixture(PEOPLE, [])
    samples = np.random.default_rng(1).lognormal(size=200)
    assert theory.best_mixture(PEOPLE, [Empirical(samples), Discrete({1.5: 1.0})]).at_most > 0.0
