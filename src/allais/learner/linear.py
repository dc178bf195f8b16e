"""LinearLearner: a linear policy with memory. It knows theta, and takes arms that belong to one round only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, starmap
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array
from allais._kernels import bound
from allais._random import Seed
from allais._system.locks import one_at_a_time, one_change_at_a_time
from allais.files.reading import finite_list
from allais.learner.choices import Choice, Context, Ellipsoid, listed, unlisted
from allais.learner.learner import Learner
from allais.learner.views import MOST, LinearPreferenceView, PreferenceView, verbs_for
from allais.linear.arm_sets import ArmSet, Judge, checked_features
from allais.linear.ellipsoid import radius
from allais.linear.policy import LinearPolicy
from allais.linear.regression import project
from allais.policies.core.state import extended, started
from allais.policies.core.verbs import recommend
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
        told = [(rule, state, 0, self._utilities(outcome), outcome, ticket) for outcome in outcomes]
        return chain(starmap(take_in, told), starmap(self._seeing, (arms,)))

    def _require_features(self, count: int) -> None:
        if count != self._state.theta.size:
            raise ValueError(
                f"features must have {self._state.theta.size} numbers per arm, as before; got {count}. "
                "Give the same features in every round."
            )


LARGEST_SUMMED = 1e100  # of rewards that are added up: sums and their products stay finite


class LinearLearner(Rows):
    """A linear policy with memory: `policy.start(arms, seed, features)` makes one.

    >>> policy = WOFUL(Preference(TverskyKahneman(0.61)), ParameterNoise(), delta=0.05, beta=1.0)
    >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
    >>> learner.tell(learner.ask(), 0.5)
    >>> choice = learner.ask(features=[[0.2, 0.9], [0.7, 0.1], [0.5, 0.5]])
    >>> learner.tell(choice, 0.4)
    >>> learner.theta.round(2)
    array([0.03, 0.31])
    """

    _contexts: dict[int, Context]  # choices that are out, beside those of listed arms
    _largest = LARGEST_SUMMED

    def __init__(
        self, policy: LinearPolicy, arms: int | Sequence[Hashable], seed: Seed, *, exact: bool = False
    ) -> None:
        if not isinstance(policy, LinearPolicy):
            raise TypeError(f"a linear learner runs a linear policy; got {policy!r}. Write LinTS(...).start(...).")
        self._contexts = {}
        super().__init__(policy, arms, seed, exact=exact)

    # -- what it knows ----------------------------------------------------------------------------

    @property
    @one_at_a_time
    def theta(self) -> FloatArray:
        """The estimate of theta, by ridge regression.

        >>> policy = LinTS(expected_value(), ParameterNoise())
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.observe("A28", [3.0, 3.0, 3.0])
        >>> learner.theta
        array([0.  , 2.25])
        """
        return np.array(self._state.theta)

    @property
    @one_at_a_time
    def ellipsoid(self) -> Ellipsoid:
        """Where theta is, in all rounds at once, but for a probability of the policy's delta.

        Its radius is infinite where the policy has no `beta`, the bound on the length of theta.

        >>> policy = WOFUL(expected_value(), ParameterNoise(), delta=0.05, beta=1.0)
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.observe("A28", [0.5, 0.5, 0.5])
        >>> centre, matrix, radius = learner.ellipsoid
        >>> centre.tolist(), matrix.tolist(), round(radius, 3)
        ([0.0, 0.375], [[1.0, 0.0], [0.0, 4.0]], 3.716)
        """
        reach = float(radius(self._rule.world, self._state))
        return Ellipsoid(np.array(self._state.theta), np.array(self._state.gram), reach)

    @property
    @one_at_a_time
    def outstanding(self) -> tuple[Choice, ...]:
        """The choices that were asked and neither told nor cancelled."""
        rows = {id_: context.arm for id_, context in self._contexts.items()}
        return tuple(Choice(*one) for one in sorted([*super().outstanding, *rows.items()], key=lambda one: one[0]))

    @one_at_a_time
    def features_of(self, choice: Choice | int) -> FloatArray:
        """The features of a choice that is out.

        >>> policy = LinTS(expected_value(), ParameterNoise())
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.features_of(learner.ask(features=[[0.5, 0.5]]))
        array([0.5, 0.5])
        """
        id_ = self._id(choice)
        if id_ in self._contexts:
            return np.array(self._contexts[id_].features)
        if id_ not in self._out:
            raise ValueError(self._why_unknown(id_))
        return np.array(self._rule.world.features[self._out[id_][0]])

    def outcomes(self, arm: Hashable) -> tuple[np.ndarray, np.ndarray]:
        """Refused: theta is learned, and outcomes of arms are not kept."""
        raise ValueError(f"{type(self.policy).__name__} learns theta and keeps no outcomes of arms. See value().")

    def _values(self, preference: Preference) -> dict[Hashable, float]:
        recommend(self.policy.but(preference=preference).rule(len(self._names)), self._state)
        return dict(zip(self._names, self._state.memory.value.tolist(), strict=True))

    def _samples(self) -> int:
        return int(self._state.told[0])  # also of arms that are not listed

    # -- arms of one round ------------------------------------------------------------------------

    @overload
    def ask(
        self,
        n: None = None,
        *,
        features: ArrayLike | None = None,
        among: ArmSet | None = None,
        preference: Preference | None = None,
    ) -> Choice: ...
    @overload
    def ask(self, n: int, *, preference: Preference | None = None) -> list[Choice]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        features: ArrayLike | None = None,
        among: ArmSet | None = None,
        preference: Preference | None = None,
    ) -> Choice | list[Choice]:
        """The next arm to play, or a batch of n to play side by side.

        With `features`, the arms of this round are its rows, and the choice's arm is a row's number. `among` is a
        set of arms with an oracle, such as `Routes`, and the choice's arm is the one that it found. With a
        `preference`, `LinTS` chooses for somebody else.
        """
        if features is None and among is None:
            return Learner.ask(self, n, preference=preference)  # a call less than by `super()`
        if n is not None or (features is not None and among is not None):
            raise ValueError(
                "a round with arms of its own is asked alone, among rows or a set; got more. Leave the rest out."
            )
        return self._ask_among(features, among, preference)

    @one_change_at_a_time
    def _ask_among(self, features: ArrayLike | None, among: ArmSet | None, preference: Preference | None) -> Choice:
        view = None if preference is None else self._view_for(preference)
        policy: Any = self.policy if view is None else view.policy
        arm, row = self._best_row(policy, features) if among is None else self._best_of_set(policy, among)
        return self._issue(arm, row)

    def _new_view(self, preference: Preference) -> PreferenceView:
        return LinearPreferenceView(self.policy, preference, len(self._names))

    def _best_row(self, policy: LinearPolicy, features: Any) -> tuple[int, tuple[float, ...]]:
        """The choice among arms that belong to this round only."""
        if not policy.open_to_contexts:
            raise ValueError(
                f"{type(policy).__name__} takes no features in a round. Use WOFUL, which learns what arms share."
            )
        rows, rule, state = self._context(features, policy)
        self._make_draw()
        choosing, _ = self._verbs(policy, rule, state)
        arm = int(choosing(rule, state, self._draw))
        return arm, tuple(rows[arm].tolist())

    def _best_of_set(self, policy: LinearPolicy, among: ArmSet) -> tuple[Hashable, tuple[float, ...]]:
        """The best arm of a set, for the theta that the policy draws."""
        if not isinstance(among, ArmSet):
            raise TypeError(f"a set of arms has a dimension and a best arm; got {among!r}. Write Routes(...).")
        if among.dimension != self._state.theta.size:
            raise ValueError(
                f"arms must have {self._state.theta.size} features, as before; this set has {among.dimension}. "
                "Use one set for one learner."
            )
        judge = Judge(policy.preference, policy.noise)
        self._make_draw()
        assert self._draw is not None
        arm = among.best(policy.drawn_theta(self._rule, self._state, self._draw), judge)
        return arm.name, tuple(arm.features.tolist())

    def _issue(self, arm: Any, features: tuple[float, ...]) -> Choice:
        """Issue a choice of an arm that is not listed; its draw is used up."""
        self._make_draw()
        id_ = self._next
        context = Context(arm, self._state.ticket[0], features)
        self._midway = True
        self._contexts[id_] = context
        self._next = id_ + 1
        self._draw = None
        self._midway = self._durable
        if self._durable:  # the arm is written down, not the set: doing it again needs no oracle
            self._write({"chose": id_, "arm": listed(arm), "features": list(features)})
        return Choice(id_, arm)

    def _tell_other(self, id_: int, choice: Choice | int, reward: float) -> None:
        context = self._contexts.get(id_)
        if context is None:
            raise ValueError(self._why_unknown(id_))
        self._require_own(choice, context.arm)
        outcome = self._checked(0, reward)
        learning = self._learning(context.features, [outcome], context.ticket)
        self._midway = True
        deque(learning, 0)
        del self._contexts[id_]
        self._midway = self._durable
        if self._durable:
            self._write({"tell": id_, "reward": outcome})

    @one_change_at_a_time
    def observe_features(self, features: ArrayLike, rewards: ArrayLike) -> None:
        """Feed in outcomes that were seen elsewhere of an arm with these features, listed or not: all, or none.

        >>> policy = LinTS(expected_value(), ParameterNoise())
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.observe_features([1.0, 1.0], [3.0, 3.0])
        >>> learner.theta  # longer rows are noisier, and count less
        array([1., 1.])
        """
        told = [self._checked(0, reward) for reward in finite_array("rewards", rewards).tolist()]
        row: list[float] = checked_features([features])[0].tolist()  # type: ignore[arg-type]
        learning = self._learning(row, told, 0.0)
        self._midway = True
        deque(learning, 0)
        self._midway = self._durable
        if self._durable:
            self._write({"features": row, "rewards": told})

    @one_change_at_a_time
    def add_features(self, features: ArrayLike) -> None:
        """Go on with more features: the rows of the listed arms with the old numbers first, then the new ones.

        What was learned stays. Of the new ones nothing is known yet: all that came before had 0 there.

        >>> policy = LinTS(expected_value(), ParameterNoise())
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.observe("A28", [3.0, 3.0, 3.0])
        >>> learner.add_features([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
        >>> learner.theta
        array([0.  , 2.25, 0.  ])
        """
        rows, old = checked_features(features), self._rule.world.features
        n, d = old.shape
        if rows.shape[0] != n or rows.shape[1] <= d or not np.array_equal(rows[:, :d], old):
            raise ValueError(
                f"new features come behind the {d} that {n} arms have, which stay; got shape {rows.shape}, or other "
                "numbers. Give every arm's row with the new numbers at its end."
            )
        policy = self.policy.with_features(rows)
        rule, fresh = started(policy, n)
        state, more = self._state, rows.shape[1] - d
        for name in (
            "gram",
            "inverse",
            "vector",
            "theta",
            "factor",
        ):  # nothing is known about the new ones: A = lambda I
            extended(getattr(state, name), getattr(fresh, name))
        fresh.log_det[:] = state.log_det + more * np.log(policy.regularisation)
        same = ("memory", "asked", "active", "ticket", "told", "seen", "sizes", "rival")
        fresh = fresh._replace(**{name: getattr(state, name) for name in same})
        project(rows, fresh)
        zeros = (0.0,) * more
        contexts = {id_: one._replace(features=(*one.features, *zeros)) for id_, one in self._contexts.items()}
        self._adopt(policy, self._names, rule, fresh)
        self._midway = True
        self._contexts = contexts
        self._midway = self._durable
        if self._durable:
            self._write({"more features": rows.tolist()})

    def _cancel_other(self, id_: int, choice: Choice | int) -> None:
        if id_ not in self._contexts:
            raise ValueError(self._why_unknown(id_))
        self._require_own(choice, self._contexts[id_].arm)
        self._midway = True
        del self._contexts[id_]
        self._midway = self._durable

    # -- events and copies ------------------------------------------------------------------------

    def _apply(self, event: dict[str, Any], trust: Sequence[str]) -> None:
        match event:
            case {"chose": id_, "arm": arm, "features": features}:
                self._choose_again(id_, arm, features)
            case {"more features": features}:
                self.add_features(features)
            case {"features": features, "rewards": rewards}:
                self.observe_features(features, rewards)
            case _:
                super()._apply(event, trust)

    @one_change_at_a_time
    def _choose_again(self, id_: int, arm: Any, features: Any) -> None:
        """Make a choice of an arm that is not listed as it was made."""
        row = tuple(finite_list(features, "features").tolist())
        self._require_features(len(row))
        if id_ != self._next:
            raise ValueError(f"events must repeat to the same choices; number {id_} is not next. Use a backup.")
        hash(name := unlisted(arm))  # refuses what is no name
        self._issue(name, row)

    def _contents(self) -> dict[str, Any]:
        return {**super()._contents(), "_contexts": dict(self._contexts)}
