"""A learner that lives in a folder: an append-only journal with snapshots.

Every accepted call is one line, on disk before the call returns. Opening reads the last snapshot
and repeats the lines after it. A snapshot is written when the journal has as many lines as the
learner has distinct outcomes (and a few thousand at least), so that the cost of a call does not
grow with the history.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
import weakref
import zlib
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, overload

from numpy.typing import ArrayLike

from allais._checks import finite_list, require, whole
from allais._random import Seed
from allais._spec import checked_trust, from_spec, modules_of, to_spec
from allais.armsets import ArmSet
from allais.errors import finite_array
from allais.learner import Choice, Learner, NotNow
from allais.policies.base import Policy
from allais.problems.base import checked_names
from allais.rewards import Rewards
from allais.storage import (
    DAMAGE,
    checksum,
    document_of,
    keep_access,
    learner_from,
    listed,
    reason,
    require_plain_names,
    unlisted,
    write_atomically,
)

SNAPSHOT, LOCK = "snapshot.json", "lock"
FEWEST_LINES = 4096  # between snapshots


class JournaledLearner(Learner):
    """A learner whose every accepted call is durable; see `Learner.open`."""

    _folder: Path
    _lock: Any
    _journal: Any
    _lines: int
    _number: int
    _began: dict[str, Any]  # the policy and the arms that the folder was made with

    @overload
    def ask(self, *, features: ArrayLike | None = None, among: ArmSet | None = None) -> Choice: ...
    @overload
    def ask(self, n: int) -> list[Choice]: ...
    def ask(
        self, n: int | None = None, *, features: ArrayLike | None = None, among: ArmSet | None = None
    ) -> Choice | list[Choice]:
        """The next arm to play, or a batch; written down before it is returned."""
        self._require_folder()
        if features is not None or among is not None:
            chosen = super().ask(n, features=features, among=among)  # type: ignore[call-overload]  # refuses a batch
            # the arm is written down, not the set: repeating needs no oracle
            arm, _, row = self._out[chosen.id]
            self._write({"chose": chosen.id, "arm": listed(arm), "features": list(row or ())})
            return chosen
        asked = super().ask() if n is None else super().ask(n)
        batch = [asked] if isinstance(asked, Choice) else asked
        self._write({"ask": [[choice.id, choice.arm] for choice in batch]})
        return asked

    def tell(self, choice: Choice | int, reward: float) -> None:
        """What a choice brought; durable when the call returns."""
        self._require_folder()
        super().tell(choice, reward)
        self._write({"tell": choice if isinstance(choice, int) else choice.id, "reward": float(reward)})

    def cancel(self, choice: Choice | int) -> None:
        """Give a lost choice back."""
        self._require_folder()
        super().cancel(choice)
        self._write({"cancel": choice if isinstance(choice, int) else choice.id})

    def observe(self, arm: Hashable, rewards: ArrayLike) -> None:
        """Feed in what was known of an arm before."""
        self._require_folder()
        outcomes = finite_array("rewards", rewards)
        super().observe(arm, outcomes)
        self._write({"observe": self._names[self._arm(arm)], "rewards": outcomes.tolist()})

    def forget(self, arm: Hashable, reward: float) -> None:
        """Take back one outcome of an arm."""
        self._require_folder()
        super().forget(arm, reward)
        self._write({"forget": self._names[self._arm(arm)], "reward": float(reward)})

    def add(self, arm: Hashable, rewards: Rewards | None = None) -> None:
        """Bring a new arm into play."""
        self._require_folder()
        require_plain_names([arm])
        super().add(arm, rewards)
        self._write({"add": arm, "rewards": to_spec(rewards)})

    def retire(self, arm: Hashable) -> None:
        """Take an arm out of play."""
        self._require_folder()
        super().retire(arm)
        self._write({"retire": self._names[self._arm(arm)]})

    def copy(self) -> Learner:
        """An independent learner in memory, which no longer writes to the folder."""
        document = document_of(self)
        return learner_from(json.loads(json.dumps(document)), modules_of(document["policy"]))

    def close(self) -> None:
        """Let go of the folder, so that another process can open it."""
        journal, self._journal = self._journal, None
        if journal is not None:
            with contextlib.suppress(OSError):  # what was accepted is on disk already
                journal.close()
            self._lock.close()

    def __enter__(self) -> JournaledLearner:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _require_folder(self) -> None:
        if self._journal is None:
            raise ValueError(f"the folder {self._folder} was closed; nothing was changed. Open it again to go on.")

    def _write(self, entry: dict[str, Any]) -> None:
        try:
            line = _line({"n": self._lines + 1, **entry})
            while line:  # a full disk may take a part of it
                line = line[self._journal.write(line) :]
            os.fsync(self._journal.fileno())
        except BaseException:
            # memory is ahead of the folder now, and the folder is the truth: open it again to go on
            self.close()
            raise
        self._lines += 1
        if self._lines >= max(FEWEST_LINES, int(self._distinct())):
            try:
                self._snapshot()
            except OSError:  # the call itself is on disk; which snapshot is, opening will find out
                self.close()

    def _distinct(self) -> int:
        memory = self._state.memory
        return int(memory.sizes.sum() + memory.forest.trees[:, 1].sum())

    def _snapshot(self) -> None:
        """Begin a new journal: the snapshot names it, so that a crash in between loses nothing."""
        self._settle_memory()
        number = self._number + 1
        snapshot = {"journal": number, "began": self._began, "learner": document_of(self)}
        content = json.dumps({**snapshot, "checksum": checksum(snapshot)}, allow_nan=False) + "\n"
        fresh = open(self._folder / _journal_name(number), "wb", buffering=0)  # noqa: SIM115
        try:
            if self._journal is not None:
                keep_access(fresh.fileno(), os.fstat(self._journal.fileno()))
            write_atomically(self._folder / SNAPSHOT, content)
        except BaseException:
            fresh.close()
            raise
        old, self._journal, self._number, self._lines = self._journal, fresh, number, 0
        if old is not None:
            old.close()
        _tidy(self._folder, number)


def _tidy(folder: Path, number: int) -> None:
    """Remove what a snapshot has made superfluous, or a crash has left half written."""
    for path in folder.iterdir():
        stale = path.name.startswith("journal-") and path.name != _journal_name(number)
        if stale or (path.name.startswith(SNAPSHOT) and path.suffix == ".tmp"):
            path.unlink(missing_ok=True)


def open_journal(
    folder: Path,
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    seed: Seed | None,
    trust: Sequence[str] = (),
    exact: bool | None = None,
) -> JournaledLearner:
    """The learner of a folder, made on the first call."""
    checked_trust(trust)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"a durable learner lives in a folder; {folder} cannot be one ({error}).") from None
    lock = _locked(folder)
    try:
        if (folder / SNAPSHOT).exists():
            # whoever has the policy at hand has imported its modules
            named = [] if policy is None else modules_of(to_spec(policy))
            return _reopened(folder, lock, policy, arms, [*trust, *named], exact)
        if any(path.stat().st_size for path in folder.glob("journal-*")):
            raise ValueError(f"a folder with a journal needs its snapshot; {folder} has none. Use a backup.")
        if policy is None or arms is None or seed is None:
            raise ValueError(
                f"a new folder needs policy, arms and seed; {folder} holds no learner yet. Give all three."
            )
        learner = JournaledLearner(policy, arms, seed, exact=bool(exact))
        learner._began = _beginning(policy, learner._names)  # refuses what cannot be saved
        _attach(learner, folder, lock, number=0, lines=0, journal=None)
        learner._snapshot()
    except BaseException:
        lock.close()
        raise
    return learner


def _reopened(
    folder: Path,
    lock: Any,
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    trust: Sequence[str],
    exact: bool | None,
) -> JournaledLearner:
    try:
        snapshot = json.loads((folder / SNAPSHOT).read_text(encoding="utf-8"))
        number, document, began = _parts(snapshot)
    except (ValueError, *DAMAGE) as error:
        raise ValueError(
            f"a snapshot must be whole; {folder / SNAPSHOT} is damaged ({reason(error)}). Use a backup."
        ) from None
    learner = learner_from(document, trust)
    learner.__class__ = JournaledLearner
    assert isinstance(learner, JournaledLearner)
    path = folder / _journal_name(number)
    if not path.exists():
        raise ValueError(f"a folder with a snapshot needs its journal; {path} is missing. Use a backup.")
    entries, whole = _entries(path)
    learner._began = began
    learner._lines, learner._journal = -(10**12), None  # repeating writes nothing
    for line, entry in enumerate(entries, start=1):
        try:
            _repeat(learner, entry, path, trust)
        except (NotNow, *DAMAGE) as error:
            raise ValueError(
                f"a journal must hold what was done; line {line} of {path} does not ({reason(error)}). Use a backup."
            ) from None
    if arms is not None and [*checked_names(arms)] != began["arms"]:
        raise ValueError(
            f"a folder keeps the arms it began with; {folder} has {began['arms']}, got {arms!r}. "
            "Leave arms out, or add() and retire() them."
        )
    if policy is not None and to_spec(policy) != began["policy"]:
        raise ValueError(
            f"a folder keeps the policy it began with; {folder} has {learner.policy!r}, got {policy!r}. "
            "Leave policy out, or use another folder."
        )
    if exact is not None and exact != learner.exact:
        raise ValueError(
            f"a folder keeps the memory it began with; {folder} has exact={learner.exact}, got {exact}. "
            "Leave exact out, or use another folder."
        )
    journal = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115
    journal.truncate(whole)
    journal.seek(whole)
    _attach(learner, folder, lock, number=number, lines=len(entries), journal=journal)
    _tidy(folder, number)
    return learner


def _parts(snapshot: Any) -> tuple[int, Any, dict[str, Any]]:
    """The number of a snapshot's journal, its learner, and what its folder began with."""
    require(isinstance(snapshot, dict), "it is no mapping")
    # version 0.1.0 wrote no checksum of the whole, only the learner's own
    require(snapshot.get("checksum", checksum(snapshot)) == checksum(snapshot), "its checksum differs")
    began = snapshot["began"]
    require(isinstance(began["policy"], dict) and isinstance(began["arms"], list), "it does not say how it began")
    return whole(snapshot["journal"], "the number of a journal"), snapshot["learner"], began


def _beginning(policy: Policy, names: Sequence[Hashable]) -> dict[str, Any]:
    require_plain_names(names)
    return {"policy": to_spec(policy), "arms": list(names)}


def _attach(learner: JournaledLearner, folder: Path, lock: Any, *, number: int, lines: int, journal: Any) -> None:
    learner._folder, learner._lock, learner._journal = folder, lock, journal
    learner._number, learner._lines = number, lines


def _repeat(learner: JournaledLearner, entry: dict[str, Any], path: Path, trust: Sequence[str]) -> None:
    """Do again what a line says was done."""
    if "ask" in entry:
        if not all(learner._ask_again(id_, name) for id_, name in entry["ask"]):
            raise ValueError(f"a journal must repeat to the same choices; {path} does not. Use a backup.")
    elif "chose" in entry:
        features = tuple(finite_list(entry["features"], "features").tolist())
        learner._require_features(len(features))
        chosen = learner._recorded(unlisted(entry["arm"]), features)
        if chosen.id != entry["chose"]:
            raise ValueError(f"a journal must repeat to the same choices; {path} does not. Use a backup.")
    elif "tell" in entry:
        Learner.tell(learner, entry["tell"], entry["reward"])
    elif "cancel" in entry:
        Learner.cancel(learner, entry["cancel"])
    elif "observe" in entry:
        Learner.observe(learner, entry["observe"], entry["rewards"])
    elif "forget" in entry:
        Learner.forget(learner, entry["forget"], entry["reward"])
    elif "add" in entry:
        Learner.add(learner, entry["add"], from_spec(entry["rewards"], trust))
    elif "retire" in entry:
        Learner.retire(learner, entry["retire"])
    else:
        raise ValueError(f"a journal line must be one that this version knows; got {entry}. Update allais.")


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, allow_nan=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _entries(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole lines of a journal, and how many bytes they are; a torn last line is dropped."""
    data = path.read_bytes()
    entries: list[dict[str, Any]] = []
    whole = 0
    for line in data.splitlines(keepends=True):
        text = line[9:-1]
        if not line.endswith(b"\n") or line[:8] != b"%08x" % zlib.crc32(text):
            if whole + len(line) < len(data):
                raise ValueError(
                    f"a journal may be torn at its end only; {path} is damaged in line {len(entries) + 1}."
                )
            warnings.warn(f"the last line of {path} was cut off while it was written; it is dropped.", stacklevel=4)
            break
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or entry.pop("n", None) != len(entries) + 1:
            raise ValueError(f"a journal must have every line once; {path} is damaged in line {len(entries) + 1}.")
        entries.append(entry)
        whole += len(line)
    return entries, whole


def _journal_name(number: int) -> str:
    return f"journal-{number}.jsonl"


def _locked(folder: Path) -> Any:
    handle = open(folder / LOCK, "a")  # noqa: SIM115
    try:
        locked(handle, f"one process at a time may open a folder; {folder} is open in another.")
    except ValueError:
        handle.close()
        raise
    return handle


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


def _let_go() -> None:
    """In a forked child: a worker that outlives its parent must not keep the parent's locks."""
    for handle in list(_HELD):
        handle.close()


_HELD: weakref.WeakSet[Any] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
