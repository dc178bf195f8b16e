"""The journal of an experiment: JSON lines, one a finished run, on disk before the run is told.

The first line says which experiment it is. A line also says how many runs had been asked for when
this one came back: the choices depend on nothing else, so repeating the lines leads to the same state.
"""

from __future__ import annotations

import json
import os
import time
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais._spec import to_spec
from allais.experiment.runs import Outcome, Run
from allais.experiment.search import Search
from allais.journal import locked
from allais.policies.base import Policy
from allais.problems import Problem
from allais.storage import require_plain_names, sync_folder

FORMAT, VERSION = "allais runs", 1


def identity(problem: Problem, policy: Policy, root: np.random.SeedSequence) -> dict[str, Any]:
    """What must be the same for a journal to be continued."""
    require_plain_names(problem.arms)
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": repr(problem),
        "arms": list(problem.arms),
        "policy": to_spec(policy),
        "seed": [str(root.entropy), *root.spawn_key],  # as text: it may exceed what other readers hold
    }


class RunJournal:
    """Every finished run, durable; one process at a time."""

    def __init__(self, path: Path, experiment: dict[str, Any]) -> None:
        self.path, self.arms = path, experiment["arms"]
        try:
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise ValueError(
                f"a journal is a file in a folder that exists; {path} cannot be one ({error.strerror})."
            ) from None
        try:
            locked(self._file, f"one process at a time may write a journal; {path} is open in another.")
            self._entries = self._read(experiment)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> RunJournal:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def repeat(self, search: Search) -> None:
        """Bring a new search to where the journal ends."""
        for entry in self._entries:
            while search.asked < entry["asked"] and search.ask() is not None:
                pass
            run = Run(self.arms.index(entry["arm"]), entry["index"], entry["seed"])
            if search.asked != entry["asked"] or run not in search.out:
                raise ValueError(f"a journal must repeat to the same runs; {self.path} does not. Use a backup.")
            search.take_in(run, Outcome(entry["reward"], entry["seconds"], entry.get("failure")))
        search.settle()  # else what was out when the answer was found would be run in vain

    def write(self, finished: Sequence[tuple[Run, Outcome]], asked: int) -> None:
        """Append runs that have come back; they are on disk when this returns."""
        now = round(time.time(), 3)
        lines = b""
        for run, outcome in finished:
            entry = {
                "arm": self.arms[run.arm],
                "index": run.number,
                "seed": run.seed,
                "reward": outcome.reward,
                "seconds": round(outcome.seconds, 6),
                "at": now,
                "asked": asked,
            }
            lines += _line(entry if outcome.failure is None else {**entry, "failure": outcome.failure})
        self._append(lines)

    def _append(self, lines: bytes) -> None:
        while lines:  # a full disk may take a part of it
            lines = lines[self._file.write(lines) :]
        os.fsync(self._file.fileno())

    def _read(self, experiment: dict[str, Any]) -> list[dict[str, Any]]:
        self._file.seek(0)
        data = self._file.readall()
        entries, whole = _entries(data, self.path)
        if whole < len(data):
            warnings.warn(
                f"the last line of {self.path} was cut off while it was written; it is dropped.", stacklevel=4
            )
            self._file.truncate(whole)
        if not entries:
            self._append(_line(experiment))
            sync_folder(self.path.parent)
            return []
        _require_same(entries[0], experiment, self.path)
        return entries[1:]


def _require_same(found: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    if found.get("format") != FORMAT:
        raise ValueError(f"a journal begins with what it is of; {path} does not. Check the path.")
    if found.get("version") != VERSION:
        raise ValueError(f"a journal must be of version {VERSION}; {path} is of {found.get('version')}. Update allais.")
    for part in ("problem", "arms", "policy", "seed"):
        if found.get(part) != wanted[part]:
            raise ValueError(
                f"a journal continues the experiment it was made by; {path} has another {part} "
                f"({_short(found.get(part))}, not {_short(wanted[part])}). Use another journal, or the old settings."
            )


def _short(thing: Any) -> str:
    text = thing if isinstance(thing, str) else json.dumps(thing)
    return text if len(text) <= 160 else text[:157] + "..."


def _line(entry: dict[str, Any]) -> bytes:
    content = json.dumps(entry, allow_nan=False)
    return json.dumps({**entry, "check": zlib.crc32(content.encode())}, allow_nan=False).encode() + b"\n"


def _entries(data: bytes, path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole lines, and how many bytes they are; a last line without its end was torn."""
    entries: list[dict[str, Any]] = []
    whole = 0
    for line in data.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        try:
            entry = json.loads(line)
            check = entry.pop("check")
        except (ValueError, KeyError, AttributeError, TypeError):
            check, entry = None, None
        if entry is None or check != zlib.crc32(json.dumps(entry, allow_nan=False).encode()):
            if whole + len(line) == len(data):
                break
            raise ValueError(f"a journal may be torn at its end only; {path} is damaged in line {len(entries) + 1}.")
        entries.append(entry)
        whole += len(line)
    return entries, whole
