"""The bounds, against hand computation and against each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allais import Bounded, Preference, Prelec, SubGaussian, TverskyKahneman, theory
from allais.weights import HolderPair

values = st.lists(st.integers(0, 10_000), min_size=2, max_size=12, unique=True).map(lambda v: [x / 10_000 for x in v])
pairs = st.builds(HolderPair, st.floats(1.0, 4.0), st.floats(0.3, 1.0))


def test_the_samples_of_theorem_1_are_those_of_its_formula():
    for eps, delta in ((0.1, 0.05), (1.0, 0.001), (3.0, 0.5)):
        formula = math.log(2 / delta) / 2 * (50 / (0.61 * eps)) ** (2 / 0.61)
        n = theory.samples_to_estimate(Preference(TverskyKahneman(0.61)), Bounded(0, 50), eps, delta)
        assert n == math.ceil(formula)


def test_samples_are_also_known_without_a_pair_and_for_unbounded_rewards():
    from allais.bands import Holder

    for preference, rewards in (
        (Preference(Prelec(0.65)), Bounded(-1, 1)),
        (Preference(TverskyKahneman(0.61)), SubGaussian(1.0, 1.0)),
    ):
        n = theory.samples_to_estimate(preference, rewards, 0.5, 0.05)
        x = math.log(2 / 0.05)
        assert Holder().radius(preference, rewards, n, x) <= 0.5 < Holder().radius(preference, rewards, n - 1, x)


@given(values, pairs)
def test_the_two_hardness_measures_bound_each_other(worth, holder):
    h1, h2 = theory.h1_alpha(holder, worth), theory.h2_alpha(holder, worth)
    assert h2 / 2 <= h1 * (1 + 1e-12)
    assert h1 <= math.log(len(worth)) * h2 * (1 + 1e-12) or len(worth) == 2


def test_with_two_arms_h2_is_twice_h1_and_the_upper_relation_needs_a_log_of_three():
    holder = HolderPair(1.0, 1.0)
    assert theory.h2_alpha(holder, [0.5, 0.3]) == pytest.approx(2 * theory.h1_alpha(holder, [0.5, 0.3]))


@given(values, pairs)
def test_hardness_does_not_depend_on_the_order_of_the_arms(worth, holder):
    turned = worth[::-1]
    for measure in (theory.h_alpha, theory.h1_alpha, theory.h2_alpha):
        assert measure(holder, worth) == pytest.approx(measure(holder, turned))


def test_h_alpha_counts_the_best_arm_by_its_gap_to_the_second():
    # Theorem 6 on the three-armed problem: gaps 1.492, 1.492 and 2.315, M = 50
    worth, holder = [9.31512831885871, 7.822895485040594, 7.0], TverskyKahneman(0.61).holder
    by_hand = sum((2 * 50 / 0.61 / gap) ** (2 / 0.61) for gap in (1.4922328338, 1.4922328338, 2.3151283189))
    assert theory.h_alpha(holder, worth, span=50) == pytest.approx(by_hand, rel=1e-8)


def test_the_edpm_condition_fails_for_every_constant():
    for constant in (1.0, 1e3, 1e6):
        eps = 1.0 / (10.0 * constant) ** 2
        example = theory.edpm_counterexample(eps)
        assert example.value_difference == pytest.approx(math.sqrt(eps))
        assert example.cdf_difference == pytest.approx(-3 * eps)
        assert example.value_difference > constant * (abs(example.cdf_difference) + abs(example.cdf_difference) ** 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: theory.gaps([1.0]), "a gap needs two arms; got 1"),
        (lambda: theory.gaps([1.0, 1.0]), "needs one best arm"),
        (lambda: theory.edpm_counterexample(0.3), "4 eps must be a probability; got eps = 0.3"),
        (lambda: theory.h1_alpha_of_transformations(TverskyKahneman(), [0.6, 0.3]), "p_1 = 1/2"),
        (lambda: theory.h1_alpha_of_transformations(Prelec(0.5), [0.5, 0.3]), "has no pair"),
        (
            lambda: theory.samples_to_estimate(Preference(TverskyKahneman()), Bounded(0, 1), 0.0, 0.1),
            "eps must be above 0",
        ),
        (lambda: theory.samples_to_estimate(Preference(TverskyKahneman()), Bounded(0, 1), 1e-9, 0.1), "more than 1e18"),
        (
            lambda: theory.samples_to_estimate(Preference(TverskyKahneman()), Bounded(0, 1), 0.1, 1.0),
            "delta must lie in",
        ),
    ],
)
def test_a_question_without_an_answer_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_gaps_do_not_change_the_values_given():
    worth = np.array([3.0, 1.0])
    theory.gaps(worth)
    np.testing.assert_array_equal(worth, [3.0, 1.0])
