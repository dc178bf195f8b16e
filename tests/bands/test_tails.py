"""DKW, KL and envelope bands are the integrals that their pages say, and refuse what breaks them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import betaln

from allais import Bounded, Finite, Normal, Power, Preference, Prelec, SubGaussian, TverskyKahneman
from allais.bands import DKW, KL, Envelope, Holder
from allais.bands._distribution_bounds import ends_of, memory_of
from allais.bands._tail_walks import IDLE, STRENGTH, log_ratio
from allais.bands.base import anytime_rule, widen
from allais.bands.kl import kl_ceiling
from allais.errors import DominanceWarning
from tests.strategies import monotone_weights

PEOPLE = Preference(TverskyKahneman(0.61))
BOTH = Preference.tversky_kahneman(reference=1.0)
COSTS = Preference(TverskyKahneman(0.61), Power(0.7), reference=2.0, costs=True)
with pytest.warns(DominanceWarning):
    FALLING = Preference(TverskyKahneman(0.2))  # falls between 0.03 and 0.2


def plain(preference, support, samples, ceiling):
    """Both ends of the value, by the definition: bounds on P(Y >= z) at each z, seen through the weights."""
    utility = preference.utilities(np.asarray(samples, dtype=float))
    low, high = np.sort(preference.utilities(np.array(support)))
    pulls = utility.size

    def side(weight, outcomes, start, end):
        least = most = max(start, 0.0)
        cuts = np.unique(np.concatenate([outcomes[outcomes > max(start, 0.0)], [max(start, 0.0), end]]))
        for inner, outer in pairwise(cuts):
            count = int((outcomes >= outer).sum())
            bounds = 1.0 - ceiling(pulls - count, pulls), ceiling(count, pulls)
            p = np.clip(np.linspace(*bounds, 4001), 0.0, 1.0)
            inside = [t for t in weight.turning_points if bounds[0] < t < bounds[1]]
            reached = weight(np.concatenate([p, inside]))
            least += (outer - inner) * reached.min()
            most += (outer - inner) * reached.max()
        return least, most

    gain = side(preference.gains, utility, low, high) if high > 0 else (0.0, 0.0)
    loss = side(preference.losses, -utility, -high, -low) if low < 0 else (0.0, 0.0)
    return gain[0] - loss[1], gain[1] - loss[0]


def dkw(exponent):
    return lambda count, pulls: min(count / pulls + math.sqrt(exponent / (2 * pulls)), 1.0)


def kl(exponent, cuts):
    def divergence(p, q):
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) if 0 < p < 1 else -math.log(1 - q)

    def ceiling(count, pulls):
        p, level = count / pulls, (exponent + math.log(cuts or pulls)) / pulls
        return 1.0 if p == 1 else brentq(lambda q: divergence(p, q) - level, p + 1e-15, 1 - 1e-16, xtol=1e-15)

    return ceiling


def kl_always(exponent, cuts):
    def excess(q, count, pulls):
        a, b = STRENGTH * q, STRENGTH * (1 - q)
        ratio = betaln(a + count, b + pulls - count) - betaln(a, b)
        ratio -= count * math.log(q) + (pulls - count) * math.log1p(-q)
        return np.logaddexp(math.log(IDLE), math.log(1 - IDLE) + ratio) - exponent - math.log(cuts)

    def ceiling(count, pulls):
        p = max(count / pulls, 1e-12)
        last = 1 - 1e-13
        if count == pulls or excess(last, count, pulls) <= 0:
            return 1.0
        return brentq(excess, p, last, args=(count, pulls), xtol=1e-14)

    return ceiling


def kl_grid(exponent):
    """For an unknown support: the first point of a grid that is refused, by the shares of levels and points."""
    shares = {r: 1 / (1 + ((r - 8) / 2) ** 2) for r in range(3, 21)}

    def ceiling(count, pulls):
        level = min(3 + int(math.log2(pulls) / 2), 20)
        q = np.sin(np.pi / 2 * np.arange(1, 2**level) / 2**level) ** 2
        strength = max(4**level / 2048, 0.5)
        a, b = strength * q, strength * (1 - q)
        ratio = betaln(a + count, b + pulls - count) - betaln(a, b) - count * np.log(q) - (pulls - count) * np.log1p(-q)
        watched = np.logaddexp(math.log(IDLE), math.log(1 - IDLE) + ratio) + math.log(
            shares[level] / sum(shares.values()) / 2**level
        )
        refused = (watched > exponent) & (q > count / pulls)
        return q[refused][0] if refused.any() else 1.0

    return ceiling


SAMPLES = [0.0] * 30 + [3.0] * 5 + [-2.0] * 7 + [1.0] * 4 + [5.0]
VALUES = [-2.0, 0.0, 1.0, 3.0, 5.0]


def ends(rule, preference, samples, exponent):
    return ends_of(rule, memory_of(preference, np.asarray(samples, dtype=float)), 0, exponent)


@pytest.mark.parametrize("preference", [PEOPLE, BOTH, COSTS, FALLING], ids=["people", "both", "costs", "falling"])
@pytest.mark.parametrize("exponent", [0.7, 3.0, 9.0])
def test_every_band_is_its_definition(preference, exponent):
    bounded, finite = Bounded(-2.5, 6.0), Finite(VALUES)
    cases = [
        (DKW().rule(preference, [bounded]), (-2.5, 6.0), dkw(exponent)),
        (KL().rule(preference, [finite]), (-2.0, 5.0), kl(exponent, 4)),
        (KL().rule(preference, [bounded]), (-2.5, 6.0), kl(exponent, None)),
        (KL().anytime_rule(preference, [finite]), (-2.0, 5.0), kl_always(exponent, 4)),
        (KL().anytime_rule(preference, [bounded]), (-2.5, 6.0), kl_grid(exponent)),
    ]
    for rule, support, ceiling in cases:
        low, high = ends(rule, preference, SAMPLES, exponent)
        assert (low, high) == pytest.approx(plain(preference, support, SAMPLES, ceiling), abs=2e-7)
        assert low <= preference.estimate(SAMPLES) <= high


@settings(max_examples=40)
@given(st.floats(0.0, 1.0), st.floats(1e-6, 5.0))
def test_the_kl_ceiling_is_the_root(p, level):
    q = kl_ceiling(p, level)
    assert p <= q <= 1.0
    if 1e-9 < p < 1 - 1e-9 and q < 1 - 1e-9:
        assert p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) == pytest.approx(level, rel=1e-6, abs=1e-12)


@settings(max_examples=40)
@given(st.integers(1, 400), st.floats(0.0, 1.0), st.floats(0.01, 0.98), st.floats(0.001, 0.01))
def test_the_mixtures_ratio_is_convex_so_that_its_region_is_an_interval(pulls, share, q, step):
    count = round(share * pulls)
    middle = log_ratio(count, pulls, STRENGTH, q + step / 2)
    assert middle <= 0.5 * (log_ratio(count, pulls, STRENGTH, q) + log_ratio(count, pulls, STRENGTH, q + step)) + 1e-9


@settings(max_examples=60)
@given(monotone_weights, st.lists(st.floats(-3, 5).map(lambda x: round(x, 1)), min_size=1, max_size=40))
def test_dkw_lies_inside_the_holder_interval(weight, samples):
    preference = Preference(weight, weight.dual())
    inner = DKW().interval(preference, Bounded(-3, 5), samples, 0.9)
    outer = Holder().interval(preference, Bounded(-3, 5), samples, 0.9)
    assert outer.low - 1e-9 <= inner.low <= inner.value + 1e-12
    assert inner.value - 1e-12 <= inner.high <= outer.high + 1e-9


def test_on_trees_dkw_is_exact_and_kl_at_most_a_sixth_wider():
    samples = np.random.default_rng(3).uniform(-1, 2, size=700).round(6)
    for preference in (PEOPLE, BOTH, COSTS):
        rule = DKW().rule(preference, [Bounded(-1, 2)])
        assert ends(rule, preference, samples, 3.0) == pytest.approx(
            plain(preference, (-1, 2), samples, dkw(3.0)), abs=1e-9
        )
        low, high = ends(KL().rule(preference, [Bounded(-1, 2)]), preference, samples, 3.0)
        exact = plain(preference, (-1, 2), samples, kl(3.0, None))
        assert low <= exact[0] + 1e-9
        assert high >= exact[1] - 1e-9
        assert high - low <= 7 / 6 * (exact[1] - exact[0])


@pytest.mark.parametrize(
    ("size", "exponent"),
    [
        *((130, exponent) for exponent in (-2.0, 0.7, 3.0, 20.0)),
        (700, 3.0),
        *(pytest.param(700, exponent, marks=pytest.mark.slow) for exponent in (-2.0, 0.7, 20.0)),
        *(pytest.param(3_000, exponent, marks=pytest.mark.slow) for exponent in (-2.0, 0.7, 3.0, 20.0)),
    ],
)
def test_on_trees_the_grid_of_an_unknown_support_is_exact(size, exponent):
    rng = np.random.default_rng(3)
    rare = np.where(rng.random(size) < 0.01, rng.uniform(4, 5, size), rng.uniform(-1, 2, size))
    for preference in (PEOPLE, BOTH, COSTS, FALLING):
        rule = KL().anytime_rule(preference, [Bounded(-1.5, 6)])
        exact = plain(preference, (-1.5, 6), rare, kl_grid(exponent))
        assert ends(rule, preference, rare, exponent) == pytest.approx(exact, abs=1e-9)


def test_one_outcome_needs_no_interval():
    assert KL().interval(PEOPLE, Finite([7]), [7.0] * 3) == (7.0, 7.0, 7.0)
    assert KL().interval(COSTS, Finite([7]), [7.0]) == (-5.0, -5.0, -5.0)
    rule = anytime_rule(KL(), PEOPLE, [Finite([7])])
    assert ends(rule, PEOPLE, [7.0], 5.0) == (7.0, 7.0)


def test_an_arm_never_told_may_be_worth_anything():
    rule = KL().rule(PEOPLE, [Finite([0, 1])] * 2)
    memory = memory_of(PEOPLE, np.array([1.0]))
    low, high = np.zeros(1), np.zeros(1)
    memory.pulls[0] = 0
    widen(rule, rule.kept(2), memory, 1.0, low, high)
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_the_envelope_is_far_inside_the_truncated_holder_interval():
    samples = np.random.default_rng(1).normal(0.5, 1.0, size=2_000)
    for preference in (PEOPLE, Preference(Prelec(0.3)), Preference(Power(0.5), reference=1.0, costs=True)):
        exact = preference.value(Normal(0.5, 1.0))
        inner = Envelope().interval(preference, SubGaussian(1.0, 5.0), samples)
        outer = Holder().interval(preference, SubGaussian(1.0, 5.0), samples)
        assert inner.low <= exact <= inner.high
        assert inner.high - inner.low < 0.3 * (outer.high - outer.low)


def test_beyond_the_samples_a_weight_that_falls_counts_with_its_greatest_value():
    weight = FALLING.gains
    p = np.exp(-0.5 * np.linspace(0.0, 30.0, 300_001) ** 2)
    peaks = np.maximum.accumulate(weight(p)[::-1])[::-1]  # the greatest w of any smaller probability
    lens = Envelope().rule(FALLING, [SubGaussian(1.0, 0.0)]).gains
    assert lens.whole == pytest.approx(np.trapezoid(peaks, dx=1e-4), rel=1e-5)
    assert lens.whole > np.trapezoid(weight(p), dx=1e-4) + 0.01  # which w itself would miss


def test_the_envelope_of_a_weight_that_falls_holds_the_value():
    samples = np.random.default_rng(1).normal(0.5, 1.0, size=2_000)
    found = Envelope().interval(FALLING, SubGaussian(1.0, 5.0), samples)
    assert found.low <= FALLING.value(Normal(0.5, 1.0)) <= found.high
    assert found.high - found.low < 2.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KL().rule(PEOPLE, [SubGaussian(1.0, 0.0)]), "the KL band needs bounded rewards; got SubGaussian"),
        (lambda: DKW().anytime_rule(PEOPLE, [SubGaussian(1.0, 0.0)]), "the DKW band needs bounded rewards"),
        (lambda: KL().interval(PEOPLE, Finite([0, 1]), [0.5]), "one of the 2 declared values; got 0.5"),
        (lambda: KL().interval(PEOPLE, Bounded(0, 1), []), "rewards must not be empty"),
        (lambda: DKW().interval(PEOPLE, Bounded(0, 1), [1.0], 1.0), r"confidence must lie in \(0, 1\)"),
        (lambda: Envelope().rule(BOTH, [SubGaussian(1.0, 0.0)]), "with a utility"),
    ],
)
def test_what_would_break_a_band_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
