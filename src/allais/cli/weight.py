"""`allais weight`: weight functions, drawn and tabulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from allais.cli.console import console
from allais.cli.exits import writing
from allais.cli.options import Plot
from allais.cli.writable import require_picture

if TYPE_CHECKING:
    from allais.weights import Weight

WIDE, HIGH = 61, 21  # of the terminal's picture, in characters: two are about as high as four are wide
MARKS, COLOURS = "*o+x#@", ("blue", "yellow", "green", "red", "magenta", "cyan")
SHOWN = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def weight_command(
    weights: Annotated[list[str] | None, typer.Argument(help="tk:0.61, prelec:0.65, ...; up to six.")] = None,
    plot: Plot = None,
) -> None:
    """Draw weight functions, and say what is known about them.

    Examples:

    - `allais weight`
    - `allais weight tk:0.61 prelec:0.65 --plot curves.svg`
    """
    from rich.table import Table
    from rich.text import Text

    from allais.cli.shorthand import weight_of

    names = weights or ["tk:0.61", "tk:0.69"]
    if len(names) > len(MARKS):
        raise ValueError(f"at most {len(MARKS)} curves are drawn at once; got {len(names)}. Leave some out.")
    if plot is not None:
        require_picture(plot)
    curves = {name: weight_of(name) for name in names}
    out = console()
    out.print(picture(list(curves.values())), highlight=False)
    table = Table(box=None)
    for heading in ("weight", *(f"w({p:g})" for p in SHOWN), "crosses p at", "Hölder L, alpha", "monotone"):
        table.add_column(heading, justify="left" if heading == "weight" else "right")
    for (name, weight), mark, colour in zip(curves.items(), MARKS, COLOURS, strict=False):
        pair = weight.holder
        table.add_row(
            Text(f"{mark} {name}", colour), *(f"{float(weight(p)):.4f}" for p in SHOWN), _crossing(weight),
            "none" if pair is None else f"{pair.constant:.4g}, {pair.exponent:.4g}",
            "yes" if weight.is_monotone else "no",
        )  # fmt: skip
    out.print(table)
    if plot is not None:
        with writing(plot):
            _draw(curves, plot)
        typer.echo(f"The picture is in {plot}.")


def picture(curves: list[Weight]) -> str:
    """The curves in characters, the diagonal in dots."""
    grid = [[" "] * WIDE for _ in range(HIGH)]
    p = np.linspace(0.0, 1.0, WIDE)
    for column in range(WIDE):
        grid[HIGH - 1 - round(p[column] * (HIGH - 1))][column] = "."
    for curve, mark, colour in zip(curves, MARKS, COLOURS, strict=False):
        for column, height in enumerate(np.clip(curve(p), 0.0, 1.0).tolist()):
            grid[HIGH - 1 - round(height * (HIGH - 1))][column] = f"[{colour}]{mark}[/]"
    lines = [("1 |" if row == 0 else "  |") + "".join(cells) for row, cells in enumerate(grid)]
    return "\n".join(["w(p)", *lines, "0 +" + "-" * WIDE, "   0" + " " * (WIDE - 2) + "1  p"])


def _crossing(weight: Weight) -> str:
    from scipy.optimize import brentq

    p = np.linspace(0.001, 0.999, 999)
    above = weight(p) > p
    turns = np.flatnonzero(above[:-1] & ~above[1:])
    if turns.size == 0:
        return ""
    return f"{float(brentq(lambda q: float(weight(q)) - q, p[turns[0]], p[turns[0] + 1])):.3f}"


def _draw(curves: dict[str, Weight], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    ax = figure.subplots()
    p = np.linspace(0.0, 1.0, 2001)
    ax.plot(p, p, "--", color="0.6", linewidth=1)
    for name, weight in curves.items():
        ax.plot(p, weight(p), linewidth=2, label=name)
    ax.set(xlabel="probability p", ylabel="weight w(p)", xlim=(0, 1), ylim=(0, 1))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(path, dpi=130)
