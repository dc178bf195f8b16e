"""What a policy refuses to be made of."""

import dataclasses
import math

import pytest

import allais
from allais import (
    IMED,
    LUCB,
    NPTS,
    SR,
    WLUCB,
    WSR,
    WUCB,
    Bandit,
    Bounded,
    Discrete,
    Finite,
    PatientRejects,
    PatientTopTwo,
    Preference,
    SequentialHalving,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    simulate,
    testing,
)
from allais.bands import KL, EmpiricalBernstein
from allais.policies import EXP3, UCBV, WELUCB, WEUCB, UniformSampling
from tests.policies.own_policy import Greedy

PEOPLE = Preference(TverskyKahneman(0.61))
UNIT = Bounded(0, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WLUCB(PEOPLE, UNIT, delta=0.0), r"delta must lie in \(0, 1\); got 0"),
        (lambda: LUCB(UNIT, delta=1.0), r"delta must lie in \(0, 1\); got 1"),
        (lambda: WLUCB(PEOPLE, UNIT, delta=0.1, tolerance=-1.0), "tolerance must not be negative; got -1"),
        (lambda: WSR(PEOPLE, budget=0), "budget must be a whole number of samples; got 0"),
        (lambda: WSR(PEOPLE, budget=10.5), "budget must be a whole number of samples; got 10.5"),
        (lambda: SR(budget=3).start(3, seed=1), "budget must exceed the number of arms; got 3 samples for 3 arms"),
        (lambda: WUCB.as_printed(PEOPLE, UNIT, exploration=0.0), "exploration must be above 0; got 0"),
        (lambda: WUCB.as_printed(PEOPLE, [UNIT, UNIT]).start(3, seed=1), "one per arm; got 2 for 3 arms"),
        (
            lambda: WUCB(PEOPLE, UNIT, band=EmpiricalBernstein()),
            "holds for means; got a preference with TverskyKahneman",
        ),
        (lambda: UCBV(SubGaussian(1.0, 0.0)), "needs bounded rewards"),
        (lambda: EXP3(SubGaussian(1.0, 0.0)), "EXP3 needs bounded rewards"),
        (lambda: EXP3(UNIT, gamma=0.0), r"gamma must lie in \(0, 1\]; got 0"),
        (lambda: WEUCB(PEOPLE, Bounded(0, 50)), r"must lie in \[0, 1\]; got rewards from 0 to 50"),
        (lambda: WELUCB(PEOPLE, Bounded(-1, 1), delta=0.1), r"must lie in \[0, 1\]; got rewards from -1 to 1"),
        (lambda: WUCB.as_printed(Preference.tversky_kahneman(), SubGaussian(1.0, 0.0)), "with a utility"),
        (lambda: WUCB.as_printed(PEOPLE, UNIT).start(["A", "A"], seed=1), "distinct names; got 'A' twice"),
        (lambda: WUCB.as_printed(PEOPLE, UNIT).start([], seed=1), "at least one arm"),
        (lambda: WUCB.as_printed(PEOPLE, UNIT).start(2, seed=-1), "a seed must be a non-negative int"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WUCB.as_printed(TverskyKahneman(), UNIT), "a policy takes a preference; got TverskyKahneman"),
        (lambda: WUCB.as_printed(PEOPLE, (0, 50)), r"rewards must be Bounded, Finite or SubGaussian.*got \(0, 50\)"),
        (lambda: WUCB.as_printed(PEOPLE, None), "rewards must be Bounded, Finite or SubGaussian"),
        (lambda: WSR("people", budget=100), "a policy takes a preference; got 'people'"),
        (lambda: WUCB.as_printed(PEOPLE, UNIT).start("AB", seed=1), "a number or a list of names; got 'AB'"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused_with_what_to_write_instead(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_policy_is_frozen_and_prints_what_it_is():
    policy = WUCB.as_printed(PEOPLE, UNIT)
    with pytest.raises(AttributeError):
        policy.exploration = 5.0
    assert "TverskyKahneman(eta=0.61)" in repr(policy)


@pytest.mark.parametrize(
    "policy",
    [
        WUCB.as_printed(PEOPLE, UNIT),
        WUCB(Preference.tversky_kahneman(), [UNIT, Bounded(-1, 3)], band=KL(), exploration=1.5),
        WLUCB(PEOPLE, SubGaussian(2.0, 1.0), delta=0.1, tolerance=0.5),
        TopTwo(Preference(TverskyKahneman(0.61), reference=3.0, costs=True), Finite([0, 7, 50]), delta=0.05),
        PatientTopTwo(Preference(TverskyKahneman(0.61)), budget=500, rewards=Finite([0, 7, 50]), floor=0.5),
        NPTS(PEOPLE, UNIT),
        IMED(PEOPLE, Finite([0, 1])),
        WSR(PEOPLE, budget=100),
        SequentialHalving(PEOPLE, budget=100, rewards=UNIT),
        EXP3(UNIT, gamma=0.2),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_policy_prints_what_makes_it_again(policy):
    doors = (allais, allais.bands, allais.policies, allais.weights)
    again = eval(repr(policy), {name: getattr(door, name) for door in doors for name in door.__all__})
    assert again == policy
    assert again != dataclasses.replace(policy, name="another")


@pytest.mark.parametrize(
    "make",
    [lambda band: WUCB(PEOPLE, UNIT, band=band), lambda band: WLUCB(PEOPLE, UNIT, delta=0.1, tolerance=0.0, band=band)],
)
@pytest.mark.parametrize("band", ["KL", KL, 3])
def test_what_is_no_band_is_refused(make, band):
    with pytest.raises(TypeError, match=r"band must be a band; got .*\. Write band=KL\(\)\."):
        make(band)


@pytest.mark.parametrize(
    "make",
    [
        lambda number: TverskyKahneman(number),
        lambda number: Bounded(number, 2),
        lambda number: WLUCB(PEOPLE, UNIT, delta=number),
        lambda number: Preference(TverskyKahneman(0.61), reference=number),
        lambda number: Finite([number, 2]),
        lambda number: Discrete({number: 1.0}),
    ],
)
def test_a_number_in_quotes_is_none(make):
    make(0.5)
    with pytest.raises(ValueError, match=r"must be (a finite number|numbers); got \[?'0.5'"):
        make("0.5")


def test_true_is_no_number_where_one_is_a_setting():
    for make in (lambda: Bounded(False, True), lambda: Preference(TverskyKahneman(True))):
        with pytest.raises(ValueError, match=r"must be a finite number; got (True|False)"):
            make()


def test_a_number_of_arms_that_is_a_slip_is_refused():
    for arms in (10**26, 10**9, 10**5000):
        with pytest.raises(ValueError, match="arms must be 1,000,000 at most; got "):
            WUCB.as_printed(PEOPLE, UNIT).start(arms, seed=1)


def test_exp3_takes_arms_of_one_value_and_compares_arms_in_one_unit():
    for rewards in (Finite([7]), [Finite([7]), Finite([0, 50])], [Bounded(0, 1), Finite([9])]):
        rule = EXP3(rewards).rule(2)
        assert math.isfinite(rule.low)
        assert math.isfinite(rule.scale)
    testing.check_policy(EXP3([Finite([7]), Finite([0, 50]), Finite([7])]), rounds=500)
    testing.check_policy(EXP3(Finite([7])), rounds=500)
    # a sure 0.9 of 1 against 5 of 100: each arm by its own bounds, the first seemed better
    problem = Bandit([Discrete({0.9: 1.0}), Discrete({5: 1.0})])
    pulls = simulate(EXP3([Bounded(0, 1), Bounded(0, 100)]), problem, n_rounds=20_000, seed=1).pulls[0, -1]
    assert pulls[1] > pulls[0]


def test_the_bases_of_earlier_versions_still_bring_their_settings():
    with pytest.warns(DeprecationWarning, match="`FixedConfidence` goes in 0.4.0: derive from KArmed"):
        confidence = allais.extend.FixedConfidence
    with pytest.warns(DeprecationWarning, match="`BandPolicy` goes in 0.4.0"):
        banded = allais.extend.BandPolicy

    @dataclasses.dataclass(frozen=True)
    class Mine(confidence, banded):
        def rule(self, n_arms):
            return None

    policy = Mine(PEOPLE, UNIT, delta=0.1, tolerance=0.2)
    assert isinstance(policy, confidence)
    assert isinstance(policy, allais.extend.KArmed)
    assert (policy.goal, policy.promise, policy.error_rate, policy.band) == ("confidence", "proven", 0.1, KL())
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\); got 2"):
        Mine(PEOPLE, UNIT, delta=2)
    with pytest.raises(AttributeError, match=r"module 'allais.extend' has no attribute 'Nothing'"):
        allais.extend.Nothing  # noqa: B018


def test_a_baseline_is_made_from_the_general_policy():
    uniform = UniformSampling(PEOPLE, budget=100)
    assert uniform.plain() == PatientRejects(PEOPLE, budget=100, floor=1.0, name="uniform sampling")
    assert uniform.but(budget=50) == UniformSampling(PEOPLE, budget=50)
    assert uniform.but(floor=0.5).plain() == PatientRejects(PEOPLE, budget=100, floor=0.5, name="uniform sampling")
    assert UCBV(UNIT).but(costs=True) == UCBV(UNIT, costs=True)
    assert type(UCBV(UNIT).but(exploration=2.0)) is WUCB
    with pytest.raises(TypeError, match="unexpected keyword argument 'exploring'"):
        UCBV(UNIT).but(exploring=2.0)


def test_a_setting_of_your_own_may_be_called_memory():
    @dataclasses.dataclass(frozen=True)
    class Short(Greedy):
        memory: int = allais.extend.setting(3)

    assert Short(PEOPLE, UNIT, memory=5).start(2, seed=1).ask().arm in (0, 1)
