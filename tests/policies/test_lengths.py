"""Every length that reaches compiled code is checked on the way in, for a user's own policies and noise, too."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from allais import WUCB, Bandit, Bounded, Discrete, SubGaussian, expected_value, simulate
from allais.extend import NoBand, Worth, choose, setting
from allais.linear import WOFUL, ParameterNoise
from allais.policies.core.knowledge import worth_of
from allais.policies.core.state import started
from allais.samples.memory import empty_memory
from tests.policies.own_band import WideRule
from tests.policies.own_policy import Greedy, GreedyRule

PROBLEM = Bandit([Discrete({1: 0.5, 0: 0.5})] * 3)


def test_a_list_of_rewards_that_is_shorter_than_the_arms_is_refused():
    with pytest.raises(ValueError, match=r"one per arm, or none; got 1 for 3 arms"):
        worth_of(expected_value(), [SubGaussian(1.0, 1.0)], 3)
    assert worth_of(expected_value(), [], 3).edge.shape == (3,)


@dataclass(frozen=True)
class Short(Greedy):
    """A user's policy with one array that does not fit."""

    part: str = setting("")
    value: Any = setting(None)

    def rule(self, n_arms):
        rule = super().rule(n_arms)
        return rule._replace(worth=rule.worth._replace(edge=np.full(1, np.inf))) if self.part == "worth" else rule

    def state(self, n_arms, rule):
        state = super().state(n_arms, rule)
        return state if self.part == "worth" else state._replace(**{self.part: self.value})


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("worth", None, r"for each of its 3 arms in worth.edge; got \(1,\)"),
        ("asked", np.zeros(2, dtype=np.int64), r"for each of its 3 arms in state.asked; got \(2,\)"),
        ("active", np.ones(4, dtype=np.bool_), r"for each of its 3 arms in state.active; got \(4,\)"),
        ("active", None, r"for each of its 3 arms in state.active; got None"),
        ("memory", empty_memory(2), r"for each of its 3 arms in memory.utility; got \(2,\)"),
        ("memory", empty_memory(3)._replace(trees=empty_memory(1).trees), r"made by empty_memory\(3\)"),
        ("memory", None, r"keeps its arms' outcomes in `memory`"),
        ("ticket", np.zeros(0), r"must have a ticket"),
    ],
)
def test_a_users_policy_with_an_array_that_does_not_fit_is_refused(part, value, message):
    policy = Short(expected_value(), part=part, value=value)
    with pytest.raises((ValueError, TypeError), match=message):
        policy.start(3, seed=1)
    with pytest.raises((ValueError, TypeError), match=message):
        simulate(policy, PROBLEM, n_rounds=10)


@dataclass(frozen=True)
class NarrowBand:
    """A user's band that forgets how many arms there are."""

    def rule(self, preference, rewards):
        return WideRule(np.full(1, 4.0))


def test_a_users_band_with_an_array_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"for each of its 3 arms in band.reach; got \(1,\)"):
        WUCB(expected_value(), Bounded(0, 1), band=NarrowBand()).start(3, seed=1)


@dataclass(frozen=True)
class ShortNoise:
    """A user's noise of the first arm only."""

    def of(self, features):
        return ParameterNoise().of(features[:1])


def test_a_users_noise_of_too_few_arms_is_refused():
    policy = WOFUL(expected_value(), ShortNoise(), delta=0.05, beta=1.0)
    with pytest.raises(ValueError, match=r"noise must be one distribution per arm; got 1 for 2 arms"):
        policy.start(2, seed=1, features=[[1.0, 0.0], [0.0, 1.0]])


def test_what_fits_starts():
    rule, state = started(Greedy(expected_value()), 3)
    assert isinstance(rule, GreedyRule)
    assert state.asked.size == 3


@dataclass(frozen=True)
class Astray(Greedy):
    """A user's policy that asks for an arm which is not there."""

    def rule(self, n_arms):
        return AstrayRule(self.worth(n_arms), NoBand())


class AstrayRule(NamedTuple):
    worth: Worth
    band: NoBand


@choose.of(AstrayRule)
def _(rule, state, u):
    return state.asked.size


def test_a_users_policy_that_asks_for_an_arm_which_is_not_there_is_refused():
    message = r"an arm from 0 to 2, SETTLED or WAITING; Astray returned 3"
    with pytest.raises(ValueError, match=message):
        simulate(Astray(expected_value()), PROBLEM, n_rounds=10)
    learner = Astray(expected_value()).start(3, seed=1)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            learner.ask()
    assert learner.outstanding == ()
