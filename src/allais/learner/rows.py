"""Rows of features that belong to one round: choosing among them and learning from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, starmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray
from allais._kernels import bound
from allais._system.locks import one_at_a_time
from allais.learner.binding import verbs_for
from allais.learner.learner import Learner
from allais.learner.viewpoints import MOST
from allais.linear.factorisation import project
from allais.linear.features import checked_features
from allais.linear.policy import LinearPolicy
from allais.policies.verbs import recommend
from allais.preferences import Preference


class Rows(Learner):
    """A learner of theta, which any row tells about."""

    policy: LinearPolicy
    _bound: dict[Preference, tuple[Callable[..., Any], Callable[..., Any]]]  # by whose rule chooses
    _seeing: Callable[..., Any] | None  # what listed arms see of theta

    def _hold(self) -> None:
        super()._hold()
        self._bound, self._seeing = {}, None

    def _context(self, features: ArrayLike, policy: LinearPolicy) -> tuple[FloatArray, Any, Any]:
        """Rule and state for other arms: what was learned is shared, what belongs to arms is new."""
        if policy.estimates:
            raise ValueError(
                "noise is estimated arm by arm, so arms must stay the same; got others. Declare the noise."
            )
        rows = checked_features(features)
        self._require_features(rows.shape[1])
        state = self._state._replace(**policy.of_arms(len(rows)))
        project(rows, state)
        return rows, policy.rule_for(rows), state

    def _verbs(self, policy: LinearPolicy, rule: Any, state: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The machine code of `choose` and `learn`: rows of all rounds are of one type, which takes long to tell."""
        found = self._bound.get(policy.preference)
        if found is None:
            if len(self._bound) >= MOST:
                self._bound.clear()
            found = self._bound[policy.preference] = verbs_for(type(rule), rule, state)
        return found

    @one_at_a_time
    def _values_of_rows(self, features: ArrayLike) -> FloatArray:
        """What arms with these features are worth, by what is known."""
        _, rule, state = self._context(features, self.policy)
        recommend(rule, state)
        return np.array(state.memory.value)

    def _learning(self, features: Sequence[float], outcomes: list[float], ticket: float) -> Iterator[Any]:
        """The steps by which outcomes of one row are learned; nothing is left to be made ready between them."""
        _, rule, state = self._context([features], self.policy)
        _, take_in = self._verbs(self.policy, rule, state)
        arms = (self._rule.world.features, self._state)
        if self._seeing is None:
            self._seeing = bound(project, *arms)
        told = [(rule, state, 0, self._felt(outcome), outcome, ticket) for outcome in outcomes]
        return chain(starmap(take_in, told), starmap(self._seeing, (arms,)))

    def _require_features(self, count: int) -> None:
        if count != self._state.theta.size:
            raise ValueError(
                f"features must have {self._state.theta.size} numbers per arm, as before; got {count}. "
                "Give the same features in every round."
            )
