"""API keys, rate limits, threads for one kind of work, and the clock by which decisions expire.

A key is made once, stored as a digest, compared in constant time, and limited in scope and pace.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, insert, select, update

from allais.serve.api.schemas import NewKey
from allais.serve.core.errors import Refused, not_found
from allais.serve.store import tables

Result = TypeVar("Result")
PAUSE = 2  # seconds after which a refused caller should ask again
MOST = 10_000  # callers that a rate limit remembers
BOOT: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # it goes on while a machine sleeps; Linux has it


class RateLimit:
    """A token bucket for each caller: so many calls in so many seconds, all of them at once if need be."""

    def __init__(self, calls: float, seconds: float, rule: str) -> None:
        """`rule` is the sentence of a refusal; {:g} in it is the number of calls."""
        self._most, self._per_second, self._rule = max(calls, 1.0), calls / seconds, rule.format(calls)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # calls that are left, and when

    def take(self, caller: str) -> None:
        """Count one call, or refuse it."""
        now = time.monotonic()
        left, then = self._left.get(caller, (self._most, now))
        left = min(self._most, left + (now - then) * self._per_second)
        allowed = left >= 1.0
        self._left[caller] = (left - 1.0 if allowed else left, now)
        self._left.move_to_end(caller)
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        if not allowed:
            raise Refused(429, self._rule, math.ceil((1.0 - left) / self._per_second))

    def charge(self, caller: str, calls: int) -> None:
        """Count further calls that came within one that was counted: a caller who sends too many waits longer."""
        left, then = self._left[caller]
        self._left[caller] = (left - calls, then)


class Pool:
    """Threads for one kind of work, so that no kind keeps another waiting; and how many calls may be under way."""

    def __init__(self, what: str, threads: int, most: int = sys.maxsize) -> None:
        self.what, self.most = what, most
        self.under_way = 0
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"allais-{what.replace(' ', '-')}")

    @contextmanager
    def place(self, most: int | None = None) -> Iterator[None]:
        """Within: one of the calls that are under way; refused where there are as many as there may be."""
        most = self.most if most is None else most
        if self.under_way >= most:
            raise Refused(
                503, f"at most {most} {self.what} run at a time; that many are running. Repeat the call in a moment.",
                retry_after=PAUSE,
            )  # fmt: skip
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    async def run(self, work: Callable[[], Result]) -> Result:
        """What a function returns, called by one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self, wait: bool = False) -> None:
        """Let the threads end, and wait for what they are doing if need be."""
        self._threads.shutdown(wait=wait, cancel_futures=True)


# seconds since some moment that is the same for the whole process
steady: Callable[[], float] = time.monotonic if BOOT is None else partial(time.clock_gettime, BOOT)


class Clock:
    """The clock of one experiment, in seconds: it neither jumps nor goes back, whatever the machine's clock does.

    Within a process it goes by the time that has passed. It begins at the time of day, less what that was ahead of this
    clock at the last decision on disk: a jump that was lived through is not caught up with after a restart. It never
    begins before that decision, so that decisions are in the order of their numbers.
    """

    def __init__(self, last: tuple[float, float] | None = None) -> None:
        """`last`: when the last decision was asked, by the time of day and by this clock."""
        now, began = time.time(), -float("inf")
        if last is not None:
            now, began = now - (last[0] - last[1]), last[1]
        self._ahead = max(now, began) - steady()

    def now(self) -> float:
        """What it shows."""
        return steady() + self._ahead


WRONG = "an address may send {:g} wrong keys per minute; this one sent more. Check the key."
TOO_FAST = "a key may call {:g} times per second; this one was faster. Wait a moment."
PREFIX = "alk"
SCOPES = ("read", "decide", "manage")
ITS_OWN = ""  # about no experiment in particular: about those that a key may see
FRESH = 2.0  # seconds after which a key that another process revoked is known here, too


class Key(NamedTuple):
    """A key as it is stored."""

    id: str
    name: str
    digest: str
    scopes: tuple[str, ...]
    created_at: float
    revoked_at: float | None
    expires_at: float | None = None  # never, if it is None
    experiments: tuple[str, ...] | None = None  # all it opens; everything, if it is None

    def may_see(self, experiment: str) -> bool:
        """Whether it opens an experiment at all."""
        return self.experiments is None or experiment in self.experiments

    @property
    def lasts(self) -> bool:
        """Whether it may manage everything, and never expires."""
        limited = self.revoked_at is not None or self.expires_at is not None or self.experiments is not None
        return "manage" in self.scopes and not limited


def new_key(asked: NewKey, now: float) -> tuple[str, Key]:
    """A key, which is shown once, and what is stored of it."""
    id_ = secrets.token_hex(6)
    whole = f"{PREFIX}_{id_}_{secrets.token_urlsafe(32)}"
    scopes = tuple(scope for scope in SCOPES if scope in asked.scopes)
    expires_at = None if asked.expires_in is None else now + asked.expires_in
    experiments = None if asked.experiments is None else tuple(asked.experiments)
    return whole, Key(id_, asked.name, digest_of(whole), scopes, now, None, expires_at, experiments)


def digest_of(text: str) -> str:
    """The SHA-256 of a text; of a key, which is random and long, one round is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


def store(connection: Connection, key: Key) -> None:
    """Write a new key."""
    listed = None if key.experiments is None else json.dumps(key.experiments)
    entries = {**key._asdict(), "scopes": " ".join(key.scopes), "experiments": listed}
    connection.execute(insert(tables.keys).values(entries))


def stored(connection: Connection) -> list[Key]:
    """All keys."""
    rows = connection.execute(select(tables.keys).order_by(tables.keys.c.created_at)).all()
    return [
        Key(
            row.id, row.name, row.digest, tuple(row.scopes.split()), row.created_at, row.revoked_at, row.expires_at,
            None if row.experiments is None else tuple(json.loads(row.experiments)),
        )
        for row in rows
    ]  # fmt: skip


def revoke(connection: Connection, id_: str, now: float) -> None:
    """Revoke a key."""
    this = tables.keys.c.id == id_
    found = {key.id: key for key in stored(connection)}
    if id_ not in found:
        raise not_found("a key", id_, "See GET /v1/keys.")
    if found[id_].lasts and not any(key.lasts for key in found.values() if key.id != id_):
        raise Refused(
            409, "the last key that manages everything and never expires cannot be revoked. Make another first."
        )
    connection.execute(update(tables.keys).where(this, tables.keys.c.revoked_at.is_(None)).values(revoked_at=now))


class KeyRing:
    """The keys as this process knows them, and how fast each may call."""

    def __init__(self, per_second: float, wrong_per_minute: float) -> None:
        self._keys: dict[str, Key] = {}
        self.calls = RateLimit(per_second, 1.0, TOO_FAST)  # by the ids of keys
        self.wrong = RateLimit(wrong_per_minute, 60.0, WRONG)  # by addresses: wrong keys, and wrong links

    def replace(self, keys: list[Key]) -> None:
        """Replace all keys by these."""
        self._keys = {key.id: key for key in keys}

    def known(self, given: str, address: str) -> Key:
        """The key that came from an address, if it is in force."""
        parts = given.split("_", 2)
        key = self._keys.get(parts[1]) if len(parts) == 3 else None
        right = hmac.compare_digest(digest_of(given), key.digest if key is not None else NOBODY)
        if key is None or not right:
            self.wrong.take(address)
            raise Refused(401, "a call needs a valid key; this one is unknown. Send Authorization: Bearer KEY.")
        return _in_force(key)

    def admit_known(self, id_: str, scope: str, about: str | None = None) -> Key:
        """The key of somebody who has shown it before, if it still opens what is asked for."""
        key = self._keys.get(id_)
        if key is None:
            raise Refused(401, "a call needs a valid key; this one no longer exists. Use another.")
        return self.allow(_in_force(key), scope, about)

    def allow(self, key: Key, scope: str, about: str | None) -> Key:
        """A valid key, if it opens what is asked for; it counts as one call.

        `about` is the experiment that is asked about, `ITS_OWN`, or None for what concerns all of them.
        """
        if about != ITS_OWN:
            require_sight(key, about)
        if scope not in key.scopes:
            raise Refused(
                403,
                f"this call needs a key with the scope {scope!r}; this one has {', '.join(key.scopes)}. Use another.",
            )
        self.calls.take(key.id)
        return key

    def made_by(self, id_: str) -> Key | None:
        """The key that made something, while it is in force."""
        try:
            return _in_force(self._keys[id_])
        except (KeyError, Refused):
            return None


def _in_force(key: Key) -> Key:
    if key.revoked_at is not None:
        raise Refused(401, "a call needs a valid key; this one was revoked. Ask for another.")
    if key.expires_at is not None and time.time() >= key.expires_at:
        raise Refused(401, "a call needs a valid key; this one has expired. Ask for another.")
    return key


def require_sight(key: Key, about: str | None) -> None:
    """Refuse a key that is for other experiments, or for some where a call concerns all."""
    if key.experiments is not None and (about is None or about not in key.experiments):
        what = "all experiments" if about is None else repr(about)
        listed = ", ".join(key.experiments[:8])
        raise Refused(403, f"this key is for the experiments {listed}; the call is about {what}. Use another key.")


NOBODY = "0" * 64  # compared with when there is no such key, so that both cases take as long


def shown(key: Key) -> dict[str, Any]:
    """A key as callers see it."""
    return {name: entry for name, entry in key._asdict().items() if name != "digest"}


def limits(key: Key) -> dict[str, Any]:
    """What the audit trail says about a new key."""
    return {name: entry for name, entry in shown(key).items() if entry is not None and name not in ("id", "created_at")}
