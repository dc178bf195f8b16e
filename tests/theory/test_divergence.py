"""The least divergences, and the limits that follow from them."""

import math
import warnings

import numpy as np
import pytest

from allais import Discrete, Normal, Preference, TverskyKahneman, cvar, expected_value, theory
from allais.theory.divergence import _of_few, _of_many, finite_distribution

PEOPLE = Preference(TverskyKahneman(0.61))
COSTS = Preference(TverskyKahneman(0.61), costs=True)
BOTH = Preference.tversky_kahneman()
FIFTY, THIRTY, SEVEN = Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})
SETUP = [Discrete({1: 0.1, 0.2: 0.1, 0: 0.8}), Discrete({1: 0.001, 0.2: 0.8, 0: 0.199})]
VALUES = [0, 7, 30, 50]


def test_two_values_are_a_divergence_of_coins():
    q = TverskyKahneman(0.61).inverse(12 / 50)
    expected = 0.1 * math.log(0.1 / q) + 0.9 * math.log(0.9 / (1 - q))
    assert theory.k_inf(PEOPLE, FIFTY, 12.0) == pytest.approx(expected, rel=1e-9)
    assert theory.k_inf(PEOPLE, FIFTY, 9.0) == 0.0
    assert theory.k_inf(PEOPLE, FIFTY, 50.0) == math.inf
    assert theory.k_inf(PEOPLE, FIFTY, 7.0, at_most=True) > 0.0
    assert theory.k_inf(PEOPLE, SEVEN, 8.0) == math.inf
    assert theory.k_inf(PEOPLE, SEVEN, 8.0, support=[9.0]) < math.inf


@pytest.mark.parametrize("seed", range(6))
def test_no_distribution_on_a_fine_grid_is_nearer(seed):
    rng = np.random.default_rng(seed)
    lottery = Discrete(dict(zip(rng.uniform(-2, 3, 3).tolist(), rng.dirichlet(np.ones(3)).tolist(), strict=True)))
    target = BOTH.value(lottery) + 0.3
    found = theory.k_inf(BOTH, lottery, target)
    distribution = finite_distribution(BOTH, lottery, None)
    if math.isinf(found):
        assert distribution.utility[-1] <= target
        return
    steps = np.arange(1, 120) / 120
    nearest = min(
        (
            float(np.sum(distribution.shares * np.log(distribution.shares / np.array([a, b, 1 - a - b]))))
            for a in steps
            for b in steps
            if a + b < 1 and distribution.values(np.array([a, b, 1 - a - b])) >= target
        ),
        default=math.inf,
    )
    assert found <= nearest + 1e-12
    assert found >= 0.5 * nearest  # a grid of 1/120 is coarse where weights are steep
    at = np.array([target])
    assert _of_many(distribution, at) == pytest.approx(_of_few(distribution, at), rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_divergence_of_a_mean_is_that_of_its_dual(seed):
    rng = np.random.default_rng(seed)
    lottery = Discrete(dict(zip(rng.normal(0, 5, 9).tolist(), rng.dirichlet(np.ones(9)).tolist(), strict=True)))
    middle = expected_value().value(lottery)
    for share in (0.02, 0.3, 0.8):
        target = middle + share * (lottery.outcomes.max() - middle)
        found = theory.k_inf(expected_value(), lottery, target)
        assert found == pytest.approx(mean_divergence(lottery, target), rel=1e-3)  # that is a grid


@pytest.mark.parametrize("seed", range(4))
def test_the_divergence_to_a_higher_cvar_is_the_least_over_thresholds(seed):
    """CVaR >= v if and only if the mean of some hinge is: tau - (tau - X)+ / alpha (Rockafellar and Uryasev 2000)."""
    rng = np.random.default_rng(seed)
    lottery = Discrete(dict(zip(rng.normal(0, 5, 6).tolist(), rng.dirichlet(np.ones(6)).tolist(), strict=True)))
    preference = cvar(0.1)
    target = preference.value(lottery) + 0.3 * (lottery.outcomes.max() - preference.value(lottery))
    found = theory.k_inf(preference, lottery, target)

    def dual(tau):
        hinge = tau - np.maximum(tau - lottery.outcomes, 0.0) / 0.1 - target
        top = hinge.max()
        s = np.linspace(0.0, 1.0, 2001)[:-1] / top if top > 0 else np.zeros(1)
        return (lottery.probabilities @ np.log1p(-np.outer(hinge, s))).max() if top > 0 else math.inf

    assert found == pytest.approx(min(map(dual, np.linspace(*lottery.outcomes[[0, -1]], 801))), rel=2e-2)


def test_the_slopes_of_regret_are_those_of_the_prototypes():
    sure, rare = Discrete({7: 1.0}), [Discrete({500: 0.01, 0: 0.99}), Discrete({250: 0.03, 0: 0.97})]
    assert theory.regret_slope(COSTS, [FIFTY, sure]) == pytest.approx(157.7, rel=1e-3)
    assert theory.regret_slope(COSTS, rare) == pytest.approx(19137, rel=1e-4)
    assert theory.regret_slope(PEOPLE, SETUP) == pytest.approx(2.875, rel=1e-3)
    assert theory.regret_slope(PEOPLE, [FIFTY, THIRTY, SEVEN], VALUES) == pytest.approx(407.8, rel=1e-3)


def test_the_limits_of_best_arm_are_those_of_the_prototypes():
    factor = math.log(1 / (2.4 * 0.05))
    assert theory.characteristic_time(PEOPLE, SETUP).time * factor == pytest.approx(273, abs=0.5)
    three = theory.characteristic_time(PEOPLE, [FIFTY, THIRTY, SEVEN], VALUES)
    assert three.time * factor == pytest.approx(1357, abs=1)
    assert sum(three.shares) == pytest.approx(1.0)
    apart = theory.characteristic_time(PEOPLE, [FIFTY, THIRTY, SEVEN])  # with each arm's own values
    assert apart.time < three.time


def test_the_characteristic_time_of_two_coins_is_chernoffs():
    # for two Bernoulli arms it is 1 / max over shares of the least weighted divergence, by a plain grid
    p, q = 0.6, 0.4
    grid = np.linspace(1e-4, 1 - 1e-4, 4001)

    def kl(a, b):
        return a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))

    best = max((s * kl(p, grid) + (1 - s) * kl(q, grid)).min() for s in np.linspace(0.3, 0.7, 401))
    mean = Preference(TverskyKahneman(1.0))
    found = theory.characteristic_time(mean, [Discrete({1: p, 0: 1 - p}), Discrete({1: q, 0: 1 - q})])
    assert found.time == pytest.approx(1 / best, rel=1e-3)
    assert found.shares == pytest.approx((0.5, 0.5), abs=1e-2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: theory.k_inf(PEOPLE, Normal(0, 1), 1.0), "between finite lotteries; got Normal"),
        (lambda: theory.characteristic_time(PEOPLE, [FIFTY, FIFTY]), "needs one best arm"),
        (lambda: theory.characteristic_time(PEOPLE, [FIFTY]), "needs one best arm"),
    ],
)
def test_what_has_no_limit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -- leaders that cannot be worth as little as their rivals ---------------------------------------------

FIFTY_IN_A_THOUSAND = Discrete({50: 0.001, 0: 0.999})
HIGH, WIDE = Discrete({2: 0.5, 3: 0.5}), Discrete({1: 0.4, 5: 0.1, 0: 0.5})


def mean_divergence(lottery, c):
    """K_inf for the mean, by its dual: the most of E log(1 - s (X - c)) over 0 <= s <= 1 / (top - c)."""
    gaps = lottery.outcomes - c
    s = np.linspace(0.0, 1.0, 4001)[:-1] / gaps[-1]
    return (lottery.probabilities @ np.log1p(-np.outer(gaps, s))).max()


def test_the_characteristic_time_of_a_leader_above_its_rivals_value_is_that_of_its_definition():
    lowered = Discrete({-2: 0.5, -3: 0.5})  # the leader, mirrored
    c = 2.0 + 0.5 * np.exp(np.linspace(-14.0, 0.0, 600)[:-1])
    down = np.array([mean_divergence(lowered, -at) for at in c])
    up = np.array([mean_divergence(WIDE, at) for at in c])
    shares = np.linspace(0.01, 0.99, 981)
    information = (np.outer(shares, down) + np.outer(1.0 - shares, up)).min(axis=1)
    best = int(np.argmax(information))
    found = theory.characteristic_time(expected_value(), [HIGH, WIDE])
    assert found.time == pytest.approx(1.0 / information[best], rel=1e-4)  # of the three grids above
    assert found.shares[0] == pytest.approx(shares[best], abs=0.01)
    alone = theory.k_inf(expected_value(), WIDE, 2.0)  # with no sample of the leader at all
    assert 1.0 / found.time > alone


def test_the_characteristic_time_is_a_number_under_a_distorted_preference():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = theory.characteristic_time(PEOPLE, [HIGH, WIDE])
    assert 1.0 / found.time > theory.k_inf(PEOPLE, WIDE, 2.0)
    assert sum(found.shares) == pytest.approx(1.0)


def test_a_leader_that_always_pays_the_same_need_not_be_asked():
    found = theory.characteristic_time(PEOPLE, [Discrete({2.5: 1.0}), WIDE, FIFTY_IN_A_THOUSAND])
    costs = [theory.k_inf(PEOPLE, rival, 2.5) for rival in (WIDE, FIFTY_IN_A_THOUSAND)]
    assert found.time == pytest.approx(sum(1.0 / cost for cost in costs))
    assert found.shares == pytest.approx((0.0, *(1.0 / cost / found.time for cost in costs)))


def test_a_rival_that_cannot_be_the_best_arm_costs_nothing():
    hopeless = Discrete({1: 0.5, 0: 0.5})
    assert theory.characteristic_time(PEOPLE, [HIGH, hopeless]).time == 0.0
    found = theory.characteristic_time(PEOPLE, [HIGH, hopeless, WIDE])
    assert found.time == theory.characteristic_time(PEOPLE, [HIGH, WIDE]).time
    assert found.shares[1] == 0.0


def test_a_weight_that_is_flat_at_its_end_reaches_the_best_value_at_a_finite_divergence():
    # cvar(.25) is 2 as soon as a quarter of the probability lies there
    expected = 0.1 * np.log(0.1 / 0.25) + 0.9 * np.log(0.9 / 0.75)
    assert theory.k_inf(cvar(0.25), Discrete({2: 0.1, 3: 0.9}), 2.0, at_most=True) == pytest.approx(expected, rel=1e-9)
    assert theory.k_inf(PEOPLE, Discrete({2: 0.1, 3: 0.9}), 2.0, at_most=True) == np.inf
