"""Problems that pay what was declared impossible are refused before anything runs."""

import numpy as np
import pytest
from scipy import stats

from allais import (
    NPTS,
    UCB1,
    WLUCB,
    WSR,
    WUCB,
    Bandit,
    Bounded,
    Continuous,
    Discrete,
    Finite,
    Mixture,
    Normal,
    PowerUtility,
    Preference,
    Simulator,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    Uniform,
    best_arm,
    compare,
    search,
    simulate,
)
from allais.linear import AdditiveNoise, LinearBandit
from allais.policies.core.base import Policy
from allais.problems import Problem

PEOPLE = Preference(TverskyKahneman(0.61))
FIFTY, SEVEN = Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})


@pytest.fixture
def nothing_runs(monkeypatch):
    def refuse(*arguments, **settings):
        raise AssertionError("something ran")

    monkeypatch.setattr("allais.simulation.rollout.compiled_loop", refuse)
    monkeypatch.setattr("allais.searches.best_option.drive", refuse)


@pytest.mark.parametrize(
    ("lottery", "rewards", "message"),
    [
        (FIFTY, Bounded(0, 20), r"between 0 and 20; arm 'bus' can pay 50\. Widen"),
        (FIFTY, Finite([0, 7]), r"one of the 2 declared values; arm 'bus' can pay 50\. Add it"),
        (Discrete({-1: 0.5, 2: 0.5}), Bounded(0, 20), r"between 0 and 20; arm 'bus' can pay -1"),
        (Normal(9, 1), Bounded(0, 20), r"arm 'bus' can pay anything from -inf to inf\. Widen .*SubGaussian"),
        (Continuous(stats.expon()), Bounded(0, 20), r"arm 'bus' can pay anything from 0 to inf"),
        (Uniform(0, 21), Bounded(0, 20), r"arm 'bus' can pay anything from 0 to 21"),
        (Mixture([SEVEN, Normal(9, 1)], [0.5, 0.5]), Bounded(0, 20), r"arm 'bus' can pay anything from -inf to inf"),
        (Uniform(0, 1), Finite([0, 1]), r"one of the 2 declared values; arm 'bus' can pay anything from 0 to 1"),
        (FIFTY, [Bounded(0, 20), Bounded(0, 50)], r"between 0 and 20; arm 'bus' can pay 50"),
    ],
)
def test_lotteries_outside_the_rewards_are_refused(lottery, rewards, message, nothing_runs):
    problem = Bandit([lottery, SEVEN], arms=["bus", "car"])
    with pytest.raises(ValueError, match=message):
        simulate(NPTS(PEOPLE, rewards), problem, n_rounds=10)
    with pytest.raises(ValueError, match=message):
        compare([NPTS(PEOPLE, rewards)], problem, n_rounds=10)
    for policy in (WLUCB(PEOPLE, rewards, delta=0.1), TopTwo(PEOPLE, rewards, delta=0.1)):
        with pytest.raises(ValueError, match=message):
            best_arm(policy, problem, seed=1)
        with pytest.raises(ValueError, match=message):
            search(policy, problem, seed=1, max_hours=1.0)
    with pytest.raises(ValueError, match=message):
        best_arm(WSR(PEOPLE, budget=50, rewards=rewards), problem, seed=1)


def test_a_k_armed_policy_on_a_linear_bandit_is_checked_as_well(nothing_runs):
    problem = LinearBandit([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], AdditiveNoise(Discrete({1: 0.5, -1: 0.5})))
    with pytest.raises(ValueError, match=r"between 0 and 2; arm 1 can pay 3. Widen"):
        simulate(WUCB.as_printed(PEOPLE, Bounded(0, 2)), problem, n_rounds=10)


def test_what_fits_runs():
    problem = Bandit([FIFTY, SEVEN, Uniform(0, 50)])
    assert simulate(WUCB.as_printed(PEOPLE, Bounded(0, 50)), problem, n_rounds=20, seed=1).samples.tolist() == [20]
    normal = Bandit([Normal(1, 1), Normal(0, 1)])
    assert simulate(WUCB.as_printed(PEOPLE, SubGaussian(1.0, 2.0)), normal, n_rounds=20, seed=1).samples.tolist() == [
        20
    ]


def test_a_simulator_is_refused_when_it_pays_what_cannot_be():
    problem = Simulator(lambda arm, rng: 50.0 if arm == "bus" else 7.0, ["car", "bus"])
    with pytest.raises(ValueError, match=r"between 0 and 20; arm 'bus' paid 50\. Widen"):
        simulate(WUCB.as_printed(PEOPLE, Bounded(0, 20)), problem, n_rounds=10, seed=1)
    assert simulate(WUCB.as_printed(PEOPLE, Bounded(0, 50)), problem, n_rounds=10, seed=1).samples.tolist() == [10]


class Odd(Problem):
    """A problem of a user that draws what it likes."""

    arms = ("bus", "car")

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def draw(self, arm, rng, size):
        return self.outcomes(size)


@pytest.mark.parametrize(
    "outcomes", [lambda size: np.zeros(0), lambda size: np.zeros((size, 2)), lambda size: np.full(size, np.nan)]
)
def test_a_problem_that_draws_too_few_too_many_or_no_numbers_is_refused(outcomes):
    with pytest.raises(ValueError, match=r"must return 64 finite outcomes; .* for arm 'bus'"):
        simulate(WUCB.as_printed(PEOPLE, Bounded(0, 1)), Odd(outcomes), n_rounds=10, seed=1)


def test_utilities_that_overflow_are_refused(nothing_runs):
    steep = Preference(TverskyKahneman(0.61), utility=PowerUtility(40.0, 1.0))
    with pytest.raises(ValueError, match=r"the utility of rewards must be finite; that of 1e\+09 is not"):
        WUCB.as_printed(steep, Bounded(0, 1e9))
    with pytest.raises(ValueError, match=r"the utility of rewards of arm 1 must be finite; that of 1e\+09 is not"):
        simulate(WSR(steep, budget=50), Bandit([SEVEN, Discrete({1e9: 0.5, 0: 0.5})]), n_rounds=10)


@pytest.mark.parametrize(
    ("policy", "problem"), [(None, Bandit([SEVEN])), (WUCB.as_printed(PEOPLE, Bounded(0, 9)), [SEVEN])]
)
def test_what_is_no_policy_or_no_problem_is_refused(policy, problem):
    with pytest.raises(TypeError, match=r"a simulation runs a policy|a policy is run on a problem"):
        simulate(policy, problem, n_rounds=10)
    assert isinstance(WUCB.as_printed(PEOPLE, Bounded(0, 9)), Policy)


@pytest.mark.parametrize("problem", [stats.norm(), [stats.norm(), stats.norm(1.0)]], ids=["one", "a list"])
def test_a_distribution_of_scipy_is_refused_with_the_lottery_to_write(problem):
    policy, stopping = WUCB.as_printed(PEOPLE, Bounded(0, 9)), WLUCB(PEOPLE, Bounded(0, 9), delta=0.1)
    wanted = r"got (a list with )?SciPy's norm\(...\)\. Wrap it: Continuous\(stats\.norm\(...\)\)\. Then write Bandit"
    for run in (
        lambda: simulate(policy, problem, n_rounds=10),
        lambda: compare([policy], problem, n_rounds=10),
        lambda: best_arm(stopping, problem, seed=1),
    ):
        with pytest.raises(TypeError, match=wanted):
            run()


def test_a_class_is_refused_where_a_policy_is_wanted():
    problem = Bandit([SEVEN, SEVEN])
    with pytest.raises(
        TypeError, match=r"a policy comes with its settings; got the class WLUCB\. Write WLUCB\(\.\.\.\)"
    ):
        best_arm(WLUCB, problem, seed=1)
    for policies in ([NPTS, UCB1], {"mine": NPTS}):
        with pytest.raises(TypeError, match=r"a policy comes with its settings; got the class NPTS"):
            compare(policies, problem, n_rounds=10)
    for run in (best_arm, search):
        for policy in (NPTS, NPTS(PEOPLE, Bounded(0, 9)), UCB1(Bounded(0, 9))):
            with pytest.raises(ValueError, match=r"needs a policy that stops; \w+ never stops\. Use"):
                run(policy, problem, seed=1)
