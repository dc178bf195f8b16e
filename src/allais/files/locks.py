"""Files that one process keeps to itself."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any

LOCK = "lock"  # the file of a folder


def locked(handle: Any, refusal: str) -> None:
    """Keep a file to this process until it is closed; refuse if another process has it."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:  # pragma: no cover
            import msvcrt

            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        raise ValueError(f"{refusal} Close it there first.") from None
    _HELD.add(handle)


def locked_folder(folder: Path) -> Any:
    """The lock file of a folder, which keeps other processes out."""
    try:
        handle = open(folder / LOCK, "a")  # noqa: SIM115
    except OSError as error:
        raise ValueError(
            f"what is durable writes to its folder; {folder} cannot be written to ({error.strerror})."
        ) from None
    try:
        locked(handle, f"one process at a time may open a folder; {folder} is open in another.")
    except ValueError:
        handle.close()
        raise
    return handle


def _let_go() -> None:
    """In a forked child: a worker that outlives its parent must not keep the parent's locks."""
    for handle in list(_HELD):
        handle.close()


_HELD: weakref.WeakSet[Any] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
