"""A one-page report of an answer: HTML that needs no other file."""

from __future__ import annotations

import math
import re
import time
from html import escape
from pathlib import Path

import numpy as np

from allais import __version__
from allais._checks import FloatArray
from allais.files.atomic import write_atomically
from allais.policies.core.base import PROMISES, promise_in_words
from allais.preferences import Explanation
from allais.preferences.explain import small_share
from allais.report.effort import distance, explained, more_runs
from allais.report.failing import withdrawal
from allais.report.interval_history import closing
from allais.report.pictures import axis_label, contenders_first, intervals_as_svg
from allais.report.sure import amount, sure_intervals
from allais.report.tables import duration, html_table, plain, share
from allais.report.words import by_mean, chances, contrast, recommendation
from allais.searches.limit import Proof, Seen, least_proof
from allais.simulation import BestArm


def html_page(title: str, style: str, body: str) -> str:
    """A whole HTML page, for screens of any width."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'  # or a browser asks for one
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


MOST_FAILURES_LISTED = 20
MOST_ON_A_PHONE = 4  # columns; rows with more become cards there

STYLE = """
:root { color-scheme: light dark; --text: #222; --faint: #555; --line: #d5dadd; --best: #1f6f8b; --other: #7d898f;
  --page: #fff; --box: #eef5f7; --second: #b4541a; --third: #56792a; --fourth: #7d4f9e; --fifth: #806600; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7e9; --faint: #a3adb3; --line: #3a4449; --best: #62b6d3;
  --other: #8d999f; --page: #15191b; --box: #1d2b31; --second: #e8935a; --third: #9cc46a;
  --fourth: #b997d6; --fifth: #d1b54a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.about { margin: -.6rem 0 .8rem; }
.answer { background: var(--box); border-left: 4px solid var(--best); padding: .8rem 1rem; font-size: 1.1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0; overflow-wrap: normal; }
th, td { padding: .2rem 1rem .2rem 0; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.words { white-space: normal; text-align: left; min-width: 12rem; }
th { border-bottom: 1px solid var(--faint); font-weight: 600; } th:last-child, td:last-child { padding-right: 0; }
tr.best td { font-weight: 600; } .small { color: var(--faint); font-size: .9rem; }
.pair { display: flex; flex-wrap: wrap; gap: 0 3rem; } .pair > div { min-width: 0; max-width: 100%; }
svg text { font-size: 14px; fill: var(--text); } svg .best text { font-weight: 600; }
svg text.tick, svg text.about { font-size: 13px; fill: var(--faint); font-weight: 400; }
svg .tick { text-anchor: middle; } svg .about { text-anchor: end; } svg .grid { stroke: var(--line); }
svg .level { font-size: 13px; fill: var(--faint); } svg .start { text-anchor: start; } svg .end { text-anchor: end; }
svg polygon { fill: var(--line-colour); fill-opacity: .05; stroke: var(--line-colour);
  stroke-opacity: .5; vector-effect: non-scaling-stroke; } svg polyline { fill: none; stroke: var(--line-colour);
  stroke-width: 2; vector-effect: non-scaling-stroke; }
svg polygon.s0, svg polygon.s1 { fill-opacity: .16; } .axis { margin: 0 0 .8rem; text-align: center; }
.s0 { --line-colour: var(--best); } .s1 { --line-colour: var(--second); } .s2 { --line-colour: var(--third); }
.s3 { --line-colour: var(--fourth); } .s4 { --line-colour: var(--fifth); }
.legend { display: flex; flex-wrap: wrap; gap: 0 1.2rem; margin: .3rem 0; }
.legend span::before { content: ""; display: inline-block; width: 1.2rem; height: 0; vertical-align: middle;
  border-top: 3px solid var(--line-colour); margin-right: .4rem; }
svg .limit { stroke: var(--best); stroke-dasharray: 2 3; } svg .interval { stroke-width: 7; stroke-opacity: .4; }
.best .interval { stroke: var(--best); } .best circle { fill: var(--best); }
.other .interval { stroke: var(--other); } .other circle { fill: var(--other); }
@media print { :root { color-scheme: light; --text: #000; --faint: #333; --line: #bbb; --best: #1f6f8b; --other: #777;
  --page: #fff; --box: #f4f4f4;
  --second: #b4541a; --third: #56792a; --fourth: #7d4f9e; --fifth: #806600; }
  body { margin: 0; } h2, h3 { break-after: avoid; } svg, tr { break-inside: avoid; }
  th, td { padding-right: .5rem; font-size: .8rem; } .wide { overflow: visible; } }
@media screen and (max-width: 40rem) { body { margin: 1rem auto; } h1 { font-size: 1.3rem; }
  .answer { font-size: 1rem; } th, td { padding-right: .5rem; font-size: .85rem; }
  th, td:first-child { white-space: normal; } th { vertical-align: bottom; }
  .cards thead { display: none; } .cards, .cards tbody, .cards tr, .cards td { display: block; padding: 0; }
  .cards tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .cards td { display: flex; justify-content: space-between; font-size: .95rem; }
  .cards td:first-child { font-weight: 600; } .cards td:not(:first-child)::before { content: attr(data-label); } }
"""


def write_page(
    answer: BestArm,
    path: str | Path,
    title: str = "Which option people will prefer",
    *,
    name: str = "",
    unit: str = "",
) -> None:
    """Write the report of an answer to one HTML file.

    Args:
        answer: What `best_arm` or `search` returned.
        path: The file.
        title: The heading of the page.
        name: What was searched, such as the file that describes it.
        unit: What outcomes are measured in.

    >>> problem = Bandit([Discrete({18: 0.9, 60: 0.1}), Discrete({25: 1.0})], arms=["motorway", "train"])
    >>> people = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=20, costs=True)
    >>> answer = best_arm(WSR(people, budget=500, rewards=Bounded(0, 60)), problem, seed=1)
    >>> write_page(answer, "commute.html", "How to get to work", unit="minutes")
    """
    proof = _proof(answer)
    fewest = proof.runs if proof is not None and proof.own else math.inf
    sections = [
        _options(answer, unit),
        closing(answer, unit, fewest),
        _people_and_means(answer, unit),
        _promise(answer),
        _effort(answer, proof, unit),
        _failures(answer),
        _settings(answer),
    ]
    body = "\n".join(section for section in sections if section)
    head = (
        f'<h1>{escape(title)}</h1>\n<p class="small about">{escape(_about(answer, name))}</p>\n'
        f'<p class="answer">{escape(_unbroken(recommendation(answer, unit), unit))}</p>'
    )
    write_atomically(Path(path), html_page(title, STYLE, f"{head}\n{body}"))


def _about(answer: BestArm, name: str) -> str:
    """What was searched, when, from which seed, by which version, and how long it took."""
    origin, version = answer.origin, f"allais {__version__}"
    if origin is None:
        return " · ".join([name, version] if name else [version])
    took = f"took {duration(origin.seconds)}"
    if origin.continued:
        took = f"the last part took {duration(origin.seconds)}"
    if origin.run_seconds is not None:
        took += f", its runs {duration(origin.run_seconds)} in all"
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(origin.finished))
    return " · ".join([*([name] if name else []), date, f"seed {origin.seed}", version, took])


def _unbroken(text: str, unit: str) -> str:
    """The text with every amount on one line with its unit."""
    return re.sub(rf"(?<=\d) (?={re.escape(unit)})", "\N{NO-BREAK SPACE}", text) if unit else text


def _options(answer: BestArm, unit: str) -> str:
    best_in, means = chances(answer), by_mean(answer.learner).means
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    shown, rest = contenders_first(answer)
    rows = []
    for name in (*shown, *rest):
        low, utility, high = sure[name]
        bounded = math.isfinite(low) and math.isfinite(high)
        rows.append(
            [
                str(name),
                _number(utility),
                f"{plain(low)} to {plain(high)}" if bounded else "none",
                _number(means[name]),
                f"{answer.pulls[name]:,}",
                "" if math.isnan(best_in[name]) else f"{best_in[name]:.2f}",
            ]
        )
    header = ["option", "feels like", "interval", "mean", "runs", "chance of best"]
    measured = f"in {unit}" if unit else "in the units of the outcomes"
    reference = amount(answer.learner.policy.preference.reference, unit)
    note = (
        f"What an option feels like is the amount that would be worth as much if it were sure, {measured}; its "
        f"interval and its mean are too. {_intervals_in_words(answer)} Gains and losses are counted from "
        f"{reference}. The chance of being best is a bootstrap, for the eye only."
    )
    picture = f'{intervals_as_svg(answer)}\n<p class="small axis">{escape(axis_label(answer, unit))}</p>'
    parts = ["<h2>The options</h2>", picture, _table(header, rows[: len(shown)], best=shown.index(answer.arm))]
    if rest:
        folded = f"<summary>{len(rest):,} other options, of lower value</summary>"
        parts.append(f"<details>{folded}\n{_table(header, rows[len(shown) :])}</details>")
    return "\n".join([*parts, f'<p class="small">{escape(note)}</p>'])


def _intervals_in_words(answer: BestArm) -> str:
    if not any(math.isfinite(one.low) and math.isfinite(one.high) for one in answer.intervals.values()):
        return "This policy keeps no intervals."
    asked = answer.learner.policy.error_rate
    if asked is None:
        return "Each interval holds at the confidence of the policy."
    if answer.excluded and answer.learner.policy.promise != "proven":
        return "Options with runs that were left out have no interval."
    held = "" if not answer.excluded else ", whatever the runs that were left out would have brought"
    return f"All intervals hold together, but for a chance of {share(asked)}{held}."


def _people_and_means(answer: BestArm, unit: str) -> str:
    mean = by_mean(answer.learner).arm
    if mean is None or not answer.pulls[answer.arm]:
        return ""
    text = f"<h2>People and means</h2>\n<p>{escape(contrast(answer, unit))}</p>"
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
    return _table(["outcome", "seen", "decision weight", rows.contribution], cells)


def _proof(answer: BestArm) -> Proof | None:
    """What a proof takes at least, if the options go on as they were seen to."""
    policy = answer.learner.policy
    if not policy.keeps_outcomes or getattr(policy, "of_mean", False):
        return None
    return least_proof(policy, *_seen(answer))


def _seen(answer: BestArm) -> tuple[FloatArray, list[Seen]]:
    """The values of all options by their estimates, and their outcomes."""
    values = [answer.intervals[name].value if answer.pulls[name] else math.nan for name in answer.pulls]
    return np.array(values), [answer.learner.outcomes(name) for name in answer.pulls]


def _promise(answer: BestArm) -> str:
    """Which of the three promises holds, in its own words."""
    if answer.withdrawn:
        return f"<h2>What is promised</h2>\n<p>None: {escape(' '.join([PROMISES['none'], *withdrawal(answer)]))}</p>"
    kept = "" if answer.settled else " The search was stopped before it settled, so this is not reached yet."
    return f"<h2>What is promised</h2>\n<p>{escape(promise_in_words(answer.learner.policy) + kept)}</p>"


def _effort(answer: BestArm, proof: Proof | None, unit: str) -> str:
    text = [f"{answer.samples:,} runs were used."]
    if answer.learner.policy.keeps_outcomes:
        text += more_runs(answer, *_seen(answer))
    text += distance(answer, proof, unit)
    return "<h2>What it took</h2>\n<p>" + escape(" ".join(text)) + "</p>"


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
    return "" if math.isnan(value) else plain(value)
