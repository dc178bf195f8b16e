"""Options as rows of a picture: SVG whose text keeps its size, and whose intervals fill the width there is.

Its colours come from the page, by the classes `grid`, `tick`, `name`, `about`, `interval`, `mean` and `limit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from html import escape
from typing import NamedTuple

from allais.bands import Interval
from allais.report.sure import sure_intervals
from allais.report.tables import plain
from allais.report.words import ranked
from allais.simulation import BestArm

ROW, AXIS = 46, 24  # pixels
MOST_NAME = 32  # characters that a phone has room for beside what is said about an option; tables have whole names
PAD = 0.05  # of the width, on both sides: a dot or a number at the end is whole
TICKS = 5  # steps between them, at most
ROUNDING = 1e-9


class Row(NamedTuple):
    """An option in a picture."""

    name: str
    about: str  # on the right
    kind: str  # the classes that give it its colour
    interval: Interval
    mean: float = math.nan  # a stroke, where there is one


def rows_as_svg(label: str, rows: Sequence[Row], limit: float = math.nan) -> str:
    """Rows from the top down; at `limit` a line through all of them."""
    shown = [end for row in rows for end in (*row.interval, row.mean) if math.isfinite(end)]
    ticks = ticks_over(min(shown, default=0.0), max(shown, default=1.0))
    low, high = ticks[0], ticks[-1]

    def place(amount: float) -> str:
        return f"{100.0 * (PAD + (1.0 - 2.0 * PAD) * (amount - low) / (high - low)):.2f}%"

    bottom = ROW * len(rows) + 4
    parts = []
    for tick in ticks:
        parts.append(_upright("grid", place(tick), 0, bottom))
        parts.append(f'<text class="tick" x="{place(tick)}" y="{bottom + 16}">{plain(tick, 6)}</text>')
    if math.isfinite(limit):
        parts.append(_upright("limit", place(limit), 0, bottom))
    parts += [_drawn(row, ROW * number, place) for number, row in enumerate(rows)]
    return as_svg(label, bottom + AXIS, parts)


def _drawn(row: Row, y: int, place: Callable[[float], str]) -> str:
    inside = (
        f'<text class="name" x="0" y="{y + 16}">{short(row.name)}</text>'
        f'<text class="about" x="100%" y="{y + 16}">{row.about}</text>'
    )
    low, value, high = row.interval
    if math.isfinite(low) and math.isfinite(high):
        inside += f'<line class="interval" x1="{place(low)}" x2="{place(high)}" y1="{y + 31}" y2="{y + 31}"/>'
    if math.isfinite(row.mean):
        inside += _upright("mean", place(row.mean), y + 23, y + 39)
    if math.isfinite(value):
        inside += f'<circle cx="{place(value)}" cy="{y + 31}" r="5.5"/>'
    return f'<g class="{row.kind}">{inside}</g>'


def _upright(kind: str, at: str, top: int, bottom: int) -> str:
    return f'<line class="{kind}" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>'


def as_svg(label: str, height: float, parts: Sequence[str]) -> str:
    """A picture that is as wide as its place, with words for those who cannot see it."""
    inside = "\n".join(parts)
    return f'<svg role="img" aria-label="{escape(label)}" width="100%" height="{height:.0f}">\n{inside}\n</svg>'


def short(name: str) -> str:
    """A name that a phone has room for, escaped."""
    return escape(name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…")


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


MOST_SHOWN = 15  # options in a picture: as many as a screen has room for


def axis_label(answer: BestArm, unit: str) -> str:
    """What the numbers of a picture are."""
    less = "; less is better" if answer.learner.policy.preference.costs else ""
    return f"what it feels like for sure{f', in {unit}' if unit else ''}{less}"


def contenders_first(answer: BestArm) -> tuple[list[Hashable], list[Hashable]]:
    """The options that a page shows, the recommended one first and then by value; and the rest of many."""
    names = ranked(answer)
    seen = set(names)
    names += [name for name in answer.intervals if name not in seen]
    shown = MOST_SHOWN if len(names) > MOST_SHOWN + 1 else len(names)  # to fold one away would save nothing
    return names[:shown], names[shown:]


def intervals_as_svg(answer: BestArm) -> str:
    """What the options that are shown feel like for sure, with their intervals; the colours come from the page."""
    names, _ = contenders_first(answer)
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    rows = [
        Row(
            str(name), f"{answer.pulls[name]:,} runs" if answer.pulls[name] else "no run yet",
            "best" if name == answer.arm else "other", sure[name],
        )
        for name in names
    ]  # fmt: skip
    worst = sure[answer.arm].high if answer.learner.policy.preference.costs else sure[answer.arm].low
    return rows_as_svg("What each option feels like for sure, with its interval", rows, worst)
