"""The ellipsoid around theta that linear policies share: what is known, what is learned, values at a location."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel, loose_kernel, routine
from allais.linear.location_tables import Locations, ceiling_at, value_at
from allais.numerics.table import Table, weigh
from allais.samples.memory import Memory

PERIOD = 1024  # rounds between two factorisations from scratch, which end the drift of rank-one updates
MOST_SEEN = 128  # outcomes of an arm that are kept apart where the law of the noise is estimated


class World(NamedTuple):
    """What a linear policy knows from the start."""

    features: FloatArray  # x, (n_arms, d)
    mean: FloatArray  # of each arm's noise: part of the reward, not of x.theta
    scale: FloatArray  # sigma_x: what is divided out, so that all noise is 1-sub-Gaussian
    locations: Locations
    gains: Table  # of the weights, where noise is estimated
    losses: Table
    sign: float  # -1 where outcomes are costs
    reference: float
    slack: float  # 2 log(1 / delta) - d log lambda, of the radius
    bias: float  # beta sqrt(lambda)


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
    seen: FloatArray  # where noise is estimated: an arm's outcomes as gains, ascending, and how often; (n_arms, 2, -)
    sizes: IntArray  # how many of them there are, (n_arms,)
    rival: IntArray  # the arm that last kept a policy from stopping, or -1; (1,)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are written before they are read, or follow from others: in no file."""
        return "step", "along", "work", "scores", "eligible"


@loose_kernel
def dot(x, y):
    """x'y."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


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
    return value_at(world.locations, arm, place) if state.seen.size == 0 else _worth_of_seen(world, state, arm, place)


@kernel
def worth_ceiling(world, state, arm, place):
    """A bound on `worth` that costs next to nothing, or infinity."""
    return ceiling_at(world.locations, arm, place) if state.seen.size == 0 else np.inf


@routine
def _worth_of_seen(world, state, arm, place):
    """Algorithm 1 on an arm's outcomes, moved so that their mean is the location."""
    size = state.sizes[arm]
    if size == 0:
        return place
    outcomes, counts = state.seen[arm, 0], state.seen[arm, 1]
    total = 0.0
    for i in range(size):
        total += counts[i] * outcomes[i]
    pulls = state.memory.pulls[arm]
    shift = place - total / pulls
    value = 0.0
    above = 0.0
    i = size - 1
    while i >= 0 and outcomes[i] + shift > 0.0:
        above += counts[i]
        lower = outcomes[i - 1] + shift if i > 0 else 0.0
        value += (outcomes[i] + shift - max(lower, 0.0)) * weigh(world.gains, above / pulls)
        i -= 1
    below = 0.0
    i = 0
    while i < size and outcomes[i] + shift < 0.0:
        below += counts[i]
        upper = outcomes[i + 1] + shift if i + 1 < size else 0.0
        value -= (min(upper, 0.0) - outcomes[i] - shift) * weigh(world.losses, below / pulls)
        i += 1
    return value


@routine
def _see(state, arm, gain):
    """Keep an outcome of an arm; beyond MOST_SEEN the two nearest become their mean."""
    outcomes, counts = state.seen[arm, 0], state.seen[arm, 1]
    size = state.sizes[arm]
    at = 0
    while at < size and outcomes[at] < gain:
        at += 1
    if at < size and outcomes[at] == gain:
        counts[at] += 1.0
        return
    for i in range(size, at, -1):
        outcomes[i], counts[i] = outcomes[i - 1], counts[i - 1]
    outcomes[at], counts[at] = gain, 1.0
    state.sizes[arm] = size + 1
    if size < MOST_SEEN:
        return
    # the pair whose joining moves values least: by its gap times how far w leaves its chord, about c_1 c_2 |w''| / 2.
    # Toward a rare end |w''| grows as p^-1.5 or so: there outcomes stay apart
    least, nearest = np.inf, 0
    below = 0.0
    for i in range(size):
        both = counts[i] + counts[i + 1]
        beyond = min(below, state.memory.pulls[arm] - below - both) + both
        cost = (outcomes[i + 1] - outcomes[i]) * counts[i] * counts[i + 1] / (beyond * np.sqrt(beyond))
        if cost < least:
            least, nearest = cost, i
        below += counts[i]
    both = counts[nearest] + counts[nearest + 1]
    outcomes[nearest] += (outcomes[nearest + 1] - outcomes[nearest]) * counts[nearest + 1] / both
    counts[nearest] = both
    for i in range(nearest + 1, size):
        outcomes[i], counts[i] = outcomes[i + 1], counts[i + 1]
    state.sizes[arm] = size


@kernel
def learn_linear(rule, state, arm, felt, raw, ticket):
    """A += x x' / sigma^2, b += r x / sigma^2, and all that depends on them: O(K d + d^2)."""
    world = rule.world
    d = state.theta.size
    scale = world.scale[arm]
    state.memory.pulls[arm] += 1
    if state.seen.size > 0:
        _see(state, arm, world.sign * (raw - world.reference))
    reward = (raw - world.mean[arm]) / scale
    x = world.features[arm]
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
        _update_factor(state.factor, state.step)
    state.told[0] += 1
    state.told[1] += 1
    if state.told[1] >= PERIOD:
        _factorise(state)
        project(world.features, state)
        state.told[1] = 0


@routine
def _update_factor(factor, u):
    """Turn U with U' U = A into that of A + u u', by rotations; u is used up."""
    d = u.size
    for k in range(d):
        if u[k] == 0.0:
            continue
        diagonal = np.hypot(factor[k, k], u[k])
        cosine, sine = diagonal / factor[k, k], u[k] / factor[k, k]
        factor[k, k] = diagonal
        for i in range(k + 1, d):
            factor[k, i] = (factor[k, i] + sine * u[i]) / cosine
            u[i] = cosine * u[i] - sine * factor[k, i]


@routine
def _factorise(state):
    """A^-1, log det A and theta from A and b themselves, by Cholesky's method."""
    d = state.theta.size
    lower = state.work
    log_det = 0.0
    for i in range(d):
        for j in range(i + 1):
            total = state.gram[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(total) if i == j else total / lower[j, j]
        log_det += 2.0 * np.log(lower[i, i])
    if state.factor.size > 0:
        for i in range(d):
            for j in range(i + 1):
                state.factor[j, i] = lower[i, j]
    for j in range(d):  # L^-1, in place, column by column
        lower[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total -= lower[i, k] * lower[k, j]
            lower[i, j] = total / lower[i, i]
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, d):
                total += lower[k, i] * lower[k, j]
            state.inverse[i, j] = total
            state.inverse[j, i] = total
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += state.inverse[i, j] * state.vector[j]
        state.theta[i] = total
    state.log_det[0] = log_det


@routine
def project(features, state):
    """What arms see of A^-1 and theta, from scratch."""
    d = state.theta.size
    for k in range(features.shape[0]):
        place = 0.0
        norm = 0.0
        for i in range(d):
            state.step[i] = dot(state.inverse[i], features[k])
            norm += features[k, i] * state.step[i]
            place += features[k, i] * state.theta[i]
        state.norms[k] = norm
        state.locations[k] = place
        if state.cross.size > 0:
            for other in range(features.shape[0]):
                state.cross[k, other] = dot(features[other], state.step)


@kernel
def recommend_linear(rule, state):
    """The arm of the highest value at the estimate; ties by the most pulls."""
    best = -1
    value, pulls = state.memory.value, state.memory.pulls
    for arm in range(state.asked.size):  # also of arms that were never played: others have shown what they share
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
