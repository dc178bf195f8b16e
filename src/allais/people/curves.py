"""Formulas with their slopes, compiled: weights, amounts that are worth a value, the normal tail."""

from __future__ import annotations

import math

from allais._kernels import kernel

FAR = -20.0  # below it the normal tail is a series, whose fifth term is 1e-10
ROOT_HALF = math.sqrt(0.5)
LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def weigh(kind, a, b, log_p, log_q, normal):
    """A weight and its slopes in its two parameters; the docstrings of `allais.weights` have the formulas."""
    w, by_a, by_b = 0.0, 0.0, 0.0
    if kind == 0:
        w = math.exp(log_p)
    elif kind == 1:
        up, down = a * log_p, a * log_q
        rest = math.exp(-abs(up - down))
        total = max(up, down) + math.log1p(rest)  # log(p^eta + q^eta)
        share = (1.0 if up > down else rest) / (1.0 + rest)
        w = math.exp(up - total / a)
        by_a = w * (log_p + total / (a * a) - (share * log_p + (1.0 - share) * log_q) / a)
    elif kind == 2:
        log_distance = math.log(-log_p)
        distance = math.exp(a * log_distance)
        w = math.exp(-b * distance)
        by_a, by_b = -w * b * distance * log_distance, -w * distance
    elif kind == 3:
        against = log_q - log_p
        w = 1.0 / (1.0 + math.exp(a * against - math.log(b)))
        by_a, by_b = -w * (1.0 - w) * against, w * (1.0 - w) / b
    elif kind == 4:
        w = math.exp(a * log_p)
        by_a = w * log_p
    elif kind == 5:
        smaller = math.exp(min(log_p, log_q))
        sign = 1.0 if log_p <= log_q else -1.0
        w = 0.5
        if smaller < 0.5:
            log_rest = math.log1p(-2.0 * smaller)
            rest = math.exp(a * log_rest)
            w, by_a = 0.5 - sign * 0.5 * rest, -sign * 0.5 * rest * log_rest
    elif kind == 6:
        q = math.exp(log_q)
        if q < a:
            w, by_a = 1.0 - q / a, q / (a * a)
    else:
        x = normal + a
        w = 0.5 * math.erfc(-x * ROOT_HALF)
        by_a = math.exp(-0.5 * x * x - LOG_ROOT_TWO_PI)
    return w, by_a, by_b


@kernel
def weigh_at(kind, known, dual, a, b, design, i, into):
    """Write the weight of a probability and its slopes; the ends are exact."""
    log_p, log_q = design.log_p[i], design.log_q[i]
    if known.size > 0:
        into[i, 0], into[i, 1], into[i, 2] = known[i], 0.0, 0.0
    elif log_p == -math.inf or log_q == -math.inf:
        into[i, 0], into[i, 1], into[i, 2] = (0.0 if log_p == -math.inf else 1.0), 0.0, 0.0
    elif dual == 1:
        w, by_a, by_b = weigh(kind, a, b, log_q, log_p, -design.normal[i])
        into[i, 0], into[i, 1], into[i, 2] = 1.0 - w, -by_a, -by_b
    else:
        into[i, 0], into[i, 1], into[i, 2] = weigh(kind, a, b, log_p, log_q, design.normal[i])


@kernel
def sure_amount(value, alpha, aversion):
    """The amount that is worth a value, and its slopes in the value, in alpha and in loss aversion."""
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    size = value if value > 0.0 else -value / aversion
    amount = math.exp(math.log(size) / alpha)
    by_value = amount / (alpha * abs(value))
    by_alpha = -amount * math.log(size) / (alpha * alpha)
    if value > 0.0:
        return amount, by_value, by_alpha, 0.0
    return -amount, by_value, -by_alpha, amount / (alpha * aversion)


@kernel
def log_logistic(x):
    """The logarithm of the logistic distribution function, and its slope."""
    rest = math.exp(-abs(x))
    return min(x, 0.0) - math.log1p(rest), (rest if x > 0.0 else 1.0) / (1.0 + rest)


@kernel
def log_normal_tail(x):
    """The logarithm of the normal distribution function, and its slope."""
    if x > FAR:
        share = 0.5 * math.erfc(-x * ROOT_HALF)
        return math.log(share), math.exp(-0.5 * x * x - LOG_ROOT_TWO_PI) / share
    r = 1.0 / (x * x)
    series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r)))
    return -0.5 * x * x - math.log(-x) - LOG_ROOT_TWO_PI + math.log(series), -x / series
