"""The matrix A of a linear policy: its inverse, factor and determinant, and the arms' norms and locations."""

from __future__ import annotations

import numpy as np

from allais._kernels import loose_kernel, routine


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
