"""Each family: its formula, its ends, and what it knows about itself."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from allais import GonzalezWu, Power, Prelec, TverskyKahneman, Wang, Weight
from allais.errors import DominanceWarning
from allais.weights import Identity, SteepMiddle, TailAverage
from tests.strategies import weights_and_duals

PLAIN = {
    Identity(): lambda p: p,
    TverskyKahneman(0.61): lambda p: p**0.61 / (p**0.61 + (1 - p) ** 0.61) ** (1 / 0.61),
    Prelec(0.65, 1.1): lambda p: np.exp(-1.1 * (-np.log(p)) ** 0.65),
    GonzalezWu(0.44, 0.77): lambda p: 0.77 * p**0.44 / (0.77 * p**0.44 + (1 - p) ** 0.44),
    Power(0.5): np.sqrt,
    SteepMiddle(0.5): lambda p: 0.5 + np.sign(p - 0.5) * np.sqrt(0.5) * np.sqrt(np.abs(p - 0.5)),
    TailAverage(0.3): lambda p: np.maximum(0, 1 - (1 - p) / 0.3),
    Wang(0.5): lambda p: stats.norm.cdf(stats.norm.ppf(p) + 0.5),
}


@pytest.mark.parametrize("weight", PLAIN, ids=repr)
def test_a_family_equals_its_textbook_formula(weight):
    p = np.linspace(0.001, 0.999, 999)
    np.testing.assert_allclose(weight(p), PLAIN[weight](p), rtol=1e-12, atol=1e-15)


@given(weights_and_duals)
def test_a_weight_starts_at_zero_ends_at_one_and_never_warns(weight):
    extreme = np.array([0.0, 5e-324, 1e-300, 1e-16, 0.5, 1 - 1e-16, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = weight(extreme)
    assert seen[0] == 0.0
    assert seen[-1] == 1.0
    assert np.isfinite(seen).all()
    assert (np.diff(seen) >= 0).all()


@given(weights_and_duals, st.floats(0.0, 1.0))
def test_scalar_and_array_calls_agree(weight, p):
    assert isinstance(weight(p), float)
    assert weight(np.array([[p]]))[0, 0] == weight(p)


@given(weights_and_duals, st.floats(0.0, 1.0))
def test_the_dual_is_one_minus_the_weight_of_the_rest(weight, p):
    rounding = weight.modulus(2.3e-16)  # 1 - p is a double; a steep weight shows its last bit
    assert weight.dual()(p) == pytest.approx(1.0 - weight(1.0 - p), abs=rounding + 1e-12)
    assert weight.dual().dual()(p) == weight(p)


def test_a_dual_keeps_the_digits_that_one_minus_would_lose():
    # 1 - w(1 - p) = p^eta / eta (1 + O(p^eta)) near p = 0; at p = 1e-50 the difference rounds to 0
    assert TverskyKahneman(0.61).dual()(1e-50) == pytest.approx(1e-50**0.61 / 0.61, rel=1e-12)


@given(weights_and_duals, st.floats(1e-6, 1.0))
def test_the_inverse_undoes_a_monotone_weight(weight, target):
    p = weight.inverse(target)
    # p is a double: next to 1 it moves in steps of 1e-16, over which a steep weight jumps
    slack = weight.modulus(4e-16) + 1e-12
    assert weight(p) == pytest.approx(target, rel=1e-9, abs=slack)


def test_the_inverse_takes_the_smallest_solution_of_a_flat_stretch():
    flat = Weight.from_function(lambda p: np.interp(p, [0, 0.4, 0.6, 1], [0, 0.5, 0.5, 1]), singularities=(0.4, 0.6))
    assert flat.inverse(0.5) == pytest.approx(0.4, abs=1e-12)
    assert TailAverage(0.25).inverse(0.0) == 0.0


def test_tversky_kahneman_is_monotone_exactly_from_an_eta_of_0_2792():
    assert TverskyKahneman(0.27921).is_monotone
    assert not TverskyKahneman(0.27920).is_monotone


def test_a_weight_that_is_not_monotone_turns_where_its_slope_changes_sign():
    weight = TverskyKahneman(0.2)
    p = np.linspace(0.0, 1.0, 200_001)
    steps = np.sign(np.diff(weight(p)))
    changes = p[1:-1][np.diff(steps) != 0]
    assert len(changes) == 2
    np.testing.assert_allclose(changes, weight.turning_points, atol=2e-5)


def test_the_inverse_of_a_weight_that_is_not_monotone_warns_and_names_the_consequence():
    weight = TverskyKahneman(0.2)
    with pytest.warns(DominanceWarning, match="several probabilities share a weight"):
        p = weight.inverse(0.05)
    assert weight(p) == pytest.approx(0.05)


def test_prelec_with_alpha_below_one_has_no_holder_pair_and_with_one_is_a_power():
    assert Prelec(0.65).holder is None
    assert Prelec(1.0, 0.5).holder == Power(0.5).holder
    assert Prelec(2.0).holder.exponent == 1.0


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (Identity(), ()),
        (TverskyKahneman(0.61), (0.0, 1.0)),
        (TverskyKahneman(1.0), ()),
        (SteepMiddle(0.5), (0.5,)),
        (TailAverage(0.25), (0.75,)),
        (TailAverage(0.25).dual(), (0.25,)),
        (Power(0.5), (0.0,)),
        (Power(0.5).dual(), (1.0,)),
        (Power(2.0), ()),
    ],
    ids=repr,
)
def test_a_weight_knows_where_it_is_not_smooth(weight, expected):
    assert weight.singularities == pytest.approx(expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TverskyKahneman(0.0), r"eta must lie in \(0, 1\]; got 0"),
        (lambda: TverskyKahneman(1.5), r"eta must lie in \(0, 1\]; got 1.5"),
        (lambda: TverskyKahneman(float("nan")), "eta must be finite; got nan"),
        (lambda: Prelec(-1.0), "alpha must be above 0; got -1"),
        (lambda: Prelec(0.5, 0.0), "beta must be above 0; got 0"),
        (lambda: GonzalezWu(0.0, 1.0), "gamma must be above 0; got 0"),
        (lambda: Power("steep"), "alpha must be a finite number; got 'steep'"),
        (lambda: Power(np.complex128(1 + 2j)), "alpha must be a finite number; got"),
        (lambda: SteepMiddle(1.2), r"alpha must lie in \(0, 1\]; got 1.2"),
        (lambda: TailAverage(0.0), r"level must lie in \(0, 1\]; got 0.*worst outcomes"),
        (lambda: Wang(float("inf")), "shift must be finite; got inf"),
        (lambda: Identity()(1.5), r"a probability must lie in \[0, 1\]; got 1.5"),
        (lambda: Identity()(float("nan")), r"a probability must lie in \[0, 1\]; got nan"),
        (lambda: Power(2.0).inverse(-0.1), r"a weight takes values in \[0, 1\]; got -0.1"),
        (lambda: Power(2.0).modulus(-0.1), "eps must not be negative; got -0.1"),
    ],
)
def test_a_bad_parameter_is_refused_with_the_rule_and_what_came(make, message):
    with pytest.raises(ValueError, match=message):
        make()
