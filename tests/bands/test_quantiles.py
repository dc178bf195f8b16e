"""Two quantiles judged together: the least evidence is the least, intervals and verdicts agree, and errors are rare."""

import math

import numpy as np
import pytest

from allais.bands.kl import log_ratio
from allais.bands.quantiles import (
    LOG_ODDS,
    Sorted,
    difference,
    evidence_at,
    interval,
    joint_evidence,
    least_evidence,
    log_joint,
    rank_ends,
    sorted_group,
    tilts,
)

LEVEL = math.log(2.0 / 0.05)


def _by_hand(table, lower, upper, by, relative):
    """The least over every x between and at outcomes, by counting."""
    edges = np.unique(np.concatenate([lower, upper / (1.0 + by) if relative else upper - by]))
    points = np.unique(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1]), [edges[0] - 1.0, edges[-1] + 1.0]]))
    found = []
    for x in points[points > 0.0] if relative else points:
        at = x * (1.0 + by) if relative else x + by
        counts = (
            float((lower < x).sum()),
            float(lower.size),
            float((upper <= at * (1 + 1e-12)).sum()),
            float(upper.size),
        )
        found.append(log_joint(table, *counts))
    return min(found)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("rounded", [False, True])
def test_the_least_evidence_is_the_least_over_every_point(relative, rounded):
    rng, table = np.random.default_rng(1), tilts(0.9)
    for by in (0.0, 0.25, -0.25):
        lower, upper = rng.lognormal(size=150), 1.6 * rng.lognormal(size=170)
        if rounded:
            lower, upper = np.round(4.0 * lower) / 4.0, np.round(4.0 * upper) / 4.0
        found = joint_evidence(sorted_group(lower), sorted_group(upper), table, by, relative=relative)
        expected = _by_hand(table, lower, upper, by, relative)
        assert expected - 0.011 <= found <= expected + 1e-9


def test_a_mixture_has_mean_one_at_the_level():
    """The mean over all outcomes of 6 draws in each group, exactly."""
    for level, share in ((0.5, 0.5), (0.9, 0.3), (0.2, None)):
        table, mean = tilts(level, share), 0.0
        for i in range(7):
            for j in range(7):
                chance = math.comb(6, i) * math.comb(6, j) * level ** (i + j) * (1.0 - level) ** (12 - i - j)
                mean += chance * math.exp(log_joint(table, float(i), 6.0, float(j), 6.0))
        assert mean == pytest.approx(1.0, abs=1e-9)


def test_evidence_rises_with_the_lower_group_s_count_and_falls_with_the_other_s():
    table = tilts(0.95)
    at = log_joint(table, 95.0, 100.0, 90.0, 100.0)
    assert log_joint(table, 96.0, 100.0, 90.0, 100.0) > at > log_joint(table, 95.0, 100.0, 91.0, 100.0)


def test_shares_of_a_unit_never_add_evidence_in_the_mean():
    """e^(a z) <= 1 - z + z e^a: a unit that is half below counts for less than a coin that falls on either side."""
    table = tilts(0.5)
    halves = log_joint(table, 0.5, 1.0, 0.0, 0.0)
    coin = math.log(0.5 * sum(math.exp(log_joint(table, z, 1.0, 0.0, 0.0)) for z in (0.0, 1.0)))
    assert halves <= coin


def test_an_interval_excludes_what_the_evidence_refutes_and_nothing_else():
    rng, tables = np.random.default_rng(2), (tilts(0.95), tilts(0.95))
    one, two = sorted_group(rng.exponential(size=3_000)), sorted_group(1.3 * rng.exponential(size=3_000))
    for relative in (False, True):
        low, high = difference(one, two, tables, LEVEL, relative=relative)
        width = high - low
        assert 0.0 < width < 2.0
        assert joint_evidence(one, two, tables[0], low - 0.01 * width, relative=relative) >= LEVEL - 0.011
        assert joint_evidence(one, two, tables[0], low + 0.01 * width, relative=relative) < LEVEL
        refuted = (-high - 0.01 * width) if not relative else 1.0 / (1.0 + high + 0.01 * width) - 1.0
        assert joint_evidence(two, one, tables[1], refuted, relative=relative) >= LEVEL - 0.011


def test_few_samples_leave_the_difference_open():
    few = sorted_group(np.arange(1.0, 11.0))
    assert difference(few, few, (tilts(0.99), tilts(0.99)), LEVEL) == (-math.inf, math.inf)
    low, high = difference(few, few, (tilts(0.99), tilts(0.99)), LEVEL, relative=True)
    assert (low, high) == (-1.0, math.inf)


def test_groups_of_one_value_each_are_told_apart():
    one, two = sorted_group(np.full(200, 3.0)), sorted_group(np.full(200, 4.0))
    low, high = difference(one, two, (tilts(0.5), tilts(0.5)), LEVEL)
    assert (low, high) == (pytest.approx(1.0, rel=1e-3), pytest.approx(1.0, rel=1e-3))
    assert difference(one, one, (tilts(0.5), tilts(0.5)), LEVEL) == (pytest.approx(0.0), pytest.approx(0.0))


def test_a_witness_shows_that_nothing_is_decided():
    rng, table = np.random.default_rng(3), tilts(0.9)
    one, two = sorted_group(rng.normal(size=500)), sorted_group(rng.normal(size=500))
    log, x = least_evidence(table, *one, *two, 0.0, False, LEVEL)
    assert log < LEVEL
    assert evidence_at(table, *one, *two, 0.0, False, x) == pytest.approx(log)


def test_one_group_s_interval_holds_the_counts_that_its_mixture_leaves():
    fewest, most = rank_ends(1_000.0, 0.9, 3.0)
    strength = 10.0 / (1.0 - 0.9)
    assert fewest < 900.0 < most
    assert log_ratio(fewest, 1_000.0, strength, 0.9) == pytest.approx(3.0, abs=1e-6)
    assert log_ratio(most, 1_000.0, strength, 0.9) == pytest.approx(3.0, abs=1e-6)
    group = sorted_group(np.arange(1.0, 1_001.0))
    assert interval(group, 0.9, 3.0) == (math.ceil(fewest), math.floor(most) + 1.0)
    assert interval(sorted_group(np.arange(5.0)), 0.9, 3.0) == (-math.inf, math.inf)


def test_units_of_users_count_as_one_each():
    outcomes = np.array([1.0, 2.0, 3.0, 4.0])
    group = sorted_group(outcomes, np.array([0.5, 0.5, 1.0, 1.0]))
    assert isinstance(group, Sorted)
    assert group.before.tolist() == [0.0, 0.5, 1.0, 2.0, 3.0]


def test_equal_quantiles_of_different_distributions_are_seldom_told_apart():
    """Two groups whose medians agree and nothing else does, looked at ten times: 5 % are allowed, of 200.

    More than 24 false alarms would come by luck with probability 2e-5 if the rate were 5 %; it is far below.
    """
    rng, table, alarms = np.random.default_rng(4), tilts(0.5), 0
    for _ in range(200):
        one, two = rng.exponential(size=1_000) / math.log(2.0), 1.0 + 0.1 * rng.normal(size=1_000)
        looks = range(100, 1_001, 100)
        pairs = ((sorted_group(one[:n]), sorted_group(two[:n])) for n in looks)
        alarms += any(max(joint_evidence(a, b, table), joint_evidence(b, a, table)) >= LEVEL for a, b in pairs)
    assert alarms <= 24


def test_a_plan_without_shares_serves_every_ratio_of_samples():
    rng = np.random.default_rng(5)
    one, two = sorted_group(rng.exponential(size=2_000)), sorted_group(1.15 * rng.exponential(size=6_000))
    assert np.exp(tilts(0.5, None)[:, LOG_ODDS]).sum() == pytest.approx(1.0)
    planned, open_plan = (joint_evidence(one, two, tilts(0.5, share)) for share in (0.25, None))
    assert abs(planned - open_plan) < 3.0
