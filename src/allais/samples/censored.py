"""Samples with censored outcomes, of which only an interval is known: their most likely distribution and its value.

An outcome of which only "at least 30" is known counts for all that lies at 30 or beyond it, in proportion to what the
others show there. With cuts on one side that is the product-limit estimate (Kaplan and Meier 1958; Efron 1967:
redistribute to the right), and with cuts on both sides the self-consistent one (Turnbull 1976). Both are the
distribution that makes what was seen most likely. With random masses in the place of counts, the same two are draws of
the Bayesian bootstrap for censored data (Lo 1993). docs/theory/censored.md has the assumptions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, brief, finite_array, number
from allais._kernels import kernel, routine
from allais.errors import NotAdmitted
from allais.lotteries import Discrete
from allais.numerics.sums import Parts, finite_parts
from allais.preferences import Preference
from allais.rewards import Finite, Rewards
from allais.samples.draws import gamma, stream_of

CLOSE = 1e-9  # how far the most likely distribution may be from a fixed point, as a share of a mass
CLOSE_DRAW = 1e-4  # the same for a draw, which chance moves by far more
MOST_STEPS = 20_000  # of the iteration, should it come closer ever more slowly

Cut = tuple[float, float]  # the least and the greatest that an outcome may be, in the user's unit


def known_cut(at_least: Any = None, at_most: Any = None, between: Any = None) -> Cut:
    """What is known of an unfinished outcome, as the two ends of an interval; one end may be infinite.

    >>> known_cut(at_least=30), known_cut(between=(30, 60)), known_cut(between=(30, None))
    ((30.0, inf), (30.0, 60.0), (30.0, inf))
    """
    if between is not None:
        if at_least is not None or at_most is not None:
            raise ValueError("an unfinished outcome has between, or at_least and at_most; got both. Leave one out.")
        if isinstance(between, str) or not isinstance(between, Sequence | np.ndarray) or len(between) != 2:
            raise ValueError(f"between takes two numbers; got {brief(between)}. Write between=(30, 60).")
        at_least, at_most = between
    low = -math.inf if at_least is None else _end("at_least" if between is None else "between", at_least)
    high = math.inf if at_most is None else _end("at_most" if between is None else "between", at_most)
    if low == -math.inf and high == math.inf:
        raise ValueError(
            "an outcome is a number, or unfinished: at_least, at_most or between; got none. Say what is known."
        )
    if low > high:
        raise ValueError(f"an outcome lies between a lower and a higher end; got {low:g} and {high:g}. Swap them.")
    return low, high


def _end(name: str, given: Any) -> float:
    end = number(name, given, "Give what is known so far.")
    if not math.isfinite(end):
        raise ValueError(f"{name} must be finite; got {end}. Leave it out if nothing is known.")
    return end


def admitted_cut(cut: Cut, rewards: Rewards | None) -> Cut:
    """A cut as the declared rewards allow it: refused is one that no reward can meet."""
    if rewards is None:
        return cut
    low, high = rewards.support
    if isinstance(rewards, Finite):  # only a value that was declared can come
        inside = [value for value in rewards.values if cut[0] <= value <= cut[1]]
    else:
        inside = [max(cut[0], low)] if max(cut[0], low) <= min(cut[1], high) else []
    if not inside:
        raise NotAdmitted(
            f"an unfinished outcome must be able to end within {low:g} and {high:g}; got {in_words(cut)}. "
            "Widen Bounded(low, high): the guarantees rest on it."
        )
    return cut


def in_words(cut: Cut) -> str:
    """A cut as people say it.

    >>> in_words((30.0, math.inf)), in_words((30.0, 60.0))
    ('at least 30', 'between 30 and 60')
    """
    if math.isinf(cut[1]):
        return f"at least {cut[0]:g}"
    return f"at most {cut[1]:g}" if math.isinf(cut[0]) else f"between {cut[0]:g} and {cut[1]:g}"


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
    """Where cuts meet: the ends of what lies between the last lower end and the first upper end of some, ascending."""
    ends = np.concatenate([low, high])
    upper = np.repeat([0, 1], low.size)
    order = np.lexsort((upper, ends))
    ends, upper = ends[order], upper[order]
    meet = np.flatnonzero((upper[:-1] == 0) & (upper[1:] == 1))
    return ends[meet], ends[meet + 1]


def places_of(
    at: FloatArray, counts: FloatArray, low: FloatArray, high: FloatArray, many: FloatArray, bounds: Cut | None = None
) -> Places:
    """The places of outcomes that were seen, ascending and distinct, and of cuts.

    The most likely distribution has mass where outcomes were seen and where cuts meet without one: between the last
    lower end and the first upper end of some cuts (Turnbull 1976). Where in there says no outcome. It is placed at the
    end that is known, or in the middle if both are; with `bounds`, an open end is that of the declared rewards.
    """
    inner, outer = innermost(low, high)
    empty = np.searchsorted(at, inner, side="left") == np.searchsorted(at, outer, side="right")
    inner, outer = inner[empty], outer[empty]
    if bounds is not None:
        more = np.where(np.isinf(outer), bounds[1], np.where(np.isinf(inner), bounds[0], 0.5 * inner + 0.5 * outer))
    else:
        more = np.where(np.isinf(outer), inner, np.where(np.isinf(inner), outer, 0.5 * inner + 0.5 * outer))
    joined = np.concatenate([at, more])
    order = np.argsort(joined, kind="stable")
    joined, base = joined[order], np.concatenate([counts, np.zeros(more.size)])[order]
    first, last = np.searchsorted(joined, low, side="left"), np.searchsorted(joined, high, side="right")
    return Places(joined, base, first, last, many)


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


def ends_of_cuts(low: FloatArray, high: FloatArray, rewards: Rewards) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest that each unfinished outcome may be, by what is known about outcomes."""
    if isinstance(rewards, Finite):
        values = np.array(rewards.values)
        return values[np.searchsorted(values, low)], values[np.searchsorted(values, high, side="right") - 1]
    return np.maximum(low, rewards.support[0]), np.minimum(high, rewards.support[1])


@dataclass(frozen=True, init=False)
class CensoredSample:
    """Outcomes, of which some are not finished: of each of these, an interval is known.

    Its distribution rests on one assumption: that an outcome was cut off has nothing to do with what would have come.
    `bounds`, and the bands that take such a sample, rest on none.

    Args:
        exact: The outcomes that are known, in any order.
        at_least: Of unfinished outcomes, what each will be at least.
        at_most: What each will be at most.
        between: Pairs: what each will be at least and at most.

    >>> trips = CensoredSample([20, 25, 40], at_least=[30])  # minutes; the fourth is still under way
    >>> trips.distribution()
    Discrete({40: 0.5, 25: 0.25, 20: 0.25})
    >>> trips.unfinished, round(trips.value(expected_value(costs=True)), 3)
    (1, -31.25)
    """

    exact: FloatArray
    low: FloatArray
    high: FloatArray

    def __init__(
        self, exact: ArrayLike, at_least: ArrayLike = (), at_most: ArrayLike = (), between: Sequence[Any] = ()
    ) -> None:
        empty = isinstance(exact, Sequence | np.ndarray) and len(exact) == 0
        cuts = cuts_of(at_least, at_most, between)
        object.__setattr__(self, "exact", np.zeros(0) if empty and cuts else np.sort(finite_array("exact", exact)))
        object.__setattr__(self, "low", np.array([low for low, _ in cuts]))
        object.__setattr__(self, "high", np.array([high for _, high in cuts]))

    @property
    def unfinished(self) -> int:
        """How many outcomes are not finished."""
        return int(self.low.size)

    def __len__(self) -> int:
        return int(self.exact.size + self.low.size)

    def places(self, bounds: Cut | None = None) -> Places:
        """Where mass may lie, and which of it each cut reaches.

        Args:
            bounds: The bounds of the declared rewards, where mass beyond the last cut lies; None for the cut itself.
        """
        at, counts = np.unique(self.exact, return_counts=True)
        cuts, many = np.unique(np.stack([self.low, self.high], axis=1), axis=0, return_counts=True)
        return places_of(at, counts.astype(np.float64), cuts[:, 0], cuts[:, 1], many.astype(np.float64), bounds)

    def distribution(self, rewards: Rewards | None = None) -> Discrete:
        """The most likely distribution: product limit, or self-consistent where cuts lie on both sides.

        What lies beyond the last outcome is not known. It is placed at the last cut (Efron 1967), the least that it
        can be.

        Args:
            rewards: Declared rewards, to place it at their bound instead.

        >>> CensoredSample([20, 25], at_least=[30, 30]).distribution(Bounded(0, 60))
        Discrete({60: 0.5, 25: 0.25, 20: 0.25})
        """
        places = self.places(None if rewards is None else rewards.support)
        masses = places.masses()
        some = masses > 0.0
        shares = masses[some] / masses[some].sum()
        return Discrete(dict(zip(places.at[some].tolist(), shares.tolist(), strict=True)))

    def value(self, preference: Preference) -> float:
        """What the most likely distribution is worth.

        Args:
            preference: What is maximised.
        """
        places = self.places()
        return value_of_masses(preference, places.at, places.masses())

    def bounds(self, preference: Preference, rewards: Rewards) -> tuple[float, float]:
        """The least and the greatest value that the whole sample may come to have; nothing is assumed.

        Args:
            preference: What is maximised; its weights must be monotone.
            rewards: What is known about outcomes; where nothing bounds them, an end is infinite.

        >>> CensoredSample([20, 25, 40], at_least=[30]).bounds(expected_value(costs=True), Bounded(0, 60))
        (-36.25, -28.75)
        """
        require_monotone(preference)
        found = []
        for ends, beyond in zip(self.completed(rewards), (-math.inf, math.inf), strict=True):
            finite = bool(np.isfinite(ends).all())
            open_end = -beyond if preference.costs else beyond
            found.append(value_of_masses(preference, ends, np.ones(ends.size)) if finite else open_end)
        return min(found), max(found)

    def completed(self, rewards: Rewards) -> tuple[FloatArray, FloatArray]:
        """All outcomes, with each unfinished one at its lower end and at its upper end.

        Args:
            rewards: What is known about outcomes.
        """
        if self.exact.size:
            rewards.check(self.exact)
        for cut in zip(self.low.tolist(), self.high.tolist(), strict=True):
            admitted_cut(cut, rewards)
        ends = ends_of_cuts(self.low, self.high, rewards)
        return np.concatenate([self.exact, ends[0]]), np.concatenate([self.exact, ends[1]])


def cuts_of(at_least: ArrayLike = (), at_most: ArrayLike = (), between: Sequence[Any] = ()) -> list[Cut]:
    """The cuts of several unfinished outcomes."""
    listed = [np.atleast_1d(np.asarray(given, dtype=object)).ravel().tolist() for given in (at_least, at_most)]
    return [
        *(known_cut(at_least=end) for end in listed[0]),
        *(known_cut(at_most=end) for end in listed[1]),
        *(known_cut(between=pair) for pair in between),
    ]


def require_monotone(preference: Preference) -> None:
    """Refuse weights by which a better outcome may lower a value: the worse end of a cut is then not the lower one."""
    if not (preference.gains.is_monotone and preference.losses.is_monotone):
        raise ValueError("unfinished outcomes need weights that never fall; one of these does. Use a monotone weight.")
