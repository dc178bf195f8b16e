"""LinearLearner: a linear policy with memory. It knows theta, and takes arms that belong to one round only."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, Seed, finite_array
from allais._system.locks import one_at_a_time, one_change_at_a_time
from allais.files import finite_list
from allais.learner._engine import Engine
from allais.learner._round_engines import LinearEngine, listed, unlisted
from allais.learner.choices import Choice, Ellipsoid, number_of
from allais.learner.learner import Learner, Names, Whose
from allais.learner.reading import refuse_features
from allais.linear.arm_sets import ArmSet, checked_features
from allais.linear.policy import LinearPolicy
from allais.linear.regression import radius
from allais.policies.core.verbs import recommend
from allais.preferences import Preference


class LinearLearner(Learner):
    """A linear policy with memory: `policy.start(arms, seed, features)` makes one.

    Args:
        policy: The policy, with the features of the arms.
        arms: The names of the arms, or how many there are.
        seed: A seed, or a generator that the learner uses from now on.
        exact: Of no effect: theta is learned, and no outcome is kept.

    >>> policy = WOFUL(Preference(TverskyKahneman(0.61)), ParameterNoise(), delta=0.05, beta=1.0)
    >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
    >>> learner.tell(learner.ask(), 0.5)
    >>> choice = learner.ask(features=[[0.2, 0.9], [0.7, 0.1], [0.5, 0.5]])
    >>> learner.tell(choice, 0.4)
    >>> learner.theta.round(2)
    array([0.03, 0.31])
    """

    _engine_type: ClassVar[type[Engine]] = LinearEngine
    _engine: LinearEngine

    def __init__(
        self, policy: LinearPolicy, arms: int | Sequence[Hashable], seed: Seed, *, exact: bool = False
    ) -> None:
        if not isinstance(policy, LinearPolicy):
            raise TypeError(f"a linear learner runs a linear policy; got {policy!r}. Write LinTS(...).start(...).")
        super().__init__(policy, arms, seed, exact=exact)

    # -- what it knows ----------------------------------------------------------------------------

    @property
    def policy(self) -> LinearPolicy:
        """The policy that it runs, with the settings of now."""
        return self._engine.policy

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
        return np.array(self.state.theta)

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
        reach = float(radius(self.rule.world, self.state))
        return Ellipsoid(np.array(self.state.theta), np.array(self.state.gram), reach)

    @one_at_a_time
    def features_of(self, choice: Choice | int) -> FloatArray:
        """The features of a choice that is outstanding.

        Args:
            choice: What `ask` returned, or its id.

        >>> policy = LinTS(expected_value(), ParameterNoise())
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.features_of(learner.ask(features=[[0.5, 0.5]]))
        array([0.5, 0.5])
        """
        id_, engine = number_of(choice), self._engine
        if id_ in engine.rows:
            return np.array(engine.rows[id_].features)
        if id_ not in engine.out:
            raise ValueError(engine.why_unknown(id_))
        return np.array(engine.rule.world.features[engine.out[id_][0]])

    @one_at_a_time
    def values_of(self, features: ArrayLike) -> FloatArray:
        """What arms with these features are worth, by what is known.

        Args:
            features: A row of numbers for each arm, which need not be listed.
        """
        _, rule, state = self._engine.context(features, self.policy)
        recommend(rule, state)
        return np.array(state.memory.value)

    def outcomes(self, arm: Hashable) -> tuple[np.ndarray, np.ndarray]:
        """Refused: theta is learned, and outcomes of arms are not kept.

        Args:
            arm: The name of the arm.
        """
        raise ValueError(f"{type(self.policy).__name__} learns theta and keeps no outcomes of arms. See value().")

    def _values(self, preference: Preference) -> Any:
        recommend(self.policy.but(preference=preference).rule(self.n_arms), self.state)
        return self.state.memory.value

    def _samples(self) -> int:
        return int(self.state.told[0])  # also of arms that are not listed

    # -- arms of one round ------------------------------------------------------------------------

    @overload
    def ask(
        self, n: None = None, *, preference: Whose = None, allowed: Names = None, features: ArrayLike | None = None,
        among: ArmSet | None = None,
    ) -> Choice: ...  # fmt: skip
    @overload
    def ask(self, n: int, *, preference: Whose = None, allowed: Names = None) -> list[Choice]: ...
    def ask(
        self, n: int | None = None, *, preference: Whose = None, allowed: Names = None,
        features: ArrayLike | None = None, among: ArmSet | None = None, context: Any = None,
    ) -> Choice | list[Choice]:  # fmt: skip
        """The next arm to play, or a batch of n to play side by side.

        Args:
            n: The size of a batch.
            preference: For whom the arm is chosen; `LinTS` chooses for anybody.
            allowed: The listed arms that may be chosen this time.
            features: The arms of this round, a row of numbers for each; the choice's arm is then a row's number.
            among: A set of arms with an oracle, such as `Routes`; the choice's arm is then the one that it found.
            context: For `ContextualNPTS` only.
        """
        if context is not None:
            refuse_features(self.policy, context)
        if features is None and among is None:
            return Learner.ask(self, n, preference=preference, allowed=allowed)  # a call less than by `super()`
        if n is not None or allowed is not None or (features is not None and among is not None):
            raise ValueError(
                "a round with arms of its own is asked alone, among rows or a set; got more. Leave the rest out."
            )
        return self._ask_among(features, among, preference)

    @one_change_at_a_time
    def _ask_among(self, features: ArrayLike | None, among: ArmSet | None, preference: Whose) -> Choice:
        engine = self._engine
        view = engine.view_for(preference)
        policy: Any = engine.policy if view is None else view.policy
        arm, row = engine.best_row(policy, features) if among is None else engine.best_of_set(policy, among)
        return self._issue(arm, row)

    def _issue(self, arm: Any, features: tuple[float, ...]) -> Choice:
        choice = self._engine.issue(arm, features)
        # the arm is written down, not the set: doing it again needs no oracle
        self._write({"chose": choice.id, "arm": listed(arm), "features": list(features)})
        return choice

    @one_change_at_a_time
    def observe_features(self, features: ArrayLike, rewards: ArrayLike) -> None:
        """Feed in outcomes that were seen elsewhere of an arm with these features, listed or not: all, or none.

        Args:
            features: The arm's row of numbers.
            rewards: Its outcomes, in the user's units.

        >>> policy = LinTS(expected_value(), ParameterNoise())
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.observe_features([1.0, 1.0], [3.0, 3.0])
        >>> learner.theta  # longer rows are noisier, and count less
        array([1., 1.])
        """
        engine = self._engine
        told = [engine.checked(0, reward) for reward in finite_array("rewards", rewards).tolist()]
        row: list[float] = checked_features([features])[0].tolist()  # type: ignore[arg-type]
        learning = engine.learning(row, told, 0.0)
        engine.guard.midway = True
        deque(learning, 0)
        engine.guard.midway = engine.guard.durable
        self._write({"features": row, "rewards": told})

    @one_change_at_a_time
    def add_features(self, features: ArrayLike) -> None:
        """Go on with more features. What was learned stays, and nothing is known yet of the new ones.

        Args:
            features: The rows of the listed arms: the old numbers first, then the new ones. All that came before had 0
                there.

        >>> policy = LinTS(expected_value(), ParameterNoise())
        >>> learner = policy.start(["A21", "A28"], seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> learner.observe("A28", [3.0, 3.0, 3.0])
        >>> learner.add_features([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
        >>> learner.theta
        array([0.  , 2.25, 0.  ])
        """
        rows = self._engine.add_features(features)
        self._write({"more features": rows.tolist()})

    # -- events -----------------------------------------------------------------------------------

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
        self._engine.require_features(len(row))
        if id_ != self._engine.next:
            raise ValueError(f"events must repeat to the same choices; number {id_} is not next. Use a backup.")
        hash(name := unlisted(arm))  # refuses what is no name
        self._issue(name, row)
