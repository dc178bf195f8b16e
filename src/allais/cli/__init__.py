"""The command line: `allais COMMAND`."""

from __future__ import annotations


def main() -> None:
    """Run the command that the arguments name."""
    from allais.cli.app import app

    app()
