"""K_inf of up to three values, compiled: how far a distribution is from the nearest one that is worth a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._kernels import kernel, routine
from allais.numerics.table import Table, weigh

DEEPEST = 36.0  # a search begins at e^-36 of the stretch, below which no weight in use matters
GOLDEN = 0.6180339887498949
MOST_STEPS = 60  # to invert a weight; ten are usual


class DistributionOfThree(NamedTuple):
    """Three utilities, ascending, with their probabilities, and how they are weighed; values may repeat."""

    gains: Table
    losses: Table
    v1: float
    v2: float
    v3: float
    p1: float
    p2: float
    p3: float


class Effort(NamedTuple):
    """How hard the nearest distribution is looked for."""

    places: int  # how many places the search looks at first
    narrowings: int  # steps after that: each shrinks a bracket of two cells to 0.62 of it
    precision: float  # of a probability


QUICK = Effort(12, 14, 1e-11)  # for a choice in every round: to about 1e-6
PRECISE = Effort(160, 60, 1e-16)  # to the last digits


@kernel
def _part(distribution, low, high, p):
    """What the stretch from `low` to `high` is worth when outcomes beyond it have probability p."""
    gain = max(high, 0.0) - max(low, 0.0)
    loss = min(high, 0.0) - min(low, 0.0)
    result = 0.0
    if gain > 0.0:
        result += gain * weigh(distribution.gains, p)
    if loss > 0.0:
        result -= loss * weigh(distribution.losses, 1.0 - p)
    return result


@kernel
def _both(distribution, low, middle, high, share, p):
    """What two stretches are worth: beyond `middle` lies p, and beyond `low` 1 - share (1 - p)."""
    result = _part(distribution, low, middle, 1.0 - share * (1.0 - p) if share < 1.0 else p)
    return result + _part(distribution, middle, high, p) if high > middle else result


@kernel
def _needed(distribution, low, middle, high, share, least, amount, precision):
    """The least p >= `least` for which two stretches are worth `amount`; above 1 if none is enough.

    With high = middle, there is one stretch only.
    """
    below, enough = least, 1.0
    under = _both(distribution, low, middle, high, share, below) - amount
    over = _both(distribution, low, middle, high, share, enough) - amount
    if over < 0.0:
        return 2.0
    if under >= 0.0:
        return below
    for step in range(MOST_STEPS):  # regula falsi, and a halving now and then where a steep end holds it up
        part = 0.5 if step % 3 == 2 else under / (under - over)
        between = below + (enough - below) * part
        found = _both(distribution, low, middle, high, share, between) - amount
        if found >= 0.0:
            enough, over = between, found
            under *= 0.5  # Illinois: the end that stays counts half
        else:
            below, under = between, found
            over *= 0.5
        if enough - below <= precision or found == 0.0:
            break
    return enough


@kernel
def _term(p, q):
    return 0.0 if p == 0.0 else (np.inf if q <= 0.0 else p * np.log(p / q))


@kernel
def _lowest_share(distribution):
    """The share of the lowest value among the samples of the two lower values."""
    return distribution.p1 / (distribution.p1 + distribution.p2) if distribution.p1 + distribution.p2 > 0.0 else 0.0


@routine
def _distance(distribution, amount, top, precision):
    """KL to the nearest distribution with P(X = v_3) = top whose stretches are worth `amount`; infinite without one.

    P(X >= v_2) need only be as large as the amount asks, and is best where the two lower values keep their
    proportion, or at that least probability.
    """
    low, middle, high = distribution.v1, distribution.v2, distribution.v3
    free = 1.0 - _lowest_share(distribution) * (1.0 - top)
    rest = amount - _part(distribution, middle, high, top)
    upper = _needed(distribution, low, middle, middle, 1.0, max(free, top), rest, precision)
    if upper > 1.0:
        return np.inf
    return _term(distribution.p1, 1.0 - upper) + _term(distribution.p2, upper - top) + _term(distribution.p3, top)


@routine
def k_inf_of_three(distribution, target, effort):
    """The least KL from a distribution of three values to one on the same values that is worth at least `target`."""
    precision, seen = effort.precision, distribution.p3
    low, middle, high = distribution.v1, distribution.v2, distribution.v3
    if high == low:
        return 0.0 if low >= target else np.inf
    amount = target - (max(low, 0.0) + min(high, 0.0))
    if high == middle:  # two values: the nearest distribution lies where the target is just met
        upper = distribution.p2 + distribution.p3
        q = _needed(distribution, low, middle, middle, 1.0, upper, amount, precision)
        return np.inf if q > 1.0 else _term(upper, q) + _term(distribution.p1, 1.0 - q)
    # The chance of the best outcome is at least the share that was seen, and at least what is needed if v2 were sure
    # otherwise; it is at most what is enough when the others keep their proportion, since more would only cost more.
    sure = amount - _part(distribution, low, middle, 1.0)
    first = _needed(distribution, middle, high, high, 1.0, seen, sure, precision)
    last = _needed(distribution, low, middle, high, _lowest_share(distribution), seen, amount, precision)
    if first > 1.0 or last > 1.0:
        return np.inf
    best = min(_distance(distribution, amount, first, precision), _distance(distribution, amount, last, precision))
    # a grid between the two, logarithmic and finest near the last: a steep weight makes much of a small chance
    places = effort.places
    nearest = 0
    for k in range(1, places + 1):
        distance = _distance(distribution, amount, _between(first, last, k / places), precision)
        if distance < best:
            best, nearest = distance, k
    left, right = min(nearest + 1.0, places), max(nearest - 1.0, 0.0)
    a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_a = _distance(distribution, amount, _between(first, last, a / places), precision)
    at_b = _distance(distribution, amount, _between(first, last, b / places), precision)
    for _ in range(effort.narrowings):
        if at_a <= at_b:
            right, b, at_b = b, a, at_a
            a = right - GOLDEN * (right - left)
            at_a = _distance(distribution, amount, _between(first, last, a / places), precision)
        else:
            left, a, at_a = a, b, at_b
            b = left + GOLDEN * (right - left)
            at_b = _distance(distribution, amount, _between(first, last, b / places), precision)
    return max(min(best, at_a, at_b), 0.0)  # rounding may take a divergence of 0 below 0


@kernel
def _between(first, last, share):
    """A place between `last`, at share 0, and `first`."""
    return first + (last - first) * np.exp(-DEEPEST * share**2)


# -- the gamma function ----------------------------------------------------------------------------

# Mixtures over divergences (Krichevsky-Trofimov, Beta) need it: one logarithm serves the function and its derivative.

SERIES_FROM = 8.0  # the asymptotic series is exact to 1e-12 from here on
HALF_LOG_TURN = 0.5 * np.log(2.0 * np.pi)


@kernel
def gamma_logs(x):
    """log Gamma(x) and its derivative, for x > 0."""
    product, derivative = 1.0, 0.0
    while x < SERIES_FROM:
        product *= x
        derivative -= 1.0 / x
        x += 1.0
    log_x, r = np.log(x), 1.0 / x
    s = r * r
    tail = r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0))))
    falling = s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s / 132.0))))
    height = (x - 0.5) * log_x - x + HALF_LOG_TURN + tail
    if product != 1.0:
        height -= np.log(product)
    return height, derivative + log_x - 0.5 * r - falling
