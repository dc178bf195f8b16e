"""Compiling: undisturbed, once per machine, and not in silence.

A signal's handler runs in the main thread wherever Python code runs there, and may raise: in the middle of numba's
compiler it would leave numba's lock taken, and other threads waiting for ever. So code is compiled in a thread of its
own, where no handler runs, and an interrupt is heard when that is done.

Of processes that need the same code at the same time, one compiles it. The others wait, and read it from disk: the
user's cache folder, under a digest of the sources of kernels.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import hashlib
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core.compiler_lock import global_compiler_lock

from allais.files import locked

TICK = 0.1  # seconds between two pictures of the line
LOCKS = 64  # files: few, and two processes seldom meet by chance
PATIENCE = 120.0  # seconds to wait for another process; then both compile
SPINNER = "|/-\\"
# Seconds for the line, as `python -m benchmarks cold` measures them.
USUAL = {"NPTS": 4, "IMED": 4, "UCB1": 3, "WUCB": 4, "WLUCB": 5, "TopTwo": 5, "PatientTopTwo": 4}

_wanted_by: contextvars.ContextVar[str] = contextvars.ContextVar("wanted_by", default="kernels")
_under_way = threading.Event()  # code was neither in memory nor on disk, so that it is being compiled
_locks: list[Any] = []  # none, or the one of the outermost code that this process compiles


@contextlib.contextmanager
def compiled_for(name: str) -> Iterator[None]:
    """Say for whom code is compiled, should it have to be."""
    token = _wanted_by.set(name)
    try:
        yield
    finally:
        _wanted_by.reset(token)


def undisturbed(work: Callable[[], Any]) -> Any:
    """The result of some work, done in a thread of its own; what a signal's handler raised meanwhile comes after it."""
    if global_compiler_lock.is_locked():  # by this thread: a kernel is needed by one that is being compiled
        return work()
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        with global_compiler_lock:  # from the first line to the last: others wait here, and not for the lock on disk
            collecting = gc.isenabled()
            gc.disable()  # of the many objects that a compiler makes, it would find few to free, in a fifth of the time
            try:
                results.append(work())
            except BaseException as error:
                errors.append(error)
            finally:
                if collecting:
                    gc.enable()
                _let_go()

    thread = threading.Thread(target=run, daemon=True)
    line = Line(_wanted_by.get())
    late: BaseException | None = None
    begun = False
    while not begun or thread.is_alive():
        try:
            if not begun:
                begun = True
                thread.start()
            thread.join(TICK)
            line.draw()
        except BaseException as error:
            late = error
    line.wipe()
    if late is not None:
        raise late
    if errors:
        raise errors[0]
    return results[0]


def ready(dispatcher: Any, signature: tuple[Any, ...], declared: Any = None) -> Any:
    """The code of a dispatcher for arguments of some types: compiled, read from disk, or known already."""
    if signature not in dispatcher.overloads:
        undisturbed(lambda: dispatcher.compile(signature if declared is None else declared(*signature)))
    return dispatcher.overloads[signature]


def found_on_disk(load: Callable[[], Any], folder: Path, *wanted: Any) -> Any:
    """What another process has left on disk, after waiting for it, or None where this one must compile."""
    code = load()
    if code is None and not _locks:
        # one lock for the outermost code that is wanted: processes that want other code compile at the same time
        _wait_for(folder / f"compiling-{zlib.crc32(repr(wanted).encode()) % LOCKS}")
        code = load()  # another process may have written it, and let go, since the first look
    if code is None:
        _under_way.set()
    return code


def _wait_for(path: Path) -> None:
    """Take a lock, or go on without it where another process keeps it for too long."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            handle = open(path, "a")  # noqa: SIM115  # open while it is the lock
        except OSError:
            return
        try:
            locked(handle, "one process at a time compiles.")
        except ValueError:
            handle.close()
            time.sleep(TICK)
        else:
            _locks.append(handle)
            return


def _let_go() -> None:
    _under_way.clear()
    while _locks:
        _locks.pop().close()


class Line:
    """The line that says what is being compiled: on a terminal only, and of one process only."""

    def __init__(self, name: str) -> None:
        usual = f": about {USUAL[name]} s" if name in USUAL else ""
        self._text = f"compiling {name} for this machine, once{usual}"
        self._ticks = 0
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self._wanted = terminal and multiprocessing.parent_process() is None

    def draw(self) -> None:
        """Show it, if code is being compiled."""
        if self._wanted and _under_way.is_set():
            mark = SPINNER[self._ticks % len(SPINNER)]
            self._ticks += 1
            print(f"\r{self._text} {mark}", end="", file=sys.stderr, flush=True)

    def wipe(self) -> None:
        """Leave nothing behind."""
        if self._ticks:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


# What compiled code is made of, in the package's folder; an edit elsewhere leaves the cache as it is.
SOURCES = (
    *("_kernels", "bands", "forests", "linear", "numerics", "policies", "samples"),
    *("people/data/design.py", "people/model/likelihood.py", "simulation/rollout.py"),
)


def cache_folder() -> Path:
    """Where compiled code is kept: ALLAIS_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("ALLAIS_CACHE_DIR")
    if chosen:
        root = Path(chosen)
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "allais" / "Cache"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches" / "allais"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "allais"
    return root.absolute() / f"kernels-{_digest()}"  # wherever the process goes later


def _digest() -> str:
    package = Path(__file__).parents[1]
    sources = hashlib.sha256(numba.__version__.encode())
    for place in SOURCES:
        for path in sorted((package / place).rglob("*.py")) or [package / place]:
            sources.update(path.read_bytes())
    return sources.hexdigest()[:16]


def _usable(folder: Path) -> str | None:
    """The folder, made if need be, or None where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        return None


CACHE = _usable(cache_folder())
