"""Distributions of outcomes by weights: their values, and bounds that hold at all times at once.

For z >= 0 with the mean mu given the past, exp(l (z - mu) - psi(l) (z - c)^2) is a supermartingale for l in (0, 1),
c in [0, 1] and psi(l) = -log(1 - l) - l, since exp(l x - psi(l) x^2) <= 1 + l x for x >= -1 (Fan et al. 2015). So mu
is bounded from below at all times at once (Ville). With z = w 1{V >= t} that is a bound on P(V >= t) from below, and
with z = w 1{V < t} from above (Waudby-Smith et al. 2022): neither needs a largest weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray
from allais.bands.quantiles import Sorted
from allais.evidence.data import View
from allais.preferences import Preference
from allais.weights import Identity

WARM = 200  # decisions by which the thresholds of a band are chosen; they count for nothing else
THRESHOLDS = 100
SPLITS = 20  # of the decisions into halves
FEWEST = 3.0  # degrees of freedom of a variance
SIZES = 0.9 * 0.5 ** np.arange(14)  # of bets


def band(weights: FloatArray, values: FloatArray, delta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thresholds, and bounds on P(V >= threshold) under the target that hold at all times at once.

    Thresholds, and c, are chosen by the first decisions, which count for nothing else.

    Args:
        weights: w of each decision, in order.
        values: What came of it.
        delta: The probability that any of the bounds ever misses.
    """
    first, rest = slice(0, WARM), slice(WARM, None)
    seen = np.sort(values[first])
    places = np.unique(np.round(np.linspace(0.0, max(seen.size - 1, 0), THRESHOLDS)).astype(int))
    thresholds = np.unique(seen[places]) if seen.size else np.zeros(0)
    if values[rest].size == 0 or not thresholds.size:
        return thresholds, np.zeros(thresholds.size), np.ones(thresholds.size)
    order = np.argsort(values[rest], kind="stable")
    w = weights[rest][order]
    below = np.searchsorted(values[rest][order], thresholds, side="left")
    sums = [np.concatenate([[0.0], np.cumsum(one)]) for one in (w, w * w)]
    chance, n, early = delta / (2.0 * thresholds.size), w.size, weights[first]
    ends = []
    for upper in (True, False):
        total, squares = ((one[-1] - one[below]) if upper else one[below] for one in sums)
        hit = (values[first][None, :] >= thresholds[:, None]) == upper
        centre = np.clip((hit * early).mean(axis=1), 0.0, 1.0)
        ends.append(_lower_bound(total, squares - 2.0 * centre * total + n * centre**2, n, chance))
    least, most = ends[0], 1.0 - ends[1]
    return thresholds, np.maximum.accumulate(least[::-1])[::-1], np.minimum.accumulate(most)


def lower_end(z: FloatArray, chance: float) -> float:
    """A bound from below on the mean of numbers of at least 0, at all times at once."""
    early, later = z[:WARM], z[WARM:]
    if not later.size:
        return 0.0
    centre = min(max(float(early.mean()), 0.0), 1.0)
    spread = float(np.sum((later - centre) ** 2))
    return float(_lower_bound(np.array([later.sum()]), np.array([spread]), later.size, chance)[0])


def _lower_bound(total: FloatArray, spread: FloatArray, n: int, chance: float) -> FloatArray:
    """The greatest of the bounds of bets of several sizes, each of which has its part of the chance."""
    psi = -np.log1p(-SIZES) - SIZES
    needed = math.log(SIZES.size / chance)
    each = (total[:, None] - (needed + psi * spread[:, None]) / SIZES) / n
    return np.clip(each.max(axis=1), 0.0, 1.0)


# -- values ------------------------------------------------------------------------------------------


def is_mean(preference: Preference) -> bool:
    """Whether values are means of utilities."""
    return isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity)


def tails_of(utilities: FloatArray, masses: FloatArray, full: float) -> tuple[FloatArray, FloatArray]:
    """Utilities in ascending order, and P(U >= u) at each with a 0 at the end, made monotone and at most `full`."""
    order = np.argsort(utilities, kind="stable")
    above = np.clip(np.cumsum(masses[order][::-1])[::-1], 0.0, full)
    return utilities[order], np.append(np.minimum(np.maximum.accumulate(above[::-1])[::-1], full), 0.0)


def value_of(preference: Preference, points: FloatArray, tails: FloatArray, full: float) -> float:
    """The value of the distribution with P(U >= points[i]) = tails[i]; what is below the first point has 1 - full."""
    above = np.clip(tails[:-1], 0.0, 1.0)
    gain, loss = np.maximum(points, 0.0), np.minimum(points, 0.0)
    up = np.diff(gain, prepend=0.0)
    value = float(up @ np.asarray(preference.gains(above)))
    below = np.clip(full - np.clip(tails[1:], 0.0, full), 0.0, 1.0)  # P(U <= points[i])
    down = np.append(np.diff(loss), -loss[-1])
    return value - float(down @ np.asarray(preference.losses(below)))


def last_where(points: FloatArray, holds: Callable[[float], bool]) -> float | None:
    """The last of the points for which a condition holds that fails from some point on; None if for none."""
    low, high = -1, points.size - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(float(points[middle])) else (low, middle - 1)
    return None if low < 0 else float(points[low])


def error_of(parts: FloatArray, chance: float) -> tuple[float, float, float]:
    """The standard error of the mean of parts, how many of them its interval reaches, and how many more by skewness.

    A few large weights make the variance itself uncertain: it varies as if it had 2 n / (kurtosis - 1) degrees of
    freedom (Satterthwaite 1946), and the quantile is that of the t-distribution with so many. Of skewed parts the
    estimate and its error grow together: the side of the long tail needs more (Johnson 1978), above if it is positive.

    Args:
        parts: One part for each decision.
        chance: The probability that the expectation lies beyond the interval.
    """
    n, spread = parts.size, float(parts.std(ddof=1)) if parts.size > 1 else math.inf
    if not 0.0 < spread < math.inf:
        return spread, 1.0, 0.0
    scaled = (parts - parts.mean()) / spread
    kurtosis, skewness = float(np.mean(scaled**4)), float(np.mean(scaled**3)) / math.sqrt(n)
    freedom = max(2.0 * n / max(kurtosis - 1.0, 1e-9), FEWEST)
    times = float(scipy.special.stdtrit(freedom, 1.0 - chance / 2.0))
    return spread / math.sqrt(n), times, skewness * (2.0 * times**2 + 1.0) / 6.0


def halves(preference: Preference, utilities: FloatArray, masses: FloatArray, full: float) -> float:
    """The standard error of a value, by how it varies between halves of the decisions.

    Where a weight is steep at an end, rare outcomes count, and influence functions say too little. Two halves differ by
    twice the standard error of the whole.
    """
    order, rng = np.argsort(utilities, kind="stable"), np.random.default_rng(1)
    order = order[masses[order] != 0.0]
    points, sizes = utilities[order], masses[order]
    found = []
    for _ in range(SPLITS):
        one = np.zeros(points.size, dtype=bool)
        one[rng.permutation(points.size)[: points.size // 2]] = True
        totals = [float(sizes[half].sum()) for half in (one, ~one)]
        if min(totals) > 0.0:
            both = (
                value_of(preference, *tails_of(points[half], sizes[half] * (full / total), full), full)
                for half, total in zip((one, ~one), totals, strict=True)
            )
            found.append(next(both) - next(both))
    return 0.5 * math.sqrt(np.mean(np.square(found))) if found else 0.0


def with_unseen(
    preference: Preference, points: FloatArray, tails: FloatArray, full: float, outcomes: float, chance: float
) -> tuple[float, float]:
    """The value if an event that no decision saw were as bad as the worst that was seen, or as good as the best.

    Of n decisions none sees an event of the probability -log(chance) / n, which is 3 / n at 0.05, with this chance (the
    rule of three; Hanley and Lippman-Hand 1983). A weight that is steep at an end makes so rare an event count. What
    was seen then tells too little of it: the value is too low or too high by more than its standard error says. For a
    weight with a bounded slope both ends are the value itself.
    """
    slopes = (preference.gains.holder, preference.losses.holder)
    event = min(-math.log(chance) / max(outcomes, 1.0), 1.0)
    if all(one is not None and one.exponent == 1.0 for one in slopes):
        event = 0.0
    kept = (1.0 - event) * tails[:-1]
    worse, better = np.append(kept, 0.0), np.append(kept + event * full, 0.0)
    worse[:1] = tails[:1]  # nothing is worse than the worst that was seen
    return value_of(preference, points, worse, full), value_of(preference, points, better, full)


def shown(preference: Preference, value: float) -> float:
    """A value in the unit of outcomes."""
    if not math.isfinite(value):
        return -value if preference.costs else value
    return float(preference.outcomes_of(np.float64(value)))


def pair_of(preference: Preference, low: float, high: float) -> tuple[float, float]:
    """Two values in the unit of outcomes, ascending."""
    ends = sorted((shown(preference, low), shown(preference, high)))
    return ends[0], ends[1]


def value_at(group: Sorted, level: float) -> float:
    """A group's own quantile: the least outcome with a share `level` of the units at or below it."""
    wanted = level * group.before[-1] * (1.0 - 1e-12)
    return float(group.outcomes[min(int(np.searchsorted(group.before[1:], wanted)), group.outcomes.size - 1)])


def vague_at(view: View, amount: Callable[[Sorted], float]) -> str:
    """What is known of an amount that rests on unfinished outcomes; empty for one that does not."""
    least, value, most = (amount(one.sorted) for one in (view.ends[0], view, view.ends[1]))
    return "" if least == most else "at least " if value == least else "at most "
