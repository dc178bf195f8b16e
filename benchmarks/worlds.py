"""Worlds that change: what a window and a fading memory win, what they cost where nothing changes, and false alarms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allais import NPTS, WUCB, Bounded, Discrete, Normal, Preference, TverskyKahneman
from allais.linear import AdditiveNoise, LinTS
from allais.policies import Fading, Policy, Recent
from allais.samples.drift import look, new_watch
from benchmarks.tables import Table, with_error

PEOPLE = Preference(TverskyKahneman(0.61))
ROUNDS, SPELL, RUNS = 100_000, 20_000, 10
MEMORIES: dict[str, Any] = {
    "everything": None,
    "Recent(5_000)": Recent(5_000),
    "Fading(half_life=2_500)": Fading(half_life=2_500),
}
World = Callable[[int], list[float]]  # the chance of each arm's prize in a round
PRIZES = (50.0, 30.0, 15.0)


def _still(turn: int) -> list[float]:
    return [0.1, 0.4, 0.5]


def _moves(turn: int) -> list[float]:
    """Every so often another arm is the best."""
    return ([0.1, 0.4, 0.5], [0.3, 0.1, 0.5], [0.05, 0.1, 0.9])[(turn // SPELL) % 3]


def _slow(turn: int) -> list[float]:
    swing = 0.15 * np.sin(2.0 * np.pi * turn / ROUNDS)
    return [0.2 - swing, 0.2 + swing, 0.5]


def _values(world: World, turn: int, preference: Preference) -> list[float]:
    chances = world(turn)
    return [preference.value(Discrete({z: p, 0: 1.0 - p})) for z, p in zip(PRIZES, chances, strict=True)]


def _regret(policy: Policy, world: World, seed: int, gaps: np.ndarray) -> float:
    learner = policy.start(len(PRIZES), seed)
    luck = np.random.default_rng(seed + 10_000).random((ROUNDS, len(PRIZES)))
    chances = np.array([world(turn) for turn in range(ROUNDS)])
    outcomes = (luck < chances) * np.array(PRIZES)
    lost = 0.0
    for turn in range(ROUNDS):
        choice = learner.ask()
        arm: Any = choice.arm
        learner.tell(choice, float(outcomes[turn, arm]))
        lost += gaps[turn, arm]
    return lost


def _gaps(world: World) -> np.ndarray:
    """What each arm loses in each round; values are computed every hundredth round."""
    values = np.array([_values(world, turn, PEOPLE) for turn in range(0, ROUNDS, 100)]).repeat(100, axis=0)
    return values.max(axis=1, keepdims=True) - values


def run() -> str:
    return "## Worlds that change\n\n" + _k_armed() + "\n\n" + _linear() + "\n\n" + _alarms()


def _k_armed() -> str:
    worlds: dict[str, World] = {
        "the world stands still": _still,
        f"it changes every {SPELL:,} rounds": _moves,
        "it changes slowly": _slow,
    }
    gaps = {name: _gaps(world) for name, world in worlds.items()}
    table = Table("regret", *worlds)
    for kind in (NPTS, WUCB):
        for label, memory in MEMORIES.items():
            policy = kind(PEOPLE, Bounded(0, 50), memory=memory)
            lost = ([_regret(policy, world, s, gaps[name]) for s in range(RUNS)] for name, world in worlds.items())
            table.add(f"{policy.name}, {label}", *map(with_error, lost))
    return f"Three arms, {ROUNDS:,} rounds, {RUNS} runs, seeds 0 to {RUNS - 1}.\n\n{table}"


def _linear() -> str:
    """Two features; theta turns by a right angle at half time, or not at all."""
    rows = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0.0, np.pi, 12)])
    thetas = {"stands still": np.array([[1.0, 0.0]] * 2), "changes at once": np.array([[1.0, 0.0], [0.0, 1.0]])}
    table = Table("regret of the mean", *(f"theta {name}" for name in thetas))
    for label, memory in (("everything", None), ("Fading(half_life=200)", Fading(half_life=200))):
        row = [f"LinTS, {label}"]
        for theta in thetas.values():
            lost = []
            for seed in range(RUNS):
                policy = LinTS(PEOPLE, AdditiveNoise(Normal(0.0, 1.0)), memory=memory)
                learner = policy.start(len(rows), seed, features=rows)
                noise = np.random.default_rng(seed + 10_000).normal(size=2_000)
                total = 0.0
                for turn in range(2_000):
                    means = rows @ theta[turn // 1_000]  # noise is the same for all arms, and so is what it adds
                    choice = learner.ask()
                    arm: Any = choice.arm
                    learner.tell(choice, float(means[arm] + noise[turn]))
                    total += means.max() - means[arm]
                lost.append(total)
            row.append(with_error(lost))
        table.add(*row)
    return f"Twelve arms with two features, 2,000 rounds, {RUNS} runs.\n\n{table}"


DISTRIBUTIONS: dict[str, Callable[[Any, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "a coin of .1": lambda rng, n: 1.0 * (rng.random(n) < 0.1),
    "a prize of 50 at .002": lambda rng, n: rng.random(n) + 50.0 * (rng.random(n) < 0.002),
    "a disaster of -50 at .002": lambda rng, n: rng.random(n) - 50.0 * (rng.random(n) < 0.002),
    "Student's t, 2 degrees": lambda rng, n: rng.standard_t(2, n),
}
CHANGES: dict[str, tuple[Any, Any]] = {
    "normal, the mean moves by .5 deviations": (lambda r, n: r.normal(0, 1, n), lambda r, n: r.normal(0.5, 1, n)),
    "normal, the mean moves by .2 deviations": (lambda r, n: r.normal(0, 1, n), lambda r, n: r.normal(0.2, 1, n)),
    "normal, the deviation grows by half": (lambda r, n: r.normal(0, 1, n), lambda r, n: r.normal(0, 1.5, n)),
    "a coin from .1 to .3": (lambda r, n: 1.0 * (r.random(n) < 0.1), lambda r, n: 1.0 * (r.random(n) < 0.3)),
    "a disaster from .002 to .05": (
        lambda r, n: r.random(n) - 50.0 * (r.random(n) < 0.002),
        lambda r, n: r.random(n) - 50.0 * (r.random(n) < 0.05),
    ),
}


def _first_alarm(outcomes: np.ndarray) -> int:
    watch = new_watch(1)
    for number, outcome in enumerate(outcomes.tolist()):
        look(watch, 0, outcome)
        if watch.alarms[0, 0]:
            return number
    return -1


def _alarms() -> str:
    rng = np.random.default_rng(1)
    n, times = 5_000, 200
    alarms = Table("distribution", "alarms", "arms")
    for name, distribution in DISTRIBUTIONS.items():
        alarms.add(name, str(sum(_first_alarm(distribution(rng, n)) >= 0 for _ in range(times))), str(times))
    delays = Table("change", "median delay", "found")
    for name, (before, after) in CHANGES.items():
        at = [_first_alarm(np.concatenate([before(rng, 2_000), after(rng, 5_000)])) for _ in range(50)]
        found = np.array([one - 2_000 if one >= 0 else np.inf for one in at])
        seen = np.isfinite(found).mean()
        delays.add(name, f"{np.median(found):,.0f}" if seen > 0.5 else "not found", f"{seen:.2f}")
    return (
        f"Alarms of an arm with {n:,} outcomes of one distribution, looked at after each (promised: 1 in 1,000):\n\n"
        f"{alarms}\n\nOutcomes until the alarm, after a change at 2,000 (50 arms, 5,000 outcomes after it):\n\n{delays}"
    )
