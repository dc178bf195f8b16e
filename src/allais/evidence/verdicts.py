"""Verdicts: which group is better, with intervals and evidence that hold however often one looks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from allais._checks import brief, share
from allais.bands import Interval
from allais.evidence.comparisons import Found, Metric, Promise
from allais.evidence.data import Log, ends_of_looks, read_log
from allais.evidence.ratio import (
    Forecast,
    Guard,
    Look,
    Margin,
    Past,
    SampleRatio,
    Word,
    ends_of,
    look_at_pair,
    margin_of,
    metrics_of,
    planned_shares,
    require_fit,
    sample_ratio,
    still_needed,
    word_of,
)
from allais.evidence.tables import AT_LEAST, AT_MOST
from allais.policies.core.base import PROMISES
from allais.preferences import Preference
from allais.preferences.named import in_words as words_of
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals, curve_of, in_words
from allais.preferences.valuation import amount, plain
from allais.rewards import Rewards
from allais.weights import TailAverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PARTS = 1_000  # the denominator of a share in words, at most


@dataclass(frozen=True)
class Verdict:
    """One group compared with the control, by one metric.

    Attributes:
        group: The group.
        control: The group that it is compared with.
        by: The metric, as it was named.
        word: better, worse, no worse than the margin, equal within the margin, or not yet.
        values: The amounts of control and group, each with an interval of its own.
        difference: The group's amount less the control's; the interval holds at all looks at once.
        relative: The same as a share of the control's amount; None unless that is positive.
        e_value: The evidence against "no difference" at the last look.
        p_value: The always-valid p-value: the least over all looks, times the comparisons of the family.
        promise: What this rests on: 'proven', 'asymptotic' or 'none'.
        doubt: Why there is no promise, or no verdict.
        looks: What was known at each look.
        forecast: How long it may take, where nothing is decided yet.
        metric: How it was compared.
        vague: 'at least ', 'at most ' or 'about ' for amounts that rest on unfinished outcomes.
    """

    group: Hashable
    control: Hashable
    by: str
    word: Word
    values: tuple[Interval, Interval]
    difference: Interval
    relative: Interval | None
    e_value: float
    p_value: float
    promise: Promise
    doubt: str
    looks: tuple[Look, ...]
    forecast: Forecast | None
    metric: Metric
    margin: Margin | None
    unit: str = ""
    vague: tuple[str, str] = ("", "")

    _repr_html_, to_frame = as_html, as_frame
    headline = property(in_words)

    def __str__(self) -> str:
        return self.sentence

    def rows(self) -> Rows:
        """One row per look."""
        return [look.row() for look in self.looks]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how the difference was known at each look, with its interval.

        Args:
            ax: Where to draw; by default a new figure.
        """
        ax = curve_of(ax, self.rows(), "units", ["difference"])
        ax.axhline(0.0, color="0.5", linewidth=1)
        return ax

    def row(self) -> dict[str, Any]:
        """A row of a table of several verdicts."""
        control, group = (one.value for one in self.values)
        return {
            "group": self.group, "by": self.by, "verdict": self.word, "of control": control, "of group": group,
            **ends_of("difference", self.difference), **ends_of("relative", self.relative), "p-value": self.p_value,
            "promise": self.promise,
        }  # fmt: skip

    @property
    def sentence(self) -> str:
        """The verdict in plain sentences."""
        return " ".join(part for part in (self._head(), self._in_units(), self._interval()) if part)

    @property
    def question(self) -> str:
        """What is compared, in a few words."""
        return f"{self.group}, by {self.metric.words}"

    def _head(self) -> str:
        group, control, by = f'"{self.group}"', f'"{self.control}"', f"by {self.metric.words}"
        if self.word == "not yet":
            return f"Not decided yet whether {group} is better or worse than {control} {by}."
        if self.word in ("better", "worse"):
            return f"{group} is {self.word} than {control} {by}."
        equal = self.word == "equal within the margin"
        is_so = f"{group} and {control} are equal" if equal else f"{group} is no worse than {control}"
        return f"{is_so} {by}, within the margin of {self.margin}."

    def _in_units(self) -> str:
        before, now = (vague + amount(one.value, self.unit) for vague, one in zip(self.vague, self.values, strict=True))
        if any(self.vague):  # others are not finished
            return f'It is {now} with "{self.group}" and {before} with "{self.control}".'
        of = f' of "{self.metric.column}"' if self.metric.column else ""
        if self.metric.level is None:
            words = words_of(self.metric.preference)
            if words == "the mean" or isinstance(self.metric.preference.gains, TailAverage):
                what = ("The mean" if words == "the mean" else f"The mean of {words}") + of
                return f'{what} is {now} with "{self.group}" and {before} with "{self.control}".'
            return f'By {self.metric.words}, "{self.group}" feels like {now}, and "{self.control}" like {before}.'
        part = Fraction(self.metric.level).limit_denominator(MOST_PARTS)
        many = "Half of all outcomes" if part == Fraction(1, 2) else f"{part} outcomes".replace("/", " of ")
        return f'{many}{of} are at most {now} with "{self.group}" and {before} with "{self.control}".'

    def _interval(self) -> str:
        if self.relative is not None and math.isfinite(self.relative.high) and self.relative.low > -1.0:
            ends = self.relative.low, self.relative.high
            low, high = (("+" if end > 0.0 else "") + plain(100.0 * end, 2) + "%" for end in ends)
        elif math.isfinite(self.difference.low) and math.isfinite(self.difference.high):
            ends = self.difference.low, self.difference.high
            low, high = (("+" if end > 0 else "") + amount(end, self.unit) for end in ends)
        else:
            return f"There are too few {'finished ' if any(self.vague) else ''}outcomes for an interval."
        return f"The difference is between {low} and {high}."


@dataclass(frozen=True)
class Verdicts(Sequence[Verdict]):
    """All comparisons of a family: the probability that any of them is wrong, at any look, is at most delta.

    Attributes:
        all: One verdict per group and metric.
        sample_ratio: Whether groups have the shares that were planned; while they do not, no verdict is given.
        delta: The error rate of the family.
        log: What was read.
    """

    all: tuple[Verdict, ...]
    sample_ratio: SampleRatio
    delta: float
    log: Log

    _repr_html_, to_frame, plot = as_html, as_frame, as_intervals
    headline = property(in_words)

    def rows(self) -> Rows:
        """One row per verdict."""
        return [one.row() for one in self.all]

    def __getitem__(self, place: Any) -> Any:
        return self.all[place]

    def __len__(self) -> int:
        return len(self.all)

    @property
    def summary(self) -> str:
        """One sentence or two that a product manager understands."""
        if self.sample_ratio.fires:
            return f"No verdict: {str(self.sample_ratio)[0].lower()}{str(self.sample_ratio)[1:]}"
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        """A guardrail by which a group is worse comes first: it may stop what is better by everything else."""
        guards = [one for one in self.all if one.metric.column]
        for one in guards:
            if one.word == "worse":
                yield f'"{one.group}" is worse by a guardrail, {one.metric.words}.'
        yield from (one.sentence for one in self.all if not one.metric.column)
        for group in dict.fromkeys(one.group for one in guards):
            own = [one for one in guards if one.group == group]
            kept = f'"{group}" keeps its {"guardrail" if len(own) == 1 else "guardrails"}.'
            if all(one.word not in ("worse", "not yet") for one in own):
                yield kept
            elif all(one.word != "worse" for one in own):
                yield f"It is not shown yet that {kept}"
            yield from (one.sentence for one in own)

    @property
    def assumptions(self) -> list[str]:
        """What the verdicts rest on, a sentence each."""
        return list(self._assumptions())

    def _assumptions(self) -> Iterator[str]:
        log = self.log
        promises = {one.promise for one in self.all}
        for less, column in dict.fromkeys((one.metric.costs, one.metric.column) for one in self.all):
            what = f' "{column}"' if column else ""
            yield f"{'Less' if less else 'More'}{what} is better."
        if "proven" in promises:
            yield f"Proven: {PROMISES['proven'].replace('delta', f'{self.delta:g}')}"
        if "asymptotic" in promises:
            rarest = next(one.metric.rarest for one in self.all if one.promise == "asymptotic")
            text = PROMISES["asymptotic"].replace("delta", f"{self.delta:g}").replace("`rarest`", f"{rarest:g}")
            yield f"Asymptotic: {text}"
        if "none" in promises:
            yield f"None: {PROMISES['none']}"
        yield "All intervals, evidence and p-values hold at all looks at once: stopping early or going on is no error."
        if len(self.all) > 1:
            yield f"The error rate of {self.delta:g} is that of all {len(self.all)} comparisons together."
        if log.user is None:
            yield "Outcomes are independent of each other. Where users have several, name the column of users."
        else:
            yield "Users are independent of each other, and each counts once, however many outcomes there are of them."
        yield from log.about_unfinished(any(one.metric.promise == "asymptotic" for one in self.all))
        if log.covariates:
            yield f"Means are adjusted for {', '.join(log.covariates)}, which were known before the groups were made."
        yield "The groups differ by chance and by the version only, and neither changes with time."

    def withheld(self, why: str) -> Verdicts:
        """The same without verdicts, since the groups differ by more than their versions.

        Args:
            why: What that is, in a sentence.
        """
        quiet = (dataclasses.replace(one, word="not yet", doubt=why, forecast=None) for one in self.all)
        return dataclasses.replace(self, all=tuple(quiet))

    @property
    def notes(self) -> list[str]:
        """What a reader should know besides the verdicts: doubts, and how long each comparison may take."""
        ends = [(one.question, str(one.forecast)) for one in self.all if one.forecast is not None]
        if len(self.all) > 1:  # whose end it is
            ends = [(which, f"{which}: {end[0].lower()}{end[1:]}") for which, end in ends]
        return list(dict.fromkeys([*(one.doubt for one in self.all if one.doubt), *(end for _, end in ends)]))

    def __str__(self) -> str:
        return "\n".join([self.summary, *([] if self.sample_ratio.fires else self.notes)])


def verdict(
    table: Any,
    *,
    group: str,
    outcome: str,
    by: str | Preference | Sequence[str | Preference] = "mean",
    user: str | None = None,
    time: str | None = None,
    covariates: Sequence[str] = (),
    at_least: str = AT_LEAST,
    at_most: str = AT_MOST,
    control: Hashable | None = None,
    costs: bool = True,
    no_worse_than: str | float | None = None,
    bounds: tuple[float, float] | Rewards | None = None,
    rarest: float | None = None,
    shares: Mapping[Hashable, float] | str | None = None,
    delta: float = 0.05,
    unit: str = "",
    guardrails: Sequence[Guard] = (),
) -> Verdicts:
    """Compare groups, looked at any time: after every day, after every outcome, or once.

    Args:
        table: A DataFrame, a mapping of columns, or the path of a CSV or Parquet file. Rows are in the order of time.
        group: The column that says which version an outcome is from.
        outcome: The column of outcomes.
        by: What groups are compared by: 'mean', 'p95', 'cvar:0.1', 'tk' or a preference; or several of them.
        user: The column of users. A user is then one unit, however many outcomes there are of them.
        time: The column of times, ascending: there is a look at the end of every day.
        covariates: Columns of numbers that were known of a user before; means are adjusted for them, which is quicker.
        at_least: The column of what unfinished outcomes will be at least, whose own cell is empty.
        at_most: The column of what they will be at most. Both are about `outcome`, not about columns of guardrails.
        control: The group to compare with; by default the one of that name, or the first.
        costs: Whether less is better, as for waiting times.
        no_worse_than: How much worse is still fine: '5%' of the control's amount, or a number in its unit.
        bounds: The least and the greatest outcome that are possible: verdicts by means and the like are then proven.
        rarest: The probability of the rarest event that matters, where no bounds are known; percentiles need neither.
        shares: The planned shares of the groups, as {'control': 9, 'canary': 1}; by default equal ones, or 'any'.
        delta: The probability that any of the verdicts is wrong, ever.
        unit: What outcomes are measured in, for sentences.
        guardrails: Metrics of other columns by which a group must be no worse; they share delta with the others.

    Returns:
        One verdict per metric and group, those of guardrails last, which behave like a tuple.

    >>> rng = np.random.default_rng(1)
    >>> log = {"version": ["old", "new"] * 5_000, "ms": rng.lognormal(5, 0.5, 10_000)}
    >>> log["ms"][1::2] *= 1.3
    >>> found = verdict(log, group="version", outcome="ms", by="p95", control="old", unit="ms")
    >>> found[0].word, found[0].relative.low > 0.1, found[0].p_value < 0.001
    ('worse', True, True)
    """
    if not all(isinstance(one, Guard) for one in guardrails):
        raise TypeError(f'guardrails are a list, [Guard("ms", "p99", "5%")]; got {brief(guardrails)}. Write one.')
    log = read_log(table, group, outcome, user, time, control, covariates, at_least, at_most)
    ends = {outcome: (at_least, at_most)}  # they are about this column, and no other's
    others = [
        (one, read_log(table, group, one.column, user, time, control, (), *ends.get(one.column, (None, None))))
        for one in guardrails
    ]
    return verdicts_of(log, by, costs, no_worse_than, bounds, rarest, shares, delta, unit, others)


def verdicts_of(
    log: Log, by: Any, costs: bool, no_worse_than: Any, bounds: Any, rarest: Any, shares: Any, delta: float, unit: str,
    others: Sequence[tuple[Guard, Log]],
) -> Verdicts:  # fmt: skip
    """The verdicts about outcomes that were read, and about guardrails: each metric gets an equal part of delta."""
    own = 1 if isinstance(by, str | Preference) else max(len(by), 1)
    part = 1.0 / (own + len(others))
    found = verdict_of(log, by, costs, no_worse_than, bounds, rarest, shares, delta, unit, part=own * part)
    guards = [
        verdict_of(of, one.by, one.costs, one.no_worse_than, one.bounds, rarest, shares, delta, one.unit,
                   part=part, column=one.column)
        for one, of in others
    ]  # fmt: skip
    return dataclasses.replace(found, all=(*found.all, *(one for each in guards for one in each.all)))


def verdict_of(
    log: Log, by: Any, costs: bool, no_worse_than: Any, bounds: Any, rarest: Any, shares: Any, delta: float, unit: str,
    past: dict[Any, Past] | None = None, days: float | None = None, arms: int | None = None,
    part: float = 1.0, column: str = "",
) -> Verdicts:  # fmt: skip
    """The verdicts about outcomes that were read, of `arms` in all; `past` keeps the looks at a stream.

    They get a `part` of delta; `column` is that of a guardrail.
    """
    delta = share("delta", delta, advice="Give a share of 1, such as 0.05.")
    margin, planned = margin_of(no_worse_than), planned_shares(shares, log.names)
    metrics = metrics_of(by, costs, bounds, rarest, part * delta, planned, log.names, arms)
    metrics = [[one._replace(column=column) for one in each] for each in metrics]
    for one in metrics[0]:
        require_fit(one, log)
    family = len(metrics[0]) * ((arms or len(log.names)) - 1) / part
    ends = ends_of_looks(log) if past is None else [(log.outcome.size, days)]
    ratio = sample_ratio(log, planned, [row for row, _ in ends])
    earlier: dict[Any, Past] = {} if past is None else past
    found = []
    for place in range(1, len(log.names)):
        for metric in metrics[place - 1]:
            known = earlier.setdefault((place, metric.name), Past())
            last = look_at_pair(log, metric, place, ends, known, family)
            found.append(_judged(log, metric, place, margin, ratio, known, *last, unit))
    return Verdicts(tuple(found), ratio, delta, log)


def _judged(
    log: Log, metric: Metric, place: int, margin: Margin | None, ratio: SampleRatio, known: Past, found: Found,
    doubt: str, unit: str,
) -> Verdict:  # fmt: skip
    promise: Promise = "none" if doubt else metric.promise
    difference, relative = known.difference or found.difference, known.relative
    torn = difference.low > difference.high or (relative is not None and relative.low > relative.high)
    if torn:
        difference, relative = found.difference, found.relative
    word = "not yet" if torn or ratio.fires else word_of(difference, relative, margin, metric.costs)
    if ratio.fires:
        doubt = str(ratio)
    elif torn:
        doubt = "Intervals of different days exclude each other: the difference has changed over time."
    elif not doubt and margin is not None and margin.relative and relative is None:
        doubt = "A margin in percent needs an amount of the control that is positive for sure. Give one in units."
    left = None
    if word == "not yet" and not any(found.vague):  # what is open of an amount may stay so, however many outcomes come
        left = still_needed(difference, relative, margin, metric.costs, known.looks[-1].units / 2.0, log)
    return Verdict(
        log.names[place], log.names[0], metric.name, word, (found.control, found.group), difference, relative,
        math.exp(min(found.log_evidence, 700.0)), known.p_value, promise, doubt, known.looks, left, metric, margin,
        unit, found.vague,
    )  # fmt: skip
