"""Offline evaluation: coverage and errors on logs whose truth is known, real logs, and what exact propensities cost."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allais import NPTS, Bounded, Preference, cvar, expected_value, quantile
from allais.evidence import Decisions, evaluate, read_decisions
from allais.evidence.distributions import band
from allais.paper.problems import COSTS, PEOPLE, PROBLEM_A, PROBLEM_B, SETUP, THREE
from allais.report.markup import markdown_table
from benchmarks.sharper import _random, _run

DELTA = 0.1
SIZE, SIZE_LEARNED = 10_000, 2_000  # decisions in a log by uniform choice, and by NPTS while it learned
LOGS, LOGS_LEARNED_BY_MANY = 500, 60
PREFERENCES = {
    "mean": expected_value(),
    "p95": quantile(0.95),
    "CVaR .1": cvar(0.1),
    "TK": Preference.tversky_kahneman(),
}
ESTIMATORS: tuple[Any, ...] = ("doubly robust", "self-normalised", "importance-weighted")
OPEN_BANDIT = Path(os.environ.get("OPEN_BANDIT_MEN", "../shared/data/open_bandit_men"))
ROUNDS, RUNS = 10_000, 40


@dataclass(frozen=True)
class World:
    """Arms with known distributions of outcomes."""

    name: str
    arms: int
    high: float
    draw: Callable[[Any, np.random.Generator], Any]  # one outcome of each of these arms, which are shares of the best


def _discrete(arms: Any, rng: np.random.Generator) -> Any:
    """0, 1, 5 or 20, the more often the later the arm."""
    some = rng.choice([1.0, 5.0, 20.0], arms.size, p=[0.6, 0.35, 0.05])
    return np.where(rng.random(arms.size) < 0.3 + 0.4 * arms, some, 0.0)


def _heavy(arms: Any, rng: np.random.Generator) -> Any:
    """Lognormal, cut at 100."""
    return np.minimum(rng.lognormal(arms, 0.8), 100.0)


WORLDS = (
    World("discrete, 5 arms", 5, 20.0, _discrete),
    World("discrete, 50 arms", 50, 20.0, _discrete),
    World("lognormal, 5 arms", 5, 100.0, _heavy),
    World("lognormal, 50 arms", 50, 100.0, _heavy),
)


def _outcomes(world: World, arms: Any, rng: np.random.Generator) -> Any:
    return world.draw(np.asarray(arms) / (world.arms - 1), rng)


def _logged(world: World, rng: np.random.Generator, *, learning: bool) -> Decisions:
    """A log by uniform choice, or by NPTS while it learned."""
    names = tuple(range(world.arms))
    if not learning:
        chosen = rng.integers(world.arms, size=SIZE)
        return Decisions(names, chosen, _outcomes(world, chosen, rng), np.full(SIZE, 1.0 / world.arms), {})
    policy = NPTS(expected_value(), Bounded(0.0, world.high), draws=8, floor=0.2 / world.arms)
    learner = policy.start(list(names), int(rng.integers(2**31)))
    size = SIZE_LEARNED if world.arms < 10 else SIZE
    chosen, likely, outcome = np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size)
    for t in range(size):
        choice = learner.ask()
        chosen[t], likely[t] = int(str(choice.arm)), float(choice.propensity or math.nan)
        outcome[t] = _outcomes(world, chosen[t : t + 1], rng)[0]
        learner.tell(choice, float(outcome[t]))
    return Decisions(names, chosen, outcome, likely, {})


def _truth(world: World, target: dict[int, float]) -> dict[str, float]:
    """The values under a target, by two million outcomes."""
    rng = np.random.default_rng(99)
    outcomes = _outcomes(world, rng.choice(list(target), size=2_000_000, p=list(target.values())), rng)
    return {name: float(one.outcomes_of(one.estimate(outcomes))) for name, one in PREFERENCES.items()}


def run() -> str:
    """The section."""
    return "\n\n".join(
        (
            "## Logs: what another policy would have been worth",
            _coverage(), _time(), _real(), _propensities(),
        )
    )  # fmt: skip


def _coverage() -> str:
    rows, errors = [], []
    for world in WORLDS:
        target = {0: 0.5, 3: 0.5}
        true = _truth(world, target)
        for learning in (False, True):
            logs = LOGS_LEARNED_BY_MANY if learning and world.arms > 10 else LOGS
            held, proven = np.zeros(len(PREFERENCES)), np.zeros(len(PREFERENCES))
            missed: dict[str, list[list[float]]] = {name: [] for name in ESTIMATORS}
            effective = 0.0
            for k in range(logs):
                log = _logged(world, np.random.default_rng([7, k]), learning=learning)
                for estimator in ESTIMATORS:
                    bounds = (0.0, world.high) if estimator == ESTIMATORS[0] else None
                    found = evaluate(
                        log, {"half": target}, list(PREFERENCES.values()), delta=DELTA * len(PREFERENCES),
                        bounds=bounds, estimator=estimator,
                    )  # fmt: skip
                    pairs = list(zip(found.worths, true.values(), strict=True))
                    missed[estimator].append([one.value - value for one, value in pairs])
                    if bounds is not None:
                        near = 1e-9
                        held += [one.interval[0] - near <= v <= one.interval[1] + near for one, v in pairs]
                        proven += [one.proven[0] - near <= v <= one.proven[1] + near for one, v in pairs if one.proven]
                        effective += found.worths[0].effective / logs
            by = "NPTS" if learning else "uniform"
            shares = [f"{a / logs:.3f} / {b / logs:.3f}" for a, b in zip(held, proven, strict=True)]
            rows.append([world.name, by, str(logs), f"{effective:.0f}", *shares])
            rmse = {name: np.sqrt(np.mean(np.square(each), axis=0)) for name, each in missed.items()}
            errors.append(
                [world.name, by, *(" / ".join(f"{rmse[name][k]:.3g}" for name in ESTIMATORS) for k in range(4))]
            )
    return (
        f"Logs of {SIZE:,} decisions ({SIZE_LEARNED:,} where NPTS chose among 5 arms), with a target that is half "
        "of two arms. Shares of logs whose 90 % interval holds the true value: asymptotic / proven.\n\n"
        + markdown_table(["outcomes", "logged by", "logs", "outcomes in effect", *PREFERENCES], rows)
        + "\n\nRoot mean squared errors on the same logs: doubly robust / self-normalised / importance-weighted.\n\n"
        + markdown_table(["outcomes", "logged by", *PREFERENCES], errors)
    )


def _time() -> str:
    rng = np.random.default_rng(1)
    weights, values = np.where(rng.random(100_000) < 0.2, 5.0, 0.0), rng.lognormal(0.0, 1.0, 100_000)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        band(weights, values, DELTA)
        times.append(time.perf_counter() - start)
    return f"A time-uniform band of the distribution by 100,000 decisions takes {min(times):.3f} s (best of 5)."


def _real() -> str:
    if not OPEN_BANDIT.exists():
        return "The Open Bandit Dataset was not there (`OPEN_BANDIT_MEN`)."
    names: dict[str, Any] = {
        "arm": "item_id",
        "outcome": "click",
        "propensity": "propensity_score",
        "context": ["position"],
    }
    logs = {name: read_decisions(OPEN_BANDIT / f"{name}.csv", **names) for name in ("uniform", "thompson")}
    other = logs["thompson"]
    learned = {  # what Thompson sampling did at each position, by its logged probabilities of each item
        position: _mean_propensities(other, position) for position in sorted(set(other.context["position"]))
    }
    cases = [
        ("uniform choice", "thompson", {arm: 1.0 / len(other.arms) for arm in logs["uniform"].arms}, "uniform"),
        ("Thompson sampling", "uniform", lambda known: learned[known["position"]], "thompson"),
    ]
    rows = []
    for what, source, target, own in cases:
        found = evaluate(logs[source], {what: target}, expected_value(), bounds=(0.0, 1.0)).worths[0]
        earned = logs[own].outcome
        error = earned.std(ddof=1) / math.sqrt(earned.size)
        shown = [f"{found.value:.4f}", f"{found.interval[0]:.4f} to {found.interval[1]:.4f}"]
        proven = f"{found.proven[0]:.4f} to {found.proven[1]:.4f}" if found.proven else ""
        rows.append([what, source, *shown, proven, f"{earned.mean():.4f} ± {error:.4f}", f"{found.effective:.0f}"])
    heads = ["policy", "by the log of", "clicks", "90 % interval", "proven", "what it earned", "outcomes in effect"]
    return (
        "The Open Bandit Dataset's men campaign, 10,000 decisions each: each policy by the log of the other. Thompson "
        "sampling's target is its mean logged propensity of each item at each position.\n\n"
        + markdown_table(heads, rows)
    )


def _mean_propensities(log: Decisions, position: Any) -> dict[Any, float]:
    """The probability of each item at a position: the mean of those logged for it, made to sum to 1."""
    here = np.array([one == position for one in log.context["position"]])
    found = {}
    for k, arm in enumerate(log.arms):
        mine = here & (log.chosen == k)
        if mine.any():
            found[arm] = float(log.propensity[mine].mean())
    total = sum(found.values())
    return {arm: p / total for arm, p in found.items()}


def _propensities() -> str:
    cases = [
        ("(a), costs", PROBLEM_A, COSTS, Bounded(0, 50)),
        ("(b), costs", PROBLEM_B, COSTS, Bounded(0, 500)),
        ("Setup(*)", SETUP, PEOPLE, Bounded(0, 1)),
        ("three-armed", THREE, PEOPLE, Bounded(0, 50)),
        ("random 0", _random(0, 4), Preference.tversky_kahneman(), Bounded(-1, 3)),
    ]
    rows = []
    for name, problem, preference, rewards in cases:
        cells = []
        for draws in (1, 4, 16, 64):
            found = _run(NPTS(preference, rewards, draws=draws), problem, ROUNDS, RUNS).regret[:, -1]
            cells.append(f"{found.mean():.4g} ± {found.std(ddof=1) / math.sqrt(RUNS):.2g}")
        rows.append([name, *cells])
    times = []
    for draws in (1, 4, 16, 64):
        learner = NPTS(PEOPLE, Bounded(0, 50), draws=draws).start([str(k) for k in range(5)], seed=1)
        for arm in learner.arms:
            learner.observe(arm, np.random.default_rng(1).lognormal(1.0, 0.5, 2_000).clip(0, 50).tolist())
        learner.ask()
        best = math.inf
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(40):
                learner.ask()
            best = min(best, (time.perf_counter() - start) / 40)
        times.append(f"{1e6 * best:.0f}")
    rows.append(["µs per decision, 5 arms with 2,000 outcomes each", *times])
    return (
        f"Regret at {ROUNDS:,} rounds of NPTS that draws an arm from the shares of so many draws ({RUNS} runs, with "
        "standard errors), and how long a decision takes.\n\n"
        + markdown_table(["", "1 draw", "4 draws", "16 draws", "64 draws"], rows)
    )
