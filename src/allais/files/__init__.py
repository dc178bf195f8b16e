"""Files that are whole at every moment and locked by one process; and files that are read: damage is refused."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import math
import os
import secrets
import stat
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais.errors import MissingFile

LOCK = "lock"  # the file of a folder
Where = Callable[[int], str]  # how a message names a row of a table, counted from 0


def locked(handle: Any, refusal: str) -> None:
    """Lock a file until it is closed; refuse if another process has locked it."""
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
    """In a forked child, release the parent's locks: a worker that outlives its parent must not keep them."""
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


@contextlib.contextmanager
def reading(path: Path, rule: str, kind: str = "file") -> Iterator[None]:
    """Within, a file is read; where that fails, one sentence says why.

    Args:
        path: The file.
        rule: What is read from it, such as "a preference is".
        kind: What it is, such as "CSV file".
    """
    try:
        yield
    except FileNotFoundError:
        raise MissingFile(f"{rule} read from a {kind}; {path} does not exist. Check the path.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{rule} read from a {kind}; {path} cannot be read ({why}). Check it.") from None


def text_of(path: Path, rule: str) -> str:
    """The text of a file; `rule` says what is read from it, such as "a preference is"."""
    with reading(path, rule):
        return path.read_text(encoding="utf-8")


def by_row(row: int) -> str:
    """How a message names a row of a table: its number, from 1."""
    return f"row {row + 1}"


def by_line(lines: Sequence[int]) -> Where:
    """How a message names a row of a file: the line on which it begins, as editors count."""
    return lambda row: f"line {lines[row]}"


def csv_rows(path: Path, what: str) -> tuple[list[str], list[list[str]], list[int]]:
    """The names of the columns of a CSV file, its rows but for empty ones, and the lines on which these begin.

    Args:
        path: The file.
        what: What the rows are, such as "choices".
    """
    rows, lines, begin = [], [], 1
    with reading(path, f"{what} are", "CSV file"), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        for cells in reader:
            if any(cells):
                rows.append(cells)
                lines.append(begin)
            begin = reader.line_num + 1
    if not rows:
        raise ValueError(f"a CSV file begins with the names of its columns; {path} is empty. Check it.")
    return [name.strip() for name in rows[0]], rows[1:], lines[1:]


def write_arrays(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write arrays to one file, NumPy's zip, with a readable header that has a format and a version."""
    memory = io.BytesIO()
    np.savez_compressed(memory, header=np.array(json.dumps(header)), **arrays)
    write_atomically(path, memory.getvalue())


def read_arrays(path: Path, format_: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file that `write_arrays` wrote."""
    with reading(path, f"an {format_} is"):
        content = path.read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            arrays = {name: stored[name] for name in stored.files if name != "header"}
    except Exception as error:  # NumPy raises what the zip reader raises, and advises to trust what is not a zip
        raise ValueError(f"{path} is not an {format_}, or is damaged. Check the path, or use a backup.") from error
    about = header if isinstance(header, dict) else {}
    if about.get("format") != format_ or about.get("version") not in range(1, version + 1):
        raise ValueError(f"an {format_} must be of version {version}; {path} is not. Update allais, or check the path.")
    return header, arrays


GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
INFINITIES = ("inf", "-inf", "nan")  # which JSON lacks; they are written as text
LARGEST_COUNT = 2**62  # so that sums of two fit


class Damaged(Exception):  # noqa: N818
    """Something in a file is invalid; whoever reads it says which file."""


# what reading a damaged file may raise, beside our own errors
DAMAGE = (Damaged, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError, MemoryError)


@contextlib.contextmanager
def undamaged(rule: str, name: object) -> Iterator[None]:
    """Within, a document is made into what it describes; where it is damaged, one sentence says so.

    Args:
        rule: What must be whole, such as "an interview".
        name: What the message calls the document, such as its path.
    """
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"{rule} must be whole; {name} is damaged ({reason(error)}). Use a backup.") from None


def require(valid: object, what: str) -> None:
    """Raise `Damaged` unless what a file says is valid."""
    if not valid:
        raise Damaged(what)


def whole(number: Any, what: str, least: int = 0, most: int = LARGEST_COUNT) -> int:
    """A whole number of a file."""
    require(type(number) is int and least <= number <= most, f"{what} cannot be {_short(number)}")
    return int(number)


def finite(number: Any, what: str) -> float:
    """A finite number of a file."""
    require(type(number) in (int, float) and math.isfinite(number), f"{what} cannot be {_short(number)}")
    return float(number)


def _short(thing: Any) -> str:
    text = repr(thing)
    return text if len(text) <= 40 else f"{text[:37]}..."


def finite_list(numbers: Any, what: str) -> FloatArray:
    """A list of finite numbers of a file."""
    require(isinstance(numbers, list), f"{what} must be a list")
    return np.array([finite(number, what) for number in numbers], dtype=np.float64)


def whole_list(numbers: Any, what: str, least: int) -> IntArray:
    """A list of whole numbers of a file."""
    require(isinstance(numbers, list), f"{what} must be a list")
    return np.array([whole(number, what, least) for number in numbers], dtype=np.int64)


def array_like(numbers: Any, target: NDArray[Any], what: str) -> NDArray[Any]:
    """A list of a file as an array of the kind and the shape that another one has; or where it is not 0, and what."""
    if isinstance(numbers, dict):
        at, dense = whole_list(numbers["at"], f"a place in {what}", least=0), np.zeros(target.size, target.dtype)
        require(at.max(initial=-1) < target.size, f"{what} must have {target.size} entries")
        dense[at] = array_like(numbers["numbers"], dense[at], what)
        return dense.reshape(target.shape)
    require(isinstance(numbers, list) and len(numbers) == target.size, f"{what} must have {target.size} entries")
    if target.dtype == np.bool_:
        require(all(type(entry) is bool for entry in numbers), f"{what} must be true or false")
    elif np.issubdtype(target.dtype, np.integer):
        limits = np.iinfo(target.dtype)
        for entry in numbers:
            whole(entry, what, int(limits.min), int(limits.max))
    else:
        for entry in numbers:
            number = entry in INFINITIES if isinstance(entry, str) else type(entry) in (int, float)
            require(number, f"{what} must be numbers")
    return np.array(numbers, dtype=target.dtype).reshape(target.shape)


def generator_of(state: Any) -> np.random.Generator:
    """The random generator that a file describes; its state must come back as it was given."""
    require(isinstance(state, dict) and state.get("bit_generator") in GENERATORS, "the generator is unknown")
    bits: Any = getattr(np.random, state["bit_generator"])()
    given = {key: _arrays(value) for key, value in state.items()}
    bits.state = given
    require(plain(bits.state) == plain(given), "the generator's state is invalid")
    inner = state["state"]
    places = (inner.get("pos", 0), 624), (state.get("buffer_pos", 0), 4), (state.get("has_uint32", 0), 1)
    require(all(0 <= place <= most for place, most in places), "the generator's state is invalid")
    return np.random.Generator(bits)


def _arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _arrays(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return np.array([whole(entry, "the generator", 0, 2**64 - 1) for entry in value], np.uint64)
    return value


def plain(state: Any) -> Any:
    """A generator's state as JSON has it."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def checksum(document: dict[str, Any]) -> str:
    """The checksum of everything else in a document, so that any damage is noticed."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def reason(error: Exception) -> str:
    """What is wrong with a file, in a few words."""
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else str(error)
