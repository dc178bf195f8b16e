"""A page about what other policies would have been worth. It needs no other file."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

from allais import __version__
from allais.bands import Interval
from allais.evidence import Evaluation, Worth
from allais.evidence.targets import LOGGING
from allais.files.atomic import write_atomically
from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.preferences.valuation import amount, plain
from allais.report.markup import macro, render, style
from allais.report.pictures import PARTS, Row, rows_as_svg

if TYPE_CHECKING:
    from markupsafe import Markup

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
    told = found.log.told.n
    said = [f"{found.log.n:,} decisions, {told:,} with an outcome", f"{len(found.log.arms)} arms"]
    about = [*([name] if name else []), *said, time.strftime("%Y-%m-%d %H:%M"), f"allais {__version__}"]
    text = render(
        "report/templates/evaluation.html.j2", title=title or "What would another policy have been worth?",
        style=style("report/static/report.css"), about=" · ".join(about),
        answers=answers(found, unit),
        notes=list(dict.fromkeys([*found.findings, *(one.caveat for one in found.worths if one.caveat)])),
        pictures=pictures(found, unit), table=table(found, unit), assumptions=assumptions(found),
    )  # fmt: skip
    write_atomically(Path(path), text)


def answers(found: Evaluation, unit: str) -> list[str]:
    """The best target by each preference, in a sentence.

    Args:
        found: What `evaluate` returned.
        unit: The unit of outcomes.
    """
    return [_answer(found, one, unit) for one in found.preferences]


def pictures(found: Evaluation, unit: str) -> list[tuple[str, Markup]]:
    """All targets with their intervals, by each preference.

    Args:
        found: What `evaluate` returned.
        unit: The unit of outcomes.
    """
    return [(in_words(one), _picture(found, one, unit)) for one in found.preferences]


def _of(found: Evaluation, preference: Preference) -> list[Worth]:
    return [one for one in found.worths if one.by == in_words(preference)]


def _answer(found: Evaluation, preference: Preference, unit: str) -> str:
    """The best target in a sentence."""
    worths = _of(found, preference)
    sign = -1.0 if preference.costs else 1.0
    known = [one for one in worths if not math.isnan(one.value)]
    if not known:
        return f"Nobody tried what these policies do, so this log does not tell their worth by {in_words(preference)}."
    best = max(known, key=lambda one: sign * one.value)
    done = best.target in (LOGGING, AS_DECIDED)
    name = "What was done was" if done else f"{best.target} would have been"
    what = f"{name} worth {amount(best.value, unit)} by {in_words(preference)}"
    held = f"between {plain(best.interval[0])} and {plain(best.interval[1])}"
    others = [one for one in worths if one is not best]
    apart = all(
        one.interval[1] < best.interval[0] if sign > 0.0 else one.interval[0] > best.interval[1] for one in others
    )
    if not others:
        return f"{what}, {held}."
    return f"{what}, {held}: " + ("more than any other." if apart else "this log does not tell it from all others.")


def _picture(found: Evaluation, preference: Preference, unit: str) -> Markup:
    rows = []
    for k, one in enumerate(_of(found, preference)):
        low, high = (end if math.isfinite(end) else one.value for end in one.interval)
        if not math.isnan(one.value):
            rows.append(Row(one.target, amount(one.value, unit), f"s{k % 8}", Interval(low, one.value, high)))
    return rows_as_svg(f"Worth by {in_words(preference)}", rows)


def _amount(one: Worth, unit: str) -> str:
    return "not known" if math.isnan(one.value) else amount(one.value, unit)


def table(found: Evaluation, unit: str) -> Markup:
    """All numbers.

    Args:
        found: What `evaluate` returned.
        unit: The unit of outcomes.
    """
    proven = found.bounds is not None
    cells = []
    for one in found.worths:
        row = [one.target, one.by, _amount(one, unit), f"{plain(one.interval[0])} to {plain(one.interval[1])}"]
        if one.proven is not None:
            row.append(f"{plain(one.proven[0])} to {plain(one.proven[1])}")
        cells.append([*row, plain(one.effective, 3), f"{one.untried:.1%}"])
    heads = ["policy", "by", "worth", "interval", *(["proven"] if proven else []), "in effect", "not tried"]
    return macro(PARTS, "table")(heads, cells)


def assumptions(found: Evaluation) -> list[str]:
    """What the numbers rest on, a sentence each.

    Args:
        found: What `evaluate` returned.
    """
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
