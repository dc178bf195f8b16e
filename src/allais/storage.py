"""Learners as JSON documents: readable, versioned, bit-exact, written atomically."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from allais._spec import from_spec, to_spec
from allais.learner import Learner
from allais.memory import empty_memory, grown

FORMAT, VERSION = "allais learner", 1


def document_of(learner: Learner) -> dict[str, Any]:
    """Everything a learner knows, as JSON can say it."""
    for name in learner._names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(
                f"only arms with names that are strings or whole numbers can be saved; got {name!r}. Rename it."
            )
    state, memory = learner._state, learner._state.memory
    arms = []
    for k, name in enumerate(learner._names):
        size = int(memory.sizes[k])
        arms.append(
            {
                "name": name,
                "outcomes": memory.raw[k, :size].tolist(),
                "felt": memory.felt[k, :size].tolist(),
                "counts": memory.counts[k, :size].tolist(),
            }
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "policy": to_spec(learner.policy),
        "arms": arms,
        "state": {name: _numbers(getattr(state, name)) for name in state._fields if name != "memory"},
        "outstanding": [[id_, arm, ticket] for id_, (arm, ticket) in learner._out.items()],
        "next": learner._next,
        "draw": learner._draw,
        "generator": _plain(learner._rng.bit_generator.state),
    }


def _numbers(array: Any) -> list[Any]:
    """An array as JSON has it: infinities, which JSON lacks, as strings."""
    return [x if isinstance(x, bool | int) or math.isfinite(x) else str(x) for x in array.ravel().tolist()]


def learner_from(document: Any) -> Learner:
    """The learner that a document describes."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("a saved learner must say so in its first line; this file does not. Check the path.")
    if not isinstance(document.get("version"), int) or document["version"] > VERSION:
        raise ValueError(
            f"a saved learner must be of version {VERSION} or older; this one is of version "
            f"{document.get('version')}. Update allais."
        )
    try:
        return _rebuilt(document)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"a saved learner must be whole; this file is damaged ({error}). Use a backup.") from error


def _rebuilt(document: dict[str, Any]) -> Learner:
    policy = from_spec(document["policy"])
    names: tuple[Hashable, ...] = tuple(arm["name"] for arm in document["arms"])
    learner = Learner(policy, names, seed=0)
    memory = empty_memory(len(names))
    while memory.felt.shape[1] < max(len(arm["counts"]) for arm in document["arms"]):
        memory = grown(memory)
    for k, arm in enumerate(document["arms"]):
        size = len(arm["counts"])
        memory.felt[k, :size], memory.raw[k, :size] = arm["felt"], arm["outcomes"]
        memory.counts[k, :size] = arm["counts"]
        memory.sizes[k], memory.pulls[k] = size, sum(arm["counts"])
    state = learner._state
    for name in state._fields:
        if name != "memory":
            target = getattr(state, name)
            target[...] = np.array(document["state"][name], dtype=target.dtype).reshape(target.shape)
    learner._adopt(policy, names, learner._rule, state._replace(memory=memory))
    learner._out = {id_: (arm, ticket) for id_, arm, ticket in document["outstanding"]}
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


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by one with this text; after a crash it is the old one or the new one."""
    if not path.parent.is_dir():
        raise ValueError(f"a file needs a folder that exists; got {path}. Make {path.parent} first.")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
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
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"a saved learner must be whole JSON; {path} is damaged ({error}). Use a backup.") from None
    return learner_from(document)
