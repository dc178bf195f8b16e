"""Every band holds the true value as often as it says, over 10,000 simulated streams.

A band at its level misses a share delta = 0.1 of streams at most. All tests allow five standard errors
of 10,000 draws more: a band exactly at its level would fail with probability 3e-7.
"""

import math

import numpy as np
import pytest

from allais import Bounded, Discrete, Finite, Normal, Preference, SubGaussian, TverskyKahneman, Uniform
from allais._kernels import loop
from allais.bands import DKW, KL, Envelope, Holder
from allais.bands.base import refresh, widen
from allais.errors import DominanceWarning
from allais.policies.core.knowledge import worth_of
from allais.samples.memory import empty_memory, insert, measure

STREAMS, DELTA = 10_000, 0.1
MOST_MISSES = DELTA + 5 * math.sqrt(DELTA * (1 - DELTA) / STREAMS)
BOTH = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
rng = np.random.default_rng(12)
RANDOM = [
    Discrete(dict(zip(rng.uniform(-5, 5, 4).round(2).tolist(), rng.dirichlet(np.ones(4)).tolist(), strict=True)))
    for _ in range(4)
]
FINITE = {
    "atoms at both ends": Discrete({0: 0.9, 1: 0.1}),
    "rare top": Discrete({0: 0.199, 0.2: 0.8, 1: 0.001}),
    "rare zero": Discrete({0: 0.02, 3: 0.98}),
    **{f"random {k}": lottery for k, lottery in enumerate(RANDOM)},
}
CONTINUOUS = {"gains": Uniform(0, 1), "gains and losses": Uniform(-2, 1), "far from 0": Uniform(2, 3)}


@loop
def share_missed(rule, kept, worth, memory, tapes, looks, exponent, truth, low, high):
    missed = 0
    for stream in range(tapes.shape[0]):
        memory.pulls[0] = 0
        memory.sizes[0] = 0
        ever = False
        look = 0
        for at in range(tapes.shape[1]):
            insert(memory, 0, tapes[stream, at], tapes[stream, at])
            if at + 1 == looks[look]:
                measure(worth, memory, 0)
                refresh(rule, kept, memory, 0)
                widen(rule, kept, memory, exponent, low, high)
                ever = ever or not low[0] <= truth <= high[0]
                look += 1
                if look == looks.size:
                    break
        missed += ever
    return missed / tapes.shape[0]


def misses(rule, rewards, lottery, exponent, looks, preference=BOTH):
    tapes = lottery.sample(np.random.default_rng(5), STREAMS * looks[-1]).reshape(STREAMS, -1)
    memory, ends = empty_memory(1, capacity=128), (np.zeros(1), np.zeros(1))
    worth = worth_of(preference, [rewards], 1)
    truth = preference.value(lottery)
    return share_missed(
        rule, rule.kept(1), worth, memory, preference.utilities(tapes), np.array(looks), exponent, truth, *ends
    )


ONCE = math.log(2 / DELTA)  # one look: the two sides fail with probability 2 e^-x
ALWAYS = math.log(1 / DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("name", FINITE)
def test_bands_of_finite_rewards_hold_at_their_level(name):
    lottery = FINITE[name]
    values = list(lottery.as_finite().outcomes)
    for rewards in (Finite(values), Bounded(min(values), max(values))):
        for looks in ([5], [60]):
            for band in (Holder(), DKW(), KL()):
                assert misses(band.rule(BOTH, [rewards]), rewards, lottery, ONCE, looks) <= MOST_MISSES
        every = list(range(1, 121))
        for band in (DKW(), KL()):
            assert misses(band.anytime_rule(BOTH, [rewards]), rewards, lottery, ALWAYS, every) <= MOST_MISSES


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTINUOUS)
def test_bands_of_continuous_rewards_hold_at_their_level(name):
    lottery = CONTINUOUS[name]
    rewards = Bounded(*lottery.support)
    for band in (Holder(), DKW(), KL()):
        assert misses(band.rule(BOTH, [rewards]), rewards, lottery, ONCE, [30]) <= MOST_MISSES
    for band in (DKW(), KL()):
        looks = [1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90]
        assert misses(band.anytime_rule(BOTH, [rewards]), rewards, lottery, ALWAYS, looks) <= MOST_MISSES


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.0, 3.0, -3.0])
def test_the_envelope_holds_for_normal_rewards(mean):
    rewards, lottery = SubGaussian(1.0, 3.0), Normal(mean, 1.0)
    assert misses(Envelope().rule(BOTH, [rewards]), rewards, lottery, ONCE, [30]) <= MOST_MISSES
    looks = [1, 2, 4, 8, 16, 32, 64]
    assert misses(Envelope().anytime_rule(BOTH, [rewards]), rewards, lottery, ALWAYS, looks) <= MOST_MISSES


@pytest.mark.slow
def test_bands_of_a_weight_that_falls_hold_at_their_level():
    with pytest.warns(DominanceWarning):
        falling = Preference(TverskyKahneman(0.2))
    cases = ((Envelope(), SubGaussian(1.0, 3.0), Normal(1.0, 1.0)), (KL(), Bounded(-1, 2), Uniform(-1, 2)))
    for band, rewards, lottery in cases:
        assert misses(band.rule(falling, [rewards]), rewards, lottery, ONCE, [30], falling) <= MOST_MISSES
        rule, looks = band.anytime_rule(falling, [rewards]), [1, 2, 4, 8, 16, 32, 64]
        assert misses(rule, rewards, lottery, ALWAYS, looks, falling) <= MOST_MISSES


def test_a_band_at_too_small_an_exponent_is_seen_to_miss():
    rewards, lottery = Finite([0, 1]), FINITE["atoms at both ends"]
    rule = KL().rule(BOTH, [rewards])
    assert misses(rule, rewards, lottery, 0.3, [60]) > MOST_MISSES
    assert misses(rule, rewards, lottery, ONCE, [60]) <= MOST_MISSES
