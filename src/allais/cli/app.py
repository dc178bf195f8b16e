"""The commands: one module each; this one says which there are."""

from __future__ import annotations

import time
import warnings
from typing import Annotated

import typer

from allais import __version__
from allais.cli.best_arm import best_arm_command
from allais.cli.interview import interview_command
from allais.cli.options import Commands, say_warning
from allais.cli.paper import app as paper
from allais.cli.people import app as people
from allais.cli.people import study_command
from allais.cli.serve import app as serve
from allais.cli.serve import backup_command, mcp_command
from allais.cli.serve import key as keys
from allais.cli.simulate import simulate_command
from allais.cli.traffic import app as traffic
from allais.cli.value import evaluate_command, value_command, verdict_command, weight_command


def warm_command(
    policies: Annotated[list[str] | None, typer.Argument(help="NPTS, TopTwo, ...; all if none is named.")] = None,
) -> None:
    """Compile what policies and interviews need for this machine, once, so that no first use has to.

    Examples:

    - `allais warm`
    - `allais warm NPTS TopTwo`
    """
    from allais._kernels import CACHE
    from allais.people.interview.interview import warm_interview
    from allais.simulation.warm import warm

    def told(name: str, seconds: float) -> None:
        typer.echo(f"{name:20}{seconds:6.1f} s")

    warm(policies or [], told)
    if not policies:
        begin = time.perf_counter()
        warm_interview()
        told("Interview", time.perf_counter() - begin)
    typer.echo(f"Compiled code is in {CACHE}. The folder may be deleted at any time.")


app = typer.Typer(
    cls=Commands,
    help="Bandits that choose as people do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"allais {__version__}")
        raise typer.Exit


@app.callback()
def _allais(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Bandits that choose as people do."""
    warnings.showwarning = say_warning


NUMBERS = {"ignore_unknown_options": True}  # "-50:0.1" is a lottery, not an option

app.command("value", context_settings=NUMBERS)(value_command)
app.command("weight")(weight_command)
app.command("interview")(interview_command)
app.command("verdict")(verdict_command)
app.command("evaluate")(evaluate_command)
app.command("simulate")(simulate_command)
app.command("best-arm")(best_arm_command)
app.command("warm")(warm_command)
app.command("mcp")(mcp_command)
app.add_typer(serve, name="serve")
app.add_typer(paper, name="paper")
people.command("study")(study_command)
app.add_typer(people, name="people")
serve.command("backup")(backup_command)
serve.add_typer(keys, name="key")
app.add_typer(traffic, name="traffic")
