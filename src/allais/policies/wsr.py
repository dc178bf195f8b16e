"""W-SR: reject the worst arm after each phase (Algorithm 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel
from allais.policies.base import Policy, RewardsOfArms, check_settings, require_place, worth_of
from allais.policies.steps import no_interval
from allais.policies.verbs import SETTLED, WAITING, register
from allais.preferences import Preference
from allais.samples.memory import Memory, Worth, empty_memory, insert, measure, pick


@dataclass(frozen=True)
class WSR(Policy):
    """W-SR, the best arm within a budget of samples: reject the worst after each phase (Algorithm 4).

    It promises no confidence, and needs to know nothing of the rewards.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(WSR(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    preference: Preference
    budget: int
    rewards: RewardsOfArms | None = None  # to check what is told; SubGaussian truncates the estimate
    name: str = field(default="W-SR", repr=False)

    goal: ClassVar[str] = "budget"

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards, needs_rewards=False)
        object.__setattr__(self, "budget", check_budget(self.budget))

    def rule(self, n_arms: int) -> WSRRule:
        """The settings as the kernels read them."""
        enough_for(self.budget, n_arms)
        return WSRRule(worth_of(self.preference, self.rewards_of(n_arms), n_arms), phases(self.budget, n_arms))

    def state(self, n_arms: int) -> WSRState:
        """The state before the first round."""
        return fresh_state(n_arms)

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a phase that is not there."""
        check_phase(rule, state)


def check_phase(rule: Any, state: Any) -> None:
    """Refuse a phase that is not there, or one with other arms than it left."""
    require_place("phase", int(state.phase[0]), 0, rule.ends.size)
    left = state.alive.size - int(state.phase[0])  # each phase has rejected one
    require_place("number of arms that are still alive", int(state.alive.sum()), left, left)


def check_budget(budget: int) -> int:
    """A budget as an int, or an error that says what came."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise ValueError(f"budget must be a whole number of samples; got {budget!r}. Give an int.")
    return int(budget)


def enough_for(budget: int, n_arms: int) -> None:
    """Refuse a budget that does not give every arm a sample and one more."""
    if budget <= n_arms:
        raise ValueError(
            f"budget must exceed the number of arms; got {budget} samples for {n_arms} arms. Give more samples."
        )


def phases(budget: int, n_arms: int) -> IntArray:
    """n_1, ..., n_{K-1}: how often an arm that is still alive has been pulled after each phase.

    >>> phases(100, 3)
    array([25, 37])
    """
    log_bar = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
    ends = [math.ceil((budget - n_arms) / (log_bar * (n_arms + 1 - k))) for k in range(1, n_arms)]
    return np.array(ends, dtype=np.int64)


class WSRRule(NamedTuple):
    """W-SR's settings."""

    worth: Worth
    ends: IntArray  # n_k, (n_arms - 1,)


class WSRState(NamedTuple):
    """W-SR's memory."""

    memory: Memory
    asked: IntArray
    active: Any
    ticket: FloatArray
    alive: Any  # A_k, (n_arms,)
    phase: IntArray  # k - 1, (1,)
    worst_first: FloatArray  # scratch, (n_arms,)


def fresh_state(n_arms: int) -> WSRState:
    """The state before the first round."""
    return WSRState(
        empty_memory(n_arms),
        np.zeros(n_arms, dtype=np.int64),
        np.ones(n_arms, dtype=np.bool_),
        np.zeros(1),
        np.ones(n_arms, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
        np.zeros(n_arms),
    )


@kernel
def _choose(rule, state, u):
    if state.phase[0] == rule.ends.size:
        return SETTLED
    end = rule.ends[state.phase[0]]
    chosen = -1
    for arm in range(state.asked.size):  # in turn, so that a phase samples all arms alike
        if state.alive[arm] and state.asked[arm] < end and (chosen < 0 or state.asked[arm] < state.asked[chosen]):
            chosen = arm
    if chosen < 0:
        return WAITING
    state.asked[chosen] += 1
    state.ticket[0] = u  # breaks a tie, if this choice ends the phase
    return chosen


@kernel
def _learn(rule, state, arm, felt, raw, ticket):
    insert(state.memory, arm, felt, raw)
    measure(rule.worth, state.memory, arm)
    while state.phase[0] < rule.ends.size and is_over(rule, state):
        for k in range(state.asked.size):
            state.worst_first[k] = -state.memory.value[k]
        rejected = pick(state.worst_first, state.alive, state.asked, ticket)  # I_k = argmin mu-hat
        state.alive[rejected] = False
        state.phase[0] += 1


@kernel
def is_over(rule, state):
    """Whether every arm that is still alive has been told as often as the phase asks."""
    short = 0
    for arm in range(state.asked.size):
        short += state.alive[arm] and state.memory.pulls[arm] < rule.ends[state.phase[0]]
    return short == 0


@kernel
def _recommend(rule, state):
    if state.phase[0] == rule.ends.size:
        for arm in range(state.alive.size):
            if state.alive[arm]:
                return arm
    best = -1
    for arm in range(state.alive.size):
        if not state.alive[arm] or (best >= 0 and state.memory.pulls[arm] == 0):
            continue  # what was never told comes last
        unseen = best < 0 or state.memory.pulls[best] == 0
        if unseen or state.memory.value[arm] > state.memory.value[best]:
            best = arm
    return best


@kernel
def _bracket(rule, state, low, high):
    no_interval(low, high)  # a budget gives no interval


register(WSRRule, choose=_choose, learn=_learn, recommend=_recommend, bracket=_bracket)
