"""Pictures of intervals: as rows, and over time. SVG whose text keeps its size, and whose curves fill the width."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from allais.bands import Interval
from allais.preferences.named import in_words
from allais.preferences.valuation import level_of, plain
from allais.report.markup import macro
from allais.report.words import ranked, sure_intervals
from allais.simulation import BestArm

if TYPE_CHECKING:
    from markupsafe import Markup

PARTS = "report/templates/parts.html.j2"
PAD = 0.05  # of the width, on both sides: a dot or a number at the end is whole
TICKS = 5  # steps between them, at most
ROUNDING = 1e-9
SIZE = WIDE, HIGH = 1000, 240  # of curves, in units of their own and in pixels
MOST_MARKS = 6  # numbers of outcomes on the axis of time
LONG = 10  # of a past: outcomes at its end for one at its beginning
MOST_SHOWN = 15  # options in a picture: as many as a screen has room for


class Row(NamedTuple):
    """An option in a picture."""

    name: str
    about: str  # on the right
    kind: str  # the classes that give it its colour
    interval: Interval
    mean: float = math.nan  # a stroke, where there is one


class Curve(NamedTuple):
    """How an option's interval went."""

    kind: str  # the class that gives it its colour
    points: list[tuple[int, Interval]]  # by the number of outcomes

    @property
    def bounded(self) -> list[tuple[int, Interval]]:
        """Where there is an interval."""
        return [(t, one) for t, one in self.points if math.isfinite(one.low) and math.isfinite(one.high)]


class Shape(NamedTuple):
    """A line or an area in a plot."""

    tag: str  # polyline or polygon
    kind: str
    points: list[tuple[float, float]]


def rows_as_svg(label: str, rows: Sequence[Row], limit: float = math.nan) -> Markup:
    """Rows from the top down; at `limit` a line through all of them."""
    shown = [end for row in rows for end in (*row.interval, row.mean) if math.isfinite(end)]
    ticks = ticks_over(min(shown, default=0.0), max(shown, default=1.0))

    def place(amount: float) -> str:
        return f"{100.0 * (PAD + (1.0 - 2.0 * PAD) * (amount - ticks[0]) / (ticks[-1] - ticks[0])):.2f}%"

    return macro(PARTS, "intervals")(label, rows, ticks, place, limit)


def over_time(
    label: str, curves: Sequence[Curve], axis: str, framed: int | None = None, limit: float | None = None
) -> Markup:
    """Intervals over the number of outcomes, as bands around lines, the first curve on top.

    The picture is as high as the later values, and as the later intervals of the first `framed` curves: the earliest
    intervals are as wide as can be, and those of options that were soon given up stay wide.
    """
    times = sorted({t for curve in curves for t, _ in curve.points})
    first, last = times[0], times[-1]
    banded = any(curve.bounded for curve in curves)
    since = math.sqrt(first * last) if banded and last >= LONG * first else first
    late = [[one for t, one in curve.points if t >= since] for curve in curves]
    ends = [one.value for curve in late for one in curve]
    ends += [end for curve in late[:framed] for one in curve for end in (one.low, one.high) if math.isfinite(end)]
    ticks = ticks_over(min(ends), max(ends))

    def x(outcomes: float) -> float:
        return math.log(outcomes / first) / math.log(last / first)

    def place(outcomes: int, value: float) -> tuple[float, float]:
        y = HIGH * (ticks[-1] - value) / (ticks[-1] - ticks[0])
        return WIDE * x(outcomes), min(max(y, -1e4), 1e4)  # browsers lose their way with numbers that are huge

    shapes = []
    for curve in reversed(curves):
        band = [place(t, one.high) for t, one in curve.bounded] + [place(t, one.low) for t, one in curve.bounded[::-1]]
        shapes += [Shape("polygon", curve.kind, band)]
        shapes += [Shape("polyline", curve.kind, [place(t, one.value) for t, one in curve.points])]
    marks = [(x(mark), f"{mark:,}") for mark in _marks(first, last)]
    levels = [(place(first, tick)[1], plain(tick, 6)) for tick in ticks]
    return plot(label, shapes, levels, marks, axis, None if limit is None else x(limit))


def plot(
    label: str,
    shapes: Sequence[Shape],
    levels: Sequence[tuple[float, str]],
    marks: Sequence[tuple[float, str]],
    axis: str,
    limit: float | None = None,
) -> Markup:
    """Shapes in a frame: levels on the left at their heights, marks below and a line at their shares of the width."""
    return macro(PARTS, "plot")(label, shapes, levels, marks, axis, SIZE, limit)


def ticks_over(low: float, high: float) -> list[float]:
    """Round numbers, evenly apart, from one at or below `low` to one at or above `high`.

    >>> [f"{tick:g}" for tick in ticks_over(0.13, 0.92)]
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    """
    if not low < high:
        around = 0.05 * abs(low) or 0.5
        low, high = low - around, high + around
    wanted = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(wanted))
    step = next(power * digit for digit in (1.0, 2.0, 2.5, 5.0, 10.0) if power * digit >= wanted * (1.0 - ROUNDING))
    first, last = math.floor(low / step + ROUNDING), math.ceil(high / step - ROUNDING)
    return [step * k for k in range(first, last + 1)]


def _marks(first: int, last: int) -> list[int]:
    """Round numbers of runs from the first moment to the last, few enough for a phone.

    >>> _marks(3, 20_000)
    [10, 100, 1000, 10000]
    >>> _marks(4, 80)
    [5, 10, 20, 50]
    """
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [digit * 10**power for power in range(19) for digit in digits if first <= digit * 10**power <= last]
        if len(found) <= MOST_MARKS:
            break
    return found or [first]


def axis_label(answer: BestArm, unit: str) -> str:
    """What the numbers of a picture are."""
    less = "; less is better" if answer.learner.policy.preference.costs else ""
    preference = answer.learner.policy.preference
    what = "what it feels like for sure" if level_of(preference) is None else in_words(preference)
    return f"{what}{f', in {unit}' if unit else ''}{less}"


def contenders_first(answer: BestArm) -> tuple[list[Hashable], list[Hashable]]:
    """The options that a page shows, the recommended one first and then by value; and the rest of many."""
    names = ranked(answer)
    seen = set(names)
    names += [name for name in answer.intervals if name not in seen]
    shown = MOST_SHOWN if len(names) > MOST_SHOWN + 1 else len(names)  # to fold one away would save nothing
    return names[:shown], names[shown:]


def intervals_as_svg(answer: BestArm) -> Markup:
    """What the options that are shown feel like for sure, with their intervals."""
    names, _ = contenders_first(answer)
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    rows = [
        Row(
            str(name), f"{answer.pulls[name]:,} runs" if answer.pulls[name] else "no run yet",
            "best" if name == answer.arm else "other", sure[name],
        )
        for name in names
    ]  # fmt: skip
    best = sure.get(answer.arm, Interval(math.nan, math.nan, math.nan))  # none, where all break a guardrail
    worst = best.high if answer.learner.policy.preference.costs else best.low
    return rows_as_svg("What each option feels like for sure, with its interval", rows, worst)
