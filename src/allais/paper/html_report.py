"""The report as one HTML page: no other file, no network, light and dark, paper and phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from allais import __version__
from allais.files.atomic import write_atomically
from allais.paper.drawing import coloured
from allais.paper.experiments import BY_NAME
from allais.paper.findings import ExperimentResult, Finding, ResultTable
from allais.paper.store import Stored
from allais.report.html_page import html_page
from allais.report.tables import html_table

STYLE = """
:root { --ink: #1d2329; --ground: #ffffff; --soft: #5b6570; --line: #d5dbe1; --panel: #f4f7f9;
  --good: #1d7a3e; --bad: #b3261e; --known: #96600a; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --ground: #15191d; --soft: #a0aab4;
  --line: #333c45; --panel: #1d2329; --good: #62c483; --bad: #f28b82; --known: #e0b15e; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); margin: 0 auto;
  max-width: 64rem; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .25rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
a { color: inherit; } .soft { color: var(--soft); } p { margin: .5rem 0; max-width: 46rem; }
code { background: var(--panel); padding: .1rem .35rem; border-radius: .25rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; } .of td { font-weight: 600; padding-top: 1.2rem; }
.numbers td:not(:first-child) { white-space: nowrap; }
.holds { color: var(--good); } .refuted { color: var(--known); } .fails { color: var(--bad); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; max-width: 52rem; }
dt { color: var(--soft); } dd { margin: 0; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 1rem 0; }
figure { margin: 0; flex: 0 1 29rem; min-width: 0; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .9rem; }
@media (max-width: 44rem) {
  .findings thead { display: none; } .findings tr { display: block; border-bottom: 1px solid var(--line);
    padding: .5rem 0; } .findings td { display: block; border: 0; padding: .05rem 0; }
  .findings td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .35rem; } }
@media print { body { max-width: none; font-size: 10.5pt; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } .wide { overflow: visible; } }
"""


def write_html(path: Path, results: Sequence[Stored]) -> None:
    """Write the report of these results."""
    write_atomically(path, html_report(results))


def html_report(results: Sequence[Stored]) -> str:
    """The whole page; what differs between runs of one seed stands in elements of class `time`."""
    findings = [finding for stored in results for finding in stored.result.findings]
    claims = [finding for finding in findings if finding.of_paper]
    holding = sum(finding.holds for finding in claims)
    strange = sum(not finding.as_expected for finding in findings)
    first = results[0]
    summary = (
        f"{len(claims)} claims of the paper: {holding} hold, {len(claims) - holding} do not; "
        f"{len(findings) - len(claims)} findings beyond it. "
        + ("All as known: what does not hold is explained." if not strange else f"{strange} differ from what is known.")
    )  # fmt: skip
    body = [
        "<h1>Bandit algorithms that choose as people do: the paper, run again</h1>",
        f'<p class="soft">allais {__version__}, {first.scale} scale, seed {first.seed}. Every table and figure of '
        "<i>Bandit algorithms to emulate human decision making using probabilistic distortions</i> (Kolla, Prashanth, "
        "Gopalan, Jagannathan, Fu and Marcus), its printed numbers beside the measured ones. "
        "An erratum is a numbered entry of docs/paper/errata.md.</p>",
        f"<p><b>{escape(summary)}</b></p>",
        _summary(results),
        *(_section(stored) for stored in results),
    ]
    return html_page("The paper, run again", STYLE, "\n".join(body))


def _section(stored: Stored) -> str:
    experiment, result = BY_NAME[stored.name], stored.result
    command = f"allais paper run {stored.name} --scale {stored.scale} --seed {stored.seed}"
    parts = [
        f'<h2 id="{stored.name}">{escape(experiment.title)}</h2>',
        f'<p class="soft">{escape(experiment.where)}. Made again by <code>{command}</code> '
        f'<span class="time">in {stored.seconds:.1f} s</span>.</p>',
        _figures(result),
        *(_table(table) for table in result.tables),
        "<h3>Setting</h3>",
        "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in result.setting) + "</dl>",
        *(f"<p>{escape(note)}</p>" for note in result.notes),
    ]
    return "\n".join(part for part in parts if part)


def _summary(results: Sequence[Stored]) -> str:
    """Every finding, under a line for each experiment that leads to its section."""
    rows = []
    for stored in results:
        title = escape(BY_NAME[stored.name].title)
        rows.append(f'<tr class="of"><td colspan="4"><a href="#{stored.name}">{title}</a></td></tr>')
        rows.extend(_row(finding) for finding in stored.result.findings)
    head = "<thead><tr><th>finding</th><th>paper</th><th>measured</th><th>status</th></tr></thead>"
    return f'<div class="wide"><table class="findings">{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _row(finding: Finding) -> str:
    kind = "holds" if finding.holds and finding.as_expected else "refuted" if finding.as_expected else "fails"
    why = f'<div class="soft">{escape(finding.why)}</div>' if finding.why else ""
    return (
        f'<tr><td>{escape(finding.claim)}</td><td data-label="paper">{escape(finding.paper)}</td>'
        f'<td data-label="measured">{escape(finding.measured)}</td>'
        f'<td><span class="{kind}">{escape(finding.status)}</span>{why}</td></tr>'
    )


def _figures(result: ExperimentResult) -> str:
    if not result.figures:
        return ""
    shown = [
        f'<figure role="img" aria-label="{escape(figure.caption, quote=True)}">'
        f"{coloured(figure.svg, 'currentColor', 'var(--ground)')}"
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
        for figure in result.figures
    ]
    return '<div class="figures">' + "\n".join(shown) + "</div>"


def _table(table: ResultTable) -> str:
    return f"<h3>{escape(table.title)}</h3>\n{html_table(table.header, table.rows, 'numbers')}"
