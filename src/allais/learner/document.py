"""Learners as JSON documents: readable, versioned, bit-exact, written atomically."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.errors import MissingFile
from allais.files.atomic import write_atomically
from allais.files.reading import (
    DAMAGE,
    Damaged,
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
)
from allais.learner.choices import Context, listed, require_plain_names, unlisted
from allais.learner.learner import Learner
from allais.learner.linear import LinearLearner
from allais.policies.core.base import Policy
from allais.policies.core.state import saved_parts
from allais.problems.base import checked_names
from allais.samples.cells import RAW_HIGH, RAW_LOW, ROWS, spread_out
from allais.samples.drift import check_watch
from allais.samples.layout import cells_of_arm, check_cells, check_moments, check_outcomes, outcomes_of_arm, remembered
from allais.samples.lifetimes import check_lifetimes
from allais.samples.memory import FLAT
from allais.settings import checked_trust, from_spec, to_spec

FORMAT = "allais learner"
VERSION = 3  # of a learner
# 1: neither cells nor `exact`, and every outcome was kept. 2: linear policies wrote their scratch, too


def document_of(learner: Learner) -> dict[str, Any]:
    """Everything a learner knows, as JSON can say it."""
    require_plain_names(learner._names)
    state = learner._state
    arms = []
    for k, name in enumerate(learner._names):
        utility, raw, counts = outcomes_of_arm(state.memory, k)
        moments = {"mean": float(state.memory.mean[k]), "spread": float(state.memory.spread[k])}
        seen = {"outcomes": raw.tolist(), "felt": utility.tolist(), "counts": counts.tolist()}
        cells = {"cells": cells_of_arm(state.memory, k).tolist()}
        arms.append({"name": name, "pulls": int(state.memory.pulls[k]), **moments, **seen, **cells})
    document = {
        "format": FORMAT,
        "version": VERSION,
        "policy": to_spec(learner.policy),
        "exact": learner.exact,
        "arms": arms,
        "state": {name: _numbers(part) for name, part in saved_parts(state).items()},
        "drift": {name: _numbers(part) for name, part in learner._watch._asdict().items()},
        "outstanding": sorted(_entries(learner), key=lambda entry: entry[0]),
        "next": learner._next,
        "draw": learner._draw,
        "generator": plain(learner._rng.bit_generator.state),
    }
    return {**document, "checksum": checksum(document)}


def _entries(learner: Learner) -> list[list[Any]]:
    """The choices that are out: number, arm, ticket, and the features of an arm that is not listed."""
    entries: list[list[Any]] = [[id_, arm, float(ticket), None] for id_, (arm, ticket) in learner._out.items()]
    if isinstance(learner, LinearLearner):
        entries += [
            [id_, listed(one.arm), float(one.ticket), list(one.features)] for id_, one in learner._contexts.items()
        ]
    return entries


def _numbers(array: Any) -> list[Any]:
    """An array as JSON has it: infinities, which JSON lacks, as strings."""
    return [x if isinstance(x, bool | int) or math.isfinite(x) else str(x) for x in array.ravel().tolist()]


def learner_from(document: Any, trust: Sequence[str] = ()) -> Learner:
    """The learner that a document describes; `trust` names the modules whose own types it may use."""
    checked_trust(trust)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("a saved learner must say so in its first line; this file does not. Check the path.")
    require_known_version("a saved learner", document.get("version"))
    if document.get("checksum") != checksum(document):
        raise ValueError(
            "a saved learner must be as it was written; this file is damaged (its checksum differs). Use a backup."
        )
    try:
        return _rebuilt(document, trust)
    except DAMAGE as error:
        raise ValueError(
            f"a saved learner must be whole; this file is damaged ({reason(error)}). Use a backup."
        ) from None


def require_known_version(what: str, version: Any) -> None:
    """Refuse what a newer version wrote, and what is no version."""
    if type(version) is int and version > VERSION:
        raise ValueError(
            f"{what} must be of version {VERSION} or older; this one is of version {version}. Update allais."
        )
    if type(version) is not int or version < 1:
        raise ValueError(f"{what} must be of a version that there is; this one is of {version!r}. Use a backup.")


def _rebuilt(document: dict[str, Any], trust: Sequence[str]) -> Learner:
    policy = from_spec(document["policy"], trust)
    require(isinstance(policy, Policy), "its policy is none")
    arms = document["arms"]
    require(isinstance(arms, list) and all(isinstance(arm, dict) for arm in arms), "its arms must be a list")
    names = checked_names([arm["name"] for arm in arms])
    require_plain_names(names)
    exact = document.get("exact", True)  # version 1 kept every outcome
    require(type(exact) is bool, "exact must be true or false")
    learner = policy.start(names, seed=0, exact=exact)
    cells = [_cells(arm.get("cells", [])) for arm in arms]
    seen = [_outcomes(learner, k, arm, cells[k]) for k, arm in enumerate(arms)]
    pulls = np.array([whole(arm["pulls"], "the pulls of an arm") for arm in arms], dtype=np.int64)
    if policy.keeps_outcomes:
        require([counts.sum() for _, _, counts in seen] == pulls.tolist(), "pulls are not the sum of counts")
    means, spreads = (np.array([finite(arm[name], name) for arm in arms]) for name in ("mean", "spread"))
    for (utility, raw, counts), table, mean, spread in zip(seen, cells, means, spreads, strict=True):
        if utility.size > FLAT or (utility.size and table.size):  # of fewer outcomes nothing reads them
            check_moments(spread_out(utility, raw, counts, table), counts, float(mean), float(spread))
    memory = remembered(seen, means, spreads, cells)._replace(limit=learner._state.memory.limit)
    memory.pulls[:] = pulls
    state, written = learner._state, document["state"]
    require(isinstance(written, dict), "it has no state")
    if getattr(policy, "own_grows", False):
        state = state._replace(own=policy.sized_as(state.own, written))
    for name, target in saved_parts(state).items():
        target[...] = array_like(written[name], target, name)
    _watch_again(learner, document.get("drift"))
    learner._next = whole(document["next"], "the number of the next choice", 1)
    _put_out(learner, document["outstanding"])
    _check_state(learner, state, pulls)
    learner._adopt(policy, names, learner._rule, state._replace(memory=memory))
    draw = document["draw"]
    require(draw is None or 0.0 <= finite(draw, "a draw") < 1.0, "a draw must lie in [0, 1)")
    learner._draw = draw
    learner._rng = generator_of(document["generator"])
    return learner


def _watch_again(learner: Learner, written: Any) -> None:
    """Go on watching for drift; a file from before there was such a thing begins anew."""
    if written is None:
        return
    require(isinstance(written, dict), "what is watched for drift must be a mapping")
    for name, target in learner._watch._asdict().items():
        target[...] = array_like(written[name], target, name)
    check_watch(learner._watch)


def _cells(table: Any) -> FloatArray:
    """The table of an arm's cells; an arm without cells has none."""
    require(isinstance(table, list) and len(table) in (0, ROWS), "cells must have as many rows as there are")
    rows = [finite_list(row, "a cell") for row in table]
    require(len({row.size for row in rows}) <= 1, "cells must be complete")
    return np.array(rows).reshape(ROWS, -1)


def _outcomes(
    learner: Learner, k: int, arm: dict[str, Any], cells: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The outcomes that an arm had: as a utility, as told, and how often."""
    utility, raw = finite_list(arm["felt"], "a utility"), finite_list(arm["outcomes"], "an outcome")
    counts = whole_list(arm["counts"], "a count", least=1)
    single = check_cells(utility, raw, cells, learner.policy.preference)
    check_outcomes(utility, raw, counts, learner.policy.preference, single)
    require(learner.policy.keeps_outcomes or not raw.size, "its policy keeps no outcomes")
    told = np.concatenate([raw[single], cells[RAW_LOW], cells[RAW_HIGH]])
    if told.size and learner._known:
        learner._known[k].check(told)
    first = np.flatnonzero(np.append(True, (np.diff(utility) > 0.0) | (np.diff(raw) > 0.0))[: raw.size])
    return (
        (utility, raw, counts)
        if first.size == raw.size
        else (utility[first], raw[first], np.add.reduceat(counts, first))
    )


def _put_out(learner: Learner, entries: Any) -> None:
    """The choices that are out, by their numbers."""
    require(isinstance(entries, list), "choices must be a list")
    seen = set[int]()
    for entry in entries:
        require(isinstance(entry, list) and len(entry) == 4, "a choice has a number, an arm, a ticket and features")
        id_ = whole(entry[0], "the number of a choice", 1, learner._next - 1)
        require(id_ not in seen, "a choice is there twice")
        seen.add(id_)
        arm, ticket, features = entry[1], finite(entry[2], "a ticket"), entry[3]
        if not features:
            learner._out[id_] = (whole(arm, "the arm of a choice", 0, len(learner._names) - 1), ticket)
            continue
        row = tuple(finite_list(features, "features").tolist())
        if not isinstance(learner, LinearLearner):
            raise Damaged("its policy takes no features")
        learner._require_features(len(row))
        hash(name := unlisted(arm))
        learner._contexts[id_] = Context(name, ticket, row)


def _check_state(learner: Learner, state: Any, pulls: IntArray) -> None:
    """Refuse a state that kernels would follow out of their arrays."""
    require(state.active.any(), "no arm is in play")
    require((state.asked >= 0).all(), "an arm was asked a negative number of times")
    if type(learner.policy).__module__.startswith("allais."):  # others may count as they like
        out = [arm for arm, _ in learner._out.values()]
        expected = pulls + np.bincount(np.array(out, dtype=np.int64), minlength=pulls.size)
        require(np.array_equal(state.asked, expected), "what was asked is not what was told or is out")
    learner.policy.check_state(learner._rule, state)
    check_lifetimes(getattr(state, "lifetimes", None), pulls)


def write_document(learner: Learner, path: Path) -> None:
    """Write a learner's document so that at every moment the old or the new file is whole."""
    write_atomically(path, json.dumps(document_of(learner), indent=1, allow_nan=False) + "\n")


def read_document(path: Path, trust: Sequence[str] = ()) -> Learner:
    """The learner that a file holds."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingFile(f"a saved learner is read from a file; {path} does not exist. Check the path.") from None
    except (ValueError, RecursionError) as error:  # of JSON, of its encoding, or of a number too long
        raise ValueError(f"a saved learner must be whole JSON; {path} is damaged ({error}). Use a backup.") from None
    except OSError as error:
        raise ValueError(f"a saved learner is one file, not a folder; {path} cannot be read ({error}).") from None
    return learner_from(document, trust)
