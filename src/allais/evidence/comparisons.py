"""Two groups by one metric at one look: what each is worth, the difference, and how much stands against none.

Percentiles are judged by `bands/quantiles.py`: proven, for any distribution. Other preferences are judged by bets where
bounds are declared (proven), else by the normal approximation of their influence functions (asymptotic).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.bands import Interval
from allais.bands import quantiles as pairs
from allais.bands._curves import DOWN, UP
from allais.bands._wagers import AT, LOG, RESERVE, RISE, SPAN, no_wagers
from allais.bands.asymptotic import (
    LEAST,
    difference_ends,
    half_widths,
    log_chance,
    multiple,
    ratio_ends,
    require_unbroken,
)
from allais.bands.base import bounds_of
from allais.bands.betting import BAND, CERTAIN, bet_on, betting_rule, ends_by_bets, look_at
from allais.evidence.data import View
from allais.evidence.distributions import vague_at, value_at
from allais.numerics.table import table_of
from allais.preferences import Preference
from allais.preferences.named import in_words, preference_named
from allais.preferences.valuation import tail
from allais.rewards import Rewards
from allais.samples.influence import central_sums, rises_of_sorted
from allais.samples.layout import grown
from allais.samples.memory import empty_memory
from allais.weights import Identity, Step

Promise = Literal["proven", "asymptotic", "none"]
CELLS = 1_000  # of the amounts that are possible, at which bets are combined
HALVINGS = 60  # of a bracket, at most
FINEST = 1e-4  # of a difference: its end is found no closer
NONE = np.zeros(0)
MOST_LOOKED_AT = 100_000  # outcomes of a group, where its tail is judged


class Found(NamedTuple):
    """What one look says about a pair; amounts are in the unit of outcomes."""

    control: Interval
    group: Interval
    difference: Interval  # the group's amount less the control's
    relative: Interval | None  # as a share of the control's amount, where that is positive for sure
    log_evidence: float  # log of the e-value against "no difference"
    p: float  # the chance of as much, at any time, if there were none
    vague: tuple[str, str] = ("", "")  # 'at least' or 'at most', of amounts that lie among unfinished outcomes


class Metric(NamedTuple):
    """What groups are compared by, and how."""

    name: str
    preference: Preference
    level: float | None  # of a percentile
    rewards: Rewards | None  # bounds, where they are declared
    rarest: float | None
    delta: float  # of one comparison: both directions, all looks
    share: float  # of the control among both groups' units

    @property
    def kind(self) -> Literal["quantiles", "bets", "normal"]:
        """How groups are compared."""
        if self.level is not None:
            return "quantiles"
        return "normal" if self.rewards is None else "bets"

    @property
    def costs(self) -> bool:
        """Whether less is better."""
        return self.preference.costs

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of outcomes, and nothing else."""
        weights = self.preference.gains, self.preference.losses
        return self.preference.utility is None and all(isinstance(weight, Identity) for weight in weights)

    @property
    def words(self) -> str:
        """What it is, as a sentence has it."""
        return in_words(self.preference)

    @property
    def promise(self) -> Promise:
        """What intervals and verdicts rest on."""
        return "asymptotic" if self.kind == "normal" else "proven"

    def compare(self, control: View, group: View, kept: dict[Any, Bets]) -> Found:
        """What a look says; `kept` has what was bet at earlier looks."""
        if self.kind == "quantiles":
            return _by_quantiles(self, control, group)
        return _by_bets(self, control, group, kept) if self.kind == "bets" else _by_normal(self, control, group)

    def doubt(self, views: Sequence[View]) -> str:
        """Why an asymptotic promise is withdrawn; nothing where it is not."""
        for view in views if self.kind == "normal" else ():
            sample = view.outcome[:: view.count // MOST_LOOKED_AT + 1]
            found = tail(self.preference, sample, np.ones(sample.size))
            if found.heavy:
                return (
                    f"{found.share:.0%} of the variance of a group rests on its {found.extreme} most extreme outcomes: "
                    "the central limit theorem may not hold yet. Declare bounds, or compare a percentile."
                )
        return ""


def metric_of(
    by: str | Preference, costs: bool, rewards: Rewards | None, rarest: float | None, delta: float, share: float
) -> Metric:
    """A metric, checked.

    >>> metric_of("p95", True, None, None, 0.05, 0.5).level
    0.95
    """
    preference = preference_named(by, costs=costs) if isinstance(by, str) else by
    if not isinstance(preference, Preference):
        raise TypeError(f"groups are compared by a preference, or by its name, such as 'p95'; got {by!r}. Give one.")
    name = by if isinstance(by, str) else in_words(preference)
    level = None
    if isinstance(preference.gains, Step) and preference.losses == preference.gains.dual():
        at = preference.gains.at
        level = at if preference.costs else round(1.0 - at, 15)
    elif rewards is not None:
        betting_rule(preference, [rewards], 1.0, 1.0, 1.0)  # refuses what bets say nothing about
    elif rarest is None:
        raise ValueError(
            f"without bounds of the outcomes, {name!r} is judged asymptotically, and rare events may be missed; got "
            "neither bounds nor rarest. Declare the bounds (--bounds 0,100), or rarest=0.01 (--rarest 0.01): the "
            "rarest event that matters."
        )
    else:
        require_unbroken(preference)
    return Metric(name, preference, level, rewards, rarest, delta, share)


# -- percentiles ----------------------------------------------------------------------------------


def _by_quantiles(metric: Metric, control: View, group: View) -> Found:
    """By order statistics; each unfinished outcome is where it is worse for what is claimed."""
    assert metric.level is not None
    (low_first, high_first), (low_second, high_second) = (
        [one.sorted for one in view.ends] for view in (control, group)
    )
    level, log = metric.level, control.side.log
    tables = pairs.tilts(level, metric.share), pairs.tilts(level, 1.0 - metric.share)
    exponent = math.log(2.0 / metric.delta)  # either direction may err
    first, second = (
        Interval(
            log.known(pairs.interval(least, level, exponent)[0]),
            value_at(view.sorted, level),
            log.known(pairs.interval(most, level, exponent)[1]),
        )
        for view, least, most in ((control, low_first, high_first), (group, low_second, high_second))
    )

    def excess(relative: bool) -> pairs.Ends:
        """By how much the second quantile exceeds the first."""
        found = pairs.difference(high_first, low_second, tables, exponent, relative=relative)
        if log.reach is None:
            return found
        other = pairs.difference(low_first, high_second, tables, exponent, relative=relative)
        return log.known_excess(found[0], other[1], relative=relative)

    low, high = excess(False)
    relative = None
    never_negative = _never_negative(control, group) and low_first.outcomes[0] >= 0.0
    if min(first.low, second.low) > 0.0 or (first.value > 0.0 and never_negative):
        ratios = excess(True)
        relative = Interval(ratios[0], second.value / first.value - 1.0, ratios[1])
    evidence = max(
        pairs.joint_evidence(high_first, low_second, tables[0]), pairs.joint_evidence(high_second, low_first, tables[1])
    )
    found = evidence - math.log(2.0)
    difference = Interval(low, second.value - first.value, high)
    vague = vague_at(control, level), vague_at(group, level)
    return Found(first, second, difference, relative, found, math.exp(min(-found, 0.0)), vague)


# -- bets -----------------------------------------------------------------------------------------


class Bets:
    """What was won against a group's amounts."""

    def __init__(self, metric: Metric) -> None:
        self.preference, self.rewards, self.delta = metric.preference, _declared(metric), metric.delta
        exponent = math.log(2.0 / metric.delta)
        within = math.log(4.0 / (BAND * metric.delta))  # four sides: each group's, from above and from below
        self.band = betting_rule(self.preference, [self.rewards], exponent, within, within)
        self.memory, self.own, self.done = empty_memory(1), no_wagers(1), 0
        self._is_mean = metric.is_mean

    def look(self, view: View) -> Bets:
        """Bet on what has come, and write what was won. A user is one bet, so users are bet on anew at every look."""
        outcomes = view.outcome
        if view.each is not None:
            # a user's mean is within the bounds, too; of what is distorted, one outcome of each user is taken
            outcomes = view.means_of_users() if self._is_mean else view.one_of_each_user()
            self.memory, self.own, self.done = empty_memory(1), no_wagers(1), 0
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
        """log of what was won against "the amount is at least (or at most) so much": lines lie below it."""
        value = self.preference.utilities(amounts)
        side = UP if at_least != self.preference.costs else DOWN
        low, high = float(self.band.low[0]), float(self.band.high[0])
        q = value - low if side == UP else high - value
        at, log, rise, span = (self.own.table[0, side, part] for part in (AT, LOG, RISE, SPAN))
        beyond = q[:, None] - at
        lines = np.where((beyond >= 0.0) | np.isinf(span), log + rise * np.minimum(beyond, span), -np.inf)
        found = np.maximum(lines.max(axis=1), math.log(RESERVE))
        return np.where(q > self.own.limit[0, side], CERTAIN, found)


def _by_bets(metric: Metric, control: View, group: View, kept: dict[Any, Bets]) -> Found:
    first, second = (
        kept.setdefault((metric.name, id(view.side)), Bets(metric)).look(view) for view in (control, group)
    )
    ends = np.array([*first.interval, *second.interval])
    bounds = np.sort(metric.preference.outcomes_of(np.array(bounds_of(metric.preference, _declared(metric)))))
    middle, reach = 0.5 * (ends.min() + ends.max()), max(0.5 * float(np.ptp(ends)), 1e-9 * float(np.ptp(bounds)))
    # even around both groups, and wider and wider beyond
    start, end = np.arcsinh((bounds - middle) / reach)
    cells = middle + reach * np.sinh(np.linspace(start, end, CELLS))
    share_of_bets = 1.0 - BAND if first.band.needs_band else 1.0
    exponent = math.log(2.0 / (metric.delta * share_of_bets))

    def excess(lower: Bets, upper: Bets, by: float, relative: bool) -> float:
        """log evidence for "the upper amount exceeds the lower one by more": the least over the lower one's cells."""
        left, right = cells[:-1], cells[1:]
        if relative:
            left, right = left[right > 0.0], right[right > 0.0]
        beyond = right * (1.0 + by) if relative else right + by
        return float((lower.against(left, at_least=True) + upper.against(beyond, at_least=False)).min())

    width = float(bounds[1] - bounds[0])
    difference = Interval(
        _greatest(lambda by: excess(first, second, by, False), exponent, -width, width),
        second.interval.value - first.interval.value,
        -_greatest(lambda by: excess(second, first, by, False), exponent, -width, width),
    )
    relative = None
    if first.interval.low > 0.0 and (second.interval.low > 0.0 or bounds[0] >= 0.0):
        back = _greatest(lambda by: excess(second, first, by, True), exponent, -1.0, 1e3)
        low = _greatest(lambda by: excess(first, second, by, True), exponent, -1.0, 1e3)
        high = -back / (1.0 + back) if back > -1.0 else math.inf
        relative = Interval(low, second.interval.value / first.interval.value - 1.0, high)
    log = max(excess(first, second, 0.0, False), excess(second, first, 0.0, False)) - math.log(2.0)
    p = math.exp(min(-log, 0.0))
    if first.band.needs_band:  # the bets stand on a band of the distribution, which may fail, too
        p = min(p + BAND * metric.delta, 1.0)
        log = math.log(_calibrated(p))
    return Found(first.interval, second.interval, difference, relative, log, p)


def _declared(metric: Metric) -> Rewards:
    assert metric.rewards is not None
    return metric.rewards


def _greatest(evidence: Callable[[float], float], exponent: float, left: float, right: float) -> float:
    """The greatest difference that is exceeded beyond doubt: the evidence falls with it."""
    if evidence(left) < exponent:
        return left
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        if evidence(middle) >= exponent:
            left = middle
        else:
            right = middle
        if right - left <= FINEST * max(abs(left), abs(right)):
            break
    return left


# -- the normal approximation ---------------------------------------------------------------------


class Moments(NamedTuple):
    """A group's amount, and the variance and the third cumulant of its estimate."""

    amount: float
    variance: float
    third: float
    units: int


def moments_of(preference: Preference, view: View) -> Moments:
    """By the influence function of a unit (docs/theory/asymptotic.md): the mean of that of its outcomes."""
    felt, units, users = view.felt(preference), view.users, view.by_user
    each = None if users is None else np.diff(view.sorted.before)
    if preference.costs:  # ascending utilities
        felt = np.ascontiguousarray(felt[::-1])
        users, each = (None, None) if users is None or each is None else (users[::-1], np.ascontiguousarray(each[::-1]))
    if isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity):
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
    step = 1e-6 * max(math.sqrt(variance / units), 1e-9 * abs(value), 1e-12)
    low, amount, high = preference.outcomes_of(np.array([value - step, value, value + step])).tolist()
    slope = (high - low) / (2.0 * step) if preference.utility is not None else (-1.0 if preference.costs else 1.0)
    return Moments(amount, slope**2 * variance / units, slope**3 * third / units**2, units)


def _by_normal(metric: Metric, control: View, group: View) -> Found:
    assert metric.rarest is not None
    first, second = moments_of(metric.preference, control), moments_of(metric.preference, group)
    # half of the failures are left to the central limit theorem, and half to events that a group did not show
    least = max(math.ceil(math.log(4.0 / metric.delta) / -math.log1p(-metric.rarest)), LEAST)
    clock = math.log(max(2.0 * first.units * second.units / ((first.units + second.units) * least), 1.0))
    squared = widest(metric.delta) ** 2 + clock

    def own(one: Moments) -> Interval:
        if one.units < least:
            return Interval(-math.inf, one.amount, math.inf)
        down, up = half_widths(squared, one.variance, one.third, one.units - 1.0)
        return Interval(one.amount - down, one.amount, one.amount + up)

    intervals, difference = (own(first), own(second)), second.amount - first.amount
    if min(first.units, second.units) < least:
        return Found(*intervals, Interval(-math.inf, difference, math.inf), None, 0.0, 1.0)
    pair, relative = np.array([first, second]), None
    low, high = difference_ends(pair, squared)
    if intervals[0].low > 0.0:
        least_ratio, most_ratio = ratio_ends(pair, squared)
        if _never_negative(control, group):
            least_ratio = max(least_ratio, 0.0)
        relative = Interval(least_ratio - 1.0, second.amount / first.amount - 1.0, most_ratio - 1.0)
    p = math.exp(float(log_chance(pair, clock)))
    return Found(*intervals, Interval(low, difference, high), relative, math.log(_calibrated(p)), p)


def _never_negative(*views: View) -> bool:
    return all(view.sorted.outcomes[0] >= 0.0 for view in views)


def widest(delta: float) -> float:
    """a: a Brownian motion leaves +- sqrt(a^2 + log(n / m)) standard errors, ever, with half of this probability."""
    return float(multiple(math.log(2.0 / delta), True))


def _calibrated(p: float) -> float:
    """An e-value of an always-valid p-value: the mixture of all power calibrators (Vovk and Wang 2021)."""
    log = math.log(max(p, 1e-300))
    return 1.0 if p >= 1.0 else max((1.0 - p + p * log) / (max(p, 1e-300) * log**2), 1e-300)
