"""The probability of a choice, which is exact because the arm was drawn by it."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from allais import IMED, NPTS, UCB1, WUCB, Bernoulli, Bounded, Finite, Preference, Prelec, TverskyKahneman, simulate
from allais import Bandit as KArmedBandit
from allais.learner import Learner, LinearLearner
from allais.linear import WOFUL, LinearBandit, LinTS, ParameterNoise, Routes
from allais.preferences import expected_value

TK = Preference(TverskyKahneman(0.61))


def _prepared(policy, arms=("A", "B", "C")):
    learner = policy.start(list(arms), seed=1)
    for k, arm in enumerate(arms):
        learner.observe(arm, [0.0] * (6 - k) + [1.0] * (4 + k))
    return learner


def test_frequencies_are_what_the_logged_probabilities_say():
    # sum of 1{A = a} - p_t(a) over rounds is a martingale with steps of at most 1; p_t(a) is only logged where a was
    # chosen, so each arm's sum of 1{A = a} / p - 1{p > 0} is judged, for arms that every round gives a floor
    learner = _prepared(NPTS(TK, Bounded(0, 1), draws=4, floor=0.05))
    rounds, totals = 4_000, dict.fromkeys("ABC", 0.0)
    for _ in range(rounds):
        choice = learner.ask()
        assert 0.05 <= choice.propensity <= 1.0
        totals[choice.arm] += 1.0 / choice.propensity
        learner.cancel(choice)  # the state stays, so that rounds are alike
    # weights are at most 20 with a mean of 1, so their variance is at most 19; at 6 standard errors a chance of 1e-8
    for total in totals.values():
        assert abs(total / rounds - 1.0) < 6.0 * np.sqrt(19.0 / rounds)


@pytest.mark.parametrize("policy", [WUCB(TK, Bounded(0, 1)), UCB1(Bounded(0, 1)), IMED(TK, Finite([0, 1]))])
def test_a_rule_without_chance_has_probability_one_and_ties_are_shared(policy):
    learner = policy.start(["A", "B", "C"], seed=1)
    assert [learner.ask().propensity for _ in range(3)] == [1.0, 1.0, 1.0]  # each is asked once
    again = learner.ask()
    assert again.propensity == pytest.approx(1 / 3)  # nobody has told anything: all are alike
    assert learner.propensity(again) == again.propensity
    assert [one.propensity for one in learner.outstanding] == [1.0, 1.0, 1.0, again.propensity]


@pytest.mark.parametrize(
    "policy",
    [
        WUCB(TK, Bounded(0, 1), floor=0.1),
        IMED(TK, Finite([0, 1]), floor=0.1),
        NPTS(TK, Bounded(0, 1), floor=0.1),
        NPTS(TK, Bounded(0, 1), floor=0.1, draws=8),
    ],
)
def test_a_floor_gives_every_arm_in_play_its_probability(policy):
    learner, seen = _prepared(policy), {}
    for _ in range(400):
        choice = learner.ask()
        seen.setdefault(choice.arm, set()).add(round(choice.propensity, 12))
        learner.cancel(choice)
    assert set(seen) == {"A", "B", "C"}  # an arm at its floor is missed by a chance of 0.9^400 < 1e-18
    assert min(min(each) for each in seen.values()) >= 0.1 - 1e-12
    learner.retire("C")
    assert {learner.ask().arm for _ in range(100)} == {"A", "B"}
    only = learner.ask(allowed=["B"])
    assert (only.arm, only.propensity) == ("B", 1.0)


def test_floors_that_exceed_one_together_make_all_arms_alike():
    learner = _prepared(WUCB(TK, Bounded(0, 1), floor=0.9))
    assert learner.ask().propensity == pytest.approx(1 / 3)
    for wrong in (-0.1, 1.0, True, "a"):
        with pytest.raises(ValueError, match="floor must"):
            WUCB(TK, Bounded(0, 1), floor=wrong)
    with pytest.raises(ValueError, match="draws must be a whole number, 1 or more; got 0"):
        NPTS(TK, Bounded(0, 1), draws=0)


def test_one_draw_without_a_floor_has_no_probability_and_plays_as_before():
    plain = NPTS(TK, Bounded(0, 1))
    assert _prepared(plain).ask().propensity is None
    problem = KArmedBandit([Bernoulli(0.4), Bernoulli(0.6)])
    assert simulate(plain, problem, n_rounds=300, n_runs=4, seed=1).pulls[:, -1].sum() == 1_200


def test_shares_are_of_the_draws_and_for_whom_it_was_chosen():
    learner = _prepared(NPTS(TK, Bounded(0, 1), draws=10))
    for whose in (None, Preference(Prelec(0.5)), expected_value()):
        likely = [learner.ask(preference=whose).propensity for _ in range(50)]
        assert all(abs(10 * one - round(10 * one)) < 1e-9 and one > 0 for one in likely)
        assert len(set(likely)) > 1


def test_an_arm_is_as_likely_with_many_draws_as_with_one():
    # both are Thompson's own probability: the difference of two shares of 4,000 has a standard error below 0.0112
    shares = []
    for draws in (1, 8):
        learner, chosen = _prepared(NPTS(TK, Bounded(0, 1), draws=draws)), []
        for _ in range(4_000):
            choice = learner.ask()
            chosen.append(choice.arm == "C")
            learner.cancel(choice)
        shares.append(np.mean(chosen))
    assert 0.1 < shares[0] < 0.9
    assert abs(shares[0] - shares[1]) < 5.5 * 0.0112  # a chance of 4e-8


def test_linear_choices_have_probabilities_listed_in_a_round_and_in_a_set():
    policy = LinTS(expected_value(), ParameterNoise(), draws=8)
    learner = policy.start(["A", "B"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
    assert isinstance(learner, LinearLearner)
    listed = [learner.ask().propensity for _ in range(40)]
    assert {round(8 * one, 9) % 1 for one in listed} == {0.0}
    rows = learner.ask(features=[[1.0, 1.0], [1.0, -1.0], [0.5, 0.0]])
    assert 0.0 < rows.propensity <= 1.0
    assert learner.propensity(rows) == rows.propensity
    assert policy.but(draws=1).start(["A", "B"], seed=1, features=np.eye(2)).ask().propensity is None
    assert policy.but(draws=1, floor=0.2).start(["A", "B"], seed=1, features=np.eye(2)).ask().propensity in (0.2, 0.8)
    careful = WOFUL(expected_value(), ParameterNoise(), delta=0.05, beta=1.0, floor=0.2)
    assert careful.start(["A", "B"], seed=1, features=np.eye(2)).ask().propensity in (0.2, 0.8)


def test_a_set_of_arms_has_probabilities_and_takes_no_floor():
    graph = networkx.DiGraph([("home", "left"), ("left", "work"), ("home", "right"), ("right", "work")])
    roads = Routes(graph, "home", "work")
    policy = LinTS(expected_value(costs=True), ParameterNoise(), draws=8)
    learner = policy.start(["by the left"], seed=1, features=[[1, 1, 0, 0]])
    likely = [learner.ask(among=roads).propensity for _ in range(30)]
    assert all(one is not None and (8 * one) % 1 == 0 for one in likely)
    floored = policy.but(floor=0.1).start(["by the left"], seed=1, features=[[1, 1, 0, 0]])
    with pytest.raises(ValueError, match="a floor needs arms that are listed"):
        floored.ask(among=roads)


def test_a_file_keeps_the_probability_of_what_is_out(tmp_path):
    learner = _prepared(NPTS(TK, Bounded(0, 1), draws=8, floor=0.01))
    asked = learner.ask(3)
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json")
    assert [one.propensity for one in again.outstanding] == [one.propensity for one in asked]
    assert again.outstanding == tuple(asked)
    assert again.ask() == learner.ask()


def test_draws_are_chosen_alike_live_and_simulated():
    problem = LinearBandit([[1, 0], [0, 1]], theta=[0.5, 0.2], noise=ParameterNoise())
    found = simulate(LinTS(TK, ParameterNoise(), draws=4, floor=0.1), problem, n_rounds=500, n_runs=2, seed=1)
    assert (found.pulls[:, -1] >= 20).all()  # 50 are expected by the floor alone; below 20 by a chance of 1e-6


def test_a_floor_of_one_arm_is_a_control_share():
    learner, rounds, total = _prepared(NPTS(TK, Bounded(0, 1), draws=4, floor=[0.3, 0.0])), 1_000, 0.0
    for _ in range(rounds):
        choice = learner.ask()
        if choice.arm == "A":
            assert choice.propensity >= 0.3
            total += 1.0 / choice.propensity
        learner.cancel(choice)
    assert abs(total / rounds - 1.0) < 6.0 * np.sqrt((1 / 0.3 - 1.0) / rounds)  # a chance below 1e-8
    with pytest.raises(ValueError, match="sum to 1 at most"):
        NPTS(TK, Bounded(0, 1), floor=[0.6, 0.6])
    with pytest.raises(ValueError, match="one number for each arm"):
        NPTS(TK, Bounded(0, 1), floor=[0.1] * 4).start(2, seed=1)
