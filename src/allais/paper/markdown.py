"""The report in Markdown, for the repository: the same content, figures as files beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from allais import __version__
from allais.files.atomic import write_atomically
from allais.paper.drawing import coloured
from allais.paper.experiments import BY_NAME
from allais.paper.findings import Finding
from allais.paper.store import Stored

INK, GROUND = "#1d2329", "#ffffff"


def write_markdown(path: Path, results: Sequence[Stored]) -> None:
    """Write the report and its figures, in a folder `figures` beside it."""
    figures = path.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for stored in results:
        for figure in stored.outcome.figures:
            write_atomically(figures / f"{figure.name}.svg", coloured(figure.svg, INK, GROUND) + "\n")
    write_atomically(path, markdown(results))


def markdown(results: Sequence[Stored]) -> str:
    """The text."""
    return "\n\n".join(_sketch(results)) + "\n"


def _sketch(results: Sequence[Stored]) -> Iterator[str]:
    first = results[0]
    yield "# The paper, run again"
    yield (
        f"allais {__version__}: made by `allais paper run --scale {first.scale} --seed {first.seed}`. "
        "What the paper printed stands beside what was measured, with standard errors. "
        "An erratum is a numbered entry of [where the library departs from the paper](errata.md)."
    )
    yield _table(
        ("finding", "paper", "measured", "status"),
        [_row(finding) for stored in results for finding in stored.outcome.findings],
    )
    for stored in results:
        experiment, outcome = BY_NAME[stored.name], stored.outcome
        yield f"## {experiment.title}"
        yield f"{experiment.where}. `allais paper run {stored.name} --scale {stored.scale} --seed {stored.seed}`"
        yield "\n".join(f"- {name}: {text}" for name, text in outcome.setting)
        yield _table(("finding", "paper", "measured", "status"), [_row(finding) for finding in outcome.findings])
        for figure in outcome.figures:
            yield f"![{figure.caption}](figures/{figure.name}.svg)"
        for table in outcome.tables:
            yield f"{table.title}:"
            yield _table(table.header, table.rows)
        yield from outcome.notes


def _row(finding: Finding) -> tuple[str, ...]:
    status = finding.status if not finding.why else f"{finding.status}: {finding.why}"
    return finding.claim, finding.paper, finding.measured, status


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")
