"""What the functions of theory share: one order of arguments, problems in place of lists, and bounds that say nothing.

First comes who values (a preference, or a Hölder pair), then what is known of rewards, then the arms (their values,
their lotteries, or a `Bandit`); numbers follow.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array
from allais.lotteries import Discrete, Lottery
from allais.lotteries.base import came
from allais.preferences import Preference
from allais.weights import HolderPair


class Valued(Protocol):
    """A problem that knows what its arms are worth."""

    def true_values(self, preference: Preference) -> FloatArray | None: ...


class Drawn(Protocol):
    """A problem whose arms are lotteries, such as `Bandit`."""

    lotteries: tuple[Lottery, ...]


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Bound(float):
    """A bound, as a number; one that says nothing says so when it is printed.

    Attributes:
        why: Why it says nothing; empty if it does.

    >>> Bound(310385.0, "no policy can lose more than 680")
    310385.0 (says nothing: no policy can lose more than 680)
    >>> Bound(12.5)
    12.5
    """

    why: str

    def __new__(cls, value: float, why: str = "") -> Bound:
        """A number and, if it says nothing, why.

        Args:
            value: The bound.
            why: Why it says nothing; empty if it does.
        """
        bound = super().__new__(cls, value)
        bound.why = why
        return bound

    @property
    def vacuous(self) -> bool:
        """Whether it holds of anything that could happen."""
        return bool(self.why)

    def __repr__(self) -> str:
        return f"{float(self)!r} (says nothing: {self.why})" if self.why else float.__repr__(self)

    __str__ = __repr__


def regret_bound(regret: float, most: float, n_rounds: float) -> Bound:
    """A bound on regret; no policy can lose more than `most` in n rounds."""
    written = f"{most:,.0f}" if most >= 1000.0 else f"{most:.4g}"
    why = f"no policy can lose more than {written} in {n_rounds:,.0f} rounds" if regret >= most else ""
    return Bound(regret, why)


def true_values_of(preference: Preference, values: Any) -> FloatArray:
    """The values of the arms: given as such, or by a problem that knows them."""
    if hasattr(values, "true_values"):
        known = values.true_values(preference)
        if known is None:
            raise ValueError(f"the values of the arms must be known; {values!r} does not know them. Give true_values.")
        return finite_array("values", known)
    return finite_array("values", values)


def values_alone(values: ArrayLike) -> FloatArray:
    """The values of the arms, where no preference is there to value a problem."""
    if hasattr(values, "true_values"):
        raise TypeError(
            f"a Hölder pair values no lotteries; got {values!r}. Give the values: problem.true_values(preference)."
        )
    return finite_array("values", values)


def lotteries_of(arms: Any) -> Sequence[Lottery]:
    """The lotteries of a bandit, or a list of them unchanged."""
    found: Sequence[Lottery] = getattr(arms, "lotteries", arms)
    if isinstance(found, Lottery) or not isinstance(found, Sequence):
        raise TypeError(f"the arms are several lotteries, or a Bandit; got {arms!r}. Give a list of them.")
    return found


def finite_of(lottery: Any, rule: str) -> Discrete:
    """A lottery with finitely many outcomes; others are refused by a `rule` that says where one is wanted."""
    found = lottery.as_finite() if isinstance(lottery, Lottery) else None
    if found is None:
        raise ValueError(f"{rule}; got {came(lottery)}. Give Discrete(...), or Empirical(samples).")
    return found


def formerly(*order: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Also take arguments without names in the order of version 0.2.0, with a warning; until version 0.4.0."""

    def made(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        parameters = inspect.signature(function).parameters.values()
        allowed = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Result:
            swapped = allowed[:1] == ["holder"] and given and not isinstance(given[0], HolderPair)
            if not swapped and len(given) <= len(allowed):
                return function(*given, **named)
            by_name = [f"{one}=..." for one in order[: len(given)] if one not in allowed]
            warnings.warn(
                f"arguments of theory go from who values to the arms, and numbers have names; got those of "
                f"{function.__name__} in the order of version 0.2.0, which version 0.4.0 will refuse. "
                f"Write {function.__name__}({', '.join([*allowed, *by_name])}).",
                DeprecationWarning,
                stacklevel=2,
            )
            return function(**dict(zip(order, given, strict=False)), **named)  # type: ignore[call-arg]

        return call

    return made
