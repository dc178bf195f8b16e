"""Events: a learner to which those of another are applied is its twin, and what cannot be is refused."""

import json

import numpy as np
import pytest

from allais import NPTS, WUCB, Bounded, Finite, Learner, Preference, TverskyKahneman
from allais.learner import LinearLearner
from allais.linear import WOFUL, AdditiveNoise, Box, LinTS, ParameterNoise
from allais.policies import EXP3
from tests.learner.test_journal import ARMS, POLICY, as_repeated, mixed, perform

PEOPLE = Preference(TverskyKahneman(0.61))
ROWS = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]


def events_of(folder):
    return [json.loads(line) for line in (folder / "journal-1.jsonl").read_text().splitlines()]


def test_the_events_of_a_folder_make_a_twin_in_memory_and_in_another_folder(tmp_path):
    operations, _ = mixed(60, seed=9)
    with Learner.open(tmp_path / "first", POLICY, ARMS, seed=1) as learner:
        for operation in operations:
            perform(learner, operation)
        events, live = events_of(tmp_path / "first"), as_repeated(learner)
        twin = POLICY.start(ARMS, seed=1)
        with Learner.open(tmp_path / "second", POLICY, ARMS, seed=1) as other:
            for event in events:
                twin.apply(event)
                other.apply(event)
            assert as_repeated(twin) == as_repeated(other) == live
            assert twin.ask(3) == other.ask(3) == learner.ask(3)
    with Learner.open(tmp_path / "second") as other:  # what was applied was written down
        assert other.snapshot() == twin.snapshot()


def test_choices_with_features_are_events(tmp_path):
    policy = LinTS(PEOPLE, AdditiveNoise())
    with Learner.open(tmp_path, policy, ARMS, seed=1, features=ROWS) as learner:
        assert isinstance(learner, LinearLearner)
        first = learner.ask(features=ROWS)
        second = learner.ask(among=Box([-1, 0], [1, 2]))
        learner.tell(first, 0.5)
        learner.tell(learner.ask(), 0.25)
        learner.ask(features=ROWS)
        learner.cancel(learner.outstanding[-1])
        events = events_of(tmp_path)
        twin = policy.start(ARMS, seed=1, features=ROWS)
        for event in events:
            twin.apply(event)
        assert twin.snapshot() == learner.snapshot()
        assert twin.outstanding == (second,)
        np.testing.assert_array_equal(twin.features_of(second), learner.features_of(second))


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {},
        {"merge": "A21"},
        {"tell": 1},
        {"tell": 1, "reward": "seven"},
        {"tell": "1", "reward": 7.0},
        {"tell": 99, "reward": 7.0},
        {"ask": 3},
        {"ask": [[7, "A21"]]},
        {"ask": [[2, "B1"]]},
        {"ask": [[2, "A21"], [2, "A21"]]},
        {"ask": [[2, []]]},
        {"cancel": 99},
        {"observe": "A21", "rewards": [51.0]},
        {"forget": "A21", "reward": 1.0},
        {"add": "A21", "rewards": None},
        {"add": ["A"], "rewards": None},
        {"add": "B7", "rewards": {"type": "os:system"}},
        {"retire": "B1"},
        {"chose": 2, "arm": 0, "features": [1.0, 0.0]},
    ],
)
def test_an_event_that_cannot_be_is_refused_and_changes_nothing(event):
    learner = POLICY.start(ARMS, seed=1)
    learner.ask()
    before = learner.snapshot()
    with pytest.raises(ValueError, match=r"\."):
        learner.apply(event)
    assert learner.snapshot() == before
    assert learner.ask() == (2, "A28")


def test_a_choice_that_a_policy_would_not_make_is_refused_where_its_chance_counts():
    learner = EXP3(Bounded(0, 50)).start(ARMS, seed=1)
    other = next(arm for arm in ARMS if arm != learner.copy().ask().arm)
    with pytest.raises(ValueError, match="events must repeat to the same choices"):
        learner.apply({"ask": [[1, other]]})
    with pytest.raises(ValueError, match="must end before the next begins"):  # it has chosen otherwise by now
        learner.ask()
    open_to_data = NPTS(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1)
    open_to_data.apply({"ask": [[1, "A40"]]})
    assert [choice.arm for choice in open_to_data.outstanding] == ["A40"]


def test_an_arm_with_rewards_of_its_own_is_an_event(tmp_path):
    policy = WUCB.as_printed(PEOPLE, [Bounded(0, 50), Bounded(0, 2)])
    with Learner.open(tmp_path, policy, ["wide", "narrow"], seed=1) as learner:
        learner.add("new", Finite([0, 7]))
        events = events_of(tmp_path)
    twin = policy.start(["wide", "narrow"], seed=1)
    for event in events:
        twin.apply(event)
    with pytest.raises(ValueError, match="one of the 2 declared values"):
        twin.observe("new", [3.0])


# -- what a linear learner shows ------------------------------------------------------------------------


def test_theta_and_its_ellipsoid_are_those_of_the_regression():
    rng = np.random.default_rng(5)
    learner = WOFUL(PEOPLE, AdditiveNoise(), delta=0.05, beta=2.0, regularisation=0.5).start(3, seed=1, features=ROWS)
    gram, vector = 0.5 * np.eye(2), np.zeros(2)
    for _ in range(50):
        choice = learner.ask(features=rng.normal(size=(4, 2))) if rng.random() < 0.5 else learner.ask()
        x, reward = learner.features_of(choice), rng.normal()
        learner.tell(choice, reward)
        gram += np.outer(x, x)
        vector += reward * x
    ellipsoid = learner.ellipsoid
    np.testing.assert_allclose(learner.theta, np.linalg.solve(gram, vector), rtol=1e-9)
    np.testing.assert_allclose(ellipsoid.matrix, gram, rtol=1e-9)
    np.testing.assert_array_equal(ellipsoid.centre, learner.theta)
    radius = np.sqrt(2 * np.log(1 / 0.05) + np.log(np.linalg.det(gram) / 0.5**2)) + 2.0 * np.sqrt(0.5)
    assert ellipsoid.radius == pytest.approx(radius, rel=1e-9)
    assert ellipsoid.holds(learner.theta)
    assert not ellipsoid.holds(learner.theta + 1e3)
    learner.theta[:] = 7.0  # a copy
    assert not (learner.theta == 7.0).any()
    assert np.isinf(LinTS(PEOPLE, ParameterNoise()).start(3, seed=1, features=ROWS).ellipsoid.radius)


def test_a_linear_learner_runs_linear_policies_only():
    with pytest.raises(TypeError, match="a linear learner runs a linear policy"):
        LinearLearner(POLICY, ARMS, 1)
