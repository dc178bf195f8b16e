"""Ridge regression of theta, for logs and for linear policies, and the ellipsoid around it that these share."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, finite_array, not_negative, same_length
from allais._kernels import by_reference, kernel, late, loose_kernel, routine
from allais.linear.arm_sets import checked_features
from allais.linear.location_tables import Locations, ceiling_at, value_at
from allais.linear.noise import keep_seen, worth_of_seen
from allais.numerics.table import Table
from allais.policies.core.steps import pick_with_ties
from allais.policies.core.verbs import bracket, learn, recommend
from allais.samples.memory import Memory


class LinearFit(NamedTuple):
    """A ridge regression, and how accurate it is.

    Attributes:
        theta: The coefficients.
        standard_errors: Of theta, without the bias of the ridge.
        residuals: Rewards less their fitted means.
        noise: Standard deviation of the residuals, corrected for degrees of freedom.
        rank: Of the features: below their number, theta is not determined, but every logged arm's mean is.

    >>> fit = fit_linear([[1, 0], [0, 1], [1, 1], [1, 1]], [1.0, 2.0, 3.1, 2.9])
    >>> fit.standard_errors.round(3), round(fit.noise, 3), fit.rank
    (array([0.077, 0.077]), 0.1, 2)
    """

    theta: FloatArray
    standard_errors: FloatArray
    residuals: FloatArray
    noise: float
    rank: int


def fit_linear(features: ArrayLike, rewards: ArrayLike, regularisation: float = 0.0) -> LinearFit:
    """Ridge regression of rewards on features.

    Without regularisation it is least squares; where features do not determine theta, it gives the shortest solution.

    Args:
        features: One row of numbers per logged reward.
        rewards: The logged rewards.
        regularisation: The lambda of the ridge, 0 or more.

    >>> fit_linear([[1, 0], [0, 1], [1, 1]], [1.0, 2.0, 3.0]).theta.round(6)
    array([1., 2.])
    """
    rows, told = checked_features(features), finite_array("rewards", rewards)
    same_length("rewards must be one for each row of features", told.size, len(rows), "rows")
    lam = not_negative("regularisation", regularisation, "0 is least squares.")
    u, singular, vt = np.linalg.svd(rows, full_matrices=False)
    present = singular > singular[0] * max(rows.shape) * np.finfo(np.float64).eps
    u, singular, vt = u[:, present], singular[present], vt[present]
    shrunk = singular / (singular**2 + lam)
    theta = vt.T @ (shrunk * (u.T @ told))
    residuals = told - rows @ theta
    spent = float(np.sum(singular * shrunk))  # effective degrees of freedom
    left = told.size - spent
    noise = float(np.sqrt(residuals @ residuals / left)) if left > 0.5 else float("nan")
    return LinearFit(theta, noise * np.sqrt(np.sum((vt.T * shrunk) ** 2, axis=1)), residuals, noise, int(present.sum()))


@loose_kernel
def dot(x, y):
    """x'y."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@routine
def update_factor(factor, u):
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
def factorise(state):
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
    """The arms' norms, locations and products from A^-1 and theta, from scratch."""
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
def pick_by_worth(world, state, u):
    """The active arm of the highest value at the locations in `state.along`, which are gains from the reference."""
    highest, first = -np.inf, -1
    for arm in range(state.asked.size):
        state.eligible[arm] = state.active[arm]
        # a bound on the value that costs next to nothing
        state.scores[arm] = ceiling_at(world.locations, arm, state.along[arm]) if state.seen.size == 0 else np.inf
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
def _learn(rule, state, arm, utility, raw, ticket):
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
def _recommend(rule, state):
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
def _bracket(rule, state, low, high):
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


Rule = TypeVar("Rule", bound=type)


def linear_rule(kind: Rule) -> Rule:
    """Give the rules of a linear policy the verbs that all of them share: `learn`, `recommend` and `bracket`."""
    learn.of(kind)(_learn)
    recommend.of(kind)(_recommend)
    bracket.of(kind)(_bracket)
    return kind
