"""An independent route to the values: formulas written anew, in 40 digits, with mpmath's own quadrature.

Each case is a pair of weights and the two tails of Y = outcome minus reference (or reference minus
outcome for costs), utilities through the utility. Nothing here comes from the library's own quadrature.

Observed: values off by at most 4e-16 of gain plus loss part, in every case, also where the distorted
tail falls like z^-1.037 or where probabilities below 1e-300 matter; the normal tables by at most 3e-15 of the sd.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import allais
from tests.numerics.formulas import (
    atom,
    beta,
    dual,
    exponential,
    gamma_of_two,
    gonzalez_wu,
    logistic,
    lognormal,
    mixture,
    normal,
    pareto,
    power,
    prelec,
    steep_middle,
    student_t,
    tversky_kahneman,
    uniform,
)

DIGITS = 40
PROMISED = 1e-9  # of gain plus loss part: what `Preference.value` promises
KEPT = 1e-13  # what it keeps in the cases below; a loss of digits should be seen here first
ROUNDING = 1e-15  # which the library's own error bound does not count
FARTHEST = 4000  # log z: the slowest tail below falls like z^-1.037, to e^-148 there


# -- the value ---------------------------------------------------------------------------------------


def seen_from(distribution, reference=0, costs=False, inverse_utility=lambda y: y):
    """The upper tail of the utilities outcome, and the one of its mirror image, as functions of z > 0."""

    def tail(side):
        def at(z):
            y = inverse_utility(side * z)
            above, below = distribution(reference - y if costs else reference + y)
            return (above, below) if (side > 0) != costs else (below, above)

        return at

    return tail(1), tail(-1)


def side_of(weight, tail, breaks, end):
    """The integral of w(P(Y > z)) over 0 < z < end; beyond the last break in the variable log z."""
    points = [mp.mpf(0), *(b for b in breaks if 0 < b < end), *([] if end == mp.inf else [end])]
    if end <= 0:
        return mp.mpf(0)

    def weighted(z):
        p, q = tail(z)
        return weight(p, q) if p > 0 else mp.mpf(0)

    total = mp.mpf(0)
    for low, high in pairwise(points):
        # each half from its own end, so that nodes next to an end are not rounded into it
        half = (high - low) / 2
        total += mp.quad(lambda y, low=low: weighted(low + y), [0, half])
        total += mp.quad(lambda y, high=high: weighted(high - y), [0, half])
    if end < mp.inf:
        return total
    start = points[-1]

    def in_logarithm(v):
        z = start * mp.exp(v)
        return z * weighted(z)

    edge, width = mp.mpf(0), mp.mpf(1)
    while edge < FARTHEST and in_logarithm(edge) > mp.mpf(10) ** -25:
        total += mp.quad(in_logarithm, [edge, edge + width])
        edge, width = edge + width, min(2 * width, 128)
    return total


@dataclass
class Case:
    build: Any  # makes the preference
    lottery: Any
    tails: Any  # of gains and of losses
    gains: Any  # the weights of both
    losses: Any = None
    breaks: tuple[Any, ...] = (1,)  # where the integrals are split, in utilities units
    loss_breaks: tuple[Any, ...] = (1,)
    top: Any = mp.inf  # the largest gain and the largest loss
    bottom: Any = mp.inf
    non_monotone: bool = False

    def preference(self):
        if not self.non_monotone:
            return self.build()
        with pytest.warns(allais.errors.DominanceWarning, match="not monotone"):
            return self.build()

    @cached_property
    def parts(self):
        with mp.workdps(DIGITS):
            gain = side_of(self.gains, self.tails[0], self.breaks, self.top)
            return gain, side_of(self.losses or self.gains, self.tails[1], self.loss_breaks, self.bottom)


def inverse_utility_of_1992(y):
    size = abs(y) if y > 0 else abs(y) / mp.mpf(2.25)
    return mp.sign(y) * size ** (1 / mp.mpf(0.88))


def inverse_of_saturation(y):
    """Of 1 - e^-x for gains, which stays below 1, and x for losses."""
    return -mp.log1p(-y) if y > 0 else y


def saturation(x):
    return np.where(x > 0.0, -np.expm1(-np.maximum(x, 0.0)), x)


tk, gonzalez = allais.TverskyKahneman, allais.GonzalezWu(0.44, 0.77)
Preference, Continuous, Normal = allais.Preference, allais.Continuous, allais.Normal
NEAR_DIVERGENCE = 1.05 / 0.61  # the distorted tail falls like z^-1.05
CASES = {
    "TK(.61), normal": Case(
        lambda: Preference(tk(0.61)), Normal(0.5, 2.0), seen_from(normal(0.5, 2)), tversky_kahneman(0.61)
    ),
    "TK(.1), normal": Case(
        lambda: Preference(tk(0.1)),
        Normal(1.0, 1.0),
        seen_from(normal(1, 1)),
        tversky_kahneman(0.1),
        non_monotone=True,
    ),
    "TK(.1), uniform": Case(
        lambda: Preference(tk(0.1)),
        allais.Uniform(-1.0, 2.0),
        seen_from(uniform(-1, 2)),
        tversky_kahneman(0.1),
        top=2,
        bottom=1,
        non_monotone=True,
    ),
    "Prelec(.65), lognormal": Case(
        lambda: Preference(allais.Prelec(0.65)),
        Continuous(stats.lognorm(1.0)),
        seen_from(lognormal(1)),
        prelec(0.65),
        bottom=0,
    ),
    "Prelec(.3), normal": Case(
        lambda: Preference(allais.Prelec(0.3)), Normal(0.0, 1.0), seen_from(normal(0, 1)), prelec(0.3)
    ),
    "Prelec(.3), far below the reference, normal": Case(
        lambda: Preference(allais.Prelec(0.3), reference=40.0),
        Normal(0.0, 1.0),
        seen_from(normal(0, 1), 40),
        prelec(0.3),
        loss_breaks=(30, 39, 40, 41, 50),
    ),
    "Power(.5), Pareto(3)": Case(
        lambda: Preference(allais.Power(0.5), reference=2.0),
        Continuous(stats.pareto(3.0)),
        seen_from(pareto(3), 2),
        power(0.5),
        bottom=1,
    ),
    "Power(.5), Student t(3)": Case(
        lambda: Preference(allais.Power(0.5)),
        Continuous(stats.t(3.0, loc=1.0)),
        seen_from(student_t(3), -1),
        power(0.5),
    ),
    "TK(.61), Student t(1.7)": Case(
        lambda: Preference(tk(0.61), reference=0.25),
        Continuous(stats.t(1.7)),
        seen_from(student_t(1.7), 0.25),
        tversky_kahneman(0.61),
    ),
    "TK(.61), Pareto near divergence": Case(
        lambda: Preference(tk(0.61)),
        Continuous(stats.pareto(NEAR_DIVERGENCE)),
        seen_from(pareto(NEAR_DIVERGENCE)),
        tversky_kahneman(0.61),
        bottom=0,
    ),
    "GonzalezWu, gamma": Case(
        lambda: Preference(gonzalez, reference=1.5),
        Continuous(stats.gamma(2.0)),
        seen_from(gamma_of_two, 1.5),
        gonzalez_wu(0.44, 0.77),
        bottom=1.5,
    ),
    "GonzalezWu, beta": Case(
        lambda: Preference(gonzalez),
        Continuous(stats.beta(0.1, 0.2)),
        seen_from(beta(0.1, 0.2)),
        gonzalez_wu(0.44, 0.77),
        breaks=(0.5,),
        top=1,
        bottom=0,
    ),
    "SteepMiddle(.5), exponential": Case(
        lambda: Preference(allais.weights.SteepMiddle(0.5)),
        Continuous(stats.expon()),
        seen_from(exponential),
        steep_middle(0.5),
        breaks=(mp.ln2, 2),
        bottom=0,
    ),
    "SteepMiddle(.1), exponential": Case(
        lambda: Preference(allais.weights.SteepMiddle(0.1)),
        Continuous(stats.expon()),
        seen_from(exponential),
        steep_middle(0.1),
        breaks=(mp.ln2, 2),
        bottom=0,
    ),
    "rank-dependent TK(.61), gamma": Case(
        lambda: Preference.rank_dependent(tk(0.61), reference=2.0),
        Continuous(stats.gamma(2.0)),
        seen_from(gamma_of_two, 2),
        tversky_kahneman(0.61),
        dual(tversky_kahneman(0.61)),
        bottom=2,
    ),
    "rank-dependent Prelec(.65), logistic costs": Case(
        lambda: Preference.rank_dependent(allais.Prelec(0.65), reference=0.5, costs=True),
        Continuous(stats.logistic()),
        seen_from(logistic, 0.5, costs=True),
        prelec(0.65),
        dual(prelec(0.65)),
    ),
    "prospect theory of 1992, normal costs": Case(
        lambda: Preference.tversky_kahneman(reference=80.0, costs=True),
        Normal(78.0, 4.0),
        seen_from(normal(78, 4), 80, costs=True, inverse_utility=inverse_utility_of_1992),
        tversky_kahneman(0.61),
        tversky_kahneman(0.69),
    ),
    "TK(.61), normal, a utility that saturates": Case(
        lambda: Preference(tk(0.61), utility=saturation),
        Normal(1.0, 2.0),
        seen_from(normal(1, 2), inverse_utility=inverse_of_saturation),
        tversky_kahneman(0.61),
        breaks=(0.5,),
        top=1,
    ),
    "TK(.61), normal and an atom": Case(
        lambda: Preference(tk(0.61)),
        allais.Mixture([Normal(0.0, 1.0), allais.Discrete({3.0: 1.0})], [0.75, 0.25]),
        seen_from(mixture((0.75, normal(0, 1)), (0.25, atom(3)))),
        tversky_kahneman(0.61),
        breaks=(1, 3),
    ),
    "TK(.61), a mixture in a mixture": Case(
        lambda: Preference(tk(0.61)),
        allais.Mixture(
            [allais.Mixture([Normal(0.0, 1.0), allais.Discrete({-2.0: 1.0})], [0.5, 0.5]), allais.Uniform(0.0, 5.0)],
            [0.5, 0.5],
        ),
        seen_from(mixture((0.25, normal(0, 1)), (0.25, atom(-2)), (0.5, uniform(0, 5)))),
        tversky_kahneman(0.61),
        breaks=(1, 5),
        loss_breaks=(1, 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_value_agrees_with_forty_digits(name):
    case = CASES[name]
    preference = case.preference()
    parts = preference.parts(case.lottery)
    gain, loss = case.parts
    with mp.workdps(DIGITS):
        off = float(abs(preference.value(case.lottery) - (gain - loss)))
    size = float(gain + loss)
    assert off < PROMISED * size
    assert (parts.gain, parts.loss) == pytest.approx((float(gain), float(loss)), rel=KEPT, abs=0.0)
    assert off <= parts.error + ROUNDING * size


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if name.endswith(", normal")])
def test_the_normal_table_agrees_with_forty_digits(name):
    case = CASES[name]
    preference = case.preference()
    gain, loss = case.parts
    with mp.workdps(DIGITS):
        expected = float(gain - loss)
    sd = case.lottery.sd
    assert preference.value_of_normal(case.lottery.mean, sd) == pytest.approx(expected, rel=0.0, abs=1e-10 * sd)


# -- closed forms, and an integral over the normal quantile -------------------------------------------


@pytest.mark.parametrize("level", [0.001, 0.05, 0.5])
def test_the_tail_average_of_a_uniform_distribution_is_the_middle_of_its_worst_end(level):
    distribution = allais.Uniform(-3.0, 7.0)
    assert allais.cvar(level).value(distribution) == pytest.approx(-3.0 + 5.0 * level, rel=PROMISED)
    as_costs = allais.cvar(level, reference=1.0, costs=True).value(distribution)
    assert as_costs == pytest.approx(1.0 - (7.0 - 5.0 * level), rel=PROMISED)


@pytest.mark.parametrize("level", [0.001, 0.05, 0.5])
def test_the_tail_average_of_a_normal_distribution_is_its_mean_below_the_quantile(level):
    with mp.workdps(DIGITS):
        quantile = mp.findroot(lambda x: mp.ncdf(x) - mp.mpf(level), stats.norm.ppf(level))
        expected = float(2 - 3 * mp.npdf(quantile) / mp.mpf(level))
    assert allais.cvar(level).value(Normal(2.0, 3.0)) == pytest.approx(expected, rel=PROMISED)


@pytest.mark.parametrize("shift", [0.5, -1.5])
def test_a_wang_weight_shifts_a_normal_distribution(shift):
    distribution = Normal(0.7, 1.3)
    ranked = Preference.rank_dependent(allais.Wang(shift)).value(distribution)
    assert ranked == pytest.approx(0.7 + 1.3 * shift, rel=PROMISED)

    def gain_of_normal(mean):  # E max(N(mean, 1), 0)
        return mean * mp.ncdf(mean) + mp.npdf(mean)

    with mp.workdps(DIGITS):
        t = mp.mpf(0.7) / mp.mpf(1.3)
        gain, loss = 1.3 * gain_of_normal(t + shift), 1.3 * gain_of_normal(shift - t)
        off = abs(Preference(allais.Wang(shift)).value(distribution) - (gain - loss)) / (gain + loss)
    assert off < PROMISED


@pytest.mark.parametrize("shift", [0.5, -1.5])
def test_a_wang_weight_of_an_exponential_distribution_agrees_with_an_integral_over_normal_quantiles(shift):
    def integrand(x):  # z = -log Phi(-x), so that P(Y > z) = Phi(-x), and dz = phi(x) / Phi(-x) dx
        return mp.ncdf(shift - x) * mp.npdf(x) / mp.ncdf(-x)

    with mp.workdps(DIGITS):
        expected = mp.quad(integrand, [-16, -4, 0, 4, 16])
    assert Preference(allais.Wang(shift)).value(Continuous(stats.expon())) == pytest.approx(
        float(expected), rel=PROMISED
    )


# -- divergence ----------------------------------------------------------------------------------------


def grows_without_end(weight, index):
    """Whether z w(P(Y > z)) rises from e^700 on: then the integral from z to e z grows with z."""
    with mp.workdps(DIGITS):
        logs = [mp.mpf(v) for v in (700, 1400, 2800, 5600)]
        heights = [v + mp.log(weight(mp.exp(-index * v), -mp.expm1(-index * v))) for v in logs]
    return all(later > earlier + 1 for earlier, later in pairwise(heights))


@pytest.mark.parametrize(
    ("weight", "formula", "index"),
    [(tk(0.61), tversky_kahneman(0.61), 1.6), (allais.Prelec(0.65), prelec(0.65), 30.0)],
    ids=["TK(.61), Pareto(1.6)", "Prelec(.65), Pareto(30)"],
)
def test_a_tail_that_is_too_heavy_for_the_weight_is_worth_infinitely_much(weight, formula, index):
    assert grows_without_end(formula, index)
    assert Preference(weight).value(Continuous(stats.pareto(index))) == math.inf
    assert Preference(weight, costs=True).value(Continuous(stats.pareto(index))) == -math.inf


def test_a_distribution_with_two_tails_that_are_too_heavy_has_no_value():
    assert grows_without_end(tversky_kahneman(0.61), 1.6)
    with pytest.raises(allais.errors.UndefinedValueError, match="both of Continuous"):
        Preference(tk(0.61)).value(Continuous(stats.t(1.6)))
