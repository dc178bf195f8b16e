"""Connections of callers without a key, who send too much, too slowly, or nothing at all."""

from __future__ import annotations

import contextlib
import json
import socket

import pytest

from tests.serve.conftest import ROUTES

ONE_KB = b"x-more: " + b"a" * 1_014 + b"\r\n"


@pytest.fixture
def database(tmp_path):
    """One kind is enough: no connection here gets as far as the database."""
    return str(tmp_path / "advisor.db")


@pytest.fixture
def strict(calling):
    """A service that waits for nobody."""
    limits = {"head_seconds": 0.3, "body_seconds": 0.3, "idle_seconds": 1, "connections": 20}
    with calling(limits=limits) as caller:
        yield caller


def connected(caller, start=b""):
    made = socket.create_connection((caller.base_url.host, caller.base_url.port), timeout=30.0)
    made.sendall(start)
    return made


def rest(sock):
    """All that comes until the server closes the connection; a test of this waits for the server, not for a time."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while part := sock.recv(65_536):
            said += part
    sock.close()
    return said


def sent_until_refused(sock, part, most):
    """How many bytes of an endless request were taken."""
    many = 0
    with contextlib.suppress(ConnectionError):
        while many < most:
            sock.sendall(part)
            many += len(part)
    return many


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (b"GET /health HTTP/1.1\r\nhost: x\r\n", ONE_KB),  # headers without end
        (b"GET /health HTTP/1.1\r\nhost: x\r\nx-more: ", b"a" * 1_000),  # a header without end
        (b"GET /health?", b"a" * 1_000),  # an address without end
        (b"POST /sign-in HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", ONE_KB),  # trailers
        (b"POST /v1/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;", b"a" * 1_000),  # an extension
    ],
)
def test_a_request_without_end_is_refused(caller, start, part):
    with connected(caller, start) as sock:
        taken = sent_until_refused(sock, part, 50_000_000)
    assert taken < 8_000_000  # what the buffers of two sockets hold, and not what came
    assert caller.get("/health").status_code == 200


def test_headers_that_are_too_large_get_a_sentence(caller):
    sock = connected(caller, b"GET /health HTTP/1.1\r\nhost: x\r\n" + ONE_KB * 33)
    said = rest(sock)
    assert said.startswith(b"HTTP/1.1 431 ")
    assert json.loads(said.partition(b"\r\n\r\n")[2])["error"].startswith("the headers of a request may have 32,768")


def test_usual_headers_and_bodies_in_small_parts_pass(caller):
    with connected(caller, b"GET /health HTTP/1.1\r\nhost: x\r\n" + ONE_KB * 20 + b"connection: close\r\n\r\n") as sock:
        assert rest(sock).startswith(b"HTTP/1.1 200 ")
    body = json.dumps({**ROUTES, "name": "parts"}).encode()
    parts = (body[k : k + 1] for k in range(len(body)))
    assert caller.post("/v1/experiments", content=parts).status_code == 201


@pytest.mark.parametrize(
    "start",
    [
        b"",  # nothing
        b"\r\n",  # less than a request
        b"GET /health HTTP/1.1\r\nhost: x\r\nx-mo",  # half of the headers
        b"POST /sign-in HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nkey",  # a part of a body
        b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n",  # nothing after an answer
        b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n\r\n",  # less than a request after an answer
        b"GET /health HTTP/1.1\r\nhost: x\r\n\r\nGET /health HT",  # a part of a second request
        b"POST /v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n",  # refused before its body
    ],
)
def test_a_connection_that_says_no_more_is_closed(strict, start):
    rest(connected(strict, start))  # ends
    assert strict.get("/health").status_code == 200


def test_a_header_per_second_does_not_hold_a_connection(strict):
    sock = connected(strict, b"GET /health HTTP/1.1\r\nhost: x\r\n")
    sock.settimeout(0.05)
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < 1_000:  # 50 seconds
            sock.sendall(b"x: y\r\n")
            sent += 1
            with contextlib.suppress(TimeoutError):
                if not sock.recv(1):
                    break
    sock.close()
    assert sent < 1_000


def test_idle_connections_leave_room_for_callers(strict):
    idle = [connected(strict) for _ in range(30)]
    said = [rest(sock) for sock in idle]  # all of them end
    refused = [one for one in said if one]
    assert refused
    assert all(one.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in one for one in refused)
    assert strict.get("/health").status_code == 200
    assert not strict._server.config.http_protocol_class.by_address["127.0.0.1"] > 2


def test_one_address_does_not_get_all_connections(calling):
    with calling(limits={"connections_per_address": 3}) as caller:
        caller.close()
        idle = [connected(caller) for _ in range(3)]
        said = rest(connected(caller, b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"))
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"an address may have 3 connections" in said
        for sock in idle:
            sock.close()


def test_a_request_to_upgrade_is_answered_as_any_other(caller):
    ask = (
        b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    )
    sock = connected(caller, ask + b"sec-websocket-key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\n")
    assert sock.recv(100).startswith(b"HTTP/1.1 200 ")
    sock.close()
