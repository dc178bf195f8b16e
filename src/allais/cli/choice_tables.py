"""Tables of choices and families as words on a command line, for all commands about people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allais.cli.reader import SHORTHANDS, nearest

if TYPE_CHECKING:
    from allais.people import Choices, Family

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
