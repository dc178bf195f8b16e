"""Engines of learners whose rounds differ: theta, which any row of features tells about; a forest, for any context."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray
from allais._kernels import bound
from allais.files import require, whole
from allais.forests import OutcomeForest
from allais.forests.encoding import Flat, checked_context
from allais.learner import changes, reading
from allais.learner._engine import Engine
from allais.learner.choices import Choice, require_own
from allais.learner.views import (
    FURTHER,
    MOST,
    DrawsView,
    Groups,
    LinearPreferenceView,
    PreferenceView,
    SharedDraws,
    verbs_for,
)
from allais.linear.arm_sets import ArmSet, Judge, checked_features
from allais.linear.policy import LinearPolicy
from allais.linear.regression import project
from allais.policies.core.knowledge import Fading
from allais.policies.core.state import extended, started
from allais.preferences import Preference


class Row(NamedTuple):
    """A choice of an arm that is not listed: its name, its ticket and its features."""

    arm: Any
    ticket: float
    features: tuple[float, ...]


class LinearEngine(Engine):
    """An engine that learns theta, which any row tells about."""

    policy: LinearPolicy
    largest = 1e100  # rewards are added up: sums and their products stay finite

    def __init__(self, *settings: Any) -> None:
        self.rows: dict[int, Row] = {}  # choices that are out, beside those of listed arms
        super().__init__(*settings)

    def contents(self) -> dict[str, Any]:
        return {**super().contents(), "rows": dict(self.rows)}

    def hold(self, rule: Any, state: Any) -> None:
        super().hold(rule, state)
        self.verbs: dict[Preference, tuple[Callable[..., Any], Callable[..., Any]]] = {}  # by whose rule chooses
        self.seeing: Callable[..., Any] | None = None  # what listed arms see of theta

    def context(self, features: ArrayLike, policy: LinearPolicy) -> tuple[FloatArray, Any, Any]:
        """Rule and state for other arms: what was learned is shared, what belongs to arms is new."""
        if policy.estimates:
            raise ValueError(
                "noise is estimated arm by arm, so arms must stay the same; got others. Declare the noise."
            )
        rows = checked_features(features)
        self.require_features(rows.shape[1])
        state = self.state._replace(**policy.of_arms(len(rows)))
        project(rows, state)
        return rows, policy.rule_for(rows), state

    def require_features(self, count: int) -> None:
        """Refuse rows of another length."""
        if count != self.state.theta.size:
            raise ValueError(
                f"features must have {self.state.theta.size} numbers per arm, as before; got {count}. "
                "Give the same features in every round."
            )

    def _verbs(self, policy: LinearPolicy, rule: Any, state: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The machine code of `choose` and `learn`, bound once: arms of all rounds have one type, slow to infer."""
        found = self.verbs.get(policy.preference)
        if found is None:
            if len(self.verbs) >= MOST:
                self.verbs.clear()
            found = self.verbs[policy.preference] = verbs_for(type(rule), rule, state)
        return found

    def new_view(self, preference: Preference) -> PreferenceView:
        return LinearPreferenceView(self.policy, preference, len(self.names))

    # -- choosing ---------------------------------------------------------------------------------

    def best_row(self, policy: LinearPolicy, features: Any) -> tuple[int, tuple[float, ...]]:
        """The choice among arms that belong to this round only."""
        if not policy.open_to_contexts:
            raise ValueError(
                f"{type(policy).__name__} takes no features in a round. Use WOFUL, which learns what arms share."
            )
        rows, rule, state = self.context(features, policy)
        self.make_draw()
        choosing, _ = self._verbs(policy, rule, state)
        arm = int(choosing(rule, state, self.draw))
        return arm, tuple(rows[arm].tolist())

    def best_of_set(self, policy: LinearPolicy, among: ArmSet) -> tuple[Hashable, tuple[float, ...]]:
        """The best arm of a set, for the theta that the policy draws."""
        if not isinstance(among, ArmSet):
            raise TypeError(f"a set of arms has a dimension and a best arm; got {among!r}. Write Routes(...).")
        self.require_features(among.dimension)
        judge = Judge(policy.preference, policy.noise)
        self.make_draw()
        assert self.draw is not None
        thetas, v = policy.drawn_thetas(self.rule, self.state, self.draw)
        found = [among.best(theta, judge) for theta in thetas]
        arm = found[int(v * len(found))]  # drawn from the shares of arms that are the best for some theta
        self.state.ticket[0] = sum(one.name == arm.name for one in found) / len(found) if len(found) > 1 else 0.0
        return arm.name, tuple(arm.features.tolist())

    def issue(self, arm: Any, features: tuple[float, ...]) -> Choice:
        """Issue a choice of an arm that is not listed; its draw is used up."""
        self.make_draw()
        id_, guard = self.next, self.guard
        row = Row(arm, self.state.ticket[0], features)
        guard.midway = True
        self.rows[id_] = row
        self.next = id_ + 1
        self.draw = None
        guard.midway = guard.durable
        return self.choice(id_)

    # -- choices that are out ---------------------------------------------------------------------

    def learn_other(self, id_: int, choice: Choice | int, reward: float) -> float:
        row = self.rows.get(id_)
        if row is None:
            raise ValueError(self.why_unknown(id_))
        require_own(choice, row.arm)
        outcome = self.checked(0, reward)
        learning = self.learning(row.features, [outcome], row.ticket)
        guard = self.guard
        guard.midway = True
        deque(learning, 0)
        del self.rows[id_]
        guard.midway = guard.durable
        return outcome

    def learning(self, features: Sequence[float], outcomes: list[float], ticket: float) -> Iterator[Any]:
        """The steps that learn outcomes of one row; all is prepared, so that nothing else happens between them."""
        _, rule, state = self.context([features], self.policy)
        _, take_in = self._verbs(self.policy, rule, state)
        arms = (self.rule.world.features, self.state)
        if self.seeing is None:
            self.seeing = bound(project, *arms)
        told = [(rule, state, 0, self.utilities(outcome), outcome, ticket) for outcome in outcomes]
        return chain(starmap(take_in, told), starmap(self.seeing, (arms,)))

    def cancel(self, id_: int, choice: Choice | int) -> None:
        if id_ not in self.rows:
            super().cancel(id_, choice)
            return
        require_own(choice, self.rows[id_].arm)
        self.guard.midway = True
        del self.rows[id_]
        self.guard.midway = self.guard.durable

    def is_out(self, id_: int) -> bool:
        return id_ in self.out or id_ in self.rows

    def choice(self, id_: int) -> Choice:
        row = self.rows.get(id_)
        if row is None:
            return super().choice(id_)
        choice = Choice(id_, row.arm)
        choice.propensity = self.likely(row.ticket)
        return choice

    def outstanding(self) -> list[Choice]:
        return [self.choice(id_) for id_ in sorted((*self.out, *self.rows))]

    def entries(self) -> list[list[Any]]:
        rows = [[id_, listed(row.arm), float(row.ticket), list(row.features)] for id_, row in self.rows.items()]
        return [*super().entries(), *rows]

    def put_out_row(self, id_: int, arm: Any, ticket: float, features: tuple[float, ...]) -> None:
        self.require_features(len(features))
        hash(name := unlisted(arm))
        self.rows[id_] = Row(name, ticket, features)

    def add_features(self, features: ArrayLike) -> FloatArray:
        """Go on with more features."""
        rows, old = checked_features(features), self.rule.world.features
        n, d = old.shape
        if rows.shape[0] != n or rows.shape[1] <= d or not np.array_equal(rows[:, :d], old):
            raise ValueError(
                f"new features come behind the {d} that {n} arms have, which stay; got shape {rows.shape}, or other "
                "numbers. Give every arm's row with the new numbers at its end."
            )
        policy = self.policy.with_features(rows)
        rule, fresh = started(policy, n)
        state, more = self.state, rows.shape[1] - d
        for name in ("gram", "inverse", "vector", "theta", "factor"):  # nothing is known of the new ones: A = lambda I
            extended(getattr(state, name), getattr(fresh, name))
        fresh.log_det[:] = state.log_det + more * np.log(policy.regularisation)
        same = ("memory", "asked", "active", "ticket", "told", "seen", "sizes", "rival")
        fresh = fresh._replace(**{name: getattr(state, name) for name in same})
        project(rows, fresh)
        zeros = (0.0,) * more
        longer = {id_: row._replace(features=(*row.features, *zeros)) for id_, row in self.rows.items()}
        self.adopt(policy, self.names, rule, fresh)
        self.guard.midway = True
        self.rows = longer
        self.guard.midway = self.guard.durable
        return rows


def listed(name: Any) -> Any:
    """A tuple, such as a route, as JSON has it."""
    return [listed(part) for part in name] if isinstance(name, tuple) else name


def unlisted(name: Any) -> Any:
    """The name that `listed` wrote."""
    return tuple(unlisted(part) for part in name) if isinstance(name, list) else name


# -- contexts -----------------------------------------------------------------------------------------


SMALLEST = Groups(np.zeros(1, dtype=np.int64), np.zeros(1), np.ones(1), np.arange(2))  # to compile with


class ContextView(DrawsView):
    """The arms for one person in one context, by what a forest has seen there."""

    def __init__(self, tables: SharedDraws, preference: Preference, forest: OutcomeForest, context: Flat) -> None:
        state, self._forest = tables.state, forest
        self._arms = np.flatnonzero(state.active & (state.memory.pulls > 0))
        self._row = forest.row(context)
        self._seen = forest.mixtures(self._row, self._arms)
        super().__init__(tables, preference)

    def groups(self) -> Groups:
        """The outcomes of the arms in this context."""
        return self._arranged(*self._seen)

    def _arranged(self, places: FloatArray, counts: FloatArray, sizes: IntArray) -> Groups:
        """Outcomes in ascending order as groups: the best first, behind the best that could happen."""
        inside = np.arange(places.shape[1]) < sizes[:, None]
        first = counts[np.arange(sizes.size), sizes][:, None]
        if not self._preference.costs:  # the best are the last
            places, counts, inside = places[:, ::-1], counts[:, ::-1], inside[:, ::-1]
        told = np.concatenate([first > 0.0, inside], axis=1)
        raw = np.concatenate([self._tables.tops[self._arms, None], places], axis=1)[told]
        masses = np.concatenate([first, counts], axis=1)[told]
        return Groups(self._arms, raw, masses, np.append(0, np.cumsum(sizes + 1)))

    def compile(self) -> None:
        """Compile all that a choice needs."""
        self._tables.tails(0.5, SMALLEST, 1)
        self._tables.own_values(0.5, np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1, dtype=np.int64))

    def prepare(self, u: float) -> None:
        if not self._arms.size:
            return
        own = self._preference == self._tables.policy.preference
        for k in range(self.rule.draws):
            at = (u + k * FURTHER) % 1.0
            seen = self._seen  # copied, since a view may be prepared again
            places, counts, sizes = seen[0].copy(), seen[1].copy(), seen[2].copy()
            self._forest.doubted(at, self._row, self._arms, places, counts, sizes)
            if own:
                felt = self._preference.utilities(places)
                felt[np.arange(sizes.size), sizes] = self._tables.of.band.tops[self._arms]
                values = self._tables.own_values(at, felt, counts, sizes)
            else:
                groups = self._arranged(places, counts, sizes)
                values = self._valued(groups, *self._tables.tails(at, groups, 1))[0]
            self.state.kept.values[k, self._arms] = values


class ContextualEngine(Engine):
    """An engine that learns what each arm brings in each context."""

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        seed = int(copy.deepcopy(self.rng).integers(2**62))  # the generator itself stays as it was given
        memory = self.policy.memory
        fade = memory.discount if isinstance(memory, Fading) else 1.0
        self.forest = OutcomeForest(len(self.names), seed, fade=fade)
        self.contexts: dict[int, Flat] = {}  # of choices that are out
        self.forest.compile()  # as all that choices need is compiled when a learner starts
        self.view_in({}, None).compile()

    def contents(self) -> dict[str, Any]:
        return {**super().contents(), "forest": copy.deepcopy(self.forest), "contexts": dict(self.contexts)}

    def more(self) -> dict[str, Any]:
        """What its document has that those of other engines lack."""
        out = sorted((id_, context) for id_, context in self.contexts.items() if id_ in self.out)
        return {"forest": self.forest.document(), "contexts": [list(one) for one in out]}

    def take_over(self, document: dict[str, Any]) -> None:
        """Take over what only documents of such an engine have."""
        self.forest = OutcomeForest.of(document["forest"], len(self.names))
        for id_, context in document["contexts"]:
            require(id_ in self.out, "a context belongs to no choice")
            self.contexts[whole(id_, "the number of a choice", 1)] = checked_context(context)

    def adopt(self, policy: Any, names: tuple[Hashable, ...], rule: Any, state: Any) -> None:
        """Go on with another rule and state, and with more arms in the forest if there are."""
        if len(names) > self.forest.n_arms:
            self.forest = self.forest.with_arms(len(names))
        super().adopt(policy, names, rule, state)

    # -- choosing ---------------------------------------------------------------------------------

    def view_in(self, context: Flat, preference: Preference | None) -> ContextView:
        """The arms as somebody sees them in a context."""
        whose = reading.someone(self.policy, preference)
        self.others.see(self, whose)  # brings the tables in line with the state
        tables = self.others.tables
        assert isinstance(tables, SharedDraws)
        return ContextView(tables, whose, self.forest, context)

    def ask_in(self, context: Flat, n: int, preference: Preference | None) -> list[Choice]:
        """Choose n arms in a context."""
        view, found = self.view_in(context, preference), []
        for _ in range(n):
            self.contexts[self.next] = context
            try:
                found.append(self.ask(view))
            except BaseException:
                self.contexts.pop(self.next, None)
                raise
        return found

    def ask_again(self, id_: int, name: Hashable, ticket: float, context: Flat) -> None:
        """Issue a choice in a context as it was issued before."""
        if id_ != self.next or name not in self.index:
            raise ValueError(f"events must repeat to the same choices; number {id_} is not next. Use a backup.")
        self.contexts[id_] = context
        changes.issue(self, self.index[name], ticket)

    def cancel(self, id_: int, choice: Choice | int) -> None:
        super().cancel(id_, choice)
        self.contexts.pop(id_, None)

    # -- learning ---------------------------------------------------------------------------------

    def learn(self, id_: int, arm: int, ticket: float, outcome: float) -> None:
        learning = self.forest.learning(self.contexts.get(id_, {}), arm, outcome)
        self.guard.midway = True
        deque(learning, 0)
        super().learn(id_, arm, ticket, outcome)
        self.contexts.pop(id_, None)

    def learn_all(self, arms: list[int], outcomes: list[float]) -> None:
        """Learn outcomes of arms that were not asked for, in no known context."""
        self.learn_in([{}] * len(arms), arms, outcomes)

    def learn_in(self, contexts: Sequence[Flat], arms: list[int], outcomes: list[float]) -> None:
        """Learn outcomes that were not asked for, in their contexts."""
        self.guard.midway = True
        for context, arm, outcome in zip(contexts, arms, outcomes, strict=True):
            self.forest.learn(context, arm, outcome)
        super().learn_all(arms, outcomes)
