"""`--dry-run`: what a search will take, from a few pilot runs, which the search will use again."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray
from allais.cli.specs import SearchSpec
from allais.errors import RunFailed
from allais.files import write_atomically
from allais.policies.core.base import Policy, promise_in_words
from allais.preferences import Preference
from allais.preferences.valuation import amount as in_units
from allais.preferences.valuation import certainty_equivalent_in_words, sure_amount
from allais.problems import Problem
from allais.report.markup import duration
from allais.searches import closer_forecast, costs_of_indifference, forecast
from allais.searches.asynchronous import refusal, with_common_numbers, worth_asking
from allais.searches.pool import capacity, perform_all
from allais.searches.runs import FailureLog, Outcome, Run, Seeds

FORMAT, VERSION = "allais pilot", 1

Rewards = dict[tuple[int, int], float]  # by arm and seed


class Piloted(Problem):
    """A problem whose pilot runs are done: a worker looks these up instead of running them again."""

    def __init__(self, problem: Problem, known: Rewards) -> None:
        self._problem, self._known = problem, dict[int, dict[int, float]]()
        for (arm, seed), reward in known.items():
            self._known.setdefault(arm, {})[seed] = reward

    def __repr__(self) -> str:
        return repr(self._problem)  # a journal belongs to the same search, with pilot runs or without

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return self._problem.arms

    @property
    def batch(self) -> int:
        return self._problem.batch

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        return self._problem.draw(arm, rng, size)

    def part(self, arms: Sequence[int]) -> Problem:
        problem = self._problem.part(arms)
        if problem is self._problem:
            return self
        known = {(place, seed): one for place, arm in enumerate(arms) for seed, one in self._known.get(arm, {}).items()}
        return Piloted(problem, known)

    def run(self, arm: int, seed: int) -> float:
        reward = self._known.get(arm, {}).get(seed)
        return self._problem.run(arm, seed) if reward is None else reward


def require_pilot_runs(path: Path) -> None:
    """Refuse to replace a file that does not hold pilot runs."""
    if path.exists() and path.stat().st_size and _document(path).get("format") != FORMAT:
        raise ValueError(f"pilot runs are written to {path}, which exists and holds something else. Move it away.")


def keep(path: Path, spec: SearchSpec, finished: Iterable[tuple[Run, Outcome]]) -> None:
    """Write down the runs that gave a reward; failed ones are tried again by the search."""
    runs = [[run.arm, run.seed, out.reward, round(out.seconds, 6)] for run, out in finished if out.failure is None]
    write_atomically(path, json.dumps({**_of(spec), "runs": runs}) + "\n")


def kept(path: Path, spec: SearchSpec) -> Rewards:
    """The pilot runs of this very problem and seed; none where the file is missing, or of another problem."""
    found = _document(path)
    try:
        runs = {(int(arm), int(seed)): float(reward) for arm, seed, reward, _ in found.pop("runs")}
    except (ValueError, TypeError, KeyError):
        return {}
    return runs if found == _of(spec) else {}


def _document(path: Path) -> dict[str, Any]:
    """What a file holds; nothing where it is not JSON."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _of(spec: SearchSpec) -> dict[str, Any]:
    """What must be the same: the policy need not, since a forecast may be a reason to change it."""
    problem = spec.problem
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": repr(problem),
        "arms": list(problem.arms),
        "seed": spec.seed,
    }


MOST_SHOWN = 20  # options whose values are listed: the best of many


class _Pilots:
    """The first runs of each option, and what they brought."""

    def __init__(self, spec: SearchSpec, executor: Executor, log: FailureLog, patience: float) -> None:
        self._spec, self._executor, self._log, self._patience = spec, executor, log, patience
        n_arms = spec.problem.n_arms
        self._seeds = Seeds(np.random.SeedSequence(spec.seed), n_arms, common=spec.common_random_numbers)
        self._next = [0] * n_arms
        self.done: list[tuple[Run, Outcome]] = []
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.excluded = 0

    def run(self, more: dict[int, int]) -> None:
        """Run some options more often."""
        numbers = [(arm, self._next[arm] + k) for arm, runs in more.items() for k in range(runs)]
        runs = [Run(arm, number, self._seeds.of(arm, number)) for arm, number in numbers]
        spec = self._spec
        done = perform_all(spec.problem, self._executor, runs, spec.failures.retries, self._patience)
        self.done += done
        for arm, number in numbers:
            self._next[arm] = number + 1
        for run, outcome in done:
            counted = _counted(spec, self._log, run, outcome)
            if counted.reward is not None:
                self.rewards[run.arm].append(counted.reward)
            else:
                self.excluded += 1

    def summed_up(self, policy: Policy) -> tuple[FloatArray, list[Any]]:
        """The estimated values of the options, and the outcomes that were seen with their counts."""
        values = [policy.preference.estimate(told) if told else math.nan for told in self.rewards]
        return np.array(values), [np.unique(np.array(told), return_counts=True) for told in self.rewards]


def predict(spec: SearchSpec, executor: Executor, pilot: int, path: Path, journal: Path, patience: float) -> str:
    """Run each option a few times, and say what the search will need if the values stay as they are."""
    problem, policy = spec.problem, spec.policy
    if spec.common_random_numbers:
        policy = with_common_numbers(policy)
    require_pilot_runs(path)
    pilots = _Pilots(spec, executor, FailureLog(journal), patience)
    pilots.run(dict.fromkeys(range(problem.n_arms), pilot))
    keep(path, spec, pilots.done)
    values, seen = pilots.summed_up(policy)
    # with common random numbers, runs are compared by their number, so every option has as many
    closer = policy.goal == "confidence" and not spec.common_random_numbers and np.isfinite(values).all()
    if closer:

        def more(runs: dict[int, int]) -> None:
            pilots.run(runs)
            keep(path, spec, pilots.done)

        predicted = closer_forecast(policy, lambda: pilots.summed_up(policy), more)
        values, seen = pilots.summed_up(policy)
    rewards, seconds = pilots.rewards, float(np.mean([outcome.seconds for _, outcome in pilots.done]))
    order = np.argsort(-values)[:MOST_SHOWN].tolist()
    shown = sorted(order) if problem.n_arms <= MOST_SHOWN else order
    lines = [
        promise_in_words(policy),
        f"{len(pilots.done)} pilot runs took {seconds:.3g} s each; the search will not repeat them ({path}).",
        *(f"  {problem.arms[arm]}: {_seen(policy.preference, values[arm], spec.unit)}" for arm in shown),
    ]
    if pilots.excluded:
        lines.insert(
            1,
            f"{pilots.excluded} of {len(pilots.done)} pilot runs failed and are left out: the search will withdraw its "
            "promise unless it holds whatever they would have brought. Say what a failed run counts as (then = ...).",
        )
    whole = all(len(told) == pilot for told in rewards)
    table = np.array(rewards) if spec.common_random_numbers and whole else None
    if not closer:
        predicted = forecast(policy, values, seen, table)
    if predicted is None:
        return "\n".join([*lines, "No prediction: an option gave no reward, or the policy takes too long to simulate."])
    if math.isinf(predicted.expected):
        lines.append("Two options seem equal: no number of runs would separate them. Give the policy a tolerance.")
        return "\n".join(lines)
    workers = capacity(executor)
    on = "1 worker" if workers == 1 else f"{workers} workers"
    needs = f"If the values stay as they are, the search needs about {predicted.expected:,.0f} runs"
    lines.append(f"{needs}: {duration(predicted.expected * seconds / workers)} on {on}.")
    if predicted.between is not None and math.isfinite(predicted.between[1]):
        low, high = predicted.between
        lines.append(f"Pilot runs leave that in doubt: about nine in ten searches take {low:,.0f} to {high:,.0f} runs.")
    lines += _ladder(policy, values, seen, table, spec.unit)
    if predicted.at_most is not None and predicted.at_most > predicted.expected:
        lines.append(f"At most {predicted.at_most:,.0f} runs, by theory.")
    lines.append(f"{pilot} runs per option, or a few times as many, say little about rare outcomes: values may move.")
    return "\n".join(lines)


def _seen(preference: Preference, value: float, unit: str) -> str:
    if math.isnan(value):
        return "no reward yet"
    return f"{certainty_equivalent_in_words(preference, value, unit)}, by its pilot runs"


def _ladder(policy: Policy, values: FloatArray, seen: list[Any], table: FloatArray | None, unit: str) -> list[str]:
    """What other indifferences would cost, in a line each."""
    if policy.goal != "confidence":
        return []
    sure = np.array([sure_amount(policy.preference, value) for value in values.tolist()])
    try:
        costs = costs_of_indifference(policy, values, seen, worth_asking(sure), table)
    except ValueError:  # under a utility without bounds, no amount corresponds to an indifference
        return []
    told = [(amount, one.expected) for amount, one in costs.items() if one is not None]
    parts = [f"{in_units(amount, unit)}: {runs:,.0f} runs" for amount, runs in told if math.isfinite(runs)]
    return [f"What an indifference would cost: {'; '.join(parts)}."] if parts else []


def _counted(spec: SearchSpec, log: FailureLog, run: Run, outcome: Outcome) -> Outcome:
    """An outcome as the search will count it, or why the search would stop at it."""
    arm = spec.problem.arms[run.arm]
    where = "" if outcome.failure is None else log.write(arm, run, outcome.failure, outcome.details)
    try:
        counted = spec.failures.counted(outcome)
        known = spec.policy.rewards_of(spec.problem.n_arms)
        if known and counted.reward is not None:
            known[run.arm].check([counted.reward])
    except RunFailed as error:
        raise RunFailed(f"{error} {where}".rstrip()) from None
    except ValueError as error:
        raise refusal(arm, run, error) from None
    return counted
