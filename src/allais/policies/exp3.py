"""EXP3: for rewards chosen by an adversary (Auer et al. 2002); it cannot see a distortion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray, share
from allais._kernels import kernel
from allais.bands.base import bounds_of
from allais.policies.base import Policy, RewardsOfArms, as_list, check_settings, worth_of
from allais.policies.steps import no_interval, recommend_best
from allais.policies.verbs import register
from allais.preferences import Preference, expected_value
from allais.rewards import SubGaussian
from allais.samples.memory import Memory, Worth, empty_memory, insert, measure


@dataclass(frozen=True)
class EXP3(Policy):
    """EXP3: exponential weights with a share `gamma` of uniform exploration (Auer et al. 2002).

    The paper names it as unfit: it learns the arm of the highest mean, whatever people prefer.

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    >>> simulate(EXP3(Bounded(0, 1)), problem, n_rounds=1_000, seed=1).pulls[0, -1]
    array([161, 839])
    """

    rewards: RewardsOfArms
    gamma: float = 0.1
    preference: Preference = field(default_factory=expected_value)
    name: str = field(default="EXP3", repr=False)

    goal: ClassVar[str] = "regret"
    open_to_data: ClassVar[bool] = False  # its weights need the probability that a choice had

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards)
        object.__setattr__(self, "gamma", share("gamma", self.gamma, one=True))
        if any(isinstance(known, SubGaussian) for known in as_list(self.rewards)):
            raise ValueError("EXP3 needs bounded rewards; got SubGaussian. Declare Bounded(low, high).")

    def rule(self, n_arms: int) -> EXP3Rule:
        """The settings as the kernels read them."""
        known = self.rewards_of(n_arms)
        ends = [bounds_of(self.preference, one) for one in known]
        low, high = min(pair[0] for pair in ends), max(pair[1] for pair in ends)
        scale = 1.0 / (high - low) if high > low else 0.0  # where one value is all there is, nothing can be learned
        return EXP3Rule(worth_of(self.preference, known, n_arms), self.gamma, low, scale)

    def state(self, n_arms: int) -> EXP3State:
        """The state before the first round."""
        return EXP3State(
            empty_memory(n_arms),
            np.zeros(n_arms, dtype=np.int64),
            np.ones(n_arms, dtype=np.bool_),
            np.zeros(1),
            np.zeros(n_arms),
            np.zeros(n_arms),
        )


class EXP3Rule(NamedTuple):
    """EXP3's settings."""

    worth: Worth
    gamma: float
    low: float  # of all arms' rewards as felt, which are mapped to [0, 1] in one way, or they could not be compared
    scale: float


class EXP3State(NamedTuple):
    """EXP3's memory."""

    memory: Memory
    asked: IntArray
    active: Any
    ticket: FloatArray  # the probability that the last choice had
    log_weights: FloatArray  # (n_arms,)
    weights: FloatArray  # scratch, (n_arms,)


@kernel
def _choose(rule, state, u):
    n_arms = state.log_weights.size
    largest = -np.inf
    for log_weight in state.log_weights:
        largest = max(largest, log_weight)
    total = 0.0
    for k in range(n_arms):
        state.weights[k] = np.exp(state.log_weights[k] - largest)
        total += state.weights[k]
    cumulative = 0.0
    for arm in range(n_arms):
        probability = (1.0 - rule.gamma) * state.weights[arm] / total + rule.gamma / n_arms
        cumulative += probability
        if u < cumulative or arm == n_arms - 1:
            state.ticket[0] = probability
            state.asked[arm] += 1
            return arm
    return -1


@kernel
def _learn(rule, state, arm, felt, raw, ticket):
    insert(state.memory, arm, felt, raw)
    measure(rule.worth, state.memory, arm)
    reward = (felt - rule.low) * rule.scale
    state.log_weights[arm] += rule.gamma * reward / (ticket * state.log_weights.size)


@kernel
def _bracket(rule, state, low, high):
    no_interval(low, high)  # it keeps no interval


register(EXP3Rule, choose=_choose, learn=_learn, recommend=recommend_best, bracket=_bracket)
