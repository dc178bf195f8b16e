"""Linear bandits: speed beside OFUL and NumPy, scaling, and the samples of both stopping rules."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from allais import Discrete, Normal, Preference, TverskyKahneman, best_arm, compare
from allais.linear import (
    OFUL,
    WG,
    WOFUL,
    ArmNoise,
    GAllocation,
    LinearBandit,
    LinGapE,
    LinTS,
    ParameterNoise,
    PathProblem,
    Routes,
    linear_characteristic_time,
)
from allais.paper.problems import BETA, DISTRIBUTIONS, PEOPLE, grid_network, traveller
from allais.policies.core.base import Policy
from allais.simulation.rollout import Rollout
from benchmarks.tables import CLAIMS, Table

NOISE = ParameterNoise()
ROUNDS = 40_000


def run() -> str:
    parts = (_speed, _scaling, _grid_network, _few_samples, _regret, _large, _routes)
    return "\n\n".join(["## Linear bandits", *(str(part()) for part in parts)])


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


def _speed() -> Table:
    problem = _problem(50, 10)
    ours, plain = WOFUL(PEOPLE, NOISE, delta=0.05, beta=1.0), OFUL(NOISE, delta=0.05, beta=1.0)
    for policy in (ours, plain):
        _seconds(policy, problem, 100)
    pairs = [(_seconds(ours, problem, ROUNDS), _seconds(plain, problem, ROUNDS)) for _ in range(9)]
    best, best_plain = (min(column) for column in zip(*pairs, strict=True))
    slow = min(_numpy_woful(problem, ROUNDS // 20) * 20 for _ in range(3))
    table, what = Table(*CLAIMS), ("W-OFUL, 50 arms, 10 features", f"{1e9 * best / ROUNDS:.0f} ns per round")
    table.add(*what, f"OFUL without tables {1e9 * best_plain / ROUNDS:.0f} ns", f"{best_plain / best:.2f} of its speed",
              "at least 0.8", best_plain / best >= 0.8)  # fmt: skip
    table.add(*what, f"NumPy {1e6 * slow / ROUNDS:.1f} us", f"{slow / best:.0f} times faster", "at least 20",
              slow / best >= 20.0)  # fmt: skip
    return table


def _scaling() -> Table:
    table = Table("arms", "features", "W-OFUL, us per round", "ns per K d + d^2", "W-G, us per round",
                  "ns per K^2 + K d + d^2")  # fmt: skip
    for n_arms in (10, 100, 1000):
        for dimension in (5, 20, 80):
            problem = _problem(n_arms, dimension)
            rounds = max(2_000, 2_000_000 // (n_arms * dimension))
            work = n_arms * dimension + dimension**2
            times = [
                min(_seconds(policy, problem, rounds) for _ in range(2)) / rounds
                for policy in (WOFUL(PEOPLE, NOISE, delta=0.05, beta=1.0), WG(PEOPLE, NOISE, delta=0.05, beta=1.0))
            ]
            table.add(str(n_arms), str(dimension), f"{1e6 * times[0]:.2f}", f"{1e9 * times[0] / work:.2f}",
                      f"{1e6 * times[1]:.2f}", f"{1e9 * times[1] / (n_arms**2 + work):.2f}")  # fmt: skip
    return table


def _grid_network() -> str:
    """Samples until W-G and G-allocation stop on the paper's 3x3 grid, by both rules; medians of 10 runs."""
    problem = grid_network()
    same: dict[str, Any] = {"delta": 0.01, "beta": BETA, "regularisation": 0.01}
    table = Table("noise scales", "policy", "arm found", "samples, exact stop", "samples, the paper's", "LinGapE")
    for label, noise in (
        ("valid", ArmNoise(DISTRIBUTIONS)),
        ("all taken for 1, as printed", ArmNoise(DISTRIBUTIONS, [1.0] * 6)),
    ):
        for name in ("W-G .61", "W-G .69", "G-allocation"):
            policies: list[Policy]
            if name == "G-allocation":
                machine = {**same, "reference": 80, "costs": True}
                policies = [GAllocation(noise, stopping=stopping, **machine) for stopping in ("exact", "paper")]
            else:
                people = traveller(float(name[-3:]))
                policies = [WG(people, noise, stopping=stopping, **same) for stopping in ("exact", "paper")]
                policies.append(LinGapE(people, noise, **same))
            answers = [[best_arm(policy, problem, seed=seed) for seed in range(10)] for policy in policies]
            samples = [f"{median(one.samples for one in each):,.0f}" for each in answers]
            arms = sorted({str(one.arm) for each in answers[1:] for one in each})
            table.add(label, name, ", ".join(arms), *samples, *(["-"] if len(samples) == 2 else []))
    return f"The 3x3 grid network, delta = 0.01, lambda = 0.01, medians of 10 runs:\n\n{table}"


def _few_samples() -> str:
    """LinGapE beside W-G with the paper's stop, and the least that any policy needs."""
    near = np.vstack([np.eye(5), [np.cos(0.3), np.sin(0.3), 0, 0, 0]])
    cases = [("five axes and one at angle 0.3", LinearBandit(near, [2.0, 0, 0, 0, 0], NOISE), 2.0, 20)]
    for index, dimension in enumerate((5, 6, 8, 9, 11, 12, 14, 16, 18, 20)):
        cases.append((f"random {index + 1}, {dimension} features", *_random_instance(index, dimension), 2))
    table = Table("problem", "LinGapE, samples", "errors", "W-G, the paper's stop", "ratio", "limit", "claim: 1 / 100")
    for name, problem, beta, runs in cases:
        ours = [best_arm(LinGapE(PEOPLE, NOISE, delta=0.05, beta=beta), problem, seed=seed) for seed in range(runs)]
        paper = WG(PEOPLE, NOISE, delta=0.05, beta=beta, stopping="paper")
        theirs = best_arm(paper, problem, seed=1, max_samples=MOST)
        values = problem.true_values(PEOPLE)
        wrong = sum(answer.arm != int(np.argmax(values)) for answer in ours)
        limit = linear_characteristic_time(PEOPLE, problem.features, problem.theta, NOISE, rounds=60)
        samples = float(np.mean([answer.samples for answer in ours]))
        more = "" if theirs.settled else "more than "
        table.add(
            name, f"{samples:,.0f}", f"{wrong} of {runs}", f"{more}{theirs.samples:,}",
            f"1 / {theirs.samples / samples:,.0f}", f"{limit * np.log(1 / (2.4 * 0.05)):,.0f}",
            theirs.samples >= 100 * samples if runs > 2 else "not claimed",
        )  # fmt: skip
    return f"Best arm, delta = 0.05, lambda = 1:\n\n{table}"


MOST = 5_000_000  # samples that the paper's rule gets


def _random_instance(seed: int, dimension: int) -> tuple[LinearBandit, float]:
    """Unit arms, theta of length 2 near the first of them; the gap of values at least 0.05."""
    rng = np.random.default_rng(seed)
    while True:
        arms = rng.normal(size=(2 * dimension, dimension))
        arms /= np.linalg.norm(arms, axis=1)[:, None]
        problem = LinearBandit(arms, 2.0 * arms[0], NOISE)
        values = np.sort(problem.true_values(PEOPLE))
        if values[-1] - values[-2] > 0.05:
            return problem, 2.0


def _regret() -> str:
    rng = np.random.default_rng(8)
    theta = rng.normal(size=8)
    problem = LinearBandit(rng.normal(size=(60, 8)), theta / np.linalg.norm(theta), NOISE)
    policies = [LinTS(PEOPLE, NOISE), WOFUL(PEOPLE, NOISE, delta=0.05, beta=1.0), OFUL(NOISE, delta=0.05, beta=1.0)]
    text = str(compare(policies, problem, n_rounds=5_000, n_runs=20, seed=1, judge=PEOPLE))
    rare = ArmNoise([Normal(0, 1), Discrete({1.0: 0.99, -99.0: 0.01})])
    tailed = LinearBandit(np.eye(2), [9.0, 11.0], rare)
    policies = [
        LinTS(PEOPLE, rare, regularisation=0.01),
        WOFUL(PEOPLE, rare, delta=0.05, beta=15.0, regularisation=0.01),
        OFUL(rare, delta=0.05, beta=15.0, regularisation=0.01),
    ]
    other = str(compare(policies, tailed, n_rounds=20_000, n_runs=20, seed=1, judge=PEOPLE))
    return (
        f"Regret, 60 arms of 8 features, 5,000 rounds, 20 runs:\n\n```\n{text}\n```\n\n"
        f"Regret where the preferred arm is not the best on average, 20,000 rounds, 20 runs:\n\n```\n{other}\n```"
    )


def _large() -> str:
    table = Table("arms", "features", "LinTS, us per round", "ns per K d + d^2", "W-OFUL, us per round",
                  "ns per K d + d^2")  # fmt: skip
    for n_arms, dimension in ((100, 20), (1_000, 20), (10_000, 20), (1_000, 50), (1_000, 100), (10_000, 100)):
        problem = _problem(n_arms, dimension)
        rounds = max(300, 20_000_000 // (n_arms * dimension))
        times = [
            _seconds(policy, problem, rounds) / rounds
            for policy in (LinTS(PEOPLE, NOISE), WOFUL(PEOPLE, NOISE, delta=0.05, beta=1.0))
        ]
        cells = n_arms * dimension + dimension**2
        shown = (number for seconds in times for number in (f"{1e6 * seconds:.1f}", f"{1e9 * seconds / cells:.2f}"))
        table.add(f"{n_arms:,}", str(dimension), *shown)
    return f"Scaling:\n\n{table}"


def _routes() -> str:
    """A 20 x 20 grid with shortcuts of different numbers of hops."""
    import networkx

    rng = np.random.default_rng(1)
    graph = networkx.DiGraph()
    for i in range(20):
        for j in range(20):
            for step in ((i + 1, j), (i, j + 1)):
                if max(step) < 20:
                    graph.add_edge((i, j), step)
    for _ in range(60):
        i, j = (int(k) for k in rng.integers(0, 18, 2))
        graph.add_edge((i, j), (i + int(rng.integers(1, 3)), j + int(rng.integers(0, 3))))
    routes = Routes(graph, (0, 0), (19, 19))
    problem = PathProblem(routes, rng.uniform(1.0, 5.0, routes.dimension))
    delays = Preference(TverskyKahneman(0.61), reference=60.0, costs=True)
    rounds = 10_000
    start = perf_counter()
    regret = problem.play(LinTS(delays, NOISE), rounds, seed=1)
    pace = rounds / (perf_counter() - start)
    early, late = regret[250:350].mean(), regret[-100:].mean()
    table = Table("what", "measured", "claim", "holds")
    table.add("routes", f"{routes.count():.3g}", "more than 1e10", routes.count() > 1e10)
    table.add("rounds per second, learning included", f"{pace:.0f}", "at least 100", pace >= 100)
    ratio = f"{late:.3f} / {early:.2f} = {late / early:.3f}"
    table.add("regret a round at 10,000 over that at 300", ratio, "below 0.1", late < 0.1 * early)
    return f"LinTS on {routes.dimension} roads:\n\n{table}"
