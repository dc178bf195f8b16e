"""What was planned, shares of units and margins, and how long a test will take."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, brief, finite_array, positive, real, share, truth
from allais.bands import Interval, quantiles
from allais.evidence._estimates import moments_of
from allais.evidence.comparisons import Found, Metric, metric_of, widest
from allais.evidence.data import Log
from allais.evidence.tables import DAY
from allais.preferences import Preference
from allais.preferences.valuation import is_mean, plain
from allais.rewards import Bounded, Rewards
from allais.samples.cuts import require_monotone

STRENGTH = 100.0  # of the mixture around the planned shares, in units: shares that are off by a tenth or more
LEAST_SHOWN = 1e-99  # of chances
ALARM = 0.01  # the chance of a false alarm, ever: an alarm stops all verdicts
Word = Literal["better", "worse", "no worse than the margin", "equal within the margin", "not yet"]
MOST_DAYS = 10_000.0  # later is never


@dataclass(frozen=True)
class SampleRatio:
    """How many units each group has, and whether that fits the plan.

    Attributes:
        counts: Units of each group: users, or outcomes where no users are known.
        planned: The share of each group.
        p_value: The chance of shares that are as far off at any time, if the plan was kept.
        fires: Whether the shares are not those of the plan. Then something else than the versions differs between the
            groups (lost outcomes, robots, a broken assignment), and no verdict is given.
    """

    counts: dict[Hashable, int]
    planned: dict[Hashable, float]
    p_value: float

    @property
    def fires(self) -> bool:
        """Whether the shares are not those that were planned."""
        return self.p_value < ALARM

    def __str__(self) -> str:
        total = sum(self.counts.values())
        each = ", ".join(f"{name}: {count:,} ({count / total:.2%})" for name, count in self.counts.items())
        plan = ", ".join(f"{part:.4g}" for part in self.planned.values())
        if self.fires:
            chance = f"{self.p_value:.1g}" if self.p_value > LEAST_SHOWN else f"below {LEAST_SHOWN:g}"
            return (
                f"The groups do not have the shares that were planned ({plan}): {each}; the chance of this is "
                f"{chance}. Find out why, or declare the shares that were planned (shares=, --shares)."
            )
        return f"The groups have about the shares that were planned ({plan}): {each}."


def log_ratio_evidence(counts: ArrayLike, planned: FloatArray) -> FloatArray:
    """log of the e-value against planned shares: a Dirichlet mixture of multinomials (Lindon and Malek 2022).

    Counts have one row per look, with the units of each group.

    >>> log_ratio_evidence([[500, 500], [5_000, 5_600]], np.array([0.5, 0.5])).round(1)
    array([-0.9, 14.7])
    """
    seen = np.atleast_2d(np.asarray(counts, dtype=np.float64))
    prior = STRENGTH * planned * planned.size
    total = scipy.special.gammaln(prior.sum()) - scipy.special.gammaln(prior.sum() + seen.sum(axis=1))
    each = scipy.special.gammaln(prior + seen) - scipy.special.gammaln(prior) - seen * np.log(planned)
    return np.asarray(total + each.sum(axis=1))


def planned_shares(given: Any, names: Sequence[Hashable]) -> FloatArray | None:
    """The shares that were planned, in the order of the groups; None where they are not to be tested.

    >>> planned_shares({"a": 9, "b": 1}, ["a", "b"])
    array([0.9, 0.1])
    """
    if given == "any":
        return None
    if given is None:
        return np.full(len(names), 1.0 / len(names))
    if not isinstance(given, Mapping) or {str(name) for name in given} != {str(name) for name in names}:
        there = ", ".join(map(brief, names))
        raise ValueError(f"shares name every group once ({there}); got {brief(given)}. Write one number for each.")
    parts = {str(name): positive(f"the share of {brief(name)}", part) for name, part in given.items()}
    found = np.array([parts[str(name)] for name in names])
    return np.asarray(found / found.sum())


def sample_ratio(log: Log, planned: FloatArray | None, rows: Sequence[int]) -> SampleRatio:
    """The shares at the last look, and the always-valid p-value over all looks."""
    counts = np.array([[side.units(row) for side in log.sides] for row in rows], dtype=np.int64)
    p, expected = 1.0, {}
    if planned is not None:
        p = math.exp(min(-float(log_ratio_evidence(counts, planned).max()), 0.0))
        expected = dict(zip(log.names, planned.tolist(), strict=True))
    return SampleRatio(dict(zip(log.names, counts[-1].tolist(), strict=True)), expected, p)


class Margin(NamedTuple):
    """How much worse is still fine."""

    size: float
    relative: bool

    def __str__(self) -> str:
        return f"{100.0 * self.size:g}%" if self.relative else plain(self.size)


def margin_of(given: Any) -> Margin | None:
    """The margin, from '5%' or a number in the unit of outcomes.

    >>> margin_of("5%"), margin_of(20)
    (Margin(size=0.05, relative=True), Margin(size=20.0, relative=False))
    """
    if given is None:
        return None
    text = str(given).strip()
    relative = text.endswith("%")
    try:
        size = real("a margin", float(text.removesuffix("%")) / (100.0 if relative else 1.0))
    except ValueError:
        raise ValueError(f"a margin is a share such as '5%', or a number; got {brief(given)}. Write one.") from None
    if size <= 0.0:
        raise ValueError(
            f"a margin says how much worse is still fine, so it is above 0; got {brief(given)}. Leave the sign out: "
            "costs= (--less-is-better, --more-is-better) says which direction is worse."
        )
    return Margin(size, relative)


class Guard(NamedTuple):
    """A guardrail of a verdict: a metric of another column, by which a group must be no worse.

    >>> Guard("ms", "p99", "5%").no_worse_than
    '5%'
    """

    column: str
    by: str | Preference
    no_worse_than: str | float  # how much worse is still fine: a share such as '5%', or a number in the column's unit
    costs: bool = True  # whether less is better
    bounds: tuple[float, float] | Rewards | None = None  # of the column, for metrics that are no percentile
    unit: str = ""


@dataclass(frozen=True)
class Forecast:
    """How long a test will take.

    Attributes:
        units: Users, or outcomes, that each group needs; infinite where the groups may not differ at all.
        days: How many days that takes from now on; None where no traffic is known.
        of: What units are: users or outcomes.
    """

    units: float
    days: float | None = None
    of: str = "outcomes"

    def __str__(self) -> str:
        if not math.isfinite(self.units) or (self.days is not None and self.days > MOST_DAYS):
            return "No end is in sight: the difference is too small for the traffic."
        text = f"About {round(self.units, 1 - len(str(round(self.units)))):,.0f} {self.of} in each group decide it"
        if self.days is None:
            return f"{text}."
        return f"{text}: {'another day' if self.days <= 1.0 else f'about {math.ceil(self.days):,} more days'}."


def still_needed(
    difference: Interval, relative: Interval | None, margin: Margin | None, costs: bool, units: float, log: Log
) -> Forecast | None:
    """When an interval will exclude 0 or the margin, if the estimate stays: widths fall like 1 / sqrt(units)."""

    def growth(of: Interval, ends: Sequence[float]) -> Iterator[float]:
        low, value, high = of if costs else Interval(-of.high, -of.value, -of.low)
        for end in ends:
            half = value - low if value > end else high - value
            gap = abs(value - end)
            if math.isfinite(half) and gap > 0.0 and not (end > 0.0 and value > end):
                yield (half / gap) ** 2

    found = list(growth(difference, [0.0] if margin is None or margin.relative else [0.0, margin.size]))
    if margin is not None and margin.relative and relative is not None:
        found += list(growth(relative, [margin.size]))
    if not found:
        return None
    needed = units * max(min(found), 1.0)
    days = None
    if log.time is not None and log.time[-1] > log.time[0]:
        per_day = units / ((float(log.time[-1]) - float(log.time[0])) / DAY)
        days = (needed - units) / per_day
    return Forecast(needed, days, "outcomes" if log.user is None else "users")


def forecast(
    outcomes: ArrayLike,
    by: str | Preference = "mean",
    *,
    change: float,
    per_day: float | None = None,
    costs: bool = True,
    rarest: float = 0.01,
    delta: float = 0.05,
) -> Forecast:
    """How many outcomes a test needs to find a change, from a pilot: outcomes of the control alone.

    Args:
        outcomes: Outcomes of a pilot, or of any day before the test.
        by: What groups are compared by, such as 'p95' or 'mean'.
        change: The relative change of all outcomes that is to be found, such as 0.05.
        per_day: Outcomes of each group and day.
        costs: Whether less is better.
        rarest: The rarest event that matters, where `by` is no percentile.
        delta: The error rate of the test.

    >>> from allais.evidence import forecast  # `searches` has one, too
    >>> waits = np.random.default_rng(1).lognormal(size=5_000)
    >>> plan = forecast(waits, "p95", change=0.15, per_day=1_000)
    >>> 3_000 < plan.units < 9_000
    True
    """
    seen = finite_array("outcomes", outcomes)
    delta = share("delta", delta, advice="Give a share of 1, such as 0.05.")
    if not (math.isfinite(change) and change != 0.0 and change > -1.0):
        raise ValueError(f"a change is a share of the outcomes, such as 0.05; got {brief(change)}. Give one, not 0.")
    metric = metric_of(by, costs, None, rarest, delta, 0.5)
    low_ends = [(part, _low_end(one, seen, change)) for part, one in metric.parts or [(1.0, metric)]]

    def decided(units: float) -> bool:
        return sum(part * low(units) for part, low in low_ends) > 0.0

    low, high = 1.0, 1.0
    while not decided(high):
        low, high = high, 2.0 * high
        if high > 1e15:
            return Forecast(math.inf, None if per_day is None else math.inf)
    for _ in range(20):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if decided(middle) else (middle, high)
    return Forecast(high, None if per_day is None else high / positive("per_day", per_day))


def _low_end(metric: Metric, seen: FloatArray, change: float) -> Callable[[float], float]:
    """The low end of the interval of the size of the change, as a function of the units in each group."""
    if metric.level is not None:
        table, exponent = quantiles.tilts(metric.level), math.log(2.0 / metric.delta)
        groups = [np.sort(seen * factor) for factor in sorted((1.0, 1.0 + change))]
        before = np.arange(seen.size + 1.0) / seen.size

        def by_order(units: float) -> float:
            lower, upper = (quantiles.Sorted(group, units * before) for group in groups)
            return quantiles.difference(lower, upper, (table, table), exponent, relative=False)[0]

        return by_order
    assert metric.rarest is not None
    log = Log(("pilot",), np.zeros(seen.size, dtype=np.int64), seen, None, None)
    of_one = moments_of(metric.preference, log.sides[0].upto(seen.size))
    least = math.log(4.0 / metric.delta) / -math.log1p(-metric.rarest)
    variance = of_one.variance * of_one.units * (1.0 + (1.0 + change) ** 2)

    def normal(units: float) -> float:
        squared = widest(metric.delta) ** 2 + math.log(max(units / least, 1.0))
        return -math.inf if units < least else abs(change * of_one.amount) - math.sqrt(squared * variance / units)

    return normal


def ends_of(name: str, one: Interval | None) -> dict[str, float | None]:
    """An estimate and the ends of its interval, as three columns; empty ones where there is none."""
    low, value, high = (None, None, None) if one is None else one
    return {name: value, f"{name} low": low, f"{name} high": high}


class Look(NamedTuple):
    """What was known of a pair at one time."""

    day: float | None  # since the first outcome
    units: int  # of both groups
    difference: Interval
    relative: Interval | None
    p_value: float  # over all looks so far

    def row(self) -> dict[str, Any]:
        """A row of a table."""
        known = {"day": self.day, "units": self.units, **ends_of("difference", self.difference)}
        return {**known, **ends_of("relative", self.relative), "p-value": self.p_value}


@dataclass
class Past:
    """What earlier looks at a pair left."""

    p_value: float = 1.0
    difference: Interval | None = None
    relative: Interval | None = None
    looks: tuple[Look, ...] = ()


def metrics_of(
    by: Any, costs: bool, bounds: Any, rarest: Any, delta: float, planned: Any, names: Sequence[Hashable],
    arms: int | None = None,
) -> list[list[Metric]]:  # fmt: skip
    """Each group's metrics: all comparisons share delta evenly, however they depend on each other (e-Bonferroni)."""
    wanted = [by] if isinstance(by, str | Preference) else list(by)
    if not wanted:
        raise ValueError("groups are compared by one metric or more; got none. Write by='p95', or by=['mean', 'p95'].")
    truth("costs", costs)
    rewards = Bounded(*bounds) if isinstance(bounds, tuple | list) else bounds
    if rarest is not None:
        share("rarest", rarest, advice="Give the probability of the rarest event that matters, such as 0.01.")
    each = delta / (len(wanted) * ((arms or len(names)) - 1))
    parts = np.full(len(names), 1.0) if planned is None else planned
    return [
        [metric_of(one, costs, rewards, rarest, each, float(parts[0] / (parts[0] + parts[place]))) for one in wanted]
        for place in range(1, len(names))
    ]


def require_fit(metric: Metric, log: Log) -> None:
    """Refuse outcomes beyond their bounds, and a metric that cannot take covariates or unfinished outcomes."""
    if metric.rewards is not None and isinstance(metric.rewards, Bounded):
        beyond = log.finished[(log.finished < metric.rewards.low) | (log.finished > metric.rewards.high)]
        if beyond.size:
            raise ValueError(
                f"outcomes lie within their bounds, {metric.rewards.low:g} to {metric.rewards.high:g}; got "
                f"{beyond[0]:g} ({beyond.size:,} of {log.outcome.size:,} are beyond). Widen the bounds (bounds=, "
                "--bounds): the proof rests on them."
            )
    if log.adjusted is not None and (metric.kind != "normal" or not is_mean(metric.preference)):
        what = f"{metric.name!r} with bounds" if metric.kind == "bets" else repr(metric.name)
        raise ValueError(
            f"covariates sharpen means without bounds; got {what}. Leave them out, or compare by the mean alone, with "
            "the rarest event that matters."
        )
    if log.unfinished and log.adjusted is not None:
        raise ValueError(
            f"covariates sharpen means of finished outcomes; {log.unfinished:,} of {log.outcome.size:,} are not. Leave "
            "the covariates out."
        )
    if log.unfinished:
        require_monotone(metric.preference)


def word_of(difference: Interval, relative: Interval | None, margin: Margin | None, costs: bool) -> Word:
    """The verdict that an interval gives.

    >>> word_of(Interval(-9.0, -2.0, 5.0), None, Margin(6.0, False), costs=True)
    'no worse than the margin'
    """
    low, high = (difference.low, difference.high) if costs else (-difference.high, -difference.low)  # of the harm
    if high < 0.0:
        return "better"
    if margin is not None and (relative is not None or not margin.relative):
        within = relative if margin.relative and relative is not None else difference
        least, most = (within.low, within.high) if costs else (-within.high, -within.low)
        if most < margin.size:
            return "equal within the margin" if least > -margin.size else "no worse than the margin"
    return "worse" if low > 0.0 else "not yet"


def look_at_pair(
    log: Log, metric: Metric, place: int, ends: list[tuple[int, float | None]], known: Past, family: float
) -> tuple[Found, str]:
    """Look at a pair at each end, and cut `known` to what all looks agree on; the last look, and doubts about it."""
    kept: dict[Any, Any] = {}
    found, views = None, []
    for row, day in ends:
        views = [log.sides[at].upto(row) for at in (0, place)]
        if min(view.users for view in views) < 2:
            continue
        found = metric.compare(views[0], views[1], kept)
        known.p_value = min(known.p_value, found.p * family, 1.0)
        known.difference = _cut(known.difference, found.difference)
        known.relative = None if found.relative is None else _cut(known.relative, found.relative)
        units = sum(view.users for view in views)
        known.looks += (Look(day, units, found.difference, found.relative, known.p_value),)
    if found is None:
        few = brief(next(log.names[at] for at, view in zip((0, place), views, strict=True) if view.users < 2))
        raise ValueError(f"a group needs two units or more; {few} has fewer. Wait for outcomes, or leave it out.")
    return found, metric.doubt(views)


def _cut(so_far: Interval | None, now: Interval) -> Interval:
    """What the intervals of all looks have in common, since they hold together."""
    if so_far is None:
        return now
    return Interval(max(so_far.low, now.low), now.value, min(so_far.high, now.high))
