"""Learners as JSON documents: readable, versioned, bit-exact, written atomically."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import secrets
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from allais._spec import from_spec, to_spec
from allais.learner import Learner
from allais.memory import outcomes_of_arm, remembered
from allais.stream import ValueStream, stream_document, stream_from

FORMAT, STREAM_FORMAT, VERSION = "allais learner", "allais stream", 1


def document_of(learner: Learner) -> dict[str, Any]:
    """Everything a learner knows, as JSON can say it."""
    require_plain_names(learner._names)
    state = learner._state
    arms = []
    for k, name in enumerate(learner._names):
        felt, raw, counts = outcomes_of_arm(state.memory, k)
        moments = {"mean": float(state.memory.mean[k]), "spread": float(state.memory.spread[k])}
        seen = {"outcomes": raw.tolist(), "felt": felt.tolist(), "counts": counts.tolist()}
        arms.append({"name": name, "pulls": int(state.memory.pulls[k]), **moments, **seen})
    document = {
        "format": FORMAT,
        "version": VERSION,
        "policy": to_spec(learner.policy),
        "arms": arms,
        "state": {name: _numbers(getattr(state, name)) for name in state._fields if name != "memory"},
        "outstanding": [[id_, listed(arm), ticket, features] for id_, (arm, ticket, features) in learner._out.items()],
        "next": learner._next,
        "draw": learner._draw,
        "generator": _plain(learner._rng.bit_generator.state),
    }
    return {**document, "checksum": _checksum(document)}


def listed(name: Any) -> Any:
    """A tuple, such as a route, as JSON has it."""
    return [listed(part) for part in name] if isinstance(name, tuple) else name


def unlisted(name: Any) -> Any:
    """The name that `listed` wrote."""
    return tuple(unlisted(part) for part in name) if isinstance(name, list) else name


def require_plain_names(names: Iterable[Hashable]) -> None:
    """Refuse arm names that JSON would change."""
    for name in names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(
                f"only arms with names that are strings or whole numbers can be saved; got {name!r}. Rename it."
            )


def _checksum(document: dict[str, Any]) -> str:
    """Of everything else in a document, so that no damage goes unseen."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _numbers(array: Any) -> list[Any]:
    """An array as JSON has it: infinities, which JSON lacks, as strings."""
    return [x if isinstance(x, bool | int) or math.isfinite(x) else str(x) for x in array.ravel().tolist()]


def learner_from(document: Any) -> Learner:
    """The learner that a document describes."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("a saved learner must say so in its first line; this file does not. Check the path.")
    version = document.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise ValueError(
            f"a saved learner must be of version {VERSION} or older; this one is of version {version}. Update allais."
        )
    if document.get("checksum") != _checksum(document):
        raise ValueError(
            "a saved learner must be as it was written; this file is damaged (its checksum differs). Use a backup."
        )
    try:
        return _rebuilt(document)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"a saved learner must be whole; this file is damaged ({error}). Use a backup.") from error


def _rebuilt(document: dict[str, Any]) -> Learner:
    policy = from_spec(document["policy"])
    names: tuple[Hashable, ...] = tuple(arm["name"] for arm in document["arms"])
    learner = Learner(policy, names, seed=0)
    memory = remembered(
        [
            (
                np.array(arm["felt"], dtype=np.float64),
                np.array(arm["outcomes"], dtype=np.float64),
                np.array(arm["counts"], dtype=np.int64),
            )
            for arm in document["arms"]
        ],
        *(np.array([arm[name] for arm in document["arms"]], dtype=np.float64) for name in ("mean", "spread")),
    )
    memory.pulls[:] = [arm.get("pulls", memory.pulls[k]) for k, arm in enumerate(document["arms"])]
    state = learner._state
    for name in state._fields:
        if name != "memory":
            target = getattr(state, name)
            target[...] = np.array(document["state"][name], dtype=target.dtype).reshape(target.shape)
    learner._adopt(policy, names, learner._rule, state._replace(memory=memory))
    learner._out = {
        id_: (unlisted(arm), ticket, tuple(features[0]) if features and features[0] else None)
        for id_, arm, ticket, *features in document["outstanding"]
    }
    learner._next, learner._draw = document["next"], document["draw"]
    learner._rng = _generator(document["generator"])
    return learner


def _plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def _generator(state: dict[str, Any]) -> np.random.Generator:
    kind = getattr(np.random, state["bit_generator"], None)
    if kind is None:
        raise KeyError(f"unknown generator {state['bit_generator']}")
    bits = kind()
    bits.state = {
        key: np.array(value, dtype=np.uint64) if isinstance(value, list) else value for key, value in state.items()
    }
    return np.random.Generator(bits)


def write_document(learner: Learner, path: Path) -> None:
    """Write a learner's document so that at every moment the old or the new file is whole."""
    write_atomically(path, json.dumps(document_of(learner), indent=1, allow_nan=False) + "\n")


def write_stream(stream: ValueStream, path: Path) -> None:
    """Write a stream to one file."""
    header, arrays = stream_document(stream)
    write_arrays(path, {"format": STREAM_FORMAT, "version": VERSION, **header}, arrays)


def read_stream(path: Path) -> ValueStream:
    """The stream that a file holds."""
    header, arrays = read_arrays(path, STREAM_FORMAT, VERSION)
    try:
        return stream_from(header, arrays)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"a saved stream must be whole; {path} is damaged ({error}). Use a backup.") from error


def write_arrays(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write arrays to one file, NumPy's zip, with a readable header that has a format and a version."""
    memory = io.BytesIO()
    np.savez_compressed(memory, header=np.array(json.dumps(header)), **arrays)
    write_atomically(path, memory.getvalue())


def read_arrays(path: Path, format_: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file that `write_arrays` wrote."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            arrays = {name: stored[name] for name in stored.files if name != "header"}
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise ValueError(f"an {format_} is read from a file; {path} {reason}. Check the path.") from None
    except Exception as error:  # numpy raises whatever the zip reader does, and advises to trust what is no zip
        raise ValueError(
            f"an {format_} must be a whole file; {path} is none, or damaged. Check the path, or use a backup."
        ) from error
    if not isinstance(header, dict) or header.get("format") != format_ or header.get("version") != version:
        raise ValueError(f"an {format_} must be of version {version}; {path} is not. Update allais, or check the path.")
    return header, arrays


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file by one with this content; after a crash it is the old one or the new one."""
    if not path.parent.is_dir():
        raise ValueError(f"a file needs a folder that exists; got {path}. Make {path.parent} first.")
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    handle = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )  # less what the user's mask takes away
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the system allows it."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_document(path: Path) -> Learner:
    """The learner that a file holds."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"a saved learner is read from a file; {path} does not exist. Check the path.") from None
    except (ValueError, RecursionError) as error:  # of JSON, of its encoding, or of a number too long
        raise ValueError(f"a saved learner must be whole JSON; {path} is damaged ({error}). Use a backup.") from None
    except OSError as error:
        raise ValueError(f"a saved learner is one file, not a folder; {path} cannot be read ({error}).") from None
    return learner_from(document)
