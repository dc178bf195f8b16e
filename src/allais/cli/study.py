"""`allais people study`: what an interview is worth to a bandit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allais.cli.console import console
from allais.cli.exits import writing
from allais.cli.options import Seed
from allais.cli.writable import require_writable

if TYPE_CHECKING:
    from allais.people import Study

EVERY = 10.0  # seconds between two words about how far it is


def study_command(
    people: Annotated[int, typer.Option(min=2, help="How many simulated people.")] = 100,
    questions: Annotated[int, typer.Option(min=1, help="How many each is asked.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="How long the bandit plays for each.")] = 5000,
    runs: Annotated[int, typer.Option(min=1, help="How often.")] = 2,
    out: Annotated[Path | None, typer.Option(help="Write the table into this file (Markdown).")] = None,
    seed: Seed = 1,
) -> None:
    """People of known parameters, asked and fitted, then served by a bandit: how much regret is lost.

    Regret is a share of what choosing at random loses, judged by the true preference, with standard errors over people.

    - `allais people study --people 100 --questions 20`
    """
    from allais.people import study
    from allais.report.numbers import duration

    if out is not None:
        require_writable(out)

    began = said = time.monotonic()

    def say(done: int) -> None:
        nonlocal said
        now = time.monotonic()
        if done == 1 or (now - said > EVERY and done < people):
            left = (now - began) / done * (people - done)
            typer.echo(f"{done} of {people} people; about {duration(left)} to go", err=True)
            said = now

    typer.echo(
        f"{people} simulated people are asked {questions} questions each, then served for {rounds:,} rounds; nothing "
        "is read from you. Fewer go faster: --people 20.",
        err=True,
    )
    found = study(people, questions, n_rounds=rounds, n_runs=runs, seed=seed, done=say)
    meant = (
        f"{people} people drawn from the prior of cumulative prospect theory, {questions} questions each, seed {seed}. "
        "Regret is judged by the true preference, as a share of what choosing at random loses, with its standard error "
        "over people. In the last column the arms are known, and only the preference is in doubt."
    )
    _show(found, meant)
    if out is not None:
        with writing(out):
            out.write_text(f"{meant}\n\n{found}\n", encoding="utf-8")


def _show(found: Study, meant: str) -> None:
    from rich.table import Table

    screen, table = console(), Table(box=None, padding=(0, 2, 0, 0))
    for k, name in enumerate(found.header):
        table.add_column(name, justify="right" if k else "left")
    for row in found.rows():
        table.add_row(*row)
    screen.print(table)
    screen.print(meant, highlight=False)
