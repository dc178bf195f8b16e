"""Linear bandits: speed beside OFUL and NumPy, scaling, and the samples of both stopping rules."""

from __future__ import annotations

from statistics import median
from time import perf_counter

import numpy as np

from allais import (
    OFUL,
    WG,
    WOFUL,
    ArmNoise,
    Discrete,
    GAllocation,
    LinearBandit,
    Normal,
    ParameterNoise,
    Preference,
    TverskyKahneman,
    best_arm,
)
from allais.policies.base import Policy
from allais.simulation.rollout import Rollout
from benchmarks.timing import markdown_table

PEOPLE = Preference(TverskyKahneman(0.61))
NOISE = ParameterNoise()
ROUNDS = 40_000


def run() -> str:
    return "\n\n".join(["## Linear bandits", _speed(), _scaling(), _grid_network()])


def _problem(n_arms: int, dimension: int) -> LinearBandit:
    rng = np.random.default_rng(1)
    theta = rng.normal(size=dimension)
    return LinearBandit(rng.normal(size=(n_arms, dimension)), theta / np.linalg.norm(theta), NOISE)


def _seconds(policy: Policy, problem: LinearBandit, rounds: int) -> float:
    rollout = Rollout(policy, problem, np.random.SeedSequence(1))
    rollout.run(rounds // 10)  # past the first draws
    start = perf_counter()
    rollout.run(rounds // 10 + rounds)
    return perf_counter() - start


def _numpy_woful(problem: LinearBandit, rounds: int) -> float:
    """Algorithm 5 as one would write it with NumPy: arrays over arms, a table of the value, rank-one updates."""
    x, d = problem.features, problem.features.shape[1]
    lengths = np.linalg.norm(x, axis=1)
    inverse, b, log_det = np.eye(d), np.zeros(d), 0.0
    rng = np.random.default_rng(1)
    start = perf_counter()
    for _ in range(rounds):
        theta = inverse @ b
        radius = np.sqrt(2.0 * np.log(1.0 / 0.05) + log_det) + 1.0
        bonus = radius * np.sqrt(np.einsum("ij,jk,ik->i", x, inverse, x))
        arm = int(np.argmax(PEOPLE.value_of_normal(x @ theta + bonus, lengths)))
        reward = float(problem.draw(arm, rng, 1)[0])
        u = x[arm] / lengths[arm]
        step = inverse @ u
        denominator = 1.0 + u @ step
        inverse -= np.outer(step, step) / denominator
        b += reward / lengths[arm] * u
        log_det += np.log(denominator)
    return perf_counter() - start


def _speed() -> str:
    problem = _problem(50, 10)
    ours, plain = WOFUL(PEOPLE, NOISE, 0.05, 1.0), OFUL(NOISE, 0.05, 1.0)
    for policy in (ours, plain):
        _seconds(policy, problem, 100)
    pairs = [(_seconds(ours, problem, ROUNDS), _seconds(plain, problem, ROUNDS)) for _ in range(9)]
    best, best_plain = (min(column) for column in zip(*pairs, strict=True))
    slow = min(_numpy_woful(problem, ROUNDS // 20) * 20 for _ in range(3))
    rows = [
        (
            "W-OFUL, 50 arms, 10 features",
            f"{1e9 * best / ROUNDS:.0f} ns a round",
            f"OFUL without tables {1e9 * best_plain / ROUNDS:.0f} ns",
            f"{best_plain / best:.2f} of its speed",
            "at least 0.8",
            "yes" if best_plain / best >= 0.8 else "NO",
        ),
        (
            "W-OFUL, 50 arms, 10 features",
            f"{1e9 * best / ROUNDS:.0f} ns a round",
            f"NumPy {1e6 * slow / ROUNDS:.1f} us",
            f"{slow / best:.0f} times faster",
            "at least 20",
            "yes" if slow / best >= 20.0 else "NO",
        ),
    ]
    return markdown_table(("what", "time", "compared with", "ratio", "claim", "holds"), rows)


def _scaling() -> str:
    rows = []
    for n_arms in (10, 100, 1000):
        for dimension in (5, 20, 80):
            problem = _problem(n_arms, dimension)
            rounds = max(2_000, 2_000_000 // (n_arms * dimension))
            work = n_arms * dimension + dimension**2
            times = [
                min(_seconds(policy, problem, rounds) for _ in range(2)) / rounds
                for policy in (WOFUL(PEOPLE, NOISE, 0.05, 1.0), WG(PEOPLE, NOISE, 0.05, 1.0))
            ]
            rows.append(
                (
                    str(n_arms),
                    str(dimension),
                    f"{1e6 * times[0]:.2f}",
                    f"{1e9 * times[0] / work:.2f}",
                    f"{1e6 * times[1]:.2f}",
                    f"{1e9 * times[1] / (n_arms**2 + work):.2f}",
                )
            )
    header = (
        "arms", "features", "W-OFUL, us a round", "ns per K d + d^2", "W-G, us a round", "ns per K^2 + K d + d^2",
    )  # fmt: skip
    return markdown_table(header, rows)


def _grid_network() -> str:
    """Samples until W-G and G-allocation stop on the paper's 3x3 grid, by both rules; medians of 10 runs."""
    paths = [(1, 2, 5, 10), (1, 4, 9, 12), (3, 8, 11, 12), (3, 6, 7, 10), (3, 6, 9, 12), (1, 4, 7, 10)]
    delays = np.array([30.0, 10, 30, 5, 1, 20, 15, 7, 20, 30, 1, 30])
    features = np.zeros((6, 12))
    for arm, links in enumerate(paths):
        features[arm, np.array(links) - 1] = 1.0
    laws = [Normal(0, 1) if arm != 2 else Discrete({100: 0.01, 0: 0.99}) for arm in range(6)]
    problem = LinearBandit(features, delays, ArmNoise(laws), arms=[1, 2, 3, 4, 5, 6])
    beta, rows = float(np.linalg.norm(delays)), []
    for label, noise in (("valid", ArmNoise(laws)), ("all taken for 1, as printed", ArmNoise(laws, [1.0] * 6))):
        for name in ("W-G .61", "W-G .69", "G-allocation"):
            samples = []
            for stopping in ("exact", "paper"):
                if name == "G-allocation":
                    policy = GAllocation(noise, 0.01, beta, 0.01, stopping=stopping, reference=80, costs=True)
                else:
                    people = Preference(TverskyKahneman(float(name[-3:])), reference=80, costs=True)
                    policy = WG(people, noise, 0.01, beta, 0.01, stopping=stopping)
                answers = [best_arm(problem, policy, seed=seed) for seed in range(10)]
                samples.append(median(answer.samples for answer in answers))
                arms = sorted({str(answer.arm) for answer in answers})
            rows.append((label, name, ", ".join(arms), f"{samples[0]:,.0f}", f"{samples[1]:,.0f}"))
    return "The 3x3 grid network, delta = 0.01, lambda = 0.01, medians of 10 runs:\n\n" + markdown_table(
        ("noise scales", "policy", "arm found", "samples, exact stop", "samples, the paper's"), rows
    )
