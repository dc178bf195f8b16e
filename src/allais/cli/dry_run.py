"""`--dry-run`: what a search will take, from a few pilot runs, which the search will use again."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from allais.cli import pilot as pilot_runs
from allais.cli.spec import Experiment
from allais.experiment.drive import capacity
from allais.experiment.runs import Run, Seeds, perform
from allais.report import forecast
from allais.report.live import duration


def predict(experiment: Experiment, executor: Executor, pilot: int, path: Path) -> str:
    """Run each option a few times, and say what the search will need if the values stay so."""
    problem, policy = experiment.problem, experiment.policy
    seeds = Seeds(np.random.SeedSequence(experiment.seed), problem.n_arms)
    runs = [Run(arm, number, seeds.of(arm, number)) for arm in range(problem.n_arms) for number in range(pilot)]
    futures = [executor.submit(perform, problem, run, experiment.failures.retries) for run in runs]
    done = [future.result() for future in futures]
    outcomes = [experiment.failures.settled(outcome) for outcome in done]
    rewards: list[list[float]] = [[] for _ in problem.arms]
    known = policy.rewards_of(problem.n_arms)
    for run, outcome in zip(runs, outcomes, strict=True):
        if outcome.reward is not None:
            rewards[run.arm].append(outcome.reward)
            if known:
                known[run.arm].check([outcome.reward])
    pilot_runs.keep(path, experiment, zip(runs, done, strict=True))
    values = np.array([policy.preference.estimate(seen) if seen else math.nan for seen in rewards])
    seconds = float(np.mean([outcome.seconds for outcome in outcomes]))
    lines = [
        f"{len(runs)} pilot runs took {seconds:.3g} s each; the search will not repeat them ({path}).",
        *(f"  {name}: value about {value:.4g}" for name, value in zip(problem.arms, values.tolist(), strict=True)),
    ]
    seen = [np.unique(np.array(told), return_counts=True) for told in rewards]
    predicted = forecast(policy, values, seen)
    if predicted is None:
        return "\n".join([*lines, "There is no formula for this policy, or an option gave no reward: no prediction."])
    if math.isinf(predicted.expected):
        lines.append("Two options seem equal: no number of runs would part them. Give the policy a tolerance.")
        return "\n".join(lines)
    workers = capacity(executor)
    lines.append(
        f"If the values stay so, the search needs about {predicted.expected:,.0f} runs: "
        f"{duration(predicted.expected * seconds / workers)} on {workers} workers."
    )
    if predicted.at_most is not None and predicted.at_most > predicted.expected:
        lines.append(f"At most {predicted.at_most:,.0f} runs, by theory.")
    lines.append(f"{pilot} runs an option say little of rare outcomes: the values may move.")
    return "\n".join(lines)
