"""A user's day: an application that is as careless as real ones, a server that dies, and a plain model beside it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.serve.processes import Served

EXPIRES = 3_600.0  # seconds until a decision without an outcome expires
PROMPT, LATE, LOST = 0.62, 0.87, 0.96  # of all rewards, cumulated; the rest is cancelled
LATEST = 120  # decisions after which a late reward is told


class ClockedServer(Served):
    """A server whose clocks can be moved."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.key, self._process = folder, "", None
        self._passed = self._set_ahead = 0.0
        self.move()
        database = json.dumps(f"{folder / 'day.db'}")
        (folder / "advisor.toml").write_text(f"database = {database}\nport = 0\nsnapshot_every = 400\n")
        self.start()

    def start(self) -> None:
        root = str(Path(__file__).parents[2])
        environment = {**os.environ, "DAY_CLOCK": str(self._folder / "clock"), "PYTHONPATH": root}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.serve.clocked", "advisor.toml"], cwd=self._folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._listen()

    def move(self, passed: float = 0.0, set_ahead: float = 0.0) -> None:
        """Let time pass, or set the time of day."""
        self._passed, self._set_ahead = self._passed + passed, self._set_ahead + set_ahead
        place = self._folder / "clock"
        place.with_suffix(".new").write_text(f"{self._passed} {self._set_ahead}")
        place.with_suffix(".new").replace(place)  # whole at every moment


@dataclass
class Decision:
    """What should be known about a decision."""

    arm: str
    person: str | None
    key: str
    state: str = "open"
    outcome: float | None = None


@dataclass
class World:
    """An experiment as it really is: what arms bring, and what the service should know by now."""

    name: str
    draw: dict[str, Callable[[random.Random], float]]
    in_play: set[str]
    decisions: dict[int, Decision] = field(default_factory=dict)

    def outcomes(self, arm: str) -> list[float]:
        """All that was told about an arm."""
        found = [one.outcome for one in self.decisions.values() if one.arm == arm and one.state == "told"]
        return [outcome for outcome in found if outcome is not None]

    def open(self) -> list[int]:
        """The decisions that wait."""
        return [number for number, one in self.decisions.items() if one.state == "open"]


class Application:
    """Decides for people, and is late, forgetful, wrong and repetitive about what came of it."""

    def __init__(self, server: ClockedServer, worlds: list[World], people: list[str | None], seed: int) -> None:
        self.server, self.people, self._rng = server, people, random.Random(seed)
        self.worlds = {world.name: world for world in worlds}
        self.client = server.client()
        self.steps = 0
        self._due: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self.unlucky: dict[tuple[str, str], int] = {}  # by experiment and arm: first rewards that get lost
        self.refused: Counter[int] = Counter()  # wrong calls, by status

    # -- calls ------------------------------------------------------------------------------------

    def post(self, world: str, verb: str, body: dict[str, Any]) -> httpx.Response:
        return self.client.post(f"/v1/experiments/{world}/{verb}", json=body)

    def right(self, world: str, verb: str, body: dict[str, Any]) -> Any:
        answer = self.post(world, verb, body)
        assert answer.status_code == 200, (world, verb, body, answer.text)
        return answer.json()

    def wrong(self, status: int, world: str, verb: str, body: dict[str, Any]) -> str:
        answer = self.post(world, verb, body)
        assert answer.status_code == status, (world, verb, body, answer.text)
        self.refused[status] += 1
        sentence: str = answer.json()["error"]
        return sentence

    # -- a day ------------------------------------------------------------------------------------

    def live(self, steps: int) -> None:
        """Decide so many times, for somebody, somewhere."""
        for _ in range(steps):
            self.steps += 1
            world, person = self._rng.choice(list(self.worlds.values())), self._rng.choice(self.people)
            body = {"person": person, "key": f"{world.name}-{self.steps}"}
            self.noted(world, body, self.right(world.name, "decide", body))
            for name, number in self._due.pop(self.steps, ()):
                self.tell(self.worlds[name], number)

    def noted(self, world: World, body: dict[str, Any], answer: dict[str, Any]) -> int:
        """Note a decision, repeat it now and then, and see to its reward."""
        number: int = answer["choice"]
        assert number not in world.decisions, "a choice was given twice"
        assert answer["arm"] in world.in_play, "an arm was chosen that is not in play"
        world.decisions[number] = Decision(answer["arm"], body["person"], body["key"])
        if self._rng.random() < 0.1:
            assert self.right(world.name, "decide", body) == answer
        fate, unlucky = self._rng.random(), self.unlucky.get((world.name, answer["arm"]), 0)
        if unlucky:
            self.unlucky[world.name, answer["arm"]] = unlucky - 1
        elif fate < PROMPT:
            self.tell(world, number)
        elif fate < LATE:
            self._due[self.steps + self._rng.randrange(1, LATEST)].append((world.name, number))
        elif fate >= LOST:
            self.cancel(world, number)
        return number

    def tell(self, world: World, number: int) -> None:
        """What a decision brought; told wrongly, twice or otherwise now and then."""
        known = world.decisions[number]
        outcome = round(world.draw[known.arm](self._rng), 3)
        named = {"choice": number} if self._rng.random() < 0.7 else {"decision_key": known.key}
        body = {**named, "outcome": outcome, "key": f"told-{number}"}
        if known.state == "expired":
            self.wrong(410, world.name, "reward", body)
            return
        mishap = self._rng.random()
        if mishap < 0.04:
            assert "PATCH" in self.wrong(422, world.name, "reward", {**body, "outcome": 1e6})
        elif mishap < 0.06:
            self.wrong(422, world.name, "reward", {**body, "outcome": "late"})
        elif mishap < 0.08:
            self.wrong(404, world.name, "reward", {"choice": 10**9, "outcome": outcome})
        answer = self.right(world.name, "reward", body)
        assert answer == {"choice": number, "arm": known.arm, "state": "told", "outcome": outcome}
        known.state, known.outcome = "told", outcome
        if mishap > 0.9:
            assert self.right(world.name, "reward", body) == answer
        elif mishap > 0.85:
            self.wrong(409, world.name, "reward", {**body, "outcome": outcome + 1.0})
        elif mishap > 0.82:
            self.wrong(409, world.name, "cancel", named)

    def cancel(self, world: World, number: int) -> None:
        """Give a decision up."""
        self.right(world.name, "cancel", {"choice": number})
        world.decisions[number].state = "cancelled"
        if self._rng.random() < 0.5:
            self.wrong(409, world.name, "reward", {"choice": number, "outcome": 1.0})

    def flood(self, world: World, many: int) -> None:
        """Decisions in batches whose rewards are all lost."""
        for start in range(0, many, 100):
            calls = [{"person": None, "key": f"flood-{self.steps}-{start + k}"} for k in range(min(100, many - start))]
            found = self.right(world.name, "decide/batch", {"calls": calls})["answers"]
            for call, one in zip(calls, found, strict=True):
                assert one["status"] == 200
                assert one["answer"]["choice"] not in world.decisions, "a choice was given twice"
                world.decisions[one["answer"]["choice"]] = Decision(one["answer"]["arm"], None, str(call["key"]))

    def killed(self) -> None:
        """The server dies while calls are under way; what got no answer is sent again after the restart."""
        sent: list[tuple[World, str, dict[str, Any]]] = []
        for world in self.worlds.values():
            for k in range(4):
                sent.append((world, "decide", {"person": self.people[0], "key": f"dying-{self.steps}-{k}"}))
            for number in world.open()[-4:]:
                outcome = round(world.draw[world.decisions[number].arm](self._rng), 3)
                sent.append((world, "reward", {"choice": number, "outcome": outcome, "key": f"told-{number}"}))
        running = [threading.Thread(target=self._last_call, args=one) for one in sent]
        for thread in running:
            thread.start()
        time.sleep(0.01)  # some are answered by now, some are not: all must be well
        self.server.kill()
        for thread in running:
            thread.join()
        self.client.close()
        self.server.start()
        self.client = self.server.client()
        for world, verb, body in sent:
            answer = self.right(world.name, verb, body)
            if verb == "reward":
                known = world.decisions[body["choice"]]
                known.state, known.outcome = "told", body["outcome"]
                for waiting in self._due.values():
                    if (world.name, body["choice"]) in waiting:
                        waiting.remove((world.name, body["choice"]))
            else:
                assert answer["choice"] not in world.decisions, "a choice was given twice"
                world.decisions[answer["choice"]] = Decision(answer["arm"], body["person"], body["key"])

    def _last_call(self, world: World, verb: str, body: dict[str, Any]) -> None:
        try:
            with self.server.client() as client:
                client.post(f"/v1/experiments/{world.name}/{verb}", json=body)
        except httpx.TransportError:
            pass

    def expired(self) -> None:
        """All that waits has waited too long: the service finds out by itself."""
        for world in self.worlds.values():
            until = time.monotonic() + 30.0
            while left := self.read(world)["open_decisions"]:
                assert time.monotonic() < until, f"{left} decisions do not expire"
                time.sleep(0.1)
            for number in world.open():
                world.decisions[number].state = "expired"

    # -- what the service says ---------------------------------------------------------------------

    def read(self, world: World, what: str = "", person: str | None = None) -> Any:
        """What a call that reads answers, for everybody or for a person."""
        asked = {} if person is None else {"person": person}
        answer = self.client.get(f"/v1/experiments/{world.name}{what}", params=asked)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def exported(self, world: World) -> dict[int, Decision]:
        """Every decision, by its number, as the service has it."""
        text = self.client.get(f"/v1/experiments/{world.name}/export", params={"format": "jsonl"}).text
        rows = [json.loads(line) for line in text.splitlines()]
        numbers = [row["number"] for row in rows]
        assert len(set(numbers)) == len(numbers), "a decision is there twice"
        return {
            row["number"]: Decision(row["arm"], row["person"], row["key"], row["state"], row["outcome"]) for row in rows
        }
