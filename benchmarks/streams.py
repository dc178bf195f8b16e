"""How a streaming value scales: per sample, inside a policy, and in bounded memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from time import perf_counter

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from allais import WUCB, Bandit, Bounded, Preference, TverskyKahneman, Uniform, ValueStream, simulate
from allais.numerics import sample_parts
from allais.samples import memory
from benchmarks.tables import CLAIMS, Table
from benchmarks.timing import best_of

PEOPLE = Preference(TverskyKahneman(0.61))
STEPS = 400
FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def run() -> str:
    table = Table(*CLAIMS)
    for part in (_scaling, _small, _policy, _bounded):
        part(table)
    return f"## Streams\n\n{table}"


def _step_time(samples: np.ndarray, size: int) -> float:
    """Seconds for one add and one value, at a size."""
    stream = ValueStream(PEOPLE)
    stream.add_many(samples[:size])
    stream.value()
    more = samples[size : size + STEPS].tolist()
    best = float("inf")
    for _ in range(5):
        twin = ValueStream(PEOPLE)
        twin.merge(stream)
        twin.value()
        start = perf_counter()
        for sample in more:
            twin.add(sample)
            twin.value()
        best = min(best, (perf_counter() - start) / STEPS)
    return best


def _scaling(table: Table) -> None:
    samples = np.random.default_rng(1).exponential(size=1_000_000 + STEPS)
    small, large = _step_time(samples, 1_000), _step_time(samples, 1_000_000)
    ordered = np.sort(samples[:1_000_000])
    (direct,) = best_of(3, lambda: sample_parts(ordered, PEOPLE.gains, PEOPLE.losses))
    table.add("add + value at 10^6 samples", f"{1e6 * large:.1f} us", f"at 10^3 {1e6 * small:.1f} us",
              f"{large / small:.2f}", "at most 4", large / small <= 4.0)  # fmt: skip
    table.add("add + value at 10^6 samples", f"{1e6 * large:.1f} us",
              f"Algorithm 1 on a sorted array {1e3 * direct:.1f} ms", f"{direct / large:.0f} times faster",
              "at least 300", direct / large >= 300.0)  # fmt: skip


def _small(table: Table) -> None:
    samples = np.random.default_rng(2).exponential(size=200)
    stream = ValueStream(PEOPLE)

    def streaming() -> None:
        nonlocal stream
        stream = ValueStream(PEOPLE)
        for sample in samples.tolist():
            stream.add(sample)
            stream.value()

    def direct() -> None:
        seen: list[float] = []
        for sample in samples.tolist():
            seen.append(sample)
            PEOPLE.estimate(seen)

    ours, plain = best_of(5, streaming, direct)
    table.add("add + value, all sizes to 200", f"{1e6 * ours / 200:.1f} us",
              f"the direct sum {1e6 * plain / 200:.1f} us", f"{ours / plain:.2f}", "at most 1",
              ours <= plain)  # fmt: skip


def _policy(table: Table) -> None:
    rounds = np.array([1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000])
    with_trees = np.array([_rollout(n, tries=3 if n <= 100_000 else 2) for n in rounds])
    plain = _plain_sums(rounds)
    _draw(rounds, with_trees, plain)
    ratio = with_trees[-1] / with_trees[-3]
    reached = plain.size - 1
    table.add(
        "W-UCB, 5 continuous arms, 10^6 rounds", f"{with_trees[-1]:.1f} s",
        f"10^5 rounds {with_trees[-3]:.2f} s (plain sums: {rounds[reached]:,} rounds {plain[-1]:.0f} s)",
        f"{ratio:.1f}", "at most 15", ratio <= 15.0,
    )  # fmt: skip


def _rollout(rounds: int, tries: int) -> float:
    """Seconds for W-UCB on five continuous arms, the best of some tries."""
    problem = Bandit([Uniform(0.0, 0.6 + 0.1 * k) for k in range(5)])
    policy = WUCB.as_printed(PEOPLE, Bounded(0, 1))
    simulate(policy, problem, 1_000, 1, seed=1, progress=False)
    best = float("inf")
    for _ in range(tries):
        start = perf_counter()
        simulate(policy, problem, int(rounds), 1, seed=1, progress=False)
        best = min(best, perf_counter() - start)
    return best


def _plain_sums(rounds: np.ndarray) -> np.ndarray:
    """The same with arms that never move to trees, until a minute has passed."""
    kept = memory.FLAT
    memory.FLAT = 1 << 40
    seconds: list[float] = []
    try:
        for n in rounds:
            # quadratic: the next size would take longer than the minute that is left
            if seconds and seconds[-1] * (n / rounds[len(seconds) - 1]) ** 2 > 60.0:
                break
            seconds.append(_rollout(n, tries=1))
    finally:
        memory.FLAT = kept
    return np.array(seconds)


def _draw(rounds: np.ndarray, with_trees: np.ndarray, plain: np.ndarray) -> None:
    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    ax.loglog(rounds, with_trees, "o-", color="#2a5da8", label="trees")
    ax.loglog(rounds[: plain.size], plain, "s-", color="#b5452c", label="plain sums")
    last = plain.size - 1
    beyond = rounds[last:].astype(float)
    ax.loglog(beyond, plain[last] * (beyond / beyond[0]) ** 2, ":", color="#b5452c", label="plain sums, continued")
    ax.set(xlabel="rounds", ylabel="seconds, all rounds", title="W-UCB, five continuous arms")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(FIGURES / "streaming-scaling.png", dpi=110)
    plt.close(figure)


def _bounded(table: Table) -> None:
    chunk, chunks = 1_000_000, 100
    stream = ValueStream(PEOPLE, max_blocks=20_000)
    rng = np.random.default_rng(3)
    everything = np.empty(chunk * chunks)
    for k in range(chunks):
        everything[k * chunk : (k + 1) * chunk] = rng.normal(size=chunk)
    tracemalloc.start()
    start = perf_counter()
    for k in range(chunks):
        stream.add_many(everything[k * chunk : (k + 1) * chunk])
    seconds = perf_counter() - start
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    value, error = stream.certified()
    everything.sort()
    true_error = abs(sample_parts(everything, PEOPLE.gains, PEOPLE.losses).value - value)
    table.add(f"10^8 samples in 20,000 blocks ({kept / 1e6:.1f} MB)", f"{seconds:.0f} s",
              f"true error {true_error:.1e}, certified {error:.1e}", f"{true_error / error:.3f}",
              "at most 1, under 16 MB", true_error <= error and kept < 16e6)  # fmt: skip
