"""W-SR: reject the worst arm after each phase (Algorithm 4); patient rejects do so after a floor of samples for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import IntArray, share, whole
from allais._kernels import by_reference, kernel
from allais.bands.base import NoBand
from allais.policies.core.base import Policy, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of
from allais.policies.core.knowledge import RewardsOfArms
from allais.policies.core.state import require_place
from allais.policies.core.steps import best_value, issue, pick
from allais.policies.core.verbs import SETTLED, WAITING, choose, drop, learn, recommend, take_in
from allais.samples.memory import Worth

whole_budget = partial(whole, what="a whole number of samples")  # of a budget
floor_of_budget = partial(share, one=True, advice="Give the share of the budget that is spread evenly.")


def more_than_arms(budget: int, n_arms: int) -> None:
    """Refuse a budget that does not give every arm a sample and one more."""
    if budget <= n_arms:
        raise ValueError(
            f"budget must exceed the number of arms; got {budget} samples for {n_arms} arms. Give more samples."
        )


@kernel
def spent(budget, state):
    """SETTLED when a whole budget was told, WAITING when it was asked for, 0 before."""
    asked, told = 0, 0
    for arm in range(state.asked.size):
        asked += state.asked[arm]
        told += state.memory.pulls[arm]
    if asked < budget:
        return 0
    return SETTLED if told >= budget else WAITING


@dataclass(frozen=True)
class WSR(Policy):
    """W-SR, the best arm within a budget of samples: reject the worst after each phase (Algorithm 4).

    It promises no confidence, and needs to know nothing about the rewards. Where they are declared, outcomes are
    checked, and `SubGaussian` truncates the estimate.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        budget: The number of samples in all.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(WSR(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    rewards: RewardsOfArms | None = None
    budget: int = setting(check=whole_budget)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "W-SR"
    goal: ClassVar[str] = "budget"

    def phases(self, n_arms: int) -> IntArray:
        """How often an arm that is still alive has been pulled at each rejection, one entry per rejection."""
        return phases(self.budget, n_arms)

    def rule(self, n_arms: int) -> WSRRule:
        return WSRRule(self.worth(n_arms), NoBand(), self.phases(n_arms))

    def own(self, n_arms: int) -> Phase:
        return Phase(np.ones(n_arms, dtype=np.bool_), np.zeros(1, dtype=np.int64))

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a phase that does not exist, or one with another number of arms than it leaves."""
        require_place("phase", int(state.own.phase[0]), 0, rule.ends.size)
        left = state.asked.size - int(state.own.phase[0]) if state.active.any() else 0  # each phase has rejected one
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
def _(rule, state, arm, utility, raw, ticket):
    take_in(rule, state, arm, utility, raw, ticket)
    while state.own.phase[0] < rule.ends.size and is_over(rule, state):
        for k in range(state.asked.size):
            state.score[k] = -state.memory.value[k]
        rejected = pick(state.score, state.own.alive, state.asked, ticket)  # I_k = argmin mu-hat
        state.own.alive[rejected] = False
        state.own.phase[0] += 1


@drop.of(WSRRule)
def _(rule, state, arm):
    state.active[arm] = False
    own = state.own
    if not own.alive[arm]:
        return
    own.alive[arm] = False
    if own.phase[0] < rule.ends.size:  # it counts as the one that a phase rejects
        own.phase[0] += 1
    else:  # it was the last: the best of those that were rejected before comes back
        best = best_value(state)
        if best >= 0:
            own.alive[best] = True


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


@dataclass(frozen=True)
class SequentialHalving(WSR):
    """The best arm within a budget of samples: drop the worse half after each phase.

    The budget is shared evenly among phases. Values are estimated from all samples of an arm, not only those of the
    last phase, so that nothing is thrown away.

    It is a bold choice: an arm whose rare gain was not seen in the first phase is gone, and nothing warns of it
    (docs/choosing.md). `PatientRejects` looks longer before it rejects.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        budget: The number of samples in all.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(SequentialHalving(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    called: ClassVar[str] = "sequential halving"

    def phases(self, n_arms: int) -> IntArray:
        """How often an arm that is still alive has been pulled at each rejection, one entry per rejection.

        Arms that are dropped together have the same entry.

        >>> SequentialHalving(expected_value(), budget=96).phases(4)  # 2 of 4 after 12 pulls each, 1 of 2 after 24 more
        array([12, 12, 36])
        """
        rounds = max(math.ceil(math.log2(n_arms)), 1) if n_arms > 1 else 0
        if self.budget < n_arms * rounds:
            raise ValueError(
                f"budget must give every arm a sample in each of {rounds} phases; got {self.budget} samples for "
                f"{n_arms} arms. Give at least {n_arms * rounds}."
            )
        ends: list[int] = []
        alive, told = n_arms, 0
        for _ in range(rounds):
            told += self.budget // (alive * rounds)
            survivors = math.ceil(alive / 2)
            ends += [told] * (alive - survivors)
            alive = survivors
        return np.array(ends, dtype=np.int64)


@dataclass(frozen=True)
class PatientRejects(WSR):
    """The best arm within a budget, where outcomes may be rare and no bounds are known: the default for that goal.

    An arm that is rejected before its rare gain was seen never comes back, and one that is kept needs many samples to
    show its rare loss. So a share of the budget is spread evenly over all arms before any is rejected, and the rest is
    spent as W-SR spends it (Audibert et al. 2010), one rejection after the other. A rare gain of probability p is
    missed in a share of about exp(-p m) of the runs. Here m is the number of samples per arm before the first
    rejection: with 16 arms, about half of budget / arms.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        budget: The number of samples in all.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.
        floor: The share of the budget that is spread evenly first, in (0, 1]; near 0 it is W-SR, at 1 uniform sampling
            (docs/choosing.md).

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(PatientRejects(Preference(TverskyKahneman(0.61)), budget=10_000), problem, seed=1).arm
    0
    """

    floor: float = setting(0.25, floor_of_budget)
    called: ClassVar[str] = "patient rejects"

    def phases(self, n_arms: int) -> IntArray:
        """The phases of W-SR, after the floor."""
        return patient_phases(self.budget, n_arms, self.floor)


def patient_phases(budget: int, n_arms: int, floor: float) -> IntArray:
    """How often an arm that is still alive has been pulled at each rejection, one entry per rejection.

    >>> patient_phases(200, 3, 0.5)  # 33 each, then the phases of W-SR with the 101 that are left
    array([58, 70])
    """
    each = int(floor * budget) // n_arms if budget > n_arms else 0
    rest = budget - each * n_arms
    if each and rest <= n_arms:  # the whole budget is spread evenly
        return np.full(n_arms - 1, each, dtype=np.int64)
    return each + phases(rest, n_arms)
