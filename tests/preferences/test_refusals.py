"""What a preference refuses, and how it says so."""

import numpy as np
import pytest
from scipy import stats

from allais import Bandit, Discrete, Mixture, Normal, PowerUtility, Preference, SubGaussian, TverskyKahneman, cvar
from allais.errors import DominanceWarning
from allais.weights import Identity

PEOPLE = Preference(TverskyKahneman())
STEEP = Preference(TverskyKahneman(), utility=PowerUtility(40.0))  # of 1e9 beyond the largest double


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Preference(Identity(), reference=float("inf")), "reference must be finite; got inf"),
        (lambda: Preference(Identity(), reference=float("nan")), "reference must be finite; got nan"),
        (lambda: cvar(0.0), r"level must lie in \(0, 1\]; got 0"),
        (lambda: PowerUtility(alpha=0.0), "alpha must be above 0; got 0"),
        (lambda: PowerUtility(loss_aversion=-2.0), "loss_aversion must be above 0; got -2"),
        (lambda: Preference(Identity(), utility=lambda x: x + 1), r"u\(0\) = 0; got u\(0\) = 1"),
        (lambda: Preference(Identity(), utility=lambda x: -x), "a utility must increase"),
        (lambda: Preference(Identity(), utility=lambda x: np.sum(x)), "must work on arrays"),
        (lambda: Preference(Identity(), utility=lambda x: np.log(np.maximum(x, 0))), "utility must be finite"),
        (lambda: PEOPLE.estimate([]), "samples must not be empty"),
        (lambda: PEOPLE.estimate([1.0, np.inf]), "samples must be finite; got inf at position 1"),
        (lambda: PEOPLE.estimate(["a"]), "samples must be numbers"),
        (lambda: PEOPLE.estimate([True, False]), "samples must be numbers"),
        (lambda: STEEP.estimate([1.0, 1e9]), r"the utility of samples must be finite; that of 1e\+09 is not"),
        (
            lambda: STEEP.value(Discrete({1e9: 0.5, 2e9: 0.5})),
            r"the utility of outcomes must be finite; that of 1e\+09 is not",
        ),
        (lambda: PEOPLE.value_of_normal([0.0], 0.0), "sds finite and positive"),
        (lambda: Preference.tversky_kahneman().value_of_normal([0.0], 1.0), "linear utility"),
        (
            lambda: Preference.tversky_kahneman().estimate_truncated([1.0, 2.0], SubGaussian(1.0, 0.0)),
            "with a utility",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the lambda that takes the log of zero
def test_what_cannot_be_valued_is_refused_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Preference(0.61), "gains must be a weight; got 0.61"),
        (lambda: Preference(Identity(), losses="same"), "losses must be a weight; got 'same'"),
        (lambda: Preference(Identity(), costs=1), "costs must be True or False; got 1"),
        (lambda: Preference(Identity(), utility=2.0), "a utility is a function of outcomes; got 2.0"),
        (lambda: PEOPLE.value([1.0, 2.0]), r"a value is that of a lottery; got \[1.0, 2.0\].*estimate"),
        (lambda: PEOPLE.value(stats.norm()), r"got SciPy's norm\(...\)\. Wrap it: Continuous\(stats\.norm\(...\)\)\.$"),
        (lambda: PEOPLE.value(stats.norm), r"got SciPy's norm\(...\)\. Wrap it: Continuous\(stats\.norm\(...\)\)\.$"),
        (lambda: PEOPLE.certainty_equivalent(stats.gamma(2.0)), r"Wrap it: Continuous\(stats\.gamma"),
        (lambda: PEOPLE.explain(stats.gamma(2.0)), r"Wrap it: Continuous\(stats\.gamma"),
        (lambda: PEOPLE.value(stats.poisson(3)), r"got SciPy's poisson.*write this one as Discrete"),
        (lambda: Mixture([stats.norm(), Normal()], [0.5, 0.5]), r"made of lotteries; got SciPy's norm.*Continuous"),
        (lambda: Bandit([stats.norm(0, 1)]), r"a bandit is made of lotteries; got SciPy's norm.*Continuous"),
        (
            lambda: Bandit(stats.norm(0, 1)),
            r"several lotteries; got SciPy's norm.*Continuous.*Bandit\(\[lottery, other\]",
        ),
        (lambda: Bandit(Normal()), r"several lotteries; got Normal\(0, 1\) alone\. Give a list"),
        (lambda: PEOPLE.estimate_truncated([1.0], "normal"), "truncation needs SubGaussian rewards; got 'normal'"),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_with_what_to_write_instead(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.filterwarnings("error")
def test_a_utility_that_overflows_is_one_sentence_without_a_warning():
    with pytest.raises(ValueError, match=r"a utility must be finite; got a non-finite value at 749\.894"):
        Preference(Identity(), utility=lambda x: np.expm1(x))


def test_a_weight_that_is_not_monotone_warns_once_for_each_side_and_is_kept():
    with pytest.warns(DominanceWarning, match="better in every outcome may be valued lower"):
        strange = Preference(TverskyKahneman(0.1), Identity())
    assert strange.value(Normal(9, 1)) == pytest.approx(strange.value_of_normal(9.0, 1.0), rel=1e-9)


def test_a_certainty_equivalent_that_no_outcome_reaches_is_refused():
    def bounded(x):
        return np.where(x < 0, 20.0 * x, 1.0 - np.exp(-np.maximum(x, 0)))

    def reversed_bounded(x):
        return -bounded(-x)

    assert Preference(Identity(), utility=bounded).certainty_equivalent(Discrete({1: 1.0})) == pytest.approx(1.0)
    timid = Preference(Identity(), utility=reversed_bounded)
    assert timid.certainty_equivalent(Discrete({-1: 1.0})) == pytest.approx(-1.0)
