"""The first screen of the report: what the paper claims, and three pictures that show it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from allais import __version__
from allais.files.atomic import write_atomically
from allais.paper.drawing import BLUE, GREY, INK, ORANGE, coloured
from allais.paper.experiments import BY_NAME
from allais.paper.findings import CORRECTED, DIFFERS, HOLDS, MISPRINT, Figure, Finding
from allais.paper.page_words import ERRATA, WHOLE, Erratum, counts, kinds_of, linked, shares
from allais.paper.runner import Stored

HEADINGS = {
    DIFFERS: ("Not as expected", "These findings differ from what earlier runs and the errata say."),
    HOLDS: ("Claims that hold", "They came out as printed, by experiment:"),
    CORRECTED: (
        "Claims that hold once corrected",
        "Their idea holds; a constant, a range or a setting is another than printed:",
    ),
    MISPRINT: ("Misprints of the paper", "Nothing that the paper argues depends on these:"),
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


def html_figure(figure: Figure, caption: str, place: str = "") -> str:
    """A figure and its caption, which is HTML; `place` tells two of the same figure on one page apart."""
    words = escape(re.sub(r"<[^>]*>", "", caption), quote=True)
    return (
        f'<figure role="img" aria-label="{words}">{_named(figure.svg, f"{place}{figure.name}-")}'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _named(svg: str, prefix: str) -> str:
    """The drawing library calls parts of every figure alike; on one page each name may be there once only."""
    svg = re.sub(r'\bid="', f'id="{prefix}', coloured(svg, "currentColor", "var(--ground)"))
    return svg.replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')


CLAIM = (
    "People overweight rare events, so the arm with the best mean is often not the one that they prefer. "
    "The paper weights probabilities as people do and turns UCB, LUCB, SR, OFUL and G-allocation into W-UCB, W-LUCB, "
    "W-SR, W-OFUL and W-G. It claims that these find the arm that people prefer, with regret and samples of the best "
    "possible order, where algorithms for the mean settle on another."
)
SOURCE = (
    "<i>Bandit algorithms to emulate human decision making using probabilistic distortions</i> (Kolla, Prashanth, "
    "Gopalan, Jagannathan, Fu and Marcus), run again"
)
PICTURES = (  # the figure, its experiment, and its words on the first screen
    ("regret-a", "regret", "W-UCB against UCB: regret where the cheaper arm on average is not the preferred one."),
    ("right-answers", "confidence", "W-LUCB and W-SR against LUCB and SR, on three arms."),
    ("map", "vehicles", "The detour: the fastest route on average, and the one that people prefer."),
)
ROW, LEFT, WIDE = 44.0, 86.0, 374.0  # of the bars, in points, as wide as the other figures


def opening(results: Sequence[Stored]) -> str:
    """Title, claim and pictures."""
    figures = {figure.name: figure for stored in results for figure in stored.result.figures}
    bars = right_answers(results)
    if bars is not None:
        figures[bars.name] = bars
    shown = [
        html_figure(figures[name], f'{escape(words)} <a href="#{experiment}">More</a>', "top-")
        for name, experiment, words in PICTURES
        if name in figures
    ]
    first = results[0]
    return "\n".join(
        [
            "<h1>Bandits that choose as people do: the paper, run again</h1>",
            f"<p>{_unbroken(CLAIM)}</p>",
            f'<div class="three">{"".join(shown)}</div>' if shown else "",
            f'<p class="soft">{SOURCE} by allais {__version__} at {first.scale} scale, seed {first.seed}.</p>',
        ]
    )


def right_answers(results: Sequence[Stored]) -> Figure | None:
    """Bars: how many runs of each policy end on the arm that people prefer."""
    found = {
        name: hits for name, hits in shares({one.name: one.result.facts for one in results}).items() if hits is not None
    }
    if not found:
        return None
    room = WIDE - LEFT - 12.0
    high = ROW * len(found) + 34.0
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:g}" font-family="sans-serif">']
    for row, (name, (hits, runs)) in enumerate(found.items()):
        top = 8.0 + ROW * row + (6.0 if name == "SR" else 0.0)
        long = room * hits / runs
        colour = BLUE if name.startswith("W-") else ORANGE
        parts += [
            f'<text x="{LEFT - 10:g}" y="{top + 20:g}" font-size="15" text-anchor="end" fill="{INK}">{name}</text>',
            f'<rect x="{LEFT:g}" y="{top:g}" width="{room:g}" height="30" fill="{GREY}" opacity="0.18"/>',
            f'<rect x="{LEFT:g}" y="{top:g}" width="{max(long, 2.0):.1f}" height="30" fill="{colour}"/>',
            f'<text x="{LEFT + (8 if long < room / 2 else long - 8):.1f}" y="{top + 20:g}" font-size="13" '
            f'fill="{INK if long < room / 2 else "#ffffff"}" text-anchor="{"start" if long < room / 2 else "end"}">'
            f"{hits:,} of {runs:,} runs</text>",
        ]
    parts.append(
        f'<text x="{LEFT:g}" y="{high - 6:g}" font-size="13" fill="{INK}">runs that end on the preferred arm</text>'
        "</svg>"
    )
    return Figure("right-answers", "Runs that end on the arm that people prefer.", "".join(parts))


def _unbroken(text: str) -> str:
    """Names such as W-UCB stay on one line."""
    return re.sub(r"\bW-[A-Z]+", lambda name: f'<span class="name">{name[0]}</span>', escape(text))


def write_changed(path: Path, text: str) -> None:
    """Write a file unless it is there as it should be: a disk takes its time to be sure of twenty figures."""
    with contextlib.suppress(OSError, ValueError):
        if path.read_text(encoding="utf-8") == text:
            return
    write_atomically(path, text)


STYLE = """
:root { --ink: #1d2329; --ground: #ffffff; --soft: #5b6570; --line: #d5dbe1; --panel: #f4f7f9;
  --good: #1d7a3e; --bad: #b3261e; --known: #96600a; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --ground: #15191d; --soft: #a0aab4;
  --line: #333c45; --panel: #1d2329; --good: #62c483; --bad: #f28b82; --known: #e0b15e; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); margin: 0 auto;
  max-width: 78rem; padding: 1.25rem 1rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .25rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
a { color: inherit; } .soft { color: var(--soft); } p { margin: .5rem 0; max-width: 52rem; }
code { background: var(--panel); padding: .1rem .35rem; border-radius: .25rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; } .of td { font-weight: 600; padding-top: 1.2rem; }
.numbers td:not(:first-child):not(.words) { white-space: nowrap; } .numbers .words { min-width: 14rem; }
.numbers td:first-child { min-width: 6rem; }
span.holds { color: var(--good); } span.corrected, span.misprint { color: var(--known); }
span.differs { color: var(--bad); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; max-width: 60rem; }
dt { color: var(--soft); } dd { margin: 0; }
.errata { grid-template-columns: minmax(12rem, 22rem) 1fr; gap: .35rem 1rem; }
:target { background: var(--panel); outline: .4rem solid var(--panel); scroll-margin-top: 1rem; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 1rem 0; }
figure { margin: 0; flex: 0 1 29rem; min-width: 0; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .9rem; }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem 2rem;
  margin: 1rem 0; } .three svg { max-height: 21rem; }
.kinds { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
.kinds section { background: var(--panel); border-radius: .5rem; padding: .25rem 1rem .5rem;
  border-top: .25rem solid var(--known); font-size: .92rem; }
.kinds .holds { border-color: var(--good); } .kinds .differs { border-color: var(--bad); }
.kinds h3 { margin: .5rem 0 0; font-size: 1.05rem; } .kinds ul { padding-left: 1.1rem; margin: .25rem 0; }
.name { white-space: nowrap; } .opening p { max-width: 60rem; }
.count { font-size: 1.7rem; font-weight: 600; } .kinds li { margin: .2rem 0; }
@media (max-width: 44rem) {
  body { padding-top: .75rem; } h1 { font-size: 1.3rem; } .opening p { font-size: .95rem; line-height: 1.45; }
  .findings thead { display: none; } .findings tr { display: block; border-bottom: 1px solid var(--line);
    padding: .5rem 0; } .findings td { display: block; border: 0; padding: .05rem 0; }
  .findings td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
  dl, .errata { grid-template-columns: 1fr; } dd { margin-bottom: .35rem; } }
@media print { body { max-width: none; font-size: 10.5pt; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } .wide { overflow: visible; } }
"""
