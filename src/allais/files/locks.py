"""Files that one process keeps to itself."""

from __future__ import annotations

import os
import weakref
from typing import Any


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


def _let_go() -> None:
    """In a forked child: a worker that outlives its parent must not keep the parent's locks."""
    for handle in list(_HELD):
        handle.close()


_HELD: weakref.WeakSet[Any] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
