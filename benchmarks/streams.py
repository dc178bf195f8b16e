"""How a streaming value scales: per sample, inside a policy, and in bounded memory."""

from __future__ import annotations

import tracemalloc
from time import perf_counter

import numpy as np

from allais import WUCB, Bandit, Bounded, Preference, TverskyKahneman, Uniform, ValueStream, simulate
from allais.values import sample_parts
from benchmarks.timing import best_of, markdown_table

PEOPLE = Preference(TverskyKahneman(0.61))
STEPS = 400


def run() -> str:
    header = ("what", "time", "compared with", "ratio", "claim", "holds")
    rows = [*_scaling(), _small(), _policy(), _bounded()]
    return "## Streams\n\n" + markdown_table(header, rows)


def _verdict(holds: bool) -> str:
    return "yes" if holds else "NO"


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


def _scaling() -> list[tuple[str, ...]]:
    samples = np.random.default_rng(1).exponential(size=1_000_000 + STEPS)
    small, large = _step_time(samples, 1_000), _step_time(samples, 1_000_000)
    ordered = np.sort(samples[:1_000_000])
    (direct,) = best_of(3, lambda: sample_parts(ordered, PEOPLE.gains, PEOPLE.losses))
    return [
        (
            "add + value at 10^6 samples",
            f"{1e6 * large:.1f} us",
            f"at 10^3 {1e6 * small:.1f} us",
            f"{large / small:.2f}",
            "at most 4",
            _verdict(large / small <= 4.0),
        ),
        (
            "add + value at 10^6 samples",
            f"{1e6 * large:.1f} us",
            f"Algorithm 1 on a sorted array {1e3 * direct:.1f} ms",
            f"{direct / large:.0f} times faster",
            "at least 300",
            _verdict(direct / large >= 300.0),
        ),
    ]


def _small() -> tuple[str, ...]:
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
    return (
        "add + value, all sizes to 200",
        f"{1e6 * ours / 200:.1f} us",
        f"the direct sum {1e6 * plain / 200:.1f} us",
        f"{ours / plain:.2f}",
        "at most 1",
        _verdict(ours <= plain),
    )


def _policy() -> tuple[str, ...]:
    problem = Bandit([Uniform(0.0, 0.6 + 0.1 * k) for k in range(5)])
    policy = WUCB(PEOPLE, Bounded(0, 1))
    simulate(policy, problem, 1_000, 1, seed=1, progress=False)

    def seconds(rounds: int) -> float:
        start = perf_counter()
        simulate(policy, problem, rounds, 1, seed=1, progress=False)
        return perf_counter() - start

    short = min(seconds(100_000) for _ in range(2))
    long = seconds(1_000_000)
    return (
        "W-UCB, 5 continuous arms, 10^6 rounds",
        f"{long:.1f} s",
        f"10^5 rounds {short:.2f} s",
        f"{long / short:.1f}",
        "at most 15",
        _verdict(long / short <= 15.0),
    )


def _bounded() -> tuple[str, ...]:
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
    holds = true_error <= error and kept < 16e6
    return (
        f"10^8 samples in 20,000 blocks ({kept / 1e6:.1f} MB)",
        f"{seconds:.0f} s",
        f"true error {true_error:.1e}, certified {error:.1e}",
        f"{true_error / error:.3f}",
        "at most 1, under 16 MB",
        _verdict(holds),
    )
