"""Distributions judged as a whole: the ratio is a martingale, and the ends are certified and close."""

import math

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multinomial

from allais import Bounded, Finite, Preference, TverskyKahneman
from allais.bands import KL
from allais.bands._joint_ends import MOST
from allais.bands._joint_test import _distribution_end, distribution_rule
from allais.bands._tail_walks import IDLE, STRENGTH
from allais.errors import DominanceWarning
from allais.policies.core.knowledge import worth_of
from allais.samples.layout import remembered
from allais.samples.memory import measure

BOTH = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))


def log_ratio(distribution, counts):
    """The mixture's likelihood over the distribution's own, from the formula; distributions in rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = (
            gammaln(STRENGTH * distribution + counts) - gammaln(STRENGTH * distribution) - counts * np.log(distribution)
        )
    each = np.where(np.asarray(counts) == 0, 0.0, each)
    n = np.sum(counts)
    return each.sum(axis=-1) + gammaln(STRENGTH) - gammaln(STRENGTH + n)


def test_the_ratio_of_the_true_distribution_is_one_on_average():
    distribution, n = np.array([0.7, 0.25, 0.05]), 9
    counts = [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
    mean = sum(math.exp(log_ratio(distribution, np.array(c))) * multinomial.pmf(c, n, distribution) for c in counts)
    assert mean == pytest.approx(1.0, abs=1e-10)


def test_the_ratio_of_the_true_distribution_is_rarely_ever_large():
    """4,000 streams of 1,000 samples; at level delta, five standard errors more fail with probability 3e-7."""
    rng = np.random.default_rng(5)
    distribution, streams = np.array([0.6, 0.3, 0.08, 0.02]), 4_000
    highest = np.full(streams, -np.inf)
    counts = np.zeros((streams, distribution.size))
    for n in range(1, 1_001):
        counts[np.arange(streams), rng.choice(distribution.size, size=streams, p=distribution)] += 1
        each = (
            gammaln(STRENGTH * distribution + counts) - gammaln(STRENGTH * distribution) - counts * np.log(distribution)
        )
        highest = np.maximum(highest, each.sum(axis=1) + gammaln(STRENGTH) - gammaln(STRENGTH + n))
    for delta in (0.5, 0.2, 0.05):
        share = np.mean(np.log(IDLE + (1 - IDLE) * np.exp(highest)) >= math.log(1 / delta))
        assert share <= delta + 5 * math.sqrt(delta * (1 - delta) / streams)


def end_of(preference, rewards, values, counts, sign, exponent, aside=()):
    rule = distribution_rule(KL().anytime_rule(preference, [rewards]), preference, [rewards])
    utility = preference.utilities(np.array(values, dtype=float))
    memory = remembered([(utility, np.array(values, dtype=float), np.array(counts))], np.zeros(1), np.zeros(1))
    measure(worth_of(preference, [rewards], 1), memory, 0)
    kept = rule.kept(1)
    kept.aside[0, : len(aside)] = aside
    return sign * _distribution_end(rule, kept, memory, 0, sign, exponent, np.inf), float(memory.value[0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_outcomes_that_were_set_aside_do_not_count(sign):
    known = Bounded(-1, 3)
    whole = end_of(BOTH, known, [-0.5, 0.0, 2.0], [1, 12, 40], sign, 6.0, aside=[-0.5, 0.0, 0.0, 2.0])[0]
    assert whole == pytest.approx(end_of(BOTH, known, [0.0, 2.0], [10, 39], sign, 6.0)[0], rel=1e-2)
    assert whole != pytest.approx(end_of(BOTH, known, [-0.5, 0.0, 2.0], [1, 12, 40], sign, 6.0)[0], rel=1e-2)
    assert end_of(BOTH, known, [0.0, 2.0], [1, 1], sign, 6.0, aside=[0.0, 2.0])[0] == sign * np.inf  # nothing is left


def best_distribution(values, counts, sign, exponent):
    """The best value that a random search finds among distributions that are not refuted."""
    rng = np.random.default_rng(1)
    values, counts = np.array(values, dtype=float), np.array(counts, dtype=float)
    level = math.log((math.exp(exponent) - IDLE) / (1.0 - IDLE))

    def worth(distributions):
        tails = np.cumsum(distributions[:, ::-1], axis=1)[:, ::-1]
        up, down = np.diff(np.maximum(values, 0.0)), np.diff(np.minimum(values, 0.0))
        beyond = np.clip(tails[:, 1:], 0.0, 1.0)
        inside = (up * BOTH.gains(beyond)).sum(axis=1) - (down * BOTH.losses(1.0 - beyond)).sum(axis=1)
        return sign * (inside + max(values[0], 0.0) + min(values[-1], 0.0))

    centre, best, size = (counts + 0.01) / (counts + 0.01).sum(), -np.inf, 0.5
    for _ in range(80):
        distributions = centre * np.exp(size * rng.normal(size=(4_000, values.size)))
        distributions /= distributions.sum(axis=1, keepdims=True)
        found = np.where(log_ratio(distributions, counts) <= level, worth(distributions), -np.inf)
        if found.max() > best:
            best, centre = found.max(), distributions[found.argmax()]
        else:
            size *= 0.8
    return sign * best


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("exponent", [0.5, 4.0, 9.0])
@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([0, 50], [900, 100]),
        ([0, 30], [800, 200]),  # what was never seen may be 50
        ([-10, 0, 30], [3, 80, 17]),
        ([-20, -5, 20, 50], [2, 500, 490, 8]),
        ([-20, 1, 2, 50], [1, 2_000, 3_000, 1]),
    ],
)
def test_an_end_lies_beyond_every_distribution_that_is_left_and_close_to_the_last(values, counts, sign, exponent):
    rewards = Bounded(-20, 50)
    end, estimate = end_of(BOTH, rewards, values, counts, sign, exponent)
    whole = list(zip(values, counts, strict=True))
    bound = 50 if sign > 0 else -20
    if bound not in values:
        whole = sorted([*whole, (bound, 0)])
    reached = best_distribution([value for value, _ in whole], [count for _, count in whole], sign, exponent)
    assert sign * (end - reached) >= -1e-9
    # the ends come within 1/128 of the distance, and the search within a hundredth
    assert abs(end - reached) <= 0.03 * abs(reached - estimate) + 1e-6


def test_distributions_with_many_values_and_weights_that_turn_are_left_to_the_cuts():
    values = list(range(MOST + 1))
    assert end_of(BOTH, Bounded(0, 9), values, [5] * len(values), 1.0, 3.0)[0] == np.inf
    with pytest.warns(DominanceWarning):
        turning = Preference(TverskyKahneman(0.25))
    rewards = [Finite([0, 1]), Bounded(0, 1)]
    assert not distribution_rule(KL().anytime_rule(turning, rewards), turning, rewards).whole.any()
    assert distribution_rule(KL().anytime_rule(BOTH, rewards), BOTH, rewards).few.tolist() == [True, False]


def test_an_arm_with_one_known_outcome_is_worth_it():
    assert end_of(BOTH, Finite([7]), [7], [3], 1.0, 5.0) == (7.0, 7.0)
    assert end_of(BOTH, Finite([7]), [7], [3], -1.0, 5.0)[0] == 7.0
