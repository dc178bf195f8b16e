"""What every problem is, arms that give outcomes: lotteries (`Bandit`), or any function that simulates one outcome.

What each arm brings may depend on what is known before the choice, its context (`ContextualBandit`).
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, brief, finite_array, generator, number, same_length
from allais.lotteries import Empirical, Lottery
from allais.lotteries.base import came, in_place_of, require_lottery
from allais.preferences import Preference
from allais.problems.options import RESERVED, Option, as_options

Arms = int | Sequence[Hashable] | Sequence[Mapping[str, Any]] | Any  # the last is a data frame
MOST_ARMS = 1_000_000  # a number beyond it is a slip: a learner of so many arms takes gigabytes


class Problem(ABC):
    """Arms that can be sampled, each with a generator of its own."""

    @property
    @abstractmethod
    def arms(self) -> tuple[Hashable, ...]:
        """The names of the arms."""

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.arms)

    @abstractmethod
    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        """The next `size` outcomes of an arm.

        Args:
            arm: The arm's index.
            rng: The generator of this arm.
            size: How many outcomes.
        """

    def run(self, arm: int, seed: int) -> float:
        """Draw one outcome of an arm from a seed of its own, as a worker does for an expensive problem.

        Args:
            arm: The arm's index.
            seed: The seed of this run.
        """
        return float(self.draw(arm, generator(seed), 1)[0])

    def part(self, arms: Sequence[int]) -> Problem:
        """The problem of some arms only: what is sent to a worker. By default all of it.

        Args:
            arms: The indices of the arms, in the order of the new problem.
        """
        return self

    @property
    def batch(self) -> int:
        """The most outcomes that may be drawn ahead of need; 1 where each is expensive."""
        return 1 << 14

    def true_values(self, preference: Preference) -> FloatArray | None:
        """The exact value of each arm, or None where it is not known; results use it, policies never see it.

        Args:
            preference: What the arms are valued by.
        """
        return None


class OneByOne(Problem):
    """A problem of named arms whose outcomes are expensive: one per call, when it is needed."""

    def __init__(self, arms: Arms) -> None:
        self._arms = checked_names(as_options(arms))

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return self._arms

    @property
    def batch(self) -> int:
        return 1


def checked_names(arms: int | Sequence[Hashable]) -> tuple[Hashable, ...]:
    """The names of arms, from a count or a list: distinct, and at least one."""
    if isinstance(arms, int | np.integer) and not isinstance(arms, bool):
        if arms > MOST_ARMS:
            raise ValueError(f"arms must be {MOST_ARMS:,} at most; got {brief(int(arms))}. Give fewer.")
        arms = range(int(arms))
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise TypeError(f'arms must be a number or a list of names; got {arms!r}. Write arms=["A21", "A28"].')
    names = tuple(arms)
    if not names:
        raise ValueError("there must be at least one arm; got none. Name the options to choose from.")
    for name in names:
        try:
            hash(name)
        except TypeError:
            raise TypeError(
                f"an arm's name must not change, so it cannot be {name!r}. Use a string or a number."
            ) from None
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"arms must have distinct names; got {twice!r} twice. Rename one.")
    return names


def require_rivals(arms: Sequence[Hashable]) -> None:
    """Refuse a search that has nothing to find."""
    if len(arms) < 2:
        raise ValueError(
            f"a search for the best arm needs two arms or more; got {arms[0]!r} alone, which is the best without "
            "a run. Add what it is compared with."
        )


class LotteryArms(Problem):
    """A problem whose arms are lotteries, with a name for each."""

    def __init__(self, lotteries: Sequence[Lottery], arms: Sequence[Hashable] | None) -> None:
        self.lotteries = tuple(lotteries)
        self._arms = checked_names(len(self.lotteries) if arms is None else arms)
        same_length("a bandit needs one name for each arm", len(self._arms), len(self.lotteries), "arms")

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return self._arms

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        return self.lotteries[arm].sample(rng, size)

    def true_values(self, preference: Preference) -> FloatArray:
        return np.array([preference.value(lottery) for lottery in self.lotteries])


class Bandit(LotteryArms):
    """K arms, each of them a lottery.

    Args:
        lotteries: The distribution of each arm's outcomes.
        arms: Their names; by default 0, 1, 2, ...

    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> problem.true_values(Preference(TverskyKahneman(0.61))).round(4)
    array([9.3151, 7.    ])
    """

    def __init__(self, lotteries: Sequence[Lottery], arms: Sequence[Hashable] | None = None) -> None:
        advice = "Write Discrete({50: 0.1, 0: 0.9}), or Simulator(f, arms) for your own sampler."
        if not isinstance(lotteries, Iterable):
            wrapped = in_place_of(lotteries) or ("" if isinstance(lotteries, Lottery) else advice)
            advice = f"{wrapped} Give a list: Bandit([lottery, other]).".lstrip()
            raise TypeError(f"a bandit is made of several lotteries; got {came(lotteries)} alone. {advice}")
        lotteries = tuple(lotteries)
        for lottery in lotteries:
            require_lottery(lottery, "a bandit is made of lotteries", advice)
        super().__init__(lotteries, arms)

    def __repr__(self) -> str:
        return f"Bandit({list(self.lotteries)!r})"

    def part(self, arms: Sequence[int]) -> Problem:
        if type(self) is not Bandit:  # a subclass may know its arms by their places
            return self
        return Bandit([self.lotteries[arm] for arm in arms], [self._arms[arm] for arm in arms])


class Simulator(OneByOne):
    """Arms simulated by a function, one outcome per call, drawn only when needed.

    Args:
        f: The simulator: `f(arm, rng)` returns one outcome; `rng` is a NumPy generator. Where options are described by
            settings, it gets these by name: `f(s=20, S=60, rng=rng)`.
        arms: The names of the arms, or how many there are; or dictionaries of settings, a data frame, or what
            `problems.grid` and `problems.table` return.
        true_values: The value of each arm, as a utility, if known; without it there is no regret.

    >>> problem = Simulator(lambda arm, rng: rng.normal(arm, 1.0), arms=[0, 1])
    >>> problem.draw(1, np.random.default_rng(1), 2).round(3)
    array([1.346, 1.822])
    >>> Simulator(lambda mean, rng: rng.normal(mean, 1.0), [{"mean": 0}, {"mean": 1}]).arms
    ('mean=0', 'mean=1')
    """

    def __init__(
        self,
        f: Callable[..., float],
        arms: Arms,
        true_values: ArrayLike | None = None,
    ) -> None:
        if not callable(f):
            raise TypeError(f"a simulator is a function of an arm and a generator; got {f!r}. Write f(arm, rng).")
        self.f = f
        super().__init__(arms)
        _require_fitting(f, self._arms[0])
        self._values = None if true_values is None else finite_array("true_values", true_values)
        if self._values is not None:
            same_length("true_values must be one per arm", self._values.size, len(self._arms), "arms")

    def __repr__(self) -> str:
        return f"Simulator({getattr(self.f, '__qualname__', type(self.f).__name__)!r}, {list(self._arms)!r})"

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        name = self._arms[arm]
        if isinstance(name, Option):
            returned = (self.f(**name.settings, rng=rng) for _ in range(size))
        else:
            returned = (self.f(name, rng) for _ in range(size))
        drawn = np.array([number("what a simulator returns", one, "Return a float.") for one in returned])
        if not all(map(math.isfinite, drawn)):
            raise ValueError(
                f"a simulator must return finite numbers; got {drawn[~np.isfinite(drawn)][0]} for arm "
                f"{self._arms[arm]!r}. Repair it, or return the outcome that a failure counts as."
            )
        return drawn

    def part(self, arms: Sequence[int]) -> Problem:
        # a subclass may know its arms by their places
        return Simulator(self.f, [self._arms[arm] for arm in arms]) if type(self) is Simulator else self

    def true_values(self, preference: Preference) -> FloatArray | None:
        return None if self._values is None else self._values.copy()


def _require_fitting(f: Callable[..., float], arm: Hashable) -> None:
    """Refuse a function that cannot be called with the settings of options."""
    if not isinstance(arm, Option):
        return
    try:
        inspect.signature(f).bind(**arm.settings, rng=None)
    except TypeError as error:
        called = getattr(f, "__name__", "f")
        wanted = ", ".join((*arm.settings, RESERVED[0]))
        raise TypeError(
            f"a simulator gets the settings of an option by name; {called} cannot ({error}). "
            f"Write def {called}({wanted})."
        ) from None
    except ValueError:  # of a function that does not say what it takes
        return


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
            if self.n_rounds is not None:
                same_length(f"arm {name!r} must have one entry for each round", len(one), self.n_rounds, "rounds")  # type: ignore[arg-type]

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
        """Outcomes of an arm in contexts as they come, for somebody who does not see these.

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
