"""What is deleted for ever: experiments with all that they hold, and whatever is kept under a person's name."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, select, tuple_, update

from allais.serve import tables
from allais.serve.keys import Key
from allais.serve.managing import audited
from allais.serve.refusals import Refused
from allais.serve.service import Service
from allais.serve.tables import ARCHIVED, DELETED

AT_A_TIME = 2_000  # rows in one transaction: others wait for it
OF_EXPERIMENT = (tables.events, tables.decisions, tables.snapshots, tables.arms, tables.imports, tables.moments)
ABOUT_PEOPLE = ("put person", "remove person", "interview", "answer interview", "erase person")  # actions upon a person


# -- experiments ----------------------------------------------------------------------------------


async def delete_experiment(service: Service, name: str, key: Key) -> None:
    """Delete an archived or a broken experiment; a server that is stopped meanwhile goes on with it at its next start.

    A broken one cannot be archived: nothing of it can be read.
    """
    if service.ready and name in service.broken:
        id_ = await _hidden(service, name, service.broken)
    else:
        experiment = await service.idle(name)
        if experiment.state != ARCHIVED:
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
    """Give the name of an experiment back; nothing reads it any more."""
    table = tables.experiments
    id_ = int(connection.execute(select(table.c.id).where(table.c.name == name)).scalar_one())
    hidden = {"state": DELETED, "name": f"deleted {id_}"}  # a name that no experiment can have
    connection.execute(update(table).where(table.c.id == id_).values(hidden))
    return id_


async def clear_hidden(service: Service) -> None:
    """Go on with deletions that were broken off."""
    wanted = select(tables.experiments.c.id).where(tables.experiments.c.state == DELETED)
    for id_ in await service.read(lambda connection: list(connection.execute(wanted).scalars())):
        await clear(service, id_)


async def clear(service: Service, id_: int) -> None:
    """Delete the rows of a hidden experiment, some at a time."""
    for table in OF_EXPERIMENT:
        while await service.change(partial(_delete_some, table=table, experiment=id_)):
            pass

    def ending(connection: Connection) -> None:
        connection.execute(delete(tables.experiments).where(tables.experiments.c.id == id_))
        service.ownership.let_go(connection, id_)

    await service.change(ending)


def _delete_some(connection: Connection, table: Any, experiment: int) -> int:
    """Delete some rows of an experiment; 0 when none are left."""
    keys = list(table.primary_key)
    some = select(*keys).where(table.c.experiment == experiment).limit(AT_A_TIME)
    found = connection.execute(some).all()
    if found:
        connection.execute(delete(table).where(tuple_(*keys).in_([tuple(row) for row in found])))
    return len(found)


# -- people ---------------------------------------------------------------------------------------


async def erase_person(service: Service, person: str, key: Key) -> None:
    """Delete what is kept under a person's name: preference, interviews, and the name in decisions and audit trail.

    What arms have brought stays, and is nobody's any more. A repeated call finds nothing, and changes nothing.
    """
    alias = f"erased-{secrets.token_hex(8)}"  # the entries of one person stay together, and tell nothing of her
    erased = await service.change(partial(_erase, person=person, alias=alias))
    service.people.forget(person)
    for id_ in [id_ for id_, talk in service.interviews.items() if talk.person == person]:
        del service.interviews[id_]
    while some := await service.read(partial(_decisions_of, person=person)):
        await service.change(partial(_unname, numbers=some))
        erased = True
    if erased:
        await service.write([audited(key, "erase person", alias)])


def _erase(connection: Connection, person: str, alias: str) -> bool:
    found = connection.execute(delete(tables.people).where(tables.people.c.name == person)).rowcount
    theirs = select(tables.interviews.c.id).where(tables.interviews.c.person == person)
    connection.execute(delete(tables.interview_links).where(tables.interview_links.c.interview.in_(theirs)))
    found += connection.execute(delete(tables.interviews).where(tables.interviews.c.person == person)).rowcount
    about = update(tables.audit).where(tables.audit.c.target == person, tables.audit.c.action.in_(ABOUT_PEOPLE))
    found += connection.execute(about.values(target=alias)).rowcount
    return bool(found)


def _decisions_of(connection: Connection, person: str) -> list[tuple[int, int]]:
    table = tables.decisions
    wanted = select(table.c.experiment, table.c.number).where(table.c.person == person).limit(AT_A_TIME)
    return [(row.experiment, row.number) for row in connection.execute(wanted)]


def _unname(connection: Connection, numbers: list[tuple[int, int]]) -> None:
    table = tables.decisions
    these = tuple_(table.c.experiment, table.c.number).in_(numbers)
    connection.execute(update(table).where(these).values(person=None))
