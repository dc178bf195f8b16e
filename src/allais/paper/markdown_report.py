"""The report in Markdown, for the repository: the same content, figures as files beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from allais import __version__
from allais.paper.drawing import coloured
from allais.paper.experiments import BY_NAME
from allais.paper.findings import Finding
from allais.paper.page.errata import linked
from allais.paper.page.files import write_changed
from allais.paper.page.words import found
from allais.paper.store import Stored
from allais.report.tables import markdown_table

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
        "another), or is a typing error, on which nothing that the paper argues depends."
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
