"""The report of a folder of results: one HTML page and the same in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from allais import __version__
from allais.paper.drawing import coloured
from allais.paper.experiments import BY_NAME, EXPERIMENTS
from allais.paper.findings import ExperimentResult, Finding, ResultTable
from allais.paper.html_page import STYLE, all_findings, errata, html_figure, html_words, opening, summary, write_changed
from allais.paper.page_words import found, linked
from allais.paper.runner import Stored, kept
from allais.report.page import html_page
from allais.report.tables import html_table, markdown_table


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


INK, GROUND = "#1d2329", "#ffffff"


def write_markdown(path: Path, results: Sequence[Stored]) -> None:
    """Write the report and its figures, in a folder `figures` beside it."""
    figures = path.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for stored in results:
        for figure in stored.result.figures:
            write_changed(figures / f"{figure.name}.svg", coloured(figure.svg, INK, GROUND) + "\n")
    write_changed(path, markdown_report(results))


def markdown_report(results: Sequence[Stored]) -> str:
    """The text."""
    return "\n\n".join(_sections(results)) + "\n"


def _sections(results: Sequence[Stored]) -> Iterator[str]:
    first = results[0]
    yield "# The paper, run again"
    yield (
        f"allais {__version__}: made by `allais paper run --scale {first.scale} --seed {first.seed}`. "
        "What the paper printed stands beside what was measured, with standard errors. "
        "An erratum is a numbered entry of [where the library departs from the paper](errata.md)."
    )
    yield " ".join(found(results))
    yield (
        "A claim holds as printed, or holds once corrected (its idea is right, but a constant, a range or a setting is "
        "another), or is a misprint, on which nothing that the paper argues depends."
    )
    yield markdown_table(
        ("finding", "paper", "measured", "status"),
        [_row(finding) for stored in results for finding in stored.result.findings],
    )
    for stored in results:
        experiment, result = BY_NAME[stored.name], stored.result
        yield f"## {experiment.title}"
        yield f"{experiment.where}. `allais paper run {stored.name} --scale {stored.scale} --seed {stored.seed}`"
        yield "\n".join(f"- {name}: {text}" for name, text in result.setting)
        yield markdown_table(("finding", "paper", "measured", "status"), [_row(finding) for finding in result.findings])
        for figure in result.figures:
            yield f"![{figure.caption}](figures/{figure.name}.svg)"
        for table in result.tables:
            yield f"{table.title}:"
            yield markdown_table(table.header, table.rows)
        yield from map(_words, result.notes)


def _row(finding: Finding) -> tuple[str, ...]:
    status = finding.status if not finding.why else f"{finding.status}: {finding.why}"
    return _words(finding.claim), finding.paper, finding.measured, _words(status)


def _words(text: str) -> str:
    """Text with its errata as links to their entries."""
    return linked(text, lambda erratum, words: f"[{words}](errata.md#{erratum.anchor})")


class Report(NamedTuple):
    """Where the page is, and what it is about."""

    page: Path
    results: list[Stored]


def write_report(folder: Path, scale: str, seed: int) -> Report:
    """Write both, about every up-to-date result of this scale and seed."""
    found = [kept(folder, experiment.name, scale, seed) for experiment in EXPERIMENTS]
    results = [stored for stored in found if stored is not None]
    page = folder / "report.html"
    write_html(page, results)
    write_markdown(folder / "results.md", results)
    return Report(page, results)
