"""Bets: no more money is made against the truth than chance allows, and enough against what is wrong."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from allais import (
    WLUCB,
    WUCB,
    Bounded,
    Discrete,
    Preference,
    Prelec,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    Uniform,
    Weight,
    cvar,
    expected_value,
)
from allais.bands import DKW, Betting
from allais.bands._curves import DOWN, UP, curves_of
from allais.bands._tail_walks import STRENGTH
from allais.bands._wagers import LOG_CUTS, RESERVE, no_wagers
from allais.bands._wealth import HORIZONS, STAKES, _at_stake, least_wealth, log_wealth
from allais.bands.betting import BAND, bet_on, betting_rule, find_remainders, log_evidence, look_at
from allais.bands.kl import mixture_ceiling
from allais.policies.wagers import _lead
from allais.samples.layout import grown
from allais.samples.memory import empty_memory
from allais.weights import Identity, TailAverage

PEOPLE = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
RARE = Discrete({-1.0: 0.002, 0.0: 0.5, 0.1: 0.496, 1.0: 0.002})  # events at both ends
LAWS = {
    "rare": RARE,
    "two points": Discrete({-1.0: 0.4, 1.0: 0.6}),
    "at the bound": Discrete({-1.0: 0.3, 0.5: 0.7}),  # CVaR .1 is the bound itself
    "flat": Uniform(-1.0, 1.0),
    "nearly sure": Discrete({0.3: 0.998, -1.0: 0.002}),
}
VALUED = {"mean": expected_value(), "cvar": cvar(0.1), "people": PEOPLE, "Prelec": Preference(Prelec(0.65))}
LOOKS = (12, 24, 48, 96, 180, 300)


def fed(band, samples, memory, wagers, start=0):
    """The memory after samples were taken in from `start` on."""
    done = start
    while (done := int(bet_on(band, wagers, memory, samples, samples, done))) < samples.size:
        memory = grown(memory, 0)
    return memory


def most_won(band, truth, samples, exponent):
    """log of the most that was won against the truth on each side, in one run; the band may fail, too."""
    memory, wagers, most = empty_memory(1), no_wagers(1), [-math.inf, -math.inf]
    for before, look in zip((0, *LOOKS), LOOKS, strict=False):
        memory = fed(band, samples[:look], memory, wagers, before)
        for side, q in ((UP, truth + 1.0), (DOWN, 1.0 - truth)):
            beyond = q > find_remainders(band, wagers, 0, look, side, exponent)
            most[side] = max(most[side], math.inf if beyond else log_wealth(band, wagers, 0, look, side, q)[0])
    return most


@pytest.mark.parametrize("runs", [70, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("valued", VALUED)
@pytest.mark.parametrize("law", LAWS)
def test_no_more_is_won_against_the_truth_than_chance_allows(law, valued, runs):
    # 2 sides of 20 problems at 3 deltas: each fails by luck with a chance below 1e-9, all with one below 1e-6
    rng = np.random.default_rng([sorted(LAWS).index(law), sorted(VALUED).index(valued)])
    delta = 0.05
    exponent, truth = math.log(1.0 / (BAND * delta)), VALUED[valued].value(LAWS[law])
    band = betting_rule(VALUED[valued], [Bounded(-1, 1)], math.log(2.0 / delta), exponent, exponent)
    found = [most_won(band, truth, LAWS[law].sample(rng, LOOKS[-1]), exponent) for _ in range(runs)]
    for side in (UP, DOWN):
        for rate in (0.5, 0.2, 0.05):
            share = rate if band.curves.concave[side] else rate * (1.0 - BAND)
            crossed = sum(won[side] >= math.log(1.0 / share) for won in found)
            assert crossed <= stats.binom.isf(1e-9, runs, rate), (side, rate)


def test_a_cvar_that_is_the_bound_itself_is_never_refused():
    samples = LAWS["at the bound"].sample(np.random.default_rng(1), 2_000)
    low, value, high = Betting().interval(cvar(0.1), Bounded(-1, 1), samples)
    assert low == value == -1.0
    assert high < -0.9


def test_samples_that_laid_the_nodes_out_do_not_count_in_the_band():
    band, wagers = betting_rule(PEOPLE, [Bounded(-1, 1)], 4.0, 5.0, 5.0), no_wagers(1)
    fed(band, np.append([0.9] * 4, [0.1] * 60), empty_memory(1), wagers)
    find_remainders(band, wagers, 0, 64, UP, 5.0)
    above = wagers.nodes[0] > 0.2
    none, one = (mixture_ceiling(count, 60, STRENGTH, 5.0 + LOG_CUTS) for count in (0, 1))
    assert wagers.tails[0, 1][above][:-1] == pytest.approx(none, rel=1e-9)
    assert none < one


def test_the_lead_stays_where_most_is_proven_unless_another_is_better_by_the_tolerance():
    policy = TopTwo(expected_value(), Bounded(0, 1), delta=0.05, tolerance=0.1, evidence=Betting())
    learner, rng = policy.start(2, seed=1), np.random.default_rng(1)
    for _ in range(60):
        learner.tell(learner.ask(), float(rng.random()))
    rule, state = learner._engine.rule, learner._engine.state
    leader = int(state.own.leading[0])
    other, state.asked[leader] = 1 - leader, 10_000
    for ahead, leads in ((0.001, leader), (0.11, other)):
        state.memory.value[other] = state.memory.value[leader] + ahead
        _lead(rule, state)
        assert state.own.leading[0] == leads


@pytest.mark.parametrize("valued", VALUED)
def test_tangents_lie_below_the_evidence(valued):
    exponent = math.log(20.0)
    band = betting_rule(VALUED[valued], [Bounded(-1, 1)], exponent, exponent, exponent)
    samples, wagers = np.random.default_rng(1).normal(0.1, 0.2, 500).clip(-1, 1), no_wagers(1)
    memory = fed(band, samples, empty_memory(1), wagers)
    memory.value[0] = VALUED[valued].estimate(samples)
    for side in (UP, DOWN):
        assert look_at(band, wagers, memory, 0, side)
        limit = find_remainders(band, wagers, 0, 500, side, exponent)
        for q in np.linspace(0.0, limit, 40):
            exact = log_wealth(band, wagers, 0, 500, side, q)[0]
            assert log_evidence(wagers, 0, side, q) <= exact + 1e-9


@pytest.mark.parametrize("law", LAWS)
def test_the_least_wealth_lies_below_that_of_every_threshold(law):
    band = betting_rule(cvar(0.1), [Bounded(-1, 1)], 4.0, 3.0, 3.0)
    samples, wagers = LAWS[law].sample(np.random.default_rng(4), 400), no_wagers(1)
    fed(band, samples, empty_memory(1), wagers)
    begun = [*wagers.begun[0, : wagers.epochs[0]], samples.size]
    for v in np.unique([*np.linspace(-0.999, 0.9, 12), -1.0, 0.5]):
        low, rise = least_wealth(band, wagers, 0, samples.size, v + 1.0, 0.05)
        for at, found in ((v, low), (v + 0.025, low + 0.025 * rise), (v + 0.05, low + 0.05 * rise)):
            taus = at + (1.0 - at) * np.linspace(0.0, 1.0, 400)[1:] ** 2
            wealth = np.full(taus.size, np.log(RESERVE))
            for j in range(HORIZONS):
                logs = np.zeros(taus.size)
                for epoch, (start, end) in enumerate(pairwise(begun)):
                    f = _at_stake(band, wagers, 0, epoch, UP, j)
                    won = np.maximum(taus[:, None] - samples[start:end], 0.0) / (0.1 * (taus - at)[:, None])
                    logs += np.log1p(f * (won - 1.0)).sum(axis=1)
                wealth = np.logaddexp(wealth, np.log(STAKES[j]) + logs)
            assert found <= wealth.min() + 1e-6


@pytest.mark.parametrize("weight", [TverskyKahneman(0.61), Prelec(0.65), Prelec(0.65).dual(), TailAverage(0.1)])
def test_no_place_of_a_curve_rises_higher_above_a_chord_than_its_bump(weight):
    curves = curves_of(Preference(weight, weight), -1.0, 1.0)
    p = np.random.default_rng(1).random(100_000) ** 3
    i = np.minimum(np.searchsorted(curves.knots, p, side="right") - 1, curves.knots.size - 2)
    for side, region, curve in ((0, 0, weight), (1, 0, weight.dual()), (0, 1, weight.dual()), (1, 1, weight)):
        chord = np.interp(p, curves.knots, curves.heights[side, region])
        assert (curve(p) <= chord + curves.bumps[side, region, i] + 1e-12).all()


def test_it_is_narrower_than_a_band_of_the_whole_distribution():
    samples = np.random.default_rng(2).beta(2, 30, size=2_000)
    for preference in (expected_value(), cvar(0.1, costs=True), Preference(TverskyKahneman(0.61))):
        ours, theirs = (band.interval(preference, Bounded(0, 1), samples) for band in (Betting(), DKW()))
        assert ours.high - ours.low < theirs.high - theirs.low  # though DKW's holds for one look only


def test_costs_and_references_are_felt_before_they_arebet_on():
    costs = np.random.default_rng(3).gamma(4.0, 5.0, size=800).clip(0, 100)
    seen = Betting().interval(expected_value(costs=True), Bounded(0, 100), costs)
    mirrored = Betting().interval(expected_value(), Bounded(-100, 0), -costs)
    assert seen == pytest.approx(mirrored, abs=1e-2)
    shifted = Betting().interval(Preference(Identity(), reference=20.0), Bounded(0, 100), costs)
    plain = Betting().interval(expected_value(), Bounded(0, 100), costs)
    assert np.subtract(plain, shifted) == pytest.approx([20.0] * 3, abs=0.5)


def test_too_few_samples_leave_the_whole_range():
    assert Betting().interval(expected_value(), Bounded(0, 1), [0.5] * 4) == (0.0, 0.5, 1.0)


def test_what_cannot_bebet_on_is_refused_in_a_sentence():
    jump = Weight.from_function(lambda p: (p >= 0.05) * 1.0, singularities=(0.05,), name="percentile")
    with pytest.raises(ValueError, match="bets need weights without jumps"):
        Betting().interval(Preference(jump), Bounded(0, 1), [0.5] * 20)
    with pytest.raises(ValueError, match="needs bounded rewards"):
        TopTwo(expected_value(), SubGaussian(1.0, 5.0), delta=0.1, evidence=Betting())
    with pytest.raises(ValueError, match="where regret counts, in which NPTS loses less"):
        WUCB(expected_value(), Bounded(0, 1), band=Betting())
    with pytest.raises(ValueError, match="not about w"):
        WLUCB(PEOPLE, Bounded(0, 1), delta=0.1, band=Betting(), of_mean=True)
    learner = WLUCB(expected_value(), Bounded(0, 1), delta=0.1, band=Betting()).start(2, seed=1)
    with pytest.raises(ValueError, match="learns from its own choices only"):
        learner.observe(0, [0.5])
    with pytest.raises(TypeError, match='evidence must be "auto", "mixed", "ratios" or Betting'):
        TopTwo(expected_value(), Bounded(0, 1), delta=0.1, evidence="betting")
