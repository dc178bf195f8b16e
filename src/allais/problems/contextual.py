"""Problems with contexts: what each arm brings depends on what is known before the choice."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, brief
from allais.lotteries import Empirical, Lottery
from allais.lotteries.base import require_lottery
from allais.preferences import Preference
from allais.problems.base import Problem, checked_names

Context = Mapping[str, Any]


class Round(NamedTuple):
    """One round: what is known, and what each arm that can be chosen would bring.

    Attributes:
        context: Features by name.
        lotteries: The distribution of each arm in this round, by its name; arms that are missing cannot be chosen.
    """

    context: Context
    lotteries: dict[Hashable, Lottery]


class ContextualBandit(Problem):
    """Arms whose distributions depend on a context: by functions, or by a table of what really happened.

    Args:
        contexts: Draws the context of a round from a generator; or a list with the contexts of all rounds, in order.
        arms: What each arm brings, by its name: a function of a context that returns a lottery; or a list with one
            entry for each round, which is a lottery, a list of outcomes of which one is drawn, or None where the arm
            cannot be chosen. So a table says what would have happened: an outcome that was not chosen is one that the
            arm really had in that round.
        features: The row of numbers of an arm in a context, `features(context, arm)`, for linear policies.

    >>> def shaky(context): return Uniform(0, 10) if context["rain"] else Uniform(5, 7)
    >>> problem = ContextualBandit(lambda rng: {"rain": bool(rng.random() < 0.3)},
    ...                            {"bike": shaky, "bus": lambda context: Uniform(4, 6)})
    >>> policy = ContextualNPTS(cvar(0.1), Bounded(0, 10))
    >>> results = simulate(policy, problem, n_rounds=300, n_runs=2, seed=1)
    >>> results.samples
    array([300, 300])
    """

    def __init__(
        self,
        contexts: Callable[[np.random.Generator], Context] | Sequence[Context],
        arms: Mapping[Hashable, Callable[[Any], Lottery] | Sequence[Any]],
        features: Callable[[Any, Any], ArrayLike] | None = None,
    ) -> None:
        if not isinstance(arms, Mapping):
            raise TypeError(f"arms are named, {{'bus': f, 'bike': g}}; got {brief(arms)}. Give each a name.")
        self._arms = checked_names(list(arms))
        self._contexts, self._outcomes, self.features = contexts, dict(arms), features
        self.n_rounds = None if callable(contexts) else len(contexts)  # of a table
        for name, one in arms.items():
            if callable(one) != callable(contexts):
                raise TypeError(
                    "contexts and arms are functions, or lists with an entry for each round; "
                    f"got both, at arm {name!r}. Give all of one kind."
                )
            if not callable(one) and len(one) != self.n_rounds:
                raise ValueError(f"an arm has one entry for each round; {name!r} has {len(one)} for {self.n_rounds}.")

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """The names of the arms."""
        return self._arms

    def rounds(self, many: int, rng: np.random.Generator) -> Iterator[Round]:
        """Some rounds, one after the other.

        Args:
            many: How many.
            rng: The generator that contexts are drawn from.
        """
        if self.n_rounds is not None and many > self.n_rounds:
            raise ValueError(f"a table has as many rounds as rows; got {many} for {self.n_rounds}. Ask for fewer.")
        for t in range(many):
            if callable(self._contexts):
                context = self._contexts(rng)
                found = {name: f(context) for name, f in self._outcomes.items()}  # type: ignore[operator]
            else:
                context = self._contexts[t]
                found = {name: _lottery(each[t]) for name, each in self._outcomes.items() if each[t] is not None}  # type: ignore[index]
            for name, one in found.items():
                require_lottery(one, f"arm {name!r} brings a lottery", "Return one, such as Uniform(0, 1).")
            if not found:
                raise ValueError(f"an arm can be chosen in every round; round {t} has none. Leave it out.")
            yield Round(context, found)

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        """Outcomes of an arm in contexts as they come, for a reader who does not see them.

        Args:
            arm: The arm's index.
            rng: A generator.
            size: How many outcomes.
        """
        if self.n_rounds is not None:
            raise ValueError("a table is played in the order of its rounds. Use simulate or compare.")
        name = self._arms[arm]
        found = [one.lotteries[name].sample(rng, 1)[0] for one in self.rounds(size, rng)]
        return np.array(found)

    def values(self, one: Round, preference: Preference) -> FloatArray:
        """What each arm is worth in a round; -inf where it cannot be chosen.

        Args:
            one: The round.
            preference: Whose value it is.
        """
        return np.array(
            [preference.value(one.lotteries[name]) if name in one.lotteries else -np.inf for name in self._arms]
        )


def _lottery(given: Any) -> Lottery:
    return given if isinstance(given, Lottery) else Empirical(given)
