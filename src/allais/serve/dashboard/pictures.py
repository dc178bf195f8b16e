"""The pictures of an experiment: SVG whose text keeps its size, and whose colours come from the style sheet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from html import escape

from allais.bands import Interval
from allais.preferences import Explanation
from allais.preferences.explain import small_share
from allais.report.effort import TO
from allais.report.pictures import Row, as_svg, rows_as_svg, short, ticks_over
from allais.report.tables import plain, share
from allais.serve.dashboard.history import Moment
from allais.serve.dashboard.view_model import ArmFacts, Facts

WIDE, HIGH = 1000, 220  # of curves
COLOURS = 8  # arms beyond them are grey
MOST_MARKS = 6
LONG = 10  # of a past: outcomes at its end for one at its beginning
MOST_STEPS, FEWEST = 40, 12  # of shares that are drawn, and decisions in each


def colour(arms: list[ArmFacts], name: str) -> str:
    """The class of an arm's colour: by its place, so that it keeps it in all pictures."""
    places = [arm.name for arm in arms]
    place = places.index(name) if name in places else COLOURS
    return f"a{place}" if place < COLOURS else "ax"


def legend(arms: list[ArmFacts], names: Iterable[str]) -> str:
    """Which colour is which arm."""
    items = "".join(f'<span class="{colour(arms, name)}">{short(name) or "others"}</span>' for name in names)
    return f'<p class="legend">{items}</p>'


def arms_picture(facts: Facts) -> str:
    """What every arm feels like, with its interval and its mean, the best on top."""
    rows = [
        Row(
            arm.name, f"{arm.outcomes:,} outcome{'' if arm.outcomes == 1 else 's'}" if arm.in_play else "retired",
            colour(facts.arms, arm.name) + (" best" if arm.name == facts.best else ""), arm.sure, arm.mean,
        )
        for arm in sorted(facts.arms, key=lambda arm: rank(arm, facts.costs))
    ]  # fmt: skip
    return rows_as_svg("What each arm feels like for sure, with its interval", rows)


def rank(arm: ArmFacts, costs: bool) -> float:
    """What arms are sorted by, the best first."""
    felt = arm.sure.value
    return math.inf if math.isnan(felt) else felt if costs else -felt


def closing_picture(arms: list[ArmFacts], moments: list[Moment]) -> str:
    """How intervals closed over the number of outcomes."""
    names = [arm.name for arm in arms[:COLOURS]]
    curves = {
        name: [(one.outcomes, one.sure[name]) for one in moments if name in one.sure and _finite(one.sure[name])]
        for name in names
    }
    if any(_bounded(one) for curve in curves.values() for _, one in curve):  # else no value has an interval
        curves = {name: [(t, one) for t, one in curve if _bounded(one)] for name, curve in curves.items()}
    curves = {name: curve for name, curve in curves.items() if len(curve) > 1}
    if not curves:
        return '<p class="quiet">Here the values will be drawn as they settle.</p>'
    first, last = min(curve[0][0] for curve in curves.values()), moments[-1].outcomes
    since = math.sqrt(first * last) if last >= LONG * first else first  # a wild beginning would hide the end
    late = [one for curve in curves.values() for t, one in curve if t >= since]
    ends = [end for one in late for end in one if math.isfinite(end)]
    ticks = ticks_over(min(ends), max(ends))
    low, high = ticks[0], ticks[-1]
    span = math.log(last / first)

    def x(outcomes: float) -> float:
        return WIDE * math.log(outcomes / first) / span

    def y(amount: float) -> float:
        return min(max(HIGH * (high - amount) / (high - low), -1e4), 1e4)

    drawn = []
    for name, curve in curves.items():
        of = colour(arms, name)
        bounded = [(t, one) for t, one in curve if _bounded(one)]
        around = [(x(t), y(one.high)) for t, one in bounded] + [(x(t), y(one.low)) for t, one in reversed(bounded)]
        drawn.append(f'<polygon class="{of}" points="{_points(around)}"/>')
        drawn.append(f'<polyline class="{of}" points="{_points([(x(t), y(one.value)) for t, one in curve])}"/>')
    marks = [(x(mark) / WIDE, f"{mark:,}") for mark in _marks(first, last)]
    levels = [(y(tick), plain(tick, 6)) for tick in ticks]
    return _plot("How the values closed, by the number of outcomes", drawn, levels, marks, "outcomes")


def _finite(one: Interval) -> bool:
    return math.isfinite(one.value)


def _bounded(one: Interval) -> bool:
    return math.isfinite(one.low) and math.isfinite(one.high)


def _plot(
    label: str, drawn: list[str], levels: list[tuple[float, str]], marks: list[tuple[float, str]], axis: str
) -> str:
    """Curves in a frame: levels on the left, marks below."""
    parts = [f'<line class="grid" x1="0" x2="100%" y1="{8 + y:.1f}" y2="{8 + y:.1f}"/>' for y, _ in levels]
    frame = f'x="0" y="8" width="100%" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none"'
    parts += [f"<svg {frame}>", *drawn, "</svg>"]
    parts += [f'<text class="level" x="0" y="{5 + y:.1f}">{text}</text>' for y, text in levels if y > 12]
    for at, text in marks:
        side = " start" if at < 0.05 else " end" if at > 0.93 else ""
        parts.append(f'<text class="tick{side}" x="{100.0 * at:.2f}%" y="{HIGH + 25}">{text}</text>')
    parts.append(f'<text class="tick" x="50%" y="{HIGH + 43}">{escape(axis)}</text>')
    return as_svg(label, HIGH + 50, parts)


def _points(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _marks(first: int, last: int) -> list[int]:
    found: list[int] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [digit * 10**power for power in range(19) for digit in digits if first <= digit * 10**power <= last]
        if len(found) <= MOST_MARKS:
            break
    return found or [first]


def shares_picture(arms: list[ArmFacts], series: list[Counter[str]], label: str) -> str:
    """Where decisions went, bucket by bucket: shares that fill the height."""
    filled = _joined(series)
    if not filled:
        return '<p class="quiet">No decision yet.</p>'
    names = [arm.name for arm in arms if any(bucket[arm.name] for bucket in filled)]
    smooth = [sum(filled[max(0, k - 1) : k + 2], Counter[str]()) for k in range(len(filled))]
    if len(smooth) == 1:
        smooth *= 2
    base, parts = [0.0] * len(smooth), []
    for name in [*names, ""]:
        top = [
            b + (c[name] if name else sum(n for arm, n in c.items() if arm not in names)) / c.total()
            for b, c in zip(base, smooth, strict=True)
        ]
        xs = [WIDE * k / (len(smooth) - 1) for k in range(len(smooth))]
        edge = [(x, 100.0 * (1.0 - t)) for x, t in zip(xs, top, strict=True)]
        floor = [(x, 100.0 * (1.0 - b)) for x, b in zip(reversed(xs), reversed(base), strict=True)]
        if any(t - b > 1e-9 for t, b in zip(top, base, strict=True)):
            parts.append(f'<polygon class="{colour(arms, name)}" points="{_points(edge + floor)}"/>')
        base = top
    return (
        f'<svg class="shares" role="img" aria-label="{escape(label)}" width="100%" height="90" '
        f'viewBox="0 0 {WIDE} 100" preserveAspectRatio="none">{"".join(parts)}</svg>'
    )


def _joined(series: list[Counter[str]]) -> list[Counter[str]]:
    """Neighbours together, until there are enough decisions in each for a share that means something."""
    enough = max(FEWEST, sum(bucket.total() for bucket in series) / MOST_STEPS)
    found: list[Counter[str]] = []
    for bucket in series:
        if not bucket:
            continue
        if found and found[-1].total() < enough:
            found[-1] = found[-1] + bucket
        else:
            found.append(bucket)
    if len(found) > 1 and found[-1].total() < enough / 2:
        found[-2:] = [found[-2] + found[-1]]
    return found


def lost_picture(facts: Facts) -> str:
    """What was lost so far, as decided and by the mean."""
    if len(facts.lost) < 2:
        return '<p class="quiet">Here the cost of learning will be drawn beside that of always the best mean.</p>'
    ticks = ticks_over(0.0, max(max(pair) for pair in facts.lost) or 1.0)
    high = ticks[-1]
    last = len(facts.lost)

    def curve(which: int) -> str:
        along = [(0.0, float(HIGH))]
        along += [(WIDE * (k + 1) / last, HIGH * (1.0 - pair[which] / high)) for k, pair in enumerate(facts.lost)]
        return f'<polyline class="{("ours", "theirs")[which]}" points="{_points(along)}"/>'

    levels = [(HIGH * (1.0 - tick / high), plain(tick, 6) if tick else "") for tick in ticks]
    marks = [(1.0, f"{facts.decisions:,}"), (0.5, f"{facts.decisions // 2:,}")]
    return _plot("What was lost, as decided and by the mean", [curve(1), curve(0)], levels, marks, "decisions")


def weights_picture(rows: Explanation, of: str) -> str:
    """Outcomes of an arm: how often they came, and how much they count."""
    most = max(*rows.probabilities, *rows.decision_weights, 1e-9)
    lines = []
    for label, p, w in zip(rows.labels, rows.probabilities.tolist(), rows.decision_weights.tolist(), strict=True):
        bars = (
            f'<rect class="seen" x="0" y="3" height="7" width="{100.0 * p / most:.2f}%"/>'
            f'<rect class="felt" x="0" y="12" height="7" width="{100.0 * max(w, 0.0) / most:.2f}%"/>'
        )
        lines.append(
            f"<tr><th>{escape(_upward(label))}</th><td>"
            f'<svg width="100%" height="22" aria-hidden="true">{bars}</svg></td>'
            f"<td>{_percent(p)}</td><td>{_percent(w)}</td></tr>"
        )
    head = "<thead><tr><th>outcome</th><th></th><th>came in</th><th>counts as</th></tr></thead>"
    return f'<table class="weights {of}">{head}<tbody>{"".join(lines)}</tbody></table>'


def _upward(label: str) -> str:
    """A group of outcomes, the lower end first."""
    return TO.join(sorted(label.split(TO), key=float)) if TO in label else label


def _percent(p: float) -> str:
    if abs(p) < 1e-9:
        return "0%"
    return share(round(p, 3)) if p >= 0.001 else small_share(p)
