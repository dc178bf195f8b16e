"""Intervals end where the declared rewards do, in the units of values, whoever makes them."""

import math

import numpy as np
import pytest

from allais import (
    NPTS,
    WLUCB,
    WUCB,
    Bandit,
    Bounded,
    Discrete,
    Finite,
    Learner,
    Power,
    Preference,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    ValueStream,
    Weight,
    best_arm,
)
from allais.bands import DKW, KL, Envelope, Holder
from allais.errors import DominanceWarning
from allais.policies import UCBV, WEUCB

PEOPLE = Preference(TverskyKahneman(0.61))
CPT = Preference.tversky_kahneman(reference=20.0, costs=True)
with pytest.warns(DominanceWarning):
    FALLING = Preference(Weight.from_function(lambda p: 4 * p * (1 - p) * (1 - p) + p * p, holder=(4.0, 1.0)))
FIFTY = Bounded(0, 50)


def felt_ends(preference, rewards):
    return np.sort(preference.utilities(np.array(rewards.support))).tolist()


@pytest.mark.parametrize("preference", [PEOPLE, CPT, FALLING], ids=["gains", "both", "not monotone"])
@pytest.mark.parametrize("band", [Holder(), DKW(), KL(), Envelope()], ids=repr)
@pytest.mark.parametrize("rewards", [FIFTY, Finite([0, 10, 50]), Bounded(-30, 50)], ids=repr)
def test_every_band_of_every_policy_ends_at_the_bounds_as_felt(preference, band, rewards):
    low, high = felt_ends(preference, rewards)
    for policy in (WUCB(preference, rewards, band=band), WLUCB(preference, rewards, delta=0.05, band=band)):
        learner = policy.start(2, seed=1)
        learner.observe(0, [10.0, 0.0])
        learner.observe(1, [50.0])
        for interval in learner.intervals().values():
            assert low <= interval.low <= interval.value <= interval.high <= high
        assert learner.recommend().interval == learner.intervals()[learner.recommend().arm]
    alone = band.interval(preference, rewards, [10.0, 0.0])
    assert low <= alone.low <= alone.value <= alone.high <= high


def test_the_paper_s_wucb_shows_no_value_beyond_the_rewards():
    learner = WUCB.as_printed(PEOPLE, FIFTY).start(["A", "B"], seed=1)
    rng = np.random.default_rng(1)
    for _ in range(200):
        choice = learner.ask()
        learner.tell(choice, 7.0 if choice.arm == "B" else 50.0 * (rng.random() < 0.1))
    for interval in learner.intervals().values():
        assert 0.0 <= interval.low <= interval.value <= interval.high <= 50.0


def test_the_other_policies_with_intervals_end_at_the_bounds_too():
    costs = Preference(TverskyKahneman(0.61), reference=60.0, costs=True)
    for policy, bounds in (
        (UCBV(FIFTY), (0.0, 50.0)),
        (WEUCB(PEOPLE, Bounded(0.2, 0.4)), (0.0, 1.0)),  # values are weights of means
        (TopTwo(costs, Bounded(50, 90), delta=0.05, evidence="ratios"), (-30.0, 10.0)),
        (WUCB.as_printed(costs, [Bounded(50, 90), Bounded(40, 60)]), (-30.0, 20.0)),
    ):
        learner = policy.start(2, seed=1)
        for arm, known in enumerate(policy.rewards_of(2)):
            learner.observe(arm, known.support)
        for interval in learner.intervals().values():
            assert bounds[0] <= interval.low <= interval.value <= interval.high <= bounds[1]
    assert learner.intervals()[1].low >= 0.0  # each arm has bounds of its own: 40 to 60 feels like 0 to 20


def test_reports_and_answers_show_what_was_cut():
    problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    answer = best_arm(WLUCB(PEOPLE, FIFTY, delta=0.05, band=Holder()), problem, seed=1, max_samples=100)
    for low, value, high in answer.intervals.values():
        assert 0.0 <= low <= value <= high <= 50.0
    assert answer.reached_delta is None  # what is shown is cut; what is concluded is not


def test_an_interval_that_is_unknown_stays_so():
    assert NPTS(PEOPLE, FIFTY).start(2, seed=1).recommend().interval is None
    learner: Learner = WUCB.as_printed(PEOPLE, FIFTY).start(2, seed=1)
    assert learner.intervals()[0][::2] == (-math.inf, math.inf)
    unbounded = WUCB.as_printed(PEOPLE, SubGaussian(1.0, 5.0)).start(2, seed=1)
    unbounded.observe(0, [1.0, 2.0])
    assert unbounded.intervals()[0].high > 5.0


@pytest.mark.parametrize("max_blocks", [None, 3])
@pytest.mark.parametrize("preference", [PEOPLE, CPT, FALLING, Preference(Power(0.5))], ids=repr)
def test_the_interval_of_a_stream_ends_at_the_bounds(preference, max_blocks):
    stream = ValueStream(preference, rewards=FIFTY, max_blocks=max_blocks)
    stream.add_many([0.0, 50.0, 10.0, 11.0, 12.0])
    low, high = felt_ends(preference, FIFTY)
    interval = stream.interval(0.999)
    assert low <= interval.low <= interval.value <= interval.high <= high
