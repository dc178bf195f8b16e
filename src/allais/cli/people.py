"""`allais people`: preferences from choices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allais.cli.console import console
from allais.cli.exits import Commands, writing
from allais.cli.options import Plot, Seed
from allais.cli.writable import require_picture

if TYPE_CHECKING:
    from allais.people import Choices, Family

app = typer.Typer(cls=Commands, help="Preferences from choices.", no_args_is_help=True, rich_markup_mode="markdown")

SHAPES = ("lottery-or-sure", "mixed-gambles", "lines")
METHODS = ("likelihood", "mode", "posterior", "hierarchical")


@app.callback()
def _people() -> None:
    """Preferences from choices."""


@app.command("fit")
def fit_command(
    data: Annotated[Path, typer.Argument(help="A table of choices, as CSV or as JSON lines.")],
    shape: Annotated[str, typer.Option(help="lottery-or-sure (columns person, win, probability, sure, took_lottery), "
                                       "mixed-gambles (person, gain, loss, accepted), or lines (JSON).")],
    family: Annotated[str, typer.Option(help="How probabilities are weighed: tk, prelec, gonzalez-wu, power, wang, "
                                        "tail-average, steep-middle or identity.")] = "tk",
    losses: Annotated[str | None, typer.Option(help="How those of losses are, if otherwise; or dual.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A parameter: alpha=0.88, or lapse=free.")] = None,
    method: Annotated[str, typer.Option(help="likelihood, mode, posterior or hierarchical.")] = "posterior",
    by_person: Annotated[bool, typer.Option("--by-person", help="Each person by themselves.")] = False,
    sure: Annotated[bool, typer.Option("--sure", help="Compare certainty equivalents, and not values.")] = False,
    probit: Annotated[bool, typer.Option("--probit", help="Probit in place of logit.")] = False,
    stake: Annotated[float, typer.Option(help="The size of a typical outcome, for the prior.")] = 10.0,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave rows without an answer out.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write what was found to this preference file.")] = None,
    plot: Plot = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Fit weights, utility and choice rule to a table of choices.

    Examples:

    - `allais people fit choices.csv --shape lottery-or-sure --family prelec --set loss_aversion=1 --out ann.json`
    - `allais people fit gambles.csv --shape mixed-gambles --set eta=0.65 --method mode --by-person`
    """
    from allais import people

    for name, given, known in (("--shape", shape, SHAPES), ("--method", method, METHODS)):
        if given not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}; got {given!r}. Choose one.")
    if method == "hierarchical" and by_person:
        raise ValueError("a hierarchical fit is of each person already. Leave --by-person out.")
    if plot is not None:
        require_picture(plot)
    model = _family(family, losses, set_ or [], sure, probit, stake)
    choices = _choices(data, shape, drop_missing)
    if method == "hierarchical":
        found = people.hierarchical(choices, model, seed=seed)
    elif method == "posterior":
        found = people.posterior(choices, model, by_person=by_person, seed=seed)
    else:
        found = people.fit(choices, model, prior=method == "mode", by_person=by_person, seed=seed)
    console().print(str(found.summary()), markup=False, highlight=False)
    _say_attention(choices)
    if out is not None:
        with writing(out):
            found.save(out)
        typer.echo(f"The preference is in {out}.")
    if plot is not None:
        with writing(plot):
            found.plot(choices).savefig(plot, dpi=130)
        typer.echo(f"The picture is in {plot}.")


def _say_attention(choices: Choices) -> None:
    """Say who took an option that is worse in everything."""
    checks = choices.attention()
    missed = {name: one.asked - one.passed for name, one in checks.items() if one.passed < one.asked}
    if missed:
        most = max(missed, key=lambda name: missed[name])
        typer.echo(
            f"In {sum(missed.values())} of {sum(one.asked for one in checks.values())} choices with an option that is "
            f"worse in everything it was taken, by {len(missed)} of {len(checks)} people (most often by {most}: "
            f"{missed[most]} of {checks[most].asked}). Read their answers with care."
        )


def _choices(data: Path, shape: str, drop_missing: bool) -> Choices:
    from allais.people import Choices

    missing = "drop" if drop_missing else "refuse"
    if shape == "lines":
        return Choices.read(data)
    return (Choices.lottery_or_sure if shape == "lottery-or-sure" else Choices.mixed_gambles)(data, missing=missing)


def _family(gains: str, losses: str | None, given: list[str], sure: bool, probit: bool, stake: float) -> Family:
    from allais.cli.shorthand import WEIGHTS, nearest
    from allais.people import Family, Logit, Probit, free

    for name in (gains, losses or gains):
        if name not in WEIGHTS and not (name == "dual" and name == losses):
            raise ValueError(f"a family weighs by one that exists; got {name!r}.{nearest(name, WEIGHTS)}")
    parameters = {}
    for one in given:
        name, _, number = one.partition("=")
        try:
            parameters[name.strip()] = free() if number.strip() == "free" else float(number)
        except ValueError:
            raise ValueError(f"--set is written alpha=0.88 or lapse=free; got {one!r}. Repair it.") from None
    rule = (Probit if probit else Logit)("certainty equivalents" if sure else "values")
    kinds = [WEIGHTS.get(str(name), name) for name in (gains, losses)]
    return Family(kinds[0], kinds[1], choice=rule, stake=stake, **parameters)  # type: ignore[arg-type]
