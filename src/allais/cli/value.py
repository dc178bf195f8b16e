"""`allais value`: what lotteries are worth under a weight, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allais.cli.console import console
from allais.cli.exits import no_such_option, writing
from allais.cli.options import Plot
from allais.cli.writable import require_picture

if TYPE_CHECKING:
    from rich.table import Table

    from allais.preferences import Explanation

BAR = 24  # cells of a whole bar
EIGHTHS = " ▏▎▍▌▋▊▉█"


def value_command(
    ctx: typer.Context,
    lotteries: Annotated[list[str], typer.Argument(help='Outcomes and probabilities, such as "50:0.1,0:0.9".')],
    weight: Annotated[str, typer.Option(help="tk:ETA, prelec:ALPHA, gonzalez-wu:GAMMA,DELTA, power:A, wang:L, "
                                        "tail-average:A, steep-middle:A or identity.")] = "tk:0.61",
    losses: Annotated[str | None, typer.Option(help="The weight of losses, if it is another one.")] = None,
    preference: Annotated[Path | None, typer.Option(help="A preference file, in place of weights.")] = None,
    reference: Annotated[float, typer.Option(help="What is neither gain nor loss.")] = 0.0,
    costs: Annotated[bool, typer.Option("--costs", help="Outcomes are costs: less is better.")] = False,
    unit: Annotated[str, typer.Option(help='Of outcomes, such as "francs".')] = "",
    plot: Plot = None,
) -> None:  # fmt: skip
    """What each lottery feels like for sure, its decision weights, and which one people prefer.

    Examples:

    - `allais value "50:0.1,0:0.9" "7:1"`
    - `allais value "68:0.99,168:0.01" "71:1" --reference 80 --costs --plot why.svg`
    - `allais value "-50:0.1,0:0.9" --weight prelec:0.65`
    - `allais value "50:0.1,0:0.9" "7:1" --preference ann.json`
    """
    from rich.text import Text

    from allais.cli.shorthand import weight_of
    from allais.lotteries.text import lottery_of
    from allais.preferences import Preference
    from allais.report.sure import felt_in_words

    for text in lotteries:
        if text.startswith("--"):  # a number may begin with one dash, so that click lets options pass
            raise ValueError(no_such_option(text, ctx))
    if plot is not None:
        require_picture(plot)
    if preference is not None:
        _require_alone(ctx)
        liking = Preference.load(preference)
    else:
        curve = weight_of(weight)
        liking = Preference(curve, curve if losses is None else weight_of(losses), reference=reference, costs=costs)
    laws = [lottery_of(text) for text in lotteries]
    explained = [liking.explain(law) for law in laws]
    out = console()
    for text, law, why in zip(lotteries, laws, explained, strict=True):
        out.print(
            Text.assemble(
                (text, "bold"), f"  mean {law.mean:.6g}, ", (felt_in_words(why.preference, why.value, unit, 6), "bold")
            )
        )
        out.print(_weights(why))
    if len(laws) > 1:
        best = max(range(len(laws)), key=lambda k: explained[k].value)
        alike = [k for k in range(len(laws)) if explained[k].value == explained[best].value]
        by_mean = (min if liking.costs else max)(range(len(laws)), key=lambda k: laws[k].mean)
        liked = " and ".join(lotteries[k] for k in alike)
        mean = "so does the mean" if alike == [by_mean] else f"the mean prefers {lotteries[by_mean]}"
        out.print(Text(f"People prefer {liked}; {mean}."))
    if plot is not None:
        with writing(plot):
            _draw(explained, lotteries, plot)
        typer.echo(f"The picture is in {plot}.")


def _require_alone(ctx: typer.Context) -> None:
    """Refuse what a preference file says already."""
    for name in ("weight", "losses", "reference", "costs"):
        if getattr(ctx.get_parameter_source(name), "name", "") != "DEFAULT":
            raise ValueError(f"a preference file says what --{name} would. Leave one of the two out.")


def _weights(why: Explanation) -> Table:
    """Probability and decision weight of each outcome, as bars."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1))
    for heading in ("outcome", "probability", "decision weight", why.contribution):
        table.add_column(heading, justify="right")
    table.add_column("probability above, weight below")
    for label, p, w, share in zip(
        why.labels, why.probabilities, why.decision_weights, why.contributions, strict=True
    ):  # fmt: skip
        bars = Text.assemble((bar(p), "blue"), "\n", (bar(w), "yellow"))
        table.add_row(Text(label), f"{p:.4f}", f"{w:.4f}", f"{share:.4g}", bars)
    return table


def bar(share: float) -> str:
    """A bar to an eighth of a cell.

    >>> bar(0.5)
    '████████████'
    """
    eighths = round(8 * BAR * min(max(share, 0.0), 1.0))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _draw(explained: list[Explanation], names: list[str], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(explained), 4.2), layout="constrained")
    for ax, why, name in zip(figure.subplots(1, len(explained), squeeze=False).flat, explained, names, strict=True):
        why.plot(ax)
        ax.set_title(f"{name}\n{ax.get_title()}")
    figure.savefig(path, dpi=130)
