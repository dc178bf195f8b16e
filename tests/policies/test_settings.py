"""What a policy refuses to be made of."""

import pytest

from allais import (
    EXP3,
    LUCB,
    SR,
    UCBV,
    WELUCB,
    WEUCB,
    WLUCB,
    WSR,
    WUCB,
    Bounded,
    EmpiricalBernstein,
    Preference,
    SubGaussian,
    TverskyKahneman,
)

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
        (lambda: WUCB(PEOPLE, UNIT, exploration=0.0), "exploration must be above 0; got 0"),
        (lambda: WUCB(PEOPLE, [UNIT, UNIT]).start(3, seed=1), "one an arm; got 2 for 3 arms"),
        (lambda: WUCB(PEOPLE, UNIT, EmpiricalBernstein()), "holds for means; got a preference with TverskyKahneman"),
        (lambda: UCBV(SubGaussian(1.0, 0.0)), "needs bounded rewards"),
        (lambda: EXP3(SubGaussian(1.0, 0.0)), "EXP3 needs bounded rewards"),
        (lambda: EXP3(UNIT, gamma=0.0), r"gamma must lie in \(0, 1\]; got 0"),
        (lambda: WEUCB(PEOPLE, Bounded(0, 50)), r"must lie in \[0, 1\]; got rewards from 0 to 50"),
        (lambda: WELUCB(PEOPLE, Bounded(-1, 1), 0.1), r"must lie in \[0, 1\]; got rewards from -1 to 1"),
        (lambda: WUCB(Preference.tversky_kahneman(), SubGaussian(1.0, 0.0)), "with a utility"),
        (lambda: WUCB(PEOPLE, UNIT).start(["A", "A"], seed=1), "distinct names; got 'A' twice"),
        (lambda: WUCB(PEOPLE, UNIT).start([], seed=1), "at least one arm"),
        (lambda: WUCB(PEOPLE, UNIT).start(2, seed=-1), "a seed must be a non-negative int"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WUCB(TverskyKahneman(), UNIT), "a policy takes a preference; got TverskyKahneman"),
        (lambda: WUCB(PEOPLE, (0, 50)), r"rewards must be Bounded, Finite or SubGaussian.*got \(0, 50\)"),
        (lambda: WUCB(PEOPLE, None), "rewards must be Bounded, Finite or SubGaussian"),
        (lambda: WSR("people", 100), "a policy takes a preference; got 'people'"),
        (lambda: WUCB(PEOPLE, UNIT).start("AB", seed=1), "a number or a list of names; got 'AB'"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused_with_what_to_write_instead(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_policy_is_frozen_and_prints_what_it_is():
    policy = WUCB(PEOPLE, UNIT)
    with pytest.raises(AttributeError):
        policy.exploration = 5.0
    assert "TverskyKahneman(eta=0.61)" in repr(policy)
    assert eval(repr(policy), {**__import__("allais").__dict__, "Holder": __import__("allais").Holder, "WUCB": WUCB})
