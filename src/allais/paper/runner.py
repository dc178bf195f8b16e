"""Run experiments side by side, each in a process of its own; what is finished is kept."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import platform
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from allais import __version__
from allais._system.processes import process_pool
from allais.errors import RunFailed
from allais.files import write_atomically
from allais.paper.experiments import BY_NAME, Experiment, ExperimentResult

PACKAGE = Path(__file__).parents[1]
BENEATH = ("numpy", "scipy", "numba", "matplotlib", "eclipse-sumo")
# these only show results: a page in other words is no reason to run an experiment again
SHOWING = ("cli", *(f"paper/{name}.py" for name in ("page_words", "report")))


@lru_cache
def digest(package: Path = PACKAGE) -> str:
    """A digest of the sources and the packages beneath; results with the same digest come from the same program."""
    found = hashlib.sha256(platform.python_version().encode())
    for name in BENEATH:
        found.update(f"{name} {_version(name)}\n".encode())
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).as_posix()
        if not any(place == shown or place.startswith(f"{shown}/") for shown in SHOWING):
            found.update(place.encode() + b"\n" + path.read_bytes())
    return found.hexdigest()[:16]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


OF_PROGRAM = {"format": "allais paper", "version": __version__}


@dataclass(frozen=True)
class Stored:
    """The result of one experiment, and how it came about."""

    name: str
    scale: str
    seed: int
    seconds: float
    result: ExperimentResult


def path_of(folder: Path, name: str) -> Path:
    """Where the result of an experiment lies."""
    return folder / "results" / f"{name}.json"


def keep(folder: Path, stored: Stored) -> None:
    """Write a result; if this is interrupted, the old one stays."""
    path = path_of(folder, stored.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        **OF_PROGRAM, "sources": digest(), "name": stored.name, "scale": stored.scale, "seed": stored.seed,
        "seconds": round(stored.seconds, 1), "outcome": asdict(stored.result),
    }  # fmt: skip
    document["checksum"] = _checksum(document)
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def kept(folder: Path, name: str, scale: str, seed: int) -> Stored | None:
    """The result of an experiment if it is up to date: of this program, this scale and this seed, and undamaged."""
    try:
        document = json.loads(path_of(folder, name).read_text(encoding="utf-8"))
        wanted = {**OF_PROGRAM, "sources": digest(), "name": name, "scale": scale, "seed": seed}
        if any(document[part] != it for part, it in wanted.items()) or document.pop("checksum") != _checksum(document):
            return None
        return Stored(name, scale, seed, document["seconds"], ExperimentResult.from_document(document["outcome"]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"results are read from a folder; {folder} is not one ({error.strerror}). Check it.") from None
    except (ValueError, KeyError, TypeError, AttributeError):  # damaged: it is run again
        return None


def _checksum(document: dict[str, Any]) -> str:
    """The checksum of everything but the time, in which two runs of the same program may differ."""
    parts = {name: part for name, part in document.items() if name not in ("seconds", "checksum")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


Watch = Callable[[str, float], None]  # an experiment, and the share of it that is done
TICK = 0.2  # seconds between looks at what workers tell


class ExperimentFailed(RunFailed):
    """An experiment ended in an error; others may be finished and kept."""


def run_experiments(
    experiments: Sequence[Experiment],
    scale: str,
    seed: int,
    folder: Path,
    workers: int = 1,
    *,
    watch: Watch = lambda name, share: None,
) -> Iterator[Stored]:
    """Run them in this order; each result is kept as soon as it is there, and is the same for any number of workers.

    `watch` is called with an experiment and a share of 0 when it starts, and of 1 when it is done.
    """
    if workers == 1:
        found = _one_by_one(experiments, scale, seed, watch)
    else:
        found = _side_by_side(experiments, scale, seed, workers, watch)
    for name, result, seconds in found:
        stored = Stored(name, scale, seed, seconds, result)
        keep(folder, stored)
        yield stored


def _one_by_one(
    experiments: Sequence[Experiment], scale: str, seed: int, watch: Watch
) -> Iterator[tuple[str, ExperimentResult, float]]:
    for experiment in experiments:
        name = experiment.name
        result, seconds = _timed(experiment, scale, seed, lambda share, name=name: watch(name, share))  # type: ignore[misc]
        yield name, result, seconds


def _timed(
    experiment: Experiment, scale: str, seed: int, done: Callable[[float], None]
) -> tuple[ExperimentResult, float]:
    start = time.perf_counter()
    done(0.0)
    try:
        result = experiment.result(scale, seed, done)
    except Exception as error:  # no user's mistake: the settings are ours
        raise ExperimentFailed(f"the experiment {experiment.name} failed ({type(error).__name__}: {error}).") from error
    done(1.0)
    return result, time.perf_counter() - start


def _side_by_side(
    experiments: Sequence[Experiment], scale: str, seed: int, workers: int, watch: Watch
) -> Iterator[tuple[str, ExperimentResult, float]]:
    context = multiprocessing.get_context("spawn")  # a worker must not inherit the caller's threads
    with context.Manager() as manager, process_pool(workers, context) as pool:
        told: Any = manager.Queue()
        waiting: dict[Future[tuple[ExperimentResult, float]], str] = {
            pool.submit(_in_worker, experiment.name, scale, seed, told): experiment.name for experiment in experiments
        }
        while waiting:
            finished, _ = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
            _pass_on(told, watch)
            for future in finished:
                name = waiting.pop(future)
                try:
                    result, seconds = future.result()
                except BrokenExecutor as error:  # a worker was killed, for its memory perhaps
                    raise ExperimentFailed(f"the worker of {name} died ({error}).") from error
                yield name, result, seconds


def _in_worker(name: str, scale: str, seed: int, told: Any) -> tuple[ExperimentResult, float]:
    return _timed(BY_NAME[name], scale, seed, lambda share: told.put((name, share)))


def _pass_on(told: Any, watch: Watch) -> None:
    while True:
        try:
            watch(*told.get_nowait())
        except queue.Empty:
            return
