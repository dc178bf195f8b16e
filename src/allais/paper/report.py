"""The report of a folder of results: one HTML page and the same in Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from allais.paper.experiments import EXPERIMENTS
from allais.paper.html_report import write_html
from allais.paper.markdown_report import write_markdown
from allais.paper.store import Stored, kept


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
