"""`allais people`: preferences from choices."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from allais._checks import nearest
from allais.cli import options
from allais.cli.options import Commands, Costs, Plot, Reference, Seed, taking
from allais.preferences.named import SHORTHANDS
from allais.weights import Identity

if TYPE_CHECKING:
    from allais.people import Choices, Family, Study

app = typer.Typer(cls=Commands, help="Preferences from choices.", no_args_is_help=True, rich_markup_mode="markdown")

METHODS = ("likelihood", "mode", "posterior", "hierarchical")
RATES = ("of", "rate_of")  # how many were asked, if the answers are counts or shares
SHAPES = {  # and the columns of each
    "lottery-or-sure": ("person", "win", "probability", "sure", "took_lottery", "trial", *RATES),
    "mixed-gambles": ("person", "gain", "loss", "accepted", "trial", *RATES),
    "certainty-equivalents": ("person", "amount", "trial"),
    "table": ("person", "chosen", "trial", *RATES),
    "lines": (),
}
REST = "rest"  # for the probability that is left

Weighting = Annotated[str, typer.Option(help="How probabilities are weighted: tk, prelec, gonzalez-wu, power, wang, "
                                        "tail-average, steep-middle or identity.")]  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What all commands about choices take: a table, and the family that is fitted to it."""

    data: Annotated[Path, typer.Argument(help="A table of choices, as CSV or as JSON lines.")]
    shape: Annotated[str, typer.Option(
        help="lottery-or-sure (columns person, win, probability, sure, took_lottery), mixed-gambles (person, gain, "
        "loss, accepted), certainty-equivalents (person, amount; see --lottery), table (person, chosen; see --option) "
        "or lines (JSON).")]  # fmt: skip
    column: Annotated[list[str] | None, typer.Option(
        help="A column of another name: win=prize. of=n: the answers are counts of n; rate_of=n: shares of n. "
        "Repeatable.")] = None  # fmt: skip
    option: Annotated[list[str] | None, typer.Option(
        help='An option of a table, by what the column "chosen" calls it: "left=x:p,0:rest", outcomes and '
        'probabilities by column or number; or "right=sure", a column of amounts. Once for each.')] = None  # fmt: skip
    lottery: Annotated[str | None, typer.Option(help='Of certainty equivalents: "x:p,0:rest".')] = None
    losses: Annotated[str | None, typer.Option(help="Another weight for losses; or dual.")] = None
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter: utility_alpha=0.88, or lapse=free. Repeatable.")
    ] = None
    sure: Annotated[bool, typer.Option("--sure", help="Compare certainty equivalents, not values.")] = False
    probit: Annotated[bool, typer.Option("--probit", help="Probit instead of logit.")] = False
    stake: Annotated[float, typer.Option(help="The size of a typical outcome, for the prior.")] = 10.0
    costs: Costs = False
    reference: Reference = 0.0
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help='Leave out rows with an empty cell ("", NA, n/a).')
    ] = False
    seed: Seed = 0

    def choices(self) -> Choices:
        """The choices of the file; says how many rows were left out."""
        from allais.people import Choices

        if self.shape not in SHAPES:
            raise ValueError(f"--shape must be one of {', '.join(SHAPES)}; got {self.shape!r}. Choose one.")
        settings: dict[str, Any] = _columns(self.shape, self.column or [])
        for name, given, where, example in (
            ("--option", self.option, "table", "left=x:p,0:rest"),
            ("--lottery", self.lottery, "certainty-equivalents", "x:p,0:rest"),
        ):
            if given and self.shape != where:
                raise ValueError(f"{name} belongs to --shape {where}; got it with {self.shape}. Leave it out.")
            if not given and self.shape == where:
                raise ValueError(f'--shape {where} needs {name}; there is none. Write {name} "{example}".')
        if self.shape == "lines":
            return Choices.read(self.data)
        settings["missing"] = "drop" if self.drop_missing else "refuse"
        if self.option:
            named = dict(_named(one, "--option", "left=x:p,0:rest") for one in self.option)
            settings["options"] = {name: parts_of(given) for name, given in named.items()}
        if self.lottery:
            settings["lottery"] = parts_of(self.lottery)
        maker = "from_table" if self.shape == "table" else self.shape.replace("-", "_")
        found: Choices = getattr(Choices, maker)(self.data, **settings)
        if found.n_dropped:
            rows = "1 row" if found.n_dropped == 1 else f"{found.n_dropped:,} rows"
            typer.echo(f"{rows} with an empty cell {'was' if found.n_dropped == 1 else 'were'} left out.")
        return found

    def family(self, gains: str) -> Family:
        """The family with this weight; "mean" is that of people who maximise the mean."""
        from allais.people import Family, Logit, Probit, free

        point = {"stake": self.stake, "costs": self.costs, "reference": self.reference}
        if gains == "mean":
            return Family(Identity, utility=None, **point)  # type: ignore[arg-type]
        for name in (gains, self.losses or gains):
            if name not in SHORTHANDS and not (name == "dual" and name == self.losses):
                raise ValueError(f"there is no weight {name!r}.{nearest(name, SHORTHANDS)}")
        parameters = {}
        for one in self.set_ or []:
            name, _, number = one.partition("=")
            try:
                parameters[name.strip()] = free() if number.strip() == "free" else float(number)
            except ValueError:
                raise ValueError(
                    f"--set is written utility_alpha=0.88 or lapse=free; got {one!r}. Repair it."
                ) from None
        rule = (Probit if self.probit else Logit)("certainty equivalents" if self.sure else "values")
        kinds: list[Any] = [SHORTHANDS.get(str(name), name) for name in (gains, self.losses)]
        return Family(kinds[0], kinds[1], choice=rule, **point, **parameters)  # type: ignore[arg-type]


@app.command("fit")
@taking(Task)
def fit_command(
    task: Task,
    family: Weighting = "tk",
    method: Annotated[str, typer.Option(help="likelihood, mode, posterior or hierarchical.")] = "posterior",
    by_person: Annotated[bool, typer.Option("--by-person", help="Fit each person alone.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the fit to this preference file.")] = None,
    plot: Plot = None,
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
        raise ValueError("a hierarchical fit has a result for each person already. Leave --by-person out.")
    options.require_picture(plot)
    options.require_writable(out)
    model, choices, seed = task.family(family), task.choices(), task.seed
    if method == "hierarchical":
        found = people.hierarchical(choices, model, seed=seed)
    elif method == "posterior":
        found = people.posterior(choices, model, by_person=by_person, seed=seed)
    else:
        found = people.fit(choices, model, prior=method == "mode", by_person=by_person, seed=seed)
    _say(found.summary())
    _say_attention(choices, task.costs)
    if out is not None:
        with options.writing(out, "preference"):
            found.save(out)
    if plot is not None:
        with options.writing(plot, "picture"):
            found.plot(choices).savefig(plot, dpi=130)


@app.command("groups")
@taking(Task)
def groups_command(
    task: Task,
    family: Weighting = "tk",
    types: Annotated[int | None, typer.Option(min=1, help="How many; else 1, 2 or 3, by BIC.")] = None,
) -> None:
    """Sort people into types, and say whether one continuous population explains their answers as well.

    - `allais people groups gambles.csv --shape mixed-gambles --set weight_eta=0.65 --set utility_alpha=1`
    """
    from allais import people

    model = task.family(family)
    _say(people.groups(task.choices(), model, n_types=types, seed=task.seed))


@app.command("compare")
@taking(Task)
def compare_command(
    task: Task,
    family: Annotated[list[str], typer.Option(help="A weight, as for fit, or mean (people who maximise the mean). "
                                              "Repeatable.")],
    held_out: Annotated[str, typer.Option(help="trials (of the same people) or people.")] = "trials",
    folds: Annotated[int, typer.Option(min=2, help="Into how many parts answers are divided.")] = 5,
) -> None:  # fmt: skip
    """Score families on answers that they have not seen.

    - `allais people compare choices.csv --shape lottery-or-sure --family tk --family prelec --set loss_aversion=1`
    """
    from allais import people

    candidates = {name: task.family(name) for name in family}
    _say(people.compare(candidates, task.choices(), held_out=held_out, folds=folds, seed=task.seed))


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


def _say(found: object) -> None:
    options.console().print(str(found), markup=False, highlight=False, soft_wrap=True)


def _say_attention(choices: Choices, costs: bool) -> None:
    """Say who took an option that is worse in everything."""
    checks = choices.attention(costs=costs)
    missed = {name: one.asked - one.passed for name, one in checks.items() if one.passed < one.asked}
    if missed:
        most = max(missed, key=lambda name: missed[name])
        typer.echo(
            f"In {sum(missed.values())} of {sum(one.asked for one in checks.values())} choices with an option that is "
            f"worse in everything, that option was taken, by {len(missed)} of {len(checks)} people (most often by "
            f"{most}: {missed[most]} of {checks[most].asked}). Read their answers with care."
        )


EVERY = 10.0  # seconds between two lines that say how far it is


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
    from allais.report.markup import duration

    options.require_writable(out)
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
    _show_study(found, meant)
    if out is not None:
        with options.writing(out):
            out.write_text(f"{meant}\n\n{found}\n", encoding="utf-8")


def _show_study(found: Study, meant: str) -> None:
    screen, table = options.console(), Table(box=None, padding=(0, 2, 0, 0))
    for k, name in enumerate(found.header):
        table.add_column(name, justify="right" if k else "left")
    for row in found.rows():
        table.add_row(*row)
    screen.print(table)
    screen.print(meant, highlight=False)
