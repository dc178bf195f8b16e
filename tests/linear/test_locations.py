"""Location tables: to 1e-9 of the exact value, for every noise, weight and utility; the lemmas of Section V."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allais import Continuous, Discrete, Normal, Power, PowerUtility, Preference, Prelec, TverskyKahneman, Uniform
from allais.linear import AdditiveNoise, ArmNoise, FeatureNoise, ParameterNoise
from allais.linear.location_tables import _table, ceiling_at, locations_of, value_at
from allais.weights import Identity, SteepMiddle

PREFERENCES = {
    "TK": Preference(TverskyKahneman(0.61)),
    "TK .61 and .69, reference 3": Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=3.0),
    "Prelec, costs": Preference(Prelec(0.65), reference=80.0, costs=True),
    "sqrt": Preference(Power(0.5)),
    "steep middle": Preference(SteepMiddle(0.5)),
    "identity": Preference(Identity()),
    "prospect theory": Preference.tversky_kahneman(reference=1.0),
    "prospect theory of costs": Preference.tversky_kahneman(reference=-2.0, costs=True),
}
NOISES = {
    "in the parameter": ParameterNoise(),
    "rare and long": AdditiveNoise(Discrete({100: 0.01, 0: 0.99})),
    "three outcomes": AdditiveNoise(Discrete({-3: 0.2, 0: 0.5, 4: 0.3})),
    "uniform": AdditiveNoise(Uniform(0, 2)),
    "normal": AdditiveNoise(Normal(1, 3)),
}


def exact(preference, noise, arm, gain):
    """The value where the mean outcome lies `gain` above the reference, and gain plus loss part."""
    sign = -1.0 if preference.costs else 1.0
    place = preference.reference + sign * gain - noise.mean[arm]
    parts = preference.parts(noise.lottery(arm, float(place)))
    return parts.value, parts.gain + parts.loss


@pytest.mark.parametrize("name", PREFERENCES)
@pytest.mark.parametrize("kind", NOISES)
def test_a_table_gives_the_value_at_any_location(name, kind):
    preference = PREFERENCES[name]
    noise = NOISES[kind].of(np.array([[1.0, 0.0], [3.0, 4.0]]))
    tables = locations_of(preference, noise)
    for arm in (0, 1):
        for gain in (-700.0, -99.0, -20.0, -3.0, -1.0, -0.3, 0.0, 1e-3, 0.7, 2.0, 11.0, 101.0, 1000.0):
            value, size = exact(preference, noise, arm, gain)
            assert value_at(tables, arm, gain) == pytest.approx(value, abs=1e-9 * max(size, 1.0))


def test_a_utility_that_is_no_power_has_a_table_for_each_spread():
    preference = Preference(TverskyKahneman(0.61), utility=np.arcsinh)
    noise = ArmNoise([Discrete({-1: 0.5, 1: 0.5}), Discrete({-5: 0.5, 5: 0.5})]).of(np.eye(2))
    tables = locations_of(preference, noise)
    for arm in (0, 1):
        value, _ = exact(preference, noise, arm, 0.8)
        assert value_at(tables, arm, 0.8) == pytest.approx(value, abs=1e-9)


@given(st.floats(-50, 50), st.floats(0, 20), st.sampled_from(["TK", "sqrt", "steep middle"]))
def test_a_value_rises_with_its_location_by_at_most_kappa(gain, step, name):
    preference = PREFERENCES[name]
    tables = locations_of(preference, ParameterNoise().of(np.array([[2.0]])))
    rise = value_at(tables, 0, gain + step) - value_at(tables, 0, gain)
    assert -1e-12 <= rise <= preference.kappa * step + 1e-12


@pytest.mark.filterwarnings("ignore:.*not monotone")
def test_values_rise_with_the_location_even_where_the_weight_does_not():
    tables = locations_of(Preference(TverskyKahneman(0.1)), ParameterNoise().of(np.array([[1.0]])))
    places = np.linspace(-12, 12, 4001)
    values = np.array([value_at(tables, 0, place) for place in places])
    assert (np.diff(values) >= -1e-13).all()
    # the slope is w(Phi) + w(1 - Phi), far below 1 in the middle: at 0 it is 2 w(1/2) = 2^-9 / 2^... of the formula
    middle = (value_at(tables, 0, 1e-4) - value_at(tables, 0, -1e-4)) / 2e-4
    assert middle == pytest.approx(2.0 * TverskyKahneman(0.1)(0.5), rel=1e-6)


@given(st.floats(-10, 10), st.floats(0.1, 30))
def test_the_value_of_a_scaled_arm_is_the_scaled_value(gain, length):
    preference = PREFERENCES["TK"]
    tables = locations_of(preference, ParameterNoise().of(np.array([[1.0], [length]])))
    assert value_at(tables, 1, length * gain) == pytest.approx(length * value_at(tables, 0, gain), rel=1e-12)


def test_the_translation_lemma():
    # mu(X + a) - mu(X) = int_{-a}^0 w(P(X > u)) + w(P(X < u)) du
    weight, a = TverskyKahneman(0.61), 1.7
    tables = locations_of(Preference(weight), ParameterNoise().of(np.array([[1.0]])))
    from scipy.integrate import quad
    from scipy.stats import norm

    lemma, _ = quad(lambda u: weight(float(norm.sf(u, 0.4))) + weight(float(norm.cdf(u, 0.4))), -a, 0.0, epsabs=1e-12)
    assert value_at(tables, 0, 0.4 + a) - value_at(tables, 0, 0.4) == pytest.approx(lemma, abs=1e-9)


def test_the_scale_of_noise_is_the_smallest_that_is_known():
    one = np.ones((1, 1))
    assert AdditiveNoise(Normal(0, 3)).of(one).scale[0] == 3.0
    assert AdditiveNoise(Discrete({-1: 0.5, 1: 0.5})).of(one).scale[0] == pytest.approx(1.0)
    assert AdditiveNoise(Discrete({100: 0.01, 0: 0.99})).of(one).scale[0] == pytest.approx(32.655, abs=1e-4)
    assert AdditiveNoise(Discrete({0: 0.2, 1: 0.3, 4: 0.5})).of(one).scale[0] == 2.0
    # E exp(t (X - EX)) <= exp(t^2 s^2 / 2) for the two-point distribution, where it is tightest
    t = np.linspace(-0.2, 0.2, 2001)
    mgf = 0.01 * np.exp(t * 99.0) + 0.99 * np.exp(-t)
    assert (np.log(mgf) <= 0.5 * (t * 32.65500) ** 2 + 1e-12).all()


def test_noise_without_a_known_scale_or_a_finite_value_is_refused():
    from scipy import stats

    with pytest.raises(ValueError, match="sub-Gaussian"):
        AdditiveNoise(Continuous(stats.t(5)))
    with pytest.raises(ValueError, match="must vary"):
        AdditiveNoise(Discrete({3: 1.0}))
    with pytest.raises(ValueError, match="finite value"):
        # a power law of index 1.2 under the square root: the tail of w(S) has index 0.6, and diverges
        locations_of(
            Preference(Power(0.5)), AdditiveNoise(Continuous(stats.pareto(1.2)), scale=1.0).of(np.ones((1, 1)))
        )
    with pytest.raises(ValueError, match="one distribution per arm"):
        ArmNoise([Normal(0, 1)]).of(np.ones((2, 1)))


def test_the_loss_averse_value_of_a_fair_coin_is_negative():
    tables = locations_of(
        Preference(Identity(), utility=PowerUtility(0.88, 2.25)),
        AdditiveNoise(Discrete({-1: 0.5, 1: 0.5})).of(np.ones((1, 1))),
    )
    assert value_at(tables, 0, 0.0) == pytest.approx(0.5 - 0.5 * 2.25, abs=1e-12)


def test_tables_of_noise_that_adds_up_are_built_once():
    def noise():
        return FeatureNoise([Normal(0, 1), Discrete({0: 0.9, 12: 0.1}), Discrete({-1: 0.5, 2: 0.5})])

    rows = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    people = PREFERENCES["TK"]
    first = locations_of(people, noise().of(rows))
    built = _table.cache_info().misses
    again = locations_of(people, noise().of(rows))
    assert _table.cache_info().misses == built
    assert np.array_equal(first.cells, again.cells)


@pytest.mark.parametrize("kind", PREFERENCES)
def test_a_location_that_is_no_number_has_a_value_that_is_none(kind):
    """And is looked up nowhere: compiled code checks no place in a table."""
    tables = locations_of(PREFERENCES[kind], ParameterNoise().of(np.eye(2)))
    for place in (np.nan, np.inf, -np.inf):
        assert not np.isfinite(value_at(tables, 1, place))
        assert not np.isfinite(ceiling_at(tables, 1, place))
