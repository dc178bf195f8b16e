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
    SequentialHalving,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
)
from allais.learner import Choice, NotNow
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
        (None, "an outcome must be a number, or unfinished: at_least, at_most or between; got none"),
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
    assert learner.recommend()[3:7] == (False, 0.1, "proven", "")
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
    assert started(FIXED["W-SR"], rounds=6).recommend()[2:7] == (None, False, None, "none", "")
    assert started().recommend().arm == "A21"
