"""LinGapE: sample what best tells the leader from its strongest rival, until all are beaten (Xu et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import kernel, routine
from allais.linear.policy import LinearPolicy
from allais.linear.regression import World, dot, linear_rule, location, radius, worth
from allais.policies.core.base import Promise, no_worse, setting
from allais.policies.core.steps import issue, pick
from allais.policies.core.verbs import SETTLED, choose

FIRST_ARCS = 16
DEPTH = 24  # halvings of an arc before the answer is "not certain"


@routine
def beats(world, state, reach, arm, other, tolerance):
    """Whether mu_arm - mu_other >= -tolerance is certain for all theta within `reach` in the norm of A."""
    # (u, v) = centre + reach C (cos phi, sin phi), with C C' = [x y]' A^-1 [x y]; C lower triangular
    u0, v0 = location(world, state, arm), location(world, state, other)
    a = np.sqrt(max(state.norms[arm], 0.0))
    shared = _product(world, state, arm, other)
    c = shared / a if a > 0.0 else 0.0
    s = np.sqrt(max(state.norms[other] - c * c, 0.0))
    width, height = reach * a, reach * np.sqrt(c * c + s * s)
    turn = np.arctan2(s, c)  # v = v0 + height cos(phi - turn)
    if not _holds_at_worst(world, state, arm, other, u0, v0, width, height, turn, tolerance):
        return False
    step = 2.0 * np.pi / FIRST_ARCS
    for first in range(FIRST_ARCS):
        # arcs in order, halved on demand: `depth` halvings deep, the `index`-th of them
        index, depth = 0, 0
        while index < (1 << depth):
            length = step / (1 << depth)
            start = first * step + index * length
            least = -_greatest(start - np.pi, start + length - np.pi)  # cosine on the arc
            low = worth(world, state, arm, u0 + width * least)
            high = worth(world, state, other, v0 + height * _greatest(start - turn, start - turn + length))
            if low - high >= -tolerance:
                index += 1
                while depth > 0 and index % 2 == 0:
                    index //= 2
                    depth -= 1
                continue
            middle = start + 0.5 * length
            here = worth(world, state, arm, u0 + width * np.cos(middle))
            there = worth(world, state, other, v0 + height * np.cos(middle - turn))
            if here - there < -tolerance or depth == DEPTH:
                return False
            index *= 2
            depth += 1
    return True


@kernel
def _product(world, state, arm, other):
    """x' A^-1 y."""
    if state.cross.size > 0:
        return state.cross[arm, other]
    total = 0.0
    for i in range(state.theta.size):
        row = 0.0
        for j in range(state.theta.size):
            row += state.inverse[i, j] * world.features[other, j]
        total += world.features[arm, i] * row
    return total


@kernel
def _holds_at_worst(world, state, arm, other, u0, v0, width, height, turn, tolerance):
    """A quick look where values of derivative 1 would be nearest: most rounds end here."""
    phi = np.arctan2(height * np.sin(turn), height * np.cos(turn) - width)  # where v - u is largest
    here = worth(world, state, arm, u0 + width * np.cos(phi))
    there = worth(world, state, other, v0 + height * np.cos(phi - turn))
    return here - there >= -tolerance


@kernel
def _greatest(start, end):
    """The largest cosine on an arc."""
    turns = np.ceil(start / (2.0 * np.pi))
    return 1.0 if turns * 2.0 * np.pi <= end else max(np.cos(start), np.cos(end))


DIFFERENCE = 1e-4  # of a difference quotient, in spreads; a wrong derivative costs samples, never the guarantee


@dataclass(frozen=True)
class LinGapE(LinearPolicy):
    """LinGapE, the best arm with features at a given confidence, from few samples: the default for that goal.

    The leader is the best arm at the estimate, its rival the one that could be ahead by most, among those that are not
    beaten for certain; the arm played is the one that most reduces the uncertainty of their difference. It stops as
    `WG` does, when every other arm is beaten.

    Args:
        preference: What is maximised.
        noise: What is added to x.theta.
        name: What tables and legends call it.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression, above 0.
        features: One row of numbers per arm; None if they come with the problem or with `start`.
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.

    >>> from allais import best_arm
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1], [0.9, 0.3]], theta=[2.0, 0.0], noise=ParameterNoise())
    >>> policy = LinGapE(Preference(TverskyKahneman(0.61)), ParameterNoise(), delta=0.05, beta=2.0)
    >>> best_arm(policy, problem, seed=1).arm
    0
    """

    tolerance: float = setting(0.0, no_worse)

    called: ClassVar[str] = "LinGapE"
    goal: ClassVar[str] = "confidence"
    promises: ClassVar[Promise] = "proven"

    def rule_for(self, rows: FloatArray) -> LinGapERule:
        return LinGapERule(self.world(rows), self.tolerance)


@linear_rule
class LinGapERule(NamedTuple):
    """LinGapE's settings."""

    world: World
    tolerance: float


@kernel
def _derivative(world, state, arm, place):
    """How fast an arm's value moves with its location."""
    half = DIFFERENCE / world.locations.per_spread[arm]
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
    derivative = _derivative(world, state, leader, location(world, state, leader))
    # step = A^-1 (derivative x_leader), from which |y|^2_{A^-1} of y = derivative x_leader - derivative' x_rival
    # follows arm by arm
    for i in range(d):
        state.step[i] = derivative * dot(state.inverse[i], world.features[leader])
    own = derivative * derivative * state.norms[leader]
    for arm in range(n_arms):
        other = _derivative(world, state, arm, location(world, state, arm))
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
    # y = derivative x_leader - derivative' x_rival, and the arm whose play most reduces |y|_{A^-1}
    other = _derivative(world, state, rival, location(world, state, rival))
    for i in range(d):
        state.step[i] -= other * dot(state.inverse[i], world.features[rival])
    for arm in range(n_arms):
        along = dot(world.features[arm], state.step)
        variance = world.scale[arm] * world.scale[arm] + state.norms[arm]
        state.scores[arm] = along * along / variance
        state.eligible[arm] = state.active[arm]
    arm = pick(state.scores, state.eligible, state.asked, u)
    return issue(state, arm)
