"""What is known of one group's amount: the wealth of bets against it, or the moments of its estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.bands import Interval
from allais.bands._curves import DOWN, UP
from allais.bands._wagers import no_wagers
from allais.bands.asymptotic import difference_ends, half_widths, log_chance, ratio_ends
from allais.bands.betting import BAND, bet_on, betting_rule, ends_by_bets, evidence_against, look_at
from allais.bands.quantiles import Sorted
from allais.evidence.data import View
from allais.evidence.distributions import pair_of, shown
from allais.numerics.table import table_of
from allais.preferences import Preference
from allais.preferences.valuation import is_mean, is_undistorted
from allais.rewards import Rewards
from allais.samples.censored import Sweep, places_of, value_of_masses
from allais.samples.cuts import admitted_cut
from allais.samples.influence import central_sums, rises_of_sorted
from allais.samples.layout import grown
from allais.samples.memory import empty_memory

NONE = np.zeros(0)
TWO_SIDES = (
    "an asymptotic verdict needs unfinished outcomes on one side, all at_least or all at_most; got both. Declare the "
    "bounds (--bounds 0,100), or compare a percentile."
)
LEVELS = 1.0 / (1.0 + np.exp(-np.linspace(-9.0, 9.0, 300)))  # of percentiles whose intervals bound a distribution


class Bets:
    """Bets against a group's amounts, and their wealth."""

    def __init__(self, preference: Preference, rewards: Rewards, delta: float) -> None:
        self.preference, self.rewards, self.delta = preference, rewards, delta
        exponent = math.log(2.0 / delta)
        within = math.log(4.0 / (BAND * delta))  # four sides: each group's, from above and from below
        self.band = betting_rule(preference, [rewards], exponent, within, within)
        self._begin()

    def _begin(self) -> None:
        self.memory, self.own, self.done = empty_memory(1), no_wagers(1), 0

    def look(self, view: View) -> Bets:
        """Bet on outcomes that are new. A user is one bet, so users are bet on anew at every look."""
        outcomes = view.outcome
        if view.each is not None:
            # a user's mean is within the bounds, too; of what is distorted, one outcome of each user is taken
            outcomes = view.means_of_users() if is_mean(self.preference) else view.one_of_each_user()
            self._begin()
        if outcomes.size > self.done:  # else there was none since the last look
            checked, done = self.rewards.check(outcomes[self.done :]), 0
            utilities = self.preference.utilities(checked)
            while (done := int(bet_on(self.band, self.own, self.memory, utilities, checked, done))) < checked.size:
                self.memory = grown(self.memory, 0)
        self.done = outcomes.size
        self.memory.value[0] = self.preference.estimate(outcomes)
        self.own.looked[0] = 0
        for side in (UP, DOWN):
            look_at(self.band, self.own, self.memory, 0, side)
        ends = ends_by_bets(self.band, self.own, self.memory, 0, math.log(1.0 / self.delta))
        low, high = (float(end) for end in ends)
        amounts = self.preference.outcomes_of(np.array([low, float(self.memory.value[0]), high]))
        self.interval = Interval(*(np.sort(amounts).tolist()))
        return self

    def against(self, amounts: FloatArray, *, at_least: bool) -> FloatArray:
        """A lower bound on the log wealth of bets against "the amount is at least (or at most) so much"."""
        value = self.preference.utilities(amounts)
        side = UP if at_least != self.preference.costs else DOWN
        low, high = float(self.band.low[0]), float(self.band.high[0])
        q = value - low if side == UP else high - value
        found = np.empty(q.size)
        evidence_against(self.own, 0, side, q, found)
        return found


class Moments(NamedTuple):
    """A group's amount, and the variance and the third cumulant of its estimate."""

    amount: float
    variance: float
    third: float
    units: float  # that are finished


def moments_of(preference: Preference, view: View) -> Moments:
    """By the influence function of a unit (docs/theory/asymptotic.md): the mean of that of its outcomes."""
    felt, units, users = view.felt(preference), view.users, view.by_user
    each = None if users is None else np.diff(view.sorted.before)
    if preference.costs:  # ascending utilities
        felt = np.ascontiguousarray(felt[::-1])
        users, each = (None, None) if users is None or each is None else (users[::-1], np.ascontiguousarray(each[::-1]))
    if is_undistorted(preference):
        if view.side.adjusted is not None:
            felt = preference.utilities(view.side.adjusted[: view.count])
            each = view.each
            users = None if view.side.user is None else view.side.user[: view.count]
        influence, value = felt, float(felt.sum() if each is None else felt @ each) / units
    else:
        influence = np.empty(felt.size)
        tables = table_of(preference.gains), table_of(preference.losses)
        value = float(rises_of_sorted(*tables, felt, NONE if each is None else each, float(units), influence))
    if users is not None:
        assert each is not None
        influence = np.bincount(users, weights=influence * each, minlength=units).astype(np.float64)
    squares, cubes = central_sums(influence)
    variance, third = squares / max(units - 1, 1), cubes / units
    return _in_amounts(preference, value, variance / units, third / units**2, units)


def _in_amounts(preference: Preference, value: float, variance: float, third: float, units: float) -> Moments:
    if math.isinf(value):
        return Moments(shown(preference, value), 0.0, 0.0, units)
    step = 1e-6 * max(math.sqrt(variance), 1e-9 * abs(value), 1e-12)
    low, amount, high = preference.outcomes_of(np.array([value - step, value, value + step])).tolist()
    slope = (high - low) / (2.0 * step) if preference.utility is not None else (-1.0 if preference.costs else 1.0)
    return Moments(amount, slope**2 * variance, slope**3 * third, units)


# -- outcomes that are not finished ---------------------------------------------------------------


def estimates_of(preference: Preference, view: View, least: int, rarest: float) -> list[Moments]:
    """The moments of a group's amount; two, if a part lies beyond all that was seen: with it as near, and as far, as
    possible.

    The product limit has Greenwood's variance, as the sum of the influences of what was seen (docs/theory/censored.md).
    The rarest event would have been shown by `least` units.
    """
    if not view.unfinished:
        return [moments_of(preference, view)]
    low, high = view.reach
    each, cut = np.ones(view.count) if view.each is None else view.each, low < high
    at, which = np.unique(low[~cut], return_inverse=True)
    ends, many = np.unique(np.stack([low[cut], high[cut]], axis=1), axis=0, return_inverse=True)
    base, mass = (np.bincount(one.ravel(), each[part]).astype(np.float64) for one, part in ((which, ~cut), (many, cut)))
    places = places_of(at, base, ends[:, 0], ends[:, 1], mass)
    sweep = Sweep.of(preference, places)
    if sweep is None:
        raise ValueError(TWO_SIDES)
    place = np.empty(view.count, dtype=np.int64)  # of each outcome, in the order of the sweep
    place[~cut] = np.searchsorted(places.at, low[~cut])
    place[cut] = (places.first if sweep.upward else places.last - 1)[many.ravel()]
    place = place if sweep.upward else places.at.size - 1 - place
    known, found = sweep.known(least, rarest), []
    sweeps = [sweep]
    if known < sweep.at.size:
        sweeps.append(sweep.open_from(known, math.inf if sweep.upward else -math.inf))
    for one in sweeps:
        value = one.value(one.masses)
        variance = third = 0.0
        if not math.isinf(value):
            seen, gone = one.influences()
            last = one.at.size - 1
            inside = np.minimum(place, last)
            moved = np.where(cut | (place > inside) | (one.seen[inside] == 0.0), gone[inside], seen[inside]) * each
            if view.side.user is not None:
                moved = np.bincount(view.side.user[: view.count], weights=moved).astype(np.float64)
            variance, third = (float((moved**power).sum()) / view.users**power for power in (2, 3))
        found.append(_in_amounts(preference, value, variance, third, float(each[~cut].sum())))
    return found


def normal_ends(
    first: Sequence[Moments], second: Sequence[Moments], squared: float, clock: float
) -> tuple[Interval, Interval, float]:
    """The second amount less the first, and as a multiple of it, wherever what is open lies; and the chance of as much.

    Intervals reach so many standard errors as the root of `squared`, of which `clock` is for looking at any time.
    """
    differences, ratios, chances, sides = [], [], [], set()
    for one, other in product(first, second):
        if math.isinf(one.amount) and math.isinf(other.amount):
            continue  # between the pairs in which one of them is finite
        sides.add(float(np.sign(other.amount - one.amount)))
        if math.isinf(one.amount) or math.isinf(other.amount):
            differences.append((other.amount - one.amount,) * 2)
            ratios.append((other.amount / one.amount,) * 2)
            continue
        pair = np.array([one, other])
        differences.append(difference_ends(pair, squared))
        ratios.append(ratio_ends(pair, squared) if one.amount > 0.0 else (-math.inf, math.inf))
        chances.append(math.exp(float(log_chance(pair, clock))))
    value = second[0].amount - first[0].amount
    whole = Interval(min(low for low, _ in differences), value, max(high for _, high in differences))
    ratio = second[0].amount / first[0].amount if first[0].amount else math.inf
    share = Interval(min(low for low, _ in ratios), ratio, max(high for _, high in ratios))
    return whole, share, max(chances) if len(sides) == 1 else 1.0


def own_interval(found: Sequence[Moments], squared: float) -> Interval:
    """A group's amount, wherever what is open lies."""
    ends = []
    for one in found:
        down, up = half_widths(squared, one.variance, one.third, max(one.units - 1.0, 1.0))
        ends += [one.amount - down, one.amount + up]
    return Interval(min(ends), found[0].amount, max(ends))


def amount_of(preference: Preference, group: Sorted) -> float:
    """A group's own amount."""
    return shown(preference, value_of_masses(preference, group.outcomes, np.diff(group.before)))


def interval_of_levels(view: View, preference: Preference, rewards: Rewards, exponent: float) -> Interval:
    """A group's amount by intervals of percentiles, each with unfinished outcomes where they are worse for it.

    All of them hold, ever, but for a chance of e^-exponent, and then the distribution lies between two that are known.
    What is bet depends on what was seen before, so bets on the worse ends would not be below those on the outcomes.
    """
    (low, high), support, each = view.reach, rewards.support, exponent + math.log(LEVELS.size)
    if view.unfinished < view.count:
        rewards.check(low[low == high])
    for row in np.flatnonzero((low > support[1]) | (high < support[0]))[:1].tolist():
        admitted_cut((float(low[row]), float(high[row])), rewards)  # raises, and says which rule was broken
    masses = np.diff(LEVELS, prepend=0.0, append=1.0)
    least, most = np.clip([view.quantile_ends(level, each) for level in LEVELS.tolist()], *support).T
    ends = np.append(support[0], least), np.append(most, support[1])
    low_end, high_end = pair_of(preference, *(value_of_masses(preference, one, masses) for one in ends))
    return Interval(low_end, min(max(amount_of(preference, view.sorted), low_end), high_end), high_end)
