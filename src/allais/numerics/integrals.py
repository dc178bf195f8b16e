"""The distorted value of a distribution with a density, to 1e-9 or with an honest bound.

One rule integrates (tanh-sinh with bisection), and `smallest` finds a number of any size to its last bit by bisection
on the doubles themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allais._checks import FloatArray, IntArray
from allais.errors import UndefinedValueError
from allais.weights import Weight

_NEGATIVE_ZERO = np.int64(-(2**63))  # the bits of -0.0
LARGEST = 1.7e308


def smallest(reached: Callable[[FloatArray], NDArray[np.bool_]], low: ArrayLike, high: ArrayLike) -> FloatArray:
    """The smallest x above `low`, and at most `high`, where a rising condition holds; `high` if nowhere below.

    >>> smallest(lambda x: x * x >= 2.0, np.zeros(1), np.full(1, 9.0))
    array([1.41421356])
    """
    below, above = np.broadcast_arrays(_order(np.maximum(low, -LARGEST)), _order(np.minimum(high, LARGEST)))
    for _ in range(64):
        middle = below // 2 + above // 2 + (below % 2 + above % 2) // 2
        holds = reached(_unorder(middle))
        above = np.where(holds, middle, above)
        below = np.where(holds, below, middle)
    return _unorder(above)


def _order(x: ArrayLike) -> IntArray:
    """Doubles as integers in the same order."""
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    with np.errstate(over="ignore"):  # only the branch that `where` leaves out overflows
        return np.where(bits < 0, _NEGATIVE_ZERO - bits, bits)


def _unorder(order: IntArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.where(order < 0, _NEGATIVE_ZERO - order, order).view(np.float64)


STEP = 1.0 / 16.0  # of the rule; every second node makes the coarser rule it is compared with
TOLERANCE = 1e-11  # of a piece, relative to the integral so far
DEEPEST = 60  # halvings: 2^-60 of a piece is below what doubles can tell apart
MOST_PIECES = 4096  # an integrand of noise would be halved for ever

_t = STEP * np.arange(-52, 53)  # beyond |t| = 3.25 the weights are below 1e-17
_u = 0.5 * np.pi * np.sinh(_t)
NEAR = 1.0 / (1.0 + np.exp(2.0 * np.abs(_u)))  # distance from the nearer end of [0, 1]
FROM_LEFT = _t <= 0.0
FINE = np.cosh(_t) / np.cosh(_u) ** 2
FINE /= FINE.sum()  # so that constants are integrated to the last bit
COARSE = np.where(np.arange(_t.size) % 2 == 0, FINE, 0.0)
COARSE /= COARSE.sum()


class Integral(NamedTuple):
    """A number, and a bound on its absolute error."""

    value: float
    error: float


Integrand = Callable[[FloatArray], FloatArray]


def integrate(function: Integrand, breaks: Sequence[float] | FloatArray, so_far: float = 0.0) -> Integral:
    """The integral of a bounded function from the first to the last of the ascending breaks.

    The tolerance is relative to the result plus `so_far`.

    >>> integrate(np.sqrt, [0.0, 1.0]).value
    0.66666666666666...
    """
    points = np.asarray(breaks, dtype=np.float64)
    low, high = points[:-1], points[1:]
    total = error = 0.0
    for _ in range(DEEPEST):
        width = (high - low)[:, None]
        nodes = np.where(FROM_LEFT, low[:, None] + width * NEAR, high[:, None] - width * NEAR)
        seen = function(nodes.ravel()).reshape(nodes.shape)
        fine, coarse = (high - low) * (seen @ FINE), (high - low) * (seen @ COARSE)
        difference = np.abs(fine - coarse)
        scale = abs(so_far + total + fine.sum())
        rounding = high - low <= 1e-14 * np.maximum(np.abs(low), np.abs(high))
        done = (difference <= TOLERANCE * scale) | rounding
        if done.sum() + MOST_PIECES < done.size:
            done[:] = True
        total += float(fine[done].sum())
        error += float(difference[done].sum())
        if done.all():
            return Integral(total, error)
        left, right = low[~done], high[~done]
        middle = 0.5 * (left + right)
        low, high = np.concatenate([left, middle]), np.concatenate([middle, right])
        unresolved = Integral(float(fine[~done].sum()), float(difference[~done].sum()))
    return Integral(total + unresolved.value, error + unresolved.error)


def integrate_tail(function: Integrand, start: float, reach: float, so_far: float = 0.0) -> Integral:
    """The integral from `start` > 0 to a far-away `reach`, in the logarithm of the variable.

    >>> round(integrate_tail(lambda z: z**-1.5, 1.0, 1e300).value, 12)
    2.0
    """

    def in_logarithm(v: FloatArray) -> FloatArray:
        z = np.exp(v)
        return z * function(z)

    first, last = np.log(start), np.log(reach)
    steps = first + 2.0 ** np.arange(-2, 11)
    return integrate(in_logarithm, np.concatenate([[first], steps[steps < last], [last]]), so_far)


Tail = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # log P(Y > z) and log P(Y <= z) at each z


class HalfDistribution(NamedTuple):
    """One side of a distribution, gains or mirrored losses, as seen from the reference point."""

    tail: Tail
    breaks: FloatArray  # ascending, positive, finite: where the distribution bends
    end: float  # the largest outcome, or inf
    reach: float = 1e300  # how far an infinite tail can be looked at

    def weighed(self, weight: Weight) -> Integrand:
        """w(P(Y > z)) as a function of z."""
        return lambda z: weight.of_logs(*self.tail(z))


def distorted_integral(weight: Weight, side: HalfDistribution) -> Integral:
    """The integral of w(P(Y > z)) over z in (0, end).

    Infinite where the distorted tail is too heavy; near that, the error says how much is left.
    """
    if side.end <= 0.0:
        return Integral(0.0, 0.0)
    weigh = side.weighed(weight)
    breaks = side.breaks[(side.breaks > 0.0) & (side.breaks < side.end)]
    if np.isfinite(side.end):
        return integrate(weigh, np.concatenate([[0.0], breaks, [side.end]]))
    start = float(breaks[-1]) if breaks.size else 1.0
    body = integrate(weigh, np.concatenate([[0.0], breaks]) if breaks.size else [0.0, start])
    scale = start - float(breaks[-2]) if breaks.size > 1 else start  # how fast the tail begins to fall
    reach, beyond = _look_far(weight, side, start, scale)
    if np.isinf(beyond.value):
        return beyond
    tail = integrate_tail(weigh, start, reach, body.value) if reach > start else Integral(0.0, 0.0)
    total = Integral(body.value + tail.value + beyond.value, body.error + tail.error + beyond.error)
    if np.isnan(total.value):
        raise UndefinedValueError(
            "a value needs a distribution that is a number everywhere; this one is NaN in places. Repair it."
        )
    return total


FAR = 20.0  # a tail counts as a power law if it is one over more than this in log z


def _look_far(weight: Weight, side: HalfDistribution, start: float, scale: float) -> tuple[float, Integral]:
    """How far the tail is resolved, and the integral beyond that."""
    if side.reach <= start:
        return start, Integral(0.0, 0.0)
    # steps that grow from where the tail begins, so that a light tail far from zero is seen to fall
    z = start + scale * np.geomspace(1e-2, min(side.reach / max(scale, 1e-290), 1e300), 1201)
    log_z = np.log(z)
    log_above, log_below = side.tail(z)
    finite = np.isfinite(log_above)
    # a distribution that logs a probability ends where doubles underflow; one that computes the logarithm
    # itself goes on beyond that
    underflows = finite.any() and log_above[finite].min() > -746.0
    usable = finite & ((log_above > -690.0) | (not underflows))
    last = int(np.argmin(usable)) - 1 if not usable.all() else usable.size - 1
    if last < 1:
        return start, Integral(0.0, 0.0)
    reach = float(np.exp(log_z[last]))
    # the tail index a of P(Y > z) ~ z^-a, half way and at the end: it grows unless the tail is a power law
    index_early, index = _derivatives(log_z, log_above, last)
    is_power_law = index <= 1.01 * index_early and log_z[last] - np.log(max(start, scale)) > FAR
    if is_power_law and index * weight.exponent_at_zero <= 1.0 + 1e-12:
        return reach, Integral(np.inf, 0.0)
    with np.errstate(divide="ignore"):
        log_weighted = np.log(weight.of_logs(log_above, log_below))
    if weight.resolution[0] > 0.0:  # what is rounded away is extrapolated, and none of it is certain
        seen = np.flatnonzero(log_weighted[: last + 1] > np.log(1e6 * weight.resolution[0]))
        last = int(seen[-1]) if seen.size else 0
        if last < 1:
            return reach, Integral(0.0, 0.0)
        reach = float(np.exp(log_z[last]))
    if np.isneginf(log_weighted[last]):
        return reach, Integral(0.0, 0.0)
    derivative_early, derivative = _derivatives(log_z, log_weighted, last)
    if derivative <= 1.0:
        return reach, Integral(np.inf, np.inf)  # finite or not, doubles do not reach it
    rest = float(np.exp(log_weighted[last] + log_z[last]) / (derivative - 1.0))
    if weight.resolution[0] > 0.0:
        return reach, Integral(rest, rest)
    if not is_power_law:
        return reach, Integral(0.0, rest)
    # a drifting exponent leaves the rest known to its order only; rounding blurs the exponent too
    blur = (abs(derivative - derivative_early) + 1e-12) / (derivative - 1.0)
    return reach, Integral(rest, rest * float(blur))


def _derivatives(log_z: FloatArray, log_tail: FloatArray, last: int) -> tuple[float, float]:
    """How fast a tail falls, as a power, half way to `last` and just before it."""
    step = max(1, last // 20)
    half = max(step, last // 2)
    early = -(log_tail[half] - log_tail[half - step]) / (log_z[half] - log_z[half - step])
    late = -(log_tail[last] - log_tail[last - step]) / (log_z[last] - log_z[last - step])
    return float(early), float(late)
