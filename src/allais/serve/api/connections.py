"""Connections with limits: how large and how slow a request may be, how many there are, and how long each may idle.

uvicorn bounds none of these before a request is complete, so that anybody, without a key, could fill the memory with
headers or keep every file descriptor.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from typing import Any

from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from allais.serve.settings_file import Limits

FRAMING = 8  # bytes around each byte of a body that comes in parts: no honest caller sends more
RESERVED = 100  # file descriptors for all but connections


class LimitedProtocol(HttpToolsProtocol):
    """One connection; a subclass of `limited` has the limits, and counts."""

    limits: Limits
    by_address: Counter[str]

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.access_log = False  # it would have names of people, and fails on what `with_segments` makes of a path
        self._received = self._body = 0  # bytes of the request that is coming in, and those of its body
        self._whole = False  # whether a request became complete in what is being read
        self._counted = False
        self._patience: float | None = None  # seconds for what comes next, once what came is read; None: as before
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count a connection, or refuse it."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if len(self.connections) > self.limits.connections:
            self._refuse(503, f"a service has {self.limits.connections:,} connections at most. Try again in a moment.")
        elif self.by_address[address] >= self.limits.connections_per_address:
            most = self.limits.connections_per_address
            self._refuse(503, f"an address may have {most:,} connections at a time; this one has. Close some.")
        else:
            self.by_address[address] += 1
            self._counted = True
            self._arm(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of what a connection had."""
        self._disarm()
        self._unset_keepalive_if_required()
        if self._counted:
            address = self.client[0] if self.client else ""
            self.by_address[address] -= 1
            if not self.by_address[address]:
                del self.by_address[address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, within the limits."""
        if self.transport.is_closing():
            return
        self._received += len(data)
        self._patience = None
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._patience is not None:
            self._arm(self._patience)
        if self._whole:
            self._received, self._body, self._whole = 0, 0, False
        elif self._received - self._body > self.limits.head_bytes + FRAMING * self._body:
            most = self.limits.head_bytes
            self._refuse(431, f"the headers of a request may have {most:,} bytes; these have more. Send fewer.")
            return
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._arm(self.limits.head_seconds)

    def on_message_begin(self) -> None:
        """Wait for the headers, for a limited time."""
        super().on_message_begin()
        self._patience = self.limits.head_seconds

    def on_headers_complete(self) -> None:
        """Wait for the body, for a limited time."""
        self._patience = self.limits.body_seconds
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait no more: the rest is the service's."""
        self._patience, self._whole = 0.0, True
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait for a caller who does not read the answer, for a limited time."""
        self._arm(self.limits.body_seconds)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Write on."""
        self._disarm()
        super().resume_writing()

    def _arm(self, seconds: float) -> None:
        """Abort after some seconds from now, or never if they are 0."""
        self._disarm()
        if seconds:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int, sentence: str) -> None:
        content = to_json({"error": sentence})
        head = f"content-type: application/json\r\ncontent-length: {len(content)}\r\nconnection: close\r\n"
        self.transport.write(b"".join([STATUS_LINE[status], head.encode(), b"retry-after: 1\r\n\r\n", content]))
        self._arm(self.limits.head_seconds)  # for a caller who does not even read that
        self.transport.close()


def limited(limits: Limits) -> type[LimitedProtocol]:
    """The connections of one server."""
    return type("Connection", (LimitedProtocol,), {"limits": limits, "by_address": Counter()})


def make_room(connections: int) -> int:
    """Raise the number of open files as far as connections need and the system lets us; how many there may be then."""
    if sys.platform == "win32":  # it counts otherwise
        return connections
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVED
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(min(connections, most - RESERVED), 1)
