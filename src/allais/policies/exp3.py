"""EXP3: for rewards chosen by an adversary (Auer et al. 2002); it cannot see a distortion."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, share
from allais._kernels import by_reference
from allais.bands.base import NoBand, bounds_of
from allais.policies.core.base import KArmed, Propensity, setting
from allais.policies.core.knowledge import RewardsOfArms, as_list
from allais.policies.core.steps import issue
from allais.policies.core.verbs import choose, learn, take_in
from allais.preferences import Preference, expected_value
from allais.rewards import SubGaussian
from allais.samples.memory import Worth


@dataclass(frozen=True)
class EXP3(KArmed):
    """EXP3: exponential weights with a share of uniform exploration (Auer et al. 2002).

    The paper calls it unfit: it learns the arm of the highest mean, whatever people prefer.

    Args:
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        preference: What is maximised; by default the mean.
        name: What tables and legends call it.
        gamma: The share of uniform exploration, in (0, 1].

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    >>> simulate(EXP3(Bounded(0, 1)), problem, n_rounds=1_000, seed=1).pulls[0, -1]
    array([161, 839])
    """

    preference: Preference = field(default_factory=expected_value, kw_only=True)
    rewards: RewardsOfArms | None = None
    gamma: float = setting(0.1, partial(share, one=True))
    called: ClassVar[str] = "EXP3"
    propensity: ClassVar[Propensity] = "ticket"
    goal: ClassVar[str] = "regret"
    open_to_data: ClassVar[bool] = False  # its weights need the probability that a choice had
    needs_rewards: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse rewards that cannot be mapped to [0, 1]."""
        assert self.rewards is not None
        if any(isinstance(known, SubGaussian) for known in as_list(self.rewards)):
            raise ValueError("EXP3 needs bounded rewards; got SubGaussian. Declare Bounded(low, high).")

    def rule(self, n_arms: int) -> EXP3Rule:
        known = self.rewards_of(n_arms)
        ends = [bounds_of(self.preference, one) for one in known]
        low, high = min(pair[0] for pair in ends), max(pair[1] for pair in ends)
        scale = 1.0 / (high - low) if high > low else 0.0  # with one possible reward, there is nothing to learn
        return EXP3Rule(self.worth(n_arms), NoBand(), self.gamma, low, scale)

    def own(self, n_arms: int) -> Weights:
        return Weights(np.zeros(n_arms))


class EXP3Rule(NamedTuple):
    """EXP3's settings."""

    worth: Worth
    band: NoBand
    gamma: float
    low: float  # the least reward of all arms, as a utility; one map to [0, 1] serves all, so that they can be compared
    scale: float


@by_reference
class Weights(NamedTuple):
    """The exponential weights."""

    log_weights: FloatArray  # (n_arms,)


@choose.of(EXP3Rule)
def _(rule, state, u):
    log_weights, weights = state.own.log_weights, state.score
    n_arms = log_weights.size
    largest = -np.inf
    for log_weight in log_weights:
        largest = max(largest, log_weight)
    total = 0.0
    for k in range(n_arms):
        weights[k] = np.exp(log_weights[k] - largest)
        total += weights[k]
    cumulative = 0.0
    for arm in range(n_arms):
        probability = (1.0 - rule.gamma) * weights[arm] / total + rule.gamma / n_arms
        cumulative += probability
        if u < cumulative or arm == n_arms - 1:
            state.ticket[0] = probability
            return issue(state, arm)
    return -1


@learn.of(EXP3Rule)
def _(rule, state, arm, utility, raw, ticket):
    take_in(rule, state, arm, utility, raw, ticket)
    reward = (utility - rule.low) * rule.scale
    state.own.log_weights[arm] += rule.gamma * reward / (ticket * state.own.log_weights.size)
