"""A client of the service (`allais serve`), on the standard library alone: copy the file where allais is not installed.

    from allais.client import Client

    advisor = Client("http://127.0.0.1:8420", key)
    choice = advisor.decide("to-work", person="alice")
    delay = drive(choice.arm)
    advisor.reward("to-work", choice, delay)
    advisor.recommend("to-work", person="alice")["arm"]

`AsyncClient` has the same calls, to be awaited. A call that got no answer is repeated with the same key, so that it
counts once. Where a proxy sends callers from http to https on the same host, the client goes there with the same call;
it follows no other redirect, since the key would go along.
"""

from __future__ import annotations

import asyncio
import functools
import http.client
import json
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from urllib.parse import quote, urlencode, urlsplit

__all__ = ["AsyncClient", "Client", "Decision", "ServiceError"]

Takes = ParamSpec("Takes")
Answer = TypeVar("Answer")
AGAIN = (429, 502, 503, 504)  # answers after which the same call may succeed
KEPT = (307, 308)  # redirects that keep the method and the body
LONGEST_PAUSE = 5.0  # seconds between two attempts
STRANGE = "the service or a proxy before it answered {} without a reason. Check the address, and its log."


class ServiceError(RuntimeError):
    """A call that the service refused, or did not answer; `status` is 0 without an answer."""

    def __init__(self, sentence: str, status: int = 0) -> None:
        super().__init__(sentence)
        self.status = status


class Decision(NamedTuple):
    """What to do, and the number under which its outcome is told.

    Attributes:
        choice: The number under which the outcome is told.
        arm: The arm to play; with features, the number of the row.
        propensity: The probability with which this arm was chosen, where it is known.
        why: Why it was chosen, in words.
        would: In an apprentice's experiment, what the policy would have chosen.
        unused: Features that were sent and that the experiment does not use.
    """

    choice: int
    arm: str | int
    propensity: float | None
    why: str
    would: str | None
    unused: list[str] | None = None


class Client:
    """Calls one service with one key. Threads may share it; each has a connection of its own.

    Args:
        address: Where the service is, such as `https://advisor.example.org`.
        key: The API key.
        timeout: Seconds to wait for an answer.
        tries: How often a call is tried; a server that restarts is back by the third or fourth.
    """

    def __init__(self, address: str, key: str, *, timeout: float = 10.0, tries: int = 6) -> None:
        found = urlsplit(address)
        if found.scheme not in ("http", "https") or not found.hostname:
            raise ValueError(f"a service has an address, as http://127.0.0.1:8420; got {address!r}. Write it whole.")
        if tries < 1:
            raise ValueError(f"a call is tried once or more; got tries={tries!r}. Give a whole number.")
        self._address, self._path, self._timeout, self._tries = found, found.path.rstrip("/"), timeout, tries
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._mine = threading.local()
        self._opened: set[http.client.HTTPConnection] = set()  # of all threads

    def decide(
        self, experiment: str, person: str | None = None, *, allowed: Sequence[str] | None = None,
        features: Mapping[str, Any] | Sequence[Sequence[float]] | None = None, context: Mapping[str, Any] | None = None,
        did: str | None = None, key: str | None = None,
    ) -> Decision:  # fmt: skip
        """Which arm, for this person, now?

        Args:
            experiment: The experiment's name.
            person: Whose preference decides; None for the experiment's own.
            allowed: The arms to choose from; None for all.
            features: The features of each arm by name, or one row per arm.
            context: Features that all arms share.
            did: What the application did, in an apprentice's experiment.
            key: Your own name for the decision, so that a repeated call gets the same answer; by default a new one.
        """
        body = {
            "person": person, "allowed": allowed, "features": features, "context": context, "did": did,
            "key": key or uuid.uuid4().hex,
        }  # fmt: skip
        given = {name: it for name, it in body.items() if it is not None}
        return _decision(self.call("POST", _path(experiment, "decide"), given))

    def reward(
        self, experiment: str, choice: Decision | int | str, outcome: float | None = None, *,
        at_least: float | None = None, at_most: float | None = None, final: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Tell what a choice brought: late, in any order, and repeated if need be; it counts once.

        Args:
            experiment: The experiment's name.
            choice: What `decide` answered, its number, or the `key` that `decide` was called with.
            outcome: What it brought, in the experiment's unit; left out if that is the time until this call.
            at_least: Of an outcome that is not finished, what it will be at least.
            at_most: What it will be at most.
            final: Whether no more will ever be known of it, as after a time-out.
        """
        told = {"outcome": outcome, "at_least": at_least, "at_most": at_most, "final": final or None}
        body = {name: it if it is True else float(it) for name, it in told.items() if it is not None}
        answer = self.call("POST", _path(experiment, "reward"), _choice(choice) | body)
        return _require(answer, "choice", "state", "outcome")

    def cancel(self, experiment: str, choice: Decision | int | str) -> dict[str, Any]:
        """Give up a choice whose outcome will never be known.

        Args:
            experiment: The experiment's name.
            choice: What `decide` answered, its number, or its `key`.
        """
        return _require(self.call("POST", _path(experiment, "cancel"), _choice(choice)), "choice", "state")

    def decide_each(self, experiment: str, calls: Sequence[Mapping[str, Any]]) -> list[Decision | ServiceError]:
        """Many decisions in one call, up to 500.

        Each is answered on its own: by a decision, or by the error of that call, which is returned and not raised.

        Args:
            experiment: The experiment's name.
            calls: What `decide` takes, by name, for each decision.
        """
        each = self._each(experiment, "decide", [{"key": uuid.uuid4().hex, **call} for call in calls])
        return [one if isinstance(one, ServiceError) else _decision(one) for one in each]

    def reward_each(
        self, experiment: str, outcomes: Sequence[tuple[Decision | int | str, float]]
    ) -> list[dict[str, Any] | ServiceError]:
        """Many rewards in one call, up to 500; each is taken or refused alone.

        Args:
            experiment: The experiment's name.
            outcomes: Pairs of a choice and its outcome.
        """
        told = [{**_choice(choice), "outcome": float(outcome)} for choice, outcome in outcomes]
        return self._each(experiment, "reward", told)

    def change(self, /, experiment: str, **changes: Any) -> dict[str, Any]:
        """Change a running experiment.

        Args:
            experiment: The experiment's name.
            **changes: Wider `rewards`, another `preference`, further `terms`, `expires_after`; of a `test`, its
                `shares` and whether it is to `stop`.
        """
        return _require(self.call("PATCH", _path(experiment), changes), "name", "state")

    def delete(self, experiment: str) -> None:
        """Delete an archived experiment with all its decisions. This cannot be undone.

        Args:
            experiment: The experiment's name.
        """
        self.call("DELETE", _path(experiment))

    def erase(self, person: str) -> None:
        """Erase a person: the preference, the interviews, and the name wherever it is kept.

        Args:
            person: The person's name.
        """
        self.call("DELETE", f"/v1/people/{quote(person, safe='')}")

    def _each(self, experiment: str, verb: str, calls: list[dict[str, Any]]) -> list[Any]:
        found = _require(self.call("POST", _path(experiment, f"{verb}/batch"), {"calls": calls}), "answers")
        return [one["answer"] or ServiceError(one["error"], one["status"]) for one in found["answers"]]

    def recommend(self, experiment: str, person: str | None = None) -> dict[str, Any]:
        """The best arm so far, for a person or by the experiment's own preference.

        Args:
            experiment: The experiment's name.
            person: Whose preference decides; None for the experiment's own.
        """
        return _require(self.call("GET", _path(experiment, "recommend", person=person)), "arm")

    def value(self, experiment: str, person: str | None = None) -> dict[str, Any]:
        """What every arm is worth to a person, and what the mean would choose.

        Args:
            experiment: The experiment's name.
            person: Whose preference decides; None for the experiment's own.
        """
        return _require(self.call("GET", _path(experiment, "value", person=person)), "arms")

    def verdict(self, experiment: str) -> dict[str, Any]:
        """Which arms are better or worse than the control, by the outcomes so far: as often as one likes.

        The answer has a `summary`, `decided`, `verdicts` of each arm and metric, `groups`, `notes`, and how it `ended`.

        Args:
            experiment: The experiment's name.
        """
        return _require(self.call("GET", _path(experiment, "verdict")), "summary", "decided", "verdicts")

    def evaluation(self, /, experiment: str, **wanted: Any) -> dict[str, Any]:
        """What other policies would have brought, by the decisions so far: a `summary`, `targets`, and `notes`.

        Args:
            experiment: The experiment's name.
            **wanted: `by`, names of further preferences; a `floor` of every arm; a `person` whose own counts, too.
        """
        return _require(self.call("GET", _path(experiment, "evaluation", **wanted)), "summary", "targets")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make any other call, such as `call("PUT", "/v1/people/alice", {...})`, and return its answer.

        Args:
            method: The HTTP method.
            path: The path, from `/v1` on.
            body: What is sent as JSON; None for nothing.

        Raises:
            ServiceError: If the service refuses the call, or does not answer.
        """
        pause = 0.05
        for left in reversed(range(self._tries)):
            try:
                status, wait, answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if not left:
                    where = f"{self._address.scheme}://{self._address.netloc}"
                    raise ServiceError(f"{where} does not answer ({error}). Is the service running?") from None
            else:
                if 200 <= status < 300:
                    return answer
                if status not in AGAIN or not left:
                    said = answer.get("error") if isinstance(answer, dict) else None
                    raise ServiceError(said if isinstance(said, str) else STRANGE.format(status), status)
                pause = max(pause, wait)
            time.sleep(pause)
            pause = min(2.0 * pause, LONGEST_PAUSE)
        raise AssertionError  # the last attempt returns or raises

    def _once(self, method: str, path: str, body: Any) -> tuple[int, float, Any]:
        """Status, seconds to wait, and answer of one attempt."""
        response, content = self._sent(method, path, body)
        if 300 <= response.status < 400:
            self._follow(response.status, response.headers.get("Location", ""), path)
            response, content = self._sent(method, path, body)
        wait = response.headers.get("Retry-After", "")
        try:
            answer = json.loads(content) if content else {}
        except ValueError:
            kind = response.headers.get_content_type()
            if response.status < 300 and kind in ("application/json", "text/html", "text/plain"):
                raise ServiceError(
                    f"an answer must be JSON; this one is {kind}. Is that the service's address?", response.status
                ) from None
            answer = content.decode("utf-8", "replace")  # an export
        return response.status, min(float(wait) if wait.isdigit() else 0.0, LONGEST_PAUSE), answer

    def _follow(self, status: int, where: str, path: str) -> None:
        """Go from http to https on the same host, from now on; a key is sent nowhere else."""
        old, new = self._mine.address, urlsplit(where)
        there = new.path + (f"?{new.query}" if new.query else "")
        same = new.hostname == old.hostname and there == self._path + path
        if not (same and status in KEPT and old.scheme == "http" and new.scheme == "https"):
            advice = f"Write {new.scheme}://{new.netloc} as its address" if new.netloc else "Check its address"
            raise ServiceError(
                f"a call goes to the service itself, or from http to https on its host by 307 or 308; the answer was "
                f"{status} to {where[:200]!r}, and nothing was done. {advice}.",
                status,
            )
        self.close()
        self._address = new

    def _sent(self, method: str, path: str, body: Any) -> tuple[http.client.HTTPResponse, bytes]:
        connection = getattr(self._mine, "connection", None)
        if connection is None:
            address = self._mine.address = self._address
            kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
            assert address.hostname is not None
            connection = self._mine.connection = kind(address.hostname, address.port, timeout=self._timeout)
            self._opened.add(connection)
        sent = None if body is None else json.dumps(body)
        connection.request(method, self._path + path, sent, self._headers)
        response = connection.getresponse()
        return response, response.read()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        connection = getattr(self._mine, "connection", None)
        if connection is not None:
            connection.close()
            self._opened.discard(connection)
            self._mine.connection = None


def _awaited(
    method: Callable[Concatenate[Client, Takes], Answer],
) -> Callable[Concatenate[AsyncClient, Takes], Coroutine[Any, Any, Answer]]:
    """A call of `Client` as one of `AsyncClient`: made by a thread of its pool."""

    async def calling(self: AsyncClient, /, *given: Takes.args, **named: Takes.kwargs) -> Answer:
        work = functools.partial(method, self._client, *given, **named)
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    functools.update_wrapper(calling, method)
    return calling


class AsyncClient:
    """The calls of `Client`, for programs on asyncio: each takes and returns the same, and is awaited.

        async with AsyncClient("http://127.0.0.1:8420", key) as advisor:
            choice = await advisor.decide("to-work", person="alice")
            await advisor.reward("to-work", choice, await drive(choice.arm))

    Calls are made by threads with a connection each, so that the event loop never waits for one. A call whose task is
    cancelled may still reach the service; with a `key` of your own, asking again gets the same decision.

    Args:
        address: Where the service is, such as `https://advisor.example.org`.
        key: The API key.
        timeout: Seconds to wait for an answer.
        tries: How often a call is tried.
        connections: How many calls are made at a time; further ones wait.
    """

    def __init__(self, address: str, key: str, *, timeout: float = 10.0, tries: int = 6, connections: int = 16) -> None:
        if connections < 1:
            raise ValueError(f"calls need a connection; got connections={connections!r}. Give a whole number.")
        self._client = Client(address, key, timeout=timeout, tries=tries)
        self._pool = ThreadPoolExecutor(connections, thread_name_prefix="allais-client")

    decide, decide_each = _awaited(Client.decide), _awaited(Client.decide_each)
    reward, reward_each = _awaited(Client.reward), _awaited(Client.reward_each)
    cancel, change = _awaited(Client.cancel), _awaited(Client.change)
    delete, erase = _awaited(Client.delete), _awaited(Client.erase)
    recommend, value = _awaited(Client.recommend), _awaited(Client.value)
    verdict, evaluation, call = _awaited(Client.verdict), _awaited(Client.evaluation), _awaited(Client.call)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the calls that are under way, and close all connections."""
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        while opened := self._client._opened:  # by threads that have ended
            opened.pop().close()


def _decision(answer: Any) -> Decision:
    _require(answer, "choice", "arm", "propensity", "why", "would")
    return Decision(**{name: answer[name] for name in Decision._fields if name in answer})


def _choice(choice: Decision | int | str) -> dict[str, Any]:
    number = choice.choice if isinstance(choice, Decision) else choice
    return {"decision_key": number} if isinstance(number, str) else {"choice": int(number)}


def _require(answer: Any, *names: str) -> dict[str, Any]:
    """An answer with the entries that it must have; one that something else gave, such as a proxy, is refused."""
    if not isinstance(answer, dict) or any(name not in answer for name in names):
        listed = ", ".join(names)
        raise ServiceError(f"an answer must have {listed}; got {answer!r:.100}. Is that the service's address?")
    return answer


def _path(experiment: str, verb: str = "", **asked: Any) -> str:
    query = urlencode({name: it for name, it in asked.items() if it is not None}, doseq=True)
    return f"/v1/experiments/{quote(experiment, safe='')}{'/' * bool(verb)}{verb}{'?' * bool(query)}{query}"
