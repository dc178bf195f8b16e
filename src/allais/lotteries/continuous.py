"""Lotteries with a density."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, positive, real
from allais.lotteries.base import Lottery

# Quantiles that mark the body of a distribution; what lies outside is a tail.
LEVELS = np.array([1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.25, 0.5])


@dataclass(frozen=True, repr=False)
class Normal(Lottery):
    """The normal distribution.

    Args:
        mean: The mean.
        sd: The standard deviation, above 0.

    >>> Normal(9, 1).support
    (-inf, inf)
    """

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", real("mean", self.mean))
        object.__setattr__(self, "sd", positive("sd", self.sd))

    def __setstate__(self, state: dict[str, float]) -> None:
        self.__dict__.update({"mean": state.get("_mean", 0.0), **state})  # `_mean`: as version 0.2.0 pickled it

    def __repr__(self) -> str:
        return f"Normal({self.mean:g}, {self.sd:g})"

    @property
    def support(self) -> tuple[float, float]:
        return -np.inf, np.inf

    def log_survival(self, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # far beyond any number of sds
            return scipy.special.log_ndtr((self.mean - x) / self.sd)

    def log_cdf(self, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return scipy.special.log_ndtr((x - self.mean) / self.sd)

    def quantile(self, p: FloatArray) -> FloatArray:
        return self.mean + self.sd * scipy.special.ndtri(p)

    def landmarks(self) -> FloatArray:
        return self.mean + self.sd * np.array([-6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0])

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return rng.normal(self.mean, self.sd, size)


@dataclass(frozen=True, repr=False)
class Uniform(Lottery):
    """Every outcome between low and high is equally likely.

    Args:
        low: The least outcome.
        high: The greatest outcome.

    >>> Uniform(0, 10).mean
    5.0
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", real("low", self.low))
        object.__setattr__(self, "high", real("high", self.high))
        if self.low >= self.high:
            raise ValueError(f"low must lie below high; got {self.low:g} and {self.high:g}. Swap or widen them.")

    def __repr__(self) -> str:
        return f"Uniform({self.low:g}, {self.high:g})"

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
    """Any continuous distribution of `scipy.stats`, with its parameters fixed.

    Args:
        distribution: A frozen distribution, such as `scipy.stats.expon(scale=3)`.

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
                f"a continuous lottery needs a density; got {distribution.dist.name}, which is discrete. "
                "Use Discrete({outcome: probability})."
            )
        ends = np.array(distribution.support(), dtype=np.float64)
        if ends.ndim != 1:
            raise ValueError(
                f"a continuous lottery is one distribution; got parameters of shape {ends.shape[1:]}. Make several."
            )
        low, high = ends.tolist()
        if np.isnan(low) or np.isnan(high):
            raise ValueError(f"a distribution needs valid parameters; got {_describe(distribution)}. Check them.")
        self._distribution = distribution
        self._support = (low, high)

    def __repr__(self) -> str:
        return f"Continuous({_describe(self._distribution)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Continuous) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> Any:
        """What makes two distributions the same: their family with its parameters, or else the very object."""
        from scipy import stats  # loaded already, since the distribution is from there

        name = getattr(getattr(self._distribution, "dist", None), "name", "")
        # one of scipy's own families is known by its name; others may hold anything
        if not name or type(self._distribution.dist) is not type(getattr(stats, name, None)):
            return id(self._distribution)
        named = {key: float(value) for key, value in self._distribution.kwds.items()}
        return name, tuple(map(float, self._distribution.args)), tuple(sorted(named.items())), self._support

    @property
    def support(self) -> tuple[float, float]:
        return self._support

    @cached_property
    def mean(self) -> float:
        return float(self._distribution.mean())

    def log_survival(self, x: FloatArray) -> FloatArray:
        return self._log(self._distribution.logsf, self._distribution.logcdf, x)

    def log_cdf(self, x: FloatArray) -> FloatArray:
        return self._log(self._distribution.logcdf, self._distribution.logsf, x)

    @staticmethod
    def _log(of_side: Any, of_other: Any, x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # scipy's distributions divide by zero at their ends
            side = np.asarray(of_side(x))
            missing = np.isnan(side)
            if missing.any():  # some distributions lose a tail to NaN; the other side still tells
                side = np.where(missing, np.log(-np.expm1(np.minimum(of_other(x), 0.0))), side)
            return np.minimum(side, 0.0)

    def quantile(self, p: FloatArray) -> FloatArray:
        return np.asarray(self._distribution.ppf(p))

    @cached_property
    def _landmarks(self) -> FloatArray:
        with np.errstate(all="ignore"):
            points = np.concatenate([self._distribution.ppf(LEVELS), self._distribution.isf(LEVELS), self._support])
        return np.unique(points[np.isfinite(points)])

    def landmarks(self) -> FloatArray:
        return self._landmarks

    def _sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return np.asarray(self._distribution.rvs(size=size, random_state=rng), dtype=np.float64)


def _describe(distribution: Any) -> str:
    if not hasattr(distribution, "dist"):
        return repr(distribution)
    arguments = [f"{value:g}" for value in distribution.args]
    arguments += [f"{name}={value:g}" for name, value in distribution.kwds.items()]
    return f"{distribution.dist.name}({', '.join(arguments)})"
