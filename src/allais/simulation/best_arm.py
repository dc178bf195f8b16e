"""The best arm of a problem, by a policy that stops, at compiled speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, Seed, brief, root_of, whole
from allais.bands import Interval
from allais.learner import Learner
from allais.learner.reading import arm_rows
from allais.policies.core.base import Policy, Promise
from allais.policies.core.verbs import bracket
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals, in_words
from allais.preferences.valuation import sure_amount, sure_in_words
from allais.problems import Problem
from allais.problems.base import require_rivals
from allais.simulation.history import Moment, noted, noted_again
from allais.simulation.rollout import Rollout, fitted, lotteries_of

Excluded = Mapping[Hashable, int]  # how many of an arm's runs were left out
Past = tuple[Moment, ...] | Callable[[], tuple[Moment, ...]]  # how intervals closed, or what finds it


def as_bad_as_can_be(learner: Learner, arm: Hashable, excluded: Excluded) -> Learner | None:
    """The learner as if each run that was left out had the outcome that speaks most against an arm.

    That is the worst outcome for the arm itself, and the best for every other. The arm then has a sample of a
    distribution that is no better than its own, and the others of one that is no worse, so what intervals prove holds
    (docs/theory/asynchronous.md). None where such an outcome is not known.

    >>> learner = WLUCB(expected_value(), Bounded(0, 10), delta=0.1).start(["A", "B"], seed=1)
    >>> learner.observe("A", [6.0, 8.0])
    >>> as_bad_as_can_be(learner, "A", {"A": 2}).value()["A"]
    3.5
    """
    return _filled(learner, {name: name != arm for name in excluded}, excluded)


def holds_without(learner: Learner, arm: Hashable, excluded: Excluded, *, settled: bool) -> bool:
    """Whether an answer stays proven, whatever the runs that were left out would have brought."""
    worst = as_bad_as_can_be(learner, arm, excluded) if learner.policy.promise == "proven" else None
    if worst is None or worst.recommend().arm != arm:
        return False
    if settled and worst.is_settled():
        return True
    reached = worst.reached_delta()
    return reached is not None and (not settled or reached <= (learner.policy.error_rate or 0.0))


def intervals_without(learner: Learner, excluded: Excluded) -> dict[Hashable, Interval]:
    """Intervals that hold whatever the runs that were left out would have brought; infinite where that may be anything.

    A lower end is that of a sample with the worst outcomes in their place, an upper end with the best, each
    at half of delta, since both must hold.
    """
    shown = learner.intervals()
    ends = [_filled(learner, dict.fromkeys(excluded, best), excluded) for best in (False, True)]
    policy = learner.policy
    if ends[0] is None or ends[1] is None or policy.promise == "asymptotic":
        return {
            name: Interval(-math.inf, one.value, math.inf) if excluded.get(name) else one for name, one in shown.items()
        }
    halved = policy.but(delta=policy.error_rate / 2.0) if policy.error_rate is not None else policy
    lows, highs = _brackets(ends[0], halved)[0], _brackets(ends[1], halved)[1]
    return {name: Interval(float(lows[k]), one.value, float(highs[k])) for k, (name, one) in enumerate(shown.items())}


def _brackets(learner: Learner, policy: Policy) -> tuple[FloatArray, FloatArray]:
    state = learner.state
    low, high = np.empty(state.asked.size), np.empty(state.asked.size)
    bracket(policy.rule(state.asked.size), state, low, high)
    return low, high


def _filled(learner: Learner, at_best: Mapping[Hashable, bool], excluded: Excluded) -> Learner | None:
    """A copy that was told an outcome for each run that was left out: the best one of an arm, or the worst."""
    policy = learner.policy
    if policy.rewards is None or not policy.open_to_data:
        return None
    twin, known = learner.copy(), dict(zip(learner.pulls, policy.rewards_of(len(learner.pulls)), strict=True))
    for name, runs in excluded.items():
        low, high = known[name].support
        end = high if at_best[name] != policy.preference.costs else low
        if not math.isfinite(end):
            return None
        twin.observe(name, [end] * runs)
    return twin


class Failure(NamedTuple):
    """A run of an expensive simulator that failed, and what it counted as."""

    arm: Hashable
    number: int
    seed: int
    reason: str
    reward: float | None  # None: the run was left out, or cut off
    at_least: float | None = None  # what a run that was cut off would have brought at least


class Origin(NamedTuple):
    """When and how an answer was found: what a report says about itself."""

    seed: str
    finished: float  # seconds since 1970
    seconds: float  # how many the call took
    run_seconds: float | None = None  # the sum over all runs, where each is expensive
    continued: bool = False  # whether a journal was continued, so that the call was only the last part

    @classmethod
    def since(
        cls, started: float, root: np.random.SeedSequence, run_seconds: float | None = None, continued: bool = False
    ) -> Origin:
        """The origin of an answer that is found now; `started` is on the monotonic clock."""
        seed = str(root.entropy) + (f", {root.spawn_key}" if root.spawn_key else "")
        return cls(seed, time.time(), time.monotonic() - started, run_seconds, continued)


@dataclass(frozen=True, eq=False)
class BestArm:
    """What a policy recommends, and how sure it is.

    Attributes:
        arm: The recommended arm; None where every arm was shown to break a guardrail.
        value: Its estimated value, as a utility.
        settled: Whether the policy settled; False if a limit came first, and then delta says nothing.
        delta: The probability that a settled answer is wrong, for fixed confidence; None where it is withdrawn.
        samples: How many samples were used.
        pulls: The number of samples of each arm.
        intervals: The interval of each arm's value.
        learner: The learner that found it; it can go on asking.
        failures: The runs that failed, of an expensive problem.
        past: What `history` is made from.
        origin: When and how it was found.
        excluded: How many runs of each arm failed and were left out.
        doubt: Why an asymptotic promise is withdrawn, in a sentence; empty where it is not.

    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)], arms=["A21", "A28"])
    >>> print(best_arm(TopTwo(expected_value(), Finite([0, 1]), delta=0.05), problem, seed=1))
    'A21' (settled at delta = 0.05, mean 1, 20 samples)
    """

    arm: Hashable
    value: float
    settled: bool
    delta: float | None
    samples: int
    pulls: dict[Hashable, int]
    intervals: dict[Hashable, Interval]
    learner: Learner
    failures: tuple[Failure, ...] = ()
    past: Past = field(default=(), repr=False)
    origin: Origin | None = None
    excluded: Mapping[Hashable, int] = field(default_factory=dict)
    doubt: str = ""

    _repr_html_, to_frame, plot, headline = as_html, as_frame, as_intervals, property(in_words)

    def rows(self) -> Rows:
        """One row per arm, the best first: samples, and value with its interval, in the unit of outcomes."""
        return arm_rows(self.learner, self.pulls, self.intervals)

    @cached_property
    def history(self) -> tuple[Moment, ...]:
        """How the intervals closed: where they were after growing numbers of samples, up to the end."""
        return self.past() if callable(self.past) else self.past

    @property
    def reached_delta(self) -> float | None:
        """The least chance of a wrong answer that the samples support; None if they support none below 1.

        Runs that were left out count as what speaks most against the answer.
        """
        if not self.excluded:
            return self.learner.reached_delta()
        worst = as_bad_as_can_be(self.learner, self.arm, self.excluded)
        return worst.reached_delta() if worst is not None and worst.recommend().arm == self.arm else None

    @property
    def withdrawn(self) -> bool:
        """Whether its policy's promise does not hold, since left-out runs might overturn it or tails are heavy."""
        return self.delta is None and self.learner.policy.error_rate is not None

    @property
    def promise(self) -> Promise:
        """What a settled answer rests on: "proven", "asymptotic" or "none", as its policy says.

        It is "none" after runs were left out that might overturn the answer, and where an asymptotic one rests on too
        few outcomes (`doubt`).

        >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
        >>> best_arm(TopTwo(expected_value(), Finite([0, 1]), delta=0.05), problem, seed=1).promise
        'proven'
        """
        return "none" if self.withdrawn else self.learner.policy.promise

    @property
    def guardrails(self) -> str:
        """What was shown about the guardrails of the policy, in a sentence; empty where it has none."""
        return self.learner.recommend().guardrails

    @property
    def unfinished(self) -> str:
        """How many runs of the arm were cut off, and what that leaves open, in a sentence; empty where none was."""
        return self.learner.recommend().unfinished

    def __str__(self) -> str:
        sure = "settled" if self.settled else "not settled"
        if self.settled and self.delta is not None:
            sure += f" at delta = {self.delta:g}"
        if self.withdrawn:
            why = self.doubt.rstrip(".") or f"{sum(self.excluded.values())} runs were left out"
            sure += f", promise withdrawn as {why}"
        policy = self.learner.policy
        of_mean = policy.of_mean  # such a policy compares w(mean), which is no value of outcomes
        utility = math.nan if of_mean else sure_amount(policy.preference, self.value)
        worth = f"value {self.value:.4g}" if math.isnan(utility) else sure_in_words(policy.preference, utility)
        if self.arm is None:
            return f"none ({sure}, every arm breaks a guardrail, {self.samples} samples)"
        return f"{self.arm!r} ({sure}, {worth}, {self.samples} samples)"


def best_arm(
    policy: Policy, problem: Problem, *, seed: Seed, max_samples: int | None = None, exact: bool = False
) -> BestArm:
    """Run a policy until it settles on the best arm, or until a limit, in one compiled loop.

    For a simulator that takes long and runs on many workers, use `search`.

    Args:
        policy: A policy that looks for the best arm.
        problem: The arms.
        seed: The seed of choices and outcomes.
        max_samples: The most samples; None for no limit.
        exact: Whether to keep every outcome, also where an arm has more than 16,384 distinct ones.

    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> answer = best_arm(LUCB(Bounded(0, 1), delta=0.05), problem, seed=1)
    >>> answer.arm, answer.settled, answer.delta
    (0, True, 0.05)
    """
    policy = stopping(policy, problem, "best_arm")
    limit = np.iinfo(np.int64).max if max_samples is None else whole("max_samples", max_samples)
    started, root = time.monotonic(), root_of(seed)
    rollout = Rollout(policy, problem, root_of(root), exact=exact)
    past: Past
    if lotteries_of(problem):
        rollout.run(int(limit))
        past = partial(noted_again, policy, problem, root, exact, rollout.samples)
    else:
        past = noted(rollout, int(limit))
    return answer_of(rollout.learner(), rollout.stopped, past, Origin.since(started, root))


def stopping(policy: Policy, problem: Problem, caller: str) -> Policy:
    """The policy for a problem, or an error before anything runs: it must stop, and there must be a choice."""
    if isinstance(problem, Policy) or isinstance(policy, Problem):
        raise TypeError(f"{caller} takes a policy, then a problem; got them the other way round. Swap the two.")
    if isinstance(policy, type) and issubclass(policy, Policy) and policy.goal != "regret":
        raise TypeError(
            f"a policy comes with its settings; got the class {policy.__name__}. Write {policy.__name__}(...)."
        )
    kind = policy if isinstance(policy, type) else type(policy)
    if not issubclass(kind, Policy):
        raise TypeError(f"{caller} runs a policy; got {brief(policy)}. Write WLUCB(preference, rewards, delta=0.05).")
    if policy.goal == "regret":
        raise ValueError(
            f"{caller} needs a policy that stops; {kind.__name__} never stops. "
            "Use WLUCB or TopTwo (a confidence), or PatientTopTwo (a budget)."
        )
    policy = fitted(policy, problem)
    require_rivals(problem.arms)
    return policy


def answer_of(
    learner: Learner,
    settled: bool,
    past: Past,
    origin: Origin,
    failures: tuple[Failure, ...] = (),
    excluded: Mapping[Hashable, int] | None = None,
) -> BestArm:
    """What a learner recommends, with all that it knows; a promise that `excluded` runs might break is withdrawn."""
    answer, left_out = learner.recommend(), excluded or {}
    kept = not left_out or holds_without(learner, answer.arm, left_out, settled=settled)
    return BestArm(
        answer.arm,
        answer.value,
        settled,
        learner.policy.error_rate if kept and not answer.doubt else None,
        learner.samples,
        learner.pulls,
        intervals_without(learner, left_out) if left_out else learner.intervals(),
        learner,
        failures,
        past,
        origin,
        left_out,
        answer.doubt,
    )
