"""Thousands of options: flow lines of 11,774 and 57,624 options."""

from __future__ import annotations

from time import perf_counter

from allais import PairwiseScreening, cvar, expected_value
from benchmarks import coordinator
from benchmarks.pools import ROWS, table_of
from benchmarks.search import DELTA, RAREST, counted, row_of
from benchmarks.tables import Table

LINES = 20  # repetitions with thousands of options


def run() -> str:
    return "\n\n".join(["## Thousands of options", _pooled(), coordinator.largest()])


def _pooled() -> str:
    """Thousands of options: the flow line of L = 30."""
    table, seconds = table_of("flow line")
    rows = Table("flow line, valued by", "indifference", "promise", "runs", "standard error", "good enough",
                 "repetitions", "runs per option", "time of one")  # fmt: skip
    for kind, preference, slack in (("mean", expected_value(), 0.3), ("CVaR .1", cvar(0.1), 0.5)):
        for common in (False, True):
            policy = PairwiseScreening(
                preference, delta=DELTA, rarest=RAREST, tolerance=slack, common_random_numbers=common
            )
            begin = perf_counter()
            found = counted(policy, table, LINES)
            promise = "asymptotic, common random numbers" if common else "asymptotic"
            each = f"{(perf_counter() - begin) / LINES:.1f} s"
            rows.add(*row_of(kind, slack, promise, found), f"{found[0].mean() / table.shape[0]:.0f}", each)
    return (
        f"The flow line of L = 30, {table.shape[0]:,} options, a pool of {ROWS['flow line']} runs each that took "
        f"{seconds:.0f} s, rarest {RAREST:g}:\n\n{rows}"
    )
