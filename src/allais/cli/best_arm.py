"""`allais best-arm SPEC.toml`: the best option of an expensive simulator."""

from __future__ import annotations

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

from allais._system.processes import begin_worker, end_workers, guard
from allais.cli.exits import FAILED, INTERRUPTED, WRONG, Terminated, stop, terminations, writing
from allais.cli.places import require_writable
from allais.errors import RunFailed

if TYPE_CHECKING:
    from allais.cli.spec import Experiment

UNSETTLED = 3  # the exit code where a limit came first; 0 if the search settled
PATIENCE = 60.0  # seconds for a cluster to come back
ANSWER_WITHIN = 10.0  # seconds, for a cluster's scheduler
TRY_EVERY = 2.0  # seconds


def best_arm_command(
    spec: Annotated[Path, typer.Argument(help="The experiment, a TOML file: problem, preference, rewards, policy.")],
    workers: Annotated[int, typer.Option(min=1, help="Runs at the same time on this machine.")] = 1,
    cluster: Annotated[str | None, typer.Option(help="A Dask scheduler to run on, such as tcp://host:8786.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Predict runs and time from a few pilot runs.")] = False,
    pilot: Annotated[int, typer.Option(min=2, help="Pilot runs of each option, for --dry-run.")] = 10,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Stop after this many runs in all.")] = None,
    max_hours: Annotated[float | None, typer.Option(help="Stop after this many hours.")] = None,
    journal: Annotated[Path | None, typer.Option(help="Where runs are written; by default beside the spec.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the journal.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a one-page HTML report here.")] = None,
    patience: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for a cluster that cannot be reached; inf: for ever.")
    ] = PATIENCE,
) -> None:
    """Find the option that people will prefer, in as few runs as the confidence allows.

    Examples:

    - `allais best-arm examples/inventory/inventory.toml --workers 2 --report answer.html`
    - `allais best-arm SPEC.toml --dry-run`, to see what it will take
    - `allais best-arm SPEC.toml --resume`, after an interruption

    Exit code 0: settled; 3: stopped at a limit; 2: refused before anything ran; 1: a run failed, or brought what the
    spec rules out; 130: interrupted; 129 and 143: ended by a signal.
    """
    from allais.cli.spec import read_spec
    from allais.problems.base import require_rivals

    book = spec.with_suffix(".runs.jsonl") if journal is None else journal
    try:
        experiment = read_spec(spec)
        require_rivals(experiment.problem.arms)
        pilots = spec.with_suffix(".pilot.json")
        if dry_run:
            require_writable(pilots)
        else:
            _require_intended(book, resume)
            require_writable(book)
            if report is not None:
                require_writable(report)

        def once() -> bool:
            with _executor(experiment, workers, cluster) as executor:
                if not dry_run:
                    return _search(experiment, executor, book, pilots, max_runs, max_hours, patience, report)
                from allais.cli.dry_run import predict

                _say(predict(experiment, executor, pilot, pilots, book, patience))
                return True

        with terminations():
            settled = once() if cluster is None else _patiently(once, cluster, patience)
    except RunFailed as error:
        stop(f"{error}" if dry_run else f"{error}{_kept(book)}", FAILED)
    except ValueError as error:
        stop(str(error), WRONG)
    except KeyboardInterrupt as error:
        said = f"ended by {error}." if isinstance(error, Terminated) else "interrupted."
        stop(said if dry_run else f"{said}{_kept(book)}", getattr(error, "code", INTERRUPTED))
    raise typer.Exit(0 if settled else UNSETTLED)


def _kept(book: Path) -> str:
    """What a search leaves behind, if it does."""
    from allais.searches import finished_runs

    runs = finished_runs(book)
    many = "1 finished run is" if runs == 1 else f"{runs:,} finished runs are"
    return f" {many} kept in {book}: continue with --resume." if runs else ""


def _require_intended(book: Path, resume: bool) -> None:
    from allais.searches import finished_runs

    if not resume and finished_runs(book):
        raise ValueError(f"a journal is continued on request only; {book} exists. Add --resume, or move it away.")
    if resume and not (book.exists() and book.stat().st_size > 0):
        raise ValueError(f"only a journal that exists can be resumed; {book} does not. Leave --resume out.")


def _search(
    experiment: Experiment,
    executor: Executor,
    book: Path,
    pilots: Path,
    max_runs: int | None,
    max_hours: float | None,
    patience: float,
    report: Path | None,
) -> bool:
    from allais.cli.pilot import Piloted, kept
    from allais.report import LiveView, write_page
    from allais.report.words import contrast, recommendation
    from allais.searches import search
    from allais.searches.log import FailureLog

    known = kept(pilots, experiment)
    if known:
        typer.echo(f"note: {len(known)} pilot runs are used again; delete {pilots} if the simulator changed.", err=True)
    with writing(book), LiveView() if sys.stderr.isatty() else nullcontext() as view:
        answer = search(
            experiment.policy,
            Piloted(experiment.problem, known) if known else experiment.problem,
            seed=experiment.seed,
            max_runs=max_runs,
            executor=executor,
            journal=book,
            failures=experiment.failures,
            max_hours=max_hours,
            patience=patience,
            watch=view,
        )
    _say(recommendation(answer))
    if answer.samples:
        _say(contrast(answer))
    if answer.failures:
        _say(f"{len(answer.failures)} runs failed; the first: {answer.failures[0].reason}")
        _say(f"More on failed runs is in {FailureLog(book).path}.")
    if not answer.settled:
        _say(f"Finished runs are in {book}: continue with --resume.")
    if report is not None:
        with writing(report):
            write_page(answer, report)
        _say(f"The report is in {report}.")
    return answer.settled


@contextmanager
def _executor(experiment: Experiment, workers: int, cluster: str | None) -> Iterator[Executor]:
    """Threads for a program, which waits; processes for Python, which works; or a cluster."""
    from allais.problems import Program

    if cluster is not None:
        with _client(cluster) as client:
            yield client.get_executor()
        return
    # runs that are out at the end are not needed any more, and may take long: they are ended, not awaited
    if isinstance(experiment.problem, Program):
        threads = ThreadPoolExecutor(workers)
        try:
            yield threads
        finally:
            experiment.problem.close()
            threads.shutdown(wait=True, cancel_futures=True)
    else:
        processes = ProcessPoolExecutor(workers, initializer=begin_worker, initargs=(os.getpid(), guard().mark()))
        try:
            yield processes
        finally:
            end_workers(processes)


def _patiently(once: Callable[[], bool], address: str, patience: float) -> bool:
    """Search on a cluster; a connection that was given up is made anew, and the journal continued."""
    from allais.searches.cluster import ClusterLost

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
    try:
        from distributed import Client
    except ImportError:
        raise ValueError('a cluster needs Dask; it is not installed. Run: pip install "allais[cluster]".') from None
    for name in ("distributed", "distributed.client"):  # what matters of it is said in a sentence
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"a scheduler must answer; {address} does not ({reason}). Start it, or check it.") from None
    with client:
        if not client.nthreads():
            raise ValueError(f"a cluster must have workers; {address} has none. Start some: dask worker {address}.")
        yield client


def _say(text: str) -> None:
    typer.echo(text)
