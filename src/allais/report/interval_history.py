"""How the intervals of a search closed, as a picture: sure amounts over the number of runs."""

from __future__ import annotations

import math
from collections.abc import Hashable
from html import escape

from allais.bands import Interval
from allais.report.pictures import axis_label, ticks_over
from allais.report.sure import quoted, sure_intervals
from allais.report.tables import plain
from allais.report.words import ranked
from allais.simulation import BestArm

WIDE = 1000  # of the curves, in units of their own
TOP, HIGH, AXIS = 4, 240, 40  # pixels
MOST_DRAWN = 5  # options: more bands hide each other
MOST_STEPS = 6  # between the numbers of runs that are written on the axis

Curve = list[tuple[int, Interval]]


def closing(answer: BestArm, unit: str = "", fewest: float = math.inf) -> str:
    """The picture with its legend and a sentence about it; nothing where less than two moments are known."""
    curves = _curves(answer)
    times = sorted({samples for curve in curves.values() for samples, _ in curve})
    if len(times) < 2:
        return ""
    banded = any(math.isfinite(one.low) and math.isfinite(one.high) for curve in curves.values() for _, one in curve)
    legend = "".join(f'<span class="s{number}">{escape(quoted(name))}</span>' for number, name in enumerate(curves))
    marked = banded and times[0] < fewest <= times[-1]
    title = "How the intervals closed" if banded else "How the estimates settled"
    picture = _svg(curves, times, _range(curves, times, banded), fewest if marked else None)
    return (
        f'<h2>{title}</h2>\n<p class="legend">{legend}</p>\n'
        f'<p class="small axis">{escape(axis_label(answer, unit))}</p>\n{picture}'
        f'\n<p class="small">{escape(" ".join(_about(answer, len(curves), banded, marked)))}</p>'
    )


def _curves(answer: BestArm) -> dict[Hashable, Curve]:
    """Each drawn option's interval at every moment from which on it has a value."""
    drawn = ranked(answer)[:MOST_DRAWN]
    curves: dict[Hashable, Curve] = {name: [] for name in drawn}
    if getattr(answer.learner.policy, "of_mean", False):  # its intervals are those of no value
        return {}
    for samples, pulls, intervals in answer.history:
        sure = sure_intervals(answer.learner, pulls, intervals)
        for name in drawn:
            if math.isfinite(sure[name].value):
                curves[name].append((samples, sure[name]))
    return curves


def _about(answer: BestArm, drawn: int, banded: bool, marked: bool) -> list[str]:
    text = ["Lines are the estimates after each number of runs."]
    if banded:
        text.append("Bands are the intervals around them; wide ones reach beyond the picture.")
        if answer.excluded:
            text.append("They know nothing of the runs that were left out.")
    else:
        text.append("This policy keeps no intervals, so there are none to draw.")
    if banded and answer.settled:
        text.append(_in_the_end(answer))
    if marked:
        text.append("The dashed line is the least number of runs with which such intervals can part.")
    if len(answer.pulls) > drawn:
        text.append(f"The best {drawn} of {len(answer.pulls):,} options are drawn.")
    return text


def _in_the_end(answer: BestArm) -> str:
    """Where the interval of the answer lies when the policy has stopped."""
    low = answer.intervals[answer.arm].low
    overlap = max(one.high for name, one in answer.intervals.items() if name != answer.arm) - low
    if overlap <= 0.0:
        return "In the end the interval of the answer lies apart from all others."
    if overlap <= getattr(answer.learner.policy, "tolerance", 0.0):
        return "In the end the interval of the answer overlaps with others by no more than the tolerance."
    return "This policy is sure before all intervals part, since it compares the answer with one option at a time."


def _svg(curves: dict[Hashable, Curve], times: list[int], ends: tuple[float, float], fewest: float | None) -> str:
    ticks = ticks_over(*ends)
    low, high = ticks[0], ticks[-1]
    span = math.log(times[-1] / times[0])

    def x(samples: float) -> float:
        return math.log(samples / times[0]) / span

    def y(value: float) -> float:
        return HIGH * (high - value) / (high - low)

    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="0" x2="100%" y1="{TOP + y(tick):.1f}" y2="{TOP + y(tick):.1f}"/>')
    bottom = TOP + HIGH
    parts.append(
        f'<svg x="0" y="{TOP}" width="100%" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none">'
    )
    for number, curve in reversed(list(enumerate(curves.values()))):  # the best one on top
        bounded = [(x(t), one) for t, one in curve if math.isfinite(one.low) and math.isfinite(one.high)]
        around = [(at, y(one.high)) for at, one in bounded] + [(at, y(one.low)) for at, one in reversed(bounded)]
        parts.append(f'<polygon class="s{number}" points="{_points(around)}"/>')
        parts.append(f'<polyline class="s{number}" points="{_points([(x(t), y(one.value)) for t, one in curve])}"/>')
    parts.append("</svg>")
    if fewest is not None:
        at = f"{100.0 * x(fewest):.2f}%"
        parts.append(f'<line class="limit" x1="{at}" x2="{at}" y1="{TOP}" y2="{bottom}"/>')
    parts += [f'<text class="level" x="0" y="{TOP + y(tick) - 3.0:.1f}">{plain(tick, 6)}</text>' for tick in ticks[:-1]]
    for samples in _marks(times[0], times[-1]):
        here = x(samples)
        side = " start" if here < 0.04 else " end" if here > 0.94 else ""
        parts.append(f'<text class="tick{side}" x="{100.0 * here:.2f}%" y="{bottom + 15}">{samples:,}</text>')
    parts.append(f'<text class="tick" x="50%" y="{bottom + 33}">runs in all</text>')
    label = "What each option utility like for sure, by the number of runs"
    return (
        f'<svg role="img" aria-label="{label}" width="100%" height="{bottom + AXIS}">\n' + "\n".join(parts) + "\n</svg>"
    )


def _range(curves: dict[Hashable, Curve], times: list[int], banded: bool) -> tuple[float, float]:
    """All estimates; beside intervals, those of the second half, and the two intervals that matter most.

    The first intervals are as wide as can be, and those of options that were soon given up stay wide.
    """
    middle = math.sqrt(times[0] * times[-1]) if banded else 0.0
    late = [[one for t, one in curve if t >= middle] for curve in curves.values()]
    shown = [one.value for curve in late for one in curve]
    shown += [end for curve in late[:2] for one in curve for end in (one.low, one.high) if math.isfinite(end)]
    return min(shown), max(shown)


def _points(places: list[tuple[float, float]]) -> str:
    # beyond the picture nothing is seen, and browsers lose their way with numbers that are huge
    return " ".join(f"{WIDE * at:.1f},{min(max(y, -1e4), 1e4):.1f}" for at, y in places)


def _marks(first: int, last: int) -> list[int]:
    """Round numbers of runs from the first moment to the last, few enough for a phone.

    >>> _marks(3, 20_000)
    [10, 100, 1000, 10000]
    >>> _marks(4, 80)
    [5, 10, 20, 50]
    """
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [digit * 10**power for power in range(19) for digit in digits if first <= digit * 10**power <= last]
        if len(found) <= MOST_STEPS:
            break
    return found or [first]
