"""The client: a few lines for a caller, and calls that count once however often they are sent."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import socket
import textwrap
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import allais.client
from allais.client import AsyncClient, Client, ServiceError


@pytest.fixture
def client(caller):
    with Client(str(caller.base_url), caller.key) as made:
        yield made


def test_the_example_of_the_module_runs(caller):
    caller.create("to-work")
    caller.put("/v1/people/alice", json={"preference": {"name": "expected_value"}}).raise_for_status()
    text = allais.client.__doc__
    example = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    example = example.replace("http://127.0.0.1:8420", str(caller.base_url))
    example = example.replace("\nadvisor.recommend", "\nbest = advisor.recommend")
    names = {"key": caller.key, "drive": lambda arm: 7.0}
    exec(example, names)
    names["advisor"].close()
    assert names["best"] == names["choice"].arm
    assert caller.get("/v1/experiments/to-work").json()["outcomes"] == 1


def test_decide_reward_cancel_value(client):
    first = client.decide("routes", allowed=["A28"])
    assert first.arm == "A28"
    assert client.reward("routes", first, 7) == client.reward("routes", first.choice, 7.0)
    assert client.cancel("routes", client.decide("routes"))["state"] == "cancelled"
    assert client.recommend("routes")["arm"] == "A28"
    assert {arm["name"]: arm["outcomes"] for arm in client.value("routes")["arms"]} == {"A21": 0, "A28": 1}
    assert client.decide("routes", key="mine") == client.decide("routes", key="mine")


class Cutting:
    """A way to a server on which the first answers get lost, after the server has done its work."""

    def __init__(self, target, lose):
        self._target, self._lose, self.calls = target, lose, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                caller, _ = self._server.accept()
            except OSError:
                return
            with caller, socket.create_connection(self._target) as server:
                while request := caller.recv(65_536):
                    while not request.endswith(b"}"):  # head and body may come apart
                        request += caller.recv(65_536)
                    self.calls += 1
                    server.sendall(request)
                    part = answer = server.recv(65_536)
                    while part and not answer.endswith(b"}"):  # so may these
                        part = server.recv(65_536)
                        answer += part
                    if self.calls <= self._lose:
                        break
                    caller.sendall(answer)

    def close(self):
        self._server.close()


def test_a_call_whose_answer_got_lost_counts_once(caller):
    way = Cutting((caller.base_url.host, caller.base_url.port), lose=2)
    with Client(way.address, caller.key) as client:
        choice = client.decide("routes")
        client.reward("routes", choice, 7.0)
    way.close()
    assert way.calls >= 4
    assert choice.choice == 1  # and not 3: the same decision was asked for
    assert caller.get("/v1/experiments/routes").json()["open_decisions"] == 0


def test_each_error_is_one_sentence(caller, client):
    with pytest.raises(ServiceError, match="an experiment must exist; there is no 'none'") as caught:
        client.decide("none")
    assert caught.value.status == 404
    with (
        Client(str(caller.base_url), "alk_x_y") as stranger,
        pytest.raises(ServiceError, match="a call needs a valid key"),
    ):
        stranger.recommend("routes")
    with pytest.raises(ServiceError, match=r"does not answer .*Is the service running") as caught:
        Client("http://127.0.0.1:1", "key", tries=2).recommend("routes")
    assert caught.value.status == 0
    with pytest.raises(ValueError, match="a service has an address"):
        Client("127.0.0.1:8420", "key")


def test_a_service_that_is_busy_is_asked_again(calling):
    with calling(limits={"requests_per_second": 3.0}) as caller:
        caller.create()
        with Client(str(caller.base_url), caller.key) as client:
            assert len({client.decide("routes").choice for _ in range(5)}) == 5


def test_many_calls_in_one_and_changes(client, caller):
    asked = [{"person": "ann", "key": "one"}, {"allowed": ["B9"]}, {}]
    first, wrong, last = client.decide_each("routes", asked)
    assert client.decide("routes", "ann", key="one") == first
    assert isinstance(wrong, ServiceError)
    assert wrong.status == 422
    told = client.reward_each("routes", [("one", 7.0), (last, 8.0), (99, 1.0)])
    assert [one.status if isinstance(one, ServiceError) else one["outcome"] for one in told] == [7.0, 8.0, 404]
    assert client.reward("routes", "one", 7.0) == told[0]
    wide = {"type": "Bounded", "low": 0.0, "high": 99.0}
    assert client.change("routes", rewards=wide)["policy"]["rewards"] == wide
    client.erase("ann")
    with pytest.raises(ServiceError, match="is archived before it is deleted"):
        client.delete("routes")
    client.call("POST", "/v1/experiments/routes/archive")
    client.delete("routes")
    with pytest.raises(ServiceError, match="an experiment must exist"):
        client.delete("routes")


@contextmanager
def answering(status, headers=(), body=b""):
    """A server that says one thing to everybody; it yields its address and the calls that came."""
    calls = []

    class Saying(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _say(self):
            calls.append((self.command, self.path, self.rfile.read(int(self.headers.get("Content-Length", 0)))))
            self.send_response(status)
            for name, content in headers:
                self.send_header(name, content.replace("PATH", self.path))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = _say  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Saying) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", calls
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [307, 308])
def test_a_proxy_that_redirects_to_https_gets_the_same_call_there(caller, monkeypatch, status):
    there = caller.base_url.port
    monkeypatch.setattr(http.client, "HTTPSConnection", http.client.HTTPConnection)  # no certificate is at hand
    with (
        answering(status, [("Location", f"https://127.0.0.1:{there}PATH")]) as (address, calls),
        Client(address, caller.key) as client,
    ):
        choice = client.decide("routes", key="mine")
        assert client.reward("routes", choice, 7.0)["outcome"] == 7.0
        assert client.value("routes", person="joe")["person"] == "joe"
        others = []

        def of_another_thread():
            others.append(client.decide("routes").choice)
            client.close()

        thread = threading.Thread(target=of_another_thread)
        thread.start()
        thread.join()
        assert others == [choice.choice + 1]
        assert len(calls) == 1  # afterwards it goes there at once
    assert caller.get("/v1/experiments/routes").json()["outcomes"] == 1


@pytest.mark.parametrize(
    ("status", "where"),
    [
        (301, "https://127.0.0.1:1PATH"),
        (302, "https://127.0.0.1:1PATH"),
        (303, "/elsewhere"),
        (308, "http://127.0.0.1:1PATH"),
        (308, "https://elsewhere.test:1PATH"),
        (308, "https://127.0.0.1:1/elsewhere"),
        (307, ""),
    ],
)
def test_any_other_redirect_is_refused_with_a_sentence(status, where):
    with answering(status, [("Location", where)]) as (address, calls), Client(address, "alk_x_y") as client:
        for call in (
            lambda: client.decide("routes"),
            lambda: client.reward("routes", 1, 7.0),
            lambda: client.cancel("routes", 1),
            lambda: client.call("PUT", "/v1/people/joe", {}),
        ):
            with pytest.raises(ServiceError, match=f"the answer was {status} to .*nothing was done") as caught:
                call()
            assert caught.value.status == status
        assert len(calls) == 4


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{}"), ("application/json", b"[]"), ("application/json", b'"yes"'), ("text/html", b""),
        ("text/html", b"<h1>Welcome</h1>"), ("application/json", b"{"), ("text/csv", b"a,b"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_the_services_is_no_success(kind, body):
    with answering(200, [("Content-Type", kind)], body) as (address, _), Client(address, "alk_x_y") as client:
        for call in (
            lambda: client.decide("routes"),
            lambda: client.reward("routes", 1, 7.0),
            lambda: client.cancel("routes", 1),
            lambda: client.recommend("routes"),
            lambda: client.value("routes"),
        ):
            with pytest.raises(ServiceError, match=r"an answer must .*Is that the service's address\?"):
                call()


def test_a_refusal_without_a_reason_is_a_sentence():
    for body in (b"[]", b"<h1>no</h1>", b'{"error": 7}', b""):
        with answering(418, [], body) as (address, _), Client(address, "alk_x_y") as client:
            with pytest.raises(ServiceError, match="answered 418 without a reason") as caught:
                client.decide("routes")
            assert caught.value.status == 418


def test_an_export_is_text(client):
    client.decide("routes")
    assert client.call("GET", "/v1/experiments/routes/export?format=csv").startswith("number,arm,")


def test_the_asynchronous_client_has_every_call_of_the_other():
    def calls(kind):
        public = inspect.getmembers(kind, inspect.isroutine)
        return {name: inspect.signature(one) for name, one in public if name[0] != "_" and name != "close"}

    assert calls(AsyncClient) == calls(Client)
    assert AsyncClient.decide.__doc__ == Client.decide.__doc__


def test_the_example_of_the_asynchronous_client_runs(caller):
    caller.create("to-work")
    caller.put("/v1/people/alice", json={"preference": {"name": "expected_value"}}).raise_for_status()
    lines = [line for line in AsyncClient.__doc__.splitlines() if line.startswith("        ") and ": " not in line]
    example = textwrap.indent(textwrap.dedent("\n".join(lines)), "    ")
    example = f"async def run():\n{example}".replace("http://127.0.0.1:8420", str(caller.base_url))

    async def drive(arm):
        return 7.0

    names = {"key": caller.key, "drive": drive, "AsyncClient": AsyncClient}
    exec(example, names)
    asyncio.run(names["run"]())
    assert caller.get("/v1/experiments/to-work").json()["outcomes"] == 1


def test_many_tasks_call_at_once_and_a_lost_answer_counts_once(caller):
    way = Cutting((caller.base_url.host, caller.base_url.port), lose=2)

    async def run():
        async with AsyncClient(way.address, caller.key, connections=1) as client:
            first = await client.decide("routes")
        async with AsyncClient(str(caller.base_url), caller.key, connections=4) as client:
            some = await asyncio.gather(*(client.decide("routes", key=f"k{number}") for number in range(40)))
            await asyncio.gather(*(client.reward("routes", one, 7.0) for one in (first, *some)))
            with pytest.raises(ServiceError, match="an experiment must exist") as caught:
                await client.decide("none")
            assert caught.value.status == 404
            return first, some

    first, some = asyncio.run(run())
    way.close()
    assert way.calls >= 3
    assert {first.choice, *(one.choice for one in some)} == set(range(1, 42))
    found = caller.get("/v1/experiments/routes").json()
    assert (found["outcomes"], found["open_decisions"]) == (41, 0)


def test_the_event_loop_goes_on_while_a_call_waits():
    with socket.create_server(("127.0.0.1", 0)) as silent:

        async def run():
            address = f"http://127.0.0.1:{silent.getsockname()[1]}"
            async with AsyncClient(address, "alk_x_y", timeout=300.0, tries=1) as client:
                call = asyncio.create_task(client.recommend("routes"))
                for _ in range(3):
                    await asyncio.sleep(0.01)
                    assert not call.done()
                silent.accept()[0].close()
                with pytest.raises(ServiceError, match="does not answer"):
                    await call

        asyncio.run(run())
    with pytest.raises(ValueError, match="calls need a connection"):
        AsyncClient("http://127.0.0.1:1", "key", connections=0)
