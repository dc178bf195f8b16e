"""`allais paper`: every table and figure of the paper, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from allais._system.extras import extra
from allais.cli.console import console as make_console
from allais.cli.exits import FAILED, Commands, sentences, stop, writing
from allais.cli.options import Resume, Scale, Seed, Workers, counted, require_scale
from allais.cli.writable import made, require_writable

if TYPE_CHECKING:
    from allais.paper.store import Stored

app = typer.Typer(
    cls=Commands, help="The paper's experiments: run, compare with what is printed, check.", no_args_is_help=True
)

DEFAULT = Path("allais-paper")
Out = Annotated[Path, typer.Option(help="The folder of results and reports; each scale and seed has its own in it.")]


@app.command("list")
def list_command() -> None:
    """The experiments, and where they stand in the paper."""
    from allais.paper.experiments import EXPERIMENTS

    table = Table(box=None)
    for heading in ("name", "what", "in the paper"):
        table.add_column(heading)
    for experiment in EXPERIMENTS:
        table.add_row(*map(Text, (experiment.name, experiment.title, experiment.where)))
    make_console().print(table)


@app.command("run")
def run_command(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; all if none is named.")] = None,
    scale: Scale = "quick",
    workers: Workers = -1,
    seed: Seed = 1,
    out: Out = DEFAULT,
    resume: Resume = False,
) -> None:
    """Run experiments, and write one page about all results of this scale and seed.

    Examples:

    - `allais paper run`
    - `allais paper run regret confidence --scale full`
    - `allais paper run --resume`, after an interruption

    Exit code 0; 2: refused before anything ran; 1: an experiment failed; 130: interrupted. Finished experiments are
    kept in any case. `allais paper list` names them.
    """
    from allais.paper.experiments import BY_NAME, EXPERIMENTS
    from allais.paper.report import write_report
    from allais.paper.runner import run_experiments

    console = make_console()
    folder = _folder(out, scale, seed)
    wanted = [_named(name, list(BY_NAME)) for name in names] if names else list(BY_NAME)
    chosen = [experiment for experiment in EXPERIMENTS if experiment.name in wanted]
    for experiment in list(chosen):
        sentence = experiment.missing()
        if sentence is not None and names:
            raise ValueError(f"{experiment.name}: {sentence}")
        if sentence is not None:
            console.print(Text(f"- {experiment.name} is left out: {sentence}"))
            chosen.remove(experiment)
    at_once = min(counted(workers), len(chosen))
    require_writable(made(folder / "results") / "any.json")
    with extra("plot", "a report with figures"):
        import matplotlib  # noqa: F401
    bars = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(), console=console, transient=True,
    )  # fmt: skip
    results: list[Stored] = []

    def kept() -> str:
        if not results:
            return "Nothing was finished."
        write_report(folder, scale, seed)
        return f"Finished experiments are in {folder}: continue with --resume."

    with sentences(kept), bars, writing(folder):
        effort = sum(experiment.seconds for experiment in chosen)
        whole = bars.add_task("everything", total=effort)
        tasks = {one.name: bars.add_task(one.name, total=1.0, start=False) for one in chosen}
        shares = dict.fromkeys(tasks, 0.0)

        def watch(name: str, share: float) -> None:
            if not bars.tasks[tasks[name]].started:
                bars.start_task(tasks[name])
            shares[name] = share
            bars.update(tasks[name], completed=share)
            bars.update(whole, completed=sum(BY_NAME[one].seconds * part for one, part in shares.items()))

        for stored in run_experiments(chosen, scale, seed, folder, at_once, resume=resume, watch=watch):
            results.append(stored)
            bars.update(tasks[stored.name], visible=False)
            watch(stored.name, 1.0)
            console.print(_line(stored))
    with writing(folder):
        path = write_report(folder, scale, seed)
    console.print(Text(f"The report is in {path}"), soft_wrap=True)


@app.command("check")
def check_command(scale: Scale = "quick", seed: Seed = 1, out: Out = DEFAULT) -> None:
    """Compare every finding with what is known about it: it holds, or an erratum refutes it.

    Examples: `allais paper check`, `allais paper check --scale full --out report`

    Exit code 0: all as known; 1: some finding differs; 2: an experiment has not been run.
    """
    from allais.paper.experiments import EXPERIMENTS
    from allais.paper.store import kept

    console = make_console()
    strange = 0
    folder = _folder(out, scale, seed)
    table = Table(box=None)
    for heading in ("", "experiment", "finding", "measured", "status"):
        table.add_column(heading, overflow="fold")
    for experiment in EXPERIMENTS:
        stored = kept(folder, experiment.name, scale, seed)
        if stored is None and experiment.missing() is not None:
            console.print(Text(f"- {experiment.name} is left out: {experiment.missing()}"))
            continue
        if stored is None:
            raise ValueError(
                f"a check needs the results of every experiment; {folder} has none of {experiment.name}. "
                f"Run: allais paper run --resume --scale {scale} --seed {seed} --out {out}"
            )
        for finding in stored.result.findings:
            strange += not finding.as_expected
            mark = "ok" if finding.as_expected else "DIFFERS"
            cells = (mark, experiment.name, finding.claim, finding.measured, finding.status)
            table.add_row(*map(Text, cells))
    console.print(table, highlight=False)
    if strange:
        stop(f"what is known about a finding must come out again; it did not for {strange}. See the table.", FAILED)
    console.print("Every finding is as known.")


def _folder(out: Path, scale: str, seed: int) -> Path:
    """Where the results of one scale and seed are."""
    require_scale(scale)
    return out / f"{scale}-{seed}"


def _line(stored: Stored) -> Text:
    findings = stored.result.findings
    strange = [finding for finding in findings if not finding.as_expected]
    holding = sum(finding.holds for finding in findings)
    mark = ("x", "red") if strange else ("ok", "green")
    shown = (strange or findings)[0]
    refuted = len(findings) - holding
    counted = f"{holding} hold" + (f", {refuted} do not" if refuted else "")
    found = f" ({stored.seconds:.1f} s; {counted}): {shown.claim}: {shown.measured}"
    return Text.assemble(mark, " ", (stored.name, "bold"), found)


def _named(name: str, known: list[str]) -> str:
    if name in known:
        return name
    from allais.cli.shorthand import nearest

    raise ValueError(f"an experiment must be one that exists; got {name!r}.{nearest(name, known)}")
