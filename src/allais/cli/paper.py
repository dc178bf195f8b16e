"""`allais paper`: every table and figure of the paper, run again."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from allais._checks import nearest
from allais._system.extras import extra
from allais.cli import options
from allais.cli.options import Commands, Scale, Seed, Workers
from allais.cli.options import console as make_console

if TYPE_CHECKING:
    from allais.paper.experiments import Experiment
    from allais.paper.runner import Stored

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
    again: Annotated[bool, typer.Option("--again", help="Run also what is up to date.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Fail if a finding is not as expected.")] = False,
) -> None:
    """Run experiments, and write one page about all results of this scale and seed.

    A result that is up to date (the same program, scale and seed) is used as it is; so after an interruption the same
    command goes on.

    Examples:

    - `allais paper run`
    - `allais paper run regret confidence --scale full`

    Exit code 0; 2: refused before anything ran; 1: an experiment failed, or a finding did with --check; 130:
    interrupted. Finished experiments are kept in any case. `allais paper list` names them.
    """
    from allais.paper.experiments import BY_NAME, EXPERIMENTS
    from allais.paper.page_words import found
    from allais.paper.report import write_report
    from allais.paper.runner import kept

    console = make_console()
    folder = _folder(out, scale, seed)
    for name in names or ():
        if name not in BY_NAME:
            raise ValueError(f"there is no experiment {name!r}.{nearest(name, BY_NAME)}")
    chosen = [experiment for experiment in EXPERIMENTS if not names or experiment.name in names]
    options.require_workers(workers)
    options.require_writable(options.made(folder / "results") / "any.json")
    old = {one.name for one in chosen if not again and kept(folder, one.name, scale, seed) is not None}
    for experiment in list(chosen):
        sentence = None if experiment.name in old else experiment.missing()
        if sentence is not None and names:
            raise ValueError(f"{experiment.name}: {sentence}")
        if sentence is not None:
            console.print(Text(f"- {experiment.name} is left out: {sentence}"))
            chosen.remove(experiment)
    todo = [experiment for experiment in chosen if experiment.name not in old]
    if old:
        which = "All" if not todo else f"{len(old)} of {len(chosen)}"
        console.print(f"{which} results are up to date (the same program, scale and seed) and are used as they are.")
    if todo:
        _run(todo, scale, seed, folder, workers, console)
    with options.writing(folder):
        path, results = write_report(folder, scale, seed)
    console.print(Text(f"The report is in {path}"), soft_wrap=True)
    for sentence in found(results):
        console.print(Text(sentence), soft_wrap=True)
    strange = sum(not one.as_expected for stored in results for one in stored.result.findings)
    if check:
        _require_expected(strange, f"See: allais paper check --scale {scale} --seed {seed} --out {out}")


def _require_expected(strange: int, where: str) -> None:
    if strange:
        options.stop(
            f"every finding must be as expected; {strange} {'is' if strange == 1 else 'are'} not. {where}",
            options.FAILED,
        )


def _run(todo: list[Experiment], scale: str, seed: int, folder: Path, workers: int, console: Console) -> None:
    """Run what is not up to date, with one line that says how far it is."""
    with extra("plot", "a report with figures"):
        import matplotlib  # noqa: F401
    from allais.paper.report import write_report
    from allais.paper.runner import run_experiments

    at_once = min(options.counted(workers), len(todo))
    # side by side the longest first, so that no core waits for the last one; alone the shortest, so that most are done
    todo = sorted(todo, key=lambda one: one.seconds[scale] * (1 if at_once == 1 else -1))
    finished: list[str] = []

    def kept() -> str:
        if not finished:
            return "Nothing was finished."
        write_report(folder, scale, seed)
        return f"Finished experiments are in {folder}: the same command goes on from there."

    with options.sentences(kept), Progress(todo, scale, at_once, console) as progress, options.writing(folder):
        for stored in run_experiments(todo, scale, seed, folder, at_once, watch=progress.watch):
            finished.append(stored.name)
            progress.finished(stored)


@app.command("check")
def check_command(scale: Scale = "quick", seed: Seed = 1, out: Out = DEFAULT) -> None:
    """Compare every finding with what is expected of it: that it holds, holds once corrected, or is a misprint.

    Examples: `allais paper check`, `allais paper check --scale full --out report`

    Exit code 0: all findings are as expected; 1: some are not; 2: an experiment has not been run.
    """
    from allais.paper.experiments import EXPERIMENTS
    from allais.paper.runner import kept

    console = make_console()
    strange = 0
    folder = _folder(out, scale, seed)
    table = Table(box=None)
    for heading in ("experiment", "finding", "measured", "status", ""):
        table.add_column(heading, overflow="fold")
    for experiment in EXPERIMENTS:
        stored = kept(folder, experiment.name, scale, seed)
        missing = None if stored is not None else experiment.missing()
        if missing is not None:
            console.print(Text(f"- {experiment.name} is left out: {missing}"))
            continue
        if stored is None:
            raise ValueError(
                f"a check needs an up-to-date result of every experiment; {folder} has none of {experiment.name}. "
                f"Run: allais paper run --scale {scale} --seed {seed} --out {out}"
            )
        for finding in stored.result.findings:
            strange += not finding.as_expected
            mark = "as expected" if finding.as_expected else "DIFFERS"
            cells = (experiment.name, finding.claim, finding.measured, finding.status, mark)
            table.add_row(*map(Text, cells))
    console.print(table, highlight=False)
    _require_expected(strange, "See the table.")
    console.print("Every finding is as expected.")


def _folder(out: Path, scale: str, seed: int) -> Path:
    """Where the results of one scale and seed are."""
    options.require_scale(scale)
    return out / f"{scale}-{seed}"


class Progress:
    """A bar with the time left on a terminal; elsewhere a line for each finished experiment."""

    def __init__(
        self,
        experiments: Sequence[Experiment],
        scale: str,
        workers: int,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._console = console
        self._costs = {one.name: one.seconds[scale] for one in experiments}
        self._shares: dict[str, float] = {}  # how far each experiment that has started is
        each = "1 experiment" if len(experiments) == 1 else f"{len(experiments)} experiments"
        console.print(f"{each} at {scale} scale" + (f", {workers} at a time." if workers > 1 else "."), highlight=False)
        # progress is in steps of seconds, so that the pace is that of the whole run, not of the last moments
        self._bar = Bar(
            BarColumn(24), TimeRemainingColumn(), TextColumn("{task.description}", markup=False), console=console,
            get_time=clock, speed_estimate_period=math.inf, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("starting", total=sum(self._costs.values()))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    @property
    def left(self) -> float | None:
        """Seconds until all is done, at the pace so far; None at the start."""
        return self._bar.tasks[0].time_remaining

    @property
    def words(self) -> str:
        """What is done, and what is under way."""
        return self._bar.tasks[0].description

    def watch(self, name: str, share: float) -> None:
        """An experiment has started (0), has come this far, or is done (1)."""
        self._shares[name] = share
        under_way = [one for one, so_far in self._shares.items() if so_far < 1.0]
        words = f"left; {len(self._shares) - len(under_way)} of {len(self._costs)} done"
        words += f"; now {', '.join(under_way)}" if under_way else ""
        done = sum(so_far * self._costs[one] for one, so_far in self._shares.items())
        self._bar.update(self._task, completed=done, description=words)

    def finished(self, stored: Stored) -> None:
        """Say what an experiment found."""
        from allais.report.markup import duration

        self.watch(stored.name, 1.0)
        words = f"{stored.name} ({stored.seconds:.1f} s): {tally(stored)}"
        if not self._console.is_terminal and self.left:
            words += f"; about {duration(self.left)} left"
        self._console.print(Text(words))


def tally(stored: Stored) -> str:
    """How many findings there are of each kind."""
    from allais.paper.experiments import CORRECTED, DIFFERS, HOLDS, MISPRINT

    words = {HOLDS: "hold", CORRECTED: "hold once corrected", MISPRINT: "misprints", DIFFERS: "NOT AS EXPECTED"}
    kinds = Counter(finding.kind for finding in stored.result.findings)
    said = ", ".join(f"{kinds[kind]} {word}" for kind, word in words.items() if kinds[kind])
    return said.replace("1 misprints", "1 misprint") if kinds[MISPRINT] == 1 else said
