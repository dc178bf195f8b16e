"""The command line: `allais COMMAND`."""

from __future__ import annotations

import sys

from allais._system.extras import extra
from allais.errors import MissingExtra


def main() -> None:
    """Run the command that the arguments name."""
    try:
        with extra("cli", "the command line"):
            from allais.cli.app import app
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    app()
