"""Explore-first greedy: sample every arm alike, then always the best one so far (Li, Fan and Hong 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from allais._checks import IntArray
from allais._kernels import by_reference, kernel
from allais.bands.base import NoBand
from allais.policies.core.base import KArmed, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of
from allais.policies.core.steps import best_value, issue, survey
from allais.policies.core.verbs import choose, drop, learn, take_in
from allais.policies.wsr import floor_of_budget, more_than_arms, spent, whole_budget
from allais.samples.memory import Worth


@dataclass(frozen=True)
class ExploreFirstGreedy(KArmed):
    """The best of thousands of arms within a budget: explore first, then be greedy.

    The explore-first greedy procedure (EFG) of Li, Fan and Hong, "The (Surprising) Sample Optimality of Greedy
    Procedures for Large-Scale Ranking and Selection" (Management Science 2025). A share of the budget is spread evenly;
    each sample of the rest goes to the arm of the highest estimate, and the answer is the one that has it at the end.
    An arm that only looks good loses its lead when it is sampled, so that only the best one keeps it. For means it is
    proven that a budget in proportion to the number of arms is enough, if the best stands out; for other values nothing
    is (`python -m benchmarks budgets` has it beside the others on a flow line).

    An arm whose rare gain was not seen while all were explored is never looked at again: say a large share, or take
    `PatientRejects`, where events are rare.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        budget: The number of samples in all.
        floor: The share of the budget that is spread evenly first, in (0, 1]; at 1 it is uniform sampling.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(ExploreFirstGreedy(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    budget: int = setting(check=whole_budget)
    floor: float = setting(0.8, floor_of_budget)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "explore-first greedy"
    goal: ClassVar[str] = "budget"

    def rule(self, n_arms: int) -> ExploreFirstGreedyRule:
        more_than_arms(self.budget, n_arms)
        each = max(int(self.floor * self.budget) // n_arms, 1)
        return ExploreFirstGreedyRule(self.worth(n_arms), NoBand(), self.budget if n_arms > 1 else 0, each)

    def own(self, n_arms: int) -> Tournament:
        """What it keeps beside outcomes and asks; all of it follows from them."""
        leaves = 1 << max(n_arms - 1, 1).bit_length()
        return Tournament(np.zeros(2 * leaves, dtype=np.int64), np.zeros(4, dtype=np.int64))


class ExploreFirstGreedyRule(NamedTuple):
    """The settings of explore-first greedy."""

    worth: Worth
    band: NoBand  # a budget gives no interval
    budget: int  # B
    each: int  # n_0: samples of every arm before the greedy phase


@by_reference
class Tournament(NamedTuple):
    """What makes a sample cost the same for ten arms and, nearly, for ten thousand: whose turn it is, and who leads."""

    winner: IntArray  # of node i, that of 2 i and 2 i + 1; the arms are the leaves, and -1 is none; (2 * leaves,)
    known: IntArray  # by the places below; all 0 where nothing is known, (4,)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are made anew where they are not known: in no file."""
        return "winner", "known"


# for how many more asks and outcomes the phase and the budget last for sure; whether it is the greedy phase; else the
# next arm in turn, and how often it was asked
LEFT, GREEDY, TURN, ASKED = 0, 1, 2, 3


@kernel
def _ahead(state, one, other):
    """The arm that leads: the higher estimate, then more samples, then the first, as `best_value` has it."""
    if one < 0 or other < 0:
        return max(one, other)
    value, pulls = state.memory.value, state.memory.pulls
    if value[other] > value[one] or (value[other] == value[one] and pulls[other] > pulls[one]):
        return other
    return one


@kernel
def _play(state, node):
    """Play on from a node to the root."""
    winner = state.own.winner
    while node > 0:
        winner[node] = _ahead(state, winner[2 * node], winner[2 * node + 1])
        node //= 2


@kernel
def _begin(state, each):
    """Let all arms play against each other; whether each of them has had its outcomes."""
    winner, explored = state.own.winner, True
    leaves = winner.size // 2
    for k in range(leaves):
        winner[leaves + k] = k if k < state.asked.size and state.active[k] else -1
        if winner[leaves + k] >= 0 and state.memory.pulls[k] < each:
            explored = False
    for node in range(leaves - 1, 0, -1):
        winner[node] = _ahead(state, winner[2 * node], winner[2 * node + 1])
    return explored


@learn.of(ExploreFirstGreedyRule)
def _(rule, state, arm, utility, raw, ticket):
    take_in(rule, state, arm, utility, raw, ticket)
    known = state.own.known
    known[LEFT] -= 1
    if known[GREEDY] == 1:
        _play(state, (state.own.winner.size // 2 + arm) // 2)


@drop.of(ExploreFirstGreedyRule)
def _(rule, state, arm):
    state.active[arm] = False
    state.own.known[LEFT] = 0  # all play anew


@choose.of(ExploreFirstGreedyRule)
def _(rule, state, u):
    known = state.own.known
    if known[LEFT] > 0:
        known[LEFT] -= 1
        arm = state.own.winner[1] if known[GREEDY] == 1 else known[TURN]
        if arm < state.asked.size and state.active[arm]:
            if known[GREEDY] == 1:
                return issue(state, arm)  # the greedy phase: arg max of the running estimates
            if state.asked[arm] == known[ASKED]:
                known[TURN] += 1
                return issue(state, arm)  # the exploration phase: one after the other
    end = spent(rule.budget, state)
    if end != 0:
        return end
    arm, m = survey(rule.each, state)  # n_0 samples of each, also of those whose outcomes were lost
    known[LEFT], known[GREEDY] = rule.budget - m, 0
    if arm >= 0:
        known[TURN], known[ASKED] = arm + 1, state.asked[arm]
        return issue(state, arm)
    if _begin(state, rule.each):
        known[GREEDY] = 1
    else:  # outcomes are late: look again whom they leave behind
        known[LEFT] = 0
    return issue(state, best_value(state))
