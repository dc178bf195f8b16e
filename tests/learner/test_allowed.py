"""Choices among some of the arms, how likely they were, and why they were made."""

import json

import numpy as np
import pytest

from allais import (
    NPTS,
    WLUCB,
    WUCB,
    Bounded,
    Learner,
    Preference,
    TverskyKahneman,
    expected_value,
)
from allais.learner._engine import Engine
from allais.linear import LinTS, ParameterNoise
from allais.policies import EXP3

ARMS = ["A21", "A28", "A40"]
PEOPLE = Preference(TverskyKahneman(0.61))
POLICIES = [NPTS(PEOPLE, Bounded(0, 50)), WUCB(PEOPLE, Bounded(0, 50)), EXP3(Bounded(0, 50))]


def retiring(learner, allowed, **settings):
    """As it was done before there was `allowed`: the other arms retire, and come back."""
    others = [arm for arm in learner.arms if arm not in allowed]
    for arm in others:
        learner.retire(arm)
    try:
        return learner.ask(**settings)
    finally:
        for arm in others:
            learner.add(arm)


@pytest.mark.parametrize("policy", POLICIES[:2], ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("whose", [None, expected_value()], ids=["own", "another"])
def test_a_choice_among_allowed_arms_is_the_one_among_those_that_did_not_retire(policy, whose):
    learner, twin = (policy.start(ARMS, seed=1) for _ in range(2))
    rng = np.random.default_rng(1)
    for step in range(60):
        allowed = [arm for arm in ARMS if rng.random() < 0.6] or ["A28"]
        choice = learner.ask(allowed=allowed, preference=whose)
        assert choice == retiring(twin, allowed, preference=whose)
        assert choice.arm in allowed
        assert learner.arms == tuple(ARMS)
        if step % 3:
            outcome = float(rng.uniform(0, 50))
            for one in (learner, twin):
                one.tell(choice, outcome)
    assert learner.snapshot() == twin.snapshot()


def test_a_batch_is_of_allowed_arms():
    learner = NPTS(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1)
    assert {choice.arm for choice in learner.ask(20, allowed=["A21", "A40"])} == {"A21", "A40"}


def test_arms_that_are_not_in_play_cannot_be_allowed_and_nothing_changes():
    learner = NPTS(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1)
    learner.retire("A40")
    before = learner.snapshot()
    for allowed in ("A21", 5):
        with pytest.raises(TypeError, match=rf"a list of arms; got {allowed!r}. Write \[{allowed!r}\]"):
            learner.ask(allowed=allowed)
    for allowed, rule in ((["A40"], "must be in play; 'A40' is not"), ([], "one or more; got none")):
        with pytest.raises(ValueError, match=rule):
            learner.ask(allowed=allowed)
    assert learner.snapshot() == before


def test_a_policy_that_fixes_its_arms_allows_all_or_is_not_asked():
    learner = WLUCB(PEOPLE, Bounded(0, 50), delta=0.05).start(ARMS, seed=1)
    assert learner.ask(allowed=ARMS).arm == "A21"
    with pytest.raises(ValueError, match="fixes its arms when it starts"):
        learner.ask(allowed=["A28"])


def test_what_raises_in_a_choice_among_allowed_arms_leaves_all_arms_in_play(monkeypatch):
    learner = NPTS(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1)

    def broken(self, view=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "ask", broken)
        with pytest.raises(KeyboardInterrupt):
            learner.ask(allowed=["A28"])
    assert learner.arms == tuple(ARMS)
    assert learner.ask(allowed=["A28"]).arm == "A28"


def test_a_folder_repeats_choices_among_allowed_arms(tmp_path):
    policy = NPTS(PEOPLE, Bounded(0, 50))
    with Learner.open(tmp_path / "advisor", policy, ARMS, seed=1) as learner:
        for arm, outcome in (("A28", 7.0), ("A40", 20.0), ("A21", 50.0), ("A28", 8.0)):
            learner.tell(learner.ask(allowed=[arm]), outcome)
        learner.ask(3, allowed=["A21", "A40"])
        known = learner.snapshot()
    with Learner.open(tmp_path / "advisor") as again:
        assert again.snapshot() == known


def test_the_propensity_is_known_where_a_formula_gives_it():
    for policy, expected in zip(POLICIES, (None, 1.0, pytest.approx(1 / 3)), strict=True):
        learner = policy.start(ARMS, seed=1)
        choice = learner.ask()
        assert learner.propensity(choice) == learner.propensity(choice.id) == expected
        learner.cancel(choice)
        with pytest.raises(ValueError, match="told or cancelled once"):
            learner.propensity(choice)


def test_the_chances_among_allowed_arms_are_theirs_alone():
    learner = NPTS(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1)
    for arm in ARMS:
        learner.observe(arm, [7.0, 20.0, 30.0])
    shares = learner.chances(allowed=["A21", "A40"])
    assert list(shares) == ["A21", "A40"]
    assert sum(shares.values()) == pytest.approx(1.0)


def test_a_reason_is_about_the_value_for_whom_the_arm_was_chosen():
    learner = WUCB(expected_value(), Bounded(0, 50)).start(["risky", "sure"], seed=1)
    learner.observe("risky", [50.0] + [0.0] * 9)
    learner.observe("sure", [7.0] * 10)
    assert learner.why("sure", unit="minutes") == ("sure is worth most so far: its mean is 7 minutes, by 10 outcomes")
    assert learner.why("risky", PEOPLE).startswith("risky is worth most so far")
    with pytest.raises(ValueError, match="an arm must be one of"):
        learner.why("unknown")


def test_a_snapshot_changes_nothing_and_makes_the_same_learner():
    learner = NPTS(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1)
    learner.observe("A28", np.random.default_rng(1).uniform(0, 50, 300))
    before = learner.copy()
    again = Learner.from_snapshot(json.loads(json.dumps(learner.snapshot())))
    assert learner.snapshot() == before.snapshot() == again.snapshot()
    learner.lay_out()
    assert [learner.ask() for _ in range(20)] == [again.ask() for _ in range(20)]


def test_a_reward_can_be_checked_before_it_is_told():
    learner = NPTS(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1)
    assert learner.check_reward("A28", 7) == 7.0
    with pytest.raises(ValueError, match="50"):
        learner.check_reward("A28", 51.0)


def test_rows_of_features_have_values_without_being_listed():
    policy = LinTS(expected_value(), ParameterNoise())
    learner = policy.start(["A", "B"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
    learner.observe("B", [3.0, 3.0, 3.0])
    assert learner.values_of([[0.0, 2.0], [1.0, 0.0]]) == pytest.approx([4.5, 0.0])
