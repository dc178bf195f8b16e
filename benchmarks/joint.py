"""Top-two with bounds only: how many samples it needs, how often it errs, and how both change with delta."""

from __future__ import annotations

import math

import numpy as np

from allais import Bandit, Bounded, Discrete, TopTwo
from allais.paper.problems import SETUP, THREE
from allais.theory import characteristic_time
from benchmarks.identify import BOTH
from benchmarks.playing import played
from benchmarks.tables import Table, with_error


def run() -> str:
    mixed = Bandit([Discrete({20: 0.3, -10: 0.7}), Discrete({8: 0.5, -10: 0.5}), Discrete({-3: 0.9, 20: 0.1})])
    cases = [
        ("three-armed", THREE, Bounded(0, 50)),
        ("Setup(*)", SETUP, Bounded(0, 1)),
        ("gains and losses", mixed, Bounded(-10, 20)),
    ]
    table = Table("top-two, bounds known", "delta", "samples", "over T* log(1/delta)", "wrong", "runs")
    for name, problem, rewards in cases:
        distribution = [lottery.as_finite() for lottery in problem.lotteries]
        support = np.unique(np.concatenate([one.outcomes for one in distribution if one is not None]))
        time = characteristic_time(BOTH, problem.lotteries, support).time
        for delta, runs in ((0.05, 1_000), (0.01, 200), (1e-4, 200), (1e-8, 200)):
            result = played(TopTwo(BOTH, rewards, delta=delta), problem, 10**7, runs)
            ratio = result.samples.mean() / (time * math.log(1.0 / delta))
            wrong = round(result.error_rate[-1] * runs)
            table.add(name, f"{delta:g}", with_error(result.samples), f"{ratio:.2f}", str(wrong), str(runs))
    return f"## Distributions judged as a whole\n\n{table}"
