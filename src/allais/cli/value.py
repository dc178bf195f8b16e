"""`allais value`: what lotteries are worth; `allais verdict` and `allais evaluate`: what a log says."""

from __future__ import annotations

import importlib.util
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from allais.cli import options
from allais.cli.options import Costs, Plot, Reference
from allais.lotteries.finite import lottery_of
from allais.preferences import Preference
from allais.preferences.named import is_mean, preference_named, weight_of
from allais.preferences.valuation import certainty_equivalent_in_words
from allais.settings import read_document

if TYPE_CHECKING:
    from rich.table import Table

    from allais.evidence import Guard
    from allais.preferences import Explanation
    from allais.weights import Weight

BAR = 24  # cells of a whole bar
EIGHTHS = " ▏▎▍▌▋▊▉█"
COSTLY_UNITS = ("ms", "s", "us", "ns", "seconds", "minutes", "hours", "days", "bytes", "kb", "mb", "gb")
UNITS = (*COSTLY_UNITS, "usd", "eur", "chf")  # columns that are called so

Direction = Annotated[
    bool | None,
    typer.Option(
        "--costs/--gains",
        "--less-is-better/--more-is-better",
        help="Whether less or more is better; by default as the outcome's unit says: less, for times and bytes.",
    ),
]
AtLeast = Annotated[str, typer.Option(help="The column of what outcomes that are not finished will be at least; their "
                                      "outcome is empty. Read if it is there.")]  # fmt: skip
AtMost = Annotated[str, typer.Option(help="The column of what they will be at most.")]
Page = Annotated[Path | None, typer.Option(help="Write a page about it to this HTML file.")]


def value_command(
    ctx: typer.Context,
    lotteries: Annotated[list[str], typer.Argument(help='Outcomes and probabilities, such as "50:0.1,0:0.9".')],
    weight: Annotated[str, typer.Option(help="tk:ETA, prelec:ALPHA, gonzalez-wu:GAMMA,DELTA, power:A, wang:L, "
                                        "tail-average:A, steep-middle:A or identity.")] = "tk:0.61",
    losses: Annotated[str | None, typer.Option(help="Another weight for losses.")] = None,
    preference: Annotated[str | None, typer.Option(help="mean, median, p95, cvar:0.1, 0.7*mean+0.3*p99, ..., or a "
                                                   "preference file; instead of weights.")] = None,
    reference: Reference = 0.0,
    costs: Costs = False,
    unit: Annotated[str, typer.Option(help='Of outcomes, such as "francs"; by default that of the interview.')] = "",
    plot: Plot = None,
) -> None:  # fmt: skip
    """What each lottery feels like for sure, its decision weights, and which one people prefer.

    Examples:

    - `allais value "50:0.1,0:0.9" "7:1"`
    - `allais value "68:0.99,168:0.01" "71:1" --reference 80 --costs --plot why.svg`
    - `allais value "-50:0.1,0:0.9" --weight prelec:0.65`
    - `allais value "50:0.1,0:0.9" "7:1" --preference ann.json`
    - `allais value "200:0.9,900:0.1" "250:1" --costs --preference p95`
    """
    for text in lotteries:
        if text.startswith("--"):  # click lets options pass, since a number may begin with a dash
            raise ValueError(options.no_such_option(text, ctx))
    options.require_picture(plot)
    if preference is not None:
        is_file = Path(preference).suffix == ".json" or Path(preference).is_file()
        what = "a preference file" if is_file else "--preference"
        for name in ("weight", "losses", *(("reference", "costs") if is_file else ())):  # it says these already
            if getattr(ctx.get_parameter_source(name), "name", "") != "DEFAULT":
                raise ValueError(f"--{name} and {what} exclude each other. Leave one of them out.")
        if is_file:
            liking = Preference.load(preference)
            talk = read_document(Path(preference)).get("interview", {})
            unit = unit or str(talk.get("settings", {}).get("unit", ""))
        else:
            liking = preference_named(preference, reference=reference, costs=costs)
    else:
        curve = weight_of(weight)
        liking = Preference(curve, curve if losses is None else weight_of(losses), reference=reference, costs=costs)
    distributions = [lottery_of(text) for text in lotteries]
    explained = [liking.explain(distribution) for distribution in distributions]
    out = options.console()
    for text, distribution, why in zip(lotteries, distributions, explained, strict=True):
        out.print(
            Text.assemble(
                (text, "bold"),
                "  " if is_mean(liking) else f"  mean {distribution.mean:.6g}, ",
                (certainty_equivalent_in_words(why.preference, why.value, unit, 6), "bold"),
            )
        )
        out.print(_weights(why))
    if len(distributions) > 1:
        best = max(range(len(distributions)), key=lambda k: explained[k].value)
        alike = [k for k in range(len(distributions)) if explained[k].value == explained[best].value]
        by_mean = (min if liking.costs else max)(range(len(distributions)), key=lambda k: distributions[k].mean)
        liked = " and ".join(lotteries[k] for k in alike)
        mean = "so does the mean" if alike == [by_mean] else f"the mean prefers {lotteries[by_mean]}"
        out.print(Text(f"People prefer {liked}; {mean}."))
    if plot is not None:
        with options.writing(plot, "picture"):
            _draw(explained, lotteries, plot)


def _weights(why: Explanation) -> Table:
    """Probability and decision weight of each outcome, as bars."""
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
    names = weights or ["tk:0.61", "tk:0.69"]
    if len(names) > len(MARKS):
        raise ValueError(f"at most {len(MARKS)} curves are drawn at once; got {len(names)}. Leave some out.")
    options.require_picture(plot)
    curves = {name: weight_of(name) for name in names}
    out = options.console()
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
        with options.writing(plot, "picture"):
            _draw_curves(curves, plot)


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


def _draw_curves(curves: dict[str, Weight], path: Path) -> None:
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


def verdict_command(
    log: Annotated[Path, typer.Argument(help="A CSV or Parquet file with one outcome per row, in the order of time.")],
    group: Annotated[str, typer.Option(help="The column that says which version an outcome is from.")],
    outcome: Annotated[str, typer.Option(help="The column of outcomes.")],
    by: Annotated[list[str] | None, typer.Option(help="mean, median, p95, p99, cvar:0.1, tk, ...; may repeat.")] = None,
    no_worse_than: Annotated[str | None, typer.Option(help="How much worse is still fine: 5%, or a number.")] = None,
    guardrail: Annotated[list[str] | None, typer.Option(help="COLUMN:METRIC:MARGIN, such as ms:p99:5%: by which a "
                                                        "group must be no worse; may repeat.")] = None,
    control: Annotated[str | None, typer.Option(help="The group to compare with; by default the one of that name, "
                                                "or the first.")] = None,
    user: Annotated[str | None, typer.Option(help="The column of users, who are then the units.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of times: a look at the end of every day.")] = None,
    covariate: Annotated[list[str] | None, typer.Option(help="A column of numbers that were known before, for which "
                                                        "the mean is adjusted; may repeat.")] = None,
    at_least: AtLeast = "at_least",
    at_most: AtMost = "at_most",
    costs: Direction = None,
    bounds: Annotated[str | None, typer.Option(help="LOW,HIGH: the outcomes that are possible.")] = None,
    rarest: Annotated[float | None, typer.Option(help="The rarest event that matters, without --bounds.")] = None,
    shares: Annotated[str | None, typer.Option(help="GROUP=SHARE,...: the shares that were planned, by default equal; "
                                               '"any" if none were.')] = None,
    delta: Annotated[float, typer.Option(help="The chance that any verdict is wrong, ever.")] = 0.05,
    unit: Annotated[str | None, typer.Option(help="Of outcomes; by default the column, if it is one.")] = None,
    report: Page = None,
) -> None:  # fmt: skip
    """Which group is better, with an error rate that survives being looked at every day.

    Verdicts by percentiles are proven, if outcomes (or users) are independent. Examples:

    - `allais verdict log.csv --group variant --outcome ms --by p99 --no-worse-than 5% --report page.html`
    - `allais verdict log.csv --group variant --outcome ms --by p95 --by mean --rarest 0.01 --user customer`
    - `allais verdict log.csv --group variant --outcome euros --more-is-better --bounds 0,500 --guardrail ms:p99:5%`

    Exit code 0: none is worse, or it is not decided yet; 1: a group is worse, by a metric or a guardrail; 2: refused.
    """
    from allais.evidence.data import read_log
    from allais.evidence.verdicts import verdicts_of

    options.require_writable(report)
    shown = outcome if outcome.lower() in UNITS else ""
    seen = read_log(log, group, outcome, user, time, control, covariate or (), at_least, at_most)  # columns come first
    ends = {outcome: (at_least, at_most)}  # they are about this column, and no other's
    others = [
        (one, read_log(log, group, one.column, user, time, control, (), *ends.get(one.column, (None, None))))
        for one in map(_guard, guardrail or ())
    ]
    found = verdicts_of(
        seen, by or ["mean"], _costs(costs, outcome), no_worse_than, _bounds(bounds), rarest, _shares(shares), delta,
        shown if unit is None else unit, others,
    )  # fmt: skip
    typer.echo(found)
    if costs is not None:
        typer.echo(f'{"Less" if costs else "More"} "{outcome}" is better here, as you said.')
    if report is not None:
        from allais.report import write_verdicts

        with options.writing(report, "page"):
            write_verdicts(found, report, name=log.name)
    if any(one.word == "worse" for one in found):
        raise typer.Exit(1)


def evaluate_command(
    log: Annotated[Path, typer.Argument(help="The service's export, or a CSV, Parquet or JSON-lines file with one "
                                        "decision per row.")],
    target: Annotated[list[str] | None, typer.Option(help="An arm that is always chosen, or `logging` for what was "
                                                     "done; may repeat.")] = None,
    policy: Annotated[list[str] | None, typer.Option(help="FILE.py:NAME, a function from a context (a dictionary) to "
                                                     "an arm, or to {arm: probability}; may repeat.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="mean, median, p95, cvar:0.1, tk, ...; may repeat.")] = None,
    arm: Annotated[str, typer.Option(help="The column of what was chosen.")] = "arm",
    outcome: Annotated[str, typer.Option(help="The column of what came of it.")] = "outcome",
    propensity: Annotated[str, typer.Option(help="The column of the probability of the choice.")] = "propensity",
    context: Annotated[list[str] | None, typer.Option(help="A column of what was known before; may repeat.")] = None,
    at_least: AtLeast = "at_least",
    at_most: AtMost = "at_most",
    costs: Direction = None,
    reference: Reference = 0.0,
    bounds: Annotated[str | None, typer.Option(help="LOW,HIGH: the outcomes that are possible, for proofs.")] = None,
    delta: Annotated[float, typer.Option(help="The chance that any of the intervals misses.")] = 0.1,
    report: Page = None,
) -> None:  # fmt: skip
    """What other policies would have been worth, by any preference, from a log with propensities.

    Examples:

    - `allais evaluate log.csv --target A28 --target logging --by p95 --by cvar:0.1 --costs`
    - `allais evaluate log.csv --policy policy.py:choose --context weather --by mean --bounds 0,120 --report page.html`
    """
    from allais.evidence import evaluate, read_decisions

    options.require_writable(report)
    targets: dict[str, Any] = {name: name for name in target or ()}
    targets |= {one: _function(one) for one in policy or ()}
    if not targets:
        raise ValueError("a target is what is evaluated; got none. Give --target ARM, or --policy FILE.py:NAME.")
    less = outcome.lower() in COSTLY_UNITS if costs is None else costs
    preferences = [preference_named(one, costs=less, reference=reference) for one in by or ["mean"]]
    decisions = read_decisions(
        log, arm=arm, outcome=outcome, propensity=propensity, context=context or (), at_least=at_least, at_most=at_most
    )
    found = evaluate(decisions, targets, preferences, delta=delta, bounds=_bounds(bounds))
    typer.echo(found)
    if costs is None:
        which = "Less" if less else "More"
        typer.echo(f"{which} is better here, since neither --costs nor --gains was given.")
    if report is not None:
        from allais.report import write_evaluation

        with options.writing(report, "page"):
            write_evaluation(found, report, name=log.name)


def _function(text: str) -> Any:
    """A function in a file."""
    path, _, name = text.rpartition(":")
    file = Path(path)
    if not (path and file.suffix == ".py" and file.exists()):
        raise ValueError(f"--policy is FILE.py:NAME, of a file that is there; got {text!r}. Check the path.")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"--policy is a file that Python can run; {file} raised {reason}. Repair it.") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise ValueError(f"--policy names a function of its file; {file} has no function {name!r}. Check the name.")
    return found


def _costs(given: bool | None, column: str, advice: str = "Add --less-is-better or --more-is-better") -> bool:
    """Whether less is better: a verdict with the wrong direction recommends the wrong group, so none is guessed."""
    if given is None and column.lower() not in COSTLY_UNITS:
        raise ValueError(
            f"a verdict needs to know whether less or more is better; the column {column!r} does not say it. {advice}."
        )
    return True if given is None else given


def _guard(text: str) -> Guard:
    """A guardrail: COLUMN:METRIC:MARGIN, with less or more at its end where the column does not say what is better."""
    from allais.evidence import Guard

    known, _, better = text.rpartition(":")
    less = {"less": True, "more": False}.get(better)
    column, _, rest = (text if less is None else known).partition(":")
    by, _, margin = rest.rpartition(":")
    if not (column and by and margin):
        raise ValueError(f"a guardrail is COLUMN:METRIC:MARGIN, such as ms:p99:5%; got {text!r}. Write it so.")
    less = _costs(less, column, f"Write {text}:less, or {text}:more")
    return Guard(column, by, margin, less, unit=column if column.lower() in UNITS else "")


def _bounds(text: str | None) -> tuple[float, float] | None:
    return None if text is None else options.two_numbers("--bounds", text, "0,60000")


def _shares(text: str | None) -> dict[Hashable, float] | str | None:
    if text is None or text == "any":
        return text
    found: dict[Hashable, float] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"--shares are written control=9,canary=1; got {text!r}. Write each group and its share.")
    return found
