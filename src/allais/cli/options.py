"""Options that several commands have: one name, one meaning, one help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

Workers = Annotated[int, typer.Option(help="How many runs or experiments at the same time; -1 means one per core.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the picture into this file (.png, .svg, .pdf).")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from what is kept, after an interruption.")]
Scale = Annotated[str, typer.Option(help="quick (minutes) or full (as large as the paper's, or larger).")]


def counted(workers: int) -> int:
    """How many workers are meant."""
    require_workers(workers)
    from allais.simulation.simulate import workers as available

    return available(workers)


def require_workers(workers: int) -> None:
    """Refuse a number of workers that cannot be."""
    if workers < 1 and workers != -1:
        raise ValueError(f"--workers must be 1 or more, or -1 for every core; got {workers}. Give another number.")


def require_scale(scale: str) -> None:
    """Refuse a scale that does not exist."""
    from allais.paper.findings import SCALES

    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}. Choose one.")


WIDTH = 132  # where there is no terminal to ask: rich would squeeze tables into 80 columns


def console() -> Console:
    """A console as wide as the terminal, or wide enough for a file."""
    found = Console()
    return found if found.is_terminal else Console(width=WIDTH)
