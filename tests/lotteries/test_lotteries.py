"""Lotteries: sampling, survival, support, mean, and what is refused."""

import pickle

import numpy as np
import pytest
from scipy import stats

from allais import Bernoulli, Continuous, Discrete, Empirical, Mixture, Normal, Uniform
from allais.lotteries.combined import moved

LOTTERIES = [
    Discrete({50: 0.1, 0: 0.9}),
    Bernoulli(0.3),
    Normal(9, 2),
    Uniform(-3, 7),
    Empirical([3.0, 1.0, 3.0, 8.5]),
    Continuous(stats.gamma(2.0, scale=3.0)),
    Mixture([Normal(20, 2), Discrete({60: 1.0})], [0.95, 0.05]),
]


@pytest.mark.parametrize("lottery", LOTTERIES, ids=repr)
def test_samples_follow_the_distribution(lottery):
    n = 200_000
    drawn = lottery.sample(np.random.default_rng(7), n)
    assert drawn.shape == (n,)
    low, high = lottery.support
    assert low <= drawn.min()
    assert drawn.max() <= high
    # the mean within 5.5 standard errors, and the survival function within a DKW band:
    # by luck this fails once in twenty million runs for the first, 2 exp(-2 * 9) = 3e-8 for the second
    assert drawn.mean() == pytest.approx(lottery.mean, abs=5.5 * drawn.std() / np.sqrt(n))
    at = np.quantile(drawn, [0.01, 0.2, 0.5, 0.8, 0.99])
    seen = np.array([(drawn > x).mean() for x in at])
    np.testing.assert_allclose(seen, lottery.survival(at), atol=3.0 / np.sqrt(n))


@pytest.mark.parametrize("lottery", LOTTERIES, ids=repr)
def test_survival_and_cdf_add_up_and_the_quantile_inverts_them(lottery):
    x = np.linspace(-5, 70, 301)
    both = np.exp(lottery.log_survival(x)) + np.exp(lottery.log_cdf(x))
    np.testing.assert_allclose(both, 1.0, atol=1e-12)
    for p in (0.01, 0.25, 0.5, 0.93, 0.999):
        q = float(lottery.quantile(np.array([p]))[0])
        assert np.exp(lottery.log_cdf(np.array(q + 1e-9 * abs(q)))) >= p - 1e-9
        assert np.exp(lottery.log_cdf(np.array(q - 1e-9 * abs(q) - 1e-12))) <= p + 1e-9


@pytest.mark.parametrize("lottery", LOTTERIES, ids=repr)
def test_one_seed_gives_one_sample(lottery):
    np.testing.assert_array_equal(lottery.sample(3, 10), lottery.sample(3, 10))
    assert isinstance(lottery.sample(3), float)


def test_a_mixture_of_finite_lotteries_is_finite():
    both = Mixture([Discrete({10: 0.5, 0: 0.5}), Discrete({10: 1.0})], [0.4, 0.6])
    assert both.as_finite() == Discrete({10: 0.8, 0: 0.2})


def test_an_outcome_of_probability_zero_is_not_in_the_support():
    assert Discrete({5: 1.0, 1000: 0.0}).support == (5.0, 5.0)


def test_what_the_caller_gave_is_not_changed():
    samples = np.array([3.0, 1.0, 2.0])
    lottery = Empirical(samples)
    lottery.outcomes[0] = 99.0
    np.testing.assert_array_equal(samples, [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(lottery.outcomes, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Discrete({50: 0.1, 0: 0.8}), "probabilities must sum to 1; got a sum of 0.9.*missing outcome"),
        (lambda: Discrete({50: -0.1, 0: 1.1}), "must not be negative; got -0.1 for outcome 50"),
        (lambda: Discrete({float("nan"): 1.0}), "outcomes must be finite; got nan"),
        (lambda: Discrete({float("inf"): 1.0}), "outcomes must be finite; got inf"),
        (lambda: Discrete({1: float("nan")}), "probabilities must be finite; got nan"),
        (lambda: Discrete({}), "outcomes must not be empty"),
        (lambda: Bernoulli(1.2), r"a probability must lie in \[0, 1\]; got 1.2"),
        (lambda: Normal(0, 0), "sd must be above 0; got 0"),
        (lambda: Uniform(3, 3), "low must lie below high; got 3 and 3"),
        (lambda: Empirical([]), "samples must not be empty"),
        (lambda: Empirical([1.0, np.nan]), "samples must be finite; got nan at position 1"),
        (lambda: Empirical([[1.0], [2.0]]), r"one sequence of numbers; got an array of shape \(2, 1\)"),
        (lambda: Continuous(stats.gamma(-1.0)), "valid parameters; got gamma"),
        (lambda: Mixture([Normal()], [0.5, 0.5]), "got 1 components and 2 shares"),
        (lambda: Mixture([Normal(), Normal()], [0.5, 0.6]), "sum to 1"),
        (lambda: Normal().sample(1, -1), "size must be a whole number of draws, 0 or more; got -1"),
        (lambda: Normal().sample("one"), "a seed must be a non-negative int"),
        (lambda: Normal().survival(float("nan")), "got NaN"),
    ],
)
def test_a_lottery_that_makes_no_sense_is_refused_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Discrete([50, 0]), "a mapping of outcomes to probabilities; got list"),
        (lambda: Continuous(stats.gamma), "frozen scipy distribution"),
        (lambda: Continuous(stats.poisson(3)), "got poisson, which is discrete"),
        (lambda: Mixture([7.0], [1.0]), "made of lotteries; got 7.0"),
    ],
)
def test_a_lottery_of_the_wrong_kind_is_refused_with_what_to_write_instead(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def made_again():
    """The lotteries once more, from new arguments."""
    return [
        Discrete({0: 0.9, 50: 0.1}),
        Bernoulli(0.3),
        Normal(9, 2),
        Uniform(-3, 7),
        Empirical([1.0, 3.0, 8.5, 3.0]),
        Continuous(stats.gamma(2.0, scale=3.0)),
        Mixture([Normal(20, 2), Discrete({60: 1.0})], [0.95, 0.05]),
    ]


@pytest.mark.parametrize("index", range(len(LOTTERIES)), ids=lambda index: repr(LOTTERIES[index]))
def test_two_lotteries_of_one_distribution_are_equal_and_others_are_not(index):
    first, again = LOTTERIES[index], made_again()[index]
    assert first == again
    assert hash(first) == hash(again)
    assert [first == other for other in LOTTERIES] == [other is first for other in LOTTERIES]
    both = moved(first, 3.0, -2.0), moved(again, 3.0, -2.0)
    assert both[0] == both[1]
    assert hash(both[0]) == hash(both[1])
    assert both[0] != first


def test_equality_tells_parameters_apart_and_zeros_alike():
    gamma = Continuous(stats.gamma(2.0, scale=3.0))
    assert gamma != Continuous(stats.gamma(2.0, scale=3.5))
    assert gamma != Continuous(stats.gamma(2.0, loc=1.0, scale=3.0))
    assert Continuous(stats.gamma(2.0)) != Continuous(stats.expon(2.0))
    assert Mixture([Normal(0, 1), Normal(1, 1)], [0.5, 0.5]) != Mixture([Normal(0, 1), Normal(1, 1)], [0.4, 0.6])
    assert Mixture([Normal(0, 1), Normal(1, 1)], [0.5, 0.5]) != Mixture([Normal(0, 1), Normal(2, 1)], [0.5, 0.5])
    assert Empirical([1.0, 2.0]) != Empirical([1.0, 1.0, 2.0, 2.0, 2.0])
    below, above = Discrete({-0.0: 0.5, 1.0: 0.5}), Discrete({0.0: 0.5, 1.0: 0.5})
    assert below == above
    assert hash(below) == hash(above)


def test_a_distribution_that_scipy_does_not_know_by_name_equals_itself_only():
    class Triangle(stats.rv_continuous):
        def _pdf(self, x):
            return 2.0 * x

    def made():
        return Continuous(Triangle(a=0.0, b=1.0, name="norm")())

    one = made()
    assert one == one
    assert one != made()
    assert one != Continuous(stats.norm())
    histogram = stats.rv_histogram(np.histogram([1.0, 2.0, 2.5], bins=2))
    assert Continuous(histogram) != Continuous(stats.rv_histogram(np.histogram([1.0, 1.2, 2.5], bins=2)))


def test_a_lottery_and_an_empirical_distribution_differ_whichever_comes_first():
    coin, seen = Bernoulli(0.5), Empirical([0.0, 1.0])
    assert coin != seen
    assert seen != coin
    assert Discrete({0.0: 0.5, 1.0: 0.5}) != seen


def test_a_normal_distribution_that_an_older_version_pickled_is_the_same():
    older = Normal.__new__(Normal)
    older.__setstate__({"_mean": 9.0, "sd": 2.0})  # what version 0.2.0 kept
    assert older == Normal(9.0, 2.0)
    assert pickle.loads(pickle.dumps(older)) == older
