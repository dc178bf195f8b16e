"""What may change while a learner goes on: bounds, the preference, features."""

from __future__ import annotations

import numpy as np
import pytest

from allais import (
    NPTS,
    UCB1,
    WUCB,
    Bounded,
    Finite,
    Normal,
    PowerUtility,
    Preference,
    SubGaussian,
    TverskyKahneman,
    cvar,
    expected_value,
)
from allais.learner import Learner
from allais.linear import AdditiveNoise, LinTS, ParameterNoise
from allais.policies.exp3 import EXP3

TK = Preference(TverskyKahneman(0.61))
OUTCOMES = np.random.default_rng(5).uniform(0.0, 50.0, 300).tolist()


def lived(policy, outcomes=OUTCOMES, seed=3):
    learner = policy.start(["A21", "A28", "B7"], seed=seed)
    for outcome in outcomes:
        learner.tell(learner.ask(), outcome)
    return learner


def alike(one, other, rounds=50):
    for outcome in OUTCOMES[:rounds]:
        choice, same = one.ask(), other.ask()
        assert choice == same
        one.tell(choice, outcome)
        other.tell(same, outcome)


def restarted(learner, policy):
    """A learner under another policy that was told the same outcomes of each arm."""
    other = policy.start(learner.arms, seed=1)
    for arm in learner.arms:
        outcomes, counts = learner.outcomes(arm)
        other.observe(arm, np.repeat(outcomes, counts))
    return other


def test_a_reward_beyond_the_bounds_says_which_call_widens_them():
    learner = lived(NPTS(TK, Bounded(0, 50)), OUTCOMES[:3])
    choice = learner.ask()
    for call in (lambda: learner.tell(choice, 60.0), lambda: learner.observe("A21", [60.0])):
        with pytest.raises(ValueError, match=r"between 0 and 50; got 60\. .* learner\.widen\(Bounded\(low, high\)\)"):
            call()
    learner.widen(Bounded(0, 60))
    learner.tell(choice, 60.0)
    assert learner.samples == 4


@pytest.mark.parametrize("kind", [WUCB, NPTS, UCB1])
def test_wider_bounds_value_what_was_told_as_if_they_had_been_there_from_the_start(kind):
    narrow, wide = (
        kind(rewards=known) if kind is UCB1 else kind(TK, known) for known in (Bounded(0, 50), Bounded(0, 80))
    )
    learner = lived(narrow)
    learner.widen(Bounded(0, 80))
    other = restarted(learner, wide)
    assert learner.value() == pytest.approx(other.value())
    assert learner.policy == wide
    if kind is not NPTS:
        for arm, interval in other.intervals().items():
            assert learner.intervals()[arm] == pytest.approx(interval)


def test_narrower_bounds_are_refused_and_nothing_changes():
    learner = lived(WUCB(TK, Bounded(0, 50)))
    twin = learner.copy()
    for wrong in (Bounded(0, 49), Bounded(1, 60), Finite([0, 50]), SubGaussian(1.0, 5.0)):
        with pytest.raises((ValueError, TypeError), match=r"must|needs bounded"):
            learner.widen(wrong)
    with pytest.raises(ValueError, match="one for all arms or one per arm"):
        learner.widen([Bounded(0, 60)])
    alike(learner, twin)
    assert learner.policy.rewards == Bounded(0, 50)
    weights = EXP3(Bounded(0, 50)).start(2, seed=1)
    with pytest.raises(ValueError, match="scaled what it learned"):
        weights.widen(Bounded(0, 60))


@pytest.mark.parametrize(
    "new", [cvar(0.2), expected_value(), Preference(TverskyKahneman(0.5), utility=PowerUtility(0.88))]
)
def test_another_preference_values_all_that_was_told(new):
    learner = lived(WUCB(TK, Bounded(0, 50)), OUTCOMES * 3)  # also outcomes in trees
    learner.change_preference(new)
    other = restarted(learner, WUCB(new, Bounded(0, 50)))
    assert learner.value() == pytest.approx(other.value())
    assert learner.policy.preference == new


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.widen(Bounded(-5, 80)),
        lambda one: one.change_preference(Preference(TverskyKahneman(0.4), utility=PowerUtility(0.5))),
    ],
    ids=["bounds", "preference"],
)
def test_a_folder_and_a_file_go_on_with_what_changed(change, tmp_path):
    policy = NPTS(TK, Bounded(0, 50))
    with Learner.open(tmp_path / "a", policy, arms=["A21", "A28", "B7"], seed=3) as learner:
        for outcome in OUTCOMES[:40]:
            learner.tell(learner.ask(), outcome)
        change(learner)
        changed, twin = learner.policy, learner.copy()
    for given in (None, policy, changed):
        with Learner.open(tmp_path / "a", given) as learner:
            alike(learner.copy(), twin.copy())
    twin.save(tmp_path / "a.json")
    alike(Learner.load(tmp_path / "a.json"), twin)


def test_new_features_are_learned_from_nothing_and_old_ones_stay(tmp_path):
    rng = np.random.default_rng(2)
    rows = [[1.0, 0.3, 0.0], [1.0, 0.0, 0.7]]
    policy = LinTS(expected_value(), AdditiveNoise(Normal(0.0, 0.5)))
    small = policy.start(["a", "b"], seed=1, features=[row[:2] for row in rows])
    large = policy.start(["a", "b"], seed=1, features=rows)
    waiting = small.ask(features=[[1.0, 0.2]])
    for _ in range(30):
        row, outcome = [1.0, float(rng.uniform())], float(rng.normal())
        small.observe_features(row, [outcome])
        large.observe_features([*row, 0.0], [outcome])
    small.add_features(rows)
    small.tell(waiting, 0.5)
    large.observe_features([1.0, 0.2, 0.0], [0.5])
    for _ in range(30):
        row, outcome = rng.uniform(size=3).tolist(), float(rng.normal())
        small.observe_features(row, [outcome])
        large.observe_features(row, [outcome])
    np.testing.assert_allclose(small.theta, large.theta, atol=1e-12)
    for one, same in zip(small.ellipsoid, large.ellipsoid, strict=True):
        np.testing.assert_allclose(one, same, rtol=1e-9, atol=1e-12)
    assert small.value() == pytest.approx(large.value())
    small.save(tmp_path / "small.json")
    again = Learner.load(tmp_path / "small.json")
    assert [again.ask(features=rows).arm for _ in range(20)] == [small.ask(features=rows).arm for _ in range(20)]
    for wrong in (rows, [[1.0, 0.3, 0.0, 1.0]], [[9.0, 0.3, 0.0, 1.0], [1.0, 0.0, 0.7, 1.0]]):
        with pytest.raises(ValueError, match="behind the 3 that 2 arms have"):
            small.add_features(wrong)


def test_a_linear_learner_changes_its_preference_and_has_no_bounds():
    learner = LinTS(TK, ParameterNoise()).start(2, seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
    learner.observe(0, [1.0, 2.0])
    learner.change_preference(expected_value())
    assert learner.value()[0] == pytest.approx(learner.theta[0])
    with pytest.raises(ValueError, match="that has some; LinTS has none"):
        learner.widen(Bounded(0, 1))
