"""Published and exact values, and the lemmas of the paper as properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allais import (
    Bernoulli,
    Continuous,
    Discrete,
    Empirical,
    Mixture,
    Normal,
    Power,
    PowerUtility,
    Preference,
    TverskyKahneman,
    Uniform,
    cvar,
    expected_value,
)
from allais.errors import UndefinedValueError
from allais.weights import Identity
from tests.strategies import discrete_lotteries, monotone_weights, outcomes, sample_lists, weights_and_duals

EXACT = [
    (0.61, Discrete({50: 0.1, 0: 0.9}), 9.31512831885871),
    (0.61, Discrete({30: 0.2, 0: 0.8}), 7.822895485040594),
    (0.61, Discrete({500: 0.01, 0: 0.99}), 27.633068375854258),
    (0.61, Discrete({250: 0.03, 0: 0.97}), 25.208029967090447),
    (0.61, Discrete({1: 0.1, 0.2: 0.1, 0: 0.8}), 0.20119468966867665),
    (0.61, Discrete({1: 0.001, 0.2: 0.8, 0: 0.199}), 0.13321980593304222),
    (0.61, Discrete({12: 0.99, -88: 0.01}), 6.075584996793943),
]


@pytest.mark.parametrize(("eta", "lottery", "value"), EXACT)
def test_a_finite_lottery_has_its_exact_value(eta, lottery, value):
    assert Preference(TverskyKahneman(eta)).value(lottery) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("eta", "lottery", "value"),
    [
        (0.61, Normal(9, 1), 8.735816313),
        (0.69, Normal(9, 1), 8.856939540),
        (0.69, Discrete({12: 0.99, -88: 0.01}), 7.849911479),
    ],
)
def test_the_grid_networks_arms_have_their_published_values(eta, lottery, value):
    assert Preference(TverskyKahneman(eta)).value(lottery) == pytest.approx(value, abs=6e-10)


def test_a_cost_below_the_reference_is_a_gain():
    delays = Preference(TverskyKahneman(0.61), reference=80, costs=True)
    assert delays.value(Normal(71, 1)) == pytest.approx(8.735816313, abs=1e-9)
    assert delays.value(Discrete({68: 0.99, 168: 0.01})) == pytest.approx(6.075584996793943, rel=1e-14)
    assert delays.certainty_equivalent(Discrete({68: 0.99, 168: 0.01})) == pytest.approx(80 - 6.075584996793943)


# -- the paper's lemmas ---------------------------------------------------------------------------

pairs = st.tuples(weights_and_duals, weights_and_duals)


def close(left, right, parts, rel=1e-11):
    return left == pytest.approx(right, abs=rel * (parts.gain + parts.loss) + 1e-12)


@given(pairs, discrete_lotteries())
def test_turning_gains_into_losses_turns_the_value(weights, lottery):
    gains, losses = weights
    mirrored = Discrete(dict(zip(-lottery.outcomes, lottery.probabilities, strict=True)))
    forward, backward = Preference(gains, losses), Preference(losses, gains)
    assert close(backward.value(mirrored), -forward.value(lottery), forward.parts(lottery))


@given(pairs, discrete_lotteries(), outcomes)
def test_costs_are_gains_from_the_reference(weights, lottery, reference):
    as_costs = Preference(*weights, reference=reference, costs=True)
    turned = Discrete(dict(zip(reference - lottery.outcomes, lottery.probabilities, strict=True)))
    assert close(as_costs.value(lottery), Preference(*weights).value(turned), as_costs.parts(lottery))


@given(monotone_weights, monotone_weights, sample_lists, st.lists(st.floats(0, 50), min_size=60, max_size=60))
def test_a_lottery_that_is_better_everywhere_is_worth_more(gains, losses, worse, lifts):
    better = np.array(worse) + np.array(lifts)[: len(worse)]
    preference = Preference(gains, losses)
    parts = preference.estimate_parts(better)
    assert preference.estimate(better) >= preference.estimate(worse) - 1e-11 * (parts.gain + parts.loss) - 1e-12


def test_a_weight_that_is_not_monotone_can_prefer_the_worse_lottery():
    with pytest.warns(UserWarning, match="first-order dominance can fail"):
        strange = Preference(TverskyKahneman(0.1))
    assert strange.value(Bernoulli(0.01)) > strange.value(Bernoulli(0.4))


@settings(max_examples=50, deadline=None)
@given(pairs, discrete_lotteries(), st.floats(-200, 200))
def test_a_shift_moves_the_value_by_the_integral_of_the_translation_lemma(weights, lottery, a):
    # mu(X + a) - mu(X) = int over u in (-a, 0) of w+(P(X > u)) + w-(P(X < u)); X is finite, so the
    # integrand is constant between outcomes
    gains, losses = weights
    preference = Preference(gains, losses)
    inside = lottery.outcomes[(lottery.outcomes > min(-a, 0)) & (lottery.outcomes < max(-a, 0))]
    edges = np.concatenate([[min(-a, 0)], inside, [max(-a, 0)]])
    middle = 0.5 * (edges[1:] + edges[:-1])
    index = np.searchsorted(lottery.outcomes, middle)
    above, below = np.append(lottery.at_least, 0.0)[index], np.append(lottery.below, 1.0)[index]
    slope = gains.of_tails(above, below) + losses.of_tails(below, above)
    shifted = Discrete(dict(zip(lottery.outcomes + a, lottery.probabilities, strict=True)))
    moved = np.sign(a) * float(np.sum(np.diff(edges) * slope))
    parts = preference.parts(shifted)
    assert preference.value(shifted) - preference.value(lottery) == pytest.approx(
        moved, abs=1e-10 * (parts.gain + parts.loss + 1.0)
    )
    assert abs(moved) <= preference.kappa * abs(a) * (1 + 1e-8)


@given(pairs, discrete_lotteries(), st.floats(1e-3, 1e3))
def test_scaling_outcomes_scales_the_value(weights, lottery, scale):
    preference = Preference(*weights)
    scaled = Discrete(dict(zip(scale * lottery.outcomes, lottery.probabilities, strict=True)))
    assert close(preference.value(scaled), scale * preference.value(lottery), preference.parts(scaled))


@given(pairs, sample_lists, outcomes, st.booleans())
def test_the_estimate_is_the_value_of_the_empirical_distribution(weights, samples, reference, costs):
    preference = Preference(*weights, utility=PowerUtility(), reference=reference, costs=costs)
    parts = preference.estimate_parts(samples)
    assert close(preference.estimate(samples), preference.value(Empirical(samples)), parts, rel=1e-12)


@given(sample_lists)
def test_the_estimate_is_algorithm_1_as_printed(samples):
    w = TverskyKahneman(0.61)
    y = sorted(samples)
    n = len(y)
    gain = sum(x * (w((n - i) / n) - w((n - i - 1) / n)) for i, x in enumerate(y) if x > 0)
    loss = sum(x * (w(i / n) - w((i + 1) / n)) for i, x in enumerate(y) if x < 0)
    assert Preference(w).estimate(samples) == pytest.approx(gain - loss, abs=1e-10 * (gain + loss) + 1e-10)


@given(discrete_lotteries())
def test_without_distortion_the_value_is_the_mean(lottery):
    assert expected_value().value(lottery) == pytest.approx(lottery.mean, abs=1e-12 * 1000)


@given(pairs, outcomes)
def test_a_sure_outcome_is_worth_itself(weights, sure):
    assert Preference(*weights).value(Discrete({sure: 1.0})) == pytest.approx(sure, rel=1e-15)


# -- preferences with names -----------------------------------------------------------------------


def test_cvar_is_the_mean_of_the_worst_share():
    samples = np.random.default_rng(3).normal(size=1000)
    worst = np.sort(samples)[:50].mean()
    assert cvar(0.05).estimate(samples) == pytest.approx(worst, rel=1e-12)
    assert cvar(0.05, costs=True).estimate(-samples) == pytest.approx(worst, rel=1e-12)
    # -phi(Phi^-1(.05)) / .05, the closed form for a standard normal
    assert cvar(0.05).value(Normal(0, 1)) == pytest.approx(-2.0627128075074257, rel=1e-10)
    assert cvar(1.0).value(Normal(3, 1)) == pytest.approx(3.0, rel=1e-10)


def test_rank_dependent_utility_does_not_care_where_zero_is():
    preference = Preference.rank_dependent(TverskyKahneman(0.61))
    assert preference.kappa == 1.0
    low, high = Discrete({-5: 0.3, 4: 0.7}), Discrete({95: 0.3, 104: 0.7})
    assert preference.value(high) - preference.value(low) == pytest.approx(100.0, rel=1e-12)


def test_the_medians_of_1992_give_the_value_by_hand():
    people = Preference.tversky_kahneman()
    w, v = TverskyKahneman(0.61), TverskyKahneman(0.69)
    by_hand = 100**0.88 * w(0.25) - 2.25 * 50**0.88 * v(0.4)
    assert people.value(Discrete({100: 0.25, 0: 0.35, -50: 0.4})) == pytest.approx(by_hand, rel=1e-13)


def test_people_show_the_allais_paradox_and_a_machine_does_not():
    # Kahneman & Tversky (1979), problems 1 and 2: 0.66 of 2400 is taken from both sides
    sure, gamble = Discrete({2400: 1.0}), Discrete({2500: 0.33, 2400: 0.66, 0: 0.01})
    likelier, larger = Discrete({2400: 0.34, 0: 0.66}), Discrete({2500: 0.33, 0: 0.67})
    people, machine = Preference.tversky_kahneman(), expected_value()
    assert people.value(sure) > people.value(gamble)
    assert people.value(larger) > people.value(likelier)
    assert machine.value(sure) < machine.value(gamble)
    assert machine.value(larger) > machine.value(likelier)


@pytest.mark.parametrize(
    ("preference", "kappa"),
    [
        (Preference(TverskyKahneman(0.61)), 1.0),
        (Preference(TverskyKahneman(0.61), TverskyKahneman(0.69)), 1.0028),
        (Preference(Power(0.5)), np.sqrt(2)),
        (expected_value(), 1.0),
    ],
)
def test_kappa_is_the_greatest_speed_of_the_value(preference, kappa):
    assert preference.kappa == pytest.approx(kappa, abs=5e-5)


@settings(max_examples=30, deadline=None)
@given(pairs)
def test_kappa_bounds_the_sum_of_the_weights_everywhere(weights):
    gains, losses = weights
    kappa = Preference(gains, losses).kappa
    t = np.linspace(-40, 40, 20_001)
    seen = gains.at_logit(t) + losses.at_logit(-t)
    assert kappa >= seen.max() - 2e-9
    assert 1.0 <= kappa <= 2.0


# -- continuous lotteries -------------------------------------------------------------------------


def test_an_infinite_value_is_infinite_and_two_infinite_parts_are_refused():
    from scipy import stats

    people = Preference(TverskyKahneman(0.61))
    assert people.value(Continuous(stats.pareto(1.6))) == np.inf  # 1.6 * 0.61 < 1, though the mean is finite
    assert Preference(TverskyKahneman(0.61), costs=True).value(Continuous(stats.pareto(1.6))) == -np.inf
    assert np.isfinite(people.value(Continuous(stats.pareto(1.7))))
    with pytest.raises(UndefinedValueError, match="are infinite"):
        people.value(Continuous(stats.t(1.6)))


def test_a_value_near_divergence_says_how_well_it_is_known():
    from scipy import stats

    people = Preference(TverskyKahneman(0.61))
    nearly = Continuous(stats.pareto(1.0000001 / 0.61))
    with pytest.warns(UserWarning, match="near divergence"):
        value = people.value(nearly)
    parts = people.parts(nearly)
    # z^-s with s - 1 = 1e-7 integrates to about 1e7: the leading term, and the stated error covers it
    assert parts.error > 1e-9 * value
    assert value == pytest.approx(1e7, rel=1e-3)


def test_the_normal_table_agrees_with_quadrature_for_every_family():
    from tests.weights.test_families import PLAIN

    rng = np.random.default_rng(5)
    weights = [*PLAIN, *(w.dual() for w in PLAIN)]
    for gains, losses in zip(weights, weights[3:] + weights[:3], strict=True):
        preference = Preference(gains, losses, reference=1.5, costs=True)
        means, sds = rng.normal(scale=8.0, size=6), rng.uniform(0.1, 5.0, size=6)
        table = preference.value_of_normal(means, sds)
        exact = [preference.value(Normal(m, s)) for m, s in zip(means, sds, strict=True)]
        np.testing.assert_allclose(table / sds, exact / sds, atol=1e-10)


def test_the_normal_table_knows_the_slope_of_the_value():
    # g' = w+(Phi(t)) + w-(Phi(-t)): by central differences, error h^2 / 6 g''' and 1e-10 / h
    from scipy import special

    preference = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
    t, h = np.linspace(-6, 6, 41), 1e-3
    slope = (preference.value_of_normal(t + h, 1.0) - preference.value_of_normal(t - h, 1.0)) / (2 * h)
    exact = preference.gains(special.ndtr(t)) + preference.losses(special.ndtr(-t))
    np.testing.assert_allclose(slope, exact, atol=1e-6)


def test_a_mixture_is_valued_as_one_distribution():
    people = Preference(TverskyKahneman(0.61))
    finite = Mixture([Discrete({10: 0.5, 0: 0.5}), Discrete({10: 1.0})], [0.4, 0.6])
    assert people.value(finite) == people.value(Discrete({10: 0.8, 0: 0.2}))
    narrow = Mixture([Normal(10, 1e-8), Normal(0, 1e-8)], [0.8, 0.2])
    assert people.value(narrow) == pytest.approx(people.value(finite), rel=1e-7)


@settings(max_examples=40, deadline=None)
@given(pairs, st.floats(-20, 20), st.floats(0.1, 30))
def test_a_uniform_lottery_equals_a_fine_grid_of_it(weights, low, width):
    preference = Preference(*weights)
    n = 20_000
    grid = low + width * (np.arange(n) + 0.5) / n
    exact = preference.value(Uniform(low, low + width))
    # P(X > z) differs by at most 1/2n from that of the grid
    bound = width * (preference.gains.modulus(0.5 / n) + preference.losses.modulus(0.5 / n))
    assert preference.estimate(grid) == pytest.approx(exact, abs=bound + 1e-9)


def test_a_certainty_equivalent_is_worth_what_the_lottery_is():
    people = Preference.tversky_kahneman(reference=10.0)
    for lottery in (Normal(12, 5), Discrete({50: 0.1, 0: 0.9}), Uniform(-3, 4)):
        sure = people.certainty_equivalent(lottery)
        assert people.value(Discrete({sure: 1.0})) == pytest.approx(people.value(lottery), rel=1e-9)


def test_a_users_utility_is_inverted_to_the_last_digit():
    def log_gain(x):
        return np.where(x < 0, 2.0 * x, np.log1p(np.maximum(x, 0.0)))

    preference = Preference(TverskyKahneman(0.61), utility=log_gain)
    assert preference.certainty_equivalent(Discrete({7: 1.0})) == pytest.approx(7.0, rel=1e-14)
    # u(X) of X = e^Y - 1 with Y exponential is Y itself: the value of an exponential distribution
    from scipy import stats

    lomax = Continuous(stats.lomax(2.0))  # P(X > x) = (1 + x)^-2, so log1p(X) has rate 2
    exponential = Continuous(stats.expon(scale=0.5))
    assert preference.value(lomax) == pytest.approx(Preference(TverskyKahneman(0.61)).value(exponential), rel=1e-9)


def test_the_estimator_converges_at_the_rate_of_theorem_1():
    # 400 runs at each size: the errors' 95 % quantile stays under the bound at delta = 0.05, and
    # shrinks at least as fast as n^-(alpha/2); seeds are fixed, so luck plays no part
    people, lottery = Preference(TverskyKahneman(0.61)), Bernoulli(0.3)
    exact = people.value(lottery)
    rng = np.random.default_rng(11)
    quantiles = []
    for n in (100, 1600, 25_600):
        ones = rng.binomial(n, 0.3, size=400)
        errors = [abs(people.gains(k / n) - exact) for k in ones]
        bound = (1 / 0.61) * (np.log(2 / 0.05) / (2 * n)) ** 0.305
        quantiles.append(np.quantile(errors, 0.95))
        assert quantiles[-1] <= bound
    assert quantiles[2] <= quantiles[0] * (100 / 25_600) ** 0.305


@given(discrete_lotteries())
def test_values_do_not_change_what_they_value(lottery):
    before = (lottery.outcomes.copy(), lottery.probabilities.copy())
    Preference(TverskyKahneman(), costs=True, reference=3.0).value(lottery)
    np.testing.assert_array_equal(lottery.outcomes, before[0])
    np.testing.assert_array_equal(lottery.probabilities, before[1])


def test_identity_gives_the_sample_mean_for_a_million_samples():
    samples = np.random.default_rng(2).normal(5, 1, size=1_000_000)
    assert Preference(Identity()).estimate(samples) == pytest.approx(samples.mean(), rel=1e-12)
