"""Data from elsewhere, arms that come and go, and what a learner knows."""

import math

import numpy as np
import pytest

from allais import (
    NPTS,
    WUCB,
    Bounded,
    Preference,
    Prelec,
    SubGaussian,
    TverskyKahneman,
    cvar,
    expected_value,
)
from allais.bands import Holder
from allais.linear import LinTS, ParameterNoise
from allais.policies import UCBV, WEUCB, Recent
from tests.learner.test_learner import ARMS, FIFTY, FIXED, PEOPLE, REGRET, refused, samples_of, started

# -- data from elsewhere ------------------------------------------------------------------------------


def test_what_is_observed_counts_as_if_it_had_been_asked_for():
    learner = started(rounds=3)
    learner.observe("A28", [0, 50, 50])
    assert learner.pulls == {"A21": 1, "A28": 4, "A40": 1}
    assert samples_of(learner, "A28").tolist() == [0.0, 7.0, 50.0, 50.0]
    assert learner.snapshot()["state"]["asked"] == [1, 4, 1]


@pytest.mark.parametrize("memory", [None, Recent(5)])
def test_outcomes_of_many_arms_are_learned_in_their_order(memory):
    arms = ["A28", "A21", "A28", "A40", "A21", "A28", "A28", "A21"]
    rewards = [0.0, 7.0, 50.0, 3.0, 7.0, 1.0, 2.0, 50.0]
    policy = NPTS(PEOPLE, FIFTY, memory=memory)
    together, alone = started(policy), started(policy)
    together.observe(arms, rewards)
    for arm, reward in zip(arms, rewards, strict=True):
        alone.observe(arm, [reward])
    assert together.snapshot() == alone.snapshot()


@pytest.mark.parametrize(
    ("arm", "rewards", "message"),
    [
        ("A99", [7.0], "an arm must be one of 'A21', 'A28', 'A40'; got 'A99'"),
        (("A21",), [7.0], r"an arm must be one of .*; got \('A21',\)"),
        (["A21", "A99"], [7.0, 7.0], "an arm must be one of 'A21', 'A28', 'A40'; got 'A99'"),
        (["A21", "A28"], [7.0], "each reward has its arm; got 2 arms, 1 rewards"),
        (["A21", "A28"], [7.0, 51.0], "rewards must lie between 0 and 50; got 51"),
        ([], [], "rewards must not be empty"),
        ("A21", [7.0, 0.0, 51.0, 7.0], "rewards must lie between 0 and 50; got 51"),
        ("A21", [7.0, math.nan], "rewards must be finite; got nan at position 1"),
        ("A21", [7.0, math.inf], "rewards must be finite; got inf at position 1"),
        ("A21", [], "rewards must not be empty"),
        ("A21", 7.0, "rewards must be one sequence of numbers"),
        ("A21", [[7.0], [0.0]], "rewards must be one sequence of numbers"),
        ("A21", ["seven"], "rewards must be numbers; got"),
        ("A21", ["7"], "rewards must be numbers; got"),
        ("A21", [7.0, "7"], "rewards must be numbers; got"),
        ("A21", [True, False], "rewards must be numbers; got"),
        ("A21", [7.0, 10**400], "rewards must be"),
    ],
)
def test_data_is_taken_as_a_whole_or_not_at_all(arm, rewards, message):
    with refused(learner := started(rounds=10), message):
        learner.observe(arm, rewards)


@pytest.mark.parametrize("largest", [50.0, 1e9])
def test_what_is_forgotten_was_never_there(largest):
    policy = UCBV(Bounded(0, largest))
    learner, clean = started(policy), started(policy)
    learner.observe("A21", [0, 7, 7, largest, 3])
    clean.observe("A21", [0, 7, 3])
    for mistake in (largest, 7):
        learner.forget("A21", mistake)
    assert samples_of(learner, "A21").tolist() == [0.0, 3.0, 7.0]
    assert tuple(learner.intervals()["A21"]) == pytest.approx(tuple(clean.intervals()["A21"]), rel=1e-12)
    for reward in (0, 7, 3):
        learner.forget("A21", reward)
    assert math.isnan(learner.value()["A21"])
    assert [learner.ask().arm for _ in range(3)] == ARMS


@pytest.mark.parametrize(
    ("arm", "reward", "message"),
    [
        ("A21", 8.0, "only an outcome that was seen can be forgotten; 8.0 of 'A21' was not"),
        ("A28", 7.0, "7.0 of 'A28' was not"),
        ("A21", math.nan, "a reward must be finite"),
        ("A21", 51.0, "rewards must lie between"),
        ("A99", 7.0, "an arm must be one of"),
    ],
)
def test_only_what_was_seen_can_be_forgotten(arm, reward, message):
    learner = started()
    learner.observe("A21", [7.0])
    with refused(learner, message):
        learner.forget(arm, reward)


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("count", [100, 128, 129, 1000])
def test_any_number_of_distinct_outcomes_is_kept(count, costs):
    people = Preference(TverskyKahneman(0.61), reference=20.0, costs=costs)
    learner = started(WUCB.as_printed(people, Bounded(0, 50)))
    rng = np.random.default_rng(count)
    told = [20.0, 20.0, *rng.uniform(0, 50, count).tolist(), 0.0, 50.0]  # neither gain nor loss, and both
    learner.observe("A28", told)
    assert sorted(samples_of(learner, "A28").tolist()) == sorted(told)
    assert learner.intervals()["A28"].value == pytest.approx(people.estimate(told), rel=1e-12)
    assert learner.value()["A28"] == pytest.approx(people.estimate(told), rel=1e-12)
    forgotten = rng.permutation(told)
    for mistake in forgotten[:-3]:
        learner.forget("A28", mistake)
    assert sorted(samples_of(learner, "A28").tolist()) == sorted(forgotten[-3:])
    assert learner.intervals()["A28"].value == pytest.approx(people.estimate(forgotten[-3:]), rel=1e-12)


def clipped(x):
    return np.clip(x, -100.0, 100.0)


def test_outcomes_that_feel_alike_are_still_told_apart():
    learner = started(WUCB.as_printed(Preference(TverskyKahneman(0.61), utility=clipped), Bounded(0, 500)))
    learner.observe("A21", [150, 400, 150, 200])
    assert samples_of(learner, "A21").tolist() == [150.0, 150.0, 200.0, 400.0]
    assert learner.value(expected_value())["A21"] == 225.0
    with refused(learner, "300.0 of 'A21' was not"):
        learner.forget("A21", 300.0)


def test_features_are_refused_by_a_learner_that_knows_arms_by_name():
    learner = started(FIXED["EXP3"], rounds=5)
    for words in ({"features": [[1.0]]}, {"among": object()}):
        with refused(learner, "EXP3 knows arms by their names and takes no features. Leave them out", TypeError):
            learner.ask(**words)


def test_a_policy_that_learns_each_arm_on_its_own_starts_without_features():
    for policy in FIXED.values():
        sentence = rf"{type(policy).__name__} learns each arm on its own and takes no features; got some\. Leave"
        with pytest.raises(ValueError, match=sentence):
            policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        with pytest.raises(ValueError, match=sentence):
            policy.start(["A21", "A28"], 1, [[1.0, 0.0], [0.0, 1.0]])  # as linear policies take them


def test_exp3_learns_from_its_own_choices_only():
    learner = started(FIXED["EXP3"], rounds=5)
    with refused(learner, "EXP3 learns from its own choices only; got data about arm 'A21'"):
        learner.observe("A21", [7.0])
    with refused(learner, "EXP3 cannot unlearn"):
        learner.forget("A21", 0.0)


# -- arms that come and go ----------------------------------------------------------------------------


@pytest.mark.parametrize("policy", REGRET.values(), ids=REGRET)
def test_regret_policies_take_new_arms_and_let_old_ones_go(policy):
    learner = policy.start(ARMS, seed=1)
    for _ in range(12):
        learner.tell(learner.ask(), 0.5)
    known = {arm: learner.outcomes(arm)[1].tolist() for arm in ARMS}
    values = learner.value()
    learner.add("new")
    assert learner.arms == (*ARMS, "new")
    assert learner.ask().arm == "new"
    learner.retire("A21")
    assert learner.arms == ("A28", "A40", "new")
    assert "A21" not in {choice.arm for choice in learner.ask(20)}
    assert learner.recommend().arm in learner.arms
    assert {arm: learner.outcomes(arm)[1].tolist() for arm in ARMS} == known
    assert {arm: value for arm, value in learner.value().items() if arm != "new"} == values


@pytest.mark.parametrize("policy", FIXED.values(), ids=FIXED)
def test_other_policies_fix_their_arms_and_say_why(policy):
    learner = policy.start(ARMS, seed=1)
    learner.ask()
    with refused(learner, "fixes its arms when it starts, since its guarantee counts them; cannot add one"):
        learner.add("new")
    with refused(learner, "cannot retire one. Start it anew, or use a regret policy such as WUCB"):
        learner.retire("A21")


def test_a_new_arm_keeps_what_was_learned_to_the_last_bit():
    learner, never = started(rounds=40), started(rounds=40)
    learner.add("new")
    assert learner.snapshot()["arms"][:3] == never.snapshot()["arms"]
    assert {arm: learner.intervals()[arm] for arm in ARMS} == never.intervals()


@pytest.mark.parametrize(
    ("policy", "arm", "rewards", "message"),
    [
        (REGRET["W-UCB"], "A21", None, "distinct names; 'A21' is there already"),
        (REGRET["W-UCB"], "new", FIFTY, "rewards exactly if the policy has some for each arm; got some. Leave out"),
        (
            WUCB.as_printed(PEOPLE, [FIFTY] * 3),
            "new",
            None,
            "rewards exactly if the policy has some for each arm; got none. Give",
        ),
        (REGRET["W-UCB"], ["new"], None, "name"),
        (WUCB.as_printed(PEOPLE, [FIFTY] * 3), "new", "0 to 50", "rewards must be Bounded, Finite or SubGaussian"),
        (WEUCB(PEOPLE, [Bounded(0, 1)] * 3), "new", FIFTY, r"must lie in \[0, 1\]"),
        (UCBV([FIFTY] * 3), "new", SubGaussian(1.0, 0.0), "needs bounded rewards; got SubGaussian"),
    ],
)
def test_an_arm_that_does_not_fit_is_refused(policy, arm, rewards, message):
    with refused(learner := started(policy), message, (TypeError, ValueError)):
        learner.add(arm, rewards)


def test_an_arm_retires_once_and_the_last_one_stays():
    learner = started()
    late = learner.ask()
    learner.retire("A21")
    with refused(learner, "only an arm in play can retire; 'A21' already did"):
        learner.retire("A21")
    learner.retire("A28")
    with refused(learner, "one arm must stay in play; 'A40' is the last"):
        learner.retire("A40")
    with refused(learner, "an arm must be one of"):
        learner.retire("A99")
    learner.tell(late, 7.0)
    assert samples_of(learner, "A21").tolist() == [7.0]


# -- what it knows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        Preference.tversky_kahneman(reference=20.0),
        Preference(Prelec(0.65), reference=80.0, costs=True),
        Preference(TverskyKahneman(0.69), utility=clipped, reference=-60.0),
        cvar(0.25),
        expected_value(),
    ],
)
def test_the_same_outcomes_can_be_valued_by_another_preference(other):
    learner = started(rounds=60)
    values = learner.value(other)
    for arm in ARMS:
        hers = other.in_frame_of(learner.policy.preference)
        assert values[arm] == pytest.approx(hers.estimate(samples_of(learner, arm)), rel=1e-12)
    learner.add("new")
    assert math.isnan(learner.value(other)["new"])


def test_intervals_are_those_of_the_band_at_the_present_confidence():
    learner = started(rounds=59)
    learner.ask()  # what is out counts as a round
    inside = 0
    for rounds in (60, 60 + 20_000 * len(ARMS)):
        for arm, interval in learner.intervals().items():
            radius = Holder().radius(PEOPLE, FIFTY, learner.pulls[arm], 3.0 * math.log(rounds + 1))
            value = PEOPLE.estimate(samples_of(learner, arm))
            low, high = max(value - radius, 0.0), min(value + radius, 50.0)  # it ends where the rewards do
            assert tuple(interval) == pytest.approx((low, value, high), rel=1e-12)
            inside += 0.0 < low < high < 50.0
        for arm in ARMS:
            learner.observe(arm, [0.0, 50.0] * 10_000)
    assert inside == len(ARMS)
    assert started().intervals()["A21"][::2] == (-math.inf, math.inf)


@pytest.mark.parametrize("policy", [*REGRET.values(), *FIXED.values()], ids=[*REGRET, *FIXED])
def test_a_copy_chooses_the_same_and_lives_alone(policy):
    def go_on(learner):
        choice = learner.ask()
        learner.tell(choice, choice.id % 2)
        return choice

    learner = policy.start(ARMS, seed=1)
    for _ in range(8):
        go_on(learner)
    late = learner.ask()
    twin, bystander = learner.copy(), learner.copy()
    before = learner.snapshot()
    assert twin.snapshot() == before
    theirs = [go_on(twin) for _ in range(5)]
    assert learner.snapshot() == before == bystander.snapshot()
    assert [go_on(learner) for _ in range(5)] == theirs
    twin.tell(late, 0.0)
    assert learner.outstanding == (late,)
    learner.tell(late, 0.0)
    assert learner.snapshot() == twin.snapshot()


def test_what_is_no_preference_no_set_and_no_features_is_refused():
    learner = NPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
    with pytest.raises(TypeError, match=r"valued by a preference; got 3"):
        learner.value(3)
    assert not hasattr(learner, "features_of")  # it knows arms by their names
    with pytest.raises(TypeError, match=r"features"):
        learner.ask(features=[[1.0]])
    linear = LinTS(expected_value(), ParameterNoise(), delta=0.1, beta=1.0)
    with pytest.raises(TypeError, match=r"a set of arms has a dimension"):
        linear.start(2, seed=1, features=np.eye(2)).ask(among=[1, 2])


@pytest.mark.parametrize("preference", [None, Preference(TverskyKahneman(0.61)), Preference.tversky_kahneman()])
def test_an_arm_whose_many_outcomes_are_all_forgotten_has_no_value(preference):
    learner = NPTS(expected_value(), Bounded(0, 200)).start(["a", "b"], seed=1)
    outcomes = np.arange(129.0)  # one more than are kept in a list
    learner.observe("a", outcomes)
    for outcome in outcomes:
        learner.forget("a", outcome)
    assert np.isnan(list(learner.value(preference).values())).all()
    assert learner.memory_error(preference) == {"a": 0.0, "b": 0.0}
    learner.observe("a", [7.0])
    assert learner.value(preference)["a"] == pytest.approx(7.0**0.88 if preference and preference.utility else 7.0)
