"""The client: a few lines for a caller, and calls that count once however often they are sent."""

from __future__ import annotations

import socket
import threading

import pytest

import allais.client
from allais.client import Client, ServiceError


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
                    answer = server.recv(65_536)
                    if self.calls <= self._lose:
                        break
                    caller.sendall(answer)

    def close(self):
        self._server.close()


def test_a_call_whose_answer_got_lost_counts_once(caller):
    way = Cutting((caller.base_url.host, caller.base_url.port), lose=2)
    with Client(way.address, caller.key, timeout=5.0) as client:
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
        pytest.raises(ServiceError, match="a call needs a key that is known"),
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
