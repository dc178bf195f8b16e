"""The modulus of continuity, the Hölder pair, and curves of one's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allais import GonzalezWu, Prelec, TverskyKahneman, Weight
from tests.strategies import weights_and_duals


def brute_force(weight, eps):
    """sup of |w(p) - w(q)| over a grid that is fine at both ends."""
    ends = np.logspace(-14, -1, 400)
    p = np.unique(np.concatenate([[0.0], ends, np.linspace(0, 1, 3001), 1 - ends, [1.0]]))
    seen = weight(p)
    worst = 0.0
    for q in (np.clip(p + eps, 0, 1), np.clip(p - eps, 0, 1), np.clip(p + 0.37 * eps, 0, 1)):
        worst = max(worst, float(np.abs(weight(q) - seen)[np.abs(q - p) <= eps * (1 + 1e-9)].max()))
    return worst


@settings(max_examples=60, deadline=None)
@given(weights_and_duals, st.floats(1e-9, 1.0))
def test_the_modulus_is_never_below_what_is_seen_and_near_it_when_exact(weight, eps):
    modulus, seen = weight.modulus(eps), brute_force(weight, eps)
    assert modulus >= seen * (1 - 1e-9) - 1e-15
    if weight.modulus_kind == "exact" and eps > 1e-3:
        # the grid is 3e-4 apart, so what it misses of the supremum is a step of that size
        assert modulus <= seen + weight.modulus(4e-4)


@settings(max_examples=60, deadline=None)
@given(weights_and_duals, st.floats(1e-6, 1.0))
def test_the_holder_pair_bounds_the_modulus(weight, eps):
    if weight.holder is not None:
        assert weight.modulus(eps) <= weight.holder.constant * eps**weight.holder.exponent * (1 + 1e-6) + 1e-9


def test_the_modulus_of_a_weight_that_is_not_monotone_covers_its_falls():
    weight = TverskyKahneman(0.1)
    assert weight.modulus_kind == "bound"
    first, last = weight.turning_points
    # the fall between the turning points takes 0.44 of probability
    assert weight.modulus(0.44) >= weight(first) - weight(last)


@pytest.mark.parametrize("weight", [GonzalezWu(2.0, 0.5), Prelec(2.0, 0.7), Prelec(3.0)], ids=repr)
def test_the_certified_bound_of_an_s_shaped_weight_is_tight_to_a_part_in_a_thousand(weight):
    for eps in (0.3, 0.03, 0.003):
        assert weight.modulus(eps) <= brute_force(weight, eps) * 1.003


def test_a_users_curve_is_a_weight():
    smoothstep = Weight.from_function(lambda p: p * p * (3 - 2 * p), name="smoothstep")
    assert smoothstep.is_monotone
    assert smoothstep.modulus(0.1) == pytest.approx(0.1495, rel=2e-3)  # 1.5 eps - eps^3 / 2, at the middle
    assert smoothstep.inverse(0.5) == pytest.approx(0.5)
    assert repr(smoothstep) == "Weight.from_function(smoothstep)"


def test_a_users_curve_may_be_a_function_of_one_number():
    assert Weight.from_function(lambda p: p if p < 0.5 else max(p, 0.5))(np.array([0.2, 0.7])) == pytest.approx(
        [0.2, 0.7]
    )


def test_a_users_wave_is_seen_not_to_be_monotone_and_its_modulus_is_called_an_estimate():
    wave = Weight.from_function(lambda p: p + 0.15 * np.sin(2 * np.pi * p))
    steep = Weight.from_function(lambda p: np.clip(p + 0.2 * np.sin(4 * np.pi * p), 0, 1))
    assert wave.is_monotone
    assert not steep.is_monotone
    assert steep.modulus_kind == "estimate"
    declared = Weight.from_function(lambda p: np.clip(p + 0.2 * np.sin(4 * np.pi * p), 0, 1), holder=(3.6, 1.0))
    assert declared.modulus_kind == "bound"
    assert declared.modulus(0.1) == pytest.approx(0.36)


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (lambda p: p + 0.02, r"w\(0\) = 0; got w\(0\) = 0.02 from <lambda>. Subtract the offset"),
        (lambda p: 0.9 * p, r"w\(1\) = 1; got w\(1\) = 0.9"),
        (lambda p: np.where(p == 0.5, np.nan, p), r"finite on \[0, 1\]; got w\(0.5\) = nan"),
        (lambda p: p + 2 * np.sin(np.pi * p), r"within \[0, 1\]; got w\("),
    ],
)
def test_a_curve_that_is_no_weight_is_refused(curve, message):
    with pytest.raises(ValueError, match=message):
        Weight.from_function(curve)


def test_a_declared_pair_that_the_curve_breaks_is_refused():
    with pytest.raises(ValueError, match="declared Hölder pair must bound the curve"):
        Weight.from_function(np.sqrt, holder=(1.0, 0.9))
