"""`allais paper`: every table and figure of the paper, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from allais._system.extras import extra
from allais.cli.options import (
    FAILED,
    Commands,
    Scale,
    Seed,
    Workers,
    counted,
    made,
    nearest,
    require_scale,
    require_workers,
    require_writable,
    sentences,
    stop,
    writing,
)
from allais.cli.options import console as make_console

if TYPE_CHECKING:
    from allais.paper.findings import Experiment


import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.live import Live

from allais.paper.costs import Expected, Forecast, in_words
from allais.paper.findings import CORRECTED, DIFFERS, HOLDS, TYPING, Experiment
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
    check: Annotated[bool, typer.Option("--check", help="Fail if a finding is not as known.")] = False,
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
    wanted = [_named(name, list(BY_NAME)) for name in names] if names else list(BY_NAME)
    chosen = [experiment for experiment in EXPERIMENTS if experiment.name in wanted]
    require_workers(workers)
    require_writable(made(folder / "results") / "any.json")
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
    with writing(folder):
        path, results = write_report(folder, scale, seed)
    console.print(Text(f"The report is in {path}"), soft_wrap=True)
    for sentence in found(results):
        console.print(Text(sentence), soft_wrap=True)
    strange = sum(not one.as_expected for stored in results for one in stored.result.findings)
    if check and strange:
        stop(f"{DIFFERENT.format(strange)} See: allais paper check --scale {scale} --seed {seed} --out {out}", FAILED)


DIFFERENT = "what is known about a finding must come out again; it did not for {}."


def _run(todo: list[Experiment], scale: str, seed: int, folder: Path, workers: int, console: Console) -> None:
    """Run what is not up to date, with one line that says how far it is."""
    with extra("plot", "a report with figures"):
        import matplotlib  # noqa: F401
    from allais.paper.costs import Memory
    from allais.paper.report import write_report
    from allais.paper.runner import run_experiments

    at_once, memory = min(counted(workers), len(todo)), Memory()
    expected = memory.expected(todo, scale)
    # side by side the longest first, so that no core waits for the last one; alone the shortest, so that most are done
    todo = sorted(todo, key=lambda one: expected.seconds[one.name] * (1 if at_once == 1 else -1))
    finished: list[str] = []

    def kept() -> str:
        if not finished:
            return "Nothing was finished."
        write_report(folder, scale, seed)
        return f"Finished experiments are in {folder}: the same command goes on from there."

    with sentences(kept), Progress(todo, scale, expected, at_once, console) as progress, writing(folder):
        for stored in run_experiments(todo, scale, seed, folder, at_once, watch=progress.watch):
            finished.append(stored.name)
            memory.remember(stored.name, scale, stored.seconds)
            progress.finished(stored)


@app.command("check")
def check_command(scale: Scale = "quick", seed: Seed = 1, out: Out = DEFAULT) -> None:
    """Compare every finding with what is known about it: it holds, holds once corrected, or is a typing error.

    Examples: `allais paper check`, `allais paper check --scale full --out report`

    Exit code 0: all as known; 1: some finding differs; 2: an experiment has not been run.
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
            mark = "as known" if finding.as_expected else "DIFFERS"
            cells = (experiment.name, finding.claim, finding.measured, finding.status, mark)
            table.add_row(*map(Text, cells))
    console.print(table, highlight=False)
    if strange:
        stop(f"{DIFFERENT.format(strange)} See the table.", FAILED)
    console.print("Every finding is as known.")


def _folder(out: Path, scale: str, seed: int) -> Path:
    """Where the results of one scale and seed are."""
    require_scale(scale)
    return out / f"{scale}-{seed}"


def _named(name: str, known: list[str]) -> str:
    if name in known:
        return name
    raise ValueError(f"an experiment must be one that exists; got {name!r}.{nearest(name, known)}")


BAR = 24  # characters
KINDS = {HOLDS: "hold", CORRECTED: "hold once corrected", TYPING: "typing error", DIFFERS: "NOT AS KNOWN"}


class Progress:
    """One line on a terminal; elsewhere only what is finished, with the time that is left."""

    def __init__(
        self,
        experiments: Sequence[Experiment],
        scale: str,
        expected: Expected,
        workers: int,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._console, self._lock = clock, console, threading.Lock()
        self._all = len(experiments)
        costs = {one.name: expected.seconds[one.name] for one in experiments}
        self._forecast = Forecast(costs, workers, clock())
        whole = in_words(self._forecast.left(clock()))
        share = expected.compiling / max(sum(costs.values()), 1e-9)
        compiling = f", {share:.0%} of it compiling, which is done once" if share >= 0.1 else ""
        each = "1 experiment" if self._all == 1 else f"{self._all} experiments"
        side = f", {workers} at a time" if workers > 1 else ""
        console.print(f"{each} at {scale} scale{side}: about {whole} here{compiling}.", highlight=False)
        self._live = Live(get_renderable=self.line, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def watch(self, name: str, share: float) -> None:
        """An experiment has come so far."""
        with self._lock:  # the line is drawn by another thread
            self._forecast.tell(name, share, self._clock())

    def finished(self, stored: Stored) -> None:
        """Say what an experiment found."""
        self.watch(stored.name, 1.0)
        words = Text(f"{stored.name} ({stored.seconds:.1f} s): {tally(stored)}")
        if not self._console.is_terminal and len(self._forecast.done) < self._all:
            with self._lock:
                words.append(f"; about {in_words(self._forecast.left(self._clock()))} left")
        self._console.print(words)

    def line(self) -> Text:
        """How far everything is."""
        with self._lock:
            now = self._clock()
            share, left = self._forecast.share(now), self._forecast.left(now)
            done, under_way = len(self._forecast.done), self._forecast.under_way
        filled = round(BAR * share)
        bar = "█" * filled + "░" * (BAR - filled)
        now_doing = f"now {', '.join(under_way)}" if under_way else "starting" if not done else "ending"
        words = f"{bar} about {in_words(left)} left; {done} of {self._all} done; {now_doing}"
        return Text(words, no_wrap=True, overflow="ellipsis")


def tally(stored: Stored) -> str:
    """How many findings there are of each kind."""
    kinds = Counter(finding.kind for finding in stored.result.findings)
    said = [f"{kinds[kind]} {words}" for kind, words in KINDS.items() if kinds[kind]]
    return ", ".join(f"{one}s" if one.endswith("error") and not one.startswith("1 ") else one for one in said)
