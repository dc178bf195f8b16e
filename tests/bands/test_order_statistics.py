"""Intervals of percentiles by order statistics, and two percentiles judged together."""

import math

import numpy as np
import pytest
from scipy.special import betaln

from allais import (
    WLUCB,
    Bandit,
    Bounded,
    Discrete,
    PairwiseScreening,
    PatientTopTwo,
    TopTwo,
    Uniform,
    best_arm,
    expected_value,
    mixed,
    quantile,
)
from allais.bands import Asymptotic
from allais.bands._distribution_bounds import ends_of, memory_of
from allais.bands._order_statistics import (
    SPREAD,
    _apart_together,
    count_up_to,
    meeting,
    order_statistic,
    quantile_rule,
)
from allais.bands._tail_walks import IDLE
from allais.bands.quantiles import least_evidence, sorted_group, tilts
from allais.learner import Learner
from allais.theory import characteristic_time, k_inf

WAITS = [  # in whole minutes; the 90th percentiles are 4, 4 and 3
    Discrete({1: 0.3, 2: 0.3, 3: 0.25, 4: 0.09, 5: 0.06}),
    Discrete({1: 0.3, 2: 0.3, 3: 0.28, 4: 0.05, 5: 0.07}),
    Discrete({1: 0.2, 2: 0.3, 3: 0.43, 4: 0.04, 5: 0.03}),
]


def log_mixture(k, n, tau):
    """Methods, section 8, with IDLE of the wealth left idle."""
    c = SPREAD / min(tau, 1.0 - tau)
    log_m = betaln(k + tau * c, n - k + (1 - tau) * c) - betaln(tau * c, (1 - tau) * c)
    return np.logaddexp(np.log(IDLE), np.log(1 - IDLE) + log_m - k * np.log(tau) - (n - k) * np.log1p(-tau))


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 7, 60, 500, 3_000])
@pytest.mark.parametrize("atoms", [False, True])
def test_an_interval_holds_the_order_statistics_whose_counts_may_be(tau, n, atoms):
    rng = np.random.default_rng(n)
    samples = rng.integers(-3, 4, n).astype(float) if atoms else rng.normal(size=n)
    preference, exponent = quantile(tau), 3.0
    counts = np.arange(n + 1)
    possible = counts[log_mixture(counts, n, tau) <= exponent]
    ordered = np.sort(samples)
    low = ordered[possible[0] - 1] if possible[0] > 0 else -np.inf
    high = ordered[possible[-1]] if possible[-1] < n else np.inf
    memory = memory_of(preference, samples)
    assert ends_of(quantile_rule(preference, [], always=True), memory, 0, exponent) == (low, high)
    costs = quantile(1.0 - tau, costs=True)  # the mirror image
    assert ends_of(quantile_rule(costs, [], always=True), memory_of(costs, -samples), 0, exponent) == (low, high)


def test_ranks_and_counts_are_those_of_the_sorted_samples():
    rng = np.random.default_rng(2)
    for samples in (rng.integers(-9, 9, 500) / 4.0, rng.normal(size=2_000), np.array([0.0, 0.0, 1.0])):
        memory, ordered = memory_of(expected_value(), samples), np.sort(samples)
        for rank in (1, 2, samples.size // 2, samples.size):
            assert order_statistic(memory, 0, min(rank, samples.size), True) == ordered[min(rank, samples.size) - 1]
        for x in (-9.0, -0.25, 0.0, 0.25, ordered[1], 9.0):
            assert count_up_to(memory, 0, x, True) == (samples <= x).sum()
            assert count_up_to(memory, 0, x, False) == (samples < x).sum()


def test_an_interval_in_all_rounds_ever_fails_with_its_chance_at_atoms_and_gaps():
    """The chance is 0.05 at most: more than 40 of 300 runs have a chance below 1e-9."""
    rng = np.random.default_rng(3)
    rule = quantile_rule(quantile(0.9), [], always=True)
    drawn = {
        "atom": (lambda n: rng.choice([1.0, 2.0, 3.0], n, p=[0.5, 0.45, 0.05]), 2.0, 2.0),
        "edge": (lambda n: rng.choice([1.0, 2.0, 3.0], n, p=[0.5, 0.4, 0.1]), 2.0, 3.0),  # any of these is a quantile
        "gap": (lambda n: np.where(rng.random(n) < 0.9, rng.random(n), 5.0 + rng.random(n)), 1.0, 5.0),
    }
    for draw, least, most in drawn.values():
        failed = 0
        for _ in range(300):
            samples = draw(2_000)
            looks = [
                ends_of(rule, memory_of(quantile(0.9), samples[:n]), 0, math.log(20.0))
                for n in (20, 50, 100, 200, 400, 700, 1_000, 1_500, 2_000)
            ]
            failed += any(low > most or high < least for low, high in looks)
        assert failed <= 40


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_each_end_by_itself_ever_fails_with_its_chance_at_a_smaller_exponent(tau):
    """The chances that the count of a true quantile is ever refused as too small, and as too great, are exact."""
    exponent = math.log(20.0)
    shown = quantile_rule(quantile(tau), [], always=True).one_end(exponent)
    assert shown < exponent - 0.6  # nearly log 2 for one side, and what stays idle
    for sign in (-1.0, 1.0):
        alive, failed = np.array([1.0]), 0.0
        for n in range(1, 1_500):
            stays, moves = np.append(alive * (1.0 - tau), 0.0), np.append(0.0, alive * tau)
            alive, k = stays + moves, np.arange(n + 1.0)
            refused = (log_mixture(k, n, tau) > shown) & (sign * (k - tau * n) > 0.0)
            failed += alive[refused].sum()
            alive[refused] = 0.0
        assert 0.01 < failed <= 0.05


def test_the_asymptotic_band_takes_percentiles_and_refuses_a_jump_beside_a_slope():
    low, value, high = Asymptotic(rarest=0.01).interval(quantile(0.5), None, np.arange(101.0))
    assert (low, value, high) == (36.0, 50.0, 64.0)
    with pytest.raises(ValueError, match=r"needs weights without jumps.*Use quantile\(...\) alone"):
        Asymptotic(rarest=0.01).rule(mixed((0.5, expected_value()), (0.5, quantile(0.9))), [])


@pytest.mark.parametrize(
    "policy",
    [
        TopTwo(quantile(0.9, costs=True), Bounded(0, 10), delta=0.05),
        WLUCB(quantile(0.9, costs=True), Bounded(0, 10), delta=0.05),
        WLUCB(quantile(0.9, costs=True), band=Asymptotic(rarest=0.1), delta=0.05),
        PairwiseScreening(quantile(0.9, costs=True), delta=0.05, rarest=0.1),
        PairwiseScreening(quantile(0.9, costs=True), delta=0.05, rarest=0.1, common_random_numbers=True),
        PatientTopTwo(quantile(0.9, costs=True), Bounded(0, 10), budget=4_000),
    ],
    ids=lambda policy: policy.name,
)
def test_the_best_percentile_is_found_where_outcomes_are_few(policy):
    answer = best_arm(policy, Bandit(WAITS, ["a", "b", "c"]), seed=7, max_samples=50_000)
    assert (answer.arm, answer.settled) == ("c", True)
    assert answer.samples < 12_000
    if isinstance(policy, PairwiseScreening):
        assert answer.promise == "proven"


def test_two_percentiles_meet_where_both_have_shown_least_against_it():
    """By hand: the level is 1/2, the leader has 10 of its 40 samples at or below 1, the rival 30 of its 40."""
    preference = quantile(0.5)
    leader, rival = np.repeat([1.0, 2.0], [10, 30]), np.repeat([1.0, 2.0], [30, 10])
    learner = TopTwo(preference, Bounded(0, 3), delta=0.05).start(2, seed=1)
    learner.observe(0, leader)
    learner.observe(1, rival)
    down, up = meeting(learner.rule.band, learner.state.memory, 0, 1, 0.0)
    against = 40 * (0.25 * math.log(0.5) + 0.75 * math.log(1.5))  # 40 kl(1/4, 1/2), of one arm; of the other nothing
    assert sorted([down, up]) == pytest.approx([0.0, against])


@pytest.mark.parametrize("kind", ["atoms", "few", "in trees", "in cells"])
def test_two_percentiles_are_judged_together_as_sorted_groups_are(kind):
    rng = np.random.default_rng(8)
    draw = {
        "atoms": lambda shift: rng.integers(-3, 4, 400) + shift,
        "few": lambda shift: rng.normal(shift, 1.0, 60),
        "in trees": lambda shift: rng.normal(0.3 * shift, 1.0, 3_000),
        "in cells": lambda shift: rng.normal(0.1 * shift, 1.0, 20_000),  # neighbours share cells: fewer are sure
    }[kind]
    learner = TopTwo(quantile(0.6), Bounded(-90, 90), delta=0.05).start(2, seed=1)
    leader, rival = draw(1.0), draw(0.0)
    learner.observe(0, leader)
    learner.observe(1, rival)
    band, memory = learner.rule.band, learner.state.memory
    assert (memory.cell_range[:, 1] > memory.cell_range[:, 0]).all() == (kind == "in cells")
    for tolerance in (0.0, 0.25):
        groups = sorted_group(np.asarray(rival, dtype=float)), sorted_group(np.asarray(leader, dtype=float))
        least = least_evidence(tilts(0.6, None), *groups[0], *groups[1], -tolerance, False, np.inf)[0]
        found = [_apart_together(band, memory, 0, 1, least + more, tolerance) for more in (-2.0, -0.02, 0.02)]
        assert found in ([True, True, False], [True, False, False] if kind == "in cells" else None)
        assert not _apart_together(band, memory, 1, 0, 1.0, 0.0)


def test_a_learner_of_percentiles_goes_on_from_its_file(tmp_path):
    learner = TopTwo(quantile(0.9, costs=True), Bounded(0, 10), delta=0.05).start(["a", "b"], seed=1)
    rng = np.random.default_rng(5)
    for _ in range(300):
        learner.tell(learner.ask(), float(rng.gamma(2.0)))
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json")
    for _ in range(200):
        reward = float(rng.gamma(2.0))
        first, second = learner.ask(), again.ask()
        assert first.arm == second.arm
        learner.tell(first, reward)
        again.tell(second, reward)


def test_limits_of_percentiles_are_binomial_divergences_at_one_threshold():
    lottery, level = Discrete({1: 0.5, 2: 0.3, 3: 0.2}), 0.5
    kl = 0.2 * math.log(0.2 / level) + 0.8 * math.log(0.8 / (1 - level))
    assert k_inf(quantile(level), lottery, 3.0) == pytest.approx(kl)
    assert k_inf(quantile(level), lottery, 1.0) == 0.0
    assert k_inf(quantile(level), lottery, 4.0) == math.inf
    up_to = 0.8 * math.log(0.8 / 0.9) + 0.2 * math.log(0.2 / 0.1)
    assert k_inf(quantile(0.9), lottery, 2.0, at_most=True) == pytest.approx(up_to)
    # two coins: the medians meet at 0 or at 1, and either coin alone can move there
    coins = [Discrete({0: 0.2, 1: 0.8}), Discrete({0: 0.8, 1: 0.2})]
    one = 0.2 * math.log(0.4) + 0.8 * math.log(1.6)
    found = characteristic_time(quantile(0.5), coins)
    assert found.time == pytest.approx(2.0 / one, rel=1e-3)
    assert found.shares == pytest.approx((0.5, 0.5), abs=1e-3)


def test_a_flat_distribution_function_at_the_level_makes_no_quantile_too_sure():
    """Of the flat arm any median from 0 to 1 may be: no arm between is shown to be better, or worse."""
    arms = [Discrete({0: 0.5, 1: 0.5}), Uniform(0.4, 0.6)]
    policy = WLUCB(quantile(0.5), Bounded(-9, 9), delta=0.05)
    answer = best_arm(policy, Bandit(arms), seed=1, max_samples=5_000)
    assert not answer.settled
