"""What a learner knows: arms, outcomes, values, intervals, and its recommendation."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable
from typing import Any, NoReturn

import numpy as np

from allais._system.locks import one_at_a_time
from allais.bands.base import Interval
from allais.learner.choices import Choice
from allais.learner.durable import Durable
from allais.learner.views import same_utility
from allais.numerics.sums import finite_parts
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import worth_of
from allais.policies.core.verbs import SETTLED, bracket, choose
from allais.preferences import Preference
from allais.samples.cells import RAW, RAW_HIGH, RAW_LOW, SUM, hidden, spread_out
from allais.samples.layout import cells_of_arm, outcomes_of_arm
from allais.samples.memory import NEVER, measure
from allais.samples.trees import DISTINCT

MANY = 50_000  # distinct outcomes in trees: to weigh them one by one takes longer than to tabulate a new weight


class View(Durable):
    """What can be read of a learner; nothing here changes it."""

    policy: Policy
    _names: tuple[Hashable, ...]
    _index: dict[Hashable, int]
    _rule: Any
    _state: Any
    _out: dict[int, tuple[int, float]]  # what was asked and not told: arm and ticket
    _next: int  # the number of the next choice

    def __repr__(self) -> str:
        what, size = type(self).__name__, len(self._names)
        return f"<{what} of {type(self.policy).__name__}: {size} arms, {self._samples()} samples>"

    def _samples(self) -> int:
        return int(self._state.memory.pulls.sum())

    @property
    @one_at_a_time
    def arms(self) -> tuple[Hashable, ...]:
        """The arms in play, in the order they came."""
        return tuple(name for name, active in zip(self._names, self._state.active, strict=True) if active)

    @property
    @one_at_a_time
    def samples(self) -> int:
        """How many outcomes it was told."""
        return self._samples()

    @property
    @one_at_a_time
    def pulls(self) -> dict[Hashable, int]:
        """How many outcomes of each arm it was told, retired arms included."""
        return dict(zip(self._names, self._state.memory.pulls.tolist(), strict=True))

    @property
    @one_at_a_time
    def waiting(self) -> dict[Hashable, int]:
        """How many choices of each arm wait for their outcome, retired arms included.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> asked = learner.ask(3)
        >>> sum(learner.waiting.values())
        3
        """
        out = self._state.asked - self._state.memory.pulls
        return dict(zip(self._names, out.tolist(), strict=True))

    @property
    @one_at_a_time
    def outstanding(self) -> tuple[Choice, ...]:
        """The choices that were asked and neither told nor cancelled."""
        return tuple(Choice(id_, self._names[arm]) for id_, (arm, _) in self._out.items())

    @property
    def exact(self) -> bool:
        """Whether every outcome is kept, however many there are."""
        return bool(self._state.memory.limit[0] == NEVER)

    @one_at_a_time
    def outcomes(self, arm: Hashable) -> tuple[np.ndarray, np.ndarray]:
        """An arm's distinct outcomes, in the user's units, and how often each was seen.

        Of an arm with more than 16,384, neighbours share cells and are listed as one, unless the learner is `exact`.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0, 0.0])
        >>> learner.outcomes("A21")
        (array([ 0., 50.]), array([2, 1]))
        """
        _, raw, counts = outcomes_of_arm(self._state.memory, self._arm(arm))
        return raw, counts

    @one_at_a_time
    def value(self, preference: Preference | None = None) -> dict[Hashable, float]:
        """What each arm is worth by what was seen, to this preference or to another one's.

        An arm of which nothing is known has the value NaN. Another preference brings weights and a utility; gains and
        losses are those of the policy's own (`Preference.in_frame_of`). For an arm with many distinct outcomes the cost
        is O(n), or O(log n) where there are very many and the utility is that of the policy.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0])
        >>> learner.value(), round(learner.value(Preference(Power(0.5)))["A21"], 4)
        ({'A21': 25.0, 'A28': nan}, 35.3553)
        """
        return self._values(self._someone(preference))

    def _someone(self, preference: Preference | None) -> Preference:
        """A preference that was given, on gains and losses as the policy has them; or else the policy's own."""
        if preference is None:
            return self.policy.preference
        if not isinstance(preference, Preference):
            raise TypeError(f"an arm is valued by a preference; got {preference!r}. Write Preference(...).")
        return preference.in_frame_of(self.policy.preference)

    def _values(self, preference: Preference) -> dict[Hashable, float]:
        memory, n_arms = self._state.memory, len(self._names)
        told = memory.pulls > 0
        own = self.policy.preference
        many = preference == own or memory.trees.heads[:, DISTINCT].sum() > MANY
        summed = told & memory.in_trees if many and same_utility(preference, own) else np.zeros_like(told)
        values = np.full(n_arms, np.nan)
        if summed.any():
            worth, summing = worth_of(preference, [], n_arms), memory._replace(value=values, slack=memory.slack.copy())
            for k in np.flatnonzero(summed).tolist():
                measure(worth, summing, k)
        for k in np.flatnonzero(told & ~summed).tolist():
            values[k] = self._worth(k, preference)
        return dict(zip(self._names, values.tolist(), strict=True))

    @one_at_a_time
    def memory_error(self, preference: Preference | None = None) -> dict[Hashable, float]:
        """The most that each arm's `value` may be off because outcomes share cells; 0 while every one is kept.

        Intervals are widened for it already.

        >>> learner = WUCB.as_printed(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", np.random.default_rng(1).random(20_000))
        >>> error = learner.memory_error()
        >>> 0.0 < error["A21"] < 1e-3, error["A28"]
        (True, 0.0)
        """
        other = self._someone(preference)
        return {name: self._hidden(k, other) for k, name in enumerate(self._names)}

    def _hidden(self, k: int, preference: Preference) -> float:
        """How much of an arm's value its cells may hide."""
        cells = cells_of_arm(self._state.memory, k)
        if not (cells.shape[1] and self._state.memory.pulls[k]):
            return 0.0
        utility, raw, counts = outcomes_of_arm(self._state.memory, k)
        table = spread_out(utility, raw, counts, cells)
        if preference == self.policy.preference:
            return hidden(table, counts, preference.gains, preference.losses, table[SUM] / counts)
        # the same cells as another preference feels them
        table = np.stack([preference.utilities(table[row]) for row in (RAW_LOW, RAW_HIGH, RAW)])
        order = np.argsort(table[2], kind="stable")
        return hidden(table[:, order], counts[order], preference.gains, preference.losses)

    def _worth(self, k: int, preference: Preference) -> float:
        utility, outcomes, counts = outcomes_of_arm(self._state.memory, k)
        if not same_utility(preference, self.policy.preference):
            utility = preference.utilities(outcomes)
        order = np.argsort(utility)
        utility, counts = utility[order], counts[order]
        above = np.cumsum(counts[::-1])[::-1] / counts.sum()
        below = (np.cumsum(counts) - counts) / counts.sum()
        return finite_parts(utility, above, below, preference.gains, preference.losses).value

    @one_at_a_time
    def intervals(self) -> dict[Hashable, Interval]:
        """The interval of every arm's value at the policy's present confidence.

        It ends where the declared rewards do; it is infinite for an arm that was never told, and where the policy
        keeps none.

        >>> learner = WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0])
        >>> learner.intervals()["A21"]
        Interval(low=0.0, value=21.03..., high=50.0)
        """
        return intervals_of(self.policy, self._names, self._rule, self._state)

    @one_at_a_time
    def is_settled(self) -> bool:
        """Whether the policy has stopped and its recommendation is final."""
        if self.policy.goal == "regret":
            return False
        # `choose` writes to everything but the memory; only its answer is wanted
        shared = ("memory", "kept", "lifetimes")
        parts = {name: copy.deepcopy(getattr(self._state, name)) for name in self._state._fields if name not in shared}
        return bool(choose(self._rule, self._state._replace(**parts), 0.0) == SETTLED)

    def _refuse_features(self) -> NoReturn:
        raise TypeError(
            f"{type(self.policy).__name__} knows arms by their names and takes no features. Leave them out, or use a "
            "linear policy, such as WOFUL."
        )

    def _arm(self, name: Hashable) -> int:
        try:
            return self._index[name]
        except (KeyError, TypeError):
            listed = ", ".join(map(repr, self._names[:8])) + (", ..." if len(self._names) > 8 else "")
            raise ValueError(
                f"an arm must be one of {listed}; got {name!r}. Add it first, or check the name."
            ) from None

    # -- choices by their numbers -----------------------------------------------------------------

    def _id(self, choice: Any) -> int:
        if isinstance(choice, Choice):
            return choice.id
        if isinstance(choice, int) and not isinstance(choice, bool):
            return choice
        raise TypeError(f"tell and cancel take what ask returned, or its id; got {choice!r}. Keep what ask() returned.")

    def _require_own(self, choice: Choice | int, own: Hashable) -> None:
        if isinstance(choice, Choice) and choice.arm != own:
            raise ValueError(
                f"a choice is told to the learner that made it; here choice {choice.id} was arm {own!r}, "
                f"not {choice.arm!r}. Check which learner asked."
            )

    def _why_unknown(self, id_: int) -> str:
        if 0 < id_ < self._next:
            return f"a choice is told or cancelled once; {id_} already was. Use observe() for further data."
        return f"only a choice that was asked can be told; {id_} never was. Tell what ask() returned."


def intervals_of(policy: Policy, names: tuple[Hashable, ...], rule: Any, state: Any) -> dict[Hashable, Interval]:
    """The interval of every arm's value, by the rule and the state of a learner or of a run."""
    low, high = np.empty(len(names)), np.empty(len(names))
    bracket(rule, state, low, high)
    ends = zip(low.tolist(), state.memory.value.tolist(), high.tolist(), strict=True)
    return {
        name: Interval(*one).within(bounds) if math.isfinite(one[0]) and math.isfinite(one[2]) else Interval(*one)
        for name, one, bounds in zip(names, ends, policy.value_bounds(len(names)), strict=True)
    }
