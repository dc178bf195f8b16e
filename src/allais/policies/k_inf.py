"""K_inf of up to three values, compiled: how far a law is from one that is worth as much as the best arm."""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, routine
from allais.numerics.table import weigh

GRID = 12  # places where the search for the nearest law begins
DEEPEST = 36.0  # the first of them, in logarithms: e^-36 of the stretch, beyond which no weight in use is felt
GOLDEN_STEPS = 14  # then: each shrinks a bracket of two cells to 0.62 of it, so to 1e-3 of a cell
GOLDEN = 0.6180339887498949
MOST_STEPS = 60  # to invert a weight; ten are usual


@kernel
def _part(worth, low, high, p):
    """What the stretch from `low` to `high` is worth when outcomes beyond it have probability p."""
    gain = max(high, 0.0) - max(low, 0.0)
    loss = min(high, 0.0) - min(low, 0.0)
    result = 0.0
    if gain > 0.0:
        result += gain * weigh(worth.gains.table, p)
    if loss > 0.0:
        result -= loss * weigh(worth.losses.table, 1.0 - p)
    return result


@kernel
def _needed(worth, v1, v2, v3, share, least, amount):
    """The least p >= `least` for which two stretches are worth `amount`; above 1 if none is enough.

    What lies beyond v2 has probability p, and beyond v1 1 - share (1 - p). With v3 = v2, one stretch alone.
    """
    below, enough = least, 1.0
    under = _both(worth, v1, v2, v3, share, below) - amount
    over = _both(worth, v1, v2, v3, share, enough) - amount
    if over < 0.0:
        return 2.0
    if under >= 0.0:
        return below
    for step in range(MOST_STEPS):  # regula falsi, and a halving now and then where a steep end holds it up
        part = 0.5 if step % 3 == 2 else under / (under - over)
        middle = below + (enough - below) * part
        found = _both(worth, v1, v2, v3, share, middle) - amount
        if found >= 0.0:
            enough, over = middle, found
            under *= 0.5  # Illinois: the end that stays counts half
        else:
            below, under = middle, found
            over *= 0.5
        if enough - below <= 1e-11 or found == 0.0:
            break
    return enough


@kernel
def _both(worth, v1, v2, v3, share, p):
    result = _part(worth, v1, v2, 1.0 - share * (1.0 - p))
    return result + _part(worth, v2, v3, p) if v3 > v2 else result


@kernel
def _term(p, q):
    return 0.0 if p == 0.0 else (np.inf if q <= 0.0 else p * np.log(p / q))


@routine
def _distance(worth, outcomes, arm, base, target, p1, p2, p3, top):
    """KL to the nearest law with P(X = v_3) = top that is worth `target`; infinite if there is none.

    P(X >= v_2) need only be as large as the target asks, and is best at the share that it has in what
    was seen of the two lower values, or at that least.
    """
    v1, v2, v3 = outcomes[arm, 0], outcomes[arm, 1], outcomes[arm, 2]
    free = 1.0 - (p1 / (p1 + p2) * (1.0 - top) if p1 + p2 > 0.0 else 0.0)
    upper = _needed(worth, v1, v2, v2, 1.0, max(free, top), target - base - _part(worth, v2, v3, top))
    if upper > 1.0:
        return np.inf
    return _term(p1, 1.0 - upper) + _term(p2, upper - top) + _term(p3, top)


@routine
def k_inf_of_three(worth, outcomes, arm, target, p1, p2, p3):
    """The least KL from (p1, p2, p3) to a law on the arm's values that is worth at least `target`."""
    v1, v2, v3 = outcomes[arm, 0], outcomes[arm, 1], outcomes[arm, 2]
    base = max(v1, 0.0) + min(v3, 0.0)
    if v3 == v1:
        return 0.0 if v1 >= target else np.inf
    if v3 == v2:  # two values: the nearest law lies where the target is just met
        upper = p2 + p3
        q = _needed(worth, v1, v2, v2, 1.0, upper, target - base)
        return np.inf if q > 1.0 else _term(upper, q) + _term(p1, 1.0 - q)
    # The chance of the best outcome is never below what was seen of it, nor below what is needed with v2 sure beyond
    # it; and never above what is enough when the others keep their proportion, since more would only cost more.
    lower = p1 / (p1 + p2) if p1 + p2 > 0.0 else 0.0
    first = _needed(worth, v2, v3, v3, 1.0, p3, target - base - _part(worth, v1, v2, 1.0))
    last = _needed(worth, v1, v2, v3, lower, p3, target - base)
    if first > 1.0 or last > 1.0:
        return np.inf
    best = min(
        _distance(worth, outcomes, arm, base, target, p1, p2, p3, first),
        _distance(worth, outcomes, arm, base, target, p1, p2, p3, last),
    )
    # a grid between the two, logarithmic and finest near the last: a steep weight makes much of a small chance
    place = 0
    for k in range(1, GRID + 1):
        distance = _distance(worth, outcomes, arm, base, target, p1, p2, p3, _between(first, last, k))
        if distance < best:
            best, place = distance, k
    left, right = min(place + 1.0, GRID), max(place - 1.0, 0.0)
    a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_a = _distance(worth, outcomes, arm, base, target, p1, p2, p3, _between(first, last, a))
    at_b = _distance(worth, outcomes, arm, base, target, p1, p2, p3, _between(first, last, b))
    for _ in range(GOLDEN_STEPS):
        if at_a <= at_b:
            right, b, at_b = b, a, at_a
            a = right - GOLDEN * (right - left)
            at_a = _distance(worth, outcomes, arm, base, target, p1, p2, p3, _between(first, last, a))
        else:
            left, a, at_a = a, b, at_b
            b = left + GOLDEN * (right - left)
            at_b = _distance(worth, outcomes, arm, base, target, p1, p2, p3, _between(first, last, b))
    return max(min(best, at_a, at_b), 0.0)  # a divergence of nothing is rounded


@kernel
def _between(first, last, k):
    """The k-th of GRID places from `last` down to `first`, and those between them."""
    return first + (last - first) * np.exp(-DEEPEST * (k / GRID) ** 2)
