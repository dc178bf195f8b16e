"""A grid of probabilities for an unknown support: which counts refuse each of its points, in all rounds at once.

For each fixed probability q, how many samples lie at or below the quantile of q is a count of coins, wherever the
quantile is. So a likelihood ratio may be watched at every point of a grid (docs/theory/bands.md).
"""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, late
from allais.numerics.gamma import gamma_logs

IDLE = 0.1  # the share of the mixture that stays at the hypothesis: bounds a martingale from below
FIRST_LEVEL, LAST_LEVEL = 3, 20  # of the grids: 2^r points at level r
USUAL_LEVEL = 8  # of 1,000 to 4,000 samples; the last one serves 10^10 and more
ALL_SHARES = sum(1.0 / (1.0 + 0.25 * (r - USUAL_LEVEL) ** 2) for r in range(FIRST_LEVEL, LAST_LEVEL + 1))
NEWTON = 60  # steps at most; two are usual


@kernel
def grid_points(pulls):
    """How many points the grid for a number of samples has: between 4 and 8 times its root."""
    # a step of the grid is then an eighth of a bound's distance
    return 2.0 ** min(int(0.5 * np.log2(pulls)) + FIRST_LEVEL, LAST_LEVEL)


@kernel
def _odds(level):
    """How many times less a level's share is than that of the usual one."""
    return 1.0 + 0.25 * (level - USUAL_LEVEL) ** 2


@kernel
def grid_price(points):
    """What a point pays for all others, of all levels."""
    return np.log(points * ALL_SHARES * _odds(np.log2(points)))


@kernel
def grid_strength(points):
    """Of the mixture, in samples: at its best for the rounds of this level."""
    return max(points * points / 2048.0, 0.5)


@kernel
def grid_probability(points, step):
    """A point of the grid, even in arcsin sqrt(q)."""
    return np.sin(0.5 * np.pi * step / points) ** 2


@kernel
def betting_level(exponent):
    """What log R may be at most if a mixture of IDLE and R is at most e^exponent."""
    return exponent + np.log1p(-IDLE * np.exp(-exponent)) - np.log1p(-IDLE)


@late(float)
def refusing_count(step, near, points, pulls, exponent):
    """The greatest count at which a point of the grid is refused as too likely, or -1; `near` is a guess.

    The ratio is convex in the count and falls to its least: after one of Newton's steps, all others come from below.
    """
    if step <= 0:
        return -1.0
    if step >= points:
        return float(pulls)
    q = grid_probability(points, step)
    strength = grid_strength(points)
    a, b = strength * q, strength * (1.0 - q)
    log_q, log_rest = np.log(q), np.log1p(-q)
    level = betting_level(exponent + grid_price(points)) + gamma_logs(a)[0] + gamma_logs(b)[0]
    level += gamma_logs(strength + pulls)[0] - gamma_logs(strength)[0] + pulls * log_rest
    rise = log_rest - log_q
    c = min(max(near, 0.0), pulls * q)
    for _ in range(NEWTON):
        hits, hit_slope = gamma_logs(a + c)
        misses, miss_slope = gamma_logs(b + pulls - c)
        excess, slope = hits + misses + c * rise - level, hit_slope - miss_slope + rise
        if c == 0.0 and excess < 0.0:
            return -1.0
        # at or beyond the least, twice the misses and one more
        following = max(c - excess / slope if slope < 0.0 else 2.0 * c - pulls - 1.0, 0.0)
        done = abs(following - c) < 1e-6 and following > 0.0
        c = following
        if done:
            break
    return np.floor(c)
