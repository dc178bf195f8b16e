"""Rows of features that belong to one round: learned from as from choices, once, and again from events."""

from __future__ import annotations

import numpy as np
import pytest

from allais import Learner, Preference, TverskyKahneman, cvar, expected_value
from allais.linear import WOFUL, AdditiveNoise, EstimatedNoise, LinTS, ParameterNoise
from allais.policies import Fading

FEATURES = [[1.0, 0.0], [0.0, 1.0]]
ROW = [0.5, 2.0]


def started(policy=None, seed=1):
    return (policy or LinTS(expected_value(), ParameterNoise())).start(["a", "b"], seed=seed, features=FEATURES)


@pytest.mark.parametrize(
    "policy",
    [
        LinTS(expected_value(), ParameterNoise()),
        LinTS(Preference(TverskyKahneman(0.61)), AdditiveNoise(), memory=Fading(half_life=5)),
        WOFUL(cvar(0.2), AdditiveNoise(), delta=0.05, beta=1.0),
    ],
)
def test_outcomes_of_a_row_count_as_those_of_a_choice(policy):
    told, observed = started(policy), started(policy)
    for outcome in (3.0, -1.0, 2.5):
        told.tell(told.ask(features=[ROW]), outcome)
    observed.observe_features(ROW, [3.0, -1.0, 2.5])
    assert observed.samples == told.samples == 3
    np.testing.assert_array_equal(observed.theta, told.theta)
    assert observed.value() == told.value()
    for name, one in observed.intervals().items():
        np.testing.assert_array_equal(one, told.intervals()[name])


def test_outcomes_of_a_row_are_all_learned_or_none():
    learner = started()
    for features, rewards in ((ROW, [1.0, np.nan]), ([1.0], [1.0]), ([0.0, 0.0], [1.0]), (FEATURES, [1.0])):
        with pytest.raises(ValueError, match="must"):
            learner.observe_features(features, rewards)
    assert learner.samples == 0
    with pytest.raises(ValueError, match="arm by arm"):
        started(LinTS(expected_value(), EstimatedNoise(1.0))).observe_features(ROW, [1.0])


def test_outcomes_of_a_row_survive_in_a_folder_and_in_events(tmp_path):
    policy = LinTS(expected_value(), ParameterNoise())
    with Learner.open(tmp_path / "folder", policy, ["a", "b"], seed=1, features=FEATURES) as learner:
        learner.observe_features(ROW, [3.0, 4.0])
        theta = learner.theta
    with Learner.open(tmp_path / "folder") as again:
        np.testing.assert_array_equal(again.theta, theta)
    other = started()
    other.apply({"features": ROW, "rewards": [3.0, 4.0]})
    np.testing.assert_array_equal(other.theta, theta)


def test_rows_of_every_length_and_for_everybody_are_chosen_alike_by_a_copy():
    learner = started()
    for k in range(30):
        rows = np.random.default_rng(k).normal(size=(1 + k % 5, 2))
        whose = [None, cvar(0.3), expected_value(reference=1.0)][k % 3]
        twin = learner.copy()
        choice = learner.ask(features=rows, preference=whose)
        assert twin.ask(features=rows, preference=whose) == choice
        learner.tell(choice, float(k % 4))
        twin.tell(choice, float(k % 4))
        np.testing.assert_array_equal(twin.theta, learner.theta)
