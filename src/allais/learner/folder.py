"""A learner that lives in a folder: a snapshot, and the events after it, which opening applies again.

A snapshot is written when the log has as many lines as the learner has distinct outcomes (and a few thousand at
least), so that the cost of a call does not grow with the history.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._random import Seed, generator
from allais.files.log import SnapshotLog
from allais.files.reading import DAMAGE, plain, reason, require
from allais.learner.choices import NotNow, require_plain_names
from allais.learner.document import learner_from
from allais.learner.durable import let_go_of_broken
from allais.learner.learner import Learner
from allais.policies.core.base import Policy
from allais.problems.base import checked_names
from allais.settings import checked_trust, modules_of, to_spec


def open_folder(
    folder: Path,
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    seed: Seed | None,
    features: ArrayLike | None = None,
    trust: Sequence[str] = (),
    exact: bool | None = None,
) -> Learner:
    """The learner of a folder, made on the first call."""
    checked_trust(trust)
    if features is not None:
        if not isinstance(policy, Policy):
            raise ValueError(f"features come with a policy; got {policy!r}. Give both, or leave both out.")
        policy = policy.with_features(features)
    rng = None if seed is None else copy.deepcopy(generator(seed))  # the caller may go on drawing from his own
    let_go_of_broken(folder.resolve())
    log = SnapshotLog(folder)
    try:
        if log.is_new:
            return _made(log, policy, arms, rng, exact)
        # a caller who has the policy at hand has imported its modules
        named = [] if policy is None else modules_of(to_spec(policy))
        return _reopened(log, policy, arms, rng, [*trust, *named], exact)
    except BaseException:
        log.close()
        raise


def _made(
    log: SnapshotLog,
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    rng: np.random.Generator | None,
    exact: bool | None,
) -> Learner:
    if policy is None or arms is None or rng is None:
        raise ValueError(
            f"a new folder needs policy, arms and seed; {log.folder} holds no learner yet. Give all three."
        )
    if not isinstance(policy, Policy):
        raise TypeError(f"a learner runs a policy; got {policy!r}. Write Learner.open(folder, WUCB(...), arms, seed).")
    learner = policy.start(arms, rng, exact=bool(exact))
    require_plain_names(learner._names)
    began = {  # refuses what cannot be saved
        "policy": to_spec(learner.policy),
        "arms": list(learner._names),
        "generator": plain(learner._rng.bit_generator.state),
    }
    learner._attach(log, began)
    learner._take_snapshot()
    return learner


def _reopened(
    log: SnapshotLog,
    policy: Policy | None,
    arms: int | Sequence[Hashable] | None,
    rng: np.random.Generator | None,
    trust: Sequence[str],
    exact: bool | None,
) -> Learner:
    document, began = _parts(log)
    learner = learner_from(document, trust)
    if log.number == 1:  # the first snapshot has the generator as it began; folders of version 0.1.0 do not say it
        began.setdefault("generator", document["generator"])
    for line, event in enumerate(log.events, start=1):
        try:
            learner._apply(event, trust)
        except (NotNow, *DAMAGE) as error:
            raise ValueError(
                f"a journal must hold what was done; line {line} of {log.path} does not ({reason(error)}). "
                "Use a backup."
            ) from None
    _require_agreement(log.folder, learner, began, policy, arms, rng, exact)
    log.accept()
    learner._attach(log, began)
    return learner


def _parts(log: SnapshotLog) -> tuple[Any, dict[str, Any]]:
    """The learner of a snapshot, and what its folder began with."""
    snapshot = log.snapshot or {}
    try:
        began = snapshot["began"]
        require(isinstance(began["policy"], dict) and isinstance(began["arms"], list), "it does not say how it began")
        return snapshot["learner"], began
    except DAMAGE as error:
        raise ValueError(
            f"a snapshot must be whole; that of {log.folder} is damaged ({reason(error)}). Use a backup."
        ) from None


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
    if given is not None and given not in (began["policy"], to_spec(learner.policy)):  # the latter after `widen`
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


def _other_features(given: Any, began: Any) -> str:
    """Say so where only what a policy does not show differs."""
    alike = isinstance(given, dict) and {**given, "features": None} == {**began, "features": None}
    return " with other features" if alike else ""
