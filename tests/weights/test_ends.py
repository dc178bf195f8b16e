"""Weights and duals next to 0 and 1, against 40 digits and more."""

import warnings
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from allais import (
    Continuous,
    Discrete,
    GonzalezWu,
    Power,
    Preference,
    Prelec,
    TverskyKahneman,
    ValueStream,
    Wang,
    Weight,
    cvar,
)
from allais.errors import AccuracyWarning
from allais.weights import Identity, SteepMiddle, TailAverage

DIGITS = 400  # 1 - (1 - p) must keep 40 digits of p = 1e-300


@cache
def quantile(p):
    """The standard normal quantile: Newton's method, from SciPy's."""
    if p > mp.mpf(1) / 2:
        return -quantile(1 - p)
    x = mp.mpf(float(special.ndtri_exp(float(mp.log(p)))))
    for _ in range(6):  # the digits double: 16, 32, ...
        x -= (mp.ncdf(x) - p) / mp.npdf(x)
    return x


def tversky_kahneman(eta):
    return lambda p: p**eta / (p**eta + (1 - p) ** eta) ** (1 / mp.mpf(eta))


def gonzalez_wu(gamma, delta):
    return lambda p: delta * p**gamma / (delta * p**gamma + (1 - p) ** gamma)


def prelec(alpha, beta):
    return lambda p: mp.exp(-beta * (-mp.log(p)) ** alpha)


def steep_middle(alpha):
    return lambda p: (1 + mp.sign(2 * p - 1) * abs(2 * p - 1) ** alpha) / 2


def power(alpha):
    return lambda p: p**alpha


def tail_average(level):
    return lambda p: max(mp.mpf(0), 1 - (1 - p) / level)


def wang(shift):
    return lambda p: mp.ncdf(quantile(p) + shift)


FORMULAS = {
    Identity(): lambda p: p,
    **{TverskyKahneman(eta): tversky_kahneman(mp.mpf(eta)) for eta in (0.1, 0.28, 0.61, 0.95, 1.0)},
    **{Prelec(*pair): prelec(*map(mp.mpf, pair)) for pair in ((0.05, 1.0), (0.3, 1.0), (0.65, 1.1), (1, 0.5), (2, 3))},
    **{GonzalezWu(*pair): gonzalez_wu(*map(mp.mpf, pair)) for pair in ((0.2, 0.5), (0.44, 0.77), (1, 2), (3, 0.3))},
    **{Power(alpha): power(mp.mpf(alpha)) for alpha in (0.1, 0.5, 2.0, 5.0)},
    **{SteepMiddle(alpha): steep_middle(mp.mpf(alpha)) for alpha in (0.1, 0.5, 1.0)},
    **{TailAverage(level): tail_average(mp.mpf(level)) for level in (1e-12, 0.01, 0.05, 0.3, 1.0)},
    **{Wang(shift): wang(mp.mpf(shift)) for shift in (-2.0, -0.5, 0.5, 2.0)},
}
SMALL = [10.0**-k for k in (300, 250, 200, 100, 50, 20, 17, 16, 15, 14, 12, 10, 8, 6, 4, 3, 2, 1)] + [0.25, 0.4]
LARGE = [0.6, 0.75, 0.9, 0.99, 0.999, *(1.0 - 2.0**-k for k in (20, 30, 40, 53))]


def off(seen, exact):
    """The relative error; where the exact weight underflows, what is left of it."""
    return float(abs(mp.mpf(float(seen)) - exact) / max(exact, mp.mpf(10) ** -305))


@pytest.mark.parametrize("weight", FORMULAS, ids=repr)
def test_weights_and_duals_are_exact_next_to_zero_and_one(weight):
    formula, dual = FORMULAS[weight], weight.dual()
    with mp.workdps(DIGITS):
        for p in SMALL + LARGE:
            exact, exact_dual = formula(mp.mpf(p)), 1 - formula(1 - mp.mpf(p))
            # a logarithm of -690 is a double: its last bit is 1.1e-13, and Wang's normal squares it
            assert off(weight(p), exact) < 4e-13, p
            assert off(dual(p), exact_dual) < 4e-13, p
        for p in SMALL:  # with both tails known, also from the other side
            low, high = np.array([p]), np.array([1.0 - p])
            assert off(weight.of_tails(low, high)[0], formula(mp.mpf(p))) < 4e-13, p
            assert off(dual.of_tails(low, high)[0], 1 - formula(1 - mp.mpf(p))) < 4e-13, p
            assert off(weight.of_tails(high, low)[0], formula(1 - mp.mpf(p))) < 4e-13, p


def test_the_dual_of_prelec_reaches_beyond_the_smallest_double():
    # 1 - w(1 - p) = p^alpha to first order; p = e^-5000 is no double, its logarithm is
    far = np.array([-5000.0])
    assert Prelec(0.05).dual().of_logs(far, np.zeros(1))[0] == pytest.approx(np.exp(-250.0), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("p", [1e-3, 1e-14, 1e-17, 1e-100, 1e-300])
def test_the_conditional_value_at_risk_of_a_rare_loss_is_exact(p):
    assert cvar(0.05).value(Discrete({-1.0: p, 0.0: 1.0 - p})) == pytest.approx(-p / 0.05, rel=1e-12, abs=0.0)


def tail(p):
    return np.maximum(1.0 - (1.0 - p) / 0.05, 0.0)


def steep_at_one(p):
    return 1.0 - (1.0 - p) ** 0.3


@pytest.mark.filterwarnings("ignore::allais.errors.AccuracyWarning")
@pytest.mark.parametrize("p", [0.3, 1e-3, 1e-9, 1e-13, 1e-14, 3e-16, 1e-17, 1e-100])
@pytest.mark.parametrize(("curve", "dual"), [(tail, lambda p: min(p / 0.05, 1.0)), (steep_at_one, lambda p: p**0.3)])
def test_a_curve_of_ones_own_sees_doubles_and_says_what_that_hides(curve, dual, p):
    preference = Preference.rank_dependent(Weight.from_function(curve))
    found = preference.parts(Discrete({-2.0: p, 0.0: 1.0 - p}))
    assert abs(found.loss - 2.0 * dual(p)) <= found.error
    assert found.error < 1e-4  # 1e-16 to the power of 0.3, twice
    gains = preference.parts(Discrete({0.0: p, 2.0: 1.0 - p}))
    assert abs(gains.gain - 2.0 * (1.0 - dual(p))) <= gains.error + 4e-16
    stream = ValueStream(preference)
    stream.add_many([-2.0, *[0.0] * 99])
    assert stream.value() == pytest.approx(-2.0 * dual(0.01))


def test_a_rare_loss_that_a_curve_of_ones_own_cannot_resolve_is_warned_of():
    preference = Preference.rank_dependent(Weight.from_function(tail))
    with pytest.warns(AccuracyWarning, match=r"to within .* only"):
        preference.value(Discrete({-1.0: 1e-14, 0.0: 1.0 - 1e-14}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        preference.value(Discrete({-1.0: 1e-3, 0.0: 1.0 - 1e-3}))


def test_the_conditional_value_at_risk_of_a_distribution_without_a_mean_is_infinite():
    heavy = Continuous(stats.pareto(0.9))
    assert cvar(0.05).gains.exponent_at_zero == np.inf
    assert cvar(0.05).losses.exponent_at_zero == pytest.approx(1.0)
    assert cvar(0.05, costs=True).value(heavy) == -np.inf
