"""Append-only logs: what was done, one line per event, on disk before `append` returns.

A `Log` is one file. A `SnapshotLog` is a folder: a snapshot, and the log of what came after it. Both have the same
interface, and both belong to one process until they are closed:

- `events`: what the log held when it was opened; replay them, then call `accept`
- `accept()`: continue from there; a last line that was cut off while it was written is removed, with a warning
- `append(event, ...)`: write plain dicts down; they are on disk when it returns
- `lines`: how many events it holds
- `close()`, `closed`

A log does not lock itself against threads: its owner does.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import warnings
import zlib
from pathlib import Path
from typing import Any

from allais.files import (
    DAMAGE,
    checksum,
    keep_access,
    locked,
    locked_folder,
    make_folder,
    reason,
    require,
    sync_folder,
    whole,
    write_atomically,
)

Event = dict[str, Any]


def line_of(event: Event) -> bytes:
    """An event as a line: JSON, whose last entry is the checksum of all before it.

    >>> line_of({"tell": 1, "reward": 7.0})
    b'{"tell": 1, "reward": 7.0, "check": 2627653369}\\n'
    """
    text = json.dumps(event, allow_nan=False).encode()
    return text[:-1] + _ending(text) + b"\n"


def _ending(text: bytes) -> bytes:
    return b', "check": %d}' % zlib.crc32(text)


def event_of(line: bytes) -> Event | None:
    """The event of a line without its newline, or None if it does not match its checksum."""
    if line.startswith(b"{"):
        end = line.rfind(b', "check": ')
        text = line[:end] + b"}"
        if end < 0 or line[end:] != _ending(text):
            return None
    else:  # version 0.1.0 put the checksum of a learner's event first
        text = line[9:]
        if line[:9] != b"%08x " % zlib.crc32(text):
            return None
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def events_in(content: bytes, path: Path, *, numbered: bool, advice: str = "") -> tuple[list[Event], int]:
    """The events of a file, and how many bytes their lines are.

    A line with a newline was acknowledged, or may have been: if it does not match its checksum, that is damage. The
    newline is written last, so a line without one was cut off while it was written; it is left out.
    """
    *lines, rest = content.split(b"\n")
    events: list[Event] = []
    for line in lines:
        event = event_of(line)
        if event is None or (numbered and event.pop("n", None) != len(events) + 1):
            also = advice if events else ""
            raise ValueError(
                f"a journal must match its checksums; {path} is damaged in line {len(events) + 1}. Use a backup{also}."
            )
        events.append(event)
    if event_of(rest[:-1]) is not None:  # whole, with something else in place of its newline
        raise ValueError(
            f"a journal must match its checksums; {path} is damaged at its end, in line {len(events) + 1}. "
            "Use a backup."
        )
    return events, len(content) - len(rest)


SNAPSHOT = "snapshot.json"


class Log:
    """A file that only grows.

    If a write fails, the log closes itself, since nobody knows how much of it is on disk: opening it again finds out.
    If a signal's handler raises in the middle, the events are written all the same, and its exception is raised
    afterwards. `lines` tells the two cases apart: it counts what is on disk.

    With `form`, the first event is `{"format": form, ...}`, and a file that begins otherwise is never written to.
    With `numbered`, each line has its number, so that a missing one is noticed. With `shared`, somebody else keeps
    other processes out. `advice` is what to do about a damaged line, beside using a backup.

    >>> log = Log("visits.jsonl", form="visits")
    >>> log.append({"format": "visits", "version": 1}, {"visitor": "A"})
    >>> log.close()
    >>> with Log("visits.jsonl", form="visits") as log:
    ...     log.events
    [{'format': 'visits', 'version': 1}, {'visitor': 'A'}]
    """

    def __init__(
        self, path: str | Path, *, form: str | None = None, numbered: bool = False, shared: bool = False,
        advice: str = "",
    ) -> None:  # fmt: skip
        self.path = Path(path).absolute()  # wherever the process goes later
        self.numbered = numbered
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            self._file = os.fdopen(os.open(self.path, flags, 0o666), "r+b", buffering=0)
        except OSError as error:
            raise ValueError(
                f"a journal is a file in a folder that exists; {self.path} cannot be one ({error.strerror})."
            ) from None
        try:
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise ValueError(f"a journal is a file; {self.path} is not. Check the path.")
            if not shared:
                locked(self._file, f"one process at a time may write a journal; {self.path} is open in another.")
            content = self._read(form)
            self.events, self._size = events_in(content, self.path, numbered=numbered, advice=advice)
            if not content:
                sync_folder(self.path.parent)  # it may be new
        except BaseException:
            self._file.close()
            raise
        self.lines, self._torn = len(self.events), len(content) > self._size

    def _read(self, form: str | None) -> bytes:
        """All of a file in our format; of any other file no more than its beginning."""
        if form is None:
            return self._file.readall() or b""
        wanted = json.dumps({**({"n": 1} if self.numbered else {}), "format": form})[:-1].encode()
        beginning = self._file.read(len(wanted)) or b""
        if beginning and beginning != wanted:
            raise ValueError(f"a journal must begin with its format; {self.path} does not. Check the path.")
        return beginning + (self._file.readall() or b"")

    @property
    def closed(self) -> bool:
        """Whether it takes no more events."""
        return self._file.closed

    def accept(self) -> None:
        """Continue after what was read, and forget it."""
        if self._torn:
            warnings.warn(
                f"the last line of {self.path} was cut off while it was written; it is dropped.", stacklevel=5
            )
            self._file.truncate(self._size)
        self._torn, self.events = False, []

    def clear(self) -> None:
        """Forget everything: for a log that holds nothing of value yet."""
        self._file.truncate(0)
        self.events, self._size, self.lines, self._torn = [], 0, 0, False

    def append(self, *events: Event) -> None:
        """Write events down; they are on disk when this returns."""
        self.accept()
        number = self.lines + 1
        given = [{"n": number + i, **one} for i, one in enumerate(events)] if self.numbered else events
        content = b"".join(map(line_of, given))
        size, lines = self._size + len(content), self.lines + len(events)
        try:
            self._put(content)
        except OSError:
            self.close()
            raise
        except BaseException:  # of a signal's handler: the events have happened, so they are written
            self._put(content)
            self._size, self.lines = size, lines
            raise
        self._size, self.lines = size, lines

    def _put(self, content: bytes) -> None:
        """Put lines at the end; this is idempotent."""
        try:
            self._file.seek(self._size)
            while content:  # a full disk may take a part of it
                content = content[self._file.write(content) :]
            os.fsync(self._file.fileno())
        except ValueError:  # what a closed file says: a signal's handler closed it
            raise ValueError(
                f"a journal is closed between two calls; {self.path} was in the middle of one. "
                "Open it again to see whether it was done."
            ) from None

    def close(self) -> None:
        """Let go of the file; what was appended is on disk already."""
        with contextlib.suppress(OSError):
            self._file.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class SnapshotLog:
    """A folder with a snapshot, and the log of what came after it: opening never reads more than both.

    A new folder has no snapshot: `renew` writes the first one, before anything is appended.

    >>> log = SnapshotLog("visits")
    >>> log.renew({"visitors": 0})
    >>> log.append({"visitor": "A"})
    >>> log.renew({"visitors": 1})
    >>> log.append({"visitor": "B"})
    >>> log.close()
    >>> again = SnapshotLog("visits")
    >>> again.snapshot["visitors"], again.events
    (1, [{'visitor': 'B'}])
    >>> again.close()
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).resolve()  # where it is now, wherever the process goes later
        make_folder(self.folder)
        self._hold = locked_folder(self.folder)
        self._log: Log | None = None
        self.closed = False  # whether it takes no more events
        self.number = 0  # how many snapshots were written
        try:
            self.snapshot = self._read()
        except BaseException:
            self.close()
            raise

    @property
    def is_new(self) -> bool:
        """Whether there is no snapshot yet."""
        return self.number == 0

    def _read(self) -> dict[str, Any] | None:
        path = self.folder / SNAPSHOT
        if not path.exists():
            if any(path.stat().st_size for path in self.folder.glob("journal-*")):
                raise ValueError(f"a folder with a journal needs its snapshot; {self.folder} has none. Use a backup.")
            return None
        try:
            snapshot = json.loads(path.read_text(encoding="utf-8"))
            require(isinstance(snapshot, dict), "it is not a mapping")
            # version 0.1.0 wrote no checksum of the whole, only the learner's own
            require(snapshot.get("checksum", checksum(snapshot)) == checksum(snapshot), "its checksum differs")
            self.number = whole(snapshot["journal"], "the number of a journal", 1)
        except (ValueError, *DAMAGE) as error:
            raise ValueError(f"a snapshot must be whole; {path} is damaged ({reason(error)}). Use a backup.") from None
        journal = self.folder / _name(self.number)
        if not journal.exists():
            raise ValueError(f"a folder with a snapshot needs its journal; {journal} is missing. Use a backup.")
        self._log = Log(journal, numbered=True, shared=True)
        return snapshot

    @property
    def path(self) -> Path:
        """The file of the log since the last snapshot."""
        return self.folder / _name(self.number)

    @property
    def events(self) -> list[Event]:
        """What was appended since the snapshot, when the folder was opened."""
        return [] if self._log is None else self._log.events

    @property
    def lines(self) -> int:
        """How many events there are since the last snapshot."""
        return 0 if self._log is None else self._log.lines

    def accept(self) -> None:
        """Continue after what was read, and forget it."""
        self.snapshot = None
        if self._log is not None:
            self._log.accept()
            self._tidy()

    def append(self, *events: Event) -> None:
        """Write events down; they are on disk when this returns."""
        if self._log is None:
            raise ValueError(f"a folder begins with a snapshot; {self.folder} has none. Write it first.")
        try:
            self._log.append(*events)
        except OSError:
            self.close()
            raise

    def renew(self, snapshot: dict[str, Any]) -> None:
        """Write a snapshot and begin a new log: the snapshot names it, so that a crash in between loses nothing."""
        number = self.number + 1
        content = {"journal": number, **snapshot}
        text = json.dumps({**content, "checksum": checksum(content)}, allow_nan=False) + "\n"
        path = self.folder / _name(number)
        path.unlink(missing_ok=True)  # of a snapshot that failed
        fresh = Log(path, numbered=True, shared=True)
        try:
            if self._log is not None:
                keep_access(fresh._file.fileno(), os.fstat(self._log._file.fileno()))
            write_atomically(self.folder / SNAPSHOT, text)
        except BaseException:
            fresh.close()
            raise
        old, self._log, self.number = self._log, fresh, number
        if old is not None:
            old.close()
        self._tidy()

    def _tidy(self) -> None:
        """Remove other journals, and snapshots that a crash has left half written."""
        for path in self.folder.iterdir():
            stale = path.name.startswith("journal-") and path.name != _name(self.number)
            if stale or (path.name.startswith(SNAPSHOT) and path.suffix == ".tmp"):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the folder, so that another process can open it."""
        if self._log is not None:
            self._log.close()
        self._hold.close()
        self.closed = True


def _name(number: int) -> str:
    return f"journal-{number}.jsonl"
