"""Explore-first greedy: every arm alike, then the best one so far."""

from __future__ import annotations

import numpy as np
import pytest

from allais import (
    Bandit,
    Discrete,
    ExploreFirstGreedy,
    Learner,
    Normal,
    Preference,
    TverskyKahneman,
    best_arm,
    expected_value,
)

MEAN = expected_value()


def test_it_explores_first_and_then_follows_the_highest_estimate() -> None:
    learner = ExploreFirstGreedy(MEAN, budget=10, floor=0.6).start(3, seed=1)
    asked = []
    rewards = iter([1.0, 5.0, 2.0, 1.0, 4.0, 3.0, -9.0, 0.0, 0.0, 0.5])  # two each; arm 1 leads with 4.5 and falls to 0
    while not learner.is_settled():
        choice = learner.ask()
        asked.append(choice.arm)
        learner.tell(choice, next(rewards))
    # after -9 the mean of arm 1 is 0, and arm 2 leads with 2.5, then 1.67 and 1.25: arm 0 stays at 1
    assert asked == [0, 1, 2, 0, 1, 2, 1, 2, 2, 2]
    assert (learner.recommend().arm, learner.recommend().value) == (2, 1.1)


def test_the_best_of_five_hundred_is_found_with_ten_samples_each() -> None:
    # one arm stands out by one standard deviation; a fixed seed, and no run of 20 was near the limit
    problem = Bandit([Normal(1.0, 1.0), *(Normal(0.0, 1.0) for _ in range(499))])
    greedy = sum(best_arm(ExploreFirstGreedy(MEAN, budget=5_000), problem, seed=s).arm == 0 for s in range(20))
    alike = sum(
        best_arm(ExploreFirstGreedy(MEAN, budget=5_000, floor=1.0), problem, seed=s).arm == 0 for s in range(20)
    )
    assert greedy > alike + 4


def test_any_preference_is_followed() -> None:
    problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    assert best_arm(ExploreFirstGreedy(Preference(TverskyKahneman(0.61)), budget=20_000), problem, seed=1).arm == 0
    assert best_arm(ExploreFirstGreedy(MEAN, budget=20_000), problem, seed=1).arm == 2


def test_a_budget_that_does_not_reach_every_arm_is_refused() -> None:
    with pytest.raises(ValueError, match="budget must exceed the number of arms"):
        ExploreFirstGreedy(MEAN, budget=10).try_on(10)
    with pytest.raises(ValueError, match="floor"):
        ExploreFirstGreedy(MEAN, budget=100, floor=0.0)


def test_the_leader_of_the_tournament_is_the_arm_of_the_highest_estimate() -> None:
    rng = np.random.default_rng(5)
    learner = ExploreFirstGreedy(MEAN, budget=3_000, floor=0.2).start(37, seed=1)
    explored = 37 * (600 // 37)
    for step in range(3_000):
        if step == 2_000:  # nothing of the tournament is in a file
            learner = Learner.from_snapshot(learner.snapshot())
        values = learner.state.memory.value.copy()  # to the last bit, as the policy sees them
        choice = learner.ask()
        if step < explored:
            assert choice.arm == step % 37
        else:
            assert values[choice.arm] == values.max()
        learner.tell(choice, round(float(rng.normal(0.02 * choice.arm, 1.0)), 1))
    assert learner.is_settled()
    assert learner.samples == 3_000


def test_outcomes_that_were_observed_count_for_the_budget() -> None:
    learner = ExploreFirstGreedy(MEAN, budget=100).start(4, seed=1)
    for _ in range(30):
        learner.tell(learner.ask(), 1.0)
    learner.observe(2, [2.0] * 60)
    for _ in range(10):
        assert not learner.is_settled()
        learner.tell(learner.ask(), 1.0)
    assert learner.is_settled()
    assert learner.samples == 100
