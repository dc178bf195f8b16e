"""The winner of a noisy Optuna study: its best trials raced again, by any preference, with a promise."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import Seed, brief, whole
from allais._system.extras import extra
from allais.bands import Interval
from allais.learner.reading import sure_interval
from allais.policies.choosing import recommended
from allais.policies.core.base import Policy
from allais.preferences import Preference, expected_value
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals, in_words
from allais.preferences.valuation import plain
from allais.problems.base import Simulator
from allais.rewards import Rewards
from allais.searches.best_option import search
from allais.simulation.best_arm import BestArm

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

RAREST = 0.1  # the probability below which events may be missed, where no rewards are declared
RUNS_EACH = 100  # the most runs per trial, where the caller gives no limit of any kind
LIMITS = ("indifference", "max_runs", "max_hours")


class Objective:
    """An objective with the parameters of each trial: what a simulator calls."""

    def __init__(self, objective: Callable[[Any], float], params: dict[str, tuple[int, dict[str, Any]]]) -> None:
        self.objective, self.params = objective, params
        # by which a journal knows the problem: the parameters are a part of it
        self.__qualname__ = f"{getattr(objective, '__qualname__', 'objective')} of {params!r}"

    def __call__(self, arm: str, rng: np.random.Generator) -> float:
        with extra("optuna", "a study"):
            from optuna.trial import FixedTrial

        number, params = self.params[arm]
        seed = int(rng.integers(2**32))
        if multiprocessing.parent_process() is not None:  # forked processes share generators, the objective's too
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
        trial = FixedTrial(params, number)
        trial.set_user_attr("seed", seed)
        return self.objective(trial)


@dataclass(frozen=True, eq=False)
class Raced:
    """Which trial of a study is the best, and how lucky the study's winner was.

    Attributes:
        answer: The answer of the race; its arms are "trial 0", "trial 7", ...
        trial: The best trial: `trial.params` are its parameters. None where every trial breaks a guardrail.
        trials: The trials that were raced, in the order of the values that the study has of them.
        values: What each trial is worth, in the unit of the objective, with an interval, from new runs alone.
        indifference: How much worse than the best the answer may be, in the same unit; None for not at all.
    """

    answer: BestArm
    trial: FrozenTrial | None
    trials: tuple[FrozenTrial, ...]
    values: dict[int, Interval]
    indifference: float | None = None

    _repr_html_, to_frame, plot, headline = as_html, as_frame, as_intervals, property(in_words)

    def rows(self) -> Rows:
        """One row per trial, the best first: what the study reported, what new runs say, and its parameters."""
        rows = [
            {
                "trial": number, "reported": _reported(trial), "new runs": self.answer.pulls[_named(trial)],
                "value": one.value, "value low": one.low, "value high": one.high, **trial.params,
            }
            for trial, (number, one) in zip(self.trials, self.values.items(), strict=True)
        ]  # fmt: skip
        return sorted(rows, key=lambda row: row["value"], reverse=not self.answer.learner.policy.preference.costs)

    @property
    def winner(self) -> FrozenTrial:
        """The trial that the study calls its best, by one value."""
        return self.trials[0]

    @property
    def luck(self) -> float:
        """By how much the winner's reported value was better than what it is worth; below 0 it was unlucky."""
        better = _reported(self.winner) - self.values[self.winner.number].value
        return -better if self.answer.learner.policy.preference.costs else better

    def __str__(self) -> str:
        """The answer in sentences."""
        own, runs = self.values[self.winner.number], self.answer.pulls[_named(self.winner)]
        told = f"The study's winner is trial {self.winner.number}, which reported {plain(_reported(self.winner))}"
        if runs:
            lucky = "lucky" if self.luck >= 0 else "unlucky"
            small = ", which is within the interval" if own.low <= _reported(self.winner) <= own.high else ""
            told += f"; over {runs} new run{'s' * (runs > 1)} it is worth {_with_ends(own)}. "
            told += f"It was {lucky} by {plain(abs(self.luck))}{small}."
        else:
            told += "; it was not run again."
        if self.trial is None:
            return f"Every trial breaks a guardrail. {told}"
        best, sure = self.values[self.trial.number], self.answer.delta
        known = f", with a chance of error of {sure:g} ({self.answer.promise})" if sure and self.answer.settled else ""
        close = f" or within {plain(self.indifference)} of the best" if self.indifference else ""
        found = f"Trial {self.trial.number} is the best of {len(self.values)}{close}{known}"
        if not self.answer.settled:
            found = f"Not settled after {self.answer.samples:,} runs. Trial {self.trial.number} leads"
        found += f": it is worth {_with_ends(best)}. "
        return found + ("It is the study's winner, too. " if self.trial.number == self.winner.number else "") + told


def from_optuna(
    study: Study,
    objective: Callable[[Any], float],
    top: int = 10,
    policy: Policy | None = None,
    *,
    preference: Preference | None = None,
    rewards: Rewards | None = None,
    delta: float = 0.05,
    rarest: float | None = None,
    seed: Seed = 0,
    **searching: Any,
) -> Raced:
    """The best configuration of a noisy study: its best trials are run again until one is known to be the best.

    The value that made a trial win is the best of many noisy ones, so it is too good. Only new runs count here. A run
    gets a `FixedTrial` with the trial's parameters, which never prunes, and `trial.user_attrs["seed"]`, a seed of its
    own, for objectives that want one.

    Args:
        study: A study with one objective.
        objective: The objective that it optimised: a function of a trial.
        top: How many of its best configurations are raced.
        policy: A policy that stops; by default the recommended one for what follows.
        preference: What counts about the runs of a configuration; by default their mean.
        rewards: Bounds of the objective's values, for an answer that is proven.
        delta: The chance of a wrong answer.
        rarest: Without bounds, the probability below which events may be missed; 0.1 by default.
        seed: The seed of choices and runs.
        **searching: Settings of `search`: `executor` and `workers` (by default a thread per core), `indifference`,
            `max_runs`, `max_hours`, `journal`, `failures`. Without indifference or a limit there are 100 runs per
            trial at most, since equal trials are never told apart.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> rng = np.random.default_rng(6)
    >>> def noisy(trial):
    ...     return trial.suggest_float("x", 0, 1) + rng.normal(0, 1)
    >>> study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    >>> study.optimize(noisy, n_trials=20)
    >>> raced = from_optuna(study, noisy, top=5, indifference=0.4, workers=1)
    >>> study.best_trial.number, raced.trial.number, raced.luck > 1
    (1, 15, True)
    """
    if not hasattr(study, "directions") or not callable(objective):
        raise TypeError(f"from_optuna takes a study, then its objective; got {brief(study)} and {brief(objective)}.")
    best = _best_of(study, whole("top", top))
    minimize = study.direction.name == "MINIMIZE"
    if policy is None:
        liking = expected_value(costs=minimize) if preference is None else preference
        known: dict[str, Any] = {} if rewards is not None and rarest is None else {"rarest": rarest or RAREST}
        policy = recommended("confidence", liking, rewards, len(best), delta=delta, **known)
    elif preference is not None or rewards is not None or rarest is not None:
        raise TypeError("a policy has its own preference, rewards and rarest; got some beside it. Leave them out.")
    if policy.preference.costs != minimize:
        raise ValueError(
            f"the study {'minimizes' if minimize else 'maximizes'}, and the preference takes values for "
            f"{'gains' if minimize else 'costs'}. Write costs={minimize}."
        )
    if all(searching.get(name) is None for name in LIMITS) and policy.goal == "confidence":
        searching["max_runs"] = RUNS_EACH * len(best)
    if searching.get("executor") is None:
        searching.setdefault("workers", os.cpu_count() or 1)
    params = {_named(trial): (trial.number, dict(trial.params)) for trial in best}
    answer = search(policy, Simulator(Objective(objective, params), list(params)), seed=seed, **searching)
    shown = {
        trial.number: sure_interval(policy.preference, answer.intervals[_named(trial)])
        if answer.pulls[_named(trial)]
        else Interval(-math.inf, math.nan, math.inf)
        for trial in best
    }
    found = next((trial for trial in best if _named(trial) == answer.arm), None)
    return Raced(answer, found, tuple(best), shown, searching.get("indifference"))


def _best_of(study: Study, top: int) -> list[FrozenTrial]:
    """The best trials of a study, the best first; of those with the same parameters the best one."""
    if len(study.directions) != 1:
        raise ValueError(f"a race has one objective; the study has {len(study.directions)}. Race one of them.")
    done = [trial for trial in study.trials if trial.state.name == "COMPLETE" and math.isfinite(_reported(trial))]
    done.sort(key=_reported, reverse=study.direction.name != "MINIMIZE")
    distinct: dict[str, FrozenTrial] = {}
    for trial in done:
        distinct.setdefault(repr(sorted(trial.params.items())), trial)
    if len(distinct) < 2:
        raise ValueError(
            f"a race needs two configurations that were tried; the study has {len(distinct)}. Optimise it first."
        )
    return list(distinct.values())[:top]


def _named(trial: FrozenTrial) -> str:
    return f"trial {trial.number}"


def _reported(trial: FrozenTrial) -> float:
    return float(trial.values[0])


def _with_ends(interval: Interval) -> str:
    if math.isnan(interval.low) or math.isnan(interval.high):
        return f"{plain(interval.value)} (too few runs for an interval)"
    return f"{plain(interval.value)} ({plain(interval.low)} to {plain(interval.high)})"
