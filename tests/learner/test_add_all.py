"""Arms that come many at a time."""

from __future__ import annotations

import pytest

from allais import NPTS, WUCB, Bounded, Learner, expected_value
from allais.learner import changes as module


@pytest.mark.parametrize("kind", [NPTS, WUCB])
def test_many_arms_at_once_are_as_many_arms_one_by_one(kind, monkeypatch):
    learners = [kind(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1) for _ in range(2)]
    for learner in learners:
        for outcome in (7.0, 20.0, 3.0):
            learner.tell(learner.ask(), outcome)
    one_by_one, at_once = learners
    for k in range(20):
        one_by_one.add(f"B{k}")
    made = []
    monkeypatch.setattr(module, "started", lambda *given, _old=module.started: made.append(given) or _old(*given))
    at_once.add_all([f"B{k}" for k in range(20)])
    assert len(made) == 1  # at the cost of one
    assert at_once.arms == one_by_one.arms
    for step in range(60):
        choices = [learner.ask() for learner in learners]
        assert choices[0] == choices[1]
        for learner, choice in zip(learners, choices, strict=True):
            learner.tell(choice, 50.0 * ((step * 0.618) % 1.0))
    assert one_by_one.value() == at_once.value()


def test_all_new_arms_come_or_none():
    learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
    learner.retire("A21")
    for wrong, words in ((["B7", "A21"], "'A21' is there already"), (["B7", "B7"], "'B7' twice"), ([], "got none")):
        with pytest.raises(ValueError, match=words):
            learner.add_all(wrong)
    with pytest.raises(ValueError, match="Leave out rewards="):
        learner.add_all(["B7"], Bounded(0, 1))
    assert learner.arms == ("A28",)
    each = NPTS(expected_value(), [Bounded(0, 50), Bounded(0, 5)]).start(["A21", "A28"], seed=1)
    each.add_all(["B7", "B9"], Bounded(0, 1))
    with pytest.raises(ValueError, match="2"):
        each.observe("B9", [2.0])


def test_arms_that_came_at_once_are_there_when_a_folder_is_opened_again(tmp_path):
    policy = NPTS(expected_value(), Bounded(0, 50))
    with Learner.open(tmp_path / "advisor", policy, arms=["A21", "A28"], seed=1) as learner:
        learner.add_all(["B7", "B9"])
        learner.tell(learner.ask(), 7.0)
    with Learner.open(tmp_path / "advisor") as learner:
        assert learner.arms == ("A21", "A28", "B7", "B9")
        assert learner.samples == 1
