"""kill -9 at random moments under load: nothing acknowledged is lost, nothing counts twice, choices go on alike."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from allais.serve.store import tables
from tests.serve.events import ask, lived_again, rows_of
from tests.serve.processes import Drivers, ServedByFork

SETTINGS = {
    "policy": {"type": "NPTS"},
    "arms": ["A21", "A28", "B7"],
    "preference": {"gains": {"type": "TverskyKahneman", "eta": 0.61}},
    "rewards": {"type": "Bounded", "low": 0.0, "high": 50.0},
    "seed": 1,
}


LINEAR = {
    "policy": {"type": "LinTS", "noise": {"type": "AdditiveNoise", "lottery": {"type": "Normal", "sd": 9.0}}},
    "arms": ["A21", "A28", "B7"],
    "preference": {"name": "expected_value"},
    "terms": ["arm=A28", "arm=B7", "length"],
    "features": {"A21": {"length": 1.5}, "B7": {"length": 3}},
    "seed": 1,
}


def outcome(number: int) -> float:
    return random.Random(number).random() * 50.0  # hundreds of different ones, so that memories move to trees


def survive(folder: Path, database: str, kills: int, seed: int, settings: dict[str, Any] = SETTINGS) -> Drivers:
    rng = random.Random(seed)
    drivers = Drivers(outcome)
    served = ServedByFork(folder, database, settings)
    try:
        practising = lived_again(database, settings)  # so that the compiler does not take all the time between kills
        choice, _ = ask(practising, settings)
        practising.tell(choice, outcome(1))
        for kill in range(kills):
            if kill:
                served.start()
            drivers.run(served, 1.0 if kill == 0 else rng.uniform(0.0, 1.0))
        stored = {row.number: row for row in rows_of(database, tables.decisions)}
        for number, arm in drivers.answered.items():
            assert stored[number].arm == arm, "an answered choice was lost"
        for number, reward in drivers.told.items():
            assert (stored[number].state, stored[number].outcome) == ("told", reward), "a reward was lost"
        learner = lived_again(database, settings)
        told = [row for row in stored.values() if row.state == "told"]
        assert learner.samples == len(told), "a reward counted twice, or not at all"
        served.start()
        with served.client() as client:
            for _ in range(20):
                expected, _ = ask(learner, settings)
                answer = client.post("/v1/experiments/routes/decide", json={}).json()
                arm = settings["arms"][expected.arm] if "terms" in settings else expected.arm
                assert (answer["choice"], answer["arm"]) == (expected.id, arm)
                learner.tell(expected, outcome(expected.id))
                client.post(
                    "/v1/experiments/routes/reward", json={"choice": expected.id, "outcome": outcome(expected.id)}
                )
        served.kill()
    finally:
        served.close()
    return drivers


def test_a_killed_server_has_lost_nothing_and_goes_on_as_if_nothing_happened(tmp_path, database):
    drivers = survive(tmp_path, database, kills=2, seed=1)
    assert drivers.told


@pytest.mark.slow
def test_a_killed_server_has_lost_nothing_of_choices_with_features(tmp_path, database):
    drivers = survive(tmp_path, database, kills=5, seed=1, settings=LINEAR)
    assert drivers.told


@pytest.mark.slow
def test_two_hundred_kills(tmp_path, database):
    kills = int(os.environ.get("ALLAIS_KILLS", "200"))
    drivers = survive(tmp_path, database, kills, seed=2)
    print(f"{kills} kills: {len(drivers.answered)} choices, {len(drivers.told)} rewards, {drivers.repeated} repeated")
    assert drivers.repeated > 0
