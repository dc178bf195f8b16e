"""A maximum with a certificate: branch and bound on a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray

MOST_CELLS = 1 << 17  # a function that is flat at its maximum would be split for ever


class Maximum(NamedTuple):
    """The supremum lies in [attained, bound]."""

    attained: float
    bound: float


def certified_maximum(
    upper: Callable[[FloatArray, FloatArray], FloatArray],
    attained: Callable[[FloatArray], FloatArray],
    edges: FloatArray,
    tolerance: float,
) -> Maximum:
    """The maximum of a function between the first and the last edge.

    `attained(x)` evaluates it, `upper(low, high)` bounds it from above on cells. Cells that
    cannot hold a value above the best one found, plus the tolerance, are dropped; the rest are
    halved.

    >>> x_squared = lambda x: x**2
    >>> certified_maximum(lambda a, b: b**2, x_squared, np.linspace(0.0, 2.0, 9), 1e-9).attained
    4.0
    """
    best = float(attained(edges).max())
    low, high = edges[:-1], edges[1:]
    while True:
        ceiling = upper(low, high)
        open_cells = ceiling > best + tolerance
        if not open_cells.any():
            return Maximum(best, best + tolerance)
        low, high = low[open_cells], high[open_cells]
        middle = 0.5 * (low + high)
        if 2 * low.size > MOST_CELLS or ((middle <= low) | (middle >= high)).any():
            return Maximum(best, float(ceiling.max()))
        best = max(best, float(attained(middle).max()))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
