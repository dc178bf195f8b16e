"""The tail alarm: an asymptotic promise is not claimed while a value rests on a few outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from allais import (
    Bandit,
    Continuous,
    Normal,
    PairwiseScreening,
    Preference,
    TverskyKahneman,
    Uniform,
    best_arm,
    cvar,
    expected_value,
)
from allais.bands import Asymptotic
from allais.policies import WLUCB
from allais.preferences.valuation import tail
from allais.report.words import confidence

PEOPLE = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
COSTS = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), costs=True)


def of(preference, samples):
    return tail(preference, *np.unique(samples, return_counts=True))


@pytest.mark.parametrize("n", [2_000, 20_000])
def test_heavy_tails_under_a_steep_weight_raise_the_alarm_and_light_ones_do_not(n):
    rng = np.random.default_rng(7)
    for _ in range(5):
        assert of(PEOPLE, rng.lognormal(size=n)).heavy
        assert of(COSTS, rng.pareto(2.5, size=n) + 1.0).heavy
        assert not of(PEOPLE, rng.uniform(size=n)).heavy
        assert not of(PEOPLE, rng.normal(size=n) + 100.0).heavy
        assert not of(expected_value(), rng.lognormal(size=n)).heavy
        assert not of(cvar(0.05), rng.normal(size=n)).heavy


def test_a_rare_event_of_one_size_is_no_heavy_tail():
    jackpots = np.repeat([100.0, 0.0], [5, 1_995])
    assert of(PEOPLE, jackpots).share == 0.0
    assert of(PEOPLE, [7.0]).share == of(PEOPLE, [7.0, 7.0]).share == 0.0


def test_the_share_is_that_of_the_influence_function_by_hand():
    # a mean: A(y) = y, so the influence of 10 among 99 zeros is 9.9 and that of a zero is -0.1; of 100, two count
    found = tail(expected_value(), np.array([10.0, 5.0, 0.0]), np.array([1, 1, 98]))
    mean = 0.15
    squares = (10 - mean) ** 2 + (5 - mean) ** 2
    assert found.extreme == 2
    assert found.share == pytest.approx(squares / (squares + 98 * mean**2), rel=1e-12)


def test_few_samples_of_an_ordinary_distribution_keep_the_promise():
    rng = np.random.default_rng(3)
    # one normal outcome of 30 makes half of the variance once in 1e4 samples: it would be 3.9 standard deviations out
    assert not any(of(expected_value(), rng.normal(size=30)).heavy for _ in range(50))
    # of a CVaR of the worst tenth, 30 outcomes leave three: that most of it rests on one is usual
    assert not any(of(cvar(0.1), rng.normal(size=30)).heavy for _ in range(50))


def test_an_answer_about_heavy_tails_says_so_and_claims_no_promise():
    problem = Bandit([Continuous(stats.lognorm(1.5)), Uniform(0, 1)], arms=["lottery", "safe"])
    answer = best_arm(PairwiseScreening(PEOPLE, delta=0.05, rarest=0.004), problem, seed=1)
    assert answer.arm == "lottery"
    assert answer.settled
    assert (answer.promise, answer.delta, answer.withdrawn) == ("none", None, True)
    assert "of the variance" in answer.doubt
    assert "promise withdrawn as the most extreme 10 of" in str(answer)
    assert confidence(answer).startswith("The search settled, but its promise is withdrawn: the most extreme 10 of")
    assert "Declare bounds" in confidence(answer)
    recommended = answer.learner.recommend()
    assert (recommended.promise, recommended.delta, recommended.doubt) == ("none", None, answer.doubt)


@pytest.mark.parametrize(
    "policy",
    [
        PairwiseScreening(PEOPLE, delta=0.05, rarest=0.02),
        WLUCB(PEOPLE, delta=0.05, band=Asymptotic(rarest=0.02)),
    ],
)
def test_an_answer_about_light_tails_keeps_its_promise(policy):
    answer = best_arm(policy, Bandit([Normal(1.0, 1.0), Normal(0.0, 1.0)]), seed=2)
    assert (answer.promise, answer.delta, answer.doubt) == ("asymptotic", 0.05, "")
