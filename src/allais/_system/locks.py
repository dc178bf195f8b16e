"""One call at a time: objects that threads share, and that an interrupt cannot leave half changed.

Kernels run without Python's global lock, so each object has a lock of its own. A signal's handler, such as that of
Ctrl-C, may raise between any two steps of a call. So a change is marked while it is under way: `_midway` is set
before its first step and cleared after its last. A call that finds it set refuses, as an earlier one broke off in the
middle. CPython runs handlers only after calls and at the end of loops, so a change that is written without either is
never broken off; `starmap` prepares a call that is then done by unpacking, which is neither.

A handler that does not raise may call the object again, and the lock lets its own thread in. What the first call has
prepared would then be out of date, so changes are refused there.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Object = TypeVar("Object", bound="Guarded")


class Guarded:
    """An object whose public calls exclude each other."""

    _midway: bool = False  # whether a change is under way, or was broken off
    _lock: Any

    def _guard(self) -> None:
        """Make the lock; to be done once for each object, also for one that comes from a pickle."""
        self._lock = RLock()
        _GUARDED.add(self)

    def _require_whole(self) -> None:
        if self._midway:
            raise ValueError(self._why_torn())

    def _require_ready(self) -> None:
        """Refuse to begin a change."""
        self._require_whole()

    def _end_broken(self) -> None:
        """After a change that raised: one that was broken off may have to be cleaned up."""

    def _why_torn(self) -> str:
        return (
            f"a call must end before the next begins; one to this {type(self).__name__} was interrupted in the middle, "
            "so it is closed. Load what was saved last, or start anew."
        )

    def _require_outermost(self) -> None:
        """Refuse a change in the middle of another call of the same thread."""
        if self._lock._is_owned():
            raise ValueError(
                f"a call must end before the next begins; this one came in the middle of another to the same "
                f"{type(self).__name__}, as from a signal's handler. Set a flag there, and call it afterwards."
            )

    def _after_fork(self) -> None:
        """In a forked child: a thread of the parent may hold the old lock, and there it stays."""
        self._lock = RLock()


def one_at_a_time(
    method: Callable[Concatenate[Object, Arguments], Result],
) -> Callable[Concatenate[Object, Arguments], Result]:
    """A method that waits until no other thread is inside the object, and refuses if a change was broken off."""

    @functools.wraps(method)
    def alone(self: Object, /, *arguments: Arguments.args, **settings: Arguments.kwargs) -> Result:
        if self._midway:
            self._require_outermost()
        with self._lock:
            self._require_whole()
            return method(self, *arguments, **settings)

    return alone


def one_change_at_a_time(
    method: Callable[Concatenate[Object, Arguments], Result],
) -> Callable[Concatenate[Object, Arguments], Result]:
    """A method that also refuses to begin inside another call of its own thread."""

    @functools.wraps(method)
    def alone(self: Object, /, *arguments: Arguments.args, **settings: Arguments.kwargs) -> Result:
        self._require_outermost()
        with self._lock:
            self._require_ready()
            try:
                return method(self, *arguments, **settings)
            except BaseException:
                self._end_broken()
                raise

    return alone


_GUARDED: weakref.WeakSet[Guarded] = weakref.WeakSet()


def _in_child() -> None:
    for guarded in list(_GUARDED):
        guarded._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
