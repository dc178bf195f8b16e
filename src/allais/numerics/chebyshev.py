"""A function of one variable as a table of short Chebyshev series, fitted to a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from allais._checks import FloatArray

TERMS = 12  # of each series
MOST_HALVINGS = 60

_nodes = chebyshev.chebpts1(TERMS)
# values at the nodes -> coefficients
_FIT = 2.0 / TERMS * chebyshev.chebvander(_nodes, TERMS - 1).T
_FIT[0] /= 2.0


class PiecewiseChebyshev(NamedTuple):
    """Series on cells: `coefficients[i]` holds between `breaks[i]` and `breaks[i + 1]`."""

    breaks: FloatArray  # (cells + 1,)
    coefficients: FloatArray  # (cells, terms)

    def __call__(self, x: FloatArray) -> FloatArray:
        """The function at x, which must lie between the first and the last break."""
        cell = np.clip(np.searchsorted(self.breaks, x, side="right") - 1, 0, self.breaks.size - 2)
        low, high = self.breaks[cell], self.breaks[cell + 1]
        s = (2.0 * x - low - high) / (high - low)
        # Clenshaw's recurrence, over all x at once
        ahead = np.zeros_like(s)
        current = np.zeros_like(s)
        for column in range(self.coefficients.shape[1] - 1, 0, -1):
            current, ahead = self.coefficients[cell, column] + 2.0 * s * current - ahead, current
        return self.coefficients[cell, 0] + s * current - ahead

    def antiderivative(self, start: float) -> PiecewiseChebyshev:
        """The integral from the first break, plus `start`."""
        half = 0.5 * np.diff(self.breaks)[:, None]
        inner = half * chebyshev.chebint(self.coefficients, axis=1)
        signs = (-1.0) ** np.arange(inner.shape[1])
        inner[:, 0] -= inner @ signs  # zero at the left end of each cell
        ends = start + np.concatenate([[0.0], np.cumsum(inner.sum(axis=1))[:-1]])
        inner[:, 0] += ends
        return PiecewiseChebyshev(self.breaks, inner)


def fit(function: Callable[[FloatArray], FloatArray], breaks: FloatArray, tolerance: float) -> PiecewiseChebyshev:
    """Series for a function, cells halved until what they leave out integrates below `tolerance`.

    >>> table = fit(np.exp, np.array([0.0, 1.0]), 1e-12)
    >>> abs(table(np.array([0.5]))[0] - np.exp(0.5)) < 1e-13
    np.True_
    """
    low, high = breaks[:-1], breaks[1:]
    kept: list[tuple[FloatArray, FloatArray]] = []
    for _ in range(MOST_HALVINGS):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        nodes = middle[:, None] + half[:, None] * _nodes
        coefficients = function(nodes.ravel()).reshape(nodes.shape) @ _FIT.T
        left_out = np.abs(coefficients[:, -3:]).max(axis=1) * half
        done = (left_out <= tolerance) | (half <= 1e-15 * np.maximum(np.abs(middle), 1e-3))
        kept.append((low[done], coefficients[done]))
        if done.all():
            break
        low, high = low[~done], high[~done]
        middle = middle[~done]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    else:
        kept.append((low, np.concatenate([coefficients[~done], coefficients[~done]])))
    starts = np.concatenate([piece[0] for piece in kept])
    order = np.argsort(starts)
    table = np.concatenate([piece[1] for piece in kept])[order]
    return PiecewiseChebyshev(np.append(starts[order], breaks[-1]), table)
