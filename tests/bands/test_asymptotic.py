"""The asymptotic band: its parts by hand and by plain sums, where it says nothing, and how often it holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from allais import Bounded, Normal, Preference, SubGaussian, TverskyKahneman, cvar, expected_value
from allais.bands import Asymptotic
from allais.bands._distribution_bounds import memory_of
from allais.bands.asymptotic import multiple
from allais.samples.influence import SUMS, influence
from allais.weights import Weight

BOTH = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))


def plainly(gains: Weight, losses: Weight, samples: np.ndarray) -> tuple[float, float]:
    """Variance and third moment of the influence function, read off its definition, gap by gap."""
    x, n = np.sort(samples), samples.size
    rise = [0.0]
    for k in range(1, n):  # k samples lie at or below the gap, n - k above it
        up = max(x[k], 0.0) - max(x[k - 1], 0.0)
        down = min(x[k], 0.0) - min(x[k - 1], 0.0)
        steep_up = n * (gains((n - k) / n) - gains((n - k - 1) / n))
        steep_down = n * (losses(k / n) - losses((k - 1) / n))
        rise.append(rise[-1] + up * float(steep_up) + down * float(steep_down))
    away = np.array(rise) - np.mean(rise)
    return float((away**2).sum() / (n - 1)), float((away**3).mean())


@pytest.mark.parametrize("size", [60, 700])  # in a flat memory, and in trees
@pytest.mark.parametrize("preference", [BOTH, cvar(0.1), expected_value()])
def test_influence_is_its_definition(size: int, preference: Preference) -> None:
    samples = np.random.default_rng(3).normal(0.2, 1.0, size)
    rule = Asymptotic(rarest=0.1).rule(preference, [])
    found = influence(rule.worth, memory_of(preference, samples), 0, np.zeros(SUMS), np.zeros((2, 0)))
    assert found == pytest.approx(plainly(preference.gains, preference.losses, samples), rel=1e-9)


def test_repeated_outcomes_weigh_as_often_as_they_came() -> None:
    samples = np.repeat([-2.0, 0.0, 1.0, 5.0], [3, 10, 6, 1])
    rule = Asymptotic(rarest=0.1).rule(expected_value(), [])
    found = influence(rule.worth, memory_of(expected_value(), samples), 0, np.zeros(SUMS), np.zeros((2, 0)))
    assert found == pytest.approx((samples.var(ddof=1), ((samples - samples.mean()) ** 3).mean()))


def test_the_interval_of_a_mean_by_hand() -> None:
    # 200 outcomes 0 and 1 in halves: variance 50/199, no skew; z = 2.2414 leaves 0.025 outside, and the other 0.025 is
    # for what was not seen. Student: 1 + (z^2 + 1) / (4 * 199)
    samples = np.tile([0.0, 1.0], 100)
    z = stats.norm.isf(0.0125)
    half = z * math.sqrt(50 / 199 / 200) * (1 + (z * z + 1) / (4 * 199))
    low, value, high = Asymptotic(rarest=0.1).interval(expected_value(), None, samples)
    assert (value, high - value, value - low) == pytest.approx((0.5, half, half), rel=1e-9)


def test_an_interval_reaches_further_to_the_side_of_rare_outcomes() -> None:
    gains = [100.0] * 4 + [0.0] * 1996
    low, value, high = Asymptotic(rarest=0.01).interval(expected_value(), Bounded(0, 100), gains)
    assert low == 0.0  # cut at the bound
    assert high - value > 1.3 * 2.24 * 100 * math.sqrt(0.002 / 2000)


def test_late_starts_cross_with_the_chance_of_robbins_and_siegmund() -> None:
    for exponent in (1.0, 3.0, 9.0, 30.0):
        a = multiple(exponent, True)
        assert 2 * (stats.norm.sf(a) + a * stats.norm.pdf(a)) == pytest.approx(math.exp(-exponent), rel=1e-3)
        assert 2 * stats.norm.sf(multiple(exponent, False)) == pytest.approx(math.exp(-exponent), rel=1e-3)


def test_nothing_is_said_before_the_rarest_event_had_its_chance() -> None:
    rule = Asymptotic(rarest=0.01).anytime_rule(BOTH, [])
    # (1 - 0.01)^n <= 0.05 / 2
    assert rule.least(math.log(20)) == math.ceil(math.log(0.025) / math.log(0.99)) == 368
    same = [7.0] * 300
    assert Asymptotic(rarest=0.01).interval(BOTH, None, same).high == math.inf
    # afterwards, outcomes that are all alike leave no doubt: that is what was accepted
    assert Asymptotic(rarest=0.01).interval(BOTH, None, [7.0] * 400) == pytest.approx((7.0, 7.0, 7.0))


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TypeError):
        Asymptotic()  # type: ignore[call-arg]  # how rare must be said
    with pytest.raises(ValueError, match="rarest must lie in"):
        Asymptotic(rarest=0.0)
    with pytest.raises(ValueError, match="SubGaussian"):
        Asymptotic(rarest=0.1).rule(BOTH, [SubGaussian(1.0, 1.0)])


@pytest.mark.parametrize("preference", [BOTH, expected_value()])
def test_an_interval_holds_about_as_often_as_it_says(preference: Preference) -> None:
    # 1,000 samples of 300 each; a band at its level 0.9 misses in more than 150 with probability below 1e-6
    distribution = np.random.default_rng(4).normal(size=(1_000, 300))
    truth = preference.value(Normal(0.0, 1.0))
    band = Asymptotic(rarest=0.05)
    ends = [band.interval(preference, None, samples, confidence=0.9) for samples in distribution]
    assert sum(not one.low <= truth <= one.high for one in ends) <= 150
    assert stats.binom.sf(150, 1_000, 0.1) < 1e-6
