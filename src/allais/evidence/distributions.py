"""Distributions of outcomes by weights: their values, and bounds that hold at all times at once.

For z >= 0 with the mean mu given the past, exp(l (z - mu) - psi(l) (z - c)^2) is a supermartingale for l in (0, 1),
c in [0, 1] and psi(l) = -log(1 - l) - l, since exp(l x - psi(l) x^2) <= 1 + l x for x >= -1 (Fan et al. 2015). So mu
is bounded from below at all times at once (Ville). With z = w 1{V >= t} that is a bound on P(V >= t) from below, and
with z = w 1{V < t} from above (Waudby-Smith et al. 2022): neither needs a largest weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray
from allais.bands.quantiles import Sorted
from allais.evidence.data import View
from allais.preferences import Preference

WARM = 200  # decisions by which the thresholds of a band are chosen, and nothing else
THRESHOLDS = 100
OUTSIDE = 16  # parts of the way from what the first decisions saw to an end
FEWEST = 3.0  # degrees of freedom of a variance
HIGHEST = 10  # outcomes by which a tail is extrapolated
SIZES = 0.9 * 0.5 ** np.arange(14)  # of bets


def band(
    weights: FloatArray, values: FloatArray, delta: float, ends: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thresholds, and bounds on P(V >= threshold) under the target that hold at all times at once.

    The first decisions serve to choose the thresholds and c, and nothing else. Further thresholds lie between
    their outcomes and the ends, at distances from their median that grow by a factor.

    Decisions have weights w and values, in order. The bounds miss, ever, with probability delta at most.
    """
    first, rest = slice(0, WARM), slice(WARM, None)
    seen = np.sort(values[first])
    places = np.unique(np.round(np.linspace(0.0, max(seen.size - 1, 0), THRESHOLDS)).astype(int))
    thresholds = np.unique(np.concatenate([seen[places], *_beyond(seen, ends)])) if seen.size else np.zeros(0)
    if values[rest].size == 0 or not thresholds.size:
        return thresholds, np.zeros(thresholds.size), np.ones(thresholds.size)
    order = np.argsort(values[rest], kind="stable")
    w = weights[rest][order]
    below = np.searchsorted(values[rest][order], thresholds, side="left")
    sums = [np.concatenate([[0.0], np.cumsum(one)]) for one in (w, w * w)]
    chance, n, early = delta / (2.0 * thresholds.size), w.size, weights[first]
    sides = []
    for upper in (True, False):
        total, squares = ((one[-1] - one[below]) if upper else one[below] for one in sums)
        hit = (values[first][None, :] >= thresholds[:, None]) == upper
        centre = np.clip((hit * early).mean(axis=1), 0.0, 1.0)
        sides.append(_lower_bound(total, squares - 2.0 * centre * total + n * centre**2, n, chance))
    least, most = sides[0], 1.0 - sides[1]
    return thresholds, np.maximum.accumulate(least[::-1])[::-1], np.minimum.accumulate(most)


def _beyond(seen: FloatArray, ends: tuple[float, float]) -> list[FloatArray]:
    """Thresholds between the least, and the greatest, of some sorted values and the ends."""
    middle = float(seen[seen.size // 2])
    found: list[FloatArray] = []
    for last, end in zip((float(seen[0]), float(seen[-1])), ends, strict=True):
        near, far = last - middle, end - middle
        if math.isfinite(end) and abs(far) > abs(near):
            near = near or far * 2.0**-OUTSIDE
            found.append(middle + near * (far / near) ** (np.arange(1, OUTSIDE) / OUTSIDE))
    return found


def lower_end(z: FloatArray, chance: float) -> float:
    """A bound from below on the mean of numbers of at least 0, at all times at once."""
    early, later = z[:WARM], z[WARM:]
    if not later.size:
        return 0.0
    centre = min(max(float(early.mean()), 0.0), 1.0)
    spread = float(np.sum((later - centre) ** 2))
    return float(_lower_bound(np.array([later.sum()]), np.array([spread]), later.size, chance)[0])


def _lower_bound(total: FloatArray, spread: FloatArray, n: int, chance: float) -> FloatArray:
    """The greatest of several bounds by bets of different sizes, which share the chance."""
    psi = -np.log1p(-SIZES) - SIZES
    needed = math.log(SIZES.size / chance)
    each = (total[:, None] - (needed + psi * spread[:, None]) / SIZES) / n
    return np.clip(each.max(axis=1), 0.0, 1.0)


# -- values ------------------------------------------------------------------------------------------


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
    """The last point at which a condition holds that fails at all later ones; None if it holds at none."""
    low, high = -1, points.size - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(float(points[middle])) else (low, middle - 1)
    return None if low < 0 else float(points[low])


def reach_of(parts: FloatArray, chance: float) -> tuple[float, float]:
    """How far below and above the mean of parts its interval reaches.

    A few large weights make the variance itself uncertain: it varies as if it had 2 n / (kurtosis - 1) degrees of
    freedom (Satterthwaite 1946), and the quantile t is that of Student's distribution with these. Of skewed parts the
    estimate and its error grow together, so that both ends move towards the long tail, by (skewness of the mean)
    (2 t^2 + 1) / 6 standard errors (Johnson 1978), and by t / 2 at most.
    The expectation lies beyond the interval with probability `chance`.
    """
    n, spread = parts.size, float(parts.std(ddof=1)) if parts.size > 1 else math.inf
    if not 0.0 < spread < math.inf:
        return spread, spread
    scaled = (parts - parts.mean()) / spread
    squares = scaled * scaled
    kurtosis, skewness = float(np.mean(squares * squares)), float(np.mean(squares * scaled)) / math.sqrt(n)
    freedom = max(2.0 * n / max(kurtosis - 1.0, 1e-9), FEWEST)
    times = float(scipy.special.stdtrit(freedom, 1.0 - chance / 2.0))
    moved = min(max(skewness * (2.0 * times**2 + 1.0) / 6.0, -times / 2.0), times / 2.0)
    error = spread / math.sqrt(n)
    return (times - moved) * error, (times + moved) * error


class Unseen(NamedTuple):
    """How much lower, and higher, a value would be with an event that no decision saw."""

    less: float = 0.0
    more: float = 0.0

    def apart(self, other: Unseen, shared: float) -> Unseen:
        """The same of a difference, where an event befalls both values as far as they share their decisions."""
        return Unseen(
            math.hypot(max(self.less - shared * other.less, 0.0), max(other.more - shared * self.more, 0.0)),
            math.hypot(max(self.more - shared * other.more, 0.0), max(other.less - shared * self.less, 0.0)),
        )


def unseen(
    preference: Preference, utilities: FloatArray, masses: FloatArray, full: float, outcomes: float, chance: float,
    ends: tuple[float, float],
) -> tuple[Unseen, Unseen]:  # fmt: skip
    """How much an unseen event would change a value: one of the expected probability, and one as likely as it may be.

    A weight that is steep at an end makes rare events count, and what was seen tells too little of them. Beyond the
    highest of n outcomes lies a probability of 1 / n on average, and one of -log(chance) / n, which is 3 / n at 0.05,
    with this chance (the rule of three; Hanley and Lippman-Hand 1983). How far beyond is extrapolated as from an
    exponential tail: by the mean excess of the highest outcomes. For weights with a bounded derivative both are 0.

    Args:
        preference: What is valued.
        utilities: The utilities that were seen.
        masses: How much of the distribution each is.
        full: Their mass.
        outcomes: n, the number of outcomes that tell what may happen, in effect.
        chance: The chance.
        ends: The least and the greatest utility that could occur.
    """
    slopes = (preference.gains.holder, preference.losses.holder)
    if not utilities.size or all(one is not None and one.exponent == 1.0 for one in slopes):
        return Unseen(), Unseen()
    points, tails = tails_of(utilities, masses, full)
    few = min(HIGHEST, points.size)
    lowest = max(points[0] - (points[few - 1] - points[: few - 1].mean() if few > 1 else 0.0), ends[0])
    highest = min(points[-1] + (points[1 - few :].mean() - points[-few] if few > 1 else 0.0), ends[1])
    value = value_of(preference, points, tails, full)

    def changed(event: float) -> Unseen:
        kept = (1.0 - event) * tails[:-1]
        worse = np.append(lowest, points), np.concatenate([tails[:1], kept, [0.0]])
        better = np.append(points, highest), np.append(kept + event * full, [event * full, 0.0])
        low, high = (value_of(preference, *one, full) for one in (worse, better))
        return Unseen(max(value - low, 0.0), max(high - value, 0.0))

    n = max(outcomes, 1.0)
    expected, rare = changed(1.0 / n), changed(min(-math.log(chance) / n, 1.0))
    # where the end was seen again and again, nothing is expected beyond it
    less = expected.less if lowest < points[0] else 0.0
    return Unseen(less, expected.more if highest > points[-1] else 0.0), rare


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
    """What is known of an amount that rests on unfinished outcomes; empty for one that does not.

    Where some are known from below and others from above, it lies on neither side.
    """
    least, value, most = (amount(one.sorted) for one in (view.ends[0], view, view.ends[1]))
    if least == most:
        return ""
    return "at least " if value == least else "at most " if value == most else "about "
