"""Which arm people prefer, over what is unknown about them and about the arms."""

import numpy as np
import pytest

from allais import NPTS, WUCB, Bounded, Discrete, Finite, Preference, SubGaussian, TverskyKahneman, expected_value
from allais.people import Family, Fitted, recommend
from allais.people.interview.recommend import MOST_OUTCOMES
from allais.preferences.valuation import grouped

FAMILY = Family(alpha=1.0, loss_aversion=1.0)


def known_to(spread, eta=0.61):
    """People of one weight, known to some spread on the line."""
    place = FAMILY.unconstrained([[eta, 1.0]])[0]
    places = place + np.random.default_rng(1).standard_normal((400, 2)) * [spread, 0.0]
    return Fitted(FAMILY, "posterior", place, places, 20, -10.0)


def learner_of(n):
    """A bet that people with a weight of 0.61 value at 9.3 and others at 5, and 9 for sure."""
    learner = NPTS(expected_value(), Bounded(0, 50)).start(["bet", "sure"], seed=1)
    learner.observe("bet", [50.0] * (n // 10) + [0.0] * (n - n // 10))
    learner.observe("sure", [9.0] * n)
    return learner


def test_what_is_known_leaves_no_doubt():
    found = recommend(learner_of(100_000), known_to(0.01))
    assert found.chances["bet"] > 0.99
    assert found.arm == "bet"
    assert "Neither" in str(found)


def test_few_questions_call_for_questions_and_few_samples_for_samples():
    asked = recommend(learner_of(100_000), known_to(0.6))
    assert 0.1 < asked.chances["bet"] < 0.9
    assert asked.questions_tell > 0.9 * asked.bits > asked.samples_tell
    assert asked.advice.startswith("Ask more questions")
    seen = recommend(learner_of(30), known_to(0.01))
    assert seen.samples_tell > 0.9 * seen.bits > seen.questions_tell
    assert "Take more samples" in str(seen)


def test_chances_are_those_of_draws_one_by_one():
    """Checked against a plain loop over 4000 independent pairs of draws.

    Both have a standard error below 0.04 (200 draws of each kind); they differ by less than 0.25, six of them."""
    learner, fitted, rng = learner_of(50), known_to(0.4), np.random.default_rng(3)
    wins = 0
    for preference in fitted.draws(4000, seed=5):
        p = rng.dirichlet([45.0 + 0.5, 5.0 + 0.5])  # both ends of the rewards have half an outcome
        q = rng.dirichlet([0.5, 50.0, 0.5])
        bet = preference.value(Discrete({0: p[0], 50: p[1]}))
        wins += bet > preference.value(Discrete({0: q[0], 9: q[1], 50: q[2]}))
    assert recommend(learner, fitted, seed=1).chances["bet"] == pytest.approx(wins / 4000, abs=0.25)
    assert sum(recommend(learner, fitted).chances.values()) == pytest.approx(1.0)


def test_an_arm_that_nobody_played_is_any_distribution_within_the_rewards():
    learner = WUCB.as_printed(Preference(TverskyKahneman(0.61)), Finite([0, 7, 50])).start(["seen", "unseen"], seed=1)
    learner.observe("seen", [7.0] * 50)
    found = recommend(learner, known_to(0.1))
    assert 0.2 < found.chances["unseen"] < 0.9
    assert "Nothing was seen of unseen" in str(found)
    bare = WUCB.as_printed(Preference(TverskyKahneman(0.61)), SubGaussian(1.0, 5.0)).start(["a", "b"], seed=1)
    with pytest.raises(ValueError, match="an arm needs outcomes, or rewards that are bounded; 'a' has neither"):
        recommend(bare, known_to(0.1))


def test_many_outcomes_are_joined_without_moving_the_value():
    outcomes = np.random.default_rng(1).normal(10.0, 3.0, 5000)
    joined, counts = grouped(outcomes, np.ones(5000), MOST_OUTCOMES)
    assert joined.size <= MOST_OUTCOMES
    assert counts.sum() == 5000
    people = Preference(TverskyKahneman(0.61))
    whole = people.values(outcomes, np.full((1, 5000), 1 / 5000))[0]
    assert people.values(joined, [counts])[0] == pytest.approx(whole, abs=0.02)


def test_what_is_known_exactly_leaves_no_bits_and_no_minus_sign():
    found = recommend(learner_of(100_000), known_to(0.0, eta=0.3), n_draws=20)
    for bits in (found.bits, found.questions_tell, found.samples_tell):
        assert f"{bits:.2f}" == "0.00"


def test_people_who_were_asked_about_gains_judge_the_costs_of_a_learner():
    minutes = NPTS(expected_value(costs=True), Bounded(0, 60)).start(["slow", "fast"], seed=1)
    minutes.observe("slow", [50.0] * 30)
    minutes.observe("fast", [10.0] * 30)
    assert recommend(minutes, known_to(0.1), n_draws=20).chances == {"slow": 0.0, "fast": 1.0}
