"""How many outcomes verdicts take until a change is found, beside published intervals and tests of others."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor

import numpy as np

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
from allais.evidence.comparisons import Found, metric_of
from allais.evidence.data import Log
from allais.evidence.ratio import word_of
from benchmarks.tables import Table, with_error
from benchmarks.verdict_rivals import (
    DELTA,
    HAS_CONFSEQ,
    PLANNED,
    STEP,
    ends_by_ville,
    until_apart,
    until_bands_part,
    until_by_confseq,
)

RAREST = 0.01
FOUND, FOUND_BY_OTHERS, MOST = 100, 20, 400_000  # tests with a change, and outcomes of each group at most
WORKERS = 2
LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


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


def told_apart(sides: tuple[Sorted, Sorted], level: float) -> bool:
    """Whether the quantiles of two groups differ, in either direction."""
    return evidence_of(sides, level) or evidence_of(sides[::-1], level)


def evidence_of(sides: tuple[Sorted, ...], level: float) -> bool:
    """Whether there is enough evidence that the first group has the lower quantile."""
    exponent = math.log(2.0 / DELTA)
    return bool(least_evidence(tilts(level), *sides[0], *sides[1], 0.0, False, exponent)[0] >= exponent)


def side_by_side(first: FloatArray, second: FloatArray) -> Log:
    """Outcomes of two groups, which came in turn."""
    return Log((0, 1), np.tile([0, 1], first.size), np.stack([first, second], axis=1).ravel(), None, None)


def differs(found: Found) -> bool:
    """Whether a comparison ends in a verdict."""
    return word_of(found.difference, None, None, costs=True) != "not yet"


def changes() -> str:
    """The table."""
    cases = [("p95", 1.15), ("p99", 1.2), ("p50", 1.05), ("cvar:0.1", 1.15)]
    table = Table("change", "allais", "wrong", "two published intervals", "ratio", "two other intervals",
                  "confseq's test")  # fmt: skip
    with ProcessPoolExecutor(WORKERS) as pool:
        for row in pool.map(_until_found, *zip(*cases, strict=True)):
            table.add(*row)
    return (
        f"Outcomes of each group until a change of all outcomes is found (lognormal, delta = {DELTA:g}, {FOUND} tests, "
        f"at most {MOST:,}). Published: two intervals at delta / 2 that do not meet, Howard and Ramdas (2022): theorem "
        "1 for quantiles, and for CVaR their band of the distribution (theorem 2), outcomes in [0, 100], by its "
        "width at the true distribution. Others: two of ville's, or two asymptotic ones of ours. confseq's test is no "
        f"interval: a p-value of two groups, tuned for {PLANNED:,} outcomes ({FOUND_BY_OTHERS} tests):\n\n{table}"
    )


def _until_found(by: str, factor: float) -> tuple[str, ...]:
    rng, counts, published, others, theirs, wrong = np.random.default_rng(3), [], [], [], [], 0
    for test in range(FOUND):
        if by in LEVELS:
            first, second = rng.lognormal(size=MOST), factor * rng.lognormal(size=MOST)
            at = next((n for n in (25_000, 100_000, MOST) if ever_decided(first[:n], second[:n], LEVELS[by])), MOST)
            counts.append(ever_decided(first[:at], second[:at], LEVELS[by]) or MOST)
            wrong += evidence_of((sorted_group(second[: counts[-1]]), sorted_group(first[: counts[-1]])), LEVELS[by])
            published.append(until_apart(first, second, LEVELS[by]))
            if test < FOUND_BY_OTHERS and HAS_CONFSEQ:
                theirs.append(until_by_confseq(first, second, LEVELS[by]))
        else:
            first, second = rng.lognormal(size=40_000), factor * rng.lognormal(size=40_000)
            n, side, apart_at = _until_normal(first, second, by)
            counts.append(n)
            others.append(apart_at)
            wrong += side < 0
    if by in LEVELS and LEVELS[by] < 0.99:
        for _ in range(5):
            first, second = rng.lognormal(size=MOST // 4), factor * rng.lognormal(size=MOST // 4)
            (_, high), (other_low, _) = (ends_by_ville(group, LEVELS[by]) for group in (first, second))
            apart = np.flatnonzero(other_low > high)
            others.append(apart[0] + 1 if apart.size else MOST // 4)
    known = float(np.mean(published)) if published else until_bands_part(0.1, factor)
    return (
        f"{by} {factor - 1.0:+.0%}", with_error(counts), str(int(wrong)), f"{known:,.0f}",
        f"{np.mean(counts) / known:.2f}", f"{np.mean(others):,.0f} ({len(others)} tests)" if others else "",
        f"{np.mean(theirs):,.0f}" if theirs else "",
    )  # fmt: skip


def _until_normal(first: FloatArray, second: FloatArray, by: str) -> tuple[int, int, int]:
    """When the difference is found, its sign, and when two intervals of their own at delta / 2 no longer meet."""
    metric, halved = (metric_of(by, True, None, RAREST, delta, 0.5) for delta in (DELTA, 0.5 * DELTA))
    log = side_by_side(first, second)
    n, at, sign = 400.0, 0, 0
    while n < first.size:
        views = [side.upto(2 * int(n)) for side in log.sides]
        if not at:
            found = metric.compare(views[0], views[1], {})
            if differs(found):
                at, sign = int(n), 1 if found.difference.low > 0.0 else -1
        else:
            found = halved.compare(views[0], views[1], {})
            if found.control.high < found.group.low:
                return at, sign, int(n)
        n *= STEP
    return at or first.size, sign or 1, first.size
