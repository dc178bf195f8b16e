"""The verbs of a policy: how to choose an arm, learn from it, and recommend one.

A policy is a few small kernels over a `Rule` (its settings, a NamedTuple) and a `State` (arrays,
written in place). The Learner calls the verbs one round at a time; `rollout` is one compiled loop
over them. Both look the kernel up by the rule's type.
"""

from __future__ import annotations

from typing import Any

from allais._kernels import verb

SETTLED = -1  # `choose`: the policy is done, and recommends
WAITING = -2  # `choose`: what was asked must be told or cancelled first


def _choose(rule, state, u):
    """The next arm, SETTLED or WAITING; u is a uniform draw, one a call."""


def _learn(rule, state, arm, felt, raw, ticket):
    """Take in one outcome of an arm: as felt, in the user's units, and the ticket of its choice."""


def _recommend(rule, state):
    """The arm that the policy thinks best; before anything was told, the first one."""


def _bracket(rule, state, low, high):
    """Write the interval of every arm's value at the present confidence; infinite where unknown."""


choose, add_choose = verb(_choose)
learn, add_learn = verb(_learn)
recommend, add_recommend = verb(_recommend)
bracket, add_bracket = verb(_bracket)


def register(rule: type, *, choose: Any, learn: Any, recommend: Any, bracket: Any) -> None:
    """Say which kernels a type of rule has; their parameters are named as the verbs' are."""
    add_choose(rule, choose)
    add_learn(rule, learn)
    add_recommend(rule, recommend)
    add_bracket(rule, bracket)
