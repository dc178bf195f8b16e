"""A learner that lives in a folder: an append-only journal with snapshots.

Every accepted call is one line, on disk before the call returns. Opening reads the last snapshot
and repeats the lines after it. A snapshot is written when the journal has as many lines as the
learner has distinct outcomes (and a few thousand at least), so that the cost of a call does not
grow with the history.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import warnings
import weakref
import zlib
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import finite_array
from allais._random import Seed, generator
from allais.files.atomic import keep_access, sync_folder, write_atomically
from allais.files.locks import locked
from allais.files.reading import DAMAGE, checksum, finite_list, plain, reason, require, whole
from allais.learner.document import document_of, learner_from, listed, require_plain_names, unlisted, write_document
from allais.learner.learner import Choice, Learner, NotNow
from allais.linear.arm_sets import ArmSet
from allais.policies.base import Policy
from allais.problems.base import checked_names
from allais.rewards import Rewards
from allais.settings import checked_trust, from_spec, modules_of, to_spec

SNAPSHOT, LOCK = "snapshot.json", "lock"
FEWEST_LINES = 4096  # between snapshots


class JournaledLearner(Learner):
    """A learner whose every accepted call is durable; see `Learner.open`.

    A call changes memory and then writes its line. It stays `_midway` until the line is on disk, and closes the
    learner if it does not come that far: then memory is ahead of the folder, and the folder is the truth.
    """

    _durable = True

    _folder: Path
    _hold: Any  # the lock file, which keeps other processes out
    _journal: Any
    _lines: int
    _size: int  # of the journal, in bytes
    _number: int
    _began: dict[str, Any]  # how the folder was made: policy, arms and generator
    _why_closed: str = "was closed"

    @overload
    def ask(self, *, features: ArrayLike | None = None, among: ArmSet | None = None) -> Choice: ...
    @overload
    def ask(self, n: int) -> list[Choice]: ...
    def ask(
        self, n: int | None = None, *, features: ArrayLike | None = None, among: ArmSet | None = None
    ) -> Choice | list[Choice]:
        """The next arm to play, or a batch; written down before it is returned."""
        self._require_outermost()
        with self._lock, _Line(self) as line:
            if features is not None or among is not None:
                chosen = super().ask(n, features=features, among=among)  # type: ignore[call-overload]  # no batch
                # the arm is written down, not the set: repeating needs no oracle
                arm, _, row = self._out[chosen.id]
                line |= {"chose": chosen.id, "arm": listed(arm), "features": list(row or ())}
                return chosen
            asked = super().ask() if n is None else super().ask(n)
            batch = [asked] if isinstance(asked, Choice) else asked
            line["ask"] = [[choice.id, choice.arm] for choice in batch]
            return asked

    def tell(self, choice: Choice | int, reward: float) -> None:
        """What a choice brought; durable when the call returns."""
        self._require_outermost()
        with self._lock, _Line(self) as line:
            super().tell(choice, reward)
            line |= {"tell": self._id(choice), "reward": float(reward)}

    def cancel(self, choice: Choice | int) -> None:
        """Give a lost choice back."""
        self._require_outermost()
        with self._lock, _Line(self) as line:
            super().cancel(choice)
            line["cancel"] = self._id(choice)

    def observe(self, arm: Hashable, rewards: ArrayLike) -> None:
        """Feed in what was known of an arm before."""
        self._require_outermost()
        with self._lock, _Line(self) as line:
            outcomes = finite_array("rewards", rewards)
            super().observe(arm, outcomes)
            line |= {"observe": self._names[self._arm(arm)], "rewards": outcomes.tolist()}

    def forget(self, arm: Hashable, reward: float) -> None:
        """Take back one outcome of an arm."""
        self._require_outermost()
        with self._lock, _Line(self) as line:
            super().forget(arm, reward)
            line |= {"forget": self._names[self._arm(arm)], "reward": float(reward)}

    def add(self, arm: Hashable, rewards: Rewards | None = None) -> None:
        """Bring a new arm into play, or one that retired."""
        self._require_outermost()
        with self._lock, _Line(self) as line:
            require_plain_names([arm])
            super().add(arm, rewards)
            line |= {"add": arm, "rewards": to_spec(rewards)}

    def retire(self, arm: Hashable) -> None:
        """Take an arm out of play."""
        self._require_outermost()
        with self._lock, _Line(self) as line:
            super().retire(arm)
            line["retire"] = self._names[self._arm(arm)]

    def save(self, path: str | Path) -> None:
        """Write everything to one file, as it is in the folder: both go on alike, to the last bit."""
        self._require_outermost()
        with self._lock:
            self._require_whole()
            if self._journal is not None:
                self._take_snapshot()  # it lays memory out as a file will
            write_document(self, Path(path))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse `copy.copy`, `copy.deepcopy` and pickle: two learners cannot write one journal."""
        raise TypeError(
            f"one learner at a time writes a folder; {self._folder} has one already. "
            "Take learner.copy(), which lives in memory, or open the folder where it is needed."
        )

    def close(self) -> None:
        """Let go of the folder, so that another process can open it."""
        with self._lock:
            journal, self._journal = self._journal, None
            if journal is not None:
                with contextlib.suppress(OSError):  # what was accepted is on disk already
                    journal.close()
            self._hold.close()

    def __enter__(self) -> JournaledLearner:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _after_fork(self) -> None:
        super()._after_fork()
        if self._journal is not None:
            self._why_closed = "belongs to the process that opened it, and this one is a fork of it"
            self._midway = True  # what it knows is out of date as soon as the other goes on
            self.close()

    def _require_folder(self) -> None:
        if self._midway and self._journal is not None:  # broken off, and broken off again before it could close
            self._close_midway()
        if self._journal is None:
            raise ValueError(self._why_torn())

    def _broke_off(self) -> bool:
        """Whether a call was broken off, and is not merely under way in this thread."""
        return self._midway and not self._lock._is_owned()

    def _why_torn(self) -> str:
        return f"the folder {self._folder} {self._why_closed}; nothing was changed. Open it again to go on."

    def _close_midway(self) -> None:
        self._why_closed = "was closed, since a call could not be brought to its end"
        self.close()

    def _write(self, entry: dict[str, Any]) -> None:
        line = _line({"n": self._lines + 1, **entry})
        try:
            self._append(line)
        except OSError:
            raise
        except BaseException:  # of a signal's handler: the call is done in memory, so it is done on disk
            self._append(line)
            self._count_line(len(line))
            raise
        self._count_line(len(line))
        if self._lines >= max(FEWEST_LINES, int(self._distinct())):
            with contextlib.suppress(OSError):  # the call itself is on disk; which snapshot is, opening will find out
                self._take_snapshot()

    def _append(self, line: bytes) -> None:
        """Put a line at the journal's end; doing it twice is as good as once."""
        journal = self._journal
        try:
            journal.seek(self._size)
            while line:  # a full disk may take a part of it
                line = line[journal.write(line) :]
            os.fsync(journal.fileno())
        except (AttributeError, ValueError):  # what a file that is gone or closed says: a signal's handler closed it
            raise ValueError(
                f"a folder is closed between two calls; {self._folder} was in the middle of one. "
                "Open it again to see whether it was done."
            ) from None

    def _count_line(self, size: int) -> None:
        self._size += size
        self._lines += 1
        self._midway = False

    def _distinct(self) -> int:
        memory = self._state.memory
        return int(memory.sizes.sum() + memory.trees.heads[:, 1].sum())

    def _take_snapshot(self) -> None:
        """Begin a new journal, or close the learner."""
        self._midway = True
        try:
            self._snapshot()
        except BaseException:
            self._close_midway()
            raise
        self._midway = False

    def _snapshot(self) -> None:
        """Begin a new journal: the snapshot names it, so that a crash in between loses nothing."""
        self._lay_out_memory()
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
        old, self._journal, self._number, self._lines, self._size = self._journal, fresh, number, 0, 0
        if old is not None:
            old.close()
        _tidy(self._folder, number)


class _Line:
    """The line of one call: written when the call is done, or the learner closes."""

    def __init__(self, learner: JournaledLearner) -> None:
        self._learner, self._entry = learner, dict[str, Any]()

    def __enter__(self) -> dict[str, Any]:
        self._learner._require_folder()
        return self._entry

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            if kind is None:
                self._learner._write(self._entry)
        finally:
            if self._learner._midway:
                self._learner._close_midway()


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
    features: ArrayLike | None = None,
    trust: Sequence[str] = (),
    exact: bool | None = None,
) -> JournaledLearner:
    """The learner of a folder, made on the first call."""
    checked_trust(trust)
    folder = folder.resolve()  # where it is now, wherever the process goes later
    if features is not None:
        if not isinstance(policy, Policy):
            raise ValueError(f"features come with a policy; got {policy!r}. Give both, or leave both out.")
        policy = policy.with_features(features)
    rng = None if seed is None else copy.deepcopy(generator(seed))  # the caller may go on drawing from his own
    _make_folder(folder)
    hold = _locked(folder)
    try:
        if (folder / SNAPSHOT).exists():
            # whoever has the policy at hand has imported its modules
            named = [] if policy is None else modules_of(to_spec(policy))
            return _reopened(folder, hold, policy, arms, rng, [*trust, *named], exact)
        if any(path.stat().st_size for path in folder.glob("journal-*")):
            raise ValueError(f"a folder with a journal needs its snapshot; {folder} has none. Use a backup.")
        if policy is None or arms is None or rng is None:
            raise ValueError(
                f"a new folder needs policy, arms and seed; {folder} holds no learner yet. Give all three."
            )
        learner = JournaledLearner(policy, arms, rng, exact=bool(exact))
        learner._began = _beginning(learner)  # refuses what cannot be saved
        _attach(learner, folder, hold, number=0, lines=0, size=0, journal=None)
        learner._take_snapshot()
    except BaseException:
        hold.close()
        raise
    return learner


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, each durable."""
    try:
        new = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for path in reversed(new):
            sync_folder(path.parent)
    except OSError as error:
        raise ValueError(f"a durable learner lives in a folder; {folder} cannot be one ({error}).") from None


def _reopened(
    folder: Path,
    hold: Any,
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    rng: np.random.Generator | None,
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
    if number == 1:  # the first snapshot has the generator as it began; folders of version 0.1.0 do not say it
        began.setdefault("generator", document["generator"])
    _require_agreement(folder, learner, began, policy, arms, rng, exact)
    path = folder / _journal_name(number)
    if not path.exists():
        raise ValueError(f"a folder with a snapshot needs its journal; {path} is missing. Use a backup.")
    entries, whole = _entries(path)
    for line, entry in enumerate(entries, start=1):
        try:
            _repeat(learner, entry, path, trust)
        except (NotNow, *DAMAGE) as error:
            raise ValueError(
                f"a journal must hold what was done; line {line} of {path} does not ({reason(error)}). Use a backup."
            ) from None
    journal = open(path, "r+b", buffering=0)  # noqa: SIM115
    journal.truncate(whole)
    learner.__class__ = JournaledLearner
    assert isinstance(learner, JournaledLearner)
    learner._began = began
    _attach(learner, folder, hold, number=number, lines=len(entries), size=whole, journal=journal)
    _tidy(folder, number)
    return learner


def _require_agreement(
    folder: Path,
    learner: Learner,
    began: dict[str, Any],
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    rng: np.random.Generator | None,
    exact: bool | None,
) -> None:
    """Refuse what is not what the folder was made with."""
    if arms is not None and [*checked_names(arms)] != began["arms"]:
        raise ValueError(
            f"a folder keeps the arms it began with; {folder} has {began['arms']}, got {arms!r}. "
            "Leave arms out, or add() and retire() them."
        )
    given = None if policy is None else to_spec(policy)
    if policy is not None and began["policy"].get("type") == type(policy.plain()).__name__:
        given = to_spec(policy.plain())  # version 0.1.0 knew baselines by the policy that they are made from
    if isinstance(given, dict) and given.get("features", ()) is None:  # left out: the folder knows them
        given["features"] = began["policy"].get("features")
    if given is not None and given != began["policy"]:
        raise ValueError(
            f"a folder keeps the policy it began with; {folder} has {learner.policy!r}, got {policy!r}"
            f"{_other_features(given, began['policy'])}. Leave policy out, or use another folder."
        )
    # a folder of version 0.1.0 that has lived on no longer knows its seed
    if rng is not None and plain(rng.bit_generator.state) != began.get("generator", plain(rng.bit_generator.state)):
        raise ValueError(
            f"a folder keeps the seed it began with; {folder} has another. Leave seed out, or use another folder."
        )
    if exact is not None and exact != learner.exact:
        raise ValueError(
            f"a folder keeps the memory it began with; {folder} has exact={learner.exact}, got {exact}. "
            "Leave exact out, or use another folder."
        )


def _parts(snapshot: Any) -> tuple[int, Any, dict[str, Any]]:
    """The number of a snapshot's journal, its learner, and what its folder began with."""
    require(isinstance(snapshot, dict), "it is no mapping")
    # version 0.1.0 wrote no checksum of the whole, only the learner's own
    require(snapshot.get("checksum", checksum(snapshot)) == checksum(snapshot), "its checksum differs")
    began = snapshot["began"]
    require(isinstance(began["policy"], dict) and isinstance(began["arms"], list), "it does not say how it began")
    return whole(snapshot["journal"], "the number of a journal"), snapshot["learner"], began


def _other_features(given: Any, began: Any) -> str:
    """Say so where only what a policy does not show differs."""
    alike = isinstance(given, dict) and {**given, "features": None} == {**began, "features": None}
    return " with other features" if alike else ""


def _beginning(learner: Learner) -> dict[str, Any]:
    require_plain_names(learner._names)
    return {
        "policy": to_spec(learner.policy),
        "arms": list(learner._names),
        "generator": plain(learner._rng.bit_generator.state),
    }


def _attach(
    learner: JournaledLearner, folder: Path, hold: Any, *, number: int, lines: int, size: int, journal: Any
) -> None:
    learner._folder, learner._hold, learner._journal = folder, hold, journal
    learner._number, learner._lines, learner._size = number, lines, size
    _OPEN.add(learner)


def _repeat(learner: Learner, entry: dict[str, Any], path: Path, trust: Sequence[str]) -> None:
    """Do again what a line says was done."""
    if "ask" in entry:
        if not all(learner._ask_again(id_, name) for id_, name in entry["ask"]):
            raise ValueError(f"a journal must repeat to the same choices; {path} does not. Use a backup.")
    elif "chose" in entry:
        features = tuple(finite_list(entry["features"], "features").tolist())
        learner._require_features(len(features))
        chosen = learner._issued(unlisted(entry["arm"]), features)
        if chosen.id != entry["chose"]:
            raise ValueError(f"a journal must repeat to the same choices; {path} does not. Use a backup.")
    elif "tell" in entry:
        learner.tell(entry["tell"], entry["reward"])
    elif "cancel" in entry:
        learner.cancel(entry["cancel"])
    elif "observe" in entry:
        learner.observe(entry["observe"], entry["rewards"])
    elif "forget" in entry:
        learner.forget(entry["forget"], entry["reward"])
    elif "add" in entry:
        learner.add(entry["add"], from_spec(entry["rewards"], trust))
    elif "retire" in entry:
        learner.retire(entry["retire"])
    else:
        raise ValueError(f"a journal line must be one that this version knows; got {entry}. Update allais.")


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, allow_nan=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _entries(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole lines of a journal, and how many bytes they are.

    A line that ends was acknowledged, or may have been: if it is not as it was written, that is damage. The end of
    a line is written last, so one without it was cut off while it was written; it is dropped.
    """
    *lines, rest = path.read_bytes().split(b"\n")
    entries: list[dict[str, Any]] = []
    for line in lines:
        entry = _entry(line)
        if entry is None or entry.pop("n", None) != len(entries) + 1:
            raise ValueError(
                f"a journal must be as it was written; {path} is damaged in line {len(entries) + 1}. Use a backup."
            )
        entries.append(entry)
    if _entry(rest[:-1]) is not None:  # whole, with something else for its end
        raise ValueError(
            f"a journal must be as it was written; {path} is damaged at its end, in line {len(entries) + 1}. "
            "Use a backup."
        )
    if rest:
        warnings.warn(f"the last line of {path} was cut off while it was written; it is dropped.", stacklevel=5)
    return entries, sum(map(len, lines)) + len(lines)


def _entry(line: bytes) -> dict[str, Any] | None:
    """What a line says, or None if it is not as it was written."""
    text = line[9:]
    if line[:9] != b"%08x " % zlib.crc32(text):
        return None
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _journal_name(number: int) -> str:
    return f"journal-{number}.jsonl"


def _locked(folder: Path) -> Any:
    for learner in list(_OPEN):  # one that broke off before it could close is in nobody's way
        if learner._folder == folder and learner._broke_off() and learner._lock.acquire(blocking=False):
            try:
                learner._close_midway()
            finally:
                learner._lock.release()
    try:
        handle = open(folder / LOCK, "a")  # noqa: SIM115
    except OSError as error:
        raise ValueError(
            f"a durable learner writes to its folder; {folder} cannot be written to ({error.strerror})."
        ) from None
    try:
        locked(handle, f"one process at a time may open a folder; {folder} is open in another.")
    except ValueError:
        handle.close()
        raise
    return handle


_OPEN: weakref.WeakSet[JournaledLearner] = weakref.WeakSet()
