"""The rare calls: experiments are created, changed and deleted, arms come and go, keys are made and revoked."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from functools import partial
from typing import Any

from sqlalchemy import Connection, insert, select, tuple_, update
from sqlalchemy import delete as sql_delete

from allais.evidence.ratio import planned_shares
from allais.learner import Learner, LinearLearner
from allais.preferences import Preference
from allais.serve.api.schemas import (
    AddArm,
    ChangeExperiment,
    ChangeTest,
    Document,
    ExperimentSettings,
    NewKey,
    PlannedTest,
)
from allais.serve.core import keys, restore
from allais.serve.core.errors import Refused, reason_of, refusing
from allais.serve.core.experiment import Experiment
from allais.serve.core.keys import Clock, Key
from allais.serve.core.parse_settings import (
    learner_from_settings,
    preference_from,
    rows_of_arms,
    setting_from,
    with_policy,
)
from allais.serve.core.service import Service
from allais.serve.store import tables
from allais.serve.store.writer import Kind, Row, checksum
from allais.serve.unfinished import check_outcome, warm
from allais.settings import to_spec

AT_A_TIME = 2_000  # rows that are deleted in one transaction: others wait for it
OF_EXPERIMENT = (
    tables.events, tables.decisions, tables.snapshots, tables.arms, tables.imports, tables.moments, tables.notices,
)  # fmt: skip


def audited(key: Key, action: str, target: str, detail: Any = None) -> Row:
    """The row that says who changed what."""
    return Kind.AUDIT, (time.time(), key.id, action, target, json.dumps(detail))


async def create(service: Service, name: str, settings: ExperimentSettings, key: Key) -> Experiment:
    """Begin an experiment."""
    if not service.ready:
        service.experiment(name)  # says why not
    if not service.serves(name):
        raise Refused(421, f"an experiment is served by one process; this one serves others than {name!r}.")
    if name in service.experiments or name in service.broken or name in service.elsewhere:
        raise _taken(name)
    if settings.arms_by_rank is None:
        settings = settings.model_copy(update={"arms_by_rank": False})
    settings = await asyncio.to_thread(with_policy, settings)
    if settings.test is not None and settings.test.salt is None:
        settings = settings.model_copy(update={"test": settings.test.model_copy(update={"salt": name})})
    learner = await asyncio.to_thread(learner_from_settings, settings)  # it may compile
    with refusing():
        check_outcome(settings, learner)
    if settings.outcome == "elapsed":
        await asyncio.to_thread(warm, learner.copy())
    text = settings.model_dump_json()
    document = await asyncio.to_thread(_readable, service, settings, text, learner)
    now = time.time()

    def writing(connection: Connection) -> int:
        table = tables.experiments
        if connection.execute(select(table.c.id).where(table.c.name == name)).first() is not None:
            raise ValueError(f"experiments must have distinct names; {name!r} is taken.")
        values = {"name": name, "state": tables.RUNNING, "settings": text, "created_at": now}
        made = int(connection.execute(insert(table).values(values).returning(table.c.id)).scalar_one())
        connection.execute(update(table).where(table.c.id == made).values(checksum=checksum(text, made, name)))
        snapshot = {"experiment": made, "seq": 0, "at": now, "document": document}
        connection.execute(insert(tables.snapshots).values(**snapshot, checksum=checksum(document, made, 0)))
        listed = [
            {"experiment": made, "name": arm, "position": place, "in_play": True, "changed_at": now}
            for place, arm in enumerate(settings.arms)
        ]
        connection.execute(insert(tables.arms), listed)
        _, entries = audited(key, "create", name, settings.model_dump(mode="json"))
        connection.execute(
            insert(tables.audit).values(dict(zip(("at", "key", "action", "target", "detail"), entries, strict=True)))
        )
        service.ownership.take(connection, made, name)
        return made

    try:
        made = await service.change(writing)
    except ValueError:
        raise _taken(name) from None
    experiment = Experiment(made, name, tables.RUNNING, settings, now, learner, 0, 0, {}, Clock())
    service.experiments[name] = experiment
    return experiment


def _readable(service: Service, settings: ExperimentSettings, text: str, learner: Learner) -> bytes:
    """The first snapshot of an experiment, once a start could read it and the settings beside it."""
    try:
        restore.settings_of(text)
        return service.snapshots.document(learner, len(settings.terms or ()), read_back=True)
    except Exception as error:
        said = reason_of(error)
        raise Refused(
            422, f"what is stored must be readable again; this experiment is not ({said}). Simplify it."
        ) from None


def _taken(name: str) -> Refused:
    return Refused(409, f"experiments must have distinct names; {name!r} is taken. Choose another.")


async def change_state(service: Service, name: str, state: str, action: str, key: Key) -> Experiment:
    """Pause, resume or archive an experiment."""
    experiment = await service.idle(name)
    with service.changing:
        rows = experiment.change(state)
    await service.write([*rows, audited(key, action, name)])
    return experiment


async def add_arm(service: Service, name: str, call: AddArm, key: Key) -> Experiment:
    """Bring an arm into play."""
    rewards = None if call.rewards is None else setting_from("reward", call.rewards)

    def adding(experiment: Experiment) -> tuple[Experiment, list[Row]]:
        rows = experiment.add(call.name, rewards, to_spec(rewards), time.time())
        return experiment, [*rows, audited(key, "add arm", name, call.name)]

    return await service.change_in_thread(name, adding)


async def retire_arm(service: Service, name: str, arm: str, key: Key) -> Experiment:
    """Take an arm out of play."""
    experiment = await service.idle(name)
    with service.changing:
        rows = experiment.retire(arm, time.time())
    await service.write([*rows, audited(key, "retire arm", name, arm)])
    return experiment


async def make_key(service: Service, call: NewKey, maker: Key | None) -> tuple[str, Key]:
    """A new key; its secret is known to the caller alone."""
    whole, made = keys.new_key(call, time.time())
    await service.change(lambda connection: keys.store(connection, made))
    if maker is not None:
        await service.write([audited(maker, "make key", made.id, keys.limits(made))])
    await service.read_keys()
    return whole, made


async def revoke_key(service: Service, id_: str, key: Key) -> None:
    """Revoke a key."""
    try:
        await service.change(lambda connection: keys.revoke(connection, id_, time.time()))
    finally:
        await service.read_keys()
    await service.write([audited(key, "revoke key", id_)])


def shown_broken(name: str, why: str) -> dict[str, Any]:
    """An experiment that could not be read, as callers see it."""
    nothing: dict[str, Any] = {"policy": {}, "arms": [], "terms": None, "apprentice": False, "unit": "", "outcomes": 0}
    none = {"expires_after": 0.0, "created_at": 0.0, "open_decisions": 0}
    return {"name": name, "state": "broken", "broken": why, **nothing, **none}


def shown(experiment: Experiment) -> dict[str, Any]:
    """An experiment as callers see it."""
    learner, settings = experiment.learner, experiment.settings
    in_play = set(learner.arms)
    return {
        "name": experiment.name,
        "state": experiment.state,
        "policy": to_spec(learner.policy),
        "arms": [
            {"name": arm, "in_play": arm in in_play, "outcomes": pulls} for arm, pulls in experiment.pulls().items()
        ],
        "terms": settings.terms,
        "expires_after": settings.expires_after,
        "outcome": settings.outcome,
        "apprentice": settings.apprentice,
        "unit": settings.unit,
        "created_at": experiment.created_at,
        "outcomes": learner.samples,
        "open_decisions": len(experiment.open),
        "test": settings.test,
    }


async def change(service: Service, name: str, call: ChangeExperiment, key: Key) -> Experiment:
    """Change an experiment: all that the call names, or nothing if one part is refused."""

    def changing(experiment: Experiment) -> tuple[Experiment, list[Row]]:
        experiment.require_open()
        learner, settings, events = changed(experiment, call)
        if not events and settings == experiment.settings:
            return experiment, []  # a repeated call
        with refusing():
            restore.settings_of(settings.model_dump_json())  # what is stored must be readable again
        rows = experiment.adopt(learner, settings, events, time.time())
        return experiment, [
            *rows, audited(key, "change", name, call.model_dump(mode="json", exclude_unset=True))
        ]  # fmt: skip

    return await service.change_in_thread(name, changing)


def changed(experiment: Experiment, call: ChangeExperiment) -> tuple[Learner, ExperimentSettings, list[dict[str, Any]]]:
    """A copy of the learner and the settings with what a call changes, and the events that do it again."""
    learner, settings = experiment.learner.copy(), experiment.settings
    events: list[dict[str, Any]] = []
    updates: dict[str, Any] = {}
    with refusing():
        if call.rewards is not None:
            several = isinstance(call.rewards, list)
            rewards = [setting_from("reward", one) for one in (call.rewards if several else [call.rewards])]
            given = rewards if several else rewards[0]
            if given != learner.policy.rewards:
                learner.widen(given)
                events.append({"widen": to_spec(given)})
                updates["rewards"] = to_spec(given)
        if call.preference is not None:
            preference = on_its_scale(call.preference, learner.policy.preference)
            if preference != learner.policy.preference:
                learner.change_preference(preference)
                events.append({"prefer": to_spec(preference)})
                updates["preference"] = to_spec(preference)
        if call.terms is not None or call.features is not None:
            further = _with_terms(settings, call)
            if further != settings:
                rows = rows_of_arms(further)
                assert isinstance(learner, LinearLearner)
                learner.add_features(rows)
                events.append({"more features": rows})
                updates |= {"terms": further.terms, "features": further.features}
    if call.expires_after is not None:
        updates["expires_after"] = call.expires_after
        with refusing(experiment.name):
            check_outcome(settings.model_copy(update=updates), learner)
    if call.test is not None:
        updates["test"] = _with_test(experiment, call.test)
    return learner, settings.model_copy(update=updates), events


def _with_test(experiment: Experiment, call: ChangeTest) -> PlannedTest:
    """The test with what a call changes; other shares begin a new one, since those who come may have changed, too."""
    test = experiment.settings.test
    if test is None:
        raise Refused(
            422, "a test must be declared when its experiment is created; this experiment has none. Create another."
        )
    new = test if call.stop is None else test.model_copy(update={"stop": call.stop})
    if call.shares is None:
        return new
    if test.shares is None:
        raise Refused(422, "shares are fixed when a test is created; here the policy decides. Create another.")
    arms = [str(arm) for arm in experiment.learner.arms]
    shares = {arm: call.shares[arm] for arm in arms if arm in call.shares}
    with refusing():
        planned_shares(call.shares, arms)
    if shares == test.shares and test.ended is None:
        return new
    return new.model_copy(update={"shares": shares, "since": experiment.learner.asked + 1, "ended": None})


def on_its_scale(document: Document, old: Preference) -> Preference:
    """Another preference for an experiment, whose direction and reference stay."""
    new = preference_from(document)
    for name in ("costs", "reference"):
        if name in document and getattr(new, name) != getattr(old, name):
            raise Refused(
                422,
                f"{name} belongs to the experiment and stays {getattr(old, name)}; got {document[name]}. Leave it out, "
                "or create another experiment.",
            )
    return dataclasses.replace(new, costs=old.costs, reference=old.reference)


def _with_terms(settings: ExperimentSettings, call: ChangeExperiment) -> ExperimentSettings:
    """The settings with further terms, and with what is known of the listed arms for them."""
    if settings.terms is None:
        raise Refused(422, "terms are added where there are some; this experiment began without. Create another.")
    terms = settings.terms if call.terms is None else call.terms
    if terms[: len(settings.terms)] != settings.terms:
        raise Refused(
            422, f"terms are added behind those that are there, {settings.terms}; got {terms}. Begin with the old ones."
        )
    old = settings.features if isinstance(settings.features, dict) else {}
    named = {**old, **{arm: {**old.get(arm, {}), **own} for arm, own in (call.features or {}).items()}}
    further = settings.model_copy(update={"terms": terms, "features": named or None})
    if len(terms) == len(settings.terms) and further != settings:
        raise Refused(
            422, "what is known of arms changes with further terms only; got none. Add the terms that use it."
        )
    return further


async def delete(service: Service, name: str, key: Key) -> None:
    """Delete an archived or a broken experiment; a server that is stopped meanwhile goes on with it at its next start.

    A broken one cannot be archived: nothing of it can be read.
    """
    if service.ready and name in service.broken:
        id_ = await _hidden(service, name, service.broken)
    else:
        experiment = await service.idle(name)
        if experiment.state != tables.ARCHIVED:
            raise Refused(
                409, f"an experiment is archived before it is deleted; {name!r} is {experiment.state}. Archive it."
            )
        id_ = await _hidden(service, name, service.experiments)
    await service.write([audited(key, "delete", name)])
    await clear(service, id_)


async def _hidden(service: Service, name: str, among: dict[str, Any]) -> int:
    """Take an experiment out of those that are served, or of the broken ones; returns its number."""
    taken = among.pop(name)
    try:
        return await service.change(partial(_hide, name=name))
    except BaseException:
        among.setdefault(name, taken)
        raise


def _hide(connection: Connection, name: str) -> int:
    """Free the name of an experiment, and mark its rows as deleted."""
    table = tables.experiments
    id_ = int(connection.execute(select(table.c.id).where(table.c.name == name)).scalar_one())
    hidden = {"state": tables.DELETED, "name": f"deleted {id_}"}  # a name that no experiment can have
    connection.execute(update(table).where(table.c.id == id_).values(hidden))
    return id_


async def clear_hidden(service: Service) -> None:
    """Finish deletions that were interrupted."""
    wanted = select(tables.experiments.c.id).where(tables.experiments.c.state == tables.DELETED)
    for (id_,) in await service.rows(wanted):
        await clear(service, id_)


async def clear(service: Service, id_: int) -> None:
    """Delete the rows of a hidden experiment, some at a time."""
    for table in OF_EXPERIMENT:
        while await service.change(partial(_delete_some, table=table, experiment=id_)):
            pass

    def ending(connection: Connection) -> None:
        connection.execute(sql_delete(tables.experiments).where(tables.experiments.c.id == id_))
        service.ownership.let_go(connection, id_)

    await service.change(ending)


def _delete_some(connection: Connection, table: Any, experiment: int) -> int:
    """Delete some rows of an experiment; 0 when none are left."""
    keys = list(table.primary_key)
    some = select(*keys).where(table.c.experiment == experiment).limit(AT_A_TIME)
    found = connection.execute(some).all()
    if found:
        connection.execute(sql_delete(table).where(tuple_(*keys).in_([tuple(row) for row in found])))
    return len(found)
