"""Pages about evidence, a file each: groups that were compared, and what other policies would have been worth."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allais import __version__
from allais.bands import Interval
from allais.evidence import Evaluation, Verdict, Verdicts, Worth
from allais.evidence.distributions import value_at
from allais.evidence.targets import LOGGING
from allais.files import write_atomically
from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.preferences.valuation import amount, plain
from allais.report.markup import macro, render, style
from allais.report.pictures import HIGH, PARTS, WIDE, Curve, Row, over_time, plot, rows_as_svg, ticks_over

if TYPE_CHECKING:
    from markupsafe import Markup


LEVELS = np.concatenate([[0.002, 0.005], np.arange(0.01, 0.995, 0.01), [0.995, 0.998]])  # that are drawn
WIDE_RANGE = 50.0  # times the least that is drawn: more are drawn by their logarithm
MOST_MARKS = 6


def write_verdicts(found: Verdicts, path: str | Path, title: str = "", *, name: str = "") -> None:
    """Write what `verdict` found to one HTML file.

    Args:
        found: What `verdict` or `Test.verdict` returned.
        path: The file.
        title: The heading of the page; by default the question.
        name: Where the outcomes are from, such as the file.

    >>> from allais.evidence import verdict
    >>> log = {"version": ["old", "new"] * 500, "ms": np.random.default_rng(1).lognormal(5, 0.5, 1_000)}
    >>> write_verdicts(verdict(log, group="version", outcome="ms", by="p90", unit="ms"), "verdict.html")
    """
    first = found[0]
    text = render(
        "report/templates/verdict.html.j2", title=title or f'Is "{first.group}" better than "{first.control}"?',
        style=style("report/static/report.css"), about=_about(found, name), summary=found.summary,
        notes=[] if found.sample_ratio.fires else found.notes,
        values=[(one.question, both_values(one)) for one in found],
        table=_table(found), distributions=_distributions(found), groups=[str(name) for name in found.log.names],
        axis=f"outcomes, in {first.unit}" if first.unit else "outcomes", histories=histories(found),
        ratio=str(found.sample_ratio), shares=_shares(found), assumptions=found.assumptions,
    )  # fmt: skip
    write_atomically(Path(path), text)


def _about(found: Verdicts, name: str) -> str:
    unit = "users" if found.log.user is not None else "outcomes"
    units = sum(found.sample_ratio.counts.values())
    said = [f"{found.log.outcome.size:,} outcomes" + (f" of {units:,} users" if unit == "users" else "")]
    if found.log.time is not None:
        said.append(f"over {plain((found.log.time[-1] - found.log.time[0]) / 86_400.0, 2)} days")
    return _made_from(name, said)


def _made_from(name: str, said: list[str]) -> str:
    """The line below the heading: where it is from, how much there is, when and by which version it was made."""
    return " · ".join([*([name] if name else []), *said, time.strftime("%Y-%m-%d %H:%M"), f"allais {__version__}"])


def both_values(one: Verdict) -> Markup:
    """Both amounts with their own intervals."""
    rows = [
        Row(str(name), amount(value.value, one.unit), kind, value)
        for name, value, kind in zip((one.control, one.group), one.values, ("s0", "s1"), strict=True)
    ]
    return rows_as_svg(f"{one.metric.words} of both groups, with intervals", rows)


def _table(found: Verdicts) -> Markup:
    header = ["group", "by", "verdict", "difference", "relative", "p-value", "e-value", "promise"]
    rows = [
        [
            str(one.group), one.metric.words, one.word, _between(one.difference, lambda end: plain(end, 3)),
            "" if one.relative is None else _between(one.relative, lambda end: f"{plain(100.0 * end, 2)}%"),
            f"{one.p_value:.2g}", f"{one.e_value:.3g}", one.promise,
        ]
        for one in found
    ]  # fmt: skip
    return macro(PARTS, "table")(header, rows, "cards")


def _between(of: Interval, words: Any) -> str:
    low = "-∞" if of.low == -math.inf else words(of.low)
    high = "∞" if of.high == math.inf else words(of.high)
    return f"{low} to {high}"


def _shares(found: Verdicts) -> Markup:
    """Units of each group, beside the plan."""
    ratio, total = found.sample_ratio, sum(found.sample_ratio.counts.values())
    header = ["group", "units", "share", "planned"]
    rows = [
        [str(name), f"{count:,}", f"{count / total:.2%}", f"{ratio.planned[name]:.2%}" if ratio.planned else "any"]
        for name, count in ratio.counts.items()
    ]
    return macro(PARTS, "table")(header, rows)


def _distributions(found: Verdicts) -> Markup:
    """The share of outcomes at or below each amount, with the interval of every percentile."""
    views = [side.upto(found.log.outcome.size) for side in found.log.sides]
    middle = [[value_at(one.sorted, level) for level in LEVELS] for one in views]
    low, high = min(values[0] for values in middle), max(values[-3] for values in middle)
    ticks = ticks_over(low, high)
    first, last = ticks[0], ticks[-1]
    scale: Callable[[float], float] = float
    if low > 0.0 and high > WIDE_RANGE * low:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [digit * 10.0**power for power in powers for digit in (1, 3) if low <= digit * 10.0**power <= high]
        ticks = ticks[:: math.ceil(len(ticks) / MOST_MARKS)]
        first, last, scale = low, high, math.log

    def place(level: float, amount: float) -> tuple[float, float]:
        share = (scale(amount) - scale(first)) / (scale(last) - scale(first))
        return WIDE * share, HIGH * (1.0 - level)

    shapes = []
    for number, (one, values) in reversed(list(enumerate(zip(views, middle, strict=True)))):
        points = []
        for level, value in zip(LEVELS.tolist(), values, strict=True):
            ends = one.quantile_ends(level, math.log(1.0 / found.delta))
            points.append((level, Interval(*np.clip((ends.low, value, ends.high), first, last).tolist())))
        shapes += Curve(f"s{number % 8}", points).shapes(place)
    marks = [(place(0.0, tick)[0] / WIDE, plain(tick, 3)) for tick in ticks]
    levels = [(HIGH * (1.0 - level), f"{level:.0%}") for level in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return plot("Share of outcomes at or below each amount", shapes, levels, marks, "")


def histories(found: Verdicts) -> list[tuple[str, str, Markup]]:
    """How each difference went; none where there was one look only."""
    drawn = []
    for one in found:
        relative = all(look.relative is not None for look in one.looks if math.isfinite(look.difference.low))
        points: dict[float, Interval] = {}
        for look in one.looks:
            of = look.relative if relative and look.relative is not None else look.difference
            shown = Interval(*(100.0 * end for end in of)) if of is look.relative else of
            if math.isfinite(look.difference.low) and math.isfinite(look.difference.high):
                points[look.units] = shown
        if len(points) < 2:
            continue
        none = [(units, Interval(math.nan, 0.0, math.nan)) for units in (min(points), max(points))]
        curves = [Curve("s1", sorted(points.items())), Curve("other", none)]
        unit = "%" if relative else one.unit
        label = f"{one.group} less {one.control}, {one.metric.words}"
        what = f"difference{f', in {unit}' if unit else ''}; {'less' if one.metric.costs else 'more'} is better"
        drawn.append((label, what, over_time(label, curves, "users" if found.log.user is not None else "outcomes")))
    return drawn


AS_DECIDED = "As decided"  # what the logging policy is called on pages of the service


def write_evaluation(found: Evaluation, path: str | Path, title: str = "", *, name: str = "", unit: str = "") -> None:
    """Write what `evaluate` found to one HTML file.

    Args:
        found: What `evaluate` returned.
        path: The file.
        title: The heading of the page.
        name: Where the decisions are from, such as the file.
        unit: The unit of outcomes.

    >>> from allais import expected_value
    >>> from allais.evidence import evaluate, read_decisions
    >>> log = read_decisions({"arm": ["a", "b"] * 50, "outcome": [1.0, 2.0] * 50, "propensity": [0.5] * 100})
    >>> write_evaluation(evaluate(log, {"b": "b", "now": "logging"}, expected_value()), "worth.html")
    """
    said = [f"{found.log.n:,} decisions, {found.log.told.n:,} with an outcome", f"{len(found.log.arms)} arms"]
    text = render(
        "report/templates/evaluation.html.j2", title=title or "What would another policy have been worth?",
        style=style("report/static/report.css"), about=_made_from(name, said), answers=answers(found, unit),
        notes=list(dict.fromkeys([*found.findings, *(one.caveat for one in found.worths if one.caveat)])),
        pictures=pictures(found, unit), table=table(found, unit), assumptions=assumptions(found),
    )  # fmt: skip
    write_atomically(Path(path), text)


def answers(found: Evaluation, unit: str) -> list[str]:
    """The best target by each preference, in a sentence."""
    return [_answer(found, one, unit) for one in found.preferences]


def pictures(found: Evaluation, unit: str) -> list[tuple[str, Markup]]:
    """All targets with their intervals, by each preference."""
    return [(in_words(one), _picture(found, one, unit)) for one in found.preferences]


def _of(found: Evaluation, preference: Preference) -> list[Worth]:
    return [one for one in found.worths if one.by == in_words(preference)]


def _answer(found: Evaluation, preference: Preference, unit: str) -> str:
    """The best target in a sentence."""
    worths = _of(found, preference)
    sign = -1.0 if preference.costs else 1.0
    known = [one for one in worths if not math.isnan(one.value)]
    if not known:
        return f"Nobody tried what these policies do, so this log cannot value them by {in_words(preference)}."
    tried = [one for one in known if not one.untried]  # of others only a part is known
    best = max(tried or known, key=lambda one: sign * one.value)
    done = best.target in (LOGGING, AS_DECIDED)
    name = "What was done was" if done else f"{best.target} would have been"
    what = f"{name} worth {amount(best.value, unit)} by {in_words(preference)}"
    held = _held(best.interval, "between {} and {}")
    if best.untried:
        what, held = f"{what} where it was tried", f"{held} in all"
    others = [one for one in worths if one is not best]
    apart = all(
        one.interval[1] < best.interval[0] if sign > 0.0 else one.interval[0] > best.interval[1] for one in others
    )
    if not others:
        return f"{what}, {held}."
    return f"{what}, {held}: " + ("more than any other." if apart else "this log does not tell it from all others.")


def _held(interval: tuple[float, float], closed: str) -> str:
    """An interval in words, which may be open."""
    low, high = interval
    if math.isfinite(low):
        return closed.format(plain(low), plain(high)) if math.isfinite(high) else f"{plain(low)} or more"
    return f"{plain(high)} or less" if math.isfinite(high) else "anything"


def _picture(found: Evaluation, preference: Preference, unit: str) -> Markup:
    rows = []
    for k, one in enumerate(_of(found, preference)):
        low, high = one.interval
        if not math.isnan(one.value):
            rows.append(Row(one.target, amount(one.value, unit), f"s{k % 8}", Interval(low, one.value, high)))
    return rows_as_svg(f"Value by {in_words(preference)}", rows)


def table(found: Evaluation, unit: str) -> Markup:
    """All numbers."""
    proven = found.bounds is not None
    cells = []
    for one in found.worths:
        worth = "not known" if math.isnan(one.value) else amount(one.value, unit)
        row = [one.target, one.by, worth, _held(one.interval, "{} to {}")]
        if one.proven is not None:
            row.append(f"{plain(one.proven[0])} to {plain(one.proven[1])}")
        cells.append([*row, plain(one.effective, 3), f"{one.untried:.1%}"])
    heads = ["policy", "by", "value", "interval", *(["proven"] if proven else []), "in effect", "not tried"]
    return macro(PARTS, "table")(heads, cells)


def assumptions(found: Evaluation) -> list[str]:
    """What the numbers rest on, a sentence each."""
    said = [
        "Each propensity is the probability with which the arm was chosen, given all that came before.",
        "Contexts, and the outcomes of each arm in them, come from one distribution throughout the log.",
        f"All intervals hold together with a chance of {1.0 - found.delta:.0%}, by the central limit theorem.",
    ]
    if found.bounds is not None:
        low, high = found.bounds
        said.append(
            f"Proven intervals hold together with that chance at all times at once, whatever the policy learned "
            f"meanwhile, if every outcome is from {plain(low)} to {plain(high)}."
        )
    return said
