"""One order of arguments, problems in place of lists, and bounds that say nothing and say so."""

import copy
import json
import pickle

import pytest

from allais import Bandit, Bounded, Discrete, Preference, Simulator, TverskyKahneman, theory
from allais.weights import HolderPair

PEOPLE, PAIR, VALUES = Preference(TverskyKahneman(0.61)), HolderPair(1.0, 1.0), [0.9, 0.4, 0.1]
PROBLEM = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
LINEAR = {"delta": 0.05, "beta": 1.0, "regularisation": 1.0}


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (lambda: theory.h_alpha(VALUES, PAIR, 2.0), lambda: theory.h_alpha(PAIR, VALUES, span=2.0)),
        (lambda: theory.h1_alpha(VALUES, PAIR), lambda: theory.h1_alpha(PAIR, VALUES)),
        (lambda: theory.h2_alpha(VALUES, holder=PAIR), lambda: theory.h2_alpha(PAIR, VALUES)),
        (lambda: theory.regret_lower_slope(VALUES, PAIR), lambda: theory.regret_lower_slope(PAIR, VALUES)),
        (
            lambda: theory.wsr_error(VALUES, PAIR, 1.0, 1_000, monotone=False),
            lambda: theory.wsr_error(PAIR, VALUES, span=1.0, budget=1_000, monotone=False),
        ),
        (
            lambda: theory.ellipsoid_radius(100, 3, 0.05, 1.0, 1.0),
            lambda: theory.ellipsoid_radius(dimension=3, n_rounds=100, **LINEAR),
        ),
        (
            lambda: theory.woful_regret(PEOPLE, 100, 3, 0.05, 1.0),
            lambda: theory.woful_regret(PEOPLE, dimension=3, n_rounds=100, delta=0.05, beta=1.0),
        ),
        (
            lambda: theory.wg_samples(PEOPLE, VALUES, 3, 0.05, 1.0),
            lambda: theory.wg_samples(PEOPLE, VALUES, dimension=3, delta=0.05, beta=1.0),
        ),
    ],
)
def test_the_order_of_version_0_2_0_gives_the_same_and_a_warning(former, now):
    with pytest.warns(DeprecationWarning, match="which version 0.4.0 will refuse. Write "):
        found = former()
    assert found == now()


def test_the_warning_says_what_to_write():
    with pytest.warns(DeprecationWarning, match=r"Write wsr_error\(holder, values, span=\.\.\., budget=\.\.\.\)\."):
        theory.wsr_error(VALUES, PAIR, 1.0, 1_000)


def test_a_bandit_stands_for_its_lotteries_and_for_their_values():
    values = PROBLEM.true_values(PEOPLE)
    assert theory.regret_slope(PEOPLE, PROBLEM) == theory.regret_slope(PEOPLE, PROBLEM.lotteries)
    assert theory.characteristic_time(PEOPLE, PROBLEM) == theory.characteristic_time(PEOPLE, PROBLEM.lotteries)
    fifty = Bounded(0, 50)
    assert theory.wucb_regret(PEOPLE, fifty, PROBLEM, 1_000) == theory.wucb_regret(PEOPLE, fifty, values, 1_000)
    assert theory.wlucb_samples(PEOPLE, fifty, PROBLEM, 0.05) == theory.wlucb_samples(PEOPLE, fifty, values, 0.05)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: theory.h_alpha(PAIR, PROBLEM), TypeError, r"Give the values: problem\.true_values\(preference\)"),
        (lambda: theory.regret_slope(PEOPLE, PROBLEM.lotteries[0]), TypeError, "several lotteries, or a Bandit"),
        (
            lambda: theory.wlucb_samples(PEOPLE, Bounded(0, 1), Simulator(lambda arm, rng: 0.0, 2), 0.05),
            ValueError,
            "does not know them. Give true_values",
        ),
    ],
)
def test_what_cannot_be_valued_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_bounds_that_say_nothing_say_so():
    bound = theory.wucb_regret(PEOPLE, Bounded(0, 50), PROBLEM, 10_000)
    assert bound.vacuous
    assert str(bound).endswith("(says nothing: no policy can lose more than 23,151 in 10,000 rounds)")
    assert theory.wucb_regret_any_gap(PAIR, 1.0, 2, 10).vacuous
    assert theory.wsr_error(PAIR, VALUES, span=1.0, budget=5).vacuous
    assert theory.woful_regret(PEOPLE, dimension=3, n_rounds=10, delta=0.05, beta=1.0).vacuous


def test_bounds_that_say_something_are_plain_numbers():
    for bound in (
        theory.wsr_error(PAIR, VALUES, span=1.0, budget=10_000),
        theory.wucb_regret_any_gap(PAIR, 1.0, 2, 10**6),
        theory.woful_regret(PEOPLE, dimension=3, n_rounds=10**6, delta=0.05, beta=1.0),
    ):
        assert not bound.vacuous
        assert repr(bound) == repr(float(bound))


def test_a_bound_is_copied_pickled_and_written_as_a_number():
    bound = theory.Bound(2.5, "no reason")
    assert json.dumps([bound]) == "[2.5]"
    for twin in (copy.copy(bound), pickle.loads(pickle.dumps(bound))):
        assert (twin, twin.why) == (2.5, "no reason")
    assert f"{bound:.1f}" == "2.5"
