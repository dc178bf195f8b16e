"""The report of a folder of results: one HTML page and the same in Markdown.

Figures are SVG with text as text, one pair of axes each, in colours that a page replaces by its own.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allais import __version__
from allais._system.extras import extra
from allais.files import write_atomically
from allais.paper.experiments import BY_NAME, CORRECTED, DIFFERS, EXPERIMENTS, HOLDS, MISPRINT, Figure, Finding
from allais.paper.page_words import ERRATA, counts, found, kinds_of, pieces, shares
from allais.paper.runner import Stored, kept
from allais.report.markup import markdown_table, render, style, trusted

if TYPE_CHECKING:
    from markupsafe import Markup


# Two colours that no curve uses: a page that shows a figure replaces them by its own text and background.
INK, GROUND = "#0a0b0c", "#fdfcfb"
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#3b82c4", "#d9822b", "#3f9b57", "#cc4b4b", "#8e6bbf", "#8a8a8a"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)

STYLE: dict[str, Any] = {
    "font.size": 11,
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # text stays text: small, searchable, in the reader's own font
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.linewidth": 2,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": GROUND,
    "axes.facecolor": "none",
}


class Drawing:
    """Axes to draw on; the figure is there when the drawing is done."""

    axes: Any
    figure: Figure


@contextmanager
def drawing(name: str, caption: str, height: float = 3.6) -> Iterator[Drawing]:
    """One pair of axes, narrow enough for a phone.

    >>> with drawing("line", "a line") as picture:
    ...     _ = picture.axes.plot([0, 1], [0, 1])
    >>> picture.figure.svg.startswith("<svg")
    True
    """
    with extra("plot", "a figure"):
        import matplotlib
        from cycler import cycler
        from matplotlib.figure import Figure as Canvas

    style: Any = {**STYLE, "axes.prop_cycle": cycler(color=COLOURS), "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        canvas = Canvas(figsize=(5.2, height), layout="constrained")
        picture = Drawing()
        picture.axes = canvas.add_subplot()
        yield picture
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        whole = text.getvalue()
        picture.figure = Figure(name, caption, whole[whole.index("<svg") :].strip())


def coloured(svg: str, ink: str, ground: str) -> str:
    """The figure in a page's own colours.

    >>> coloured(f'<path fill="{INK}"/>', "currentColor", "none")
    '<path fill="currentColor"/>'
    """
    return svg.replace(INK, ink).replace(GROUND, ground)


INK_BESIDE_TEXT, GROUND_BESIDE_TEXT = "#1d2329", "#ffffff"  # of figures beside the Markdown
HEADINGS = {
    DIFFERS: ("Not as expected", "These findings differ from what earlier runs and the errata say."),
    HOLDS: ("Claims that hold", "They came out as printed, by experiment:"),
    CORRECTED: (
        "Claims that hold once corrected",
        "Their idea holds; a constant, a range or a setting is another than printed:",
    ),
    MISPRINT: ("Misprints of the paper", "Nothing that the paper argues depends on these:"),
}
BARS = "right-answers"  # drawn by the page
PICTURES = (  # of the first screen: the figure, its experiment, and its words
    ("regret-a", "regret", "W-UCB against UCB: regret where the cheaper arm on average is not the preferred one."),
    (BARS, "confidence", "W-LUCB and W-SR against LUCB and SR, on three arms."),
    ("map", "vehicles", "The detour: the fastest route on average, and the one that people prefer."),
)


def html_report(results: Sequence[Stored]) -> str:
    """The whole page; whatever differs between runs with one seed is in elements of class `time`."""
    figures = {figure.name: figure for stored in results for figure in stored.result.figures}
    right = shares({one.name: one.result.facts for one in results})
    drawn = figures.keys() | ({BARS} if right else set())
    page = render(
        "paper/templates/page.html.j2", title="The paper, run again", style=style("paper/static/paper.css"),
        version=__version__, results=results, experiments=BY_NAME, errata=ERRATA.values(), pieces=pieces,
        inlined=_inlined, pictures=[one for one in PICTURES if one[0] in drawn], figures=figures, shares=right,
        colours={"ours": BLUE, "theirs": ORANGE, "rest": GREY}, counts=counts(results), kinds=list(_kinds(results)),
        beyond=sum(not one.of_paper for stored in results for one in stored.result.findings),
    )  # fmt: skip
    return str(page)


def _kinds(results: Sequence[Stored]) -> Iterator[dict[str, Any]]:
    """The findings of each kind, those that are not as expected first."""
    claims = kinds_of(results)
    for kind, (heading, about) in HEADINGS.items():
        of_kind = [
            (stored, one)
            for stored in results
            for one in stored.result.findings
            if one.kind == kind and (one.of_paper or kind == DIFFERS)
        ]
        if of_kind:
            yield {
                "name": kind, "heading": heading, "about": about, "found": of_kind,
                "count": claims[kind] or len(of_kind), "by_experiment": Counter(stored.name for stored, _ in of_kind),
            }  # fmt: skip


def _inlined(figure: Figure, place: str = "") -> Markup:
    """A figure in the colours of the page.

    matplotlib uses the same ids in every figure; on one page they must be unique, so each is prefixed with the name of
    the figure, and with its place if the figure is there twice.
    """
    prefix = f"{place}{figure.name}-"
    svg = re.sub(r'\bid="', f'id="{prefix}', coloured(figure.svg, "currentColor", "var(--card)"))
    return trusted(svg.replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}'))


def write_changed(path: Path, text: str) -> None:
    """Write a file unless it has this content already: syncing twenty figures to disk takes a while."""
    with contextlib.suppress(OSError, ValueError):
        if path.read_text(encoding="utf-8") == text:
            return
    write_atomically(path, text)


def write_markdown(path: Path, results: Sequence[Stored]) -> None:
    """Write the report and its figures, in a folder `figures` beside it."""
    figures = path.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for stored in results:
        for figure in stored.result.figures:
            write_changed(
                figures / f"{figure.name}.svg", coloured(figure.svg, INK_BESIDE_TEXT, GROUND_BESIDE_TEXT) + "\n"
            )
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
    return "".join(piece if one is None else f"[{piece}](errata.md#{one.anchor})" for piece, one in pieces(text))


def write_report(folder: Path, scale: str, seed: int) -> tuple[Path, list[Stored]]:
    """Write both, about every up-to-date result of this scale and seed; where the page is, and the results."""
    found = [kept(folder, experiment.name, scale, seed) for experiment in EXPERIMENTS]
    results = [stored for stored in found if stored is not None]
    page = folder / "report.html"
    write_changed(page, html_report(results))
    write_markdown(folder / "results.md", results)
    return page, results
