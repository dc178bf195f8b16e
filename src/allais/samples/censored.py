"""The most likely distribution of outcomes of which some are censored, its value, and the uncertainty of both.

An outcome of which only "at least 30" is known counts for all that lies at 30 or beyond it, in proportion to what the
others show there. With cuts on one side that is the product-limit estimate (Kaplan and Meier 1958; Efron 1967:
redistribute to the right), and with cuts on both sides the self-consistent one (Turnbull 1976). Both are the
distribution that makes what was seen most likely. With random masses in the place of counts, the same two are draws of
the Bayesian bootstrap for censored data (Lo 1993). docs/theory/censored.md has the assumptions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel, routine
from allais.numerics.sums import Parts, finite_parts
from allais.preferences import Preference
from allais.preferences.valuation import is_mean, sure_amount
from allais.samples.draws import gamma, stream_of
from allais.weights import Weight

CLOSE = 1e-9  # how far the most likely distribution may be from a fixed point, as a share of a mass
CLOSE_DRAW = 1e-4  # the same for a draw, whose random error is far larger
MOST_STEPS = 20_000  # of the iteration, should it come closer ever more slowly
ROUNDED = 1e-9  # what rounding adds to a share


@by_reference
class CutRoom(NamedTuple):
    """Scratch of a draw: the places of one arm, and masses that are drawn."""

    at: FloatArray  # (places,)
    base: FloatArray
    masses: FloatArray
    sums: FloatArray  # (2 * places + 4,)
    first: IntArray  # (cuts,)
    last: IntArray
    drawn: FloatArray


def cut_room(places: int, cuts: int) -> CutRoom:
    """Room for so many places and cuts."""
    first, last = (np.zeros(cuts, dtype=np.int64) for _ in range(2))
    at, base, masses = (np.zeros(places) for _ in range(3))
    return CutRoom(at, base, masses, np.zeros(2 * places + 4), first, last, np.zeros(cuts))


# -- the most likely distribution ---------------------------------------------------------------------


@kernel
def _product_limit(base, starts, mass, masses, scratch, forward):
    """Masses in one sweep, where every cut reaches to the same end: S(x) = prod (1 - d / n) (Kaplan and Meier 1958).

    A cut at c says X >= c, so it is at risk before c only.
    """
    n = base.size
    for j in range(n):
        scratch[j] = 0.0
    for c in range(mass.size):
        scratch[starts[c]] += mass[c]
    at_risk = 0.0
    for step in range(n - 1, -1, -1):
        j = step if forward else n - 1 - step
        cut = scratch[j]
        at_risk += base[j]
        scratch[j] = at_risk  # n_j
        at_risk += cut
    left = at_risk  # all of them
    for step in range(n):
        j = step if forward else n - 1 - step
        hazard = base[j] / scratch[j] if scratch[j] > 0.0 else 0.0
        masses[j] = left * hazard
        left *= 1.0 - hazard
    masses[n - 1 if forward else 0] += left  # Efron 1967: what lies beyond the last outcome is at the last cut


@routine
def self_consistent(base, first, last, mass, masses, scratch, close):
    """Write the masses of places that make what was seen most likely.

    Args:
        base: What was seen at each place, ascending; a count, or a mass that was drawn.
        first: The first place that each cut reaches.
        last: The first place after it that the cut does not reach.
        mass: What was seen of each cut.
        masses: What is written; it sums to all that was seen.
        scratch: Room for two numbers more than there are places, twice.
        close: How far a mass may be from its fixed point, as a share of it.
    """
    n = base.size
    forward, backward = True, True
    for c in range(mass.size):
        forward, backward = forward and last[c] == n, backward and first[c] == 0
    if forward:
        _product_limit(base, first, mass, masses, scratch, True)
        return
    if backward:
        for c in range(mass.size):
            last[c] -= 1
        _product_limit(base, last, mass, masses, scratch, False)
        for c in range(mass.size):
            last[c] += 1
        return
    for j in range(n):
        masses[j] = base[j]
    for c in range(mass.size):
        for j in range(first[c], last[c]):
            masses[j] += mass[c] / (last[c] - first[c])
    up_to, odds = 0, n + 2  # where sums of masses, and changes of the odds, begin in `scratch`
    for _ in range(MOST_STEPS):
        total = 0.0
        for j in range(n):
            scratch[up_to + j], scratch[odds + j] = total, 0.0
            total += masses[j]
        scratch[up_to + n], scratch[odds + n] = total, 0.0
        for c in range(mass.size):
            inside = scratch[up_to + last[c]] - scratch[up_to + first[c]]
            share = mass[c] / inside if inside > 0.0 else 0.0
            scratch[odds + first[c]] += share
            scratch[odds + last[c]] -= share
        odds_here, gap = 0.0, 0.0
        for j in range(n):
            odds_here += scratch[odds + j]
            moved = base[j] + masses[j] * odds_here  # self-consistency (Turnbull 1976, equation 3.1)
            if masses[j] > 0.0:
                gap = max(gap, moved / masses[j] - 1.0)  # at most 0 for the most likely distribution
            masses[j] = moved
        if gap <= close:
            return


@routine
def draw_masses(u, base, first, last, mass, drawn, cut_drawn, masses, scratch):
    """One draw of the Bayesian bootstrap for censored data (Lo 1993): Gamma masses in the place of counts."""
    stream = stream_of(u)
    for j in range(base.size):
        drawn[j] = 0.0
        if base[j] > 0.0:
            drawn[j], stream = gamma(base[j], stream)
    for c in range(mass.size):
        cut_drawn[c], stream = gamma(mass[c], stream)
    self_consistent(drawn, first, last, cut_drawn, masses, scratch, CLOSE_DRAW)


class Places(NamedTuple):
    """Where mass may lie, ascending in the user's unit, and which places each cut reaches."""

    at: FloatArray
    base: FloatArray  # how many outcomes were seen there; 0 for a place that only cuts have
    first: IntArray  # the first place of each cut, and the first after its last
    last: IntArray
    mass: FloatArray  # how many outcomes have each cut
    beyond: NDArray[np.bool_]  # whether mass there may lie anywhere beyond, too

    def share_beyond(self) -> float:
        """The share of the most likely distribution that may lie anywhere beyond the cut at which it is placed."""
        masses = self.masses() if self.beyond.any() else np.zeros(self.at.size)
        return float(masses[self.beyond].sum() / max(masses.sum(), 1.0))

    def masses(self) -> FloatArray:
        """The most likely masses, which sum to all that was seen."""
        found, scratch = np.zeros(self.at.size), np.zeros(2 * self.at.size + 4)
        self_consistent(self.base, self.first, self.last, self.mass, found, scratch, CLOSE)
        return found

    def drawn(self, u: float) -> FloatArray:
        """Random masses, by a uniform draw."""
        drawn, found, scratch = np.zeros(self.at.size), np.zeros(self.at.size), np.zeros(2 * self.at.size + 4)
        draw_masses(u, self.base, self.first, self.last, self.mass, drawn, np.zeros(self.mass.size), found, scratch)
        return found


def innermost(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turnbull's innermost intervals, ascending: from a lower end to the next end, where that is an upper one."""
    ends = np.concatenate([low, high])
    upper = np.repeat([0, 1], low.size)
    order = np.lexsort((upper, ends))
    ends, upper = ends[order], upper[order]
    meet = np.flatnonzero((upper[:-1] == 0) & (upper[1:] == 1))
    return ends[meet], ends[meet + 1]


def places_of(
    at: FloatArray,
    counts: FloatArray,
    low: FloatArray,
    high: FloatArray,
    many: FloatArray,
    bounds: tuple[float, float] | None = None,
) -> Places:
    """The places of outcomes that were seen, ascending and distinct, and of cuts.

    The most likely distribution has mass where outcomes were seen and where cuts meet without one: between the last
    lower end and the first upper end of some cuts (Turnbull 1976). Where in there says no outcome. It is placed at the
    end that is known, or in the middle if both are; with `bounds`, an open end is that of the declared rewards.
    """
    inner, outer = innermost(low, high)
    empty = np.searchsorted(at, inner, side="left") == np.searchsorted(at, outer, side="right")
    inner, outer = inner[empty], outer[empty]
    lowest, highest = (outer, inner) if bounds is None else bounds
    more = np.where(np.isinf(outer), highest, np.where(np.isinf(inner), lowest, 0.5 * inner + 0.5 * outer))
    joined = np.concatenate([at, more])
    order = np.argsort(joined, kind="stable")
    joined, base = joined[order], np.concatenate([counts, np.zeros(more.size)])[order]
    beyond = np.append(np.zeros(at.size, dtype=bool), np.isinf(inner) | np.isinf(outer))[order]
    first, last = np.searchsorted(joined, low, side="left"), np.searchsorted(joined, high, side="right")
    return Places(joined, base, first, last, many, beyond)


def value_of_masses(preference: Preference, at: FloatArray, masses: FloatArray) -> float:
    """The value of outcomes with masses (equation 1)."""
    return parts_of_masses(preference, at, masses).value


def parts_of_masses(preference: Preference, at: FloatArray, masses: FloatArray) -> Parts:
    """The gain part and the loss part of that value."""
    utility = preference.utilities(at)
    order = np.argsort(utility, kind="stable")
    utility, masses = utility[order], masses[order]
    beyond = np.cumsum(masses[::-1])[::-1]
    above = np.minimum(beyond / beyond[0], 1.0)
    below = np.minimum((np.cumsum(masses) - masses) / beyond[0], 1.0)
    return finite_parts(utility, above, below, preference.gains, preference.losses)


def in_a_sentence(what: str, preference: Preference, told: int, many: int, ends: Sequence[float], beyond: float) -> str:
    """How many of `told` outcomes are not finished, and what that leaves open.

    The ends are the least value that they may come to have, the estimated one, and the greatest.

    >>> in_a_sentence("trips", Preference(Identity(), costs=True), 4, 1, (-math.inf, -31.25, -28.75), 0.0)
    '1 of 4 trips is unfinished. The mean is 31.25 if they were cut off for other reasons than what would have come; \
    once they are known, it may be 28.75 or anything beyond.'
    """
    sign = -1.0 if preference.costs else 1.0
    low, value, high = sorted(sure_amount(preference, end) if math.isfinite(end) else sign * end for end in ends)
    between = f"between {low:.4g} and {high:.4g}"
    if math.isinf(low) or math.isinf(high):
        between = f"{low:.4g} or anything beyond" if math.isfinite(low) else f"{high:.4g} or anything below"
        between = "anything" if math.isinf(low) and math.isinf(high) else between
    are, felt = "is" if many == 1 else "are", "The mean is" if is_mean(preference) else "It feels like"
    said = (
        f"{many:,} of {told:,} {what} {are} unfinished. {felt} {value:.4g} if they were cut off for other "
        f"reasons than what would have come; once they are known, it may be {between}."
    )
    if beyond:
        said += f" {beyond:.1%} of the distribution lies beyond all that was seen, and counts as the last cut."
    return said


class Sweep(NamedTuple):
    """Outcomes and cuts in the order of the sweep of a product limit, in which cuts reach forward."""

    preference: Preference
    upward: bool
    at: FloatArray
    seen: FloatArray
    cut: FloatArray
    masses: FloatArray
    beyond: NDArray[np.bool_]

    @staticmethod
    def of(preference: Preference, places: Places) -> Sweep | None:
        """The sweep of outcomes and cuts; None if cuts lie on both sides."""
        upward = bool((places.last == places.at.size).all())  # every cut reaches up to the largest outcome
        if not upward and not bool((places.first == 0).all()):
            return None
        starts, most = (places.first if upward else places.last - 1), places.at.size
        cut = np.bincount(starts, places.mass, minlength=most).astype(np.float64)
        step = slice(None, None, 1 if upward else -1)
        seen = places.at[step], places.base[step], cut[step], places.masses()[step]
        return Sweep(preference, upward, *seen, places.beyond[step])

    @property
    def rises(self) -> bool:
        """Whether outcomes get better as the sweep goes."""
        return self.upward != self.preference.costs

    def at_risk(self) -> FloatArray:
        """How many outcomes reach each place and were not cut off at or before it."""
        return np.asarray(np.cumsum((self.seen + self.cut)[::-1])[::-1] - self.cut)

    def left(self) -> FloatArray:
        """G, the mass beyond each place."""
        return np.maximum(1.0 - np.cumsum(self.masses) / self.masses.sum(), 0.0)

    def known(self, start: int, rarest: float) -> int:
        """The number of places up to which the distribution is estimated."""
        left = self.left()
        before = np.append(1.0, left[:-1])
        # n_j / G is how many outcomes would have been at risk if what lies before j had not been seen
        enough = np.flatnonzero((self.seen > 0.0) & (self.at_risk() >= (1.0 - ROUNDED) * start * before))
        reached = int(enough[-1]) + 1 if enough.size else 0
        if reached == 0 or left[reached - 1] >= max(rarest, ROUNDED):
            return reached
        return self.at.size - bool(self.beyond[-1])

    def open_from(self, known: int, far: float) -> Sweep:
        """The same with all mass beyond the first `known` places at a far end."""
        rest, cut = self.masses[known:].sum(), self.seen[known:].sum() + self.cut[known:].sum()
        return self._replace(
            at=np.append(self.at[:known], far),
            seen=np.append(self.seen[:known], 0.0),
            cut=np.append(self.cut[:known], cut),
            masses=np.append(self.masses[:known], rest),
        )

    def value(self, masses: FloatArray) -> float:
        """The value of masses; infinite where mass at an infinite end has a positive weight."""
        weight, rest = self.preference.gains if self.rises else self.preference.losses, masses[-1] / masses.sum()
        if math.isinf(self.at[-1]) and weight(float(rest)) > 0.0:
            return math.inf if self.rises else -math.inf
        return value_of_masses(self.preference, self.finite(), masses)

    def finite(self) -> FloatArray:
        """The places, an infinite last one moved to its neighbour: for masses that have no weight there."""
        return np.append(self.at[:-1], self.at[-2:-1]) if math.isinf(self.at[-1]) else self.at

    def rates(self) -> FloatArray:
        """d / (n (n - d)) of each place, whose sums are the variance of log G (Greenwood 1926)."""
        at_risk = self.at_risk()
        some = (self.seen > 0.0) & (at_risk > self.seen)
        found = np.zeros(self.at.size)
        found[some] = self.seen[some] / (at_risk[some] * (at_risk[some] - self.seen[some]))
        return found

    def moved(self, multiple: float) -> tuple[float, float]:
        """The values where every G is less, and more, by a multiple of its own standard error."""
        left, ends = self.left()[:-1], []
        for sign in (-1.0, 1.0):
            moved = np.clip(left + sign * multiple * left * np.sqrt(np.cumsum(self.rates())[:-1]), 0.0, 1.0)
            moved = np.minimum.accumulate(moved) if sign < 0.0 else np.maximum.accumulate(moved[::-1])[::-1]
            ends.append(self.value(-np.diff(np.concatenate([[1.0], moved, [0.0]]))))
        return min(ends), max(ends)

    def influences(self) -> tuple[FloatArray, FloatArray]:
        """How an outcome at each place, and a cut there, moves the estimate, for weights that have a derivative.

        The estimated value is nearly a mean of influences: an outcome at x_j counts as the sum of a_i d_i / n_i up to
        there less a_j, and a cut as the sum before it, where a = N A / (n - d), and A is what the value loses if all G
        beyond shrink alike. Their mean is 0, and the mean of their squares over N is the sum of A^2 d / (n (n - d)).
        """
        preference, total, left = self.preference, self.masses.sum(), self.left()[:-1]
        utility = preference.utilities(self.finite())
        gain, loss = (np.abs(np.diff(side(utility, 0.0))) for side in (np.maximum, np.minimum))
        better, worse = (left, 1.0 - left) if self.rises else (1.0 - left, left)
        steep = gain * _derivative(preference.gains, better, total)
        steep += loss * _derivative(preference.losses, worse, total)
        reach = np.append(np.cumsum((steep * left)[::-1])[::-1], 0.0)  # A
        passed = total * np.cumsum(self.rates() * reach)
        each = total * reach / np.maximum(self.at_risk() - self.seen, 1.0) * (self.seen > 0.0)  # a
        sign = 1.0 if self.rises else -1.0
        return sign * (passed - each), sign * np.append(0.0, passed[:-1])

    def cumulants(self) -> tuple[float, float]:
        """The variance and the third cumulant of the estimated value, for weights that have a derivative."""
        total, influences = self.masses.sum(), np.concatenate(self.influences())
        counts = np.concatenate([self.seen, self.cut]) / total
        variance, third = (float(counts @ influences**power) / total ** (power - 1) for power in (2, 3))
        return variance, third


def _derivative(weight: Weight, p: FloatArray, samples: float) -> FloatArray:
    """How steep a weight is over one sample, as in `samples/influence.py`."""
    low, high = np.maximum(p - 0.5 / samples, 0.0), np.minimum(p + 0.5 / samples, 1.0)
    return (weight.of_tails(high, 1.0 - high) - weight.of_tails(low, 1.0 - low)) / (high - low)
