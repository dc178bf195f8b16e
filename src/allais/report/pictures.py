"""Pictures of intervals: as rows, and over time. SVG whose text keeps its size, and whose curves fill the width."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from allais.bands import Interval
from allais.learner.reading import sure_intervals
from allais.preferences.named import FELT, heading_of
from allais.preferences.valuation import plain
from allais.problems.options import Setting, settings_of
from allais.report.markup import macro
from allais.report.words import ranked
from allais.searches.forecast import contenders
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
LEAST_SHOWN, FEW = 3, 6  # options of a grid that are shown at least, and of which all are
MAP = (
    "A cell is the best option with these settings, the better the darker. A dashed frame marks what may still be the "
    "best, a solid one the answer."
)
CURVE = "The line is the estimate, the band the intervals around it, and the dashed line the answer."
MOST_NUMBERED = 10  # columns of a map whose cells have room for a number


class Row(NamedTuple):
    """An option in a picture."""

    name: str
    about: str  # on the right
    kind: str  # the classes that give it its colour
    interval: Interval
    mean: float = math.nan  # a stroke, where there is one


class Shape(NamedTuple):
    """A line or an area in a plot."""

    tag: str  # polyline or polygon
    kind: str
    points: list[tuple[float, float]]


class Curve(NamedTuple):
    """Values with their intervals along a number, such as that of outcomes."""

    kind: str  # the class that gives it its colour
    points: Sequence[tuple[float, Interval]]

    @property
    def bounded(self) -> list[tuple[float, Interval]]:
        """Where there is an interval."""
        return [(t, one) for t, one in self.points if math.isfinite(one.low) and math.isfinite(one.high)]

    def shapes(self, place: Callable[[float, float], tuple[float, float]]) -> list[Shape]:
        """The line of the values, above the band of the intervals where there are any."""
        line = Shape("polyline", self.kind, [place(t, one.value) for t, one in self.points])
        band = [place(t, one.high) for t, one in self.bounded] + [place(t, one.low) for t, one in self.bounded[::-1]]
        return [Shape("polygon", self.kind, band), line] if band else [line]


def rows_as_svg(label: str, rows: Sequence[Row], limit: float = math.nan) -> Markup:
    """Rows from the top down; at `limit` a line through all of them."""
    shown = [end for row in rows for end in (*row.interval, row.mean) if math.isfinite(end)]
    ticks = ticks_over(min(shown, default=0.0), max(shown, default=1.0))

    def place(amount: float) -> str:
        share = PAD + (1.0 - 2.0 * PAD) * (amount - ticks[0]) / (ticks[-1] - ticks[0])
        return f"{100.0 * min(max(share, 0.0), 1.0):.2f}%"  # what is infinite reaches to the edge

    return macro(PARTS, "intervals")(label, rows, ticks, place, limit)


def over_time(
    label: str, curves: Sequence[Curve], axis: str, framed: int | None = None, limit: float | None = None
) -> Markup:
    """Intervals over the number of outcomes, as bands around lines, the first curve on top.

    The picture shows the later values, and the later intervals of the first `framed` curves: the earliest intervals
    are as wide as the rewards, and those of options that were soon given up stay wide.
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

    def place(outcomes: float, value: float) -> tuple[float, float]:
        y = HIGH * (ticks[-1] - value) / (ticks[-1] - ticks[0])
        return WIDE * x(outcomes), min(max(y, -1e4), 1e4)  # browsers fail to draw huge numbers

    shapes = [shape for curve in reversed(curves) for shape in curve.shapes(place)]
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


def _marks(first: float, last: float) -> list[int]:
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
    return found or [round(first)]


def axis_label(answer: BestArm, unit: str) -> str:
    """What the numbers of a picture are."""
    preference = answer.learner.policy.preference
    less = "; less is better" if preference.costs else ""
    heading = heading_of(preference)
    what = "what it feels like for sure" if heading == FELT else heading
    return f"{what}{f', in {unit}' if unit else ''}{less}"


def contenders_first(answer: BestArm) -> tuple[list[Hashable], list[Hashable]]:
    """The options that a page shows, the recommended one first and then by value; and the rest of many."""
    names = ranked(answer)
    seen = set(names)
    names += [name for name in answer.intervals if name not in seen]
    shown = MOST_SHOWN if len(names) > MOST_SHOWN + 1 else len(names)  # to fold one away would save nothing
    if len(names) > FEW and settings_of(names):  # what the others are worth is in the picture of their settings
        may_be_best = set(contenders(answer))
        names.sort(key=lambda name: name not in may_be_best)
        shown = min(max(len(may_be_best), LEAST_SHOWN), MOST_SHOWN)
    return names[:shown], names[shown:]


def intervals_as_svg(answer: BestArm) -> Markup:
    """What the options that are shown are worth, with their intervals."""
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
    return rows_as_svg("What each option is worth, with its interval", rows, worst)


class Cell(NamedTuple):
    """Settings on a map: where they are, and the best that is there."""

    column: int
    row: int
    text: str
    share: float  # from 0, the worst on the map, to 1, the best
    kind: str  # "best", "contender" or nothing


def over_settings(answer: BestArm) -> tuple[Markup | str, str]:
    """The value over one number, or over the two settings that matter most; with what the picture shows, in words.

    Nothing where options have names only, or one setting that is no number. Of options that share a place on the map,
    the best is shown.
    """
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    options = {
        name: settings
        for name, settings in zip(answer.pulls, settings_of(list(answer.pulls)), strict=False)
        if math.isfinite(sure[name].value)
    }
    sign = -1.0 if answer.learner.policy.preference.costs else 1.0
    axes = _that_matter({name: (settings, sign * sure[name].value) for name, settings in options.items()})
    if not axes or len(options) < LEAST_SHOWN:
        return "", ""
    if len(axes) > 1:
        return _map(answer, options, axes), " ".join([MAP, *_at_an_end(answer, options)])
    along = sorted((settings[axes[0]], name) for name, settings in options.items())
    if any(isinstance(at, str | bool) for at, _ in along):
        return "", ""
    points = [(float(at), sure[name]) for at, name in along]
    best = float(options[answer.arm][axes[0]]) if answer.arm in options else None
    return _along(points, axes[0], best), " ".join([CURVE, *_at_an_end(answer, options)])


def _at_an_end(answer: BestArm, options: dict[Hashable, dict[str, Setting]]) -> Iterator[str]:
    """Which numbers of the answer are the smallest or the largest that were tried."""
    for name, level in options.get(answer.arm, {}).items():
        levels = {settings[name] for settings in options.values()}
        if len(levels) > 2 and not isinstance(level, str | bool) and level in (min(levels), max(levels)):
            yield f"The best {name} is at the end of what was tried: {_shown(level)}. Beyond it may be better ones."


def _that_matter(options: dict[Hashable, tuple[dict[str, Setting], float]]) -> list[str]:
    """The settings that vary, the one first over which the best value varies most; two at most."""
    ranges = {}
    for name in next(iter(options.values()))[0] if options else ():
        best: dict[Setting, float] = {}
        for settings, value in options.values():
            best[settings[name]] = max(value, best.get(settings[name], -math.inf))
        if len(best) > 1:
            ranges[name] = max(best.values()) - min(best.values())
    return sorted(ranges, key=lambda name: -ranges[name])[:2]


def _along(points: list[tuple[float, Interval]], label: str, best: float | None) -> Markup:
    """Values with their intervals over a number."""
    curve = Curve("s0", points)
    values = [one.value for _, one in points]
    ends = [end for _, one in curve.bounded for end in (one.low, one.high)]
    spread = max(values) - min(values)  # intervals of options that were soon given up may be as wide as can be
    ends = [min(max(end, min(values) - spread), max(values) + spread) for end in ends]
    ticks, first, last = ticks_over(min(values + ends), max(values + ends)), points[0][0], points[-1][0]

    def place(at: float, value: float) -> tuple[float, float]:
        y = HIGH * (ticks[-1] - value) / (ticks[-1] - ticks[0])
        return WIDE * (at - first) / (last - first), min(max(y, 0.0), float(HIGH))

    levels = [(place(first, tick)[1], plain(tick, 6)) for tick in ticks]
    marks = [((at - first) / (last - first), plain(at)) for at, _ in points]
    marks = marks[:: math.ceil(len(marks) / MOST_MARKS)]
    limit = None if best is None else (best - first) / (last - first)
    return plot(f"What options are worth, by {label}", curve.shapes(place), levels, marks, label, limit)


def _map(answer: BestArm, options: dict[Hashable, dict[str, Setting]], axes: list[str]) -> Markup:
    """The best value at each pair of two settings, as a map of cells."""
    sure, may_be_best = sure_intervals(answer.learner, answer.pulls, answer.intervals), set(contenders(answer))
    pick = min if answer.learner.policy.preference.costs else max
    across, up = ([*_in_order({settings[axis] for settings in options.values()})] for axis in axes)
    at: dict[tuple[Setting, Setting], Hashable] = {}
    for name, settings in options.items():
        spot = (settings[axes[0]], settings[axes[1]])
        rivals = [name, *([at[spot]] if spot in at else [])]
        at[spot] = answer.arm if answer.arm in rivals else pick(rivals, key=lambda one: sure[one].value)
    values = [sure[name].value for name in at.values()]
    worst, best = (max(values), min(values)) if pick is min else (min(values), max(values))
    cells = [
        Cell(
            across.index(x), len(up) - 1 - up.index(y),
            plain(sure[name].value, 3) if len(across) <= MOST_NUMBERED else "",
            (sure[name].value - worst) / (best - worst) if best != worst else 1.0,
            "best" if name == answer.arm else "contender" if name in may_be_best else "",
        )
        for (x, y), name in at.items()
    ]  # fmt: skip
    every = math.ceil(len(across) / MOST_NUMBERED)
    columns = [(place, _shown(level)) for place, level in enumerate(across) if place % every == 0]
    label = f"What options are worth, by {axes[0]} and {axes[1]}"
    return macro(PARTS, "map")(label, cells, len(across), columns, [_shown(level) for level in reversed(up)], axes)


def _in_order(levels: set[Setting]) -> list[Setting]:
    """Numbers by size, others by name."""
    return sorted(levels, key=lambda one: (isinstance(one, str), one if not isinstance(one, str) else 0.0, str(one)))


def _shown(level: Setting) -> str:
    return plain(level) if isinstance(level, int | float) and not isinstance(level, bool) else str(level)
