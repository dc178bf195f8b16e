"""What is done to an arm: data that was not asked for, data that is taken back, arms that come and go."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import finite_array
from allais._system.locks import one_change_at_a_time
from allais.errors import NotAdmitted
from allais.learner.choices import WIDEN, require_plain_names
from allais.learner.steps import Steps
from allais.learner.views import remeasure
from allais.policies.core.knowledge import check_settings
from allais.policies.core.state import extended, started
from allais.problems.base import checked_names
from allais.rewards import Rewards
from allais.samples.layout import with_arms
from allais.samples.lifetimes import Lifetimes, without_outcome
from allais.samples.memory import remove
from allais.settings import to_spec


class Arms(Steps):
    """A learner that is told about arms."""

    @one_change_at_a_time
    def observe(self, arm: Hashable, rewards: ArrayLike) -> None:
        """Feed in outcomes of an arm that were known before or seen elsewhere: all of them, or none if any is refused.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 7.0])
        >>> learner.pulls
        {'A21': 0, 'A28': 2}
        """
        k = self._arm(arm)
        if not self.policy.open_to_data:
            raise ValueError(
                f"{type(self.policy).__name__} learns from its own choices only; got data about arm {arm!r}. "
                "Use a policy that keeps an estimate of each arm, such as WUCB."
            )
        try:
            outcomes = self._known[k].check(rewards) if self._known else finite_array("rewards", rewards)
        except NotAdmitted as error:
            raise NotAdmitted(error.rule, WIDEN) from None
        if not np.isfinite(self.policy.preference.utilities(outcomes)).all():
            raise ValueError("the utility of rewards must be finite; that of some is not. Bound the rewards.")
        if (most := float(np.abs(outcomes).max(initial=0.0))) > self._largest:
            raise ValueError(self._why_too_large(most))
        told = outcomes.tolist()
        self._learn_all(k, told)
        if self._durable:
            self._write({"observe": self._names[k], "rewards": told})

    @one_change_at_a_time
    def forget(self, arm: Hashable, reward: float) -> None:
        """Take back one outcome of an arm that was told or observed by mistake.

        Where outcomes share a cell, one sample is taken from it: whether it was this one cannot be checked.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 50.0])
        >>> learner.forget("A28", 50.0)
        >>> learner.pulls
        {'A21': 0, 'A28': 1}
        """
        k = self._arm(arm)
        if not (self.policy.open_to_data and self.policy.keeps_outcomes):
            raise ValueError(f"{type(self.policy).__name__} cannot unlearn. Start it anew from the right data.")
        outcome = self._checked(k, reward)
        utilities = self._utilities(outcome)
        self._forget_views()
        self._midway = True
        if not remove(self._state.memory, k, utilities, outcome):
            self._midway = False
            raise ValueError(
                f"only an outcome that was seen can be forgotten; {reward!r} of {arm!r} was not. Check it."
            )
        self._state.asked[k] -= 1
        if isinstance(getattr(self._state, "lifetimes", None), Lifetimes):
            without_outcome(self._state.lifetimes, k, outcome)
        remeasure(self._rule, self._state, k)
        self._midway = self._durable
        if self._durable:
            self._write({"forget": self._names[k], "reward": outcome})

    @one_change_at_a_time
    def add(self, arm: Hashable, rewards: Rewards | None = None) -> None:
        """Bring a new arm into play, or one that retired; `rewards` says what is known about a new one, if arms differ.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.add("B7")
        >>> learner.arms
        ('A21', 'A28', 'B7')
        """
        self._require_open_to_arms("add")
        checked_names([arm])
        if self._durable:
            require_plain_names([arm])
        event = {"add": arm, "rewards": to_spec(rewards)} if self._durable else {}  # refuses what cannot be written
        if rewards is not None:
            check_settings(self.policy.preference, rewards)
        if arm in self._index:
            self._bring_back(arm, rewards)
        else:
            self._bring_in((arm,), rewards)
        if self._durable:
            self._write(event)

    @one_change_at_a_time
    def add_all(self, arms: Sequence[Hashable], rewards: Rewards | None = None) -> None:
        """Bring new arms into play, all or none, at the cost of one; `rewards` says what is known about each of them.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.add_all(["B7", "B9"])
        >>> learner.arms
        ('A21', 'A28', 'B7', 'B9')
        """
        self._require_open_to_arms("add")
        names = checked_names(arms)
        if self._durable:
            require_plain_names(names)
        event = {"add all": list(names), "rewards": to_spec(rewards)} if self._durable else {}
        if rewards is not None:
            check_settings(self.policy.preference, rewards)
        if old := next((name for name in names if name in self._index), None):
            raise ValueError(f"new arms must have names of their own; {old!r} is there already. Use add if it retired.")
        self._bring_in(names, rewards)
        if self._durable:
            self._write(event)

    def _bring_in(self, arms: tuple[Hashable, ...], rewards: Rewards | None) -> None:
        each = isinstance(getattr(self.policy, "rewards", None), Sequence)
        if each != (rewards is not None):
            raise ValueError(
                "a new arm needs rewards exactly if the policy has some for each arm; "
                f"got {'none' if each else 'some'}. {'Give' if each else 'Leave out'} rewards=."
            )
        policy = self.policy
        if each:
            more = [*policy.rewards_of(len(self._names)), *[rewards] * len(arms)]
            policy = policy.but(rewards=more)  # checks them
        names = (*self._names, *arms)
        rule, state = started(policy, len(names))  # refuses what does not fit
        self._adopt(policy, names, rule, _extended(self._state, state))

    @one_change_at_a_time
    def retire(self, arm: Hashable) -> None:
        """Take an arm out of play; what was learned about it is kept, and `add` brings it back.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.retire("A21")
        >>> learner.ask().arm
        'A28'
        >>> learner.add("A21")
        >>> learner.arms
        ('A21', 'A28')
        """
        self._require_open_to_arms("retire")
        k = self._arm(arm)
        if not self._state.active[k]:
            raise ValueError(f"only an arm in play can retire; {arm!r} already did.")
        if self._state.active.sum() == 1:
            raise ValueError(f"one arm must stay in play; {arm!r} is the last. Add another first.")
        self._midway = True
        self._state.active[k] = False
        self._midway = self._durable
        if self._durable:
            self._write({"retire": self._names[k]})

    def _bring_back(self, arm: Hashable, rewards: Rewards | None) -> None:
        k = self._index[arm]
        if self._state.active[k]:
            raise ValueError(f"arms must have distinct names; {arm!r} is there already. Rename it.")
        if rewards is not None and (not self._known or rewards != self._known[k]):
            raise ValueError(
                f"an arm that comes back keeps what is known about it; got other rewards for {arm!r}. "
                "Leave out rewards=."
            )
        self._midway = True
        self._state.active[k] = True
        self._midway = self._durable

    def _require_open_to_arms(self, verb: str) -> None:
        if not self.policy.open_to_arms:
            raise ValueError(
                f"{type(self.policy).__name__} fixes its arms when it starts, since its guarantee counts them; "
                f"cannot {verb} one. Start it anew, or use a regret policy such as WUCB."
            )


def _extended(old: Any, new: Any) -> Any:
    """A state for more arms that holds what the old one held."""
    for name in ("asked", "active", "ticket", "own"):
        extended(getattr(old, name), getattr(new, name))
    kept = {"lifetimes": old.lifetimes} if hasattr(old, "lifetimes") else {}
    return new._replace(memory=with_arms(old.memory, new.memory.pulls.size), **kept)
