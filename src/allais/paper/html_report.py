"""The report as one HTML page: no other file, no network, light and dark, paper and phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from allais.paper.experiments import BY_NAME
from allais.paper.findings import ExperimentResult, ResultTable
from allais.paper.page.figures import html_figure
from allais.paper.page.files import write_changed
from allais.paper.page.opening import opening
from allais.paper.page.style import STYLE
from allais.paper.page.summary import all_findings, errata, html_words, summary
from allais.paper.store import Stored
from allais.report.html_page import html_page
from allais.report.tables import html_table


def write_html(path: Path, results: Sequence[Stored]) -> None:
    """Write the report of these results."""
    write_changed(path, html_report(results))


def html_report(results: Sequence[Stored]) -> str:
    """The whole page; what differs between runs of one seed stands in elements of class `time`."""
    body = [
        f'<header class="opening">{opening(results)}</header>',
        summary(results),
        *(_section(stored) for stored in results),
        all_findings(results),
        errata(),
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
        *(f"<p>{html_words(note)}</p>" for note in result.notes),
        *(_table(table) for table in result.tables),
        "<h3>Setting</h3>",
        "<dl>"
        + "".join(f"<dt>{escape(name)}</dt><dd>{html_words(text)}</dd>" for name, text in result.setting)
        + "</dl>",
    ]
    return "\n".join(part for part in parts if part)


def _figures(result: ExperimentResult) -> str:
    if not result.figures:
        return ""
    shown = [html_figure(figure, html_words(figure.caption)) for figure in result.figures]
    return '<div class="figures">' + "\n".join(shown) + "</div>"


def _table(table: ResultTable) -> str:
    return f"<h3>{escape(table.title)}</h3>\n{html_table(table.header, table.rows, 'numbers')}"
