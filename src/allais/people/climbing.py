"""The way up a likelihood: damped Newton steps, from exact slopes and their differences, inside a box.

Few parameters and slopes for many places at once make this quicker than a general optimiser: a step costs one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray

Slopes = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # places (n, d) to values (n,) and slopes (n, d)

STEP = 1e-4  # of the differences of slopes that make the curvature, in standard deviations of the prior
MOST_STEPS = 200
MOST_TRIES = 12  # with more and more damping; then the top is reached as far as numbers tell
LEAST_GAIN = 1e-9  # of the log likelihood, below which nothing is gained
FACTOR = 6.0  # of the damping, after a step that led down or far up
LONGEST = 3.0  # standard deviations of the prior in one step


class Top(NamedTuple):
    """Where a climb ended."""

    place: FloatArray  # (d,)
    value: float
    curvature: FloatArray  # minus the second derivative, (d, d)


def climb(slopes: Slopes, start: FloatArray, scale: FloatArray, low: FloatArray, high: FloatArray) -> Top:
    """The maximum that is reached from a start; `scale` makes the directions comparable."""
    place, damping = np.clip(start, low, high), 1.0
    value, slope, curvature = _look(slopes, place, scale)
    for _ in range(MOST_STEPS):
        open_ = ~(((place <= low) & (slope < 0.0)) | ((place >= high) & (slope > 0.0)))
        if not open_.any() or np.abs(slope * scale)[open_].max() < LEAST_GAIN:
            break
        gained = 0.0
        for _ in range(MOST_TRIES):
            there = np.clip(place + scale * _newton(slope * scale, curvature, open_, damping), low, high)
            found = float(slopes(there[None])[0][0])
            if found > value:
                gained = found - value
                damping /= FACTOR
                place = there
                break
            damping *= FACTOR
        if gained == 0.0:
            break
        value, slope, curvature = _look(slopes, place, scale)
        if gained < LEAST_GAIN * (1.0 + abs(value)) and damping < 1.0:
            break
    return Top(place, value, curvature / np.outer(scale, scale))


def _look(slopes: Slopes, place: FloatArray, scale: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The value, the slope, and the curvature along scaled directions, from one batch."""
    d = place.size
    steps = STEP * np.diag(scale)
    values, found = slopes(np.concatenate([place[None], place + steps, place - steps]))
    rows = -(found[1 : d + 1] - found[d + 1 :]) / (2.0 * STEP) * scale
    return float(values[0]), found[0], 0.5 * (rows + rows.T)


def _newton(slope: FloatArray, curvature: FloatArray, open_: NDArray[np.bool_], damping: float) -> FloatArray:
    """A step uphill in the directions that are open; where the slope's change has the wrong sign, along the slope."""
    step = np.zeros(slope.size)
    values, vectors = np.linalg.eigh(curvature[np.ix_(open_, open_)])
    step[open_] = vectors @ ((vectors.T @ slope[open_]) / (np.abs(values) + damping))
    longest = float(np.abs(step).max())
    return step * min(1.0, LONGEST / longest) if longest > 0.0 else step
