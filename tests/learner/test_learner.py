"""The learner: asking and telling, data from elsewhere, arms that come and go, and what it refuses."""

import contextlib
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from allais import (
    LUCB,
    NPTS,
    SR,
    UCB1,
    WLUCB,
    WSR,
    WUCB,
    Bounded,
    Finite,
    PowerUtility,
    Preference,
    Prelec,
    SequentialHalving,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    cvar,
    expected_value,
)
from allais.bands import Holder
from allais.learner import Choice, NotNow
from allais.linear import LinTS, ParameterNoise
from allais.policies import EXP3, UCBV, WEUCB

PEOPLE = Preference(TverskyKahneman(0.61))
ARMS = ["A21", "A28", "A40"]
FIFTY = Bounded(0, 50)
REGRET = {
    "W-UCB": WUCB.as_printed(PEOPLE, FIFTY),
    "UCB1": UCB1(FIFTY),
    "UCB-V": UCBV(FIFTY),
    "WE-UCB": WEUCB(PEOPLE, Bounded(0, 1)),
    "sub-Gaussian": WUCB.as_printed(PEOPLE, SubGaussian(1.0, 5.0)),
    "NPTS": NPTS(PEOPLE, FIFTY),
}
FIXED = {
    "W-LUCB": WLUCB(PEOPLE, FIFTY, delta=0.1),
    "LUCB": LUCB(FIFTY, delta=0.1),
    "top-two": TopTwo(PEOPLE, FIFTY, delta=0.1),
    "W-SR": WSR(PEOPLE, budget=30),
    "sequential halving": SequentialHalving(PEOPLE, budget=30),
    "SR": SR(budget=30),
    "EXP3": EXP3(FIFTY),
}


def started(policy=REGRET["W-UCB"], arms=ARMS, *, rounds=0, seed=1):
    """A learner that was told 0, 7, 14, ... (within 0 to 49) in its first rounds."""
    learner = policy.start(arms, seed=seed)
    for outcome in range(rounds):
        learner.tell(learner.ask(), float(7 * outcome % 50))
    return learner


@contextlib.contextmanager
def refused(learner, message, error=ValueError):
    """What is done inside is refused with this message, and the learner stays as it was."""
    before = learner.snapshot()
    with pytest.raises(error, match=message):
        yield
    assert learner.snapshot() == before


def samples_of(learner, arm):
    return np.repeat(*learner.outcomes(arm))


# -- asking and telling -------------------------------------------------------------------------------


def test_choices_are_numbered_and_stay_out_until_told():
    learner = started()
    first, second = learner.ask(), learner.ask()
    assert (first, second) == (Choice(1, "A21"), Choice(2, "A28"))
    assert learner.outstanding == (first, second)
    learner.tell(first, 7.0)
    assert learner.outstanding == (second,)
    assert learner.pulls == {"A21": 1, "A28": 0, "A40": 0}
    assert learner.samples == 1


def test_a_batch_before_anything_is_told_spreads_over_the_arms():
    batch = started().ask(8)
    assert [choice.id for choice in batch] == list(range(1, 9))
    asked = [[choice.arm for choice in batch].count(arm) for arm in ARMS]
    assert sorted(asked) == [2, 3, 3]


def test_a_choice_may_be_told_by_its_number_alone():
    learner = started()
    learner.tell(learner.ask().id, 7)
    assert samples_of(learner, "A21").tolist() == [7.0]


@pytest.mark.parametrize("policy", [*REGRET.values(), *FIXED.values()], ids=[*REGRET, *FIXED])
def test_a_batch_told_late_and_in_any_order_teaches_the_same(policy):
    scale = 1.0 / 50.0 if policy is REGRET["WE-UCB"] else 1.0
    prompt, late = policy.start(ARMS, seed=3), policy.start(ARMS, seed=3)
    batch = prompt.ask(9)
    assert late.ask(9) == batch
    outcomes = dict(zip(batch, [0, 50, 7, 7, 0, 30, 11, 0, 50], strict=True))
    for choice in batch:
        prompt.tell(choice, outcomes[choice] * scale)
    for at in (4, 8, 0, 6, 1, 7, 5, 3, 2):
        late.tell(batch[at], outcomes[batch[at]] * scale)
    assert prompt.outstanding == late.outstanding == ()
    for arm in ARMS:
        assert samples_of(prompt, arm).tolist() == samples_of(late, arm).tolist()
        assert tuple(late.intervals()[arm]) == pytest.approx(tuple(prompt.intervals()[arm]), rel=1e-12)
    assert [prompt.ask() for _ in range(3)] == [late.ask() for _ in range(3)]


def test_a_choice_is_told_once():
    learner = started()
    choice = learner.ask()
    learner.tell(choice, 7.0)
    with refused(learner, r"told or cancelled once; 1 already was.*observe\(\)"):
        learner.tell(choice, 7.0)
    with refused(learner, "told or cancelled once; 1 already was"):
        learner.cancel(choice)


@pytest.mark.parametrize("unknown", [0, -1, 2, 10**9, Choice(17, "A21")])
def test_only_a_choice_that_was_asked_can_be_told_or_cancelled(unknown):
    learner = started()
    learner.ask()
    with refused(learner, "only a choice that was asked can be told; .* never was"):
        learner.tell(unknown, 7.0)
    with refused(learner, "only a choice that was asked can be told; .* never was"):
        learner.cancel(unknown)


def test_a_choice_that_another_learner_gave_for_another_arm_is_refused():
    learner, stranger = started(), started(arms=["B1", "B2"])
    learner.ask()
    with refused(learner, "A21"):
        learner.tell(stranger.ask(), 7.0)


@pytest.mark.parametrize("reward", [7, np.int8(7), np.float32(7), np.array(7.0), Fraction(7), Decimal(7)], ids=repr)
def test_every_kind_of_number_is_a_reward(reward):
    learner = started()
    learner.tell(learner.ask(), reward)
    assert samples_of(learner, "A21").tolist() == [7.0]


@pytest.mark.parametrize("choice", ["A21", None, 1.0, True, (1, "A21"), [1]])
def test_what_ask_did_not_return_is_refused(choice):
    learner = started()
    learner.ask()
    with refused(learner, "tell and cancel take what ask returned, or its id", TypeError):
        learner.tell(choice, 7.0)
    with refused(learner, "tell and cancel take what ask returned, or its id", TypeError):
        learner.cancel(choice)


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (math.nan, "a reward must be finite; got nan. Cancel the choice"),
        (math.inf, "a reward must be finite; got inf"),
        (-math.inf, "a reward must be finite; got -inf"),
        (np.float64("nan"), "a reward must be finite; got nan"),
        ("seven", "a reward must be a number; got 'seven'"),
        ("7", "a reward must be a number; got '7'"),
        (b"7", "a reward must be a number; got b'7'"),
        (True, "a reward must be a number; got True"),
        (np.True_, "a reward must be a number; got"),
        (np.str_("7"), "a reward must be a number; got"),
        (np.array("7"), "a reward must be a number; got"),
        (np.complex128(7.0), "a reward must be a number; got"),
        (None, "a reward must be a number; got None"),
        ([7.0, 0.0], r"a reward must be a number; got \[7.0, 0.0\]"),
        (np.array([7.0, 0.0]), "a reward must be a number; got array"),
        (7.0 + 1.0j, "a reward must be a number; got"),
        pytest.param(10**400, "a reward must be", id="larger than any double"),
        (50.000001, "rewards must lie between 0 and 50; got 50"),
        (-1e-9, "rewards must lie between 0 and 50; got -1e-09. Widen Bounded"),
    ],
)
def test_a_reward_that_cannot_be_is_refused_and_the_choice_stays_out(reward, message):
    learner = started(rounds=10)
    choice = learner.ask()
    with refused(learner, message):
        learner.tell(choice, reward)
    learner.tell(choice, 50.0)


def test_a_reward_that_is_none_of_the_declared_values_is_refused():
    learner = started(WUCB.as_printed(PEOPLE, Finite([0, 7, 50])))
    choice = learner.ask()
    with refused(learner, r"one of the 3 declared values; got 8. Add it to Finite\(values\)"):
        learner.tell(choice, 8.0)


def test_each_arm_admits_its_own_rewards():
    learner = started(WUCB.as_printed(PEOPLE, [FIFTY, Finite([0, 1])]), ["wide", "narrow"])
    wide, narrow = learner.ask(), learner.ask()
    with refused(learner, "one of the 2 declared values; got 7"):
        learner.tell(narrow, 7.0)
    learner.tell(wide, 7.0)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_reward_that_would_feel_infinite_is_refused():
    learner = started(WSR(Preference(TverskyKahneman(0.61), utility=PowerUtility(2.0, 1.0)), budget=30))
    choice = learner.ask()
    with refused(learner, "finite"):
        learner.tell(choice, 1e200)  # its square is beyond the largest double


@pytest.mark.parametrize("size", [0, -1, True, 2.5, "3", math.nan])
def test_a_batch_of_less_than_one_choice_is_refused(size):
    with refused(learner := started(), "a batch must be of one choice or more; got"):
        learner.ask(size)


def test_a_cancelled_choice_no_longer_counts():
    learner, untouched = started(rounds=10), started(rounds=10)
    learner.cancel(learner.ask())
    assert learner.outstanding == ()
    assert learner.snapshot()["state"]["asked"] == untouched.snapshot()["state"]["asked"]
    with refused(learner, "told or cancelled once; 11 already was"):
        learner.cancel(11)


@pytest.mark.parametrize(
    ("arms", "error", "message"),
    [
        ([], ValueError, "at least one arm"),
        (0, ValueError, "at least one arm"),
        (["A", "A"], ValueError, "distinct names; got 'A' twice"),
        ("AB", TypeError, "a number or a list of names; got 'AB'"),
        (2.0, TypeError, "a number or a list of names; got 2.0"),
        ([["A"], ["B"]], (TypeError, ValueError), "name"),
    ],
)
def test_arms_that_cannot_be_told_apart_are_refused(arms, error, message):
    with pytest.raises(error, match=message):
        REGRET["W-UCB"].start(arms, seed=1)


# -- data from elsewhere ------------------------------------------------------------------------------


def test_what_is_observed_counts_as_if_it_had_been_asked_for():
    learner = started(rounds=3)
    learner.observe("A28", [0, 50, 50])
    assert learner.pulls == {"A21": 1, "A28": 4, "A40": 1}
    assert samples_of(learner, "A28").tolist() == [0.0, 7.0, 50.0, 50.0]
    assert learner.snapshot()["state"]["asked"] == [1, 4, 1]


@pytest.mark.parametrize(
    ("arm", "rewards", "message"),
    [
        ("A99", [7.0], "an arm must be one of 'A21', 'A28', 'A40'; got 'A99'"),
        (["A21"], [7.0], r"an arm must be one of .*; got \['A21'\]"),
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


# -- policies that wait or stop -----------------------------------------------------------------------


def test_wsr_waits_for_its_choices_and_goes_on_after_a_cancel():
    learner = started(FIXED["W-SR"])
    batch = learner.ask(1000)
    assert 3 <= len(batch) < 30
    for choice in batch[:-2]:
        learner.tell(choice, 7.0)
    with pytest.raises(NotNow, match="needs the outcomes of all its choices; 2 are still out"):
        learner.ask()
    learner.cancel(batch[-1])
    again = learner.ask()
    assert again.arm == batch[-1].arm
    for choice in (again, batch[-2]):
        learner.tell(choice, 7.0)
    assert len({choice.arm for choice in learner.ask(1000)}) == 2  # one arm was rejected


def test_asking_in_vain_changes_no_later_choice():
    patient, eager = (started(WSR(PEOPLE, budget=60), seed=5) for _ in range(2))
    batch = patient.ask(1000)
    assert eager.ask(1000) == batch
    for count, choice in enumerate(batch, 1):
        for learner in (patient, eager):
            learner.tell(choice, float(count % 3))
        if count < len(batch):
            with pytest.raises(NotNow):
                eager.ask()
    assert patient.ask(1000) == eager.ask(1000)


def finished(policy, outcome, seed):
    learner = policy.start(["A", "B"], seed=seed)
    while not learner.is_settled():
        choice = learner.ask()
        learner.tell(choice, outcome[choice.arm])
    return learner


@pytest.mark.parametrize("seed", range(8))
def test_a_settled_recommendation_is_final(seed):
    learner = finished(WSR(PEOPLE, budget=10), {"A": 7.0, "B": 7.0}, seed)
    first = learner.recommend()
    assert first.settled
    with pytest.raises(NotNow, match=r"has settled and asks for no more; see recommend\(\)"):
        learner.ask()
    assert learner.recommend() == first


def test_asking_in_vain_changes_no_later_recommendation():
    quiet, asking = (finished(WSR(PEOPLE, budget=10), {"A": 0.0, "B": 7.0}, seed=1) for _ in range(2))
    with pytest.raises(NotNow):
        asking.ask()
    for learner in (quiet, asking):
        learner.observe("A", [50.0] * 20)
    assert quiet.recommend() == asking.recommend()


@pytest.mark.parametrize("policy", [FIXED["W-LUCB"], FIXED["LUCB"]], ids=["W-LUCB", "LUCB"])
def test_a_policy_of_fixed_confidence_says_when_it_is_settled_and_at_what_delta(policy):
    learner = policy.start(["A", "B"], seed=1)
    assert learner.recommend()[3:] == (False, 0.1, "proven")
    while not learner.is_settled():
        choice = learner.ask()
        learner.tell(choice, 50.0 if choice.arm == "B" else 0.0)
        assert learner.samples < 1_000_000
    answer = learner.recommend()
    assert (answer.arm, answer.value, answer.settled, answer.delta) == ("B", pytest.approx(50.0), True, 0.1)
    assert answer.interval.low >= learner.intervals()["A"].high
    with pytest.raises(NotNow, match="the policy has settled"):
        learner.ask()


def test_one_arm_is_the_best_one_at_any_confidence():
    learner = started(FIXED["W-LUCB"], ["only"])
    learner.observe("only", [7.0, 7.0])
    assert learner.recommend().settled


def test_other_policies_recommend_without_a_confidence():
    answer = started(rounds=10).recommend()
    assert (answer.settled, answer.delta) == (False, None)
    assert answer.interval.low < answer.value < answer.interval.high
    assert started(FIXED["W-SR"], rounds=6).recommend()[2:] == (None, False, None, "none")
    assert started().recommend().arm == "A21"


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
