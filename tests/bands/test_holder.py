"""The Hölder band covers, with the corrected constants, and refuses what breaks it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allais import (
    Bernoulli,
    Bounded,
    Discrete,
    Finite,
    Normal,
    Power,
    Preference,
    Prelec,
    SubGaussian,
    TverskyKahneman,
    Uniform,
)
from allais.bands import Holder

BAND = Holder()


@pytest.mark.parametrize(
    "preference",
    [
        Preference(TverskyKahneman(0.61)),
        Preference(TverskyKahneman(0.61), TverskyKahneman(0.69)),
        Preference(Prelec(0.65)),
        Preference(Power(0.5), reference=0.4, costs=True),
    ],
)
@pytest.mark.parametrize(
    ("lottery", "rewards"),
    [
        (Bernoulli(0.02), Finite([0, 1])),
        (Uniform(-1, 1), Bounded(-1, 1)),
        (Discrete({1: 0.3, -2: 0.7}), Bounded(-2, 1)),
    ],
)
def test_the_interval_holds_the_value(preference, lottery, rewards):
    # The Hölder band is far wider than needed (DKW holds at 1 - delta for every distribution at once, and the
    # Hölder step only widens it), so not one of 300 intervals at confidence 0.99 may miss more often
    # than Binomial(300, 0.01) allows: 14 misses have probability below one in a million.
    rng = np.random.default_rng(4)
    exact = preference.value(lottery)
    misses = 0
    for _ in range(300):
        low, _, high = BAND.interval(preference, rewards, lottery.sample(rng, 50), confidence=0.99)
        misses += not low <= exact <= high
    assert misses < 14


def test_gains_and_losses_each_deviate_over_their_own_stretch():
    w, v = TverskyKahneman(0.61), TverskyKahneman(0.69)
    radius = BAND.radius(Preference(w, v), Bounded(-3, 5), pulls=100, exponent=2.0)
    assert radius == pytest.approx(5 * 0.1**0.61 / 0.61 + 3 * 0.1**0.69 / 0.69)
    only_gains = BAND.radius(Preference(w, v), Bounded(2, 5), pulls=100, exponent=2.0)
    assert only_gains == pytest.approx(3 * 0.1**0.61 / 0.61)


def test_the_stretch_is_measured_in_utility_and_from_the_reference():
    people = Preference.tversky_kahneman(reference=80.0, costs=True)
    gain, loss = 20.0**0.88, 2.25 * 10.0**0.88  # 60 is a gain of 20, 90 a loss of 10
    expected = gain * 0.1**0.61 / 0.61 + loss * 0.1**0.69 / 0.69
    assert BAND.radius(people, Bounded(60, 90), pulls=100, exponent=2.0) == pytest.approx(expected)


@given(st.floats(0.01, 10.0), st.integers(1, 10_000))
def test_without_a_pair_the_modulus_takes_over(exponent, pulls):
    prelec = Prelec(0.65)
    radius = BAND.radius(Preference(prelec), Bounded(0, 2), pulls, exponent)
    assert radius == pytest.approx(2.0 * prelec.modulus(min(1.0, np.sqrt(exponent / (2 * pulls)))))


@pytest.mark.parametrize("weight", [TverskyKahneman(0.61), Power(0.5), Prelec(0.65)], ids=repr)
@pytest.mark.parametrize("mean", [0.0, 5.0, -5.0])
def test_the_truncated_interval_holds_the_value_of_a_normal(weight, mean):
    # as above: at most 14 misses of 300 at confidence 0.99
    preference, rewards = Preference(weight), SubGaussian(scale=1.0, mean_bound=5.0)
    exact = preference.value(Normal(mean, 1))
    rng = np.random.default_rng(6)
    misses = 0
    for _ in range(300):
        low, _, high = BAND.interval(preference, rewards, rng.normal(mean, 1, size=100), confidence=0.99)
        misses += not low <= exact <= high
    assert misses < 14


def test_truncation_at_the_printed_edge_misses_a_mean_of_five():
    # M_n without the mean bound cuts N(5, 1) at 2.15 for n = 100
    preference = Preference(TverskyKahneman(0.61))
    samples = np.random.default_rng(1).normal(5, 1, size=100)
    cut = preference.estimate_truncated(samples, SubGaussian(1.0, 0.0))
    assert cut == pytest.approx(np.sqrt(np.log(100)))
    kept = preference.estimate_truncated(samples, SubGaussian(1.0, 5.0))
    assert kept == pytest.approx(preference.estimate(samples), rel=1e-3)


def test_the_truncated_bound_is_proposition_1_corrected():
    n, x, alpha, constant = 400, 3.0, 0.61, 1 / 0.61
    edge = 5.0 + 2.0 * np.sqrt(np.log(n))
    expected = 2 * constant * edge * (x / (2 * n)) ** (alpha / 2)
    expected += 2 * constant * 2.0 * n ** (-alpha / 2) / (alpha * np.sqrt(np.log(n)))
    radius = BAND.radius(Preference(TverskyKahneman(0.61)), SubGaussian(2.0, 5.0), pulls=n, exponent=x)
    assert radius == pytest.approx(expected)
    assert BAND.radius(Preference(TverskyKahneman(0.61)), SubGaussian(2.0, 5.0), pulls=1, exponent=x) == np.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BAND.interval(Preference(Power(0.5)), Bounded(0, 1), [0.2, 1.5]), "between 0 and 1; got 1.5"),
        (lambda: BAND.interval(Preference(Power(0.5)), Finite([0, 1]), [0.5]), "one of the 2 declared values; got 0.5"),
        (lambda: BAND.interval(Preference(Power(0.5)), Bounded(0, 1), []), "rewards must not be empty"),
        (lambda: BAND.interval(Preference(Power(0.5)), Bounded(0, 1), [1.0], 1.0), r"confidence must lie in \(0, 1\)"),
        (lambda: BAND.radius(Preference(Power(0.5)), Bounded(0, 1), 0, 1.0), "at least one sample; got 0"),
        (lambda: Bounded(1, 0), "low must lie below high; got 1 and 0"),
        (lambda: Bounded(0, float("inf")), "high must be finite; got inf"),
        (lambda: Finite([]), "values must not be empty"),
        (lambda: SubGaussian(0.0, 1.0), "scale must be above 0; got 0"),
        (lambda: SubGaussian(1.0, -1.0), "mean_bound must not be negative; got -1"),
    ],
)
def test_what_would_break_the_guarantee_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
