"""Compiling, undisturbed.

A signal's handler runs in the main thread wherever Python code runs there, and may raise: in the middle of numba's
compiler it would leave numba's lock taken, and other threads waiting for ever. So code is compiled in a thread of its
own, where no handler runs, and an interrupt is heard when that is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from numba.core.compiler_lock import global_compiler_lock


def undisturbed(work: Callable[[], Any]) -> Any:
    """The result of some work, done in a thread of its own; what a signal's handler raised meanwhile comes after it."""
    if global_compiler_lock.is_locked():  # by this thread: a kernel is needed by one that is being compiled
        return work()
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    late: BaseException | None = None
    started = False
    while not started or thread.is_alive():
        try:
            if not started:
                started = True
                thread.start()
            thread.join()
        except BaseException as error:
            late = error
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
