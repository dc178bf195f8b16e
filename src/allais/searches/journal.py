"""The journal of an experiment: JSON lines, one for each finished run, on disk before the run is told.

The first line says which experiment it is. A line also says how many runs had been asked for when
this one came back: the choices depend on nothing else, so repeating the lines leads to the same state.

A run depends on its arm and number alone. So when the policy changes, another first line is appended, and
the search that follows begins anew and takes in the runs above that line as soon as it asks for them. So it is when
options are added after those that are there.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais.errors import OutOfBounds, RunFailed
from allais.files.log import Event, Log, events_in
from allais.learner.choices import require_plain_names
from allais.policies.core.base import Policy
from allais.problems import Problem
from allais.searches.asynchronous import Search
from allais.searches.runs import FailureLog, Outcome, Run
from allais.settings import as_then, to_spec

MOST_TEXT = 60  # characters that are shown of a text, from a little before it differs
BEFORE = 20
# intervals hold at each tolerance, and narrow ones lie in those of wide bounds
HARMLESS = ("tolerance", "rewards", "name")


def changes(before: Any, now: Any, name: str = "") -> list[str]:
    """One entry for each field that differs, with what it was and what it is.

    >>> before, now = ({"delta": 0.1, "rewards": {"low": 0, "high": high}} for high in (30, 50))
    >>> changes(before, now)
    ['rewards.high: 30 before, 50 now']
    """
    if before == now:
        return []
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [*now, *(key for key in before if key not in now)]
        if before.get("type") != now.get("type"):  # a field that only one of the types has goes with the type
            keys = [key for key in now if key in before and key != "name"]
        if len(keys) > 1:
            parts = ((key, f"{name}.{key}" if name else str(key)) for key in keys)
            return [entry for key, part in parts for entry in changes(before.get(key), now.get(key), part)]
    old, new = _parted(_text(before), _text(now))
    return [f"{name}: {old} before, {new} now" if name else f"{old} before, {new} now"]


def consequence(fields: Sequence[str]) -> str:
    """What it does to a promise that settings were changed when runs were known, in a sentence.

    >>> consequence(["delta: 0.1 before, 0.05 now", "tolerance: 0.0 before, 1.0 now"])
    ' If delta was chosen by what these runs showed, the strict promise needs another seed.'
    """
    names = list(dict.fromkeys(field.partition(":")[0].partition(".")[0] for field in fields))
    chosen = [name if name != "type" else "the type of the policy" for name in names if name not in HARMLESS]
    if chosen:
        return f" If {' or '.join(chosen)} was chosen by what these runs showed, the strict promise needs another seed."
    return (
        " The promise holds as if it had been so from the start: at every tolerance, and for all bounds that are true."
    )


def _text(thing: Any) -> str:
    if isinstance(thing, list) and len(thing) == 1:
        return _text(thing[0])
    if isinstance(thing, dict) and len(thing) == 1 and "type" in thing:
        return str(thing["type"])
    return thing if isinstance(thing, str) else json.dumps(thing)


def _parted(*texts: str) -> list[str]:
    """Texts cut to where they differ: two long ones may begin alike."""
    alike = next((at for at, pair in enumerate(zip(*texts, strict=False)) if len(set(pair)) > 1), min(map(len, texts)))
    begin = max(alike - BEFORE, 0) if max(map(len, texts)) > MOST_TEXT else 0
    return [
        ("..." if begin else "") + text[begin : begin + MOST_TEXT] + ("..." if begin + MOST_TEXT < len(text) else "")
        for text in texts
    ]


KEPT = (
    "The promise then rests on the wider bounds, and holds if no outcome can lie beyond them: they make every interval "
    "wider, so it does no harm to have seen outcomes first."
)


def offered(error: OutOfBounds) -> OutOfBounds:
    """An error that says how to go on."""
    how = "go on with wider bounds: wider=Bounded(low, high) in Python, --wider LOW HIGH on the command line"
    sentence = f"{error} Every finished run stays usable; {how}. {KEPT}"
    return OutOfBounds(sentence, error.details)


def going_on(error: OutOfBounds, wide: Policy, runs: int | None) -> str:
    """What is said when a search goes on with wider bounds; a journal says by itself how many runs it has."""
    again = "" if runs is None else f" and uses its {runs:,} finished runs again"
    rewards: Any = wide
    return f"{error} The search goes on with {rewards.rewards}{again}. {KEPT}"


FORMAT, VERSION, COMMON = "allais runs", 1, "common_random_numbers"


def identity(
    problem: Problem, policy: Policy, root: np.random.SeedSequence, *, common: bool = False, arms: int | None = None
) -> dict[str, Any]:
    """What a journal says about its experiment: to be continued, all of it but the policy must be the same.

    With a number of arms it is what a journal would say of so many first ones.
    """
    require_plain_names(problem.arms)
    if arms is not None:
        problem = problem.part(range(arms))
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": repr(problem),
        "arms": list(problem.arms),
        "policy": to_spec(policy),
        "seed": [str(root.entropy), *root.spawn_key],  # as text: it may exceed what other readers hold
        **({COMMON: True} if common else {}),  # older journals do not have it
    }


class RunJournal:
    """Every finished run, durable; one process at a time.

    Args:
        path: The file.
        experiment: What the search is about; it must be the same when the journal is continued.
        of_first: The experiment of so many first options, where options may have been added to those of the journal.
    """

    def __init__(
        self, path: Path, experiment: dict[str, Any], of_first: Callable[[int], dict[str, Any]] | None = None
    ) -> None:
        self.log = FailureLog(path)
        self._runs = Log(path, form=FORMAT, advice=", or delete the line: its run is done again")
        self.path, self.arms = self._runs.path, experiment["arms"]
        self._experiment, self._place = experiment, {name: arm for arm, name in enumerate(self.arms)}
        self._of_first = of_first
        try:
            self._entries = self._taken_over()
        except BaseException:
            self._runs.close()
            raise

    def _taken_over(self) -> list[Event]:
        """The lines of a journal of this experiment; that of another one is not touched."""
        entries = self._runs.events
        if any("format" not in entry for entry in entries):
            for header in (entry for entry in entries if "format" in entry):
                _require_same(header, self._known_as(header), self.path)
            self._runs.accept()
            return entries
        self._runs.accept()
        self._runs.clear()  # no run was finished, so it may become the journal of another experiment
        self._append(self._experiment)
        return [self._experiment]

    def _known_as(self, header: Event) -> dict[str, Any]:
        """The experiment as it was before options were added to those of a header."""
        before = header.get("arms")
        if self._of_first is None or not isinstance(before, list) or not 0 < len(before) < len(self.arms):
            return self._experiment
        return self._of_first(len(before)) if before == self.arms[: len(before)] else self._experiment

    def __enter__(self) -> RunJournal:
        return self

    def __exit__(self, *exception: object) -> None:
        self._runs.close()

    def require_admitted(self) -> None:
        """Refuse to go on under the rewards that an outcome has shown to be wrong."""
        refused = [entry for entry in self._entries if "refused" in entry]
        if refused:
            arm, number, reward = (refused[0][key] for key in ("arm", "index", "reward"))
            raise OutOfBounds(
                f"{self.path} holds run {number} of {arm!r}, with an outcome of {reward:g} that was refused."
            )

    def repeat(self, search: Search) -> None:
        """Bring a new search to where the journal ends, or have it use the runs of another policy.

        Args:
            search: The search.
        """
        last = max(number for number, entry in enumerate(self._entries) if "format" in entry)
        before, header, after = self._entries[:last], self._entries[last], self._entries[last + 1 :]
        fields = changes(as_then(header["policy"]), self._experiment["policy"])
        different, added = ", ".join(fields), len(self.arms) - len(header["arms"])
        if not fields and not added:
            search.restart(self._known(before))
            if self._repeats(search, after):
                search.notice_settled()  # else what was out when the answer was found would be run in vain
                return
            different = "its lines do not lead to the same choices"
        known = self._known(self._entries)
        try:
            search.restart(known)
        except OutOfBounds as error:
            raise ValueError(
                f"{self.path} holds what the policy rules out now ({different}): {error} Or use another journal."
            ) from None
        self._append(self._experiment)
        many = "its finished run is" if len(known) == 1 else f"its {len(known):,} finished runs are"
        runs = f"{many} used again" if known else "it holds no finished run yet"
        if added and not fields:
            warnings.warn(f"{self.path} holds {len(header['arms']):,} of these options; {runs}.", stacklevel=3)
            return
        then = consequence(fields) if search.learner.policy.goal == "confidence" else ""
        warnings.warn(f"{self.path} was written by another policy ({different}); {runs}.{then}", stacklevel=3)

    def _repeats(self, search: Search, entries: Sequence[dict[str, Any]]) -> bool:
        """Whether repeating the events leads to the same choices."""
        for entry in entries:
            if "refused" in entry:
                continue
            while search.asked < entry["asked"] and search.ask(entry["asked"]) is not None:
                pass
            run = self._run(entry)
            if search.asked != entry["asked"] or not search.is_out(run):
                return False
            outcome = Outcome(entry["reward"], entry["seconds"], entry.get("failure"), at_least=entry.get("at least"))
            search.take_in(run, outcome)
        return True

    def _known(self, entries: Sequence[dict[str, Any]]) -> dict[Run, Outcome]:
        """The runs that gave a reward of their own; what a failure counts as may have changed, so it is done again."""
        return {
            self._run(entry): Outcome(entry["reward"], entry["seconds"])
            for entry in entries
            if "format" not in entry and "failure" not in entry
        }

    def _run(self, entry: dict[str, Any]) -> Run:
        return Run(self._place[entry["arm"]], entry["index"], entry["seed"])

    def write(self, finished: Sequence[tuple[Run, Outcome]], asked: int, *, refused: bool = False) -> None:
        """Append runs that have come back; they are on disk when this returns.

        A run whose outcome the policy refused is kept, too, for another policy that admits it.

        Args:
            finished: Runs and their outcomes.
            asked: How many runs have been asked for.
            refused: Whether the policy refused the outcome.
        """
        now = round(time.time(), 3)
        entries = []
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
                **({} if outcome.at_least is None else {"at least": outcome.at_least}),
            }
            entries.append(entry if outcome.failure is None else {**entry, "failure": outcome.failure})
        self._append(*entries)

    def _append(self, *entries: Event) -> None:
        try:
            self._runs.append(*entries)
        except OSError as error:
            raise RunFailed(
                f"a run counts when it is written down; {self.path} cannot be written ({error.strerror}). Make room."
            ) from error


def finished_runs(path: Path) -> int:
    """How many runs a journal holds; 0 where there is no journal.

    Args:
        path: The file.
    """
    try:
        entries, _ = events_in(path.read_bytes(), path, numbered=False)
    except (OSError, ValueError):
        return 0
    return sum("format" not in entry for entry in entries)


def _require_same(found: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    if found.get("version") != VERSION:
        raise ValueError(
            f"a journal must have version {VERSION}; {path} has version {found.get('version')}. Update allais."
        )
    before, now = found.get(COMMON, False), wanted.get(COMMON, False)
    if before != now:
        made, wish = ("with" if one else "without" for one in (before, now))
        raise ValueError(
            f"runs with common random numbers have other seeds than runs without; those of {path} were made {made} "
            f"them, and this search is {wish}. Use another journal, or the old setting."
        )
    for part in ("arms", "problem", "seed"):  # a problem shows its arms, so these come first
        if different := changes(found.get(part), wanted[part]):
            raise ValueError(
                f"a journal continues the experiment that it was made by; {path} has another {part}: "
                f"{different[0]}. Use another journal, or the old settings."
            )
