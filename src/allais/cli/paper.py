"""`allais paper`: every table and figure of the paper, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from allais.cli.console import console as make_console
from allais.cli.exits import FAILED, INTERRUPTED, refusals, stop

app = typer.Typer(help="The paper's experiments: run, compare with what is printed, check.", no_args_is_help=True)

DEFAULT = Path("allais-paper")
Out = Annotated[Path, typer.Option(help="The folder of the results and of the report.")]


@app.command("list")
def list_command() -> None:
    """The experiments, and where they stand in the paper."""
    from allais.paper.experiments import EXPERIMENTS

    table = Table(box=None)
    for heading in ("name", "what", "in the paper"):
        table.add_column(heading)
    for experiment in EXPERIMENTS:
        table.add_row(experiment.name, experiment.title, experiment.where)
    make_console().print(table)


@app.command("run")
def run_command(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; all if none is named.")] = None,
    scale: Annotated[str, typer.Option(help="quick (minutes) or full (about an hour).")] = "quick",
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one a core. The numbers do not depend on it.")] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same report.")] = 1,
    out: Out = DEFAULT,
    resume: Annotated[bool, typer.Option("--resume", help="Keep what is there of this scale and seed.")] = False,
) -> None:
    """Run experiments, and write one page about all results of this scale and seed.

    Examples:

    - `allais paper run`
    - `allais paper run regret confidence --scale full`
    - `allais paper run --resume`, after an interruption

    Exit code 0, or 2: refused before anything ran; 130: interrupted, finished experiments are kept.
    """
    from allais.paper.experiment import SCALES
    from allais.paper.experiments import BY_NAME, EXPERIMENTS
    from allais.paper.report import write_report
    from allais.paper.runner import run_experiments
    from allais.paper.store import Stored, require_folder
    from allais.simulation.runs import workers

    console = make_console()
    with refusals():
        if scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}. Choose one.")
        wanted = [_named(name, list(BY_NAME)) for name in names] if names else list(BY_NAME)
        chosen = [experiment for experiment in EXPERIMENTS if experiment.name in wanted]
        for experiment in list(chosen):
            sentence = experiment.missing()
            if sentence is not None and names:
                raise ValueError(f"{experiment.name}: {sentence}")
            if sentence is not None:
                console.print(f"- {experiment.name} is left out: {sentence}")
                chosen.remove(experiment)
        processes = min(workers(jobs), len(chosen))
        require_folder(out)
        bars = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"),
            TimeRemainingColumn(), console=console, transient=True,
        )  # fmt: skip
        results: list[Stored] = []
        try:
            with bars:
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

                for stored in run_experiments(chosen, scale, seed, out, processes, resume=resume, watch=watch):
                    results.append(stored)
                    bars.update(tasks[stored.name], visible=False)
                    watch(stored.name, 1.0)
                    console.print(_line(stored), highlight=False)
        except KeyboardInterrupt:
            if results:
                write_report(out, scale, seed)
            stop(f"interrupted; finished experiments are in {out}: continue with --resume.", INTERRUPTED)
        path = write_report(out, scale, seed)
    console.print(f"The report is in {path}", highlight=False, soft_wrap=True)


@app.command("check")
def check_command(out: Out = DEFAULT) -> None:
    """Compare every finding with what is known of it: holds, or refuted by an erratum.

    Exit code 0: all as known; 1: some finding differs; 2: an experiment has not been run.
    """
    from allais.paper.experiments import EXPERIMENTS
    from allais.paper.store import kept

    console = make_console()
    strange = 0
    with refusals():
        table = Table(box=None)
        for heading in ("", "experiment", "finding", "measured", "status"):
            table.add_column(heading, overflow="fold")
        for experiment in EXPERIMENTS:
            if experiment.missing() is not None:
                continue
            stored = kept(out, experiment.name)
            if stored is None:
                raise ValueError(
                    f"a check needs the results of every experiment; {out} has none of {experiment.name}. "
                    f"Run: allais paper run --resume --out {out}"
                )
            for finding in stored.outcome.findings:
                strange += not finding.as_expected
                mark = "ok" if finding.as_expected else "DIFFERS"
                table.add_row(mark, experiment.name, finding.claim, finding.measured, finding.status)
    console.print(table, highlight=False)
    if strange:
        stop(f"{strange} findings differ from what is known of them.", FAILED)
    console.print("Every finding is as known.")


def _line(stored: object) -> str:
    from allais.paper.store import Stored

    assert isinstance(stored, Stored)
    findings = stored.outcome.findings
    strange = [finding for finding in findings if not finding.as_expected]
    holding = sum(finding.holds for finding in findings)
    mark = "[red]x[/]" if strange else "[green]ok[/]"
    shown = (strange or findings)[0]
    refuted = len(findings) - holding
    counted = f"{holding} hold" + (f", {refuted} refuted" if refuted else "")
    return f"{mark} [b]{stored.name}[/] ({stored.seconds:.1f} s; {counted}): {shown.claim}: {shown.measured}"


def _named(name: str, known: list[str]) -> str:
    if name in known:
        return name
    from allais.cli.words import nearest

    raise ValueError(f"an experiment must be one that exists; got {name!r}.{nearest(name, known)}")
