"""`allais people`: preferences from choices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allais.cli.choice_tables import (
    Column,
    Costs,
    Data,
    DropMissing,
    Losses,
    Lottery,
    Option,
    ProbitRule,
    Reference,
    Set,
    Shape,
    Stake,
    Sure,
    Weighing,
    choices_of,
    family_of,
)
from allais.cli.exits import Commands, writing
from allais.cli.options import Plot, Seed, console
from allais.cli.specs import require_picture, require_writable

if TYPE_CHECKING:
    from allais.people import Choices


import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allais.people import Study


app = typer.Typer(cls=Commands, help="Preferences from choices.", no_args_is_help=True, rich_markup_mode="markdown")

METHODS = ("likelihood", "mode", "posterior", "hierarchical")


@app.callback()
def _people() -> None:
    """Preferences from choices."""


@app.command("fit")
def fit_command(
    data: Data,
    shape: Shape,
    column: Column = None,
    option: Option = None,
    lottery: Lottery = None,
    family: Weighing = "tk",
    losses: Losses = None,
    set_: Set = None,
    method: Annotated[str, typer.Option(help="likelihood, mode, posterior or hierarchical.")] = "posterior",
    by_person: Annotated[bool, typer.Option("--by-person", help="Each person by themselves.")] = False,
    sure: Sure = False,
    probit: ProbitRule = False,
    stake: Stake = 10.0,
    costs: Costs = False,
    reference: Reference = 0.0,
    drop_missing: DropMissing = False,
    out: Annotated[Path | None, typer.Option(help="Write what was found to this preference file.")] = None,
    plot: Plot = None,
    seed: Seed = 0,
) -> None:
    """Fit weights, utility and choice rule to a table of choices.

    Examples:

    - `allais people fit choices.csv --shape lottery-or-sure --family prelec --set loss_aversion=1 --out ann.json`
    - `allais people fit gambles.csv --shape mixed-gambles --set weight_eta=0.65 --method mode --by-person`
    - `allais people fit rates.csv --shape lottery-or-sure --column took_lottery=k --column of=n`
    - `allais people fit any.csv --shape table --option "left=x:p,0:rest" --option "right=sure"`
    """
    from allais import people

    if method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}; got {method!r}. Choose one.")
    if method == "hierarchical" and by_person:
        raise ValueError("a hierarchical fit is of each person already. Leave --by-person out.")
    if plot is not None:
        require_picture(plot)
    if out is not None:
        require_writable(out)
    model = family_of(
        family, losses, set_, sure=sure, probit=probit, stake=stake, costs=costs, reference=reference
    )  # fmt: skip
    choices = choices_of(data, shape, column, option, lottery, drop_missing)
    if method == "hierarchical":
        found = people.hierarchical(choices, model, seed=seed)
    elif method == "posterior":
        found = people.posterior(choices, model, by_person=by_person, seed=seed)
    else:
        found = people.fit(choices, model, prior=method == "mode", by_person=by_person, seed=seed)
    _say(found.summary())
    _say_attention(choices, costs)
    if out is not None:
        with writing(out):
            found.save(out)
        typer.echo(f"The preference is in {out}.")
    if plot is not None:
        with writing(plot):
            found.plot(choices).savefig(plot, dpi=130)
        typer.echo(f"The picture is in {plot}.")


@app.command("groups")
def groups_command(
    data: Data,
    shape: Shape,
    types: Annotated[int | None, typer.Option(min=1, help="How many; else 1, 2 or 3, by BIC.")] = None,
    column: Column = None,
    option: Option = None,
    lottery: Lottery = None,
    family: Weighing = "tk",
    losses: Losses = None,
    set_: Set = None,
    sure: Sure = False,
    probit: ProbitRule = False,
    stake: Stake = 10.0,
    costs: Costs = False,
    reference: Reference = 0.0,
    drop_missing: DropMissing = False,
    seed: Seed = 0,
) -> None:
    """Sort people into types, and say whether one continuous population explains their answers as well.

    - `allais people groups gambles.csv --shape mixed-gambles --set weight_eta=0.65 --set utility_alpha=1`
    """
    from allais import people

    model = family_of(
        family, losses, set_, sure=sure, probit=probit, stake=stake, costs=costs, reference=reference
    )  # fmt: skip
    choices = choices_of(data, shape, column, option, lottery, drop_missing)
    _say(people.groups(choices, model, n_types=types, seed=seed))


@app.command("compare")
def compare_command(
    data: Data,
    shape: Shape,
    family: Annotated[list[str], typer.Option(help="A weight, as for fit, or mean (what goes by the mean); several "
                                              "times.")],
    column: Column = None,
    option: Option = None,
    lottery: Lottery = None,
    set_: Set = None,
    held_out: Annotated[str, typer.Option(help="trials (of the same people) or people.")] = "trials",
    folds: Annotated[int, typer.Option(min=2, help="Into how many parts answers are divided.")] = 5,
    sure: Sure = False,
    probit: ProbitRule = False,
    stake: Stake = 10.0,
    costs: Costs = False,
    reference: Reference = 0.0,
    drop_missing: DropMissing = False,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Score families on answers that they have not seen.

    - `allais people compare choices.csv --shape lottery-or-sure --family tk --family prelec --set loss_aversion=1`
    """
    from allais import people
    from allais.weights import Identity

    point = {"stake": stake, "costs": costs, "reference": reference}
    rules = {"sure": sure, "probit": probit}
    candidates = {
        name: people.Family(Identity, utility=None, **point)  # type: ignore[arg-type]
        if name == "mean"
        else family_of(name, None, set_, **rules, **point)  # type: ignore[arg-type]
        for name in family
    }
    choices = choices_of(data, shape, column, option, lottery, drop_missing)
    _say(people.compare(candidates, choices, held_out=held_out, folds=folds, seed=seed))


def _say(found: object) -> None:
    console().print(str(found), markup=False, highlight=False, soft_wrap=True)


def _say_attention(choices: Choices, costs: bool) -> None:
    """Say who took an option that is worse in everything."""
    checks = choices.attention(costs=costs)
    missed = {name: one.asked - one.passed for name, one in checks.items() if one.passed < one.asked}
    if missed:
        most = max(missed, key=lambda name: missed[name])
        typer.echo(
            f"In {sum(missed.values())} of {sum(one.asked for one in checks.values())} choices with an option that is "
            f"worse in everything it was taken, by {len(missed)} of {len(checks)} people (most often by {most}: "
            f"{missed[most]} of {checks[most].asked}). Read their answers with care."
        )


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
    from allais.report.tables import duration

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
