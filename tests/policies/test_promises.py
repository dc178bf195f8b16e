"""What is promised has one name, whether a policy, a recommendation or an answer says it."""

from __future__ import annotations

import pytest

from allais import (
    LUCB,
    NPTS,
    WLUCB,
    WOCBA,
    WSR,
    Bandit,
    Bernoulli,
    Bounded,
    ExploreFirstGreedy,
    PairwiseScreening,
    PatientTopTwo,
    TopTwo,
    best_arm,
    expected_value,
    linear,
)
from allais.bands import Asymptotic
from allais.policies import WELUCB, Policy
from allais.policies.core.base import PROMISES, promise_in_words

MEAN, UNIT = expected_value(), Bounded(0, 1)


@pytest.mark.parametrize(
    ("policy", "promise"),
    [
        (WLUCB(MEAN, UNIT, delta=0.05), "proven"),
        (TopTwo(MEAN, UNIT, delta=0.05), "proven"),
        (LUCB(UNIT, delta=0.05), "proven"),
        (linear.LinGapE(MEAN, linear.AdditiveNoise(), delta=0.05, beta=1.0), "proven"),
        (WLUCB(MEAN, delta=0.05, band=Asymptotic(rarest=0.02)), "asymptotic"),
        (PairwiseScreening(MEAN, delta=0.05, rarest=0.02), "asymptotic"),
        (WOCBA(MEAN, budget=100, rarest=0.1), "none"),
        (ExploreFirstGreedy(MEAN, budget=100), "none"),
        (WELUCB(MEAN, UNIT, delta=0.05), "none"),  # right for coins only
        (WSR(MEAN, budget=100), "none"),
        (PatientTopTwo(MEAN, UNIT, budget=100), "none"),
        (NPTS(MEAN, UNIT), "none"),
    ],
)
def test_every_policy_names_its_promise(policy: Policy, promise: str) -> None:
    assert policy.promise == promise
    sentence = promise_in_words(policy)
    assert sentence.startswith(promise.capitalize())
    assert "delta" not in sentence
    assert ("0.02" in sentence) == (promise == "asymptotic")  # what was assumed is said


def test_answers_and_recommendations_say_what_their_policy_promises() -> None:
    problem = Bandit([Bernoulli(0.9), Bernoulli(0.1)])
    proven = best_arm(LUCB(UNIT, delta=0.1), problem, seed=1)
    assert proven.promise == proven.learner.recommend().promise == "proven"
    spent = best_arm(WSR(MEAN, budget=20), problem, seed=1)
    assert spent.promise == spent.learner.recommend().promise == "none"


def test_there_is_one_sentence_for_each_promise() -> None:
    assert set(PROMISES) == {"proven", "asymptotic", "none"}
    assert len(set(PROMISES.values())) == 3
