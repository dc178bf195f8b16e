"""Problems with contexts: who sees them, what a table says, and what regret is."""

import numpy as np
import pytest

from allais import NPTS, Bounded, Discrete, Normal, Uniform, compare, expected_value, simulate
from allais.linear import AdditiveNoise, LinTS
from allais.policies import ContextualNPTS
from allais.problems import ContextualBandit

TEN = Bounded(0, 10)
CALM, WILD, MIDDLE = Uniform(5, 7), Uniform(0, 10), Uniform(4, 5)


def weather(rng):
    return {"rain": bool(rng.random() < 0.5)}


RAINY = ContextualBandit(
    weather,
    {"bike": lambda c: WILD if c["rain"] else CALM, "bus": lambda c: MIDDLE},
    features=lambda c, arm: [arm == "bike", (arm == "bike") * c["rain"], arm == "bus"],
)
LOW, HIGH = Uniform(0, 4), Uniform(6, 10)
TURNS = ContextualBandit(
    weather, {"bike": lambda c: LOW if c["rain"] else HIGH, "bus": lambda c: HIGH if c["rain"] else LOW}
)


def test_a_policy_that_sees_contexts_loses_less_than_one_that_does_not():
    policies = [ContextualNPTS(expected_value(), TEN), NPTS(expected_value(), TEN)]
    compared = compare(policies, TURNS, n_rounds=300, n_runs=2, seed=1)
    seen, blind = compared.results.values()
    # blind, both arms lose 3 a round; ranges that do not overlap give a Bayes factor above e^10 in 64 rounds
    assert (seen.regret[:, -1] < 0.5 * blind.regret[:, -1]).all()
    assert [row["judge"] for row in compared.rows()] == ["the mean"] * 2
    assert seen.pulls[:, -1].sum(axis=1).tolist() == [300] * 2
    assert seen.outcomes.shape == (2, 300)


def test_all_policies_meet_the_same_rounds_and_a_run_repeats():
    policy = ContextualNPTS(expected_value(), TEN)
    one, other = (simulate(policy, RAINY, n_rounds=60, n_runs=2, seed=4) for _ in range(2))
    assert np.array_equal(one.choices, other.choices)
    assert np.array_equal(one.outcomes, other.outcomes)


def test_linear_policies_see_the_rows_of_the_problem():
    policy = LinTS(expected_value(), AdditiveNoise(Normal(0, 1.5)), regularisation=0.01)
    results = simulate(policy, RAINY, n_rounds=200, n_runs=1, seed=1)
    assert results.regret[0, -1] < 0.5 * 200 * 1.5


def test_a_table_says_what_would_have_happened_and_which_arms_there_were():
    rows = [{"hour": t % 2} for t in range(40)]
    table = ContextualBandit(
        rows, {"a": [[1.0, 1.0]] * 40, "b": [None if t % 2 else Discrete({3: 1.0}) for t in range(40)]}
    )
    results = simulate(ContextualNPTS(expected_value(), TEN), table, n_rounds=40, seed=1)
    assert set(results.choices[0, 1::2]) == {0}
    assert set(np.unique(results.outcomes)) == {1.0, 3.0}
    lost = float((results.choices[0, ::2] == 0).sum() * 2.0)
    assert results.regret[0, -1] == pytest.approx(lost)


def test_wrong_problems_are_refused_in_a_sentence():
    with pytest.raises(TypeError, match="arms are named"):
        ContextualBandit(weather, [lambda c: CALM])
    with pytest.raises(TypeError, match="functions, or lists"):
        ContextualBandit(weather, {"a": [CALM]})
    with pytest.raises(ValueError, match="one entry for each round"):
        ContextualBandit([{}, {}], {"a": [CALM]})
    with pytest.raises(ValueError, match="as many rounds as rows; got 3 for 1"):
        simulate(ContextualNPTS(expected_value(), TEN), ContextualBandit([{}], {"a": [CALM]}), n_rounds=3)
    with pytest.raises(ValueError, match="one run after the other"):
        simulate(ContextualNPTS(expected_value(), TEN), RAINY, n_rounds=3, n_jobs=2)
    with pytest.raises(ValueError, match="no file of their own"):
        simulate(ContextualNPTS(expected_value(), TEN), RAINY, n_rounds=3).save("x")
