"""Learners as JSON documents: readable, versioned, bit-exact, written atomically; and folders that hold them."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, Seed, brief, generator
from allais.errors import MissingFile
from allais.files import (
    DAMAGE,
    array_like,
    checksum,
    finite,
    finite_list,
    generator_of,
    plain,
    reason,
    require,
    whole,
    whole_list,
    write_atomically,
)
from allais.files.log import SnapshotLog
from allais.learner._engine import Engine
from allais.learner.choices import NotNow, require_plain_names
from allais.learner.journal import open_folder, whole_snapshot
from allais.policies.core.base import Policy
from allais.policies.core.state import saved_parts, since_then
from allais.problems.base import checked_names
from allais.samples.cells import RAW_HIGH, RAW_LOW, ROWS, spread_out
from allais.samples.cuts import Cuts
from allais.samples.drift import check_lifetimes, check_watch
from allais.samples.layout import cells_of_arm, check_cells, check_moments, check_outcomes, outcomes_of_arm, remembered
from allais.samples.memory import FLAT
from allais.settings import as_then, checked_trust, from_spec, modules_of, to_spec

if TYPE_CHECKING:
    from allais.learner import Learner

FORMAT = "allais learner"
LEFT_OPEN = ("auto", "mixed")  # settings that were left to the library: where values are few, TopTwo says "mixed"
VERSION = 4  # of a learner with unfinished outcomes or sparse arrays; 3 of any other, which 0.2.0 reads, too
# 1: neither cells nor `exact`, and every outcome was kept. 2: linear policies wrote their scratch, too
LARGE = 100_000  # entries: an array with more is written sparsely if it is mostly zeros


def document_of(engine: Engine) -> dict[str, Any]:
    """Everything a learner knows, as JSON can say it."""
    require_plain_names(engine.names)
    state = engine.state
    arms = []
    for k, name in enumerate(engine.names):
        utility, raw, counts = outcomes_of_arm(state.memory, k)
        moments = {"mean": float(state.memory.mean[k]), "spread": float(state.memory.spread[k])}
        seen = {"outcomes": raw.tolist(), "felt": utility.tolist(), "counts": counts.tolist()}
        cells = {"cells": cells_of_arm(state.memory, k).tolist()}
        arms.append({"name": name, "pulls": int(state.memory.pulls[k]), **moments, **seen, **cells})
    parts = {name: _numbers(part) for name, part in saved_parts(state).items()}
    newer = engine.cuts.any or any(isinstance(part, dict) for part in parts.values())
    document = {
        "format": FORMAT,
        "version": VERSION if newer else VERSION - 1,
        "policy": to_spec(engine.policy),
        "exact": engine.exact,
        "arms": arms,
        "state": parts,
        "drift": {name: _numbers(part) for name, part in engine.watch._asdict().items()},
        "outstanding": sorted(engine.entries(), key=lambda entry: entry[0]),
        "next": engine.next,
        "draw": engine.draw,
        "generator": plain(engine.rng.bit_generator.state),
        **getattr(engine, "more", dict)(),
    }
    if engine.cuts.any:
        document["unfinished"] = engine.cuts.document()
    return {**document, "checksum": checksum(document)}


def _numbers(array: Any) -> Any:
    """An array as JSON has it: infinities, which JSON lacks, as strings; of a large sparse one, what is not zero."""
    if array.size > LARGE and np.count_nonzero(array) < array.size / 4:
        at = np.flatnonzero(array)
        return {"at": at.tolist(), "numbers": _numbers(array.ravel()[at])}
    return [x if isinstance(x, bool | int) or math.isfinite(x) else str(x) for x in array.ravel().tolist()]


def load(path: str | Path, trust: Sequence[str] = ()) -> Learner:
    """The learner that was saved, going on exactly where it was.

    Args:
        path: The file.
        trust: Modules outside of this library whose types and functions the file may name; it is data otherwise.

    >>> learner = NPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
    >>> learner.save("advisor.json")
    >>> Learner.load("advisor.json").ask() == learner.ask()
    True
    """
    return learner_from(read_document(Path(path)), trust)


def learner_from(snapshot: Any, trust: Sequence[str] = ()) -> Learner:
    """The learner that a `snapshot` describes.

    Args:
        snapshot: The snapshot.
        trust: As in `load`.
    """
    checked_trust(trust)
    if not isinstance(snapshot, dict) or snapshot.get("format") != FORMAT:
        raise ValueError("a saved learner must say so in its first line; this file does not. Check the path.")
    version = snapshot.get("version")
    if type(version) is int and version > VERSION:
        raise ValueError(
            f"a saved learner must be of version {VERSION} or older; this one is of version {version}. Update allais."
        )
    if type(version) is not int or version < 1:
        raise ValueError(f"a saved learner must be of a known version; this one is of {version!r}. Use a backup.")
    if snapshot.get("checksum") != checksum(snapshot):
        raise ValueError(
            "a saved learner must be as it was written; this file is damaged (its checksum differs). Use a backup."
        )
    try:
        return _rebuilt(snapshot, trust)
    except DAMAGE as error:
        raise ValueError(
            f"a saved learner must be whole; this file is damaged ({reason(error)}). Use a backup."
        ) from None


def _rebuilt(document: dict[str, Any], trust: Sequence[str]) -> Learner:
    policy = from_spec(as_then(document["policy"]), trust)
    require(isinstance(policy, Policy), "it has no policy")
    arms = document["arms"]
    require(isinstance(arms, list) and all(isinstance(arm, dict) for arm in arms), "its arms must be a list")
    names = checked_names([arm["name"] for arm in arms])
    require_plain_names(names)
    exact = document.get("exact", True)  # version 1 kept every outcome
    require(type(exact) is bool, "exact must be true or false")
    learner = policy.start(names, seed=0, exact=exact)
    engine = learner._engine
    cells = [_cells(arm.get("cells", [])) for arm in arms]
    seen = [_outcomes(engine, k, arm, cells[k]) for k, arm in enumerate(arms)]
    pulls = np.array([whole(arm["pulls"], "the pulls of an arm") for arm in arms], dtype=np.int64)
    if policy.keeps_outcomes:
        require([counts.sum() for _, _, counts in seen] == pulls.tolist(), "pulls are not the sum of counts")
    means, spreads = (np.array([finite(arm[name], name) for arm in arms]) for name in ("mean", "spread"))
    for (utility, raw, counts), table, mean, spread in zip(seen, cells, means, spreads, strict=True):
        if utility.size > FLAT or (utility.size and table.size):  # of fewer outcomes nothing reads them
            check_moments(spread_out(utility, raw, counts, table), counts, float(mean), float(spread))
    memory = remembered(seen, means, spreads, cells)._replace(limit=engine.state.memory.limit)
    memory.pulls[:] = pulls
    state, written = engine.state, since_then(engine.state, document["state"])
    if policy.own_grows:
        state = state._replace(own=policy.sized_as(state.own, written))
    for name, target in saved_parts(state).items():
        target[...] = array_like(written[name], target, name)
    _watch_again(engine, document.get("drift"))
    engine.next = whole(document["next"], "the number of the next choice", 1)
    _put_out(engine, document["outstanding"])
    engine.cuts = Cuts.of(document.get("unfinished"), engine.out, engine.known, len(names))
    _check_state(engine, state, pulls)
    engine.adopt(policy, names, engine.rule, state._replace(memory=memory))
    draw = document["draw"]
    require(draw is None or 0.0 <= finite(draw, "a draw") < 1.0, "a draw must lie in [0, 1)")
    engine.draw = draw
    engine.rng = generator_of(document["generator"])
    if "forest" in document:
        engine.take_over(document)
    return learner


def _watch_again(engine: Engine, written: Any) -> None:
    """Go on watching for drift; a file from before there was such a thing begins anew."""
    if written is None:
        return
    require(isinstance(written, dict), "what is watched for drift must be a mapping")
    for name, target in engine.watch._asdict().items():
        target[...] = array_like(written[name], target, name)
    check_watch(engine.watch)


def _cells(table: Any) -> FloatArray:
    """The table of an arm's cells; an arm without cells has none."""
    require(isinstance(table, list) and len(table) in (0, ROWS), "cells must have as many rows as there are")
    rows = [finite_list(row, "a cell") for row in table]
    require(len({row.size for row in rows}) <= 1, "cells must be complete")
    return np.array(rows).reshape(ROWS, -1)


def _outcomes(
    engine: Engine, k: int, arm: dict[str, Any], cells: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The outcomes that an arm had: as a utility, as told, and how often."""
    utility, raw = finite_list(arm["felt"], "a utility"), finite_list(arm["outcomes"], "an outcome")
    counts = whole_list(arm["counts"], "a count", least=1)
    single = check_cells(utility, raw, cells, engine.policy.preference)
    check_outcomes(utility, raw, counts, engine.policy.preference, single)
    require(engine.policy.keeps_outcomes or not raw.size, "its policy keeps no outcomes")
    told = np.concatenate([raw[single], cells[RAW_LOW], cells[RAW_HIGH]])
    if told.size and engine.known:
        engine.known[k].check(told)
    first = np.flatnonzero(np.append(True, (np.diff(utility) > 0.0) | (np.diff(raw) > 0.0))[: raw.size])
    return utility[first], raw[first], np.add.reduceat(counts, first)


def _put_out(engine: Engine, entries: Any) -> None:
    """The choices that are out, by their numbers."""
    require(isinstance(entries, list), "choices must be a list")
    seen = set[int]()
    for entry in entries:
        require(isinstance(entry, list) and len(entry) == 4, "a choice has a number, an arm, a ticket and features")
        id_ = whole(entry[0], "the number of a choice", 1, engine.next - 1)
        require(id_ not in seen, "a choice is listed twice")
        seen.add(id_)
        arm, ticket, features = entry[1], finite(entry[2], "a ticket"), entry[3]
        if not features:
            engine.out[id_] = (whole(arm, "the arm of a choice", 0, len(engine.names) - 1), ticket)
            continue
        engine.put_out_row(id_, arm, ticket, tuple(finite_list(features, "features").tolist()))


def _check_state(engine: Engine, state: Any, pulls: IntArray) -> None:
    """Refuse a state that kernels would follow out of their arrays."""
    require(state.active.any() or engine.policy.guardrails, "no arm is in play")
    require((state.asked >= 0).all(), "an arm was asked a negative number of times")
    if type(engine.policy).__module__.startswith("allais."):  # others may count as they like
        out = [arm for arm, _ in engine.out.values()]
        expected = pulls + np.bincount(np.array(out, dtype=np.int64), minlength=pulls.size)
        expected += engine.cuts.counts(pulls.size, closed=True)
        require(np.array_equal(state.asked, expected), "what was asked is not what was told or is out")
    engine.policy.check_state(engine.rule, state)
    check_lifetimes(getattr(state, "lifetimes", None), pulls)


def save(learner: Learner, path: Path) -> None:
    """Write a learner to one file; a folder takes a snapshot, so that both continue identically to the last bit."""
    (journal := learner._journal).require_outermost()
    with journal.lock:
        journal.require_whole()
        if journal.log is None:
            learner._engine.lay_out()
        elif not journal.log.closed:
            journal.take_snapshot(learner)
        write_atomically(path, json.dumps(document_of(learner._engine), indent=1, allow_nan=False) + "\n")


def read_document(path: Path) -> Any:
    """The document that a file holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingFile(f"a saved learner is read from a file; {path} does not exist. Check the path.") from None
    except (ValueError, RecursionError) as error:  # of JSON, of its encoding, or of a number too long
        raise ValueError(f"a saved learner must be whole JSON; {path} is damaged ({error}). Use a backup.") from None
    except OSError as error:
        raise ValueError(f"a saved learner is one file, not a folder; {path} cannot be read ({error}).") from None


# -- folders and their events -------------------------------------------------------------------------


def apply_event(learner: Learner, event: dict[str, Any], trust: Sequence[str]) -> None:
    """Do what an event says, by the calls that it stands for."""
    match event:
        case {"ask": choices, **more}:
            learner._repeat([(id_, arm) for id_, arm in choices], more.get("allowed"))
        case {"tell": id_, "reward": reward}:
            learner.tell(id_, reward)
        case {"tell": id_, "cut": cut, "final": final}:
            learner.tell(id_, between=cut, final=final)
        case {"cancel": id_}:
            learner.cancel(id_)
        case {"observe": arm, "rewards": rewards, **more}:
            learner.observe(arm, rewards, between=more.get("cuts", ()))
        case {"forget": arm, "reward": reward}:
            learner.forget(arm, reward)
        case {"add": arm, "rewards": rewards}:
            learner.add(arm, from_spec(rewards, trust))
        case {"add all": arms, "rewards": rewards}:
            learner.add_all(arms, from_spec(rewards, trust))
        case {"retire": arm}:
            learner.retire(arm)
        case {"widen": rewards}:
            learner.widen(from_spec(rewards, trust))
        case {"prefer": preference}:
            learner.change_preference(from_spec(preference, trust))
        case _:
            raise ValueError(
                f"invalid event {brief(event)}: this version has no such event. Update allais, or check it."
            )


def open_learner(
    folder: Path,
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    seed: Seed | None,
    features: ArrayLike | None,
    trust: Sequence[str],
    exact: bool | None,
) -> Learner:
    """The learner of a folder, made on the first call."""
    checked_trust(trust)
    if features is not None:
        if not isinstance(policy, Policy):
            raise ValueError(f"features come with a policy; got {policy!r}. Give both, or leave both out.")
        policy = policy.with_features(features)
    rng = None if seed is None else copy.deepcopy(generator(seed))  # the caller may go on drawing from his own

    def make(where: Path) -> tuple[Learner, dict[str, Any]]:
        if policy is None or arms is None or rng is None:
            raise ValueError(f"a new folder needs policy, arms and seed; {where} holds no learner yet. Give all three.")
        if not isinstance(policy, Policy):
            raise TypeError(
                f"a learner runs a policy; got {policy!r}. Write Learner.open(folder, WUCB(...), arms, seed)."
            )
        learner = policy.start(arms, rng, exact=bool(exact))
        names = learner._engine.names
        require_plain_names(names)
        generator_state = plain(learner._engine.rng.bit_generator.state)
        return learner, {"policy": to_spec(learner.policy), "arms": list(names), "generator": generator_state}

    trusted = [*trust]

    def read(log: SnapshotLog) -> tuple[Learner, dict[str, Any]]:
        if policy is not None:  # a caller who has it at hand has imported its modules
            trusted.extend(modules_of(to_spec(policy)))
        with whole_snapshot(log):
            snapshot = log.snapshot or {}
            began, document = snapshot["began"], snapshot["learner"]
            complete = isinstance(began["policy"], dict) and isinstance(began["arms"], list)
            require(complete, "it does not say how it began")
        learner = learner_from(document, trusted)
        if log.number == 1:  # the first snapshot has the generator as it began; folders of version 0.1.0 do not say it
            began.setdefault("generator", document["generator"])
        return learner, began

    def agree(where: Path, learner: Learner, began: dict[str, Any]) -> None:
        """Refuse what is not what the folder was made with."""
        if arms is not None and [*checked_names(arms)] != began["arms"]:
            raise ValueError(
                f"a folder keeps the arms it began with; {where} has {began['arms']}, got {arms!r}. "
                "Leave arms out, or add() and retire() them."
            )
        if policy is not None:
            _require_same_policy(where, learner, began["policy"], policy)
        # a folder of version 0.1.0 that has lived on no longer knows its seed
        if rng is not None and plain(rng.bit_generator.state) != began.get("generator", plain(rng.bit_generator.state)):
            raise ValueError(
                f"a folder keeps the seed it began with; {where} has another. Leave seed out, or use another folder."
            )
        if exact is not None and exact != learner.exact:
            raise ValueError(
                f"a folder keeps the memory it began with; {where} has exact={learner.exact}, got {exact}. "
                "Leave exact out, or use another folder."
            )

    def repeat(learner: Learner, event: dict[str, Any]) -> None:
        learner._apply(event, trusted)

    return open_folder(folder, make, read, repeat, agree, (NotNow, *DAMAGE))


def _require_same_policy(folder: Path, learner: Learner, began: dict[str, Any], policy: Policy) -> None:
    given: Any = to_spec(policy)
    if began.get("type") == type(policy.plain()).__name__:
        given = to_spec(policy.plain())  # version 0.1.0 knew baselines by the policy that they are made from
    if isinstance(given, dict) and given.get("features", ()) is None:  # left out: the folder knows them
        given["features"] = began.get("features")
    began = as_then(began)
    if isinstance(given, dict):  # what was left to the library goes on as it is there
        given |= {name: began.get(name) for name, entry in given.items() if entry in LEFT_OPEN}
    if given not in (began, to_spec(learner.policy)):  # the latter after `widen`
        alike = isinstance(given, dict) and {**given, "features": None} == {**began, "features": None}
        raise ValueError(
            f"a folder keeps the policy it began with; {folder} has {learner.policy!r}, got {policy!r}"
            f"{' with other features' if alike else ''}. Leave policy out, or use another folder."
        )
