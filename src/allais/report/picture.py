"""The intervals of an answer as a picture: SVG whose text keeps its size, and whose bars fill the width there is."""

from __future__ import annotations

import math
from html import escape

from allais.report.numbers import plain
from allais.report.sure import sure_intervals
from allais.report.words import ranked
from allais.simulation import BestArm

ROW, AXIS = 46, 22  # pixels
MOST_NAME = 32  # characters that a phone has room for beside the runs; the table has whole names
PAD = 0.06  # of the width, on both sides: a dot or a number at the end is whole
TICKS = 5  # steps between them, at most
ROUNDING = 1e-9


def axis_label(answer: BestArm, unit: str) -> str:
    """What the numbers of a picture are."""
    less = "; less is better" if answer.learner.policy.preference.costs else ""
    return f"what it feels like for sure{f', in {unit}' if unit else ''}{less}"


def intervals_as_svg(answer: BestArm) -> str:
    """What every option feels like for sure, with its interval, the best on top; its colours come from the page."""
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    names = ranked(answer)
    names += [name for name in answer.intervals if name not in names]
    shown = [x for name in names for x in sure[name] if math.isfinite(x)]
    ticks = ticks_over(min(shown, default=0.0), max(shown, default=1.0))
    low, high = ticks[0], ticks[-1]

    def place(value: float) -> str:
        return f"{100.0 * (PAD + (1.0 - 2.0 * PAD) * (value - low) / (high - low)):.2f}%"

    bottom = ROW * len(names) + 4
    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{place(tick)}" x2="{place(tick)}" y1="0" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{place(tick)}" y="{bottom + 15}">{plain(tick, 6)}</text>')
    worst = sure[answer.arm].high if answer.learner.policy.preference.costs else sure[answer.arm].low
    if math.isfinite(worst):
        parts.append(f'<line class="limit" x1="{place(worst)}" x2="{place(worst)}" y1="0" y2="{bottom}"/>')
    for row, name in enumerate(names):
        y = ROW * row
        runs = f"{answer.pulls[name]:,} runs" if answer.pulls[name] else "no run yet"
        inside = (
            f'<text x="0" y="{y + 16}">{escape(_short(str(name)))}</text>'
            f'<text class="runs" x="100%" y="{y + 16}">{runs}</text>'
        )
        interval = sure[name]
        if math.isfinite(interval.low) and math.isfinite(interval.high):
            ends = f'x1="{place(interval.low)}" x2="{place(interval.high)}"'
            inside += f'<line class="interval" {ends} y1="{y + 31}" y2="{y + 31}"/>'
        if math.isfinite(interval.value):
            inside += f'<circle cx="{place(interval.value)}" cy="{y + 31}" r="5"/>'
        parts.append(f'<g class="{"best" if name == answer.arm else "other"}">{inside}</g>')
    label = "What each option feels like for sure, with its interval"
    return (
        f'<svg role="img" aria-label="{label}" width="100%" height="{bottom + AXIS}">\n' + "\n".join(parts) + "\n</svg>"
    )


def _short(name: str) -> str:
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"


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
