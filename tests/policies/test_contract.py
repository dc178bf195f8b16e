"""Every policy keeps the contract, live and simulated, choice by choice."""

import pytest

from allais import (
    IMED,
    LUCB,
    NPTS,
    SR,
    UCB1,
    WLUCB,
    WOCBA,
    WSR,
    WUCB,
    Bounded,
    Discrete,
    ExploreFirstGreedy,
    Finite,
    PairwiseScreening,
    PatientRejects,
    PatientTopTwo,
    Preference,
    Prelec,
    SequentialHalving,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    Uniform,
    Weight,
    cvar,
    testing,
)
from allais.bands import DKW, KL, Asymptotic, Betting, Envelope, Holder
from allais.policies import EXP3, UCBV, WELUCB, WEUCB, UniformSampling
from allais.problems import Bandit

PEOPLE = Preference(TverskyKahneman(0.61))
ROUTES = Preference.tversky_kahneman(reference=0.3, costs=True)
UNIT = Bounded(0, 1)


def kinked(p):
    return 0.5 * p + 0.5 * p * p


POLICIES = [
    WUCB.as_printed(PEOPLE, UNIT),
    WUCB.as_printed(ROUTES, UNIT),
    WUCB.as_printed(PEOPLE, Finite([0, 0.2, 1])),
    WUCB.as_printed(PEOPLE, [UNIT, Finite([0, 1]), Bounded(-3, 4)]),
    WUCB.as_printed(Preference(Prelec(0.65)), UNIT),
    WUCB.as_printed(Preference(Weight.from_function(kinked, holder=(1.5, 1.0))), UNIT),
    UCB1(UNIT),
    UCBV(UNIT),
    WEUCB(PEOPLE, UNIT),
    WLUCB(PEOPLE, UNIT, delta=0.1),
    WLUCB(ROUTES, UNIT, delta=0.1, tolerance=0.01),
    WLUCB(PEOPLE, UNIT, delta=0.1, band=Holder()),
    WLUCB(PEOPLE, Finite([0, 0.2, 1]), delta=0.1),
    WLUCB(PEOPLE, UNIT, delta=0.1, band=DKW()),
    WUCB(ROUTES, UNIT, band=DKW()),
    WUCB(PEOPLE, [UNIT, Finite([0, 1]), Bounded(-3, 4)], band=KL(), exploration=1.0),
    TopTwo(PEOPLE, UNIT, delta=0.1),
    TopTwo(ROUTES, Finite([0, 0.2, 1]), delta=0.1, tolerance=0.01),
    TopTwo(PEOPLE, UNIT, delta=0.1, evidence=Betting()),
    TopTwo(ROUTES, Finite([0, 0.2, 1]), delta=0.1, tolerance=0.01, evidence=Betting()),
    WLUCB(PEOPLE, UNIT, delta=0.1, band=Betting()),
    WLUCB(cvar(0.2), Finite([0, 0.2, 1]), delta=0.1, tolerance=0.01, band=Betting()),
    WLUCB(PEOPLE, delta=0.1, band=Asymptotic(rarest=0.05)),
    WUCB(ROUTES, band=Asymptotic(rarest=0.05)),
    PairwiseScreening(PEOPLE, delta=0.1, rarest=0.05),
    PairwiseScreening(ROUTES, UNIT, delta=0.1, rarest=0.2, tolerance=0.01),
    PairwiseScreening(ROUTES, UNIT, delta=0.001, rarest=0.01, common_random_numbers=True),
    WOCBA(PEOPLE, budget=800, rarest=0.05),
    ExploreFirstGreedy(PEOPLE, budget=800),
    NPTS(PEOPLE, UNIT, optimism=3),
    LUCB(UNIT, delta=0.1),
    WELUCB(PEOPLE, UNIT, delta=0.1),
    WSR(PEOPLE, budget=20_000),
    WSR(ROUTES, budget=5_000),
    SR(budget=800),
    SequentialHalving(PEOPLE, budget=20_000),
    SequentialHalving(ROUTES, budget=5_000),
    PatientRejects(PEOPLE, budget=20_000),
    PatientRejects(ROUTES, budget=5_000, floor=0.25),
    PatientTopTwo(PEOPLE, budget=800, rewards=UNIT),
    PatientTopTwo(ROUTES, budget=5_000, rewards=Finite([0, 0.2, 1]), floor=0.1),
    PatientTopTwo(PEOPLE, budget=800, rewards=SubGaussian(1.0, 2.0)),
    UniformSampling(PEOPLE, budget=5_000),
    NPTS(PEOPLE, UNIT),
    NPTS(ROUTES, [UNIT, Finite([0, 1]), Bounded(-3, 4)]),
    IMED(PEOPLE, Finite([0, 0.2, 1])),
    IMED(ROUTES, [Finite([0, 1]), Finite([0.1, 0.2, 0.7]), Finite([0.3])]),
    EXP3(UNIT),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.name}")
def test_learner_and_loop_choose_alike(policy):
    testing.check_policy(policy, rounds=1_000)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.name}")
def test_learner_and_loop_choose_alike_for_20000_rounds(policy):
    testing.check_policy(policy, rounds=20_000)


@pytest.mark.parametrize(
    "policy",
    [
        WUCB.as_printed(PEOPLE, SubGaussian(1.0, 2.0)),
        WUCB.as_printed(Preference(Prelec(0.65)), SubGaussian(1.0, 2.0)),
        WLUCB(PEOPLE, SubGaussian(1.0, 2.0), delta=0.1),
        WUCB.as_printed(PEOPLE, [UNIT, SubGaussian(1.0, 2.0), UNIT]),
        WLUCB(PEOPLE, SubGaussian(1.0, 2.0), delta=0.1, band=Holder()),
        TopTwo(PEOPLE, SubGaussian(1.0, 2.0), delta=0.1),
        WUCB(PEOPLE, SubGaussian(1.0, 2.0), band=Envelope()),
    ],
    ids=lambda policy: policy.name,
)
def test_unbounded_rewards_work_through_the_truncated_estimator(policy):
    # every outcome is new, so a round costs as many weights as there were rounds
    testing.check_policy(policy, rounds=1_200)


@pytest.mark.parametrize(
    "policy",
    [
        NPTS(ROUTES, UNIT),
        WLUCB(ROUTES, UNIT, delta=0.1),
        WUCB(PEOPLE, UNIT, band=DKW()),
        TopTwo(PEOPLE, UNIT, delta=0.1),
    ],
    ids=lambda policy: policy.name,
)
def test_arms_with_more_outcomes_than_a_flat_memory_holds_choose_alike(policy):
    testing.check_policy(policy, Bandit([Uniform(0, 0.5), Uniform(0.1, 0.9), Uniform(0.4, 1)]), rounds=1_500)


def test_the_checks_catch_a_broken_weight_and_a_broken_problem():
    class Sloppy(TverskyKahneman):
        @property
        def holder(self):
            from allais.weights import HolderPair

            return HolderPair(1.0, 0.61)

    with pytest.raises(AssertionError, match="Hölder pair must bound"):
        testing.check_weight(Sloppy(0.61))

    class Forgetful(Bandit):
        def draw(self, arm, rng, size):
            import numpy as np

            return np.random.default_rng().random(size)

    with pytest.raises(AssertionError, match="same generator must give the same outcomes"):
        testing.check_problem(Forgetful([Discrete({1: 1.0})]))


def test_the_checks_accept_what_is_right():
    for weight in (TverskyKahneman(0.61), Prelec(0.65), Prelec(0.65).dual(), Weight.from_function(kinked)):
        testing.check_weight(weight)
    testing.check_problem(Bandit([Discrete({50: 0.1, 0: 0.9})]))
