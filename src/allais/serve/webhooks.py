"""Webhooks: verdicts, guardrails and drift, told to the addresses that the operator's file names, and to no others.

What changed is written to the database first, as a notice for each hook, and sent until it is taken, with growing
pauses: a process that is killed loses none. A receiver may get a notice twice, under the same id. Messages are signed
as Standard Webhooks says (https://www.standardwebhooks.com): HMAC-SHA256 of the id, the time and the body. Redirects
are not followed, and what a receiver answers is not kept.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import http.client
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import Connection, insert, select, update

from allais.learner import Learner
from allais.serve.core.errors import Refused
from allais.serve.core.experiment import Experiment
from allais.serve.core.service import TICK, Service, log
from allais.serve.core.values import LOOKED, Known, guardrails_of, judged
from allais.serve.settings_file import Webhook
from allais.serve.store.tables import ARCHIVED, notices
from allais.serve.store.writer import as_json

PATIENCE = 10.0  # seconds for a receiver to answer
AT_LATEST = 60.0  # seconds until outcomes that came are looked at, however few
LONGEST_PAUSE = 3_600.0  # seconds between two attempts
AT_A_TIME = 20  # notices that are sent in one round
GONE = 410  # the status by which a receiver says that it wants no more messages
SHORTEST = 16  # bytes of a secret
Seen = tuple[int, bool, float]  # of an experiment: outcomes, whether its test has ended, and when
UNSAID = {"verdict": "not yet", "guardrail": "", "drift": "0"}  # what everything is before anything was told


class Finding(NamedTuple):
    """What holds now about an arm or a comparison."""

    kind: str  # verdict, guardrail or drift
    subject: str
    word: str
    sentence: str


class Hook(NamedTuple):
    """An address, and the secret by which its messages are signed."""

    name: str
    settings: Webhook
    secret: bytes

    def wants(self, experiment: str, kind: str) -> bool:
        """Whether it is told about this."""
        only = self.settings.experiments
        return kind in self.settings.events and (only is None or experiment in only)


def hook_of(name: str, settings: Webhook) -> Hook:
    """A hook of the settings with its secret: what its file holds, or the bytes that it writes as whsec_ and base64."""
    file = Path(settings.secret_file)
    try:
        text = file.read_text(encoding="utf-8").strip()
        secret = base64.b64decode(text[6:], validate=True) if text.startswith("whsec_") else text.encode()
    except (OSError, UnicodeDecodeError, binascii.Error) as error:
        raise ValueError(f"webhooks.{name}: a secret is in a file; {file} cannot be read ({error}).") from None
    if len(secret) < SHORTEST:
        raise ValueError(
            f"webhooks.{name}: a secret has {SHORTEST} bytes or more; that in {file} has {len(secret)}. "
            "Make a new one: openssl rand -hex 24."
        )
    return Hook(name, settings, secret)


# -- what changed -----------------------------------------------------------------------------------


async def watch(service: Service, hooks: list[Hook]) -> None:
    """Look at experiments when they have new outcomes, and write down what changed, until the service stops."""

    def due(experiment: Experiment, last: Seen | None) -> Seen | None:
        test = experiment.settings.test
        seen, over, now = experiment.learner.samples, test is not None and test.ended is not None, time.monotonic()
        before, was_over, at = last or (0, False, -AT_LATEST)
        few = seen < before * LOOKED and now - at < AT_LATEST
        if experiment.state == ARCHIVED or (seen, over) == (before, was_over) or (few and over == was_over):
            return None
        return seen, over, now

    if hooks:
        failed = "what webhooks are told about %s could not be found out"
        await service.watch(lambda one: look(service, one.name, hooks), failed, due)


async def look(service: Service, name: str, hooks: list[Hook]) -> None:
    """Write a notice for each hook about what has changed since its last one."""
    twin = await service.copy_of_learner(name)
    experiment = service.experiment(name)
    found = await asyncio.to_thread(lambda: list(findings_of(twin)))
    test = experiment.settings.test
    if test is not None:
        await service.write([])  # what is judged is on disk
        result = await service.read(partial(judged, known=Known.of(experiment)), long=True)
        found += [Finding("verdict", f"{one.group}, {one.by}", one.word, one.sentence) for one in result.found or ()]
        if test.ended is not None:
            found.append(Finding("verdict", "end of test", str(test.ended.arm), test.ended.why))
    now = time.time()

    def writing(connection: Connection) -> None:
        columns = notices.c.hook, notices.c.kind, notices.c.subject, notices.c.word
        rows = connection.execute(select(*columns).where(notices.c.experiment == experiment.id).order_by(notices.c.id))
        told = {(hook, kind, subject): word for hook, kind, subject, word in rows}
        for hook in hooks:
            for one in found:
                before = told.get((hook.name, one.kind, one.subject), UNSAID[one.kind])
                if one.word != before and hook.wants(name, one.kind):
                    connection.execute(insert(notices).values(_notice(hook, experiment.id, name, one, before, now)))

    await service.change(writing)


def findings_of(learner: Learner) -> Iterator[Finding]:
    """What a learner says about its arms: guardrails that are broken, and alarms of drift."""
    for arm, shown in guardrails_of(learner).items():
        broken = shown == "breaks"
        said = f"{str(arm)!r} breaks a guardrail." if broken else f"{str(arm)!r} no longer breaks a guardrail."
        yield Finding("guardrail", str(arm), "breaks" if broken else "", said)
    if learner.policy.keeps_outcomes:
        for arm, drift in learner.drift().items():
            times = "once" if drift.alarms == 1 else f"{drift.alarms} times"
            said = f"Outcomes of {str(arm)!r} no longer look like earlier ones: they have changed {times} so far."
            yield Finding("drift", str(arm), str(drift.alarms), said)


def _notice(hook: Hook, experiment: int, name: str, one: Finding, before: str, now: float) -> dict[str, Any]:
    data = {"experiment": name, "subject": one.subject, "word": one.word, "before": before, "sentence": one.sentence}
    when = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
    return {
        "experiment": experiment, "hook": hook.name, "kind": one.kind, "subject": one.subject, "word": one.word,
        "message": f"msg_{secrets.token_hex(12)}", "body": as_json({"type": one.kind, "timestamp": when, "data": data}),
        "at": now, "attempts": 0, "due_at": now, "error": None,
    }  # fmt: skip


# -- sending ----------------------------------------------------------------------------------------


async def send(service: Service, hook: Hook) -> None:
    """Send the notices of a hook that are due, until the service stops."""
    while True:
        await asyncio.sleep(TICK)
        try:
            wanted = select(notices).where(notices.c.hook == hook.name, notices.c.due_at <= time.time())
            due = await service.rows(wanted.order_by(notices.c.id))
            mine = [row for row in due if service.ownership.owns(row.experiment)][:AT_A_TIME]
            for row in mine:
                error, final = await asyncio.to_thread(post, hook, row.message, row.body)
                await service.change(partial(_note, hook=hook, row=row, error=error, final=final))
        except Refused:  # the database is away: what was sent is sent again
            continue
        except Exception:
            log.exception("the webhook %s could not be served", hook.name)


def _note(connection: Connection, hook: Hook, row: Any, error: str | None, final: bool) -> None:
    """Write down what became of an attempt."""
    now, settings = time.time(), hook.settings
    pause = min(settings.retry_seconds * 2.0 ** min(row.attempts, 30), LONGEST_PAUSE)
    over = final or now + pause - row.at > 3_600.0 * settings.give_up_hours
    if error is not None and over:
        log.error("the webhook %s did not take %s, which is given up: %s", hook.name, row.message, error)
    elif error is not None and row.attempts == 0:
        log.warning("the webhook %s did not take %s, which is sent again: %s", hook.name, row.message, error)
    due = None if error is None or over else now + pause
    changes = {"attempts": row.attempts + 1, "due_at": due, "error": error}
    connection.execute(update(notices).where(notices.c.id == row.id).values(changes))


def post(hook: Hook, message: str, body: str) -> tuple[str | None, bool]:
    """Send one message: why it was not taken, or None; and whether trying again is of no use."""
    address = urlsplit(hook.settings.url)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    assert address.hostname is not None
    connection = kind(address.hostname, address.port, timeout=PATIENCE)
    try:
        path = (address.path or "/") + (f"?{address.query}" if address.query else "")
        connection.request("POST", path, body.encode(), signed(hook.secret, message, int(time.time()), body))
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return str(error)[:200] or type(error).__name__, False
    finally:
        connection.close()
    return (None, True) if 200 <= status < 300 else (f"it answered {status}", status == GONE)


def signed(secret: bytes, message: str, at: int, body: str) -> dict[str, str]:
    """The headers of a message, as Standard Webhooks has them.

    >>> secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")  # the example of its specification
    >>> headers = signed(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, '{"test": 2432232314}')
    >>> headers["webhook-signature"]
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    mark = hmac.digest(secret, f"{message}.{at}.{body}".encode(), hashlib.sha256)
    return {
        "content-type": "application/json", "user-agent": "allais", "webhook-id": message, "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(mark).decode()}",
    }  # fmt: skip
