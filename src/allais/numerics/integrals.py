"""The distorted value of a distribution with a density, to 1e-9 or with an honest bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from allais._checks import FloatArray
from allais.errors import UndefinedValueError
from allais.numerics.quadrature import Integral, integrate, integrate_tail
from allais.weights import Weight


class Tail(Protocol):
    """The upper tail of a distribution at z: log P(Y > z) and log P(Y <= z)."""

    def __call__(self, z: FloatArray, /) -> tuple[FloatArray, FloatArray]: ...


class HalfDistribution(NamedTuple):
    """One side of a distribution, gains or mirrored losses, as seen from the reference point."""

    tail: Tail
    breaks: FloatArray  # ascending, positive, finite: where the distribution bends
    end: float  # the largest outcome, or inf
    reach: float = 1e300  # how far an infinite tail can be looked at


def distorted_integral(weight: Weight, side: HalfDistribution) -> Integral:
    """The integral of w(P(Y > z)) over z in (0, end).

    Infinite where the distorted tail is too heavy; near that, the error says how much is left.
    """
    if side.end <= 0.0:
        return Integral(0.0, 0.0)
    weigh = _weighted(weight, side.tail)
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


def _weighted(weight: Weight, tail: Tail) -> Callable[[FloatArray], FloatArray]:
    def weigh(z: FloatArray) -> FloatArray:
        log_above, log_below = tail(z)
        return weight.of_logs(log_above, log_below)

    return weigh


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
    if weight.resolution > 0.0:  # what is rounded away is extrapolated, and none of it is certain
        seen = np.flatnonzero(log_weighted[: last + 1] > np.log(1e6 * weight.resolution))
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
    if weight.resolution > 0.0:
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
