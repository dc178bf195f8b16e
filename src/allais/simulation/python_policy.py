"""Policies in plain Python: a class with `ask` and `tell`, run beside the compiled ones."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from allais.errors import SpeedWarning
from allais.policies.core.base import Policy
from allais.preferences import Preference, expected_value
from allais.problems import Problem
from allais.simulation.rollout import Record, one_by_one, streams_of


class AskAndTell(Protocol):
    """What a policy in Python must have; arms are numbers from 0 on, rewards in the user's units.

    It may also have `recommend()`, the arm that it thinks best (else the one that was told most often), and
    `settled`, which is true when it has stopped.
    """

    def ask(self) -> int:
        """The next arm to play."""
        ...

    def tell(self, arm: int, reward: float) -> None:
        """What that arm brought.

        Args:
            arm: The arm that was played.
            reward: What it brought, in the user's unit.
        """
        ...


@dataclass(frozen=True)
class PythonPolicy(Policy):
    """A policy written in plain Python, for `simulate` and `compare`: about a hundred times slower than a compiled one.

    Args:
        preference: What is maximised; by default the mean.
        name: What tables and legends call it; by default the class's name.
        make: `make(n_arms, rng)` returns an object with `ask()` and `tell(arm, reward)`, a new one for each run; the
            class itself will do. It should draw at random from `rng` only, so that runs can be repeated.

    >>> class Greedy:
    ...     def __init__(self, n_arms, rng):
    ...         self.rng, self.told, self.total = rng, np.zeros(n_arms), np.zeros(n_arms)
    ...
    ...     def ask(self):
    ...         if self.rng.random() < 0.1 or not self.told.all():
    ...             return int(self.told.argmin())
    ...         return int((self.total / self.told).argmax())
    ...
    ...     def tell(self, arm, reward):
    ...         self.told[arm] += 1
    ...         self.total[arm] += reward
    >>> problem = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     results = simulate(PythonPolicy(make=Greedy), problem, n_rounds=1_000, seed=1)
    >>> results.label, int(results.pulls[0, -1].sum())
    ('Greedy', 1000)
    """

    preference: Preference = field(default_factory=expected_value)
    make: Callable[[int, np.random.Generator], AskAndTell] = field(kw_only=True)

    goal: ClassVar[str] = "regret"

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", getattr(self.make, "__name__", repr(self.make)))
        super().__post_init__()

    def rule(self, n_arms: int) -> Any:
        """A policy in Python has no kernels."""
        raise TypeError(self._refusal())

    def state(self, n_arms: int, rule: Any) -> Any:
        """A policy in Python has no arrays that kernels write."""
        raise TypeError(self._refusal())

    def try_on(self, n_arms: int) -> None:
        """Refuse an object that lacks ask or tell."""
        self.started(n_arms, np.random.default_rng(0))

    def _refusal(self) -> str:
        return (
            f"a policy in plain Python runs in simulate and compare; got {self.name} elsewhere. "
            "Call its own ask and tell, or write its kernels with allais.extend."
        )

    def started(self, n_arms: int, rng: np.random.Generator) -> AskAndTell:
        """A fresh object for one run, or an error that says what it lacks."""
        made = self.make(n_arms, rng)
        missing = [verb for verb in ("ask", "tell") if not callable(getattr(made, verb, None))]
        if missing:
            raise TypeError(
                f"a policy in Python has ask() and tell(arm, reward); {type(made).__name__} lacks "
                f"{' and '.join(missing)}. Add it."
            )
        return made


def as_policy(policy: Any) -> Any:
    """A policy as it is; a class with `ask` and `tell`, wrapped as a policy."""
    if isinstance(policy, type) and issubclass(policy, Policy):
        raise TypeError(
            f"a policy comes with its settings; got the class {policy.__name__}. "
            f"Write {policy.__name__}(...), such as NPTS(preference, rewards)."
        )
    if isinstance(policy, type) and all(callable(getattr(policy, verb, None)) for verb in ("ask", "tell")):
        return PythonPolicy(make=policy)
    return policy


def say_that_it_is_slow(policy: PythonPolicy) -> None:
    """Warn in one sentence, so that nobody wonders where the time goes."""
    warnings.warn(
        f"{policy.name} runs in plain Python, about a hundred times slower than a compiled policy; "
        "allais.extend has what a compiled one needs.",
        SpeedWarning,
        stacklevel=4,
    )


class PythonRollout:
    """One run of a policy in Python on a problem; it meets the outcomes that a compiled one meets at the same seed."""

    def __init__(self, policy: PythonPolicy, problem: Problem, seed: np.random.SeedSequence) -> None:
        chooser, *tellers = seed.spawn(problem.n_arms + 1)
        self.policy, self.problem = policy, problem
        self._player: Any = policy.started(problem.n_arms, np.random.default_rng(chooser))
        self._outcomes = one_by_one(streams_of(policy, problem, tellers))
        self._pulls = np.zeros(problem.n_arms, dtype=np.int64)
        self.samples, self.stopped = 0, False

    def run(self, until: int, record: Record, given_up: threading.Event | None = None) -> None:
        """Play until that many samples were told, or the policy stops, or another thread has given up."""
        while self.samples < until and not self.stopped:
            if given_up is not None and given_up.is_set():
                raise CancelledError
            if getattr(self._player, "settled", False):
                self.stopped = True
                break
            arm = self._arm(self._player.ask(), "ask")
            self._player.tell(arm, next(self._outcomes[arm]))
            self._pulls[arm] += 1
            if self.samples < record.choices.size:
                record.choices[self.samples] = arm
            self.samples += 1
            if record.done[0] < record.marks.size and self.samples == record.marks[record.done[0]]:
                self._write_down(record)
        while self.stopped and record.done[0] < record.marks.size:  # nothing changes any more
            self._write_down(record)

    def _arm(self, arm: Any, verb: str) -> int:
        whole = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
        if not whole or not 0 <= arm < self.problem.n_arms:
            raise ValueError(
                f"{verb} must return an arm from 0 to {self.problem.n_arms - 1}; {self.policy.name} returned {arm!r}. "
                "Repair it."
            )
        return int(arm)

    def _write_down(self, record: Record) -> None:
        mark = record.done[0]
        record.pulls[mark] = self._pulls
        recommend = getattr(self._player, "recommend", None)
        if recommend is None or not self._pulls.all():  # an average of nothing is none
            best = int(self._pulls.argmax())
        else:
            best = self._arm(recommend(), "recommend")
        record.recommended[mark] = best
        record.done[0] += 1
