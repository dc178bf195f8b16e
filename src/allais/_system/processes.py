"""Starting processes, none of which outlives the one that started it."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from allais._system import guard as _guard
from allais._system.guard import MARK, end_group

LOOK_EVERY = 0.5  # seconds
GRACE = 2.0  # seconds for workers to end by themselves


def begin_worker(parent: int, mark: str | None = None) -> None:
    """In a worker: leave interruptions to the parent, and end when it has died, with all that was started here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):  # the parent's own handlers were inherited
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    if hasattr(os, "setpgid"):
        with contextlib.suppress(PermissionError):  # it leads a session already
            os.setpgid(0, 0)
    if mark is not None:
        os.environ[MARK] = mark

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY)
        if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
            end_group(os.getpid())
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def end_workers(pool: ProcessPoolExecutor) -> None:
    """End a pool without waiting for the runs that are under way, or for the programs that these started."""
    processes = list((pool._processes or {}).values())
    manager = _forget_what_waits(pool)
    groups = [process.pid for process in processes if process.pid is not None] if hasattr(os, "killpg") else []
    for group in groups:
        with contextlib.suppress(ProcessLookupError):  # a worker that has not yet begun has no group of its own
            os.killpg(group, signal.SIGTERM)
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + GRACE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        process.kill()
    for group in groups:
        end_group(group)
    if manager is not None:  # it waits for the same workers: only one of two waits learns that a process has ended
        manager.join(GRACE)


def _forget_what_waits(pool: ProcessPoolExecutor) -> Any:
    """Cancel the tasks that no worker has begun, before workers are killed.

    When a worker dies, Python's pool sets an error on every task that it still holds. A cancelled one refuses it, which
    ends the thread that cleans up: the pipe to the workers stays full, and this process waits for it at its exit.

    Returns:
        That thread, which the pool itself forgets here; None if nothing was submitted.
    """
    manager: Any = getattr(pool, "_executor_manager_thread", None)
    if manager is None:
        return None
    pool._call_queue.cancel_join_thread()  # type: ignore[attr-defined]  # nobody is left to read what it has
    pool.shutdown(wait=False, cancel_futures=True)
    deadline = time.monotonic() + GRACE
    while manager.is_alive() and time.monotonic() < deadline:
        if not any(task.future.cancelled() for task in list(manager.pending_work_items.values())):
            break
        time.sleep(0.001)
    return manager


@contextlib.contextmanager
def process_pool(workers: int, context: Any = None) -> Iterator[ProcessPoolExecutor]:
    """Workers that end with the caller: after an error or an interruption, what is under way is ended, not awaited."""
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=begin_worker, initargs=(os.getpid(),))
    try:
        yield pool
    except BaseException:
        end_workers(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class Guard:
    """A small process that ends what this one has started, when this one has ended."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._groups = set[int]()
        self._lock = threading.Lock()
        self._process = self._started()

    def mark(self) -> str:
        """A mark for one run, by which what it starts can be found."""
        return f"{self._token}.{next(self._numbers)}."

    def watch(self, group: int) -> None:
        """A process group has begun."""
        with self._lock:
            self._groups.add(group)
            self._tell(f"+{group}\n")

    def leave(self, group: int) -> None:
        """A process group has ended."""
        with self._lock:
            self._groups.discard(group)
            self._tell(f"-{group}\n")

    def close(self) -> None:
        """This process ends in order."""
        with self._lock, contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if self._process is not None and self._process.stdin is not None:
                self._tell("done\n")
                self._process.stdin.close()
                self._process.wait(GRACE)

    def forget(self) -> None:
        """In a forked child: the guard is the parent's, and must notice when the parent dies."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.returncode = 0  # not this process's child, so never waited for

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            os.write(self._process.stdin.fileno(), line.encode())
        except OSError:  # somebody ended the guard
            self._process.stdin.close()
            self._process.wait()
            self._process = self._started()
            if self._process is not None and self._process.stdin is not None:
                os.write(self._process.stdin.fileno(), "".join(f"+{group}\n" for group in self._groups).encode())

    def _started(self) -> subprocess.Popen[bytes] | None:
        if os.name != "posix" or not sys.executable:
            return None
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", _guard.__file__, self._token],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # signals to the group of this process are not for it
                env={name: value for name, value in os.environ.items() if name != MARK},  # it may be inside of a run
            )
        except OSError:
            return None


_kept: list[Guard] = []
_making = threading.Lock()


def guard() -> Guard:
    """The guard of this process."""
    with _making:
        if not _kept:
            _kept.append(Guard())
            atexit.register(_kept[0].close)
        return _kept[0]


def _forget() -> None:
    global _making
    _making = threading.Lock()  # another thread of the parent may have held it
    for one in _kept:
        atexit.unregister(one.close)
        one.forget()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def marked_environment(mark: str) -> dict[str, Any]:
    """The variables of this process, for one that is known by a mark."""
    return {**os.environ, MARK: mark}
