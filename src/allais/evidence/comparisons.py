"""Two groups, one metric, one look: the amount of each, their difference, and the evidence against no difference.

Percentiles are judged by `bands/quantiles.py`: proven, for any distribution. Other preferences are judged by bets where
bounds are declared (proven), else by the normal approximation of their influence functions (asymptotic). A mixture of a
percentile and others is judged by its parts, which share delta. Outcomes that are not finished count where they are
worse within bounds, and by the product limit without (docs/theory/censored.md).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from allais.bands import Interval, quantiles
from allais.bands.asymptotic import LEAST, multiple, require_unbroken
from allais.bands.base import bounds_of
from allais.bands.betting import BAND, betting_rule
from allais.evidence._estimates import Bets, amount_of, estimates_of, interval_of_levels, normal_ends, own_interval
from allais.evidence.data import View
from allais.evidence.distributions import vague_at, value_at
from allais.preferences import Preference
from allais.preferences.named import in_words, mixed, preference_named
from allais.preferences.valuation import level_of, tail
from allais.rewards import Rewards
from allais.weights import Mixed

Promise = Literal["proven", "asymptotic", "none"]
CELLS = 1_000  # of the amounts that are possible, at which bets are combined
HALVINGS = 60  # of a bracket, at most
FINEST = 1e-4  # of a difference: its end is found no closer
UNFINISHED = 0.1  # of delta within bounds: for looks at which outcomes are unfinished, which are judged in another way
LEAST_P = 1e-9  # of a mixture's p-values
MOST_LOOKED_AT = 100_000  # outcomes of a group, where its tail is judged


class Found(NamedTuple):
    """What one look says about a pair; amounts are in the unit of outcomes."""

    control: Interval
    group: Interval
    difference: Interval  # the group's amount less the control's
    relative: Interval | None  # as a share of the control's amount, where that is positive for sure
    log_evidence: float  # log of the e-value against "no difference"
    p: float  # the chance of as much, at any time, if there were none
    vague: tuple[str, str] = ("", "")  # 'at least ' and the like, of amounts that rest on unfinished outcomes


class Metric(NamedTuple):
    """What groups are compared by, and how."""

    name: str
    preference: Preference
    level: float | None  # of a percentile
    rewards: Rewards | None  # bounds, where they are declared
    rarest: float | None
    delta: float  # of one comparison: both directions, all looks
    share: float  # of the control among both groups' units
    column: str = ""  # of a guardrail

    @property
    def kind(self) -> Literal["quantiles", "bets", "normal", "parts"]:
        """How groups are compared."""
        if self.level is not None:
            return "quantiles"
        if _parts_of(self.preference):
            return "parts"
        return "normal" if self.rewards is None else "bets"

    @property
    def parts(self) -> list[tuple[float, Metric]]:
        """What a mixture with percentiles is made of: shares, and metrics that hold together, with own intervals."""
        found = _parts_of(self.preference)
        each = self.delta / (2.0 * max(len(found), 1))
        return [
            (part, Metric(in_words(one), one, level_of(one), self.rewards, self.rarest, each, self.share))
            for part, one in found
        ]

    @property
    def costs(self) -> bool:
        """Whether less is better."""
        return self.preference.costs

    @property
    def words(self) -> str:
        """What it is, as a sentence has it."""
        return in_words(self.preference) + (f' of "{self.column}"' if self.column else "")

    @property
    def promise(self) -> Promise:
        """What intervals and verdicts rest on."""
        if self.kind == "parts":
            return "proven" if all(part.promise == "proven" for _, part in self.parts) else "asymptotic"
        return "asymptotic" if self.kind == "normal" else "proven"

    def compare(self, control: View, group: View, kept: dict[Any, Bets]) -> Found:
        """What a look says, with evidence and p-value; `kept` has the bets of earlier looks."""
        found = self.look(control, group, kept)
        metric, p, difference = self, 1.0, found.difference
        if not math.isnan(found.p):
            return found
        while p > LEAST_P and not difference.low <= 0.0 <= difference.high:
            p = metric.delta  # the least of delta, delta / 8, ... at which no difference is out of the question
            metric = metric._replace(delta=metric.delta / 8.0)
            difference = metric.look(control, group, kept).difference
        return found._replace(log_evidence=math.log(_calibrated(p)), p=p)

    def look(self, control: View, group: View, kept: dict[Any, Bets]) -> Found:
        """What a look says; evidence and p-value are NaN where there are intervals only."""
        if self.kind == "quantiles":
            return _by_quantiles(self, control, group)
        if self.kind == "parts":
            return _by_parts(self, control, group, kept)
        if self.kind == "normal":
            return _by_normal(self, control, group)
        if control.side.log.reach is not None:
            return _by_levels(self._replace(delta=UNFINISHED * self.delta), control, group)
        found = _by_bets(self._replace(delta=(1.0 - UNFINISHED) * self.delta), control, group, kept)
        of_all = math.log1p(-UNFINISHED)
        return found._replace(log_evidence=found.log_evidence + of_all, p=min(found.p / math.exp(of_all), 1.0))

    def doubt(self, views: Sequence[View]) -> str:
        """Why an asymptotic promise is withdrawn; nothing where it is not."""
        if self.kind == "parts":
            return next((doubt for _, part in self.parts if (doubt := part.doubt(views))), "")
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
    found = Metric(name, preference, level_of(preference), rewards, rarest, delta, share)
    for one in [part for _, part in found.parts] or [found]:
        if one.level is not None:
            continue
        if rewards is not None:
            betting_rule(one.preference, [rewards], 1.0, 1.0, 1.0)  # refuses what bets say nothing about
        elif rarest is None:
            raise ValueError(
                f"without bounds of the outcomes, {name!r} is judged asymptotically, and rare events may be missed; "
                "got neither bounds nor rarest. Declare rarest=0.01 (--rarest 0.01), the rarest event that matters, or "
                "the bounds (--bounds 0,100; those of a guardrail in Python: Guard(..., bounds=(0, 100)))."
            )
        else:
            require_unbroken(one.preference)
    return found


def _parts_of(preference: Preference) -> list[tuple[float, Preference]]:
    """The percentiles of a mixture, and all the rest as one preference; an empty list where there is no percentile.

    The value is the weighted mean of theirs, and so is the amount, where there is no utility.
    """
    gains, losses = preference.gains, preference.losses
    if not (isinstance(gains, Mixed) and isinstance(losses, Mixed)) or gains.shares != losses.shares:
        return []
    parts = [
        (part, dataclasses.replace(preference, gains=above, losses=below))
        for part, above, below in zip(gains.shares, gains.weights, losses.weights, strict=True)
    ]
    smooth = [(part, one) for part, one in parts if level_of(one) is None]
    levels = [(part, one) for part, one in parts if level_of(one) is not None]
    if levels and preference.utility is not None:
        raise ValueError(
            f"a mixture with a percentile is compared in amounts; {in_words(preference)} has a utility. Leave the "
            "utility out, or compare each part by itself."
        )
    if not levels or not smooth:
        return levels
    total = sum(part for part, _ in smooth)
    rest = smooth[0][1] if len(smooth) == 1 else mixed(*((part / total, one) for part, one in smooth))
    return [(total, rest), *levels]


# -- percentiles ----------------------------------------------------------------------------------


def _by_quantiles(metric: Metric, control: View, group: View) -> Found:
    """By order statistics; an unfinished outcome counts as the end that is worse for the claim."""
    assert metric.level is not None
    (low_first, high_first), (low_second, high_second) = (
        [one.sorted for one in view.ends] for view in (control, group)
    )
    level, log = metric.level, control.side.log
    tables = quantiles.tilts(level, metric.share), quantiles.tilts(level, 1.0 - metric.share)
    exponent = math.log(2.0 / metric.delta)  # either direction may err
    ends = [view.quantile_ends(level, exponent) for view in (control, group)]
    first, second = (
        Interval(low, value_at(view.sorted, level), high)
        for view, (low, high) in zip((control, group), ends, strict=True)
    )

    def excess(relative: bool) -> quantiles.Ends:
        """By how much the second quantile exceeds the first."""
        found = quantiles.difference(high_first, low_second, tables, exponent, relative=relative)
        if log.reach is None:
            return found
        other = quantiles.difference(low_first, high_second, tables, exponent, relative=relative)
        return log.known_excess(found[0], other[1], relative=relative)

    low, high = excess(False)
    relative = None
    never_negative = _never_negative(control, group) and low_first.outcomes[0] >= 0.0
    if min(first.low, second.low) > 0.0 or (first.value > 0.0 and never_negative):
        ratios = excess(True)
        relative = Interval(ratios[0], second.value / first.value - 1.0, ratios[1])
    above = quantiles.joint_evidence(high_first, low_second, tables[0])
    below = quantiles.joint_evidence(high_second, low_first, tables[1])
    found = max(above, below) - math.log(2.0)
    difference = Interval(low, second.value - first.value, high)
    vague = [vague_at(view, partial(value_at, level=level)) for view in (control, group)]
    return Found(first, second, difference, relative, found, math.exp(min(-found, 0.0)), (vague[0], vague[1]))


# -- bets -----------------------------------------------------------------------------------------


def _by_bets(metric: Metric, control: View, group: View, kept: dict[Any, Bets]) -> Found:
    of = metric.preference, _declared(metric), metric.delta
    first, second = (
        kept.setdefault((metric.name, metric.delta, id(view.side)), Bets(*of)).look(view) for view in (control, group)
    )
    ends = np.array([*first.interval, *second.interval])
    bounds = np.sort(metric.preference.outcomes_of(np.array(bounds_of(metric.preference, _declared(metric)))))
    middle, reach = 0.5 * (ends.min() + ends.max()), max(0.5 * float(np.ptp(ends)), 1e-9 * float(np.ptp(bounds)))
    # even around both groups, and wider and wider beyond
    start, end = np.arcsinh((bounds - middle) / reach)
    cells = middle + reach * np.sinh(np.linspace(start, end, CELLS))
    share_of_bets = 1.0 - BAND if first.band.needs_band else 1.0
    exponent = math.log(2.0 / (metric.delta * share_of_bets))

    def excess(lower: Bets, upper: Bets, relative: bool) -> Callable[[float], float]:
        """log evidence for "the upper amount exceeds the lower one by more": the least over the lower one's cells."""
        left, right = cells[:-1], cells[1:]
        if relative:
            left, right = left[right > 0.0], right[right > 0.0]
        of_lower = lower.against(left, at_least=True)

        def least(by: float) -> float:
            beyond = right * (1.0 + by) if relative else right + by
            return float((of_lower + upper.against(beyond, at_least=False)).min())

        return least

    width = float(bounds[1] - bounds[0])
    above, below = excess(first, second, False), excess(second, first, False)
    difference = Interval(
        _greatest(above, exponent, -width, width),
        second.interval.value - first.interval.value,
        -_greatest(below, exponent, -width, width),
    )
    relative = None
    if first.interval.low > 0.0 and (second.interval.low > 0.0 or bounds[0] >= 0.0):
        back = _greatest(excess(second, first, True), exponent, -1.0, 1e3)
        low = _greatest(excess(first, second, True), exponent, -1.0, 1e3)
        high = -back / (1.0 + back) if back > -1.0 else math.inf
        relative = Interval(low, second.interval.value / first.interval.value - 1.0, high)
    log = max(above(0.0), below(0.0)) - math.log(2.0)
    p = math.exp(min(-log, 0.0))
    if first.band.needs_band:  # the bets stand on a band of the distribution, which may fail, too
        p = min(p + BAND * metric.delta, 1.0)
        log = math.log(_calibrated(p))
    return Found(first.interval, second.interval, difference, relative, log, p)


def _declared(metric: Metric) -> Rewards:
    assert metric.rewards is not None
    return metric.rewards


def _greatest(evidence: Callable[[float], float], exponent: float, left: float, right: float) -> float:
    """The greatest difference with at least so much evidence that more is true: the evidence falls with it."""
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


def _by_normal(metric: Metric, control: View, group: View) -> Found:
    assert metric.rarest is not None
    # half of the failures are left to the central limit theorem, and half to events that a group did not show
    least = max(math.ceil(math.log(4.0 / metric.delta) / -math.log1p(-metric.rarest)), LEAST)
    first, second = (estimates_of(metric.preference, view, least, metric.rarest) for view in (control, group))
    clock = math.log(max(2.0 * control.users * group.users / ((control.users + group.users) * least), 1.0))
    squared = widest(metric.delta) ** 2 + clock
    own, other = (
        Interval(-math.inf, one[0].amount, math.inf) if one[0].units < least else own_interval(one, squared)
        for one in (first, second)
    )
    vague = [("", "at least ", "at most ")[int(np.sign(one[-1].amount - one[0].amount))] for one in (first, second)]
    if min(first[0].units, second[0].units) < least:
        difference = Interval(-math.inf, second[0].amount - first[0].amount, math.inf)
        return Found(own, other, difference, None, 0.0, 1.0, (vague[0], vague[1]))
    difference, ratio, p = normal_ends(first, second, squared, clock)
    relative = None
    if own.low > 0.0:
        least_ratio = max(ratio.low, 0.0) if _never_negative(control, group) else ratio.low
        relative = Interval(least_ratio - 1.0, ratio.value - 1.0, ratio.high - 1.0)
    return Found(own, other, difference, relative, math.log(_calibrated(p)), p, (vague[0], vague[1]))


# -- unfinished outcomes within bounds ------------------------------------------------------------


def _by_levels(metric: Metric, control: View, group: View) -> Found:
    """By all percentiles: bets depend on earlier outcomes, so they need finished ones."""
    settings = metric.preference, _declared(metric), math.log(2.0 / metric.delta)
    first, second = (interval_of_levels(view, *settings) for view in (control, group))
    difference = Interval(second.low - first.high, second.value - first.value, second.high - first.low)
    relative = None
    if first.low > 0.0:
        low = second.low / (first.high if second.low > 0.0 else first.low)
        high = second.high / (first.low if second.high > 0.0 else first.high)
        relative = Interval(low - 1.0, second.value / first.value - 1.0, high - 1.0)
    vague = [vague_at(view, partial(amount_of, metric.preference)) for view in (control, group)]
    return Found(first, second, difference, relative, math.nan, math.nan, (vague[0], vague[1]))


# -- mixtures with percentiles --------------------------------------------------------------------


def _by_parts(metric: Metric, control: View, group: View, kept: dict[Any, Bets]) -> Found:
    """By sums of the ends of the parts' intervals, which hold together."""
    parts = metric.parts
    found = [part.look(control, group, kept) for _, part in parts]

    def total(of: Sequence[Interval]) -> Interval:
        ends = np.array([share for share, _ in parts]) @ np.array(of)
        return Interval(*ends.tolist())

    first, second, difference = (total(of) for of in list(zip(*found, strict=True))[:3])
    relative = None
    if first.low > 0.0:
        low = difference.low / (first.high if difference.low > 0.0 else first.low)
        high = difference.high / (first.low if difference.high > 0.0 else first.high)
        ratios = [one.relative for one in found if one.relative is not None]
        if len(ratios) == len(found):  # between which the ratio of the sums lies
            low, high = max(low, min(one.low for one in ratios)), min(high, max(one.high for one in ratios))
        relative = Interval(low, second.value / first.value - 1.0, high)
    said = [{one.vague[side] for one in found} - {""} for side in (0, 1)]
    vague = ["about " if len(words) > 1 else max(words, default="") for words in said]
    return Found(first, second, difference, relative, math.nan, math.nan, (vague[0], vague[1]))


def _never_negative(*views: View) -> bool:
    return all(view.sorted.outcomes[0] >= 0.0 for view in views)


def widest(delta: float) -> float:
    """a: a Brownian motion leaves +- sqrt(a^2 + log(n / m)) standard errors, ever, with half of this probability."""
    return float(multiple(math.log(2.0 / delta), True))


def _calibrated(p: float) -> float:
    """An e-value of an always-valid p-value: the mixture of all power calibrators (Vovk and Wang 2021)."""
    log = math.log(max(p, 1e-300))
    return 1.0 if p >= 1.0 else max((1.0 - p + p * log) / (max(p, 1e-300) * log**2), 1e-300)
