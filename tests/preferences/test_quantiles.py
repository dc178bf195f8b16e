"""Percentiles as preferences, and mixtures of preferences."""

import numpy as np
import pytest

from allais import (
    WUCB,
    Bernoulli,
    Bounded,
    Discrete,
    Empirical,
    Normal,
    Preference,
    TverskyKahneman,
    Uniform,
    ValueStream,
    cvar,
    expected_value,
    mixed,
    quantile,
)
from allais.bands import DKW, KL, Holder
from allais.preferences.named import in_words, preference_named
from allais.settings import from_spec, to_spec
from allais.weights import Identity, Mixed, Step, TailAverage

LEVELS = [0.01, 0.1, 0.5, 0.9, 0.95, 0.99]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("lottery", [Normal(3, 2), Uniform(-1, 5), Uniform(2, 3), Uniform(-3, -2)], ids=repr)
def test_the_value_is_the_quantile_of_a_continuous_lottery(level, costs, lottery):
    preference = quantile(level, reference=1.0, costs=costs)
    # the level is compared to 1e-12, and the density is at least 0.01 there
    assert preference.certainty_equivalent(lottery) == pytest.approx(float(lottery.quantile(level)), abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 10, 20, 100, 1_000])
def test_of_samples_it_is_an_order_statistic_also_at_ties(level, costs, n):
    rng = np.random.default_rng(n)
    for samples in (rng.normal(size=n), rng.integers(-2, 3, n).astype(float)):
        expected = np.quantile(samples, level, method="inverted_cdf")
        preference = quantile(level, costs=costs)
        assert preference.certainty_equivalent(Empirical(samples)) == pytest.approx(expected, abs=1e-12)
        stream = ValueStream(preference)
        stream.add_many(samples)
        assert stream.value() == pytest.approx(-expected if costs else expected, abs=1e-12)


def test_at_an_atom_of_the_distribution_function_it_is_the_lower_end():
    coin = Discrete({1: 0.5, 2: 0.5})
    for costs in (False, True):
        assert quantile(0.5, costs=costs).certainty_equivalent(coin) == 1.0
        assert quantile(0.5 + 1e-9, costs=costs).certainty_equivalent(coin) == 2.0


def test_a_step_and_its_dual_are_one_at_every_probability():
    p = np.array([0.0, 1e-300, 0.04, 0.05, 0.05 + 1e-9, 0.5, 1.0 - 1e-16, 1.0])
    for weight in (Step(0.05), Step(0.05, inclusive=True)):
        assert weight.dual()(p) == pytest.approx(1.0 - weight(1.0 - p))
        assert weight.dual().dual()(p) == pytest.approx(weight(p))
        assert weight.holder is None
        assert weight.modulus(1e-9) == 1.0
        assert weight.is_monotone
    assert Step(0.05)(p).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]


def test_the_value_of_a_mixture_is_the_mixture_of_values():
    parts = [(0.5, expected_value()), (0.3, cvar(0.1)), (0.2, quantile(0.95))]
    both = mixed(*parts)
    for lottery in (Normal(1, 2), Bernoulli(0.3), Discrete({-5: 0.02, 1: 0.9, 9: 0.08}), Empirical([1.0, 5.0, 2.0])):
        expected = sum(share * preference.value(lottery) for share, preference in parts)
        assert both.value(lottery) == pytest.approx(expected, abs=1e-9)


def test_the_hoelder_pair_of_a_mixture_holds():
    weight = Mixed([0.4, 0.6], [TverskyKahneman(0.61), TailAverage(0.3)])
    p = np.linspace(0.0, 1.0, 401)
    constant, exponent = weight.holder
    gaps = np.abs(np.subtract.outer(p, p))
    assert (np.abs(np.subtract.outer(weight(p), weight(p))) <= constant * gaps**exponent + 1e-12).all()
    assert Mixed([0.5, 0.5], [Identity(), Step(0.5)]).holder is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quantile(1.0), r"level must lie in \(0, 1\); got 1. Give 0.95 for the 95th percentile"),
        (lambda: quantile(95), r"level must lie in \(0, 1\); got 95"),
        (lambda: quantile(0.0), r"level must lie in \(0, 1\)"),
        (lambda: mixed(), "a mixture has one preference or more"),
        (lambda: mixed((0.5, cvar(0.1)), (0.4, expected_value())), "shares must be positive and sum to 1"),
        (lambda: mixed((0.5, cvar(0.1)), (0.5, quantile(0.9, costs=True))), "share direction, reference and utility"),
        (lambda: Mixed([1.0], [TverskyKahneman(0.1)]), "a mixture is of monotone weights"),
        (lambda: Mixed([0.5, 0.5], [Identity()]), "each weight has its share"),
        (
            lambda: Holder().radius(quantile(0.9), Bounded(0, 1), 9, 2.0),
            "a H.lder band needs a continuous weight; Step.* Use KL",
        ),
        (lambda: WUCB(quantile(0.9), Bounded(0, 1), band=Holder()), "a H.lder band needs a continuous weight"),
    ],
)
def test_what_is_no_percentile_is_refused_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("band", [DKW(), KL()], ids=["DKW", "KL"])
def test_intervals_are_those_of_the_distribution_function_inverted(band):
    """Each misses with a chance of 0.01 at most: more than 10 of 100 have a chance below 1e-7."""
    rng, missed = np.random.default_rng(1), 0
    for _ in range(100):
        samples = rng.beta(2, 5, 400)
        low, value, high = band.interval(quantile(0.9), Bounded(0, 1), samples, confidence=0.99)
        assert low <= value <= high
        missed += not low <= 0.5103163066 <= high  # the true quantile
    assert missed <= 10
    assert low > 0.0
    assert high < 1.0


def test_it_is_said_in_words_and_written_in_files():
    both = mixed((0.7, expected_value(costs=True)), (0.3, quantile(0.95, costs=True)))
    assert in_words(quantile(0.95)) == in_words(quantile(0.95, costs=True)) == "percentile 95"
    assert in_words(both) == "0.7 x the mean + 0.3 x percentile 95"
    for one in (quantile(0.99), both, Preference(Step(0.3, inclusive=True))):
        assert from_spec(to_spec(one)) == one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean", expected_value(costs=True, reference=3)),
        ("median", quantile(0.5, costs=True, reference=3)),
        ("p95", quantile(0.95, costs=True, reference=3)),
        ("P99.9", quantile(0.999, costs=True, reference=3)),
        ("quantile:0.1", quantile(0.1, costs=True, reference=3)),
        ("cvar:0.1", cvar(0.1, costs=True, reference=3)),
        ("prospect", Preference.tversky_kahneman(costs=True, reference=3)),
        ("tk:0.61", Preference(TverskyKahneman(0.61), costs=True, reference=3)),
        (
            " 0.7 * mean + 0.3*p99 ",
            mixed((0.7, expected_value(costs=True, reference=3)), (0.3, quantile(0.99, costs=True, reference=3))),
        ),
    ],
)
def test_a_preference_is_written_in_a_word(text, expected):
    assert preference_named(text, costs=True, reference=3) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p100", "a percentile lies above 0 and below 100; got 'p100'. Write p95, or p99.9"),
        ("p0", "a percentile lies above 0"),
        ("cvar", "cvar needs a level; got 'cvar'. Write cvar:0.1"),
        ("cvar:x", "'x' in 'cvar:x' is not a number"),
        ("cvar:2", r"level must lie in \(0, 1\]; got 2"),
        ("meen", "a named preference is mean, median, p95, .*Did you mean 'mean'"),
        ("mean:3", "a named preference is"),
        ("", "a named preference is"),
        ("0.7*mean + p99", "each part of a mixture has a share"),
        ("0.7*mean + 0.7*p99", "shares must be positive and sum to 1"),
        (7, "a named preference is text"),
    ],
)
def test_a_word_that_is_no_preference_is_refused_in_a_sentence(text, message):
    with pytest.raises(ValueError, match=message):
        preference_named(text)
