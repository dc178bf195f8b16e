"""`allais serve --demo`: travellers with three preferences on the way from node 12 to node 4, past a level crossing.

The delays were recorded on Eclipse SUMO (`allais traffic record`); the package has 1,000 quantiles of each of four
routes. The travellers call the service as any client does.
"""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

from allais.client import Client, Decision, ServiceError
from allais.serve.api.schemas import ExperimentSettings

NAME = "to-work"
USUAL = 4.0  # minutes: what everybody expects
GROUPS: dict[str, dict[str, Any]] = {
    "courier": {"name": "expected_value", "reference": USUAL, "costs": True},
    "commuter": {"name": "tversky_kahneman", "reference": USUAL, "costs": True},
    "on-call nurse": {"name": "cvar", "level": 0.1, "reference": USUAL, "costs": True},
}
EACH = 20  # travellers of a group
HEAD_START = 600  # trips that are made at once, so that there is something to see
PACE = 0.08  # seconds between two trips afterwards, on average
LATE = 40  # trips that are under way at once
LOST = 0.01  # of the trips never end in a reward


def delays() -> dict[str, list[float]]:
    """Recorded delays of each route, in minutes.

    >>> recorded = delays()
    >>> [round(sum(recorded[route]) / len(recorded[route]), 1) for route in recorded]
    [2.9, 3.1, 3.2, 3.2]
    """
    found: dict[str, list[float]] = json.loads(Path(__file__).with_name("delays.json").read_text("utf-8"))
    return {route: [seconds / 60.0 for seconds in recorded] for route, recorded in found.items()}


def settings() -> ExperimentSettings:
    """The experiment of the demonstration."""
    recorded = delays()
    longest = float(int(max(map(max, recorded.values()))) + 1)
    return ExperimentSettings(
        policy={"type": "NPTS"}, arms=list(recorded), preference=GROUPS["commuter"],
        rewards={"type": "Bounded", "low": 0.0, "high": longest}, unit="minutes", expires_after=60.0, seed=1,
    )  # fmt: skip


class Travellers(threading.Thread):
    """Everybody who is on the way, until `stop`."""

    def __init__(self, address: str, key: str, seed: int = 1) -> None:
        super().__init__(name="allais-travellers", daemon=True)
        self._client, self._rng, self._ended = Client(address, key), random.Random(seed), threading.Event()
        self._delays = delays()
        self.trips = 0

    def stop(self) -> None:
        """Start no more trips."""
        self._ended.set()

    def run(self) -> None:
        """Give everybody a preference, then travel."""
        with self._client:
            self._travel()

    def _travel(self) -> None:
        people = [f"{group} {k + 1}" for group in GROUPS for k in range(EACH)]
        under_way: list[Decision] = []
        while not self._ended.is_set():
            try:
                if not self.trips:
                    for person in people:
                        self._client.call("PUT", f"/v1/people/{person.replace(' ', '%20')}",
                                          {"preference": GROUPS[person.rsplit(" ", 1)[0]]})  # fmt: skip
                under_way.append(self._client.decide(NAME, self._rng.choice(people)))
                self.trips += 1
                if len(under_way) >= LATE:
                    self._arrive(under_way.pop(self._rng.randrange(LATE)))
            except ServiceError:  # paused, or the service ends: whoever waits tries again later
                time.sleep(0.5)
            if self.trips >= HEAD_START:
                self._ended.wait(self._rng.expovariate(1.0 / PACE))

    def _arrive(self, trip: Decision) -> None:
        delay = self._rng.choice(self._delays[str(trip.arm)])
        if self._rng.random() >= LOST:
            self._client.reward(NAME, trip, delay)
