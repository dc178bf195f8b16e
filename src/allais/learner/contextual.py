"""ContextualLearner: a policy with memory that chooses in contexts, by a forest of what arms brought in them.

Beside the forest there is the memory of any learner, of all outcomes whatever their context: counts, drift, guardrails
and choices without a context come from there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, brief, finite_array, nearest, whole
from allais._system.locks import one_at_a_time, one_change_at_a_time
from allais.files import finite
from allais.forests.encoding import Flat, checked_context
from allais.learner import changes, reading
from allais.learner._engine import Engine
from allais.learner._round_engines import ContextualEngine
from allais.learner.choices import Choice, Recommendation, number_of
from allais.learner.learner import Learner, Names, Whose
from allais.lotteries import Discrete
from allais.preferences import Preference
from allais.preferences.explain import Explanation
from allais.samples.cuts import Cut, cuts_of

Context = Mapping[str, Any] | None  # features by name
LATELY, ALIKE = 1_000, 12  # contexts that say which values a feature has, and over which values of arms are averaged
PLACES = 9  # of a feature, at which values of arms are looked at


class ContextualLearner(Learner):
    """A policy with memory that chooses in contexts: `ContextualNPTS(...).start(arms, seed)` makes one.

    Args:
        policy: The policy that it runs.
        arms: The names of the arms, or how many there are.
        seed: A seed, or a generator that the learner uses from now on.
        exact: Whether every outcome is kept, beside the forest, however many there are.

    >>> learner = ContextualNPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
    >>> for hour in range(200):
    ...     choice = learner.ask(context={"hour": hour % 24})
    ...     learner.tell(choice, float((choice.arm == "A28") == (hour % 24 >= 12)))
    >>> learner.recommend(context={"hour": 8}).arm, learner.recommend(context={"hour": 20}).arm
    ('A21', 'A28')
    """

    _engine_type: ClassVar[type[Engine]] = ContextualEngine
    _engine: ContextualEngine

    # -- asking and telling -----------------------------------------------------------------------

    @overload
    def ask(
        self, n: None = None, *, preference: Whose = None, allowed: Names = None, context: Context = None
    ) -> Choice: ...
    @overload
    def ask(
        self, n: int, *, preference: Whose = None, allowed: Names = None, context: Context = None
    ) -> list[Choice]: ...
    def ask(
        self, n: int | None = None, *, preference: Whose = None, allowed: Names = None, features: Any = None,
        among: Any = None, context: Context = None,
    ) -> Choice | list[Choice]:  # fmt: skip
        """The next arm to play in a context, or a batch of n to play side by side in it.

        Args:
            n: The size of a batch.
            preference: For whom the arm is chosen, as in `Learner.ask`.
            allowed: The arms that may be chosen this time, all of them in play; any arm if left out.
            features: For linear policies only.
            among: For linear policies only.
            context: What is known about this round: features by name, as JSON has them. Without one, the choice is by
                all outcomes, whatever their context.

        Returns:
            The choice, or a list of them. Tell what each brought, or cancel it.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.ask(context={"hour": 8, "weather": "rain"})
        Choice(id=1, arm='A21')
        """
        if features is not None or among is not None:
            reading.refuse_features(self.policy)
        if isinstance(n, Mapping):
            raise TypeError(f"a context is given by its name; got {brief(n)}. Write ask(context={{...}}).")
        if context is None:
            return Learner.ask(self, n, preference=preference, allowed=allowed)
        size = 1 if n is None else whole("a batch", n, "of one choice or more")
        batch = self._ask_in(checked_context(context), size, preference, allowed)
        return batch[0] if n is None else batch

    @one_change_at_a_time
    def _ask_in(self, context: Flat, n: int, preference: Whose, allowed: Names) -> list[Choice]:
        engine = self._engine
        batch = changes.among(engine, allowed, lambda: engine.ask_in(context, n, preference))
        self._write({"ask": batch, "context": context, "tickets": [float(engine.out[one.id][1]) for one in batch]})
        return batch

    def observe(
        self, arm: Hashable | list[Any], rewards: ArrayLike = (),
        contexts: Context | Sequence[Mapping[str, Any]] = None, *, at_least: ArrayLike = (), at_most: ArrayLike = (),
        between: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Feed in outcomes that were known before or seen elsewhere: all of them, or none if any is refused.

        Args:
            arm: The name of the arm; or a list of names, one for each outcome.
            rewards: The outcomes, in the user's units.
            contexts: The context of all of them, or a list with that of each; none if left out.
            at_least: Refused: a forest learns from finished outcomes only.
            at_most: Refused, too.
            between: Refused, too.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe(["A21", "A28"], [50.0, 7.0], [{"hour": 8}, {"hour": 9}])
        >>> learner.pulls
        {'A21': 1, 'A28': 1}
        """
        if cuts_of(at_least, at_most, between):
            self._refuse_cuts()
        if contexts is None:
            Learner.observe(self, arm, rewards)
            return
        alone = isinstance(contexts, Mapping | str)  # text is refused as a context, and not as its letters
        given = [contexts] * finite_array("rewards", rewards).size if alone else [*contexts]
        self._observe_in(arm, rewards, [checked_context(one) for one in given])

    @one_change_at_a_time
    def _observe_in(self, arm: Hashable | list[Any], rewards: ArrayLike, contexts: list[Flat]) -> None:
        many = finite_array("rewards", rewards).size
        if len(contexts) != many:
            raise ValueError(f"each reward has its context; got {len(contexts)} for {many}. Give all, or one alone.")
        engine = self._engine
        event = changes.observe(engine, arm, rewards, [], lambda arms, told: engine.learn_in(contexts, arms, told))
        self._write({**event, "contexts": contexts})

    def _refuse_cuts(self) -> NoReturn:
        raise ValueError(
            "a forest learns from finished outcomes only; got one that was cut off. Wait for it, or cancel the choice."
        )

    def _tell_cut(self, choice: Choice | int, cut: Cut, final: bool) -> None:
        self._refuse_cuts()

    def forget(self, arm: Hashable, reward: float) -> None:
        """Refused: a forest cannot take an outcome back.

        Args:
            arm: The name of the arm.
            reward: The outcome.
        """
        raise ValueError(
            f"a forest cannot take an outcome back; got {reward!r} of {arm!r}. Start anew from the right data with "
            "observe(), or let the past fade: memory=Fading(...)."
        )

    # -- reading ----------------------------------------------------------------------------------

    def _read(self, context: Context, preference: Whose) -> tuple[Flat, Preference, FloatArray]:
        """A checked context, whose preference counts, and what arms are worth there; NaN where nothing is known."""
        found, engine = checked_context(context), self._engine
        values = engine.view_in(found, preference).values()
        return found, reading.someone(engine.policy, preference), np.where(np.isfinite(values), values, np.nan)

    @one_at_a_time
    def value(self, preference: Whose = None, *, context: Context = None) -> dict[Hashable, float]:
        """What each arm is worth by what was seen; in a context, of the arms in play.

        Args:
            preference: Whose weights and utility count, as in `Learner.value`.
            context: Features by name; all outcomes count if left out.

        Returns:
            The value of each arm by its name; NaN where nothing is known about it.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0], {"hour": 8})
        >>> learner.value(context={"hour": 8})
        {'A21': 25.0, 'A28': nan}
        """
        if context is None:
            return Learner.value(self, preference)
        return self._by_name(self._read(context, preference)[2])

    @one_at_a_time
    def recommend(self, preference: Whose = None, *, context: Context = None) -> Recommendation:
        """The best arm so far, in a context or by all outcomes; in a context it has no interval and no promise.

        Args:
            preference: For whom the arm is the best, as in `Learner.recommend`.
            context: Features by name; all outcomes count if left out.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe(["A21", "A28"], [50.0, 7.0], {"hour": 8})
        >>> learner.recommend(context={"hour": 8}).arm
        'A21'
        """
        if context is None:
            return Learner.recommend(self, preference)
        return reading.best_guess(self.arms, self._by_name(self._read(context, preference)[2]), {})

    @one_at_a_time
    def chances(
        self, preference: Whose = None, draws: int = 200, *, allowed: Names = None, context: Context = None
    ) -> dict[Hashable, float]:
        """How likely each arm in play is to be the next choice in a context, as in `Learner.chances`.

        Args:
            preference: For whom the choice would be, as in `ask`.
            draws: How many choices are made.
            allowed: The arms that may be chosen, as in `ask`.
            context: Features by name; all outcomes count if left out.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe(["A21", "A28"] * 20, [9.0, 7.0] * 20, {"hour": 8})
        >>> learner.chances(context={"hour": 8})["A21"] > 0.5
        True
        """
        if context is None:
            return Learner.chances(self, preference, draws, allowed=allowed)
        engine, found = self._engine, checked_context(context)
        return changes.among(
            engine, allowed, lambda: reading.shares_of(engine, engine.view_in(found, preference), draws)
        )

    @one_at_a_time
    def distribution(self, arm: Hashable, context: Mapping[str, Any]) -> Discrete:
        """What an arm brings in a context: outcomes that were seen, and their probabilities.

        Args:
            arm: The name of the arm.
            context: Features by name.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0, 0.0, 0.0], {"hour": 8})
        >>> learner.distribution("A21", {"hour": 8})
        Discrete({50: 0.25, 0: 0.75})
        """
        outcomes, shares = self._engine.forest.weights(context, self._engine.arm_of(arm))
        if not outcomes.size:
            raise ValueError(f"an arm has a distribution once it was seen; {arm!r} was not. Tell an outcome first.")
        distinct, place = np.unique(outcomes, return_inverse=True)
        return Discrete(dict(zip(distinct.tolist(), np.bincount(place, shares).tolist(), strict=True)))

    def explain(self, arm: Hashable, context: Mapping[str, Any], preference: Whose = None) -> Explanation:
        """Why an arm is worth what it is in a context: what each of its outcomes there adds.

        Args:
            arm: The name of the arm.
            context: Features by name.
            preference: Whose value it is, as in `value`.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0, 0.0, 0.0], {"hour": 8})
        >>> learner.explain("A21", {"hour": 8}).value
        12.5
        """
        return reading.someone(self.policy, preference).explain(self.distribution(arm, context))

    @one_at_a_time
    def why(self, arm: Hashable, preference: Whose = None, unit: str = "", *, context: Context = None) -> str:
        """A sentence about an arm that was just chosen: its value in the context, and which features that rests on.

        Args:
            arm: The name of the arm.
            preference: For whom it was chosen, as in `ask`.
            unit: The unit of outcomes, such as "minutes".
            context: The context in which it was chosen.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 8.0], {"hour": 8})
        >>> learner.why("A28", unit="minutes", context={"hour": 8})
        'A28 is worth most so far in this context: its mean is 7.5 minutes, by 2 outcomes of any context'
        """
        if context is None:
            return Learner.why(self, arm, preference, unit)
        place = self._engine.arm_of(arm)
        found, whose, values = self._read(context, preference)
        if math.isnan(values[place]):
            return f"{arm} was never seen"
        best = bool(values[place] >= np.nanmax(values))
        worth = reading.worth_in_words(arm, best, whose, values[place], unit, " in this context")
        samples, features = self._engine.forest.basis(found, place)
        by = f"by {samples:,.0f} outcome{'s' if samples >= 1.5 else ''}"
        like = f"of contexts with such {' and '.join(features[:3])}" if features else "of any context"
        encoding = self._engine.forest.encoding
        both = encoding.of_both_kinds(found)
        also = f"; a number in some contexts and text in others: {', '.join(both[:3])}" if both else ""
        if left_out := encoding.unused(found):
            also += f"; not used, since there are too many features: {', '.join(left_out[:3])}"
        return f"{worth}, {by} {like}{also}"

    @property
    @one_at_a_time
    def features(self) -> dict[str, int]:
        """How many splits of the forest ask about each feature, those that matter to most outcomes first.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [1.0] * 50 + [9.0] * 50, [{"hour": 8, "day": k % 7} for k in range(50)]
        ...                 + [{"hour": 20, "day": k % 7} for k in range(50)])
        >>> list(learner.features)
        ['hour']
        """
        return self._engine.forest.splits()

    @one_at_a_time
    def across(self, feature: str | None = None, preference: Whose = None) -> list[dict[str, Any]]:
        """How the arms' values change with one feature, the others as they were lately: a row for each of its values.

        Args:
            feature: Its name; by default the one that matters to most outcomes.
            preference: Whose value it is, as in `value`.

        Returns:
            Rows with the feature's `value`, the best `arm` there, and the `values` of all arms by name; none where no
            feature matters yet. A number is looked at in nine places, each as likely as the next.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> hours = [{"hour": k % 24} for k in range(240)]
        >>> learner.observe("A21", [5.0] * 240, hours)
        >>> learner.observe("A28", [1.0 if hour["hour"] < 12 else 9.0 for hour in hours], hours)
        >>> [row["arm"] for row in learner.across()]
        ['A21', 'A21', 'A21', 'A21', 'A21', 'A28', 'A28', 'A28', 'A28']
        """
        forest = self._engine.forest
        name = next(iter(forest.splits()), "") if feature is None else feature
        lately = forest.recent(LATELY)
        seen = [one[name] for one in lately if name in one]
        if feature is not None and not seen:
            names = {key for one in lately for key in one}
            raise ValueError(f"a feature must be in the contexts so far; got {feature!r}.{nearest(feature, names)}")
        texts = list(dict.fromkeys(one for one in seen if isinstance(one, str | bool)))[:PLACES]
        numbers = [one for one in seen if not isinstance(one, str | bool)]
        levels = (np.arange(PLACES) + 0.5) / PLACES
        places = np.unique(np.quantile(numbers, levels, method="inverted_cdf")).tolist() if numbers else []
        rows = []
        for place in [*places, *sorted(texts, key=lambda one: one is True)]:  # false comes before true
            each = [self._read({**one, name: place}, preference)[2] for one in lately[:ALIKE]]
            values = self._by_name(np.mean(each, axis=0))
            known = {arm: values[arm] for arm in self.arms if not math.isnan(values[arm])}
            rows.append({"value": place, "arm": max(known, key=lambda arm: known[arm], default=None), "values": values})
        return rows

    def unused(self, context: Mapping[str, Any]) -> list[str]:
        """The features of a context that nothing is learned from, since there were 256 others before.

        Args:
            context: Features by name.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.unused({"hour": 8})
        []
        """
        return self._engine.forest.encoding.unused(checked_context(context))

    def context_of(self, choice: Choice | int) -> dict[str, Any] | None:
        """The context of a choice that is outstanding, as it is learned from; None where it had none.

        Args:
            choice: What `ask` returned, or its id.

        >>> learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.context_of(learner.ask(context={"hour": 8}))
        {'hour': 8.0}
        """
        id_, engine = number_of(choice), self._engine
        if id_ not in engine.out:
            raise ValueError(engine.why_unknown(id_))
        return engine.contexts.get(id_)

    def _lines_worth_a_snapshot(self) -> int:
        return super()._lines_worth_a_snapshot() + self._engine.forest.size // 8  # a line of a log takes as long

    # -- events -----------------------------------------------------------------------------------

    def _apply(self, event: dict[str, Any], trust: Sequence[str]) -> None:
        match event:
            case {"ask": choices, "context": context, "tickets": tickets}:
                self._ask_again([*choices], checked_context(context), [finite(one, "a ticket") for one in tickets])
            case {"observe": arm, "rewards": rewards, "contexts": contexts}:
                self.observe(arm, rewards, contexts)
            case _:
                super()._apply(event, trust)

    @one_change_at_a_time
    def _ask_again(self, choices: list[Any], context: Flat, tickets: list[float]) -> None:
        for (id_, arm), ticket in zip(choices, tickets, strict=True):
            self._engine.ask_again(id_, arm, ticket, context)
        self._write({"ask": choices, "context": context, "tickets": tickets})
