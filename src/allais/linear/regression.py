"""Fit theta to logged pairs of an arm's features and its reward, as the routing experiment does (Section VI)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, real
from allais._kernels import by_reference, loose_kernel, routine
from allais.linear.arm_sets import checked_features


@by_reference
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
    if told.size != len(rows):
        raise ValueError(
            f"rewards must be one for each row of features; got {told.size} for {len(rows)} rows. Give as many."
        )
    lam = real("regularisation", regularisation)
    if lam < 0.0:
        raise ValueError(f"regularisation must not be negative; got {lam:g}. 0 is least squares.")
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
