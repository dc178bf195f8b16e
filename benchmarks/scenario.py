"""Traffic, the scenario: how far routes are apart, how that depends on the crossing, whether both ways to draw agree.

Recordings are kept in build/traffic and used again, so that an interruption loses little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from allais._checks import FloatArray
from allais.simulation.simulate import workers
from allais.traffic import Crossing, Recording, TrafficProblem, grid_problem, record, sumo
from allais.traffic.analysis import RouteTable, objectives, route_table
from allais.traffic.recording import SPACING
from benchmarks.tables import Table

KEPT = Path("build/traffic")
SEEDS = (1, 2, 3, 4)
STRATIFIED, POISSON = 15, 60  # blocks of six hours
RATES, BY_RATE = (1.0, 2.0, 4.0, 8.0), 30  # closures a day, and blocks for each
STREAMS, LENGTH = 24, 256  # of one route each, to see how neighbours correlate
FRESH, CHUNK = 1_000, 25  # draws a route, and how many a task
SPARSE = 120.0  # seconds between probes that hardly disturb: 30 an hour beside 1,200 others
RESAMPLES = 400
R1, R2 = 0, 1


def run() -> str:
    if not sumo.is_installed():
        return "## Traffic, the scenario\n\nNot measured: Eclipse SUMO is not installed."
    even = {seed: _recording(seed, STRATIFIED, stratified=True) for seed in SEEDS}
    chance = {seed: _recording(seed, POISSON) for seed in SEEDS}
    rates = {rate: _recording(1, BY_RATE, rate) for rate in RATES}
    parts = ["## Traffic, the scenario", _leads(even, chance), _rates(rates), _streams(), _agreement(chance)]
    return "\n\n".join(parts)


def _recording(seed: int, blocks: int, rate: float = 4.0, stratified: bool = False) -> Recording:
    kind = "even" if stratified else "poisson"
    problem = grid_problem("stream", crossing=Crossing("X", closures_per_day=rate))
    return _kept(f"{kind}-{rate:g}-{blocks}-{seed}", lambda: record(problem, blocks, seed, stratified=stratified))


def _kept(name: str, recorded: Callable[[], Recording]) -> Recording:
    path = KEPT / f"{name}.npz"
    if path.exists():
        return Recording.load(path)
    found = recorded()
    KEPT.mkdir(parents=True, exist_ok=True)
    found.save(path)
    print(f"recorded {path}", flush=True)
    return found


def _leads(even: dict[int, Recording], chance: dict[int, Recording]) -> str:
    rows = Table("seed, blocks, closures", "fastest", "preferred", "R1 leads by mean", "R2 by TK .61", "R2 by TK .69",
                 "best at eta = 0.1, of resamples")  # fmt: skip
    for kind, recordings in (("one a block", even), ("Poisson", chance)):
        for seed, recording in recordings.items():
            table = route_table(recording, RESAMPLES)
            name = f"{seed}, {recording.n_blocks} blocks, {kind}"
            rows.add(name, *_best(table, "mean", "TK 0.61"), *_lead(table))
    return f"Leads between R1 and R2 in seconds, and in standard errors by bootstrap over blocks:\n\n{rows}"


def _best(table: RouteTable, *columns: str) -> tuple[str, ...]:
    return tuple(table.names[table.best(column)] for column in columns)


def _lead(table: RouteTable) -> tuple[str, ...]:
    gaps = [table.gap("mean", R1, R2), table.gap("TK 0.61", R2, R1), table.gap("TK 0.69", R2, R1)]
    shares = table.shares("TK 0.1")
    winners = [f"{table.names[k]} {shares[k]:.0%}" for k in np.argsort(-shares) if shares[k] >= 0.005]
    return (*(f"{gap.difference:.1f} s ({gap.errors:.1f})" for gap in gaps), ", ".join(winners))


def _rates(rates: dict[float, Recording]) -> str:
    rows = Table("closures a day", "fastest", "TK .61", "TK .69", "R1 leads by mean", "R2 by TK .61", "R2 by TK .69")
    for rate, recording in rates.items():
        table = route_table(recording, RESAMPLES)
        rows.add(f"{rate:g}", *_best(table, "mean", "TK 0.61", "TK 0.69"), *_lead(table)[:-1])
    return f"By closures a day (Poisson, seed 1, {BY_RATE} blocks):\n\n{rows}"


def _streams() -> str:
    problem = grid_problem("stream")
    rows = Table(
        "route", "lag 1 (error)", "lag 2", "lag 5", "lag 10", "independent draws that a stream's mean is worth"
    )
    for arm in (R1, R2):
        streams = np.array(_shared(partial(_drawn, problem, arm, LENGTH), range(STREAMS)))
        lags = [_correlation(streams, lag) for lag in (1, 2, 5, 10)]
        errors = _bootstrap(streams, lambda some: _correlation(some, 1))
        worth = streams.var() / streams.mean(axis=1).var(ddof=1)
        rows.add(problem.routes[arm].name, f"{lags[0]:.2f} ({errors:.2f})", *(f"{lag:.2f}" for lag in lags[1:]),
                 f"{worth:.0f} of {LENGTH}")  # fmt: skip
    return f"Correlation within {STREAMS} streams of {LENGTH} draws, 30 s apart on average:\n\n{rows}"


def _agreement(chance: dict[int, Recording]) -> str:
    problem = grid_problem("fresh")
    rows = Table("route", "objective", "fresh", "sparse stream", "difference", "all recordings above")
    problem.moments  # noqa: B018  # saved once, for all workers
    reference = float(np.mean([recording.baseline for recording in chance.values()]))
    people = objectives(reference)
    pair = TrafficProblem(problem.network, problem.routes[:2], problem.demand, "stream")
    sparse = _kept(f"sparse-{POISSON}", lambda: record(pair, POISSON, seed=1, spacing=SPARSE))
    for arm in (R1, R2):
        fresh = np.concatenate(_shared(partial(_drawn, problem, arm, CHUNK), range(FRESH // CHUNK)))
        blocks = [sparse.delay[(sparse.route == arm) & (sparse.block == b)] for b in range(POISSON)]
        dense = [recording.samples(arm) for recording in chance.values()]
        for name in ("mean", "TK 0.61", "TK 0.69"):

            def excess(sample: Sequence[FloatArray], name: str = name) -> float:
                return -people[name].estimate(np.concatenate(sample))

            ours, theirs = excess([fresh]), excess(blocks)
            error = _bootstrap(fresh[:, None], excess)
            spread = _bootstrap(blocks, excess)
            z = (ours - theirs) / np.hypot(error, spread)
            rows.add(problem.routes[arm].name, name, f"{ours:+.1f} ({error:.1f})", f"{theirs:+.1f} ({spread:.1f})",
                     f"{ours - theirs:+.1f} s, {z:+.1f} errors", f"{excess(dense):+.1f}")  # fmt: skip
    return (
        f"Excess delays by {FRESH:,} fresh draws a route, and by a stream with a probe every {SPARSE:g} s ({POISSON} "
        "Poisson blocks), standard errors in brackets. Probes are traffic, too: the recordings above have one every "
        f"{SPACING:g} s.\n\n{rows}"
    )


def _drawn(problem: TrafficProblem, arm: int, size: int, number: int) -> FloatArray:
    return problem.draw(arm, np.random.default_rng([number, arm]), size)


def _shared(task: Callable[[int], FloatArray], numbers: Sequence[int]) -> list[FloatArray]:
    with ProcessPoolExecutor(workers(-1)) as pool:
        return list(pool.map(task, numbers))


def _correlation(streams: FloatArray, lag: int) -> float:
    centred = streams - streams.mean()
    return float(np.mean(centred[:, lag:] * centred[:, :-lag]) / np.mean(centred**2))


def _bootstrap(parts: Sequence[FloatArray] | FloatArray, statistic: Callable[..., float]) -> float:
    """The standard error of a statistic of independent parts."""
    rng, n = np.random.default_rng(0), len(parts)
    if isinstance(parts, np.ndarray):
        found = [statistic(parts[rng.integers(n, size=n)]) for _ in range(RESAMPLES)]
    else:
        found = [statistic([parts[k] for k in rng.integers(n, size=n)]) for _ in range(RESAMPLES)]
    return float(np.std(found, ddof=1))


if __name__ == "__main__":
    print(run())
