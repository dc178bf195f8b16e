"""Policies on problems with contexts: one run after the other, through a learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._system.extras import Progress
from allais.learner import ContextualLearner, LinearLearner
from allais.lotteries import Lottery
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.problems import ContextualBandit
from allais.simulation.results import Results

MOST_LOTTERIES = 100_000  # whose values are kept: one that comes again is valued once


@dataclass(frozen=True, eq=False)
class ContextualResults(Results):
    """Runs of one policy on one problem with contexts, at checkpoints.

    Regret is what the choices so far lost to the best arm of each round, by the true distributions of that round.

    Attributes:
        policy: The policy's name.
        label: The policy and its settings, in words.
        arms: The names of the arms.
        checkpoints: Rounds, (checkpoints,).
        pulls: T_k, (runs, checkpoints, arms).
        recommended: The arm that was chosen in the round of a checkpoint, (runs, checkpoints).
        samples: How many samples each run used, (runs,).
        stopped: Whether the policy stopped by itself, (runs,).
        choices: Every choice, (runs, rounds).
        values: None: an arm has a value in each context.
        bound: None: nothing is proven.
        kept: None: guardrails are judged by all outcomes of an arm, whatever their contexts.
        judge: Whose regret it is, in words.
        lost: The regret, (runs, checkpoints).
        missed: Whether the choice of a checkpoint was not the best one of its round, (runs, checkpoints).
        outcomes: What each choice brought, (runs, rounds).

    >>> problem = ContextualBandit([{"hour": 8}] * 50, {"bus": [[5.0]] * 50, "bike": [[7.0]] * 50})
    >>> results = simulate(ContextualNPTS(expected_value(), Bounded(0, 10)), problem, n_rounds=50, seed=1)
    >>> float(results.outcomes[0].mean()) > 6.5
    True
    """

    lost: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    missed: Any = None
    outcomes: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def regret(self) -> FloatArray:
        """What the choices so far lost to the best arm of each round, (runs, checkpoints)."""
        return self.lost

    @property
    def error_rate(self) -> FloatArray:
        """The share of runs whose choice at a checkpoint was not the best one of its round."""
        found: FloatArray = self.missed.mean(axis=0)
        return found

    def save(self, path: str | Path) -> None:
        """Refused: files hold results without contexts.

        Args:
            path: The file.
        """
        raise ValueError(f"results with contexts have no file of their own; got {path}. Use to_frame(), or pickle.")


def simulate_contexts(
    policy: Policy,
    problem: ContextualBandit,
    marks: IntArray,
    seeds: list[np.random.SeedSequence],
    judge: Preference | None,
    progress: bool | None,
    exact: bool,
) -> ContextualResults:
    """Run a policy on a problem with contexts; one that takes no context does not see them."""
    judged_by = policy.preference if judge is None else judge
    value = lru_cache(MOST_LOTTERIES)(judged_by.value)
    runs = []
    with Progress(len(seeds), policy.name, progress) as bar:
        for seed in seeds:
            runs.append(_run(policy, problem, marks, seed, value, exact))
            bar.advance(1)
    arms, gaps, outcomes = (np.array([run[k] for run in runs]) for k in range(3))
    places = marks - 1
    pulls = np.stack([np.cumsum(arms == k, axis=1)[:, places] for k in range(problem.n_arms)], axis=-1)
    return ContextualResults(
        policy=repr(policy),
        label=policy.name,
        arms=tuple(problem.arms),
        checkpoints=marks,
        pulls=pulls,
        recommended=arms[:, places],
        samples=np.full(len(runs), arms.shape[1]),
        stopped=np.zeros(len(runs), dtype=np.bool_),
        choices=arms,
        values=None,
        judge=in_words(judged_by),
        lost=np.cumsum(gaps, axis=1)[:, places],
        missed=gaps[:, places] > 0.0,
        outcomes=outcomes,
    )


def _run(
    policy: Policy,
    problem: ContextualBandit,
    marks: IntArray,
    seed: np.random.SeedSequence,
    value: Callable[[Lottery], float],
    exact: bool,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """One run: the arm of each round, what it lost to the best one, and what it brought."""
    chooser, comer, *tellers = seed.spawn(problem.n_arms + 2)
    rngs = [np.random.default_rng(one) for one in tellers]
    names, many = list(problem.arms), int(marks[-1])
    index = {name: k for k, name in enumerate(names)}
    learner: Any = None
    arms, gaps, outcomes = np.zeros(many, dtype=np.int64), np.zeros(many), np.zeros(many)
    for t, one in enumerate(problem.rounds(many, np.random.default_rng(comer))):
        rows = None
        if problem.features is not None and policy.open_to_contexts:
            rows = np.array([problem.features(one.context, name) for name in names], dtype=np.float64)
        if learner is None:
            learner = policy.start(names, np.random.default_rng(chooser), rows, exact=exact)
        allowed = None if len(one.lotteries) == len(names) else [name for name in names if name in one.lotteries]
        if isinstance(learner, ContextualLearner):
            choice: Any = learner.ask(context=one.context, allowed=allowed)
        elif isinstance(learner, LinearLearner) and rows is not None:
            here = list(range(len(names))) if allowed is None else [index[name] for name in allowed]
            choice = learner.ask(features=rows[here])
        else:
            choice = learner.ask(allowed=allowed)
        of_set = rows is not None and isinstance(learner, LinearLearner)
        arm = here[int(choice.arm)] if of_set else index[choice.arm]
        values = [value(one.lotteries[name]) if name in one.lotteries else -np.inf for name in names]
        arms[t], gaps[t] = arm, max(values) - values[arm]
        # every arm draws in every round, so that all policies meet the same outcomes
        drawn = [float(one.lotteries[name].sample(rngs[k], 1)[0]) if name in one.lotteries else 0.0
                 for k, name in enumerate(names)]  # fmt: skip
        outcomes[t] = drawn[arm]
        learner.tell(choice, drawn[arm])
    return arms, gaps, outcomes
