"""What every lottery is: a reward distribution whose value can be computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, Seed, brief, generator, whole

if TYPE_CHECKING:
    from allais.lotteries.finite import Discrete


class Lottery(ABC):
    """A distribution of outcomes: it can be sampled, summarised, and valued by a `Preference`."""

    @abstractmethod
    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray: ...

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The smallest and the largest outcome; infinite where there is none."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expected outcome; infinite or NaN where it does not exist."""

    @abstractmethod
    def log_survival(self, x: FloatArray) -> FloatArray:
        """log P(X > x), accurate far into the tail.

        Args:
            x: Outcomes.
        """

    @abstractmethod
    def log_cdf(self, x: FloatArray) -> FloatArray:
        """log P(X <= x), accurate far into the tail.

        Args:
            x: Outcomes.
        """

    @abstractmethod
    def quantile(self, p: FloatArray) -> FloatArray:
        """The smallest x with P(X <= x) >= p.

        Args:
            p: Probabilities in [0, 1].
        """

    @abstractmethod
    def landmarks(self) -> FloatArray:
        """Finite points between which the distribution is smooth, ascending; quadrature breaks there."""

    def as_finite(self) -> Discrete | None:
        """The same distribution as finitely many outcomes, or None where there are more."""
        return None

    @overload
    def sample(self, rng: Seed) -> float: ...
    @overload
    def sample(self, rng: Seed, size: int) -> FloatArray: ...
    def sample(self, rng: Seed, size: int | None = None) -> float | FloatArray:
        """Draw one outcome, or an array of them.

        Args:
            rng: A NumPy generator, which moves on, or a seed.
            size: How many outcomes; None for a single number.

        >>> from allais import Discrete
        >>> Discrete({50: 0.1, 0: 0.9}).sample(1, size=8)
        array([ 0., 50.,  0., 50.,  0.,  0.,  0.,  0.])
        """
        if size is None:
            return float(self._sample(generator(rng), 1)[0])
        return self._sample(generator(rng), whole("size", size, "a whole number of draws, 0 or more", least=0))

    @overload
    def survival(self, x: float) -> float: ...
    @overload
    def survival(self, x: ArrayLike) -> FloatArray: ...
    def survival(self, x: ArrayLike) -> float | FloatArray:
        """P(X > x), for one number or an array.

        Args:
            x: One number or an array.

        >>> from allais import Uniform
        >>> Uniform(0, 10).survival(4.0)
        0.6
        """
        at = np.asarray(x, dtype=np.float64)
        if np.isnan(at).any():
            raise ValueError("an outcome must be a number; got NaN. Remove it first.")
        result = np.exp(self.log_survival(at))
        return float(result) if result.ndim == 0 else result


def require_lottery(thing: Any, rule: str, advice: str) -> None:
    """Refuse what is not a lottery, by a `rule` that says where one is wanted."""
    if not isinstance(thing, Lottery):
        raise TypeError(f"{rule}; got {came(thing)}. {in_place_of(thing) or advice}")


def came(thing: Any) -> str:
    """What came, as a sentence names it; SciPy's own text for a distribution is the address of an object.

    >>> from scipy import stats
    >>> came(stats.norm(0, 1)), came([stats.gamma(2.0)]), came(7)
    ("SciPy's norm(...)", "a list with SciPy's gamma(...)", '7')
    """
    distribution = _distribution(thing)
    if distribution is None:
        return brief(thing)
    return f"{'' if distribution is thing else f'a {type(thing).__name__} with '}SciPy's {_name(distribution)}"


def in_place_of(thing: Any) -> str | None:
    """What to write in place of a distribution of SciPy, or of a list of some; None where it is something else.

    >>> from scipy import stats
    >>> in_place_of(stats.norm(0, 1))
    'Wrap it: Continuous(stats.norm(...)).'
    """
    distribution = _distribution(thing)
    if distribution is None:
        return None
    if hasattr(getattr(distribution, "dist", distribution), "pmf"):
        return "Continuous wraps distributions with a density; write this one as Discrete({outcome: probability})."
    return f"Wrap it: Continuous(stats.{_name(distribution)})."


def _distribution(thing: Any) -> Any:
    """The distribution of SciPy that something is, or the first one in it."""
    for one in thing if isinstance(thing, list | tuple) else (thing,):
        if hasattr(one, "rvs") and (hasattr(one, "dist") or hasattr(one, "freeze")) and not isinstance(one, type):
            return one
    return None


def _name(distribution: Any) -> str:
    return f"{getattr(getattr(distribution, 'dist', distribution), 'name', 'distribution')}(...)"
