"""Lotteries with a density, and mixtures of any lotteries."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from allais._checks import FloatArray, finite_array, positive, real
from allais.lotteries.base import Lottery
from allais.lotteries.finite import SUM_TOLERANCE, Discrete, FiniteLottery
from allais.numerics.bisection import smallest

# Quantiles that mark the body of a law; what lies outside is a tail.
LEVELS = np.array([1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.25, 0.5])


class Normal(Lottery):
    """The normal law.

    >>> Normal(9, 1).support
    (-inf, inf)
    """

    def __init__(self, mean: float = 0.0, sd: float = 1.0) -> None:
        self._mean = real("mean", mean)
        self.sd = positive("sd", sd)

    def __repr__(self) -> str:
        return f"Normal({self._mean:g}, {self.sd:g})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Normal) and (self._mean, self.sd) == (other._mean, other.sd)

    def __hash__(self) -> int:
        return hash((Normal, self._mean, self.sd))

    def as_setting(self) -> dict[str, Any]:
        """What a file holds of it."""
        return {"type": "Normal", "mean": self._mean, "sd": self.sd}

    @staticmethod
    def from_setting(content: dict[str, Any], trust: tuple[str, ...]) -> Normal:
        """The lottery that a file describes."""
        return Normal(content["mean"], content["sd"])

    @property
    def support(self) -> tuple[float, float]:
        return -np.inf, np.inf

    @property
    def mean(self) -> float:
        return self._mean

    def log_survival(self, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # far beyond any number of sds
            return special.log_ndtr((self._mean - x) / self.sd)

    def log_cdf(self, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return special.log_ndtr((x - self._mean) / self.sd)

    def quantile(self, p: FloatArray) -> FloatArray:
        return self._mean + self.sd * special.ndtri(p)

    def landmarks(self) -> FloatArray:
        return self._mean + self.sd * np.array([-6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0])

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return rng.normal(self._mean, self.sd, size)


class Uniform(Lottery):
    """Every outcome between low and high alike.

    >>> Uniform(0, 10).mean
    5.0
    """

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        self.low, self.high = real("low", low), real("high", high)
        if self.low >= self.high:
            raise ValueError(f"low must lie below high; got {self.low:g} and {self.high:g}. Swap or widen them.")

    def __repr__(self) -> str:
        return f"Uniform({self.low:g}, {self.high:g})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Uniform) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((Uniform, self.low, self.high))

    def as_setting(self) -> dict[str, Any]:
        """What a file holds of it."""
        return {"type": "Uniform", "low": self.low, "high": self.high}

    @staticmethod
    def from_setting(content: dict[str, Any], trust: tuple[str, ...]) -> Uniform:
        """The lottery that a file describes."""
        return Uniform(content["low"], content["high"])

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def mean(self) -> float:
        return 0.5 * (self.low + self.high)

    def log_survival(self, x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0))

    def log_cdf(self, x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0))

    def quantile(self, p: FloatArray) -> FloatArray:
        return self.low + (self.high - self.low) * p

    def landmarks(self) -> FloatArray:
        return np.array([self.low, self.high])

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return rng.uniform(self.low, self.high, size)


class Continuous(Lottery):
    """Any continuous law of `scipy.stats`, with its parameters fixed.

    >>> from scipy import stats
    >>> Continuous(stats.gamma(2.0)).mean
    2.0
    """

    def __init__(self, distribution: Any) -> None:
        wanted = ("logsf", "logcdf", "ppf", "isf", "rvs", "support", "mean")
        unfrozen = not hasattr(distribution, "dist") and getattr(distribution, "numargs", 0) > 0
        if unfrozen or not all(hasattr(distribution, name) for name in wanted):
            raise TypeError(
                f"a continuous lottery is made of a frozen scipy distribution; got {distribution!r}. "
                "Write Continuous(stats.gamma(2.0))."
            )
        if not hasattr(getattr(distribution, "dist", distribution), "pdf"):
            raise TypeError(
                f"a continuous lottery needs a law with a density; got {distribution.dist.name}, which is discrete. "
                "Use Discrete({outcome: probability})."
            )
        ends = np.array(distribution.support(), dtype=np.float64)
        if ends.ndim != 1:
            raise ValueError(
                f"a continuous lottery is one law; got parameters of shape {ends.shape[1:]}. Make one lottery each."
            )
        low, high = ends.tolist()
        if np.isnan(low) or np.isnan(high):
            raise ValueError(f"a distribution needs valid parameters; got {_describe(distribution)}. Check them.")
        self._law = distribution
        self._support = (low, high)

    def __repr__(self) -> str:
        return f"Continuous({_describe(self._law)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Continuous) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> Any:
        """What makes two laws the same: their family with its parameters, or else the very object."""
        from scipy import stats  # it is loaded, since the law came from there

        name = getattr(getattr(self._law, "dist", None), "name", "")
        # one of scipy's own families is known by its name; others may hold anything
        if not name or type(self._law.dist) is not type(getattr(stats, name, None)):
            return id(self._law)
        named = {key: float(value) for key, value in self._law.kwds.items()}
        return name, tuple(map(float, self._law.args)), tuple(sorted(named.items())), self._support

    @property
    def support(self) -> tuple[float, float]:
        return self._support

    @cached_property
    def mean(self) -> float:
        return float(self._law.mean())

    def log_survival(self, x: FloatArray) -> FloatArray:
        return self._log(self._law.logsf, self._law.logcdf, x)

    def log_cdf(self, x: FloatArray) -> FloatArray:
        return self._log(self._law.logcdf, self._law.logsf, x)

    @staticmethod
    def _log(of_side: Any, of_other: Any, x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # scipy's laws divide by zero at their ends
            side = np.asarray(of_side(x))
            missing = np.isnan(side)
            if missing.any():  # some laws lose a tail to NaN; the other side still tells
                side = np.where(missing, np.log(-np.expm1(np.minimum(of_other(x), 0.0))), side)
            return np.minimum(side, 0.0)

    def quantile(self, p: FloatArray) -> FloatArray:
        return np.asarray(self._law.ppf(p))

    @cached_property
    def _landmarks(self) -> FloatArray:
        with np.errstate(all="ignore"):
            points = np.concatenate([self._law.ppf(LEVELS), self._law.isf(LEVELS), self._support])
        return np.unique(points[np.isfinite(points)])

    def landmarks(self) -> FloatArray:
        return self._landmarks

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return np.asarray(self._law.rvs(size=size, random_state=rng), dtype=np.float64)


def _describe(distribution: Any) -> str:
    if not hasattr(distribution, "dist"):
        return repr(distribution)
    arguments = [f"{value:g}" for value in distribution.args]
    arguments += [f"{name}={value:g}" for name, value in distribution.kwds.items()]
    return f"{distribution.dist.name}({', '.join(arguments)})"


class Mixture(Lottery):
    """A lottery over lotteries: component i with probability `shares[i]`.

    >>> jam = Mixture([Normal(20, 2), Normal(60, 5)], [0.95, 0.05])
    >>> jam.mean
    22.0
    """

    def __init__(self, components: Sequence[Lottery], shares: Sequence[float]) -> None:
        self.components = tuple(components)
        self.shares = finite_array("shares", shares)
        strange = [part for part in self.components if not isinstance(part, Lottery)]
        if strange:
            raise TypeError(f"a mixture is made of lotteries; got {strange[0]!r}. Wrap it, e.g. Discrete({{7: 1}}).")
        if len(self.components) != self.shares.size:
            raise ValueError(
                f"a mixture needs one share for each component; got {len(self.components)} components and "
                f"{self.shares.size} shares. Give as many of each."
            )
        if (self.shares < 0.0).any() or abs(self.shares.sum() - 1.0) > SUM_TOLERANCE:
            raise ValueError(f"shares must be probabilities that sum to 1; got {self.shares.tolist()}. Rescale them.")

    def __repr__(self) -> str:
        return f"Mixture({list(self.components)!r}, {self.shares.tolist()})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mixture)
            and np.array_equal(self.shares, other.shares)
            and self.components == other.components
        )

    def __hash__(self) -> int:
        return hash((Mixture, self.components, tuple(self.shares.tolist())))

    @property
    def _present(self) -> list[tuple[float, Lottery]]:
        return [(s, part) for s, part in zip(self.shares.tolist(), self.components, strict=True) if s > 0.0]

    @property
    def support(self) -> tuple[float, float]:
        ends = [part.support for _, part in self._present]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def mean(self) -> float:
        return float(sum(share * part.mean for share, part in self._present))

    def as_finite(self) -> FiniteLottery | None:
        flat: dict[float, float] = {}
        for share, part in self._present:
            finite = part.as_finite()
            if finite is None:
                return None
            for outcome, chance in zip(finite.outcomes.tolist(), finite.probabilities.tolist(), strict=True):
                flat[outcome] = flat.get(outcome, 0.0) + share * chance
        return Discrete(flat)

    def log_survival(self, x: FloatArray) -> FloatArray:
        return _log_sum([np.log(share) + part.log_survival(x) for share, part in self._present])

    def log_cdf(self, x: FloatArray) -> FloatArray:
        return _log_sum([np.log(share) + part.log_cdf(x) for share, part in self._present])

    def quantile(self, p: FloatArray) -> FloatArray:
        level = np.asarray(p, dtype=np.float64)
        # it lies between the least and the greatest of the components' own
        of_parts = np.array([part.quantile(level) for _, part in self._present])
        low, high = of_parts.min(axis=0), of_parts.max(axis=0)
        rounding = 1e-15  # of a sum of shares

        def reached(x: FloatArray) -> NDArray[np.bool_]:
            return np.exp(self.log_cdf(x)) >= level - rounding

        found = np.where(reached(low), low, smallest(reached, low, high))
        ends = np.where(level >= 1.0, self.support[1], self.support[0])
        return np.where((level <= 0.0) | (level >= 1.0), ends, found)

    def landmarks(self) -> FloatArray:
        return np.unique(np.concatenate([part.landmarks() for _, part in self._present]))

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        chosen = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(size), side="right")
        drawn = np.empty(size)
        for index, part in enumerate(self.components):
            here = chosen == index
            drawn[here] = part._sample(rng, int(here.sum()))
        return drawn


def _log_sum(terms: list[FloatArray]) -> FloatArray:
    total = terms[0]
    for term in terms[1:]:
        total = np.logaddexp(total, term)
    return np.minimum(total, 0.0)  # rounding past probability 1
