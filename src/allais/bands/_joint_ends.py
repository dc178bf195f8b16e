"""The ends of a value by distributions as a whole, in compiled code: the most that a distribution is worth which
samples do not refute.

A distribution of an arm with few values is its tails t_k = P(Y >= z_k), 1 >= t_1 >= ... >= t_D >= 0, and its value is a
sum of one rising term per tail. The distributions that are not refuted are a convex set,

    sum_k cost(c_k, t_k - t_{k+1}) <= level,    cost(c, g) = log Gamma(a g + c) - log Gamma(a g) - c log g,

and each cost falls in its mass. So over a cell of tails, costs at the greatest masses and terms at the greatest tails
bound the value, and cells are halved until the bound is close to a value that some distribution has: a certificate, not
a search. The last tail needs no cells: it is the root of a convex function. A lower end is the upper end of the
mirrored problem, with the two weights swapped.
"""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, routine
from allais.bands._tail_walks import STRENGTH
from allais.numerics.k_inf import gamma_logs
from allais.numerics.table import weigh

MOST = 4  # values of an arm, the bounds among them: beyond, cells are too many and cuts are as good
DEPTH = 256  # cells on the pile at most
NEWTON = 60  # steps at most; five are usual
CLOSE = 1.0 / 128.0  # how close the bound comes, as a share of the distance from the estimated value
FINEST = 2.0**-20  # and no closer than this share of the range of values
OPEN = 1.0 / 16.0  # how close a peak comes, as a share of what its cell leaves open
SMALLEST = 2.0**-30  # a cell's side


@kernel
def _cost(count, mass):
    """What a mass costs that `count` samples fell on: it falls in the mass, and is convex."""
    if count == 0:
        return 0.0
    if mass <= 0.0:
        return np.inf if count > 1 else np.log(STRENGTH)
    inside = STRENGTH * mass
    return gamma_logs(inside + count)[0] - gamma_logs(inside)[0] - count * np.log(mass)


@kernel
def _derivative(count, mass):
    if count <= 1:
        return 0.0
    inside = STRENGTH * mass
    return STRENGTH * (gamma_logs(inside + count)[1] - gamma_logs(inside)[1]) - count / mass


@routine
def _least_mass(count, most, level):
    """The least mass up to `most` that costs at most `level`, rounded down; NaN if none does."""
    if _cost(count, most) > level:
        return np.nan
    if count <= 1:
        return 0.0
    g = most * np.exp((_cost(count, most) - level) / count)
    for _ in range(NEWTON):
        excess = _cost(count, g) - level
        following = g - excess / _derivative(count, g)  # convex and falling: from the left, steps stay on the left
        following = 0.5 * g if following <= 0.0 else min(following, most)
        done = abs(following - g) <= 1e-12 * g and excess >= 0.0
        g = following
        if done:
            break
    return g * (1.0 - 1e-10)


@routine
def _largest_tail(lower, upper, top, level):
    """The largest t with cost(lower, top - t) + cost(upper, t) <= level, rounded up; NaN if there is none."""
    if upper == 0:
        return top - _least_mass(lower, top, level)
    if lower <= 1:  # no mass is needed there
        rest = level - _cost(lower, top)
        return top if _cost(upper, top) <= rest else np.nan
    t = top * upper / (lower + upper)
    at = _cost(lower, top - t) + _cost(upper, t)
    if at > level:
        left, right = 0.0, top
        for _ in range(NEWTON):  # the least cost, where the derivative is zero
            rise = _derivative(upper, t) - _derivative(lower, top - t)
            at = _cost(lower, top - t) + _cost(upper, t)
            if at <= level or at - abs(rise) * (right - left) > level:
                break
            if rise > 0.0:
                right = t
            else:
                left = t
            t = 0.5 * (left + right)
        if at > level:
            if at - abs(rise) * (right - left) > level:
                return np.nan
            return right
    n = lower + upper
    share = t / top
    q = t + (top - t) * min(np.sqrt(2.0 * (level - at) * share * (1.0 - share) / n) / max(1.0 - share, 1e-300), 0.5)
    for _ in range(NEWTON):
        rest = top - q
        excess = _cost(lower, rest) + _cost(upper, q) - level
        rise = _derivative(upper, q) - _derivative(lower, rest)
        following = q - excess / rise if rise > 0.0 else 0.5 * (q + top)
        if following >= top:
            following = 0.5 * (q + top)
        done = abs(following - q) <= 1e-11 * min(q, top - q) and excess >= 0.0
        q = max(following, t)
        if done:
            break
    return min(q + 1e-10 * min(q, top - q), top)


@kernel
def _term(ends, k, gains, losses, tail):
    """What the k-th tail adds to the value."""
    value = ends.gain[k] * weigh(gains, tail) if ends.gain[k] > 0.0 else 0.0
    return value - ends.loss[k] * weigh(losses, 1.0 - tail) if ends.loss[k] > 0.0 else value


@routine
def _bound(ends, row, last, level, gains, losses):
    """The most that distributions in a cell are worth, and the most that the last tail is; NaN if none is left."""
    low, high = ends.low[row], ends.high[row]
    spent, value = 0.0, 0.0
    above = 1.0  # the most that the tail before can be
    for k in range(1, last):
        spent += _cost(ends.seen[k - 1], above - low[k])
        above = min(high[k], above)
        value += _term(ends, k, gains, losses, above)
    tail = _largest_tail(ends.seen[last - 1], ends.seen[last], above, level - spent)
    if np.isnan(tail):
        return -np.inf, tail
    return value + _term(ends, last, gains, losses, tail), tail


@routine
def _peak(ends, k, gains, losses, derivative, low, high, close):
    """The greatest term of a tail between two, less the derivative times the tail: at most `close` too much."""
    if derivative <= 0.0:
        return _term(ends, k, gains, losses, high) - derivative * high
    found = max(
        _term(ends, k, gains, losses, low) - derivative * low, _term(ends, k, gains, losses, high) - derivative * high
    )
    most, left, step = found, low, high - low
    while left < high:
        right = min(left + step, high)
        at_right = _term(ends, k, gains, losses, right)
        found = max(found, at_right - derivative * right)
        bound = at_right - derivative * left  # the term rises, the line falls
        if bound <= max(found + close, most) or derivative * (right - left) <= close:
            most = max(most, bound)
            left = right
            step *= 2.0
        else:
            step *= 0.5
    return most


@routine
def _tangent(ends, row, last, tail):
    """Write the gradient of the cost in a cell's middle; what its tangent is at 0, NaN if there is none."""
    at, shift = 0.0, 0.0
    before, falls = 1.0, 0.0  # the tail before, and the derivative of the cost of the mass before
    for k in range(1, last + 1):
        here = 0.5 * (ends.low[row, k] + ends.high[row, k]) if k < last else tail
        mass, count = before - here, ends.seen[k - 1]
        if mass <= 0.0:
            return np.nan
        at += _cost(count, mass)
        derivative = _derivative(count, mass)
        if k > 1:
            ends.derivative[k - 1] = derivative - falls
            shift += ends.derivative[k - 1] * before
        before, falls = here, derivative
    if ends.seen[last] > 0 and before <= 0.0:
        return np.nan
    ends.derivative[last] = (_derivative(ends.seen[last], before) if ends.seen[last] > 0 else 0.0) - falls
    return at + _cost(ends.seen[last], before) - shift - ends.derivative[last] * before


@kernel
def _refuted(ends, row, last, level, at_zero, most_tail):
    """Whether every distribution of a cell costs too much: the tangent lies below the cost."""
    least = at_zero
    for k in range(1, last + 1):
        low, high = (ends.low[row, k], ends.high[row, k]) if k < last else (0.0, most_tail)
        least += ends.derivative[k] * (low if ends.derivative[k] > 0.0 else high)
    return least > level


@routine
def _dual_bound(ends, row, last, level, at_zero, tail, most_tail, close, gains, losses):
    """The most that a distribution with tails in a cell is worth, by a tangent of the cost.

    For every mu >= 0 the value is at most that plus mu (level - cost), and the cost lies above its tangent. What is
    left is one peak per tail.
    """
    rise, near = ends.derivative[last], 1e-3 * min(tail, 1.0 - tail)
    if not rise > 0.0 or near <= 0.0:
        return np.inf
    steep = _term(ends, last, gains, losses, tail + near) - _term(ends, last, gains, losses, tail - near)
    mu = 0.5 * steep / (near * rise)
    value = mu * (level - at_zero)
    for k in range(1, last + 1):
        low, high = (ends.low[row, k], ends.high[row, k]) if k < last else (0.0, most_tail)
        derivative = mu * ends.derivative[k]
        peak = _peak(ends, k, gains, losses, derivative, low, high, close)
        value += peak
        middle = 0.5 * (low + high) if k < last else tail
        ends.excess[k] = peak - (_term(ends, k, gains, losses, middle) - derivative * middle)
    return value


@routine
def most_worth(ends, n_values, level, worth, enough, gains, losses):
    """An upper bound of the value of all distributions that cost at most `level`; `worth` is the estimated value.

    All without the sure part. Cells are halved from the greatest; what is left when they are small counts in full. A
    distribution that is worth more than `enough` ends the search.
    """
    last = n_values - 1
    for k in range(1, last):
        ends.low[0, k], ends.high[0, k] = 0.0, 1.0
    if last == 1:
        return max(_bound(ends, 0, last, level, gains, losses)[0], worth)
    finest = 0.0  # no closer than a small part of the whole range
    for k in range(1, last + 1):
        finest += FINEST * (ends.gain[k] + ends.loss[k])
    found = worth  # the most that a distribution is known to be worth
    certain = worth  # what no distribution left behind exceeds
    middle_row = DEPTH  # one row beyond the pile, for a distribution in the middle of the cell
    pile = 1
    while pile > 0:
        row = pile - 1
        pile -= 1
        bound, most_tail = _bound(ends, row, last, level, gains, losses)
        close = max(CLOSE * (found - worth), finest)
        if np.isnan(most_tail) or bound <= max(certain, found + close):
            continue
        widest, at = 0.0, 0
        for k in range(1, last):
            low, high = ends.low[row, k], ends.high[row, k]
            middle = 0.5 * (low + high)
            side = (high - low) / np.sqrt(max(middle * (1.0 - middle), 1e-12))
            if side > widest:
                widest, at = side, k
            ends.low[middle_row, k] = ends.high[middle_row, k] = middle
        value, tail = _bound(ends, middle_row, last, level, gains, losses)
        refuted = np.isnan(tail)
        if refuted:  # the cheapest tail
            tail = ends.high[middle_row, last - 1] * ends.seen[last] / (ends.seen[last - 1] + ends.seen[last])
        else:
            found = max(found, value)
            if found > enough:
                return found
        at_zero = _tangent(ends, row, last, tail)
        if not np.isnan(at_zero):
            if refuted and _refuted(ends, row, last, level, at_zero, most_tail):
                continue
            if not refuted:
                close = max(CLOSE * (found - worth), finest)
                # closer than a part of what the cell leaves open, peaks would not drop it sooner than halving does
                part = max(close, OPEN * (bound - found)) / (2.0 * last)
                dual = _dual_bound(ends, row, last, level, at_zero, tail, most_tail, part, gains, losses)
                bound = min(bound, dual)
                if last > 2 and dual < np.inf:
                    at = 1
                    for k in range(2, last):
                        at = k if ends.excess[k] > ends.excess[at] else at
        if bound <= max(certain, found + close):
            continue
        if widest < SMALLEST or pile + 2 > DEPTH:
            certain = max(certain, bound)
            continue
        middle = 0.5 * (ends.low[row, at] + ends.high[row, at])
        for k in range(1, last):
            ends.low[row + 1, k], ends.high[row + 1, k] = ends.low[row, k], ends.high[row, k]
        ends.high[row, at], ends.low[row + 1, at] = middle, middle
        pile += 2
    return max(certain, found + max(CLOSE * (found - worth), finest))
