"""The ellipsoid around theta that linear policies share: what is known, what is learned, values at a location."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, late
from allais.linear.location_tables import Locations, ceiling_at, value_at
from allais.linear.noise import keep_seen, worth_of_seen
from allais.linear.regression import dot, factorise, project, update_factor
from allais.numerics.table import Table
from allais.policies.core.steps import pick_with_ties
from allais.samples.memory import Memory

PERIOD = 1024  # rounds between two factorisations from scratch, which end the drift of rank-one updates


@by_reference
class World(NamedTuple):
    """What a linear policy knows from the start."""

    features: FloatArray  # x, (n_arms, d)
    mean: FloatArray  # of each arm's noise: part of the reward, not of x.theta
    scale: FloatArray  # sigma_x: what is divided out, so that all noise is 1-sub-Gaussian
    locations: Locations
    gains: Table  # tables of the weights, where noise is estimated
    losses: Table
    sign: float  # -1 where outcomes are costs
    reference: float
    slack: float  # 2 log(1 / delta) - d log lambda, a part of the radius
    bias: float  # beta sqrt(lambda)
    fade: float  # by which the weight of what was seen falls with each further outcome; 1 where nothing fades
    ridge: float  # lambda


@by_reference
class LinearState(NamedTuple):
    """What a linear policy has learned."""

    memory: Memory  # counts only; no outcomes
    asked: IntArray
    active: Any
    ticket: FloatArray
    gram: FloatArray  # A = lambda I + sum of x x' / sigma_x^2
    inverse: FloatArray  # A^-1, by rank-one updates
    vector: FloatArray  # b = sum of r x / sigma_x^2 (docs/paper/errata.md, 2)
    theta: FloatArray  # A^-1 b
    log_det: FloatArray  # log det A, (1,)
    told: IntArray  # outcomes in all, and since A was last factorised; (2,)
    norms: FloatArray  # x' A^-1 x of each arm
    locations: FloatArray  # x' theta of each arm
    cross: FloatArray  # x' A^-1 y of all pairs, or empty
    factor: FloatArray  # upper triangular U with U' U = A, or empty
    step: FloatArray  # scratch, (d,)
    along: FloatArray  # scratch, (n_arms,)
    work: FloatArray  # scratch, (d, d)
    scores: FloatArray  # scratch, (n_arms,)
    eligible: Any  # scratch, (n_arms,)
    shares: FloatArray  # scratch, (n_arms,)
    seen: FloatArray  # where noise is estimated: an arm's outcomes as gains, ascending, and counts; (n_arms, 2, -)
    sizes: IntArray  # how many of them there are, (n_arms,)
    rival: IntArray  # the arm that last kept a policy from stopping, or -1; (1,)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are written before they are read, or follow from others: no file holds them."""
        return "step", "along", "work", "scores", "eligible", "shares"


@kernel
def radius(world, state):
    """D = sqrt(2 log(det(A)^1/2 lambda^(-d/2) / delta)) + beta sqrt(lambda) (docs/paper/errata.md, 1)."""
    return np.sqrt(max(world.slack + state.log_det[0], 0.0)) + world.bias


@kernel
def location(world, state, arm):
    """The estimated location of an arm, as a gain from the reference."""
    return world.sign * (state.locations[arm] + world.mean[arm] - world.reference)


@kernel
def worth(world, state, arm, place):
    """The value of an arm whose location, a gain from the reference, is given."""
    return value_at(world.locations, arm, place) if state.seen.size == 0 else worth_of_seen(world, state, arm, place)


@kernel
def worth_ceiling(world, state, arm, place):
    """A bound on `worth` that costs next to nothing, or infinity."""
    return ceiling_at(world.locations, arm, place) if state.seen.size == 0 else np.inf


@kernel
def pick_by_worth(world, state, u):
    """The active arm of the highest value at the locations in `state.along`, which are gains from the reference."""
    highest, first = -np.inf, -1
    for arm in range(state.asked.size):
        state.eligible[arm] = state.active[arm]
        state.scores[arm] = worth_ceiling(world, state, arm, state.along[arm])
        if state.active[arm] and (first < 0 or state.scores[arm] > highest):
            highest, first = state.scores[arm], arm
    best = worth(world, state, first, state.along[first])
    level = best - 1e-12 * abs(best)
    for arm in range(state.asked.size):  # arms that cannot win are not looked up
        if state.active[arm] and state.scores[arm] >= level:
            state.scores[arm] = worth(world, state, arm, state.along[arm])
    arm, ties = pick_with_ties(state.scores, state.eligible, state.asked, u)
    state.ticket[0] = 1.0 / ties
    return arm


@late(None)
def take_in_fading(world, state, arm, reward):
    """A = lambda I + sum of weighted x x' / sigma^2, b likewise: weights fade, the ridge does not; O(d^3 + K d^2)."""
    x, scale = world.features[arm], world.scale[arm]
    for i in range(x.size):
        state.vector[i] = world.fade * state.vector[i] + reward * x[i] / scale
        for j in range(x.size):
            state.gram[i, j] = world.fade * state.gram[i, j] + x[i] * x[j] / (scale * scale)
        state.gram[i, i] += (1.0 - world.fade) * world.ridge
    state.told[0] += 1
    factorise(state)
    project(world.features, state)


@kernel
def learn_linear(rule, state, arm, utility, raw, ticket):
    """A += x x' / sigma^2, b += r x / sigma^2, and all that depends on them: O(K d + d^2)."""
    world = rule.world
    d = state.theta.size
    scale = world.scale[arm]
    state.memory.pulls[arm] += 1
    if state.seen.size > 0:
        keep_seen(state, arm, world.sign * (raw - world.reference))
    reward = (raw - world.mean[arm]) / scale
    x = world.features[arm]
    if world.fade < 1.0:
        take_in_fading(world, state, arm, reward)
        return
    denominator, expected = 1.0, 0.0
    for i in range(d):
        state.step[i] = dot(state.inverse[i], x) / scale  # A^-1 u, with u = x / sigma
        u = x[i] / scale
        denominator += u * state.step[i]
        expected += u * state.theta[i]
        state.vector[i] += reward * u
        for j in range(d):
            state.gram[i, j] += u * x[j] / scale
    gain = (reward - expected) / denominator
    for i in range(d):  # Sherman and Morrison
        state.theta[i] += gain * state.step[i]
        factor = state.step[i] / denominator
        for j in range(d):
            state.inverse[i, j] -= factor * state.step[j]
    state.log_det[0] += np.log(denominator)
    for k in range(state.norms.size):
        total = dot(world.features[k], state.step)
        state.along[k] = total
        state.norms[k] -= total * total / denominator
        state.locations[k] += gain * total
    if state.cross.size > 0:
        for k in range(state.norms.size):
            factor = state.along[k] / denominator
            for j in range(state.norms.size):
                state.cross[k, j] -= factor * state.along[j]
    if state.factor.size > 0:
        for i in range(d):
            state.step[i] = x[i] / scale
        update_factor(state.factor, state.step)
    state.told[0] += 1
    state.told[1] += 1
    if state.told[1] >= PERIOD:
        factorise(state)
        project(world.features, state)
        state.told[1] = 0


@kernel
def recommend_linear(rule, state):
    """The arm of the highest value at the estimate; ties go to the most pulls."""
    best = -1
    value, pulls = state.memory.value, state.memory.pulls
    for arm in range(state.asked.size):  # arms that were never played count too: others have shown what they share
        value[arm] = worth(rule.world, state, arm, location(rule.world, state, arm))
        ahead = best < 0 or value[arm] > value[best] or (value[arm] == value[best] and pulls[arm] > pulls[best])
        if state.active[arm] and ahead:
            best = arm
    return best


@kernel
def bracket_linear(rule, state, low, high):
    """The values at both ends of the ellipsoid, arm by arm."""
    reach = radius(rule.world, state)
    for arm in range(low.size):
        centre = location(rule.world, state, arm)
        half = reach * np.sqrt(max(state.norms[arm], 0.0))
        state.memory.value[arm] = worth(rule.world, state, arm, centre)
        if np.isinf(reach):  # no beta, no interval
            low[arm], high[arm] = -np.inf, np.inf
            continue
        low[arm] = worth(rule.world, state, arm, centre - half)
        high[arm] = worth(rule.world, state, arm, centre + half)
