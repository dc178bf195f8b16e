"""LinGapE: sample what best tells the leader from its strongest rival, until all are beaten (Xu et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import kernel
from allais.linear.ellipsoid import World, bracket_linear, learn_linear, location, radius, recommend_linear, worth
from allais.linear.factorisation import dot
from allais.linear.pairwise import beats
from allais.linear.policy import LinearPolicy
from allais.policies.base import FixedConfidence
from allais.policies.steps import issue, pick
from allais.policies.verbs import SETTLED, bracket, choose, learn, recommend

SLOPE_STEP = 1e-4  # of a difference quotient, in spreads; a wrong slope costs samples, never the guarantee


@dataclass(frozen=True)
class LinGapE(FixedConfidence, LinearPolicy):
    """LinGapE, the best arm with features at a given confidence, from few samples: the default for that goal.

    The leader is the best arm at the estimate, its rival the one that could be ahead by most, among those that are
    not beaten for certain; the arm played is the one that most reduces the uncertainty of their difference. It stops
    as `WG` does, when every other arm is beaten, so that the recommendation is wrong with probability below `delta`.

    >>> from allais import best_arm
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1], [0.9, 0.3]], theta=[2.0, 0.0], noise=ParameterNoise())
    >>> policy = LinGapE(Preference(TverskyKahneman(0.61)), ParameterNoise(), delta=0.05, beta=2.0)
    >>> best_arm(policy, problem, seed=1).arm
    0
    """

    called: ClassVar[str] = "LinGapE"

    def rule_for(self, rows: FloatArray) -> LinGapERule:
        """The settings for given arms."""
        return LinGapERule(self.world(rows), self.tolerance)


class LinGapERule(NamedTuple):
    """LinGapE's settings."""

    world: World
    tolerance: float


@kernel
def _slope(world, state, arm, place):
    """How fast an arm's value moves with its location."""
    half = SLOPE_STEP / world.locations.per_spread[arm]
    rise = worth(world, state, arm, place + half) - worth(world, state, arm, place - half)
    return rise / (2.0 * half)


@choose.of(LinGapERule)
def _(rule, state, u):
    world = rule.world
    d, n_arms = state.theta.size, state.asked.size
    reach = radius(world, state)
    for arm in range(n_arms):
        state.scores[arm] = worth(world, state, arm, location(world, state, arm))
        state.eligible[arm] = state.active[arm]
    leader = pick(state.scores, state.eligible, state.asked, u)
    leading = state.scores[leader]
    slope = _slope(world, state, leader, location(world, state, leader))
    # step = A^-1 (slope x_leader), from which |y|^2_{A^-1} of y = slope x_leader - slope' x_rival follows arm by arm
    for i in range(d):
        state.step[i] = slope * dot(state.inverse[i], world.features[leader])
    own = slope * slope * state.norms[leader]
    for arm in range(n_arms):
        other = _slope(world, state, arm, location(world, state, arm))
        spread = own - 2.0 * other * dot(world.features[arm], state.step) + other * other * state.norms[arm]
        state.along[arm] = state.scores[arm] - leading + reach * np.sqrt(max(spread, 0.0))
    state.eligible[leader] = False
    rival = pick(state.along, state.eligible, state.asked, u)
    # The lead above is linear in theta, the certainty is not: an arm that is beaten for every theta may still seem
    # the strongest rival, and sampling for its sake would never part the others.
    while rival >= 0 and beats(world, state, reach, leader, rival, rule.tolerance):
        state.eligible[rival] = False
        rival = pick(state.along, state.eligible, state.asked, u)
    if rival < 0:
        return SETTLED
    # y = slope x_leader - slope' x_rival, and the arm whose play most reduces |y|_{A^-1}
    other = _slope(world, state, rival, location(world, state, rival))
    for i in range(d):
        state.step[i] -= other * dot(state.inverse[i], world.features[rival])
    for arm in range(n_arms):
        along = dot(world.features[arm], state.step)
        variance = world.scale[arm] * world.scale[arm] + state.norms[arm]
        state.scores[arm] = along * along / variance
        state.eligible[arm] = state.active[arm]
    arm = pick(state.scores, state.eligible, state.asked, u)
    return issue(state, arm)


learn.of(LinGapERule)(learn_linear)
recommend.of(LinGapERule)(recommend_linear)
bracket.of(LinGapERule)(bracket_linear)
