"""A one-page report of an answer: HTML that needs no other file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np

from allais._checks import FloatArray
from allais.files.atomic import write_atomically
from allais.preferences import Explanation
from allais.preferences.explain import small_share
from allais.report.html_page import html_page
from allais.report.picture import intervals_as_svg
from allais.report.tables import html_table
from allais.report.words import by_mean, confidence, contrast, explained, recommendation
from allais.searches.chances import chances_of_best
from allais.searches.forecast import forecast
from allais.searches.limit import Seen, fewest_runs
from allais.simulation import BestArm

MOST_FAILURES_LISTED = 20
MOST_ON_A_PHONE = 4  # columns; rows with more become cards there

STYLE = """
:root { color-scheme: light dark; --text: #222; --faint: #555; --line: #d5dadd; --best: #1f6f8b; --other: #7d898f;
  --page: #fff; --box: #eef5f7; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7e9; --faint: #a3adb3; --line: #3a4449; --best: #62b6d3;
  --other: #8d999f; --page: #15191b; --box: #1d2b31; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.answer { background: var(--box); border-left: 4px solid var(--best); padding: .8rem 1rem; font-size: 1.1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0; overflow-wrap: normal; }
th, td { padding: .2rem 1rem .2rem 0; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.words { white-space: normal; text-align: left; min-width: 12rem; }
th { border-bottom: 1px solid var(--faint); font-weight: 600; } th:last-child, td:last-child { padding-right: 0; }
tr.best td { font-weight: 600; } .small { color: var(--faint); font-size: .9rem; }
.pair { display: flex; flex-wrap: wrap; gap: 0 3rem; } .pair > div { min-width: 0; max-width: 100%; }
svg text { font-size: 14px; fill: var(--text); } svg .best text { font-weight: 600; }
svg text.tick, svg text.runs { font-size: 13px; fill: var(--faint); font-weight: 400; }
svg .tick { text-anchor: middle; } svg .runs { text-anchor: end; } svg .grid { stroke: var(--line); }
svg .limit { stroke: var(--best); stroke-dasharray: 2 3; } svg .interval { stroke-width: 7; stroke-opacity: .4; }
.best .interval { stroke: var(--best); } .best circle { fill: var(--best); }
.other .interval { stroke: var(--other); } .other circle { fill: var(--other); }
@media print { :root { color-scheme: light; --text: #000; --faint: #333; --line: #bbb; --best: #1f6f8b; --other: #777;
  --page: #fff; --box: #f4f4f4; } body { margin: 0; } h2, h3 { break-after: avoid; } svg, tr { break-inside: avoid; }
  th, td { padding-right: .5rem; font-size: .8rem; } .wide { overflow: visible; } }
@media screen and (max-width: 40rem) { body { margin: 1rem auto; } th, td { padding-right: .5rem; font-size: .85rem; }
  th, td:first-child { white-space: normal; } th { vertical-align: bottom; }
  .cards thead { display: none; } .cards, .cards tbody, .cards tr, .cards td { display: block; padding: 0; }
  .cards tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .cards td { display: flex; justify-content: space-between; font-size: .95rem; }
  .cards td:first-child { font-weight: 600; } .cards td:not(:first-child)::before { content: attr(data-label); } }
"""


def write_page(answer: BestArm, path: str | Path, title: str = "Which option people will prefer") -> None:
    """Write the report of an answer to one HTML file."""
    sections = [_options(answer), _people_and_means(answer), _effort(answer), _failures(answer), _settings(answer)]
    body = "\n".join(section for section in sections if section)
    head = f'<h1>{escape(title)}</h1>\n<p class="answer">{escape(recommendation(answer))}</p>'
    write_atomically(Path(path), html_page(title, STYLE, f"{head}\n{body}"))


def _options(answer: BestArm) -> str:
    chances = chances_of_best(answer.learner, np.random.default_rng(0))  # a fixed draw: a report repeats
    means = by_mean(answer.learner).means
    rows, names = [], sorted(answer.intervals, key=lambda name: -_or_lowest(answer.intervals[name].value))
    for name in names:
        low, value, high = answer.intervals[name]
        bounded = math.isfinite(low) and math.isfinite(high)
        rows.append(
            [
                str(name),
                _number(value) if answer.pulls[name] else "",
                f"{low:.4g} to {high:.4g}" if bounded else "none",
                _number(means[name]),
                f"{answer.pulls[name]:,}",
                "" if math.isnan(chances[name]) else f"{chances[name]:.2f}",
            ]
        )
    header = ["option", "value", "interval", "mean outcome", "runs", "chance of best"]
    note = (
        "The value is what the preference makes of the outcomes. Intervals hold together with the stated confidence; "
        "the chance of being best is a bootstrap, for the eye only."
    )
    shown = _table(header, rows, best=names.index(answer.arm))
    return f'<h2>The options</h2>\n{intervals_as_svg(answer)}\n{shown}\n<p class="small">{note}</p>'


def _people_and_means(answer: BestArm) -> str:
    if not answer.samples:
        return ""
    mean = by_mean(answer.learner).arm
    text = f"<h2>People and means</h2>\n<p>{escape(contrast(answer))}</p>"
    shown = [answer.arm] if mean == answer.arm else [answer.arm, mean]
    tables = [
        f"<div><h3>{escape(str(name))}</h3>{_explanation(explained(answer.learner, name))}</div>" for name in shown
    ]
    return f'{text}\n<div class="pair">{"".join(tables)}</div>'


def _explanation(rows: Explanation) -> str:
    cells = [
        [label, small_share(p), small_share(w), f"{c:.4g}"]
        for label, p, w, c in zip(
            rows.labels, rows.probabilities, rows.decision_weights, rows.contributions, strict=True
        )
    ]
    return _table(["outcome", "seen", "decision weight", "contribution"], cells)


def _effort(answer: BestArm) -> str:
    learner = answer.learner
    values = np.array([answer.intervals[name].value if answer.pulls[name] else math.nan for name in answer.pulls])
    text = [f"{answer.samples:,} runs were used. {confidence(answer)}"]
    if learner.policy.keeps_outcomes:
        seen = [learner.outcomes(name) for name in answer.pulls]
        text += _more_runs(answer, values, seen)
        text += _limit(answer, fewest_runs(learner.policy, values, seen))
    return "<h2>What it took</h2>\n<p>" + escape(" ".join(text)) + "</p>"


def _more_runs(answer: BestArm, values: FloatArray, seen: list[Seen]) -> Iterator[str]:
    """What a search that was stopped would have taken."""
    predicted = None if answer.settled else forecast(answer.learner.policy, values, seen)
    if predicted is None or math.isinf(predicted.expected):
        return
    yield f"If the options are worth what they seem, this policy needs about {predicted.expected:,.0f} runs in all."
    if predicted.at_most is not None and math.isfinite(predicted.at_most):
        yield f"The theorem promises at most {predicted.at_most:,.0f} (Theorem 5)."


def _limit(answer: BestArm, limit: float | None) -> Iterator[str]:
    """How far a search is from what its intervals need."""
    if limit is None:
        if answer.delta is None:
            yield "A budget waits for no intervals, so there is no least number of runs to compare it with."
    elif math.isinf(limit):
        yield "Two options seem equal, or so close that no number of runs in reach would part them: give a tolerance."
    else:
        yield (
            f"Intervals of this shape need about {limit:,.0f} runs to part, even for someone who knew all values "
            f"and only had to prove them: this search used {answer.samples / limit:.2g} times that."
        )


def _failures(answer: BestArm) -> str:
    if not answer.failures:
        return ""
    rows = [
        [str(one.arm), str(one.seed), "left out" if one.reward is None else f"{one.reward:g}", one.reason]
        for one in answer.failures[:MOST_FAILURES_LISTED]
    ]
    count = f"{len(answer.failures)} runs failed"
    warning = ""
    if any(one.reward is None for one in answer.failures):
        warning = " Runs that were left out bias the answer if failing says something about the outcome."
    return (
        f"<h2>Failed runs</h2>\n<p>{count}; the first {len(rows)} are listed.{warning}</p>\n"
        f"{_table(['option', 'seed', 'counted as', 'reason'], rows)}"
    )


def _settings(answer: BestArm) -> str:
    return f'<h2>Settings</h2>\n<p class="small">{escape(repr(answer.learner.policy))}</p>'


def _table(header: list[str], rows: list[list[str]], best: int = -1) -> str:
    return html_table(header, rows, "cards" if len(header) > MOST_ON_A_PHONE else "", {best})


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"


def _or_lowest(value: float) -> float:
    return -math.inf if math.isnan(value) else value
