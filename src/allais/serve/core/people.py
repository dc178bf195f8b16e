"""People and their preferences: stored once each, known by name, changed at any time."""

from __future__ import annotations

import json
import secrets
import time
from functools import partial
from operator import methodcaller
from typing import Any

from sqlalchemy import Connection, delete, insert, select, tuple_, update

from allais.files import checksum
from allais.preferences import Preference
from allais.serve.api.schemas_people import PutPerson
from allais.serve.core.errors import Refused, not_found
from allais.serve.core.experiments import audited
from allais.serve.core.keys import Key, digest_of
from allais.serve.core.parse_settings import preference_from
from allais.serve.core.restore import PEOPLE, stored_preference
from allais.serve.core.service import Service
from allais.serve.store import tables
from allais.serve.store.tables import people, preferences
from allais.settings import FORMAT, VERSION, from_spec, to_spec

CARRIES_OVER = (
    "Weights, utility and loss aversion are applied to the gains and losses of each experiment, whatever their unit: "
    "a power utility gives the same preferences in all. Direction and reference are those of the experiment."
)


def put_person(
    connection: Connection, person: str, preference: Preference, source: str, fitted_in: dict[str, Any] | None = None
) -> None:
    """Write the preference of a person; `fitted_in` has the unit and the stakes of her choices, where known."""
    document = json.dumps(to_spec(preference), sort_keys=True, allow_nan=False)
    from_spec(json.loads(document))  # what is stored must be readable again
    digest = digest_of(document)
    number = connection.execute(select(preferences.c.id).where(preferences.c.digest == digest)).scalar()
    if number is None:
        new = insert(preferences).values(digest=digest, document=document).returning(preferences.c.id)
        number = connection.execute(new).scalar_one()
    entries = {
        "preference": number, "source": source, "changed_at": time.time(),
        "fitted_in": None if fitted_in is None else json.dumps(fitted_in),
    }  # fmt: skip
    if not connection.execute(update(people).where(people.c.name == person).values(entries)).rowcount:
        connection.execute(insert(people).values(name=person, **entries))


async def put(service: Service, person: str, call: PutPerson, key: Key) -> dict[str, Any]:
    """Give a person a preference: a document, a name, or the content of a preference file."""
    if (call.preference is None) == (call.file is None):
        raise Refused(422, "a person has one preference; give either preference or file.")
    fitted_in = None if call.unit is None else {"unit": call.unit}
    if call.preference is not None:
        source = str(call.preference.get("name", "document"))
        preference = preference_from(call.preference)
    else:
        source, preference = "file", preference_from(_checked(call.file or {}))
        fitted_in = fitted_in or _fitted_in(call.file or {})
    if not preference.is_scale_free:  # no type that a document can name makes one today
        raise Refused(422, "a person's utility must not depend on the unit; this one does. Use PowerUtility.")
    await service.change(partial(put_person, person=person, preference=preference, source=source, fitted_in=fitted_in))
    await service.write([audited(key, "put person", person, source)])
    service.people.forget(person)
    return await show(service, person)


async def show(service: Service, person: str) -> dict[str, Any]:
    """A person as callers see her."""
    row = await service.read(partial(stored_preference, person=person))
    if row is None:
        raise not_found("a person", person, "Put her preference first.")
    return _shown(row)


async def listed(service: Service, after: str, limit: int) -> list[dict[str, Any]]:
    """People by name, from one name on."""
    wanted = PEOPLE.where(people.c.name > after).order_by(people.c.name).limit(limit)
    return list(map(_shown, await service.rows(wanted)))


def _shown(row: Any) -> dict[str, Any]:
    document, fitted_in = json.loads(row.document), json.loads(row.fitted_in or "{}")
    unused = [f"the reference {document['reference']:g}"] if document["reference"] else []
    unused += ["costs"] if document["costs"] else []
    return {
        "name": row.name, "preference": document, "source": row.source, "changed_at": row.changed_at,
        "unit": fitted_in.get("unit"), "stakes": fitted_in.get("stakes"),
        "note": CARRIES_OVER + (f" Not used: {' and '.join(unused)}." if unused else ""),
    }  # fmt: skip


def _fitted_in(file: dict[str, Any]) -> dict[str, Any] | None:
    """The unit and the stakes of the interview that left a file."""
    talk = file.get("interview")
    settings = talk.get("settings") if isinstance(talk, dict) else None
    if not isinstance(settings, dict):
        return None
    unit, stakes = settings.get("unit"), settings.get("stakes")
    ends = isinstance(stakes, list) and len(stakes) == 2 and all(isinstance(end, int | float) for end in stakes)
    return {"unit": unit if isinstance(unit, str) else None, "stakes": stakes if ends else None}


def _checked(file: dict[str, Any]) -> dict[str, Any]:
    """The preference in the content of a file, which must be as it was written."""
    version = file.get("version")
    if file.get("format") == FORMAT and isinstance(version, int) and version > VERSION:
        raise Refused(
            422, f"a preference file is of version {VERSION} or older; this one is of {version}. Update allais."
        )
    if file.get("format") != FORMAT or version != VERSION or not isinstance(file.get("preference"), dict):
        raise Refused(422, "this content is not a preference file. Send the whole file.")
    if file.get("checksum") != checksum(file):
        raise Refused(422, "a preference file must match its checksum; this one is damaged. Use a backup.")
    return file["preference"]


AT_A_TIME = 2_000  # rows in one transaction: others wait for it
ABOUT_PEOPLE = ("put person", "remove person", "interview", "answer interview", "erase person")  # actions upon a person


async def erase_person(service: Service, person: str, key: Key) -> None:
    """Delete what is kept under a person's name: preference, interviews, and the name in decisions and audit trail.

    Outcomes stay, without the name. Repeating it is harmless.
    """
    alias = f"erased-{secrets.token_hex(8)}"  # the entries of one person stay together, and tell nothing of her
    erased = await service.change(partial(_erase, person=person, alias=alias))
    service.people.forget(person)
    for id_ in [id_ for id_, talk in service.interviews.items() if talk.person == person]:
        del service.interviews[id_]
    table = tables.decisions
    wanted = select(table.c.experiment, table.c.number).where(table.c.person == person).limit(AT_A_TIME)
    while some := list(map(tuple, await service.rows(wanted))):
        these = update(table).where(tuple_(table.c.experiment, table.c.number).in_(some)).values(person=None)
        await service.change(methodcaller("execute", these))
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
