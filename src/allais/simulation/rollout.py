"""The one compiled loop: it knows no algorithm and no distribution.

Outcomes come from tapes, one per arm, that Python refills. So any distribution, a recorded sample or a
simulator runs at compiled speed, and two policies with the same seed meet the same outcomes. Before anything runs,
`fitted` checks whether a problem pays only what its policy was told to expect.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, compiled_for, kernel, loop
from allais.learner import Learner
from allais.lotteries import Lottery
from allais.lotteries.base import came, in_place_of
from allais.policies.core.base import Policy
from allais.policies.core.guardrails import feasibility_of, next_look
from allais.policies.core.state import no_such_arm, started
from allais.policies.core.verbs import SETTLED, choose, lacks_room, learn, recommend
from allais.problems import Problem
from allais.rewards import Finite, Rewards, outside, ruled_out
from allais.samples.layout import grown
from allais.samples.memory import NEVER, is_full


def fitted(policy: Policy, problem: Problem) -> Policy:
    """The policy for a problem, or an error where the two do not fit.

    >>> from allais import NPTS
    >>> fitted(NPTS(expected_value(), Bounded(0, 20)), Bandit([Discrete({50: 0.1, 0: 0.9})], arms=["bus"]))
    Traceback (most recent call last):
        ...
    allais.errors.NotAdmitted: rewards must lie between 0 and 20; arm 'bus' can pay 50. Widen Bounded(low, high)...
    """
    if not isinstance(policy, Policy):
        raise TypeError(f"a simulation runs a policy; got {policy!r}. Write NPTS(preference, rewards).")
    if not isinstance(problem, Problem):
        wrapped = in_place_of(problem)
        advice = (
            "Write Bandit([...]), or Simulator(f, arms)." if wrapped is None else f"{wrapped} Then write Bandit([...])."
        )
        raise TypeError(f"a policy is run on a problem; got {came(problem)}. {advice}")
    policy = policy.on(problem)
    policy.try_on(problem.n_arms)  # refuses what does not fit the number of arms
    known = policy.rewards_of(problem.n_arms)
    for k, lottery in enumerate(lotteries_of(problem)):
        if known:
            _require_within(problem.arms[k], lottery, known[k])
        finite = lottery.as_finite()
        ends = np.array(lottery.support) if finite is None else finite.outcomes
        policy.preference.finite_utilities(f"rewards of arm {problem.arms[k]!r}", ends[np.isfinite(ends)])  # or refused
    return policy


def lotteries_of(problem: Problem) -> Sequence[Lottery]:
    """The distribution of each arm, where a problem has them."""
    distributions: Sequence[Lottery] = getattr(problem, "lotteries", ())
    return distributions


def _require_within(name: Hashable, lottery: Lottery, known: Rewards) -> None:
    """Refuse a lottery that can pay what was declared impossible."""
    finite = lottery.as_finite()
    if finite is not None:
        if (strange := outside(known, finite.outcomes)).size:
            raise ruled_out(known, f"arm {name!r} can pay {strange[-1]:g}")
        return
    low, high = known.support
    least, most = lottery.support
    if isinstance(known, Finite) or least < low or most > high:
        raise ruled_out(known, f"arm {name!r} can pay anything from {least:g} to {most:g}")


def drawn(problem: Problem, arm: int, outcomes: FloatArray, size: int, known: Rewards | None) -> FloatArray:
    """What a problem without known lotteries has drawn, checked: as many as were asked, finite, and possible."""
    array = np.asarray(outcomes, dtype=np.float64)
    if array.shape != (size,) or not np.isfinite(array).all():
        got = array[~np.isfinite(array)][0] if array.shape == (size,) else f"shape {array.shape}"
        raise ValueError(
            f"draw(arm, rng, size) must return {size} finite outcomes; got {got} for arm {problem.arms[arm]!r}. "
            "Repair the problem."
        )
    if known is not None and (strange := outside(known, array)).size:
        raise ruled_out(known, f"arm {problem.arms[arm]!r} paid {strange[0]:g}")
    return array


FIRST_STRETCH = 64  # outcomes drawn for an arm at first; then twice as many each time


def outcomes_of(
    problem: Problem, arm: int, seed: np.random.SeedSequence, known: Rewards | None = None
) -> Iterator[FloatArray]:
    """The outcomes of an arm, without end, in stretches that double."""
    rng = np.random.default_rng(seed)
    size = min(FIRST_STRETCH, problem.batch)
    while True:
        yield drawn(problem, arm, problem.draw(arm, rng, size), size, known)
        size = min(2 * size, problem.batch)


def streams_of(policy: Policy, problem: Problem, seeds: Sequence[np.random.SeedSequence]) -> list[Iterator[FloatArray]]:
    """The outcomes of each arm, in stretches; they are checked as they come, unless `fitted` has compared lotteries."""
    known = [] if lotteries_of(problem) else policy.rewards_of(problem.n_arms)
    return [outcomes_of(problem, arm, seed, known[arm] if known else None) for arm, seed in enumerate(seeds)]


def one_by_one(streams: list[Iterator[FloatArray]]) -> list[Iterator[float]]:
    """The outcomes of each arm, one at a time."""
    return [(outcome for stretch in stream for outcome in stretch.tolist()) for stream in streams]


@by_reference
class Record(NamedTuple):
    """What a run writes down as it goes."""

    marks: IntArray  # numbers of samples after which a line is written, ascending; (marks,)
    pulls: IntArray  # T_k there, (marks, n_arms)
    recommended: IntArray  # the arm recommended there, (marks,)
    choices: IntArray  # every choice, or empty
    done: IntArray  # how many marks have passed, (1,)


def new_record(marks: IntArray, n_arms: int, traced: int = 0) -> Record:
    """An empty record; `traced` is how many choices are to be kept."""
    return Record(
        marks,
        np.zeros((marks.size, n_arms), dtype=np.int64),
        np.zeros(marks.size, dtype=np.int64),
        np.full(traced, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


DONE, STOPPED, REFILL, GROW, STRAY = 0, 1, 2, 3, 4
FIRST_LOOK = 1 << 14  # samples after which compiled code first comes back to Python
SOON = 0.1  # seconds after which it comes back from then on, so that an interruption is heard


def _loop(rule, state, utility, raw, position, filled, pending, told, until, goes_on, record, rng):
    begin = told[0]
    while told[0] < until:
        if pending[0] < 0:
            arm = choose(rule, state, rng.random())
            if arm < 0:  # SETTLED; nothing is ever outstanding here, so never WAITING
                if told[0] == begin or not goes_on:
                    return STOPPED
                arm = recommend(rule, state)  # guardrails are not looked at yet (`Feasibility.instead`)
                state.asked[arm] += 1
            pending[0] = arm
            if arm >= position.size:  # a user's own kernel may err, and compiled code would read beyond the tapes
                return STRAY
        arm = pending[0]
        at = position[arm]
        if at == filled[arm]:
            return REFILL
        if is_full(state.memory, arm) or lacks_room(rule, state, arm, state.ticket[0]):
            return GROW
        learn(rule, state, arm, utility[arm, at], raw[arm, at], state.ticket[0])
        position[arm] = at + 1
        pending[0] = -1
        if told[0] < record.choices.size:
            record.choices[told[0]] = arm
        told[0] += 1
        if record.done[0] < record.marks.size and told[0] == record.marks[record.done[0]]:
            write_down(rule, state, record)
    return DONE


@kernel
def write_down(rule, state, record):
    """Fill the next line of the record."""
    mark = record.done[0]
    for k in range(state.asked.size):
        record.pulls[mark, k] = state.memory.pulls[k]
    record.recommended[mark] = recommend(rule, state)
    record.done[0] += 1


compiled_loop = loop(_loop)


class Rollout:
    """One run of a policy on a problem, from one seed."""

    def __init__(
        self, policy: Policy, problem: Problem, seed: np.random.SeedSequence, *, rule: Any = None, exact: bool = False
    ) -> None:
        self.policy, self.problem = policy.on(problem), problem
        n_arms = problem.n_arms
        self.rule, self.state = started(self.policy, n_arms, rule)
        if exact:
            self.state.memory.limit[0] = NEVER
        chooser, *tellers = seed.spawn(n_arms + 1)
        self.rng = np.random.default_rng(chooser)
        self._streams = streams_of(self.policy, problem, tellers)
        width = min(FIRST_STRETCH, problem.batch)
        self._utilities, self._raw = np.zeros((n_arms, width)), np.zeros((n_arms, width))
        self._position, self._filled = (np.zeros(n_arms, dtype=np.int64) for _ in range(2))
        self._pending = np.full(1, -1, dtype=np.int64)
        self._told = np.zeros(1, dtype=np.int64)
        self._stretch = FIRST_LOOK
        self._feasibility = feasibility_of(self.policy, n_arms)
        self._goes_on = self._feasibility is not None and not hasattr(self.policy, "budget")
        self.stopped = False

    @property
    def samples(self) -> int:
        """How many outcomes were told."""
        return int(self._told[0])

    def run(self, until: int, record: Record | None = None, given_up: threading.Event | None = None) -> None:
        """Play until that many samples were told, or the policy stops, or another thread has given up."""
        record = new_record(np.zeros(0, dtype=np.int64), self.problem.n_arms) if record is None else record
        with compiled_for(type(self.policy).__name__):
            self._run(until, record, given_up)

    def _run(self, until: int, record: Record, given_up: threading.Event | None) -> None:
        while not self.stopped:
            if given_up is not None and given_up.is_set():
                raise CancelledError
            # compiled code hears of no interruption, so it comes back in between; what is told does not depend on it
            begin, before = time.perf_counter(), self.samples
            until_look = math.inf if self._feasibility is None else next_look(before)
            code = compiled_loop(
                self.rule, self.state, self._utilities, self._raw, self._position, self._filled,
                self._pending, self._told, int(min(until, before + self._stretch, until_look)), self._goes_on,
                record, self.rng,
            )  # fmt: skip
            if self.samples > before:
                each = (time.perf_counter() - begin) / (self.samples - before)
                self._stretch = max(int(SOON / max(each, 1e-12)), 1)
            if self._feasibility is not None and self.samples == until_look:
                self._feasibility.review(self.rule, self.state)
                self.stopped = not self.state.active.any()
            if code == DONE and self.samples >= until:
                return
            if code == STRAY:
                raise ValueError(no_such_arm(self.policy, int(self._pending[0]), self.problem.n_arms))
            if code == REFILL:
                self._refill(int(self._pending[0]))
            elif code == GROW:
                self._make_room(int(self._pending[0]))
            elif code == STOPPED:
                self._settle()
        while record.done[0] < record.marks.size:  # nothing changes any more
            write_down(self.rule, self.state, record)

    def _settle(self) -> None:
        """Stop, unless a guardrail asks for more samples of the leader, or has dropped it."""
        arm = SETTLED if self._feasibility is None else self._feasibility.instead(self.rule, self.state)
        if arm >= 0:
            self.state.asked[arm] += 1
            self._pending[0] = arm
        self.stopped = arm == SETTLED

    def learner(self) -> Learner:
        """A learner that knows what this run has learned, and goes on from there."""
        return Learner.with_state(self.policy, self.problem.arms, self.rng, self.rule, self.state)

    def _make_room(self, arm: int) -> None:
        if is_full(self.state.memory, arm):
            self.state = self.state._replace(memory=grown(self.state.memory, arm))
        else:
            self.state = self.state._replace(own=self.policy.roomier(self.state.own))

    def _refill(self, arm: int) -> None:
        outcomes = next(self._streams[arm])
        size = outcomes.size
        if size > self._utilities.shape[1]:
            self._utilities, self._raw = _wider(self._utilities, size), _wider(self._raw, size)
        self._raw[arm, :size] = outcomes
        self._utilities[arm, :size] = self.policy.preference.utilities(outcomes)
        self._position[arm], self._filled[arm] = 0, size


def _wider(tapes: FloatArray, size: int) -> FloatArray:
    """The tapes with room for more; np.pad takes ten times as long for tapes of this size."""
    wider = np.zeros((tapes.shape[0], size))
    wider[:, : tapes.shape[1]] = tapes
    return wider
