"""The summary: claims that hold, that hold once corrected, and typing errors; and the table of all findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from allais.paper.experiments import BY_NAME
from allais.paper.findings import CORRECTED, DIFFERS, HOLDS, TYPING, Finding
from allais.paper.page.errata import ERRATA, WHOLE, Erratum, linked
from allais.paper.page.words import counts, kinds_of
from allais.paper.store import Stored

HEADINGS = {
    DIFFERS: ("Not as known", "These came out otherwise than is known about them."),
    HOLDS: ("Claims that hold", "They came out as printed, by experiment:"),
    CORRECTED: (
        "Claims that hold once corrected",
        "Their idea holds; a constant, a range or a setting is another than printed:",
    ),
    TYPING: ("Typing errors of the paper", "Nothing that the paper argues depends on these:"),
}


def html_words(text: str) -> str:
    """Text for the page, errata in it linked."""
    return linked(escape(text), lambda erratum, words: f'<a href="#erratum-{erratum.number}">{words}</a>')


def summary(results: Sequence[Stored]) -> str:
    """How many of each kind, and which."""
    kinds = kinds_of(results)
    beyond = sum(not one.of_paper for stored in results for one in stored.result.findings)
    parts = ['<h2 id="summary">What was found</h2>', f"<p><b>{escape(counts(results))}</b></p>", '<div class="kinds">']
    for kind, (heading, words) in HEADINGS.items():
        if not any(True for _ in _of_kind(results, kind)):
            continue
        lines = list(_holding(results) if kind == HOLDS else _listed(results, kind))
        parts.append(
            f'<section class="{kind}"><h3><span class="count">{kinds[kind] or len(lines)}</span> {heading}</h3>'
            f"<p>{words}</p><ul>{''.join(lines)}</ul></section>"
        )
    parts.append("</div>")
    if beyond:
        parts.append(
            f'<p class="soft">{beyond} more findings go beyond the paper, or check this page; they are in the '
            '<a href="#findings">table of all findings</a>.</p>'
        )
    return "\n".join(parts)


def _of_kind(results: Sequence[Stored], kind: str) -> Iterator[tuple[Stored, Finding]]:
    for stored in results:
        for finding in stored.result.findings:
            if finding.kind == kind and (finding.of_paper or kind == DIFFERS):
                yield stored, finding


def _holding(results: Sequence[Stored]) -> Iterator[str]:
    held: dict[str, int] = {}
    for stored, _ in _of_kind(results, HOLDS):
        held[stored.name] = held.get(stored.name, 0) + 1
    for name, count in held.items():
        yield f'<li><a href="#{name}">{escape(BY_NAME[name].title)}</a>: {count}</li>'


def _listed(results: Sequence[Stored], kind: str) -> Iterator[str]:
    for stored, finding in _of_kind(results, kind):
        where = (
            f'<a href="#erratum-{finding.erratum}">erratum {finding.erratum}</a>' if finding.erratum else "no erratum"
        )
        why = f": {html_words(finding.why)}" if finding.why else ""
        yield f'<li>{html_words(finding.claim)}{why} (<a href="#{stored.name}">see it</a>, {where}).</li>'


def all_findings(results: Sequence[Stored]) -> str:
    """Every finding, under a line for each experiment that leads to its section."""
    rows = []
    for stored in results:
        title = escape(BY_NAME[stored.name].title)
        rows.append(f'<tr class="of"><td colspan="4"><a href="#{stored.name}">{title}</a></td></tr>')
        rows.extend(_row(finding) for finding in stored.result.findings)
    head = "<thead><tr><th>finding</th><th>paper</th><th>measured</th><th>status</th></tr></thead>"
    return (
        '<h2 id="findings">All findings</h2>\n'
        f'<div class="wide"><table class="findings">{head}<tbody>{"".join(rows)}</tbody></table></div>'
    )


def _row(finding: Finding) -> str:
    why = f'<div class="soft">{html_words(finding.why)}</div>' if finding.why else ""
    return (
        f'<tr><td>{html_words(finding.claim)}</td><td data-label="paper">{escape(finding.paper)}</td>'
        f'<td data-label="measured">{escape(finding.measured)}</td>'
        f'<td><span class="{finding.kind}">{html_words(finding.status)}</span>{why}</td></tr>'
    )


def errata() -> str:
    """Every erratum in a line, to which findings lead."""
    return (
        '<h2 id="errata">Errata</h2>\n'
        f'<p class="soft">Where the paper prints something else than is right, in a line each; <code>{WHOLE}</code> of '
        "the library has them whole, with the reason and a test that tells the two apart.</p>\n"
        f'<dl class="errata">{"".join(map(_erratum, ERRATA.values()))}</dl>'
    )


def _erratum(erratum: Erratum) -> str:
    return (
        f'<dt id="erratum-{erratum.number}">{erratum.number}. {escape(erratum.title)}</dt>'
        f"<dd>{escape(erratum.gist)}</dd>"
    )
