"""Distributions that are far from zero, narrow, rough at their ends, or badly behaved in SciPy."""

import numpy as np
import pytest
from scipy import stats

from allais import (
    Continuous,
    Discrete,
    Mixture,
    Normal,
    Power,
    Preference,
    Prelec,
    TverskyKahneman,
    Uniform,
    Wang,
    Weight,
    cvar,
    expected_value,
)
from allais.weights import TailAverage

DISTRIBUTIONS = [
    stats.gamma(2), stats.halfnorm(), stats.chi2(5), stats.norm(), stats.weibull_min(3), stats.gumbel_r(),
    stats.expon(), stats.lognorm(0.5), stats.beta(2, 3), stats.t(40), stats.skewnorm(4), stats.gennorm(8),
]  # fmt: skip
WEIGHTS = [TverskyKahneman(0.61), Prelec(0.65), Power(0.1), Wang(1.0), TailAverage(0.3)]


@pytest.mark.parametrize(
    "distribution",
    [
        pytest.param(distribution, marks=pytest.mark.slow) if distribution.dist.name == "skewnorm" else distribution
        for distribution in DISTRIBUTIONS
    ],
    ids=[distribution.dist.name for distribution in DISTRIBUTIONS],
)
def test_a_shift_of_outcomes_shifts_a_rank_dependent_value(distribution):
    for weight in WEIGHTS:
        preference = Preference.rank_dependent(weight)
        base = preference.value(Continuous(distribution))
        for shift in (0.5, 30.0, 1000.0):
            moved = preference.value(Continuous(distribution.dist(*distribution.args, loc=shift)))
            assert moved - shift == pytest.approx(base, abs=1e-9 * (abs(base) + shift))


@pytest.mark.parametrize(
    "distribution",
    [stats.invgauss(0.5), stats.wald(), stats.semicircular()],
    ids=lambda distribution: distribution.dist.name,
)
def test_a_distribution_that_scipy_loses_to_nan_still_has_its_mean(distribution):
    assert expected_value().value(Continuous(distribution)) == pytest.approx(distribution.mean(), abs=1e-9)


def test_a_normal_may_be_as_narrow_as_it_likes():
    people = Preference(TverskyKahneman(0.61))
    for sd in (1e-300, 1e-9, 1e9):
        assert people.value(Normal(0, sd)) == pytest.approx(0.0, abs=1e-9 * sd)
        assert people.parts(Normal(0, sd)).gain == pytest.approx(0.53258081242841 * sd, rel=1e-9)


def test_a_mixtures_quantile_is_the_smallest_that_reaches_its_level():
    apart = Mixture([Uniform(0, 1), Uniform(5, 6)], [0.5, 0.5])
    assert apart.quantile(np.array([0.5]))[0] == pytest.approx(1.0, rel=1e-14)
    atom = Mixture([Normal(), Discrete({3: 1})], [0.5, 0.5])
    np.testing.assert_array_equal(atom.quantile(np.array([0.0, 0.9, 1.0])), [-np.inf, 3.0, np.inf])
    assert cvar(0.01).value(Mixture([Uniform(0, 1)] * 3, [1 / 3] * 3)) == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("preference", "lottery"),
    [
        (Preference(TverskyKahneman(0.61)), Mixture([Uniform(1, 2), Discrete({1: 1})], [0.4, 0.6])),
        (Preference(Prelec(0.65), reference=0.4), Uniform(-1, 2)),
        (Preference(TverskyKahneman(0.61), utility=np.tanh), Normal(30, 1)),
        (Preference(TverskyKahneman(0.61), costs=True), Mixture([Uniform(1, 2), Discrete({2: 1})], [0.4, 0.6])),
        (Preference(TverskyKahneman(0.61)), Mixture([Normal(), Discrete({3: 0.5, -3: 0.5})], [0.7, 0.3])),
    ],
)
def test_an_explanation_adds_up_at_the_ends_of_the_support(preference, lottery):
    story = preference.explain(lottery)
    assert story.contributions.sum() == pytest.approx(story.value, abs=1e-9)
    assert story.probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("alpha", "beta", "steepest"), [(1.1, 0.6, 329.41027), (1.05, 0.7, 5865512862.46)])
def test_prelecs_holder_constant_sees_how_steep_it_is_far_out(alpha, beta, steepest):
    assert Prelec(alpha, beta).holder.constant == pytest.approx(steepest, rel=1e-6)
    assert Prelec(1.01, 0.5).holder is None  # its slope is beyond any double


def test_a_slowly_varying_weight_decides_what_a_power_law_leaves_open():
    distribution = Continuous(stats.pareto(1.0))
    assert Preference(Wang(-0.5)).parts(distribution).gain == pytest.approx(5.24434, rel=1e-5)
    assert Preference(Wang(0.5)).value(distribution) == np.inf


@pytest.mark.parametrize(("index", "exact"), [(1.2, -10.2857142857), (2.0, -2.6666666667)])
def test_the_bound_covers_what_the_dual_of_a_users_curve_cannot_resolve(index, exact):
    # 1 - f(1 - p) is known to 1e-16 only: for f = p^2, the integral of 1 - (1 - z^-a)^2
    square = Preference.rank_dependent(Weight.from_function(lambda p: p * p), costs=True)
    parts = square.parts(Continuous(stats.pareto(index)))
    assert abs(parts.value - exact) <= parts.error + 1e-9
    assert parts.error > 1e-9


def test_the_inverse_of_a_wave_is_its_smallest_solution():
    wave = Weight.from_function(lambda p: p + 0.6 * np.sin(6 * np.pi * p) * p * (1 - p))
    with pytest.warns(UserWarning, match="several probabilities"):
        assert wave.inverse(0.18) == pytest.approx(0.28105377)


def test_kappa_is_resolved_at_both_ends_for_a_weight_that_is_not_monotone():
    with pytest.warns(UserWarning, match="not monotone"):
        strange = Preference(Power(1.5).dual(), TverskyKahneman(0.05))
    assert strange.kappa == pytest.approx(1.01886768, rel=1e-8)
