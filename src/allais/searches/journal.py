"""The journal of an experiment: JSON lines, one for each finished run, on disk before the run is told.

The first line says which experiment it is. A line also says how many runs had been asked for when
this one came back: the choices depend on nothing else, so repeating the lines leads to the same state.

A run depends on its arm and number alone. So when the policy changes, another first line is appended, and
the search that follows begins anew and takes in the runs above that line as soon as it asks for them.
"""

from __future__ import annotations

import json
import os
import stat
import time
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais.errors import RunFailed, RunRefused
from allais.files.atomic import sync_folder
from allais.files.locks import locked
from allais.learner.document import require_plain_names
from allais.policies.base import Policy
from allais.problems import Problem
from allais.searches.asynchronous import Search
from allais.searches.changes import changes
from allais.searches.log import FailureLog
from allais.searches.runs import Outcome, Run
from allais.settings import to_spec

FORMAT, VERSION = "allais runs", 1
BEGINNING = json.dumps({"format": FORMAT})[:-1].encode()  # of every journal's first line


def identity(problem: Problem, policy: Policy, root: np.random.SeedSequence) -> dict[str, Any]:
    """The experiment that a journal is of: all of it but the policy must be the same for it to be continued."""
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
        path = path.absolute()  # wherever the process goes later
        self.path, self.arms = path, experiment["arms"]
        self.log = FailureLog(path)
        self._experiment = experiment
        try:
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise ValueError(
                f"a journal is a file in a folder that exists; {path} cannot be one ({error.strerror})."
            ) from None
        try:
            locked(self._file, f"one process at a time may write a journal; {path} is open in another.")
            self._entries = self._read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> RunJournal:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def repeat(self, search: Search) -> None:
        """Bring a new search to where the journal ends, or have it use the runs of another policy."""
        last = max(number for number, entry in enumerate(self._entries) if "format" in entry)
        before, header, after = self._entries[:last], self._entries[last], self._entries[last + 1 :]
        different = ", ".join(changes(header["policy"], self._experiment["policy"]))
        if not different:
            search.restart(self._known(before))
            if self._repeats(search, after):
                search.notice_settled()  # else what was out when the answer was found would be run in vain
                return
            different = "its lines do not lead to the same choices"
        known = self._known(self._entries)
        try:
            search.restart(known)
        except RunRefused as error:
            raise ValueError(
                f"{self.path} holds what the policy rules out now ({different}): {error} Or use another journal."
            ) from None
        self._append(_line(self._experiment))
        runs = f"its {len(known):,} finished runs are used again" if known else "it holds no finished run yet"
        warnings.warn(f"{self.path} was written by another policy ({different}); {runs}.", stacklevel=3)

    def _repeats(self, search: Search, entries: Sequence[dict[str, Any]]) -> bool:
        """Whether repeating the events leads to the same choices."""
        for entry in entries:
            if "refused" in entry:
                continue
            while search.asked < entry["asked"] and search.ask(entry["asked"]) is not None:
                pass
            run = self._run(entry)
            if search.asked != entry["asked"] or run not in search.out:
                return False
            search.take_in(run, Outcome(entry["reward"], entry["seconds"], entry.get("failure")))
        return True

    def _known(self, entries: Sequence[dict[str, Any]]) -> dict[Run, Outcome]:
        """The runs that gave a reward of their own; what a failure counts as may have changed, so it is done again."""
        return {
            self._run(entry): Outcome(entry["reward"], entry["seconds"])
            for entry in entries
            if "format" not in entry and "failure" not in entry
        }

    def _run(self, entry: dict[str, Any]) -> Run:
        return Run(self.arms.index(entry["arm"]), entry["index"], entry["seed"])

    def write(self, finished: Sequence[tuple[Run, Outcome]], asked: int, *, refused: bool = False) -> None:
        """Append runs that have come back; they are on disk when this returns.

        A run whose outcome the policy refused is kept, too, for another policy that admits it.
        """
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
                **({"refused": True} if refused else {}),
            }
            lines += _line(entry if outcome.failure is None else {**entry, "failure": outcome.failure})
        self._append(lines)

    def _append(self, lines: bytes) -> None:
        try:
            while lines:  # a full disk may take a part of it
                lines = lines[self._file.write(lines) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunFailed(
                f"a run counts when it is written down; {self.path} cannot be written ({error.strerror}). Make room."
            ) from error

    def _read(self) -> list[dict[str, Any]]:
        """The lines of a file that is ours; one that is not, is left as it is."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise ValueError(f"a journal is a file; {self.path} is something else. Check the path.")
        self._file.seek(0)
        beginning = self._file.read(len(BEGINNING))
        if beginning and beginning != BEGINNING:
            raise ValueError(f"a journal begins with what it is of; {self.path} does not. Check the path.")
        data = beginning + self._file.readall()
        entries, whole = _entries(data, self.path)
        if any("format" not in entry for entry in entries):
            _require_same(entries[0], self._experiment, self.path)
        else:
            entries, whole = [], 0  # no run was finished, so it may become the journal of another experiment
        if whole < len(data):
            if not data.endswith(b"\n"):
                warnings.warn(
                    f"the last line of {self.path} was cut off while it was written; it is dropped.", stacklevel=4
                )
            self._file.truncate(whole)
        if not entries:
            self._append(_line(self._experiment))
            sync_folder(self.path.parent)
            return [self._experiment]
        return entries


def finished_runs(path: Path) -> int:
    """How many runs a journal holds; none where there is no journal."""
    try:
        entries, _ = _entries(path.read_bytes(), path)
    except (OSError, ValueError):
        return 0
    return sum("format" not in entry for entry in entries)


def _require_same(found: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    if found.get("version") != VERSION:
        raise ValueError(f"a journal must be of version {VERSION}; {path} is of {found.get('version')}. Update allais.")
    for part in ("arms", "problem", "seed"):  # a problem shows its arms, so these come first
        if different := changes(found.get(part), wanted[part]):
            raise ValueError(
                f"a journal continues the experiment it was made by; that of {path} has another {part}: "
                f"{different[0]}. Use another journal, or the old settings."
            )


def _line(entry: dict[str, Any]) -> bytes:
    content = json.dumps(entry, allow_nan=False)
    return json.dumps({**entry, "check": zlib.crc32(content.encode())}, allow_nan=False).encode() + b"\n"


def _entries(data: bytes, path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole lines, and how many bytes they are; only a last line without its end was torn."""
    *lines, torn = data.split(b"\n")
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            check = entry.pop("check")
            whole = check == zlib.crc32(json.dumps(entry, allow_nan=False).encode())
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            whole = False
        if not whole:
            advice = "Use a backup, or delete the line: its run is done again." if entries else "Use a backup."
            raise ValueError(f"a journal may be torn at its end only; {path} is damaged in line {number}. {advice}")
        entries.append(entry)
    return entries, len(data) - len(torn)
