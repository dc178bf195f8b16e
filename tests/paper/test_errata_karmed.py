"""The errata of values, weights, K-armed bandits and experiments (docs/paper/errata.md): printed against corrected."""

import math

import numpy as np
import pytest
from scipy import special, stats

import allais
from allais import (
    Bernoulli,
    Bounded,
    Discrete,
    Empirical,
    GonzalezWu,
    Normal,
    Power,
    Preference,
    Prelec,
    SubGaussian,
    TverskyKahneman,
    theory,
)
from allais.bands import Holder
from allais.weights import Identity, SteepMiddle

PEOPLE = Preference(TverskyKahneman(0.61))
L, ALPHA = TverskyKahneman(0.61).holder


# -- 8. W-UCB -----------------------------------------------------------------------------------------


def test_the_true_value_lies_below_its_upper_bound_almost_always_not_almost_never():
    m, pulls, p = 20, 10, 0.1
    seen = np.arange(pulls + 1)
    chance = stats.binom.pmf(seen, pulls, p)  # of each number of ones among the pulls: exact
    weight = TverskyKahneman(0.61)
    estimate, value = weight(seen / pulls), weight(p)
    width = L * (1.5 * math.log(m) / pulls) ** (ALPHA / 2)
    printed = chance[value <= estimate + width].sum(), chance[estimate >= value - width].sum()
    corrected = chance[value > estimate + width].sum(), chance[estimate > value + width].sum()
    assert min(printed) > 0.999
    assert max(corrected) <= 2.0 / m**3


# -- 10. Theorem 1 ------------------------------------------------------------------------------------


def test_the_printed_bound_fails_for_rewards_of_both_signs():
    m, eps = 100, 0.15
    # the mean of 100 fair signs is beyond 0.15 when at most 42 or at least 58 are positive: exact
    truth = 2.0 * stats.binom.cdf(42, m, 0.5)
    printed = 2.0 * math.exp(-2.0 * m * eps**2)  # L = M = alpha = 1
    corrected = 2.0 * math.exp(-2.0 * m * (eps / 2.0) ** 2)  # b - a = 2
    assert printed < 0.03 < 0.13 < truth < corrected


def test_the_radius_of_the_library_counts_the_whole_support():
    exponent = math.log(2.0 / 0.05)
    one_sided = Holder().radius(PEOPLE, Bounded(0, 3), 1000, exponent)
    assert one_sided == pytest.approx(L * 3 * (exponent / 2000) ** (ALPHA / 2))
    assert Holder().radius(PEOPLE, Bounded(-3, 3), 1000, exponent) == pytest.approx(2.0 * one_sided)
    assert Holder().radius(PEOPLE, Bounded(2, 5), 1000, exponent) == pytest.approx(one_sided)


# -- 11. Proposition 1 --------------------------------------------------------------------------------


def printed_tail(n, eps, constant=1.0, alpha=1.0):
    """The right-hand side of Proposition 1, as printed, for eps above 8 L / (alpha n^(alpha/2))."""
    excess = eps - 8.0 * constant / (alpha * n ** (alpha / 2))
    assert excess > 0.0
    return 2.0 * math.exp(-2.0 * n * (2.0 / (constant**2 * math.log(n))) ** (1 / alpha) * excess ** (2 / alpha))


def corrected_radius(n, delta, sigma, mean_bound, constant, alpha):
    edge = mean_bound + sigma * math.sqrt(math.log(n))
    inside = 2.0 * constant * edge * (math.log(2.0 / delta) / (2.0 * n)) ** (alpha / 2)
    return inside + 2.0 * constant * sigma * n ** (-alpha / 2) / (alpha * math.sqrt(math.log(n)))


def test_the_printed_bound_ignores_how_wide_the_rewards_are():
    n, sigma, eps, runs = 100, 100.0, 2.0, 2000
    edge = sigma * math.sqrt(math.log(n))
    samples = sigma * np.random.default_rng(11).normal(size=(runs, n))
    errors = np.clip(samples, -edge, edge).mean(axis=1)  # mu_n - mu under the identity: mu = 0
    # the errors have an sd near 9.7, so about 0.42 of them exceed 2; a standard error is 0.011
    assert np.mean(errors > eps) > 0.3 > 1e-40 > printed_tail(n, eps)
    # 95 of 100 is promised; the radius is near 7 sd, so one error beyond it has a chance below 1e-8
    assert np.abs(errors).max() <= corrected_radius(n, 0.05, sigma, 0.0, 1.0, 1.0)


def test_the_printed_bound_fails_for_a_mean_that_is_not_zero():
    n = 100
    samples = np.random.default_rng(12).normal(-5.0, 1.0, n)
    mean, centred, known = Preference(Identity()), SubGaussian(1.0, 0.0), SubGaussian(1.0, 5.0)
    # almost every sample is cut at -2.15; to gain 0.35 on it by luck has a chance far below one in a million
    error = mean.estimate_truncated(samples, centred) - -5.0
    assert 2.5 < error <= 2.86
    assert printed_tail(n, 2.5) < 1e-100
    # the corrected form for mean zero does not hold either, nor does it claim to; with |mean| <= 5 it does
    assert corrected_radius(n, 0.05, 1.0, 0.0, 1.0, 1.0) == pytest.approx(0.68, abs=0.005)
    mended = mean.estimate_truncated(samples, known) - -5.0
    assert abs(mended) <= corrected_radius(n, 0.05, 1.0, 5.0, 1.0, 1.0)


def test_one_sample_has_no_bound():
    # M_1 = 0, so the estimate is 0 whatever was seen, and the printed exponent 2 / log 1 promises certainty
    assert Preference(Identity()).estimate_truncated([-20.0], SubGaussian(1.0, 0.0)) == 0.0
    assert Holder().radius(Preference(Identity()), SubGaussian(1.0, 0.0), 1, 3.0) == math.inf


@pytest.mark.parametrize("mean_bound", [0.0, 5.0])
def test_the_radius_of_the_library_is_the_corrected_proposition(mean_bound):
    radius = Holder().radius(PEOPLE, SubGaussian(2.0, mean_bound), 400, math.log(2.0 / 0.05))
    assert radius == pytest.approx(corrected_radius(400, 0.05, 2.0, mean_bound, L, ALPHA))


# -- 12. (A1) and the EDPM condition ------------------------------------------------------------------


def test_a_weight_without_holder_pair_gives_bounded_rewards_a_finite_value():
    weight = Prelec(0.65)
    assert weight.holder is None
    assert Preference(weight).value(Discrete({50: 0.1, 0: 0.9})) == pytest.approx(50.0 * weight(0.1))
    assert 0.0 < weight(0.1) < 1.0


def test_the_two_distribution_functions_of_the_edpm_remark_differ_by_minus_three_eps():
    eps, root = 1e-3, Preference(Power(0.5))
    first, second = Bernoulli(4 * eps), Bernoulli(eps)
    cdf_difference = second.survival(0.5) - first.survival(0.5)  # F - G = (1 - S_F) - (1 - S_G)
    assert cdf_difference == pytest.approx(-3.0 * eps)
    assert theory.edpm_counterexample(eps).cdf_difference == pytest.approx(-3.0 * eps)
    assert root.value(first) - root.value(second) == pytest.approx(math.sqrt(eps))


# -- 13. the constant of the lower bounds -------------------------------------------------------------


def glued_roots(x):
    """The example of the lower bound's proof, alpha = 1/2, as it is printed."""
    return 0.5 + np.sign(x - 0.5) * np.sqrt(np.abs(x - 0.5) / 2.0)


def bernoulli_divergence(p, q):
    return special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)


def test_no_weight_has_a_holder_constant_below_one():
    for weight in (TverskyKahneman(0.61), SteepMiddle(0.5), Power(0.4), GonzalezWu(0.44, 0.77)):
        assert weight.holder is not None
        constant, alpha = weight.holder
        ends = (weight(1.0) - weight(0.0)) / (1.0 - 0.0) ** alpha
        assert 2.0 ** (alpha - 1) < ends <= constant  # the printed range (0, 2^(alpha-1)] ends before 1


def test_the_holder_constant_of_the_glued_roots_is_one():
    x = np.linspace(0.0, 1.0, 401)
    assert SteepMiddle(0.5)(x) == pytest.approx(glued_roots(x))
    apart = np.abs(x[:, None] - x[None, :])
    ratio = np.abs(glued_roots(x)[:, None] - glued_roots(x)[None, :]) / np.sqrt(np.where(apart > 0, apart, np.inf))
    assert ratio.max() == pytest.approx(1.0)  # printed: 0.7071
    from_the_middle = np.abs(0.5 - glued_roots(x)) / np.sqrt(np.where(x == 0.5, np.inf, np.abs(x - 0.5)))
    assert from_the_middle[x != 0.5] == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.61])
def test_the_lower_bound_holds_with_half_the_constant_not_with_the_constant(alpha):
    p = np.linspace(0.3, 0.49, 20)
    gap = 0.5 - SteepMiddle(alpha)(p)
    lai_robbins = gap / bernoulli_divergence(p, 0.5)  # what the regret over log n tends to at best
    constant = 1.0  # the weight's own L
    assert (lai_robbins < constant ** (2 / alpha) / (4.0 * gap ** (2 / alpha - 1))).all()
    assert (lai_robbins >= (constant / 2.0) ** (2 / alpha) / gap ** (2 / alpha - 1)).all()


def test_a_weight_with_a_larger_constant_is_as_steep_near_the_middle():
    alpha, constant = 0.5, 1.5
    lower = 2.0 ** (alpha - 1) * constant

    def steeper(x):
        return np.clip(0.5 + np.sign(x - 0.5) * lower * np.abs(x - 0.5) ** alpha, 0.0, 1.0)

    x = np.linspace(0.0, 1.0, 801)
    apart = np.abs(x[:, None] - x[None, :])
    steps = np.abs(steeper(x)[:, None] - steeper(x)[None, :])
    assert (steps <= constant * apart**alpha + 1e-12).all()
    near = np.abs(x - 0.5) <= 0.5 * constant ** (-1 / alpha) - 1e-9
    assert np.abs(0.5 - steeper(x))[near] == pytest.approx(lower * np.abs(x - 0.5)[near] ** alpha)
    # not at the ends: from 1/2 to both of them it would need 2 lower 2^-alpha = L <= 1
    assert abs(0.5 - steeper(np.array([0.0]))[0]) < lower * 0.5**alpha


# -- 21. to 23. the values of the experiments ---------------------------------------------------------


def test_no_eta_makes_the_first_lottery_worth_10_55():
    assert PEOPLE.value(Discrete({50: 0.1, 0: 0.9})) == pytest.approx(9.31513, abs=1e-5)
    eta = np.linspace(0.01, 1.0, 991)
    worth = np.array([50.0 * TverskyKahneman(e)(0.1) for e in eta])
    assert worth.max() == pytest.approx(9.883, abs=1e-3)
    assert eta[worth.argmax()] == pytest.approx(0.495, abs=1e-3)


def test_the_9_304_of_the_table_is_an_estimate():
    weight, p, samples = TverskyKahneman(0.61), 0.1, 50_000
    slope = (weight(p + 1e-6) - weight(p - 1e-6)) / 2e-6
    standard_error = 50.0 * slope * math.sqrt(p * (1 - p) / samples)
    assert standard_error == pytest.approx(0.06, abs=0.005)
    assert 0.005 < abs(9.304 - PEOPLE.value(Discrete({50: p, 0: 1 - p}))) < standard_error


def test_the_exact_values_of_setup_star():
    arms = Discrete({1: 0.1, 0.2: 0.1, 0: 0.8}), Discrete({1: 1e-3, 0.2: 0.8, 0: 0.199})
    exact = [PEOPLE.value(arm) for arm in arms]
    assert exact == pytest.approx([0.201195, 0.133220], abs=5e-7)
    assert np.abs(np.array(exact) - [0.2005, 0.1327]).min() > 5e-4  # not a matter of rounding


def test_the_second_problem_prefers_arm_two_as_a_cost():
    arms = Discrete({500: 0.01, 0: 0.99}), Discrete({250: 0.03, 0: 0.97})
    costs = Preference(TverskyKahneman(0.61), costs=True)
    assert [costs.value(arm) for arm in arms] == pytest.approx([-27.63307, -25.20803], abs=1e-5)
    assert [arm.mean for arm in arms] == pytest.approx([5.0, 7.5])


# -- 27. and 28. the weight of the routing experiment, and of Figure 1 --------------------------------


def test_the_routing_weight_is_not_monotone_and_breaks_dominance():
    weight = TverskyKahneman(0.1)
    assert not weight.is_monotone
    with pytest.warns(allais.errors.DominanceWarning):
        routing = Preference(weight)
    # the better chance of the same prize is worth a fifth of the worse one
    assert routing.value(Bernoulli(0.4)) < 0.25 * routing.value(Bernoulli(0.001))


def test_the_tversky_kahneman_form_is_monotone_from_0_2792_on():
    p = np.linspace(1e-4, 0.5, 500_001)  # finer than the dip just below the threshold

    def falls_somewhere(eta):
        return bool((np.diff(TverskyKahneman(eta)(p)) < 0.0).any())

    assert [falls_somewhere(eta) for eta in (0.1, 0.2791, 0.2793)] == [True, True, False]
    assert [TverskyKahneman(eta).is_monotone for eta in (0.1, 0.2791, 0.2793)] == [False, False, True]


def test_figure_one_plots_eta_069():
    p = np.linspace(0.0, 1.0, 1501)
    plotted = p**0.69 / (p**0.69 + (1 - p) ** 0.69) ** 1.44
    assert np.abs(plotted - TverskyKahneman(0.69)(p)).max() < 0.002
    assert np.abs(plotted - TverskyKahneman(0.61)(p)).max() > 0.06


def test_the_gamble_of_the_introduction_is_preferred_as_a_gain_and_avoided_as_a_cost():
    sure, gamble = Discrete({10: 1.0}), Discrete({10_000: 1e-3, 0: 1 - 1e-3})
    costs = Preference(TverskyKahneman(0.61), costs=True)
    assert PEOPLE.value(gamble) == pytest.approx(144.5, abs=0.1)
    assert PEOPLE.value(gamble) > PEOPLE.value(sure)
    assert costs.value(gamble) < costs.value(sure)


# -- checked and right --------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.3, 0.61, 0.69, 0.9])
def test_the_tversky_kahneman_weight_is_holder_with_one_over_eta(eta):
    ends = np.logspace(-9, -2, 200)
    p = np.concatenate([[0.0], ends, np.linspace(0.0101, 0.9899, 300), 1.0 - ends, [1.0]])
    apart = np.abs(p[:, None] - p[None, :])
    steps = np.abs(TverskyKahneman(eta)(p)[:, None] - TverskyKahneman(eta)(p)[None, :])
    assert (steps <= apart**eta / eta + 1e-12).all()


def test_algorithm_one_is_the_value_of_the_empirical_distribution():
    samples = np.sort(np.random.default_rng(30).normal(0.3, 2.0, 57))
    weight, size, below = TverskyKahneman(0.61), samples.size, int((samples <= 0).sum())
    i = np.arange(1, size + 1)
    gains = np.sum((samples * (weight((size + 1 - i) / size) - weight((size - i) / size)))[below:])
    losses = np.sum((samples * (weight((i - 1) / size) - weight(i / size)))[:below])
    assert PEOPLE.estimate(samples) == pytest.approx(gains - losses)
    assert PEOPLE.value(Empirical(samples)) == pytest.approx(gains - losses)


def test_the_translation_and_the_scaling_lemma_hold():
    weight, a = TverskyKahneman(0.61), 0.7
    u = np.linspace(-a, 0.0, 20_001)
    slope = weight(stats.norm.sf(u)) + weight(stats.norm.cdf(u))
    shift = PEOPLE.value(Normal(a, 1.0)) - PEOPLE.value(Normal(0.0, 1.0))
    assert shift == pytest.approx(np.trapezoid(slope, u), abs=1e-8)
    assert abs(shift) <= 2.0 * a
    assert PEOPLE.value(Normal(3 * a, 3.0)) == pytest.approx(3.0 * PEOPLE.value(Normal(a, 1.0)))


def test_the_three_armed_example_ranks_arm_one_first_and_its_mean_last():
    arms = Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})
    values, means = [PEOPLE.value(arm) for arm in arms], [arm.mean for arm in arms]
    assert [int(np.argmax(values)), int(np.argmax(means)), int(np.argmin(means))] == [0, 2, 0]
