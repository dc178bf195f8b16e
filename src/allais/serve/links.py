"""Links to interviews: whoever has one answers the questions of one interview, without a key.

A link has a random token, of which the digest is stored. It ends at its time, when it is revoked, and with the key
that made it. Tokens are in no log: those have routes, not addresses.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import Any

from sqlalchemy import Connection, insert, select, update

from allais.serve import interviewing
from allais.serve.keys import Key, digest_of
from allais.serve.managing import audited
from allais.serve.refusals import Refused
from allais.serve.service import Service
from allais.serve.tables import interview_links

A_TOKEN = re.compile(r"^[A-Za-z0-9_-]{43}$")
NONE = Refused(404, "a link must be in force; this one is not, or not any more. Ask for another.")


async def make(service: Service, interview: str, lasts: float, key: Key) -> dict[str, Any]:
    """A new link to an interview; its token is in this answer and nowhere else."""
    await interviewing.show(service, interview)  # refuses what does not exist
    token, now = secrets.token_urlsafe(32), time.time()
    entries = {
        "digest": digest_of(token), "interview": interview, "key": key.id, "created_at": now, "expires_at": now + lasts,
    }  # fmt: skip
    await service.change(lambda connection: connection.execute(insert(interview_links).values(entries)) and None)
    await service.write([audited(key, "make link", interview, {"expires_at": now + lasts})])
    return {"token": token, "path": f"/answer/{token}", "expires_at": now + lasts}


async def revoke(service: Service, interview: str, key: Key) -> None:
    """Let no link to an interview open it any more; repeating it is harmless."""

    def revoking(connection: Connection) -> int:
        these = (interview_links.c.interview == interview, interview_links.c.revoked_at.is_(None))
        return connection.execute(update(interview_links).where(*these).values(revoked_at=time.time())).rowcount

    if await service.change(revoking):
        await service.write([audited(key, "revoke links", interview)])


async def admit(service: Service, token: str, address: str) -> tuple[str, Key]:
    """The interview that a token opens, and the key that made its link."""
    found = None
    if A_TOKEN.match(token):
        wanted = select(interview_links).where(interview_links.c.digest == digest_of(token))
        found = await service.read(lambda connection: connection.execute(wanted).one_or_none())
    if found is None:
        service.ring.count_wrong(address)
        raise NONE
    maker = service.ring.made_by(found.key)
    if maker is None or found.revoked_at is not None or found.expires_at <= time.time():
        raise NONE
    service.answering.count(found.digest)
    return str(found.interview), maker
