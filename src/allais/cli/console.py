"""Where commands print."""

from __future__ import annotations

from rich.console import Console

WIDTH = 132  # where there is no terminal to ask: rich would squeeze tables into 80 columns


def console() -> Console:
    """A console as wide as the terminal, or wide enough for a file."""
    found = Console()
    return found if found.is_terminal else Console(width=WIDTH)
