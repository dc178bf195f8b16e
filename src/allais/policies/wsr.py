"""W-SR: reject the worst arm after each phase (Algorithm 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import IntArray
from allais._kernels import by_reference, kernel
from allais.bands.base import NoBand
from allais.policies.base import KArmed, setting
from allais.policies.budget import more_than_arms, whole_budget
from allais.policies.state import require_place
from allais.policies.steps import issue, pick
from allais.policies.verbs import SETTLED, WAITING, choose, learn, recommend, take_in
from allais.samples.worth import Worth


@dataclass(frozen=True)
class WSR(KArmed):
    """W-SR, the best arm within a budget of samples: reject the worst after each phase (Algorithm 4).

    It promises no confidence, and needs to know nothing about the rewards. Where they are declared, outcomes are
    checked, and `SubGaussian` truncates the estimate.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(WSR(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    budget: int = setting(check=whole_budget)
    called: ClassVar[str] = "W-SR"
    goal: ClassVar[str] = "budget"

    def phases(self, n_arms: int) -> IntArray:
        """How often an arm that is still alive has been pulled at each rejection, one entry per rejection."""
        return phases(self.budget, n_arms)

    def rule(self, n_arms: int) -> WSRRule:
        """The settings as the kernels read them."""
        return WSRRule(self.worth(n_arms), NoBand(), self.phases(n_arms))

    def own(self, n_arms: int) -> Phase:
        """What W-SR remembers besides outcomes and asks."""
        return Phase(np.ones(n_arms, dtype=np.bool_), np.zeros(1, dtype=np.int64))

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a phase that does not exist, or one with another number of arms than it leaves."""
        require_place("phase", int(state.own.phase[0]), 0, rule.ends.size)
        left = state.asked.size - int(state.own.phase[0])  # each phase has rejected one
        require_place("number of arms that are still alive", int(state.own.alive.sum()), left, left)


def phases(budget: int, n_arms: int) -> IntArray:
    """n_1, ..., n_{K-1}: how often an arm that is still alive has been pulled after each phase.

    >>> phases(100, 3)
    array([25, 37])
    """
    more_than_arms(budget, n_arms)
    log_bar = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
    return np.array([math.ceil((budget - n_arms) / (log_bar * (n_arms + 1 - k))) for k in range(1, n_arms)], np.int64)


class WSRRule(NamedTuple):
    """W-SR's settings."""

    worth: Worth
    band: NoBand  # a budget gives no interval
    ends: IntArray  # n_k, (n_arms - 1,)


@by_reference
class Phase(NamedTuple):
    """Which arms are left, and how many phases are over."""

    alive: Any  # A_k, (n_arms,)
    phase: IntArray  # k - 1, (1,)


@choose.of(WSRRule)
def _(rule, state, u):
    if state.own.phase[0] == rule.ends.size:
        return SETTLED
    end = rule.ends[state.own.phase[0]]
    chosen = -1
    for arm in range(state.asked.size):  # in turn, so that a phase samples all arms alike
        alive = state.own.alive[arm] and state.asked[arm] < end
        if alive and (chosen < 0 or state.asked[arm] < state.asked[chosen]):
            chosen = arm
    if chosen < 0:
        return WAITING
    state.ticket[0] = u  # breaks a tie, if this choice ends the phase
    return issue(state, chosen)


@learn.of(WSRRule)
def _(rule, state, arm, felt, raw, ticket):
    take_in(rule, state, arm, felt, raw, ticket)
    while state.own.phase[0] < rule.ends.size and is_over(rule, state):
        for k in range(state.asked.size):
            state.score[k] = -state.memory.value[k]
        rejected = pick(state.score, state.own.alive, state.asked, ticket)  # I_k = argmin mu-hat
        state.own.alive[rejected] = False
        state.own.phase[0] += 1


@kernel
def is_over(rule, state):
    """Whether every arm that is still alive has been told as often as the phase asks."""
    short = 0
    for arm in range(state.asked.size):
        short += state.own.alive[arm] and state.memory.pulls[arm] < rule.ends[state.own.phase[0]]
    return short == 0


@recommend.of(WSRRule)
def _(rule, state):
    best = -1
    for arm in range(state.own.alive.size):
        if not state.own.alive[arm] or (best >= 0 and state.memory.pulls[arm] == 0):
            continue  # an arm that was never told comes last
        unseen = best < 0 or state.memory.pulls[best] == 0
        if unseen or state.memory.value[arm] > state.memory.value[best]:
            best = arm
    return best
