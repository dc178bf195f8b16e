"""`allais people`: preferences from choices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from allais.cli.options import (
    SHORTHANDS,
    Commands,
    Plot,
    Seed,
    console,
    nearest,
    require_picture,
    require_writable,
    writing,
)
from allais.weights import Identity

if TYPE_CHECKING:
    from allais.people import Choices, Family, Study

RATES = ("of", "rate_of")  # how many were asked, if the answers are counts or shares
SHAPES = {  # and the columns of each
    "lottery-or-sure": ("person", "win", "probability", "sure", "took_lottery", "trial", *RATES),
    "mixed-gambles": ("person", "gain", "loss", "accepted", "trial", *RATES),
    "certainty-equivalents": ("person", "amount", "trial"),
    "table": ("person", "chosen", "trial", *RATES),
    "lines": (),
}
REST = "rest"  # for the probability that is left

Data = Annotated[Path, typer.Argument(help="A table of choices, as CSV or as JSON lines.")]
Shape = Annotated[str, typer.Option(
    help="lottery-or-sure (columns person, win, probability, sure, took_lottery), mixed-gambles (person, gain, loss, "
    "accepted), certainty-equivalents (person, amount; see --lottery), table (person, chosen; see --option) or lines "
    "(JSON).")]  # fmt: skip
Column = Annotated[list[str] | None, typer.Option(
    help="A column of another name: win=prize. of=n: the answers are counts of n; rate_of=n: shares of n. Several "
    "times.")]  # fmt: skip
Option = Annotated[list[str] | None, typer.Option(
    help='An option of a table, by what the column "chosen" calls it: "left=x:p,0:rest", outcomes and probabilities '
    'by column or number; or "right=sure", a column of amounts. Once for each.')]  # fmt: skip
Lottery = Annotated[str | None, typer.Option(help='Of certainty equivalents: "x:p,0:rest".')]
Weighing = Annotated[str, typer.Option(help="How probabilities are weighed: tk, prelec, gonzalez-wu, power, wang, "
                                       "tail-average, steep-middle or identity.")]  # fmt: skip
Losses = Annotated[str | None, typer.Option(help="How those of losses are, if otherwise; or dual.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="A parameter: utility_alpha=0.88, or lapse=free.")]
Sure = Annotated[bool, typer.Option("--sure", help="Compare certainty equivalents, and not values.")]
ProbitRule = Annotated[bool, typer.Option("--probit", help="Probit in place of logit.")]
Stake = Annotated[float, typer.Option(help="The size of a typical outcome, for the prior.")]
Costs = Annotated[bool, typer.Option("--costs", help="Outcomes are costs: less is better.")]
Reference = Annotated[float, typer.Option(help="The outcome that is neither a gain nor a loss.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help='Leave rows with an empty cell ("", NA, n/a) out.')]


def choices_of(
    data: Path, shape: str, columns: list[str] | None, options: list[str] | None, lottery: str | None, drop: bool
) -> Choices:
    """The choices of a file, and a word about rows that were left out."""
    from allais.people import Choices

    if shape not in SHAPES:
        raise ValueError(f"--shape must be one of {', '.join(SHAPES)}; got {shape!r}. Choose one.")
    settings: dict[str, Any] = _columns(shape, columns or [])
    for name, given, where, example in (
        ("--option", options, "table", "left=x:p,0:rest"),
        ("--lottery", lottery, "certainty-equivalents", "x:p,0:rest"),
    ):
        if given and shape != where:
            raise ValueError(f"{name} belongs to --shape {where}; got it with {shape}. Leave it out.")
        if not given and shape == where:
            raise ValueError(f'--shape {where} needs {name}; there is none. Write {name} "{example}".')
    if shape == "lines":
        return Choices.read(data)
    settings["missing"] = "drop" if drop else "refuse"
    if options:
        named = dict(_named(one, "--option", "left=x:p,0:rest") for one in options)
        settings["options"] = {name: parts_of(given) for name, given in named.items()}
    if lottery:
        settings["lottery"] = parts_of(lottery)
    maker = "from_table" if shape == "table" else shape.replace("-", "_")
    found: Choices = getattr(Choices, maker)(data, **settings)
    if found.n_dropped:
        rows = "1 row" if found.n_dropped == 1 else f"{found.n_dropped:,} rows"
        typer.echo(f"{rows} with an empty cell {'was' if found.n_dropped == 1 else 'were'} left out.")
    return found


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, given = text.partition("=")
    if not (equals and name.strip() and given.strip()):
        raise ValueError(f"{option} is written {example}; got {text!r}. Repair it.")
    return name.strip(), given.strip()


def _columns(shape: str, given: list[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, column = _named(one, "--column", "win=prize")
        if name not in SHAPES[shape]:
            raise ValueError(
                f"--column names a column of the shape {shape}; got {name!r}.{nearest(name, SHAPES[shape])}"
            )
        found[name] = column
    return found


def parts_of(text: str) -> Any:
    """What makes up an option, as `Choices.from_table` takes it.

    >>> parts_of("x:p,0:rest"), parts_of("sure"), parts_of("7")
    ([('x', 'p'), (0.0, None)], 'sure', [(7.0, 1.0)])
    """
    if ":" not in text:
        whole = _number(text)
        return text if isinstance(whole, str) else [(whole, 1.0)]
    pairs = []
    for part in text.split(","):
        outcome, colon, chance = (piece.strip() for piece in part.partition(":"))
        if not (outcome and colon and chance):
            raise ValueError(f"an option is written x:p,0:rest, columns or numbers; got {text!r}. Repair {part!r}.")
        pairs.append((_number(outcome), None if chance == REST else _number(chance)))
    return pairs


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def family_of(
    gains: str, losses: str | None, given: list[str] | None, *, sure: bool, probit: bool, stake: float, costs: bool,
    reference: float,
) -> Family:  # fmt: skip
    """The family that words describe."""
    from allais.people import Family, Logit, Probit, free

    for name in (gains, losses or gains):
        if name not in SHORTHANDS and not (name == "dual" and name == losses):
            raise ValueError(f"a family weighs by one that exists; got {name!r}.{nearest(name, SHORTHANDS)}")
    parameters = {}
    for one in given or []:
        name, _, number = one.partition("=")
        try:
            parameters[name.strip()] = free() if number.strip() == "free" else float(number)
        except ValueError:
            raise ValueError(f"--set is written utility_alpha=0.88 or lapse=free; got {one!r}. Repair it.") from None
    rule = (Probit if probit else Logit)("certainty equivalents" if sure else "values")
    kinds = [SHORTHANDS.get(str(name), name) for name in (gains, losses)]
    point = {"stake": stake, "costs": costs, "reference": reference}
    return Family(kinds[0], kinds[1], choice=rule, **point, **parameters)  # type: ignore[arg-type]


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
    screen, table = console(), Table(box=None, padding=(0, 2, 0, 0))
    for k, name in enumerate(found.header):
        table.add_column(name, justify="right" if k else "left")
    for row in found.rows():
        table.add_row(*row)
    screen.print(table)
    screen.print(meant, highlight=False)
