"""`allais best-arm SPEC.toml`: the best option of an expensive simulator."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allais._system.extras import extra
from allais._system.processes import begin_worker, end_workers, guard
from allais.cli.options import Resume, Workers, counted, require_writable, sentences, terminations, writing
from allais.files import write_atomically
from allais.rewards import Bounded

if TYPE_CHECKING:
    from allais.cli.specs import SearchSpec
    from allais.problems import Problem
    from allais.simulation import BestArm

AT_A_LIMIT = 3  # the exit code where a limit came first; 0 where the policy stopped by itself
NONE = 4  # the exit code where every option breaks a guardrail
PATIENCE = 60.0  # seconds for a cluster to come back
ANSWER_WITHIN = 10.0  # seconds, for a cluster's scheduler
TRY_EVERY = 2.0  # seconds


def best_arm_command(
    spec: Annotated[Path, typer.Argument(help="The search, a TOML file: problem, preference, rewards, policy.")],
    workers: Workers = 1,
    cluster: Annotated[str | None, typer.Option(help="A Dask scheduler to run on, such as tcp://host:8786.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Predict runs and time from a few pilot runs.")] = False,
    pilot: Annotated[int, typer.Option(min=2, help="Pilot runs of each option, for --dry-run.")] = 10,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Stop after this many runs in all.")] = None,
    max_hours: Annotated[float | None, typer.Option(help="Stop after this many hours.")] = None,
    journal: Annotated[Path | None, typer.Option(help="Where runs are written; by default beside the spec.")] = None,
    resume: Resume = False,
    report: Annotated[Path | None, typer.Option(help="Write a one-page HTML report here.")] = None,
    patience: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for a cluster that cannot be reached; inf: forever.")
    ] = PATIENCE,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Runs that a worker gets at a time; by default what takes 0.2 s.")
    ] = None,
    common_random_numbers: Annotated[
        bool, typer.Option("--common-random-numbers", help="Give run r of every option the same seed.")
    ] = False,
    wider: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="Bounds to go on with if an outcome lies beyond the declared ones."),
    ] = None,
    finer: Annotated[
        int, typer.Option(min=0, help="How often a grid is made finer around its contenders, and searched again.")
    ] = 0,
) -> None:
    """Find the option that people will prefer, in as few runs as the confidence allows.

    Examples:

    - `allais best-arm examples/call_centre/call_centre.toml --workers 2 --report answer.html`
    - `allais best-arm SPEC.toml --dry-run`, to see what it will take
    - `allais best-arm examples/inventory/grid.toml --finer 1`: a grid of numbers, then a finer one where it matters
    - the same command again, after an interruption or to see the answer: finished runs are used again

    Exit code 0: the policy has stopped; 3: a limit came first; 4: no option keeps the guardrails; 2: refused before
    anything ran; 1: a run failed, or brought what the spec rules out; 130: interrupted; 129 and 143: ended by a signal.
    """
    from allais.cli.specs import read_search
    from allais.problems.base import require_rivals

    at_once, before = counted(workers), 0
    book = spec.with_suffix(".runs.jsonl") if journal is None else journal
    wanted = read_search(spec)
    if common_random_numbers:
        wanted = dataclasses.replace(wanted, common_random_numbers=True)
    require_rivals(wanted.problem.arms)
    if finer and not wanted.has_grid:
        raise ValueError(f"--finer is for a grid of numbers; {spec} has none. Write its options in [problem.grid].")
    pilots = spec.with_suffix(".pilot.json")
    if dry_run:
        require_writable(pilots)
    else:
        before = _already(book, resume)
        require_writable(book)
        require_writable(report)

    if wanted.why:
        typer.echo(f"note: {wanted.why}", err=True)
    settings: dict[str, Any] = {"max_runs": max_runs, "max_hours": max_hours, "patience": patience, "batch": batch}
    settings["wider"] = None if wider is None else Bounded(*wider)

    def once() -> int:
        from allais.cli.dry_run import kept, predict
        from allais.searches import finished_runs

        if dry_run:
            with _executor(wanted, at_once, cluster) as executor:
                typer.echo(predict(wanted, executor, pilot, pilots, book, patience))
            return 0
        now, path, runs, known = wanted, book, before, kept(pilots, wanted)
        if known:
            many = f"{len(known)} pilot runs are used again"
            typer.echo(f"note: {many}; delete {pilots} if the simulator changed.", err=True)
        for level in range(finer + 1):
            with _executor(now, at_once, cluster) as executor:
                answer = _search(now, executor, path, runs, known, settings)
            more = _refined(now, answer) if level < finer and answer.settled and answer.arm is not None else None
            if more is None:
                break
            coarse, path = path, book.with_name(f"{book.stem}.finer-{level + 1}{book.suffix}")
            if not path.exists():  # it begins with the runs of the coarser grid
                write_atomically(path, coarse.read_bytes())
            now, runs, known = more, finished_runs(path), {}
        return _ended(answer, now, report)

    with sentences(lambda: "" if dry_run else _kept(book)), terminations():
        code = once() if cluster is None else _patiently(once, cluster, patience)
    raise typer.Exit(code)


def _kept(book: Path) -> str:
    """What is kept of a search that was interrupted."""
    from allais.searches import finished_runs

    runs = finished_runs(book)
    return f"{_finished(runs)} kept in {book}: continue with --resume." if runs else ""


def _finished(runs: int) -> str:
    return "1 finished run is" if runs == 1 else f"{runs:,} finished runs are"


def _already(book: Path, resume: bool) -> int:
    """How many finished runs there are to continue from; without `resume`, a note says so."""
    from allais.searches import finished_runs

    if resume and not (book.exists() and book.stat().st_size > 0):
        raise ValueError(f"there is nothing to resume: the journal {book} does not exist. Leave --resume out.")
    runs = finished_runs(book)
    if runs and not resume:
        after = f"delete {book} to start anew, as after a change of the simulator"
        typer.echo(f"note: {_finished(runs)} used again; {after}.", err=True)
    return runs


def _search(
    spec: SearchSpec, executor: Executor, book: Path, before: int, known: dict[Any, float], settings: dict[str, Any]
) -> BestArm:
    """Search, and say what was found; `known` are pilot runs."""
    from allais.cli.dry_run import Piloted
    from allais.report import LiveView
    from allais.report.words import contrast, recommendation
    from allais.searches import finished_runs, search
    from allais.searches.runs import FailureLog

    with writing(book), LiveView(unit=spec.unit) if sys.stderr.isatty() else nullcontext() as view:
        answer = search(
            spec.policy,
            Piloted(spec.problem, known) if known else spec.problem,
            seed=spec.seed,
            executor=executor,
            journal=book,
            failures=spec.failures,
            common_random_numbers=spec.common_random_numbers,
            watch=view,
            **settings,
        )
    typer.echo(recommendation(answer, spec.unit))
    if why := contrast(answer, spec.unit):
        typer.echo(why)
    typer.echo(_effort(answer))
    if answer.failures:
        typer.echo(f"{len(answer.failures)} runs failed; the first: {answer.failures[0].reason}")
        typer.echo(f"More about failed runs is in {FailureLog(book).path}.")
    if answer.settled and before and finished_runs(book) == before:
        typer.echo(f"The search had settled before, so nothing was run; delete {book} to start anew.")
    if not answer.settled:
        typer.echo(f"Finished runs are in {book}: continue with --resume.")
    return answer


def _refined(spec: SearchSpec, answer: BestArm) -> SearchSpec | None:
    """The search among more options, around the contenders; None where there is nothing in between."""
    from allais.problems import Program, Simulator
    from allais.searches import contenders, finer

    problem, options, many = spec.problem, finer(answer), len(contenders(answer))
    added = len(options) - problem.n_arms
    if not added:
        typer.echo("The grid cannot be made finer: there is no number between the contenders and their neighbours.")
        return None
    typer.echo(f"{added:,} options more lie around the {many:,} that may be the best; the search goes on with them.")
    if isinstance(problem, Program):
        more: Problem = Program(problem.command, options, problem.field, problem.time_limit, problem.folder)
    else:
        assert isinstance(problem, Simulator)
        more = Simulator(problem.f, options)
    return dataclasses.replace(spec, problem=more)


def _ended(answer: BestArm, spec: SearchSpec, report: Path | None) -> int:
    """Write the report, and return the exit code."""
    from allais.report import write_page

    if report is not None:
        with writing(report, "report"):
            write_page(answer, report, name=spec.name, unit=spec.unit)
    if answer.settled and answer.arm is None:
        return NONE
    return 0 if answer.settled else AT_A_LIMIT


def _effort(answer: BestArm) -> str:
    """How many runs it took."""
    from allais.report.markup import quoted

    text = f"{answer.samples:,} runs were used"
    if answer.arm is not None:
        text += f", {answer.pulls[answer.arm]:,} of them of {quoted(answer.arm)}"
    left_out = sum(answer.excluded.values())
    return f"{text}, and {left_out:,} were left out." if left_out else f"{text}."


@contextmanager
def _executor(spec: SearchSpec, workers: int, cluster: str | None) -> Iterator[Executor]:
    """Threads for a program, which waits; processes for Python, which works; or a cluster."""
    from allais.problems import Program

    if cluster is not None:
        with _client(cluster) as client:
            yield client.get_executor()
        return
    # runs that are out at the end are not needed any more, and may take long: they are ended, not awaited
    if isinstance(spec.problem, Program):
        threads = ThreadPoolExecutor(workers)
        try:
            yield threads
        finally:
            spec.problem.close()
            threads.shutdown(wait=True, cancel_futures=True)
    else:
        processes = ProcessPoolExecutor(workers, initializer=begin_worker, initargs=(os.getpid(), guard().mark()))
        try:
            yield processes
        finally:
            end_workers(processes)


def _patiently(once: Callable[[], int], address: str, patience: float) -> int:
    """Search on a cluster; a connection that was given up is made again, and the journal is continued."""
    from allais.searches.pool import ClusterLost

    while True:
        try:
            return once()
        except ClusterLost as lost:
            while True:
                if time.monotonic() - lost.since >= patience:
                    raise
                time.sleep(TRY_EVERY)
                try:
                    with _client(address):
                        typer.echo(f"note: the cluster at {address} is back; the search goes on.", err=True)
                        break
                except ValueError:
                    continue


@contextmanager
def _client(address: str) -> Iterator[Any]:
    with extra("cluster", "a cluster"):
        from distributed import Client
    for name in ("distributed", "distributed.client"):  # what matters is said in a sentence
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"the scheduler at {address} does not answer ({reason}). Start it, or check the address."
        ) from None
    with client:
        if not client.nthreads():
            raise ValueError(f"the cluster at {address} has no workers. Start some: dask worker {address}.")
        yield client
