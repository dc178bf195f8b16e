"""Verdicts: false alarms of equal groups that are looked at all the time, outcomes until a change is found, speed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from allais._checks import FloatArray
from allais.bands.quantiles import sorted_group
from allais.evidence import Test, verdict
from allais.evidence.comparisons import metric_of
from allais.evidence.data import Log
from allais.report.markup import markdown_table
from allais.rewards import Bounded
from benchmarks.flights import from_jfk
from benchmarks.tables import Table
from benchmarks.timing import least_cpu
from benchmarks.verdict_changes import LEVELS, RAREST, WORKERS, changes, differs, ever_decided, side_by_side, told_apart
from benchmarks.verdict_rivals import DELTA, HAS_CONFSEQ, PLANNED, confseq, ends_by_ville, growthbook

DAYS, PER_DAY = 30, 100  # outcomes, or users, of each group and day
TESTS, BY_OTHERS = 1_000, 200  # equal groups of each kind, and those that others look at, too
EACH = 32  # other metrics than percentiles are looked at after so many parts more, as `Test` looks
OTHERS = ("mean", "cvar:0.1", "prospect")
MIXTURE = "0.7*mean+0.3*p99"
ATOMS, ODDS = np.array([0.0, 1.0, 2.0, 5.0, 30.0]), (0.3, 0.2, 0.25, 0.2, 0.05)  # p50 and p95 lie on steps
JFK = from_jfk("arr_delay")["arr_delay"].to_numpy(dtype=np.float64)
DRAWS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "Pareto 2.5": lambda rng, n: 1.0 + rng.pareto(2.5, size=n),
    "atoms": lambda rng, n: rng.choice(ATOMS, size=n, p=ODDS),
    "delays at JFK": lambda rng, n: rng.choice(JFK, size=n),
}


def run() -> str:
    return "\n\n".join(["## Verdicts", _equal_groups(), _equal_users(), changes(), _speed()])


# -- equal groups ---------------------------------------------------------------------------------


def _equal_groups() -> str:
    slow = [("atoms", f"{by}, bounds", TESTS) for by in ("cvar:0.1", "mean")]
    slow += [(kind, MIXTURE, TESTS) for kind in ("atoms", "lognormal")]
    cases = slow + [(kind, by, TESTS) for kind in DRAWS for by in (*LEVELS, *OTHERS)]
    with ProcessPoolExecutor(WORKERS) as pool:  # what takes long begins first
        rows = list(pool.map(_alarms, *zip(*cases, strict=True)))
    rows = rows[len(slow) :] + rows[: len(slow)][::-1]
    header = (
        "outcomes", "compared by", "tests", "daily", "every outcome", "GrowthBook's test, daily", "ville, daily",
        "confseq, daily",
    )  # fmt: skip
    return (
        f"Two equal groups, {PER_DAY} outcomes of each a day for {DAYS} days, delta = {DELTA:g}, rarest = {RAREST:g}: "
        "the share of tests that ever raise an alarm. Every outcome is looked at for percentiles; other metrics are "
        f"looked at after every {EACH}nd part more, as `Test` does, and bets daily only. GrowthBook's quantile test is "
        "written from its documentation (two-sided z-test, no sequential correction), from ten outcomes beyond the "
        f"quantile on; ville's are two quantile intervals at delta / 2 that do not meet ({BY_OTHERS} tests); confseq's "
        f"is its always-valid p-value of two groups, tuned for {PLANNED:,} outcomes ({BY_OTHERS} tests).\n\n"
        + markdown_table(header, rows)
    )


def _alarms(kind: str, by: str, tests: int) -> tuple[str, ...]:
    rng, n = np.random.default_rng(abs(hash_of(kind + by))), DAYS * PER_DAY
    counts = np.zeros(5, dtype=int)
    begin = time.perf_counter()
    for test in range(tests):
        first, second = DRAWS[kind](rng, n), DRAWS[kind](rng, n)
        if by in LEVELS:
            level = LEVELS[by]
            daily = partial(_daily, first=first, second=second, level=level)
            counts[:3] += [daily(_sorted_apart), ever_decided(first, second, level) is not None, daily(growthbook)]
            if test < BY_OTHERS:
                counts[3:] += [_ville(first, second, level), daily(confseq)]
        else:
            counts[:2] += _looked_at(first, second, by)
    shares = [f"{count / tests:.3f}" for count in counts[:3]]
    shares += [f"{count / min(tests, BY_OTHERS):.3f}" for count in counts[3:]]
    if by not in LEVELS:
        shares[2:] = ["", "", ""]
    if not HAS_CONFSEQ:
        shares[4] = ""
    if by.endswith("bounds"):
        shares[1] = ""
    row = (kind, by, f"{tests:,}", *shares)
    print(*row, f"{time.perf_counter() - begin:.0f} s", flush=True)
    return row


def hash_of(text: str) -> int:
    """A seed for each case, the same in every process."""
    return int.from_bytes(text.encode()[-7:], "little")


def _daily(
    apart: Callable[[FloatArray, FloatArray, float], bool], first: FloatArray, second: FloatArray, level: float
) -> bool:
    """Whether a test ever tells two groups apart, looking after every day."""
    return any(apart(first[:upto], second[:upto], level) for upto in range(PER_DAY, first.size + 1, PER_DAY))


def _sorted_apart(first: FloatArray, second: FloatArray, level: float) -> bool:
    return told_apart((sorted_group(first), sorted_group(second)), level)


def _ville(first: FloatArray, second: FloatArray, level: float) -> bool:
    at = np.arange(PER_DAY, first.size + 1, PER_DAY) - 1
    (low, high), (other_low, other_high) = (ends_by_ville(group, level) for group in (first, second))
    return bool(((low[at] > other_high[at]) | (other_low[at] > high[at])).any())


def _looked_at(first: FloatArray, second: FloatArray, by: str) -> tuple[bool, bool]:
    """Alarms of daily looks, and of looks after every 32nd part more."""
    name, _, bounded = by.partition(", ")
    rewards = Bounded(float(ATOMS[0]), float(ATOMS[-1])) if bounded else None
    metric = metric_of(name, True, rewards, RAREST, DELTA, 0.5)
    often = [2 * PER_DAY]
    while often[-1] < first.size:
        often.append(min(often[-1] + max(often[-1] // EACH, 1), first.size))
    daily = set(range(PER_DAY, first.size + 1, PER_DAY))
    log = side_by_side(first, second)
    kept: dict[Any, Any] = {}
    every_day = ever = False
    for n in sorted(daily if bounded else daily.union(often)):
        one, other = (side.upto(2 * n) for side in log.sides)
        if differs(metric.compare(one, other, kept)):
            ever, every_day = True, every_day or n in daily
            if every_day:
                break
    return every_day, ever


# -- users ----------------------------------------------------------------------------------------


def _equal_users() -> str:
    cases = [(by, users, TESTS) for by in (*LEVELS, *OTHERS) for users in (True, False)]
    with ProcessPoolExecutor(WORKERS) as pool:
        shares = list(pool.map(_alarms_of_users, *zip(*cases, strict=True)))
    rows = [(by, f"{TESTS:,}", *shares[2 * i : 2 * i + 2]) for i, by in enumerate((*LEVELS, *OTHERS))]
    header = ("compared by", "tests", "users are units", "as if outcomes were independent")
    return (
        f"The same with users: {PER_DAY // 2} new ones of each group a day, with 1 to 40 outcomes (5 on average) on "
        "the days after, lognormal around a level of each user's own that is lognormal, too; looked at daily:\n\n"
        + markdown_table(header, rows)
    )


def users_log(rng: np.random.Generator) -> tuple[Log, list[int]]:
    """Outcomes of users in the order of time, and the rows at which days end."""
    users = DAYS * PER_DAY  # of both groups
    came = rng.uniform(0.0, DAYS, size=users)
    times = np.minimum(rng.geometric(0.2, size=users), 40)
    of = np.repeat(np.arange(users), times)
    when = came[of] + np.where(np.append(True, of[1:] != of[:-1]), 0.0, rng.exponential(4.0, size=of.size))
    level = rng.lognormal(0.0, 0.7, size=users)
    outcome = level[of] * rng.lognormal(0.0, 0.7, size=of.size)
    order = np.argsort(when, kind="stable")
    order = order[when[order] < DAYS]
    log = Log((0, 1), of[order] % 2, outcome[order], of[order], None)
    return log, np.searchsorted(when[order], np.arange(1, DAYS + 1)).tolist()


def _alarms_of_users(by: str, users: bool, tests: int) -> str:
    rng, alarms = np.random.default_rng(7), 0
    metric = metric_of(by, True, None, RAREST, DELTA, 0.5)
    for _ in range(tests):
        log, days = users_log(rng)
        seen = log if users else Log(log.names, log.group, log.outcome, None, None)
        for row in days:
            views = [side.upto(row) for side in seen.sides]
            if min(view.users for view in views) < 2:
                continue
            if metric.level is None:
                alarm = differs(metric.compare(views[0], views[1], {}))
            else:  # the same as 0 outside the interval, which takes longer
                alarm = told_apart((views[0].sorted, views[1].sorted), metric.level)
            if alarm:
                alarms += 1
                break
    print(by, users, alarms / tests, flush=True)
    return f"{alarms / tests:.3f}"


# -- speed ----------------------------------------------------------------------------------------


def _speed() -> str:
    rng = np.random.default_rng(1)
    n = 1_000_000
    users = rng.integers(0, n // 5, size=n)
    log = {"group": np.where(users % 2 == 0, "a", "b"), "ms": rng.lognormal(5.0, 0.5, size=n)}
    log |= {"day": np.sort(rng.uniform(0.0, 14.0 * 86_400.0, size=n)), "user": np.char.add("u", users.astype(str))}
    ways: list[dict[str, Any]] = [{}, {"time": "day"}, {"time": "day", "user": "user"}]
    found = Table("compared by", "one look", "a look on each of 14 days", "of 200,000 users", "from a CSV file")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        pd.DataFrame(log).to_csv(path, index=False)
        for by in ("p99", "p50", "mean", "cvar:0.1", "prospect", MIXTURE):
            taken = []
            for table, way in [(log, way) for way in ways] + [(path, ways[-1])]:
                of: Any = partial(verdict, group="group", outcome="ms", by=by, rarest=RAREST, **way)
                of({name: column[:10_000] for name, column in log.items()})  # compiles
                taken.append(f"{least_cpu(3, partial(of, table)):.2f} s")
            found.add(by, *taken)
    return (
        f"A verdict on 1,000,000 rows, in seconds of CPU, since other work may run beside it:\n\n{found}\n\n"
        "One more outcome of a `Test`: the median of 2,000, and the CPU time of all since the size before, each:\n\n"
        f"{_cost_of_one()}"
    )


def _cost_of_one() -> Table:
    table = Table("compared by", "at 10,000: median, each", "at 100,000", "at 1,000,000")
    for by in ("p99", "mean"):
        test, rng = Test(["a", "b"], by=by, rarest=RAREST), np.random.default_rng(1)
        seen, cells = 0, []
        for size in (10_000, 100_000, 1_000_000):
            outcomes, start = rng.lognormal(5.0, 0.5, size=size - seen).tolist(), time.process_time()
            for outcome in outcomes:
                test.add("a" if seen % 2 else "b", outcome)
                seen += 1
            each, taken = (time.process_time() - start) / len(outcomes), []
            for outcome in rng.lognormal(5.0, 0.5, size=2_000).tolist():
                begin = time.perf_counter()
                test.add("a" if seen % 2 else "b", outcome)
                taken.append(time.perf_counter() - begin)
                seen += 1
            cells.append(f"{1e6 * float(np.median(taken)):.1f} us, {1e6 * each:.1f} us")
        table.add(by, *cells)
    return table
