"""Fit theta to logged pairs of an arm's features and its reward, as the routing experiment does (Section VI)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, real
from allais._kernels import by_reference
from allais.linear.features import checked_features


@by_reference
class LinearFit(NamedTuple):
    """A ridge regression, with what is known about its accuracy.

    >>> fit = fit_linear([[1, 0], [0, 1], [1, 1], [1, 1]], [1.0, 2.0, 3.1, 2.9])
    >>> fit.standard_errors.round(3), round(fit.noise, 3), fit.rank
    (array([0.077, 0.077]), 0.1, 2)
    """

    theta: FloatArray
    standard_errors: FloatArray  # of theta, without the bias of the ridge
    residuals: FloatArray
    noise: float  # standard deviation of the residuals, corrected for degrees of freedom
    rank: int  # of the features: below their number, theta is not determined, but every logged arm's mean is


def fit_linear(features: ArrayLike, rewards: ArrayLike, regularisation: float = 0.0) -> LinearFit:
    """Ridge regression of rewards on features, one row per logged reward.

    Without regularisation it is least squares; where features do not determine theta, it gives the shortest solution.

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
