"""A policy as a user would write it, in a module of their own: explore a tenth of the time, else be greedy."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._kernels import kernel
from allais.policies.base import Policy, worth_of
from allais.policies.steps import best_value, no_interval
from allais.policies.verbs import register
from allais.preferences import Preference
from allais.samples.memory import Memory, Worth, empty_memory, insert, measure


@dataclass(frozen=True)
class Greedy(Policy):
    preference: Preference
    name: str = "greedy"
    rewards: None = None

    goal: ClassVar[str] = "regret"

    def rule(self, n_arms):
        return GreedyRule(worth_of(self.preference, [], n_arms), 0.1)

    def state(self, n_arms):
        return GreedyState(
            empty_memory(n_arms), np.zeros(n_arms, dtype=np.int64), np.ones(n_arms, dtype=np.bool_), np.zeros(1)
        )


class GreedyRule(NamedTuple):
    worth: Worth
    share: float


class GreedyState(NamedTuple):
    memory: Memory
    asked: Any
    active: Any
    ticket: Any


@kernel
def _choose(rule, state, u):
    arm = int(u / rule.share * state.asked.size) if u < rule.share else best_value(state)
    state.asked[arm] += 1
    return arm


@kernel
def _learn(rule, state, arm, felt, raw, ticket):
    insert(state.memory, arm, felt, raw)
    measure(rule.worth, state.memory, arm)


@kernel
def _recommend(rule, state):
    return best_value(state)


@kernel
def _bracket(rule, state, low, high):
    no_interval(low, high)


register(GreedyRule, choose=_choose, learn=_learn, recommend=_recommend, bracket=_bracket)
