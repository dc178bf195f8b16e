"""People and their preferences: stored once each, known by name, changed at any time."""

from __future__ import annotations

import hashlib
import json
import time
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from allais.files.reading import checksum
from allais.preferences import Preference
from allais.preferences.documents import FORMAT, VERSION
from allais.serve.acquaintances import stored_preference
from allais.serve.building import preference_from
from allais.serve.keys import Key
from allais.serve.managing import audited
from allais.serve.refusals import Refused, unknown
from allais.serve.schemas_people import PutPerson
from allais.serve.service import Service
from allais.serve.tables import people, preferences
from allais.settings import to_spec


def put_person(connection: Connection, person: str, preference: Preference, source: str) -> None:
    """Write the preference of a person."""
    document = json.dumps(to_spec(preference), sort_keys=True, allow_nan=False)
    digest = hashlib.sha256(document.encode()).hexdigest()
    number = connection.execute(select(preferences.c.id).where(preferences.c.digest == digest)).scalar()
    if number is None:
        new = insert(preferences).values(digest=digest, document=document).returning(preferences.c.id)
        number = connection.execute(new).scalar_one()
    entries = {"preference": number, "source": source, "changed_at": time.time()}
    if not connection.execute(update(people).where(people.c.name == person).values(entries)).rowcount:
        connection.execute(insert(people).values(name=person, **entries))


async def put(service: Service, person: str, call: PutPerson, key: Key) -> dict[str, Any]:
    """Give a person a preference: a document, a name, or the content of a preference file."""
    if (call.preference is None) == (call.file is None):
        raise Refused(422, "a person has one preference; give either preference or file.")
    if call.preference is not None:
        source = str(call.preference.get("name", "document"))
        preference = preference_from(call.preference)
    else:
        source, preference = "file", preference_from(_checked(call.file or {}))
    await service.change(partial(put_person, person=person, preference=preference, source=source))
    await service.write([audited(key, "put person", person, source)])
    service.people.forget(person)
    return await show(service, person)


async def show(service: Service, person: str) -> dict[str, Any]:
    """A person as callers see her."""
    row = await service.read(partial(stored_preference, person=person))
    if row is None:
        raise unknown("a person", person, "Put her preference first.")
    document = json.loads(row.document)
    return {"name": person, "preference": document, "source": row.source, "changed_at": row.changed_at}


async def listed(service: Service, after: str, limit: int) -> list[dict[str, Any]]:
    """People by name, from one name on."""

    def reading(connection: Connection) -> list[Any]:
        wanted = select(people.c.name, people.c.source, people.c.changed_at, preferences.c.document)
        joined = wanted.join(preferences, people.c.preference == preferences.c.id).where(people.c.name > after)
        return list(connection.execute(joined.order_by(people.c.name).limit(limit)))

    rows = await service.read(reading)
    return [
        {"name": row.name, "preference": json.loads(row.document), "source": row.source, "changed_at": row.changed_at}
        for row in rows
    ]


async def remove(service: Service, person: str, key: Key) -> None:
    """Forget the preference of a person; what she decided stays."""

    def removing(connection: Connection) -> None:
        if not connection.execute(delete(people).where(people.c.name == person)).rowcount:
            raise unknown("a person", person, "See GET /v1/people.")

    await service.change(removing)
    await service.write([audited(key, "remove person", person)])
    service.people.forget(person)


def _checked(file: dict[str, Any]) -> dict[str, Any]:
    """The preference in the content of a file, which must be as it was written."""
    version = file.get("version")
    if file.get("format") == FORMAT and isinstance(version, int) and version > VERSION:
        raise Refused(
            422, f"a preference file is of version {VERSION} or older; this one is of {version}. Update allais."
        )
    if file.get("format") != FORMAT or version != VERSION or not isinstance(file.get("preference"), dict):
        raise Refused(422, "a preference file says what it is; this content does not. Send the whole file.")
    if file.get("checksum") != checksum(file):
        raise Refused(422, "a preference file must be as it was written; this one is damaged. Use a backup.")
    document: dict[str, Any] = file["preference"]
    return document
