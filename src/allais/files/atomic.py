"""Files that one process keeps to itself."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
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
        raise ValueError(f"a folder must be writable; {folder} is not ({error.strerror}).") from None
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


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file's content; after a crash it is the old one or the new one.

    A symbolic link stays one: its target is written. A file that exists keeps its mode and, where the system
    allows it, its owner.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise ValueError(f"a file needs a folder that exists; got {path}. Make {target.parent} first.")
    try:
        before = os.stat(target)
    except FileNotFoundError:
        before = None
    except OSError as error:  # such as links that go round in a circle
        raise ValueError(f"cannot write {path} ({error.strerror}).") from None
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise ValueError(f"only a file can be written; {path} is not one. Choose another path.")
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(8)}.tmp")
    # a new file has what the user's mask leaves; the content of an old one is never shown to others in between
    mode = 0o666 if before is None else 0o600
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            if before is not None:
                keep_access(stream.fileno(), before)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def keep_access(descriptor: int, before: os.stat_result) -> None:
    """Give a file the mode and the owner of another one."""
    if os.name != "posix":
        return
    here = os.fstat(descriptor)
    if (here.st_uid, here.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(PermissionError):  # only root can give files away
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the system allows it."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each durable."""
    try:
        new = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for path in reversed(new):
            sync_folder(path.parent)
    except OSError as error:
        raise ValueError(f"cannot use {folder} as a folder ({error}).") from None
