"""A bandit whose arms are lotteries: their values are exact, so regret is the true one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from allais._checks import FloatArray
from allais.lotteries import Lottery
from allais.lotteries.base import came, in_place_of, require_lottery
from allais.preferences import Preference
from allais.problems.base import Problem, checked_names


class LotteryArms(Problem):
    """A problem whose arms are lotteries, with a name for each."""

    def __init__(self, lotteries: Sequence[Lottery], arms: Sequence[Hashable] | None) -> None:
        self.lotteries = tuple(lotteries)
        self._arms = checked_names(len(self.lotteries) if arms is None else arms)
        if len(self._arms) != len(self.lotteries):
            raise ValueError(
                f"a bandit needs one name for each arm; got {len(self._arms)} names for "
                f"{len(self.lotteries)} arms. Give as many of each."
            )

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return self._arms

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        return self.lotteries[arm].sample(rng, size)


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

    def true_values(self, preference: Preference) -> FloatArray:
        return np.array([preference.value(lottery) for lottery in self.lotteries])
