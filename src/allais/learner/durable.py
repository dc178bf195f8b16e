"""Changes that count when they are written down: what a learner in a folder has more than one in memory."""

from __future__ import annotations

import contextlib
import weakref
from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

from allais._system.locks import Guarded
from allais.files.log import SnapshotLog

FEWEST_LINES = 4096  # between snapshots


class Durable(Guarded):
    """An object whose changes are events of a log, if it has one.

    A change is made in memory and then written. It stays `_midway` until its line is on disk, and closes the object
    if it does not come that far: then memory is ahead of the folder, and the folder is the truth.
    """

    _kind: str = "learner"  # what its folder calls it
    _log: SnapshotLog | None = None
    _durable: bool = False  # whether it has a log, closed or not
    _began: dict[str, Any]  # how the folder was made
    _why_closed: str = "was closed"

    def _attach(self, log: SnapshotLog, began: dict[str, Any]) -> None:
        """Write every change to a log from now on."""
        self._log, self._began, self._durable = log, began, True
        _OPEN.add(self)

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """All that a snapshot holds."""

    @abstractmethod
    def _lines_worth_a_snapshot(self) -> int:
        """How many lines take about as long to read as a snapshot."""

    def _write(self, event: dict[str, Any]) -> None:
        """Write down what was done."""
        log = self._log
        assert log is not None
        before = log.lines
        try:
            log.append(event)
        finally:
            if log.lines > before:  # it is on disk, whatever a signal's handler raised meanwhile
                self._midway = False
        if log.lines >= max(FEWEST_LINES, self._lines_worth_a_snapshot()):
            with contextlib.suppress(OSError):  # the event itself is on disk; which snapshot is, opening will find out
                self._take_snapshot()

    def _take_snapshot(self) -> None:
        """Begin a new log, or close."""
        assert self._log is not None
        self._midway = True
        try:
            self._log.renew({"began": self._began, self._kind: self._document()})
        except BaseException:
            self._close_midway()
            raise
        self._midway = False

    def close(self) -> None:
        """Let go of the folder, so that another process can open it; what lives in memory has none."""
        with self._lock:
            if self._log is not None:
                self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse `copy.copy`, `copy.deepcopy` and pickle where there is a folder: two cannot write one log."""
        if self._log is None:
            return super().__reduce_ex__(protocol)
        raise TypeError(
            f"one {self._kind} at a time writes a folder; {self._log.folder} has one already. "
            f"Take {self._kind}.copy(), which lives in memory, or open the folder where it is needed."
        )

    # -- calls that are broken off ----------------------------------------------------------------

    def _require_ready(self) -> None:
        if self._log is None:
            self._require_whole()
            return
        if self._midway and not self._log.closed:  # broken off, and broken off again before it could close
            self._close_midway()
        if self._log.closed:
            raise ValueError(self._why_torn())

    def _end_broken(self) -> None:
        if self._midway and self._log is not None:
            self._close_midway()

    def _close_midway(self) -> None:
        self._why_closed = "was closed, since a call could not be brought to its end"
        self.close()

    def _why_torn(self) -> str:
        if self._log is None:
            return super()._why_torn()
        return f"the folder {self._log.folder} {self._why_closed}; nothing was changed. Open it again to go on."

    def _after_fork(self) -> None:
        super()._after_fork()
        if self._log is not None and not self._log.closed:
            self._why_closed = "belongs to the process that opened it, and this one is a fork of it"
            self._midway = True  # what it knows is out of date as soon as the other goes on
            self.close()


def let_go_of_broken(folder: Path) -> None:
    """Close what was broken off on a folder before it could close itself: it is in nobody's way."""
    for one in list(_OPEN):
        # one that is merely under way, in this thread or another, keeps its folder
        broken = one._log is not None and one._log.folder == folder and one._midway and not one._lock._is_owned()
        if broken and one._lock.acquire(blocking=False):
            try:
                one._close_midway()
            finally:
                one._lock.release()


_OPEN: weakref.WeakSet[Durable] = weakref.WeakSet()
