"""Changes that count when they are written down: the journal of a learner, or of an interview, in a folder.

A change is made in memory and then written. It stays marked until its line is on disk, and closes the journal if it
does not come that far: then memory is ahead of the folder, and the folder is the truth. A snapshot is written when the
log has as many lines as the snapshot has distinct outcomes (and a few thousand at least), so that the cost of a call
does not grow with the history.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

from allais._system.locks import Guard
from allais.files import DAMAGE, reason
from allais.files.log import SnapshotLog

FEWEST_LINES = 4096  # between snapshots


class Recorded(Protocol):
    """What a journal is about."""

    _journal: Journal

    def _document(self) -> dict[str, Any]:
        """All that a snapshot holds."""

    def _lines_worth_a_snapshot(self) -> int:
        """How many lines take about as long to read as a snapshot."""


Owner = TypeVar("Owner", bound=Recorded)


class Journal(Guard):
    """Where changes are written down: nowhere, until a folder is attached."""

    def __init__(self, owner: str, kind: str = "learner") -> None:
        super().__init__(owner)
        self.kind = kind  # what its folder calls it
        self.log: SnapshotLog | None = None
        self._began: dict[str, Any] = {}  # how the folder was made
        self._why_closed = "was closed"

    def attach(self, log: SnapshotLog, began: dict[str, Any]) -> None:
        """Write every change to a log from now on."""
        self.log, self._began, self.durable = log, began, True
        _OPEN.add(self)

    def write(self, event: dict[str, Any], owner: Recorded) -> None:
        """Write down what was done."""
        log = self.log
        assert log is not None
        before = log.lines
        try:
            log.append(event)
        finally:
            if log.lines > before:  # it is on disk, whatever a signal's handler raised meanwhile
                self.midway = False
        if log.lines >= max(FEWEST_LINES, owner._lines_worth_a_snapshot()):
            with contextlib.suppress(OSError):  # the event itself is on disk; which snapshot is, opening will find out
                self.take_snapshot(owner)

    def take_snapshot(self, owner: Recorded) -> None:
        """Begin a new log, or close."""
        assert self.log is not None
        self.midway = True
        try:
            self.log.renew({"began": self._began, self.kind: owner._document()})
        except BaseException:
            self._close_midway()
            raise
        self.midway = False

    def close(self) -> None:
        """Let go of the folder, so that another process can open it; what lives in memory has none."""
        with self.lock:
            if self.log is not None:
                self.log.close()

    def require_in_memory(self) -> None:
        """Refuse `copy.copy`, `copy.deepcopy` and pickle where there is a folder: two cannot write one log."""
        if self.log is not None:
            raise TypeError(
                f"one {self.kind} at a time writes a folder; {self.log.folder} has one already. "
                f"Take {self.kind}.copy(), which lives in memory, or open the folder where it is needed."
            )

    # -- calls that are broken off ----------------------------------------------------------------

    def require_ready(self) -> None:
        """Refuse to begin a change."""
        if self.log is None:
            self.require_whole()
            return
        if self.midway and not self.log.closed:  # broken off, and broken off again before it could close
            self._close_midway()
        if self.log.closed:
            raise ValueError(self.why_broken())

    def end_broken(self) -> None:
        """After a change that raised: close the folder if it was broken off."""
        if self.midway and self.log is not None:
            self._close_midway()

    def _close_midway(self) -> None:
        self._why_closed = "was closed, since a call could not be brought to its end"
        self.close()

    def why_broken(self) -> str:
        """Say why nothing more can be done."""
        if self.log is None:
            return super().why_broken()
        return f"the folder {self.log.folder} {self._why_closed}; nothing was changed. Open it again to go on."

    def after_fork(self) -> None:
        """In a forked child: the folder belongs to the parent."""
        super().after_fork()
        if self.log is not None and not self.log.closed:
            self._why_closed = "belongs to the process that opened it, and this one is a fork of it"
            self.midway = True  # what it knows is out of date as soon as the other goes on
            self.close()


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


# -- folders ------------------------------------------------------------------------------------------


def open_folder(
    folder: Path,
    make: Callable[[Path], tuple[Owner, dict[str, Any]]],
    read: Callable[[SnapshotLog], tuple[Owner, dict[str, Any]]],
    repeat: Callable[[Owner, dict[str, Any]], None],
    agree: Callable[[Path, Owner, dict[str, Any]], None],
    refusals: tuple[type[Exception], ...],
) -> Owner:
    """What lives in a folder, made on the first call.

    Args:
        folder: Where it lives, or will.
        make: Makes a new one, and says how it began, as JSON has it.
        read: Reads one from a snapshot, and how it began.
        repeat: Replays an event.
        agree: Refuses what the caller gave if it is not what the folder was made with.
        refusals: What `repeat` raises for an event that does not fit.
    """
    _let_go_of_broken(folder.resolve())
    log = SnapshotLog(folder)
    try:
        if log.is_new:
            owner, began = make(log.folder)
            owner._journal.attach(log, began)
            owner._journal.take_snapshot(owner)
            return owner
        owner, began = read(log)
        for line, event in enumerate(log.events, start=1):
            try:
                repeat(owner, event)
            except refusals as error:
                raise ValueError(
                    f"a journal must hold what was done; line {line} of {log.path} does not ({reason(error)}). "
                    "Use a backup."
                ) from None
        agree(log.folder, owner, began)
        log.accept()
        owner._journal.attach(log, began)
        return owner
    except BaseException:
        log.close()
        raise


@contextlib.contextmanager
def whole_snapshot(log: SnapshotLog) -> Iterator[None]:
    """Put what a damaged snapshot raises inside the block into one sentence."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(
            f"a snapshot must be whole; that of {log.folder} is damaged ({reason(error)}). Use a backup."
        ) from None


def _let_go_of_broken(folder: Path) -> None:
    """Close a journal of the folder that was broken off before it could close itself: it would block the next."""
    for one in list(_OPEN):
        # one that is merely under way, in this thread or another, keeps its folder
        broken = one.log is not None and one.log.folder == folder and one.midway and not one.lock._is_owned()
        if broken and one.lock.acquire(blocking=False):
            try:
                one._close_midway()
            finally:
                one.lock.release()
