"""Indifference in the user's units, and what each costs; forecasts of what a search will take."""

import math
import re

import numpy as np
import pytest

from allais import (
    LUCB,
    WLUCB,
    WSR,
    Bandit,
    Bounded,
    Discrete,
    Finite,
    Normal,
    PairwiseScreening,
    PowerUtility,
    Preference,
    Simulator,
    TverskyKahneman,
    best_arm,
    cvar,
    expected_value,
    search,
)
from allais.searches import closer_forecast, costs_of_indifference, forecast, with_indifference
from allais.searches.asynchronous import worth_asking
from allais.searches.forecast import LOOKS
from allais.searches.pilot_simulation import Together, _tilted, _trial, tried_out
from tests.cli.test_best_arm import COIN as SPEC
from tests.cli.test_best_arm import run
from tests.searches.simulators import ARMS, coin

PEOPLE = Preference(
    TverskyKahneman(0.61), TverskyKahneman(0.69), utility=PowerUtility(0.88, 2.25), reference=5, costs=True
)


BOTH = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))


def seen_of(rows):
    return [np.unique(row, return_counts=True) for row in rows]


def test_without_a_utility_an_indifference_is_the_tolerance():
    policy = WLUCB(expected_value(), Bounded(0, 30), delta=0.05)
    assert with_indifference(policy, 0.5) == policy.but(tolerance=0.5)
    answer = search(LUCB(Bounded(-1, 1), delta=0.1), Simulator(coin, ARMS), seed=1, indifference=0.4)
    assert answer.learner.policy.tolerance == 0.4


def test_values_that_differ_by_the_tolerance_differ_by_no_more_than_the_indifference_anywhere():
    for amount in (0.1, 1.0, 7.5):
        tolerance = with_indifference(WLUCB(PEOPLE, Bounded(0, 30), delta=0.05), amount).tolerance
        low, high = sorted(PEOPLE.utilities(np.array([0.0, 30.0])))
        values = np.linspace(low, high - tolerance, 2_001)
        apart = np.abs(PEOPLE.outcomes_of(values + tolerance) - PEOPLE.outcomes_of(values))
        assert apart.max() <= amount * (1 + 1e-6)
        assert apart.max() >= amount * (1 - 1e-3)  # and is no smaller than it must be


def test_what_has_no_indifference_is_refused():
    with pytest.raises(ValueError, match="WSR spends a budget"):
        with_indifference(WSR(PEOPLE, budget=100), 1.0)
    with pytest.raises(ValueError, match="needs bounds on rewards; there are none"):
        with_indifference(PairwiseScreening(PEOPLE, delta=0.05, rarest=0.05), 1.0)
    with pytest.raises(ValueError, match="smaller than the range of rewards, 30; got 30"):
        with_indifference(WLUCB(PEOPLE, Bounded(0, 30), delta=0.05), 30.0)
    with pytest.raises(ValueError, match="indifference must be above 0"):
        with_indifference(WLUCB(PEOPLE, Bounded(0, 30), delta=0.05), 0.0)


def test_a_larger_indifference_costs_less_and_is_forecast_so():
    rng = np.random.default_rng(1)
    rows = [rng.normal(mean, 1.0, 200) for mean in (0.0, 0.59, 0.6)]
    policy = PairwiseScreening(expected_value(), delta=0.05, rarest=0.3)
    values = np.array([row.mean() for row in rows])
    costs = costs_of_indifference(policy, values, seen_of(rows), [0.5, 0.2, 0.1])
    runs = [costs[amount].expected for amount in (0.5, 0.2, 0.1)]
    assert runs == sorted(runs)
    assert runs[-1] > 2 * runs[0]


@pytest.mark.parametrize("seed", range(3))
def test_a_forecast_from_few_runs_of_many_arms_is_near_what_is_then_used(seed):
    """Values of pilot runs are spread by chance: taken as they are, the forecast would be a third of what is used."""
    rng, means = np.random.default_rng(seed), np.linspace(0.0, 1.0, 30)
    rows = [rng.normal(mean, 1.0, 20) for mean in means]
    policy = PairwiseScreening(expected_value(), delta=0.05, rarest=0.2, tolerance=0.2)
    predicted = forecast(policy, np.array([row.mean() for row in rows]), seen_of(rows))
    used = np.mean([best_arm(policy, Bandit([Normal(m, 1.0) for m in means]), seed=s).samples for s in range(5)])
    assert 0.5 < predicted.expected / used < 2.0
    low, high = predicted.between
    assert low <= predicted.expected <= high


def test_an_arm_whose_tail_was_not_seen_is_not_thought_sure():
    """The worst tenth of twenty runs are two: the arm that had luck with them looks best, and as if it never varied."""
    rng, worst = np.random.default_rng(3), cvar(0.1)
    rows = [rng.normal(0.0, 1.0, 20) for _ in range(8)]
    rows[0] = np.concatenate([np.linspace(-0.51, -0.5, 4), np.linspace(0.0, 1.0, 16)])  # no tail below
    values, seen = np.array([worst.estimate(row) for row in rows]), seen_of(rows)
    distributions = _trial(PairwiseScreening(worst, delta=0.05, rarest=0.2), values, seen, None, None).lotteries
    assert [worst.value(distribution) for distribution in distributions] == pytest.approx(values)
    spreads = [float(distribution.sample(np.random.default_rng(1), 20_000).std()) for distribution in distributions]
    assert spreads[0] == pytest.approx(spreads[values[1:].argmax() + 1], rel=0.05)


@pytest.mark.parametrize("value", [0.3, 0.6, 0.9])
def test_where_only_some_outcomes_can_be_a_trial_makes_others_of_them_more_frequent(value):
    distribution = _tilted(BOTH, np.array([-1.0, 0.0, 2.0]), np.array([5, 10, 5]), value)
    assert distribution.outcomes.tolist() == [-1.0, 0.0, 2.0]
    assert BOTH.value(distribution) == pytest.approx(value, abs=1e-3)


def test_a_forecast_has_closer_looks_until_pilot_runs_are_a_third_of_it():
    rng, distributions = np.random.default_rng(1), [Normal(mean, 1.0) for mean in (0.0, 0.0, 0.4, 0.5)]
    for tolerance, looks in ((1.0, 1), (0.05, LOOKS)):
        told, asked = [distribution.sample(rng, 20) for distribution in distributions], []

        def run(more, told=told, asked=asked):
            asked.append(more)
            for arm, runs in more.items():
                told[arm] = np.append(told[arm], distributions[arm].sample(rng, runs))

        def summed_up(told=told):
            return np.array([row.mean() for row in told]), seen_of(told)

        policy = PairwiseScreening(expected_value(), delta=0.05, rarest=0.2, tolerance=tolerance)
        assert math.isfinite(closer_forecast(policy, summed_up, run).expected)
        assert len(asked) == looks
        assert all(70 <= sum(more.values()) <= 80 for more in asked)


def test_what_takes_too_long_to_try_out_is_told_from_a_larger_tolerance(monkeypatch):
    distributions = [Discrete({0: 0.5 - gap, 1: 0.5 + gap}) for gap in (0.05, 0.0)]
    policy = LUCB(Finite([0, 1]), delta=0.05)
    seen = [
        (distribution.outcomes, np.round(1e6 * distribution.probabilities).astype(int))
        for distribution in distributions
    ]
    values = np.array([0.55, 0.5])
    used = np.mean([best_arm(policy, Bandit(distributions), seed=s).samples for s in range(10)])
    monkeypatch.setattr("allais.searches.pilot_simulation.TRIED", int(used / 5))
    predicted, _, high = tried_out(policy, values, seen)
    assert high == math.inf
    assert 0.5 < predicted / used < 2.0


def test_trials_with_common_random_numbers_draw_the_same_runs_for_all_arms():
    rng = np.random.default_rng(1)
    luck = rng.normal(0.0, 3.0, 50)
    table = np.array([luck + mean + rng.normal(0.0, 0.1, 50) for mean in (0.0, 0.1, 0.5)])
    together = Together(table, 7)
    first = [np.concatenate([together.draw(arm, rng, size) for size in (64, 5_000)]) for arm in (0, 1, 2)]
    assert np.abs(first[1] - first[0]).max() < 1.0  # of luck that spreads by 3
    policy = PairwiseScreening(expected_value(), delta=0.05, rarest=0.2, tolerance=0.2)
    values, seen = table.mean(axis=1), seen_of(table)
    common = forecast(policy.but(common_random_numbers=True), values, seen, table).expected
    assert common < 0.2 * forecast(policy, values, seen).expected


def test_amounts_that_are_asked_about_are_round_and_lie_within_what_is_seen():
    assert worth_asking(np.array([31.0, 30.1, 27.2, 24.9, 3.0])) == [5.0, 2.0, 1.0, 0.5]
    assert worth_asking(np.array([1.0, 1.0])) == []
    assert worth_asking(np.array([1.0, math.nan])) == []


def test_a_spec_has_an_indifference_and_a_dry_run_says_what_others_cost(tmp_path):
    spec = tmp_path / "coin.toml"
    plain = SPEC.format(function="coin", policy="WLUCB", setting="delta = 0.1")
    spec.write_text(f'unit = "points"\nindifference = 0.3\n{plain}')
    result = run(spec, "--dry-run", "--pilot", 40)
    assert result.exit_code == 0, result.output
    found = re.findall(r"([\d.]+) points?: ([\d,]+) runs", result.output.split("What an indifference would cost: ")[1])
    assert len(found) >= 2
    runs = [int(one.replace(",", "")) for _, one in found]
    assert runs == sorted(runs)
    assert "Pilot runs leave that in doubt: about nine in ten searches take " in result.output
    answer = run(spec)
    assert "by more than 0.3 points" in answer.output
    spec.write_text(f"indifference = -1\n{plain}")
    assert "line 1: indifference must be above 0; got -1" in run(spec).output
