"""W-OCBA: a floor for every arm, then the budget where arms are hard to tell apart."""

from __future__ import annotations

import pytest

from allais import WOCBA, Bandit, Discrete, Normal, Preference, TverskyKahneman, best_arm, expected_value

MEAN = expected_value()


def test_the_floor_is_what_the_rarest_event_needs() -> None:
    # 0.98^149 > 0.05 >= 0.98^149 * 0.98 is wrong by one at most: log(0.05) / log(0.98) = 148.28
    assert WOCBA(MEAN, budget=10_000, rarest=0.02).floor() == 149
    with pytest.raises(ValueError, match="each of 16 arms the 149 samples"):
        WOCBA(MEAN, budget=1_000, rarest=0.02).try_on(16)


def test_a_budget_is_spent_where_arms_are_close() -> None:
    problem = Bandit([Normal(1.0, 1.0), Normal(0.9, 1.0), Normal(-3.0, 1.0), Discrete({-1: 1.0})])
    answer = best_arm(WOCBA(MEAN, budget=2_000, rarest=0.1), problem, seed=1)
    each = WOCBA(MEAN, budget=2_000, rarest=0.1).floor()
    assert answer.samples == 2_000
    assert answer.pulls[2] < 3 * each
    assert answer.pulls[3] < 3 * each
    assert min(answer.pulls[0], answer.pulls[1]) > 500


def test_a_batch_counts_on_what_is_out() -> None:
    learner = WOCBA(MEAN, budget=400, rarest=0.2).start(2, seed=1)
    learner.observe(0, [0.0, 1.0] * 20)
    learner.observe(1, [0.0, 1.1] * 20)
    asked = [choice.arm for choice in learner.ask(100)]
    assert 35 <= asked.count(0) <= 65  # not a hundred of the same


def test_a_rare_gain_is_found_that_the_floor_allows_for() -> None:
    problem = Bandit([Discrete({400: 0.01, 0: 0.99}), *(Discrete({10: 0.5, 0: 0.5}) for _ in range(3))])
    policy = WOCBA(Preference(TverskyKahneman(0.61)), budget=4_000, rarest=0.01)
    # missed with probability 0.05 at most, and the estimate may err: 30 runs of chance 0.2 are wrong 19 times or more
    # with probability below 1e-6
    wrong = sum(best_arm(policy, problem, seed=seed).arm != 0 for seed in range(30))
    assert wrong < 19
