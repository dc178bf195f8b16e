"""One call at a time: objects that threads share, and that an interrupt cannot leave half changed.

Kernels run without Python's global lock, so each object has a lock of its own. A signal's handler, such as that of
Ctrl-C, may raise between any two steps of a call. So a change is marked while it is under way: `midway` is set
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
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Object = TypeVar("Object", bound="Guarded")


class Guard:
    """The lock of an object, and the mark of a change that is under way."""

    lock: Any

    def __init__(self, owner: str) -> None:
        self.owner = owner  # what messages call the object
        self.midway = False  # whether a change is under way, or was broken off
        self.durable = False  # whether a change stays marked until it is on disk, too
        self.lock = RLock()
        _GUARDS.add(self)

    def require_whole(self) -> None:
        """Refuse if a change was broken off."""
        if self.midway:
            raise ValueError(self.why_broken())

    def require_ready(self) -> None:
        """Refuse to begin a change."""
        self.require_whole()

    def end_broken(self) -> None:
        """After a change that raised: one that was broken off may have to be cleaned up."""

    def why_broken(self) -> str:
        """Say why nothing more can be done with the object."""
        return (
            f"a call must end before the next begins; one to this {self.owner} was interrupted in the middle, "
            "so it is closed. Load what was saved last, or start anew."
        )

    def require_outermost(self) -> None:
        """Refuse a change in the middle of another call of the same thread."""
        if self.lock._is_owned():
            raise ValueError(
                f"a call must end before the next begins; this one came during another call to the same "
                f"{self.owner}, for example from a signal handler. Set a flag there, and call it afterwards."
            )

    def after_fork(self) -> None:
        """In a forked child: a thread of the parent may hold the old lock, and there it stays."""
        self.lock = RLock()


class Guarded(Protocol):
    """An object whose public calls exclude each other."""

    _guard: Guard


def one_at_a_time(
    method: Callable[Concatenate[Object, Arguments], Result],
) -> Callable[Concatenate[Object, Arguments], Result]:
    """A method that waits until no other thread is inside the object, and refuses if a change was broken off."""

    @functools.wraps(method)
    def alone(self: Object, /, *arguments: Arguments.args, **settings: Arguments.kwargs) -> Result:
        guard = self._guard
        if guard.midway:
            guard.require_outermost()
        with guard.lock:
            if guard.midway:
                guard.require_whole()
            return method(self, *arguments, **settings)

    return alone


def one_change_at_a_time(
    method: Callable[Concatenate[Object, Arguments], Result],
) -> Callable[Concatenate[Object, Arguments], Result]:
    """A method that also refuses to begin inside another call of its own thread."""

    @functools.wraps(method)
    def alone(self: Object, /, *arguments: Arguments.args, **settings: Arguments.kwargs) -> Result:
        guard = self._guard
        guard.require_outermost()
        with guard.lock:
            guard.require_ready()
            try:
                return method(self, *arguments, **settings)
            except BaseException:
                guard.end_broken()
                raise

    return alone


_GUARDS: weakref.WeakSet[Guard] = weakref.WeakSet()


def _in_child() -> None:
    for guard in list(_GUARDS):
        guard.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
