"""The commands: one module each; this one says which there are."""

from __future__ import annotations

import typer

from allais.cli.best_arm import best_arm_command
from allais.cli.paper import app as paper
from allais.traffic.cli import app as traffic

app = typer.Typer(
    help="Bandits that choose as people do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _allais() -> None:
    """Bandits that choose as people do."""


app.command("best-arm")(best_arm_command)
app.add_typer(paper, name="paper")
app.add_typer(traffic, name="traffic")
