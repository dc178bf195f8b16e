"""What may change while a learner goes on: wider bounds of its rewards, and the preference that it serves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from allais._system.locks import one_change_at_a_time
from allais.learner.arms import Arms
from allais.learner.views import same_utility
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import RewardsOfArms
from allais.policies.core.state import started
from allais.preferences import Preference
from allais.rewards import covers
from allais.samples.layout import cells_of_arm, outcomes_of_arm, remembered
from allais.samples.lifetimes import Lifetimes
from allais.samples.memory import Memory
from allais.settings import to_spec


class Changes(Arms):
    """A learner whose settings may change where what was learned stays true."""

    @one_change_at_a_time
    def widen(self, rewards: RewardsOfArms) -> None:
        """Go on with wider bounds; what was learned is kept, and every interval is wider from now on.

        `rewards` is what the policy takes: one for all arms, or one per arm. It must admit all that was admitted.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0])
        >>> learner.widen(Bounded(0, 60))
        >>> learner.observe("A21", [60.0])
        >>> learner.pulls, learner.policy.rewards
        ({'A21': 2, 'A28': 0}, Bounded(low=0.0, high=60.0))
        """
        policy = with_rewards(self.policy, rewards)
        if not policy.open_to_data:
            raise ValueError(
                f"{type(policy).__name__} has scaled what it learned by its bounds; cannot widen them. "
                "Start it anew, or use a policy that keeps outcomes, such as NPTS."
            )
        for old, new in zip(self._known, policy.rewards_of(len(self._names)), strict=True):
            if not covers(new, old):
                raise ValueError(f"wider rewards must admit all that {old!r} does; {new!r} does not. Widen it.")
        event = {"widen": to_spec(rewards)} if self._durable else {}  # refuses what cannot be written
        self._go_on(policy, copy.deepcopy(self._state.memory))
        if self._durable:
            self._write(event)

    @one_change_at_a_time
    def change_preference(self, preference: Preference) -> None:
        """Serve another preference from now on; outcomes that were told count as they feel under it.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0] * 10 + [0.0] * 90)
        >>> learner.observe("A28", [7.0] * 100)
        >>> best = learner.recommend().arm
        >>> learner.change_preference(Preference(TverskyKahneman(0.61)))
        >>> best, learner.recommend().arm
        ('A28', 'A21')
        """
        if not isinstance(preference, Preference):
            raise TypeError(f"a learner serves a preference; got {preference!r}. Write Preference(TverskyKahneman()).")
        if not self.policy.open_to_data:
            raise ValueError(
                f"{type(self.policy).__name__} has learned for its own preference only. Start it anew for another."
            )
        policy = self.policy.but(preference=preference)
        event = {"prefer": to_spec(preference)} if self._durable else {}
        self._go_on(policy, self._felt_by(preference))
        if self._durable:
            self._write(event)

    def _go_on(self, policy: Policy, memory: Memory) -> None:
        """Take over the settings of another policy over the same arms."""
        rule, fresh = started(policy, len(self._names))  # refuses what does not fit
        kept = {"kept": fresh.kept} if hasattr(fresh, "kept") else {}
        self._adopt(policy, self._names, rule, self._state._replace(memory=memory, **kept))

    def _felt_by(self, preference: Preference) -> Memory:
        """The memory as somebody else feels what is in it."""
        memory = self._state.memory
        if not self.policy.keeps_outcomes or same_utility(preference, self.policy.preference):
            self._require_one_scale(preference)
            return copy.deepcopy(memory)
        arms = range(memory.pulls.size)
        if isinstance(self._state.lifetimes, Lifetimes) or any(cells_of_arm(memory, k).size for k in arms):
            raise ValueError(
                "outcomes that are kept in cells, or forgotten in time, are kept as they feel; the new preference has "
                "another utility, reference or direction. Keep those, or start anew."
            )
        outcomes, mean, spread = [], np.zeros(len(arms)), np.zeros(len(arms))
        for k in arms:
            _, raw, counts = outcomes_of_arm(memory, k)
            utilities = preference.utilities(raw)
            if not np.isfinite(utilities).all():
                raise ValueError("the utility of each outcome must be finite; that of one is not. Bound the rewards.")
            order = np.lexsort((raw, utilities))
            outcomes.append((utilities[order], raw[order], counts[order]))
            if counts.size:
                mean[k] = np.average(utilities, weights=counts)
                spread[k] = np.sum(counts * (utilities - mean[k]) ** 2)
        return remembered(outcomes, mean, spread)._replace(limit=memory.limit)

    def _require_one_scale(self, preference: Preference) -> None:
        """Refuse another reference or direction where noise is estimated from gains."""
        old = self.policy.preference
        if getattr(self.policy, "estimates", False) and (preference.reference, preference.costs) != (
            old.reference, old.costs,
        ):  # fmt: skip
            raise ValueError("noise is estimated from gains, so reference and costs must stay. Change weights only.")


def with_rewards(policy: Policy, rewards: RewardsOfArms) -> Policy:
    """The policy under other rewards.

    >>> with_rewards(WLUCB(expected_value(), Bounded(0, 30), delta=0.05), Bounded(0, 60)).rewards
    Bounded(low=0.0, high=60.0)
    """
    told: Any = getattr(policy, "rewards", None)
    if told is None:
        raise ValueError(
            f"wider rewards are for a policy that was told some; {type(policy).__name__} was not. Leave them out."
        )
    return policy.but(rewards=rewards)
