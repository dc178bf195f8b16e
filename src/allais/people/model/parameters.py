"""Parameters of a family: their scales, their priors, and choice rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy import special

from allais._checks import FloatArray, IntArray, Seed, generator, positive, real
from allais.weights import GonzalezWu, Identity, Power, Prelec, SteepMiddle, TailAverage, TverskyKahneman, Wang

FARTHEST = 30.0  # unconstrained: e^-30 of an interval never matters, and nothing overflows


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`; unconstrained it is log odds if both are finite, a logarithm if one is, else the number.

    >>> unit = Scale(0.0, 1.0)
    >>> float(unit.unconstrained(np.array(0.5))), float(unit.natural(np.array(0.0)))
    (0.0, 0.5)
    """

    low: float = -np.inf
    high: float = np.inf

    @property
    def words(self) -> str:
        """What the unconstrained number is."""
        if np.isneginf(self.low):
            return "value"
        return "logarithm" if np.isposinf(self.high) else "log odds"

    def natural(self, z: FloatArray) -> FloatArray:
        """The parameter, from its unconstrained number."""
        if np.isneginf(self.low):
            return z + 0.0
        place = np.clip(z, -FARTHEST, FARTHEST)
        if np.isposinf(self.high):
            return self.low + np.exp(place)
        return self.low + (self.high - self.low) * special.expit(place)

    def unconstrained(self, value: FloatArray) -> FloatArray:
        """The unconstrained number of a parameter."""
        if np.isneginf(self.low):
            return value + 0.0
        with np.errstate(divide="ignore"):
            if np.isposinf(self.high):
                return np.clip(np.log(value - self.low), -FARTHEST, FARTHEST)
            return np.clip(np.log(value - self.low) - np.log(self.high - value), -FARTHEST, FARTHEST)

    def gradient(self, z: FloatArray) -> FloatArray:
        """The derivative of the parameter in its unconstrained number."""
        if np.isneginf(self.low):
            return np.ones_like(z)
        place = np.clip(z, -FARTHEST, FARTHEST)
        if np.isposinf(self.high):
            return np.exp(place)
        share = special.expit(place)
        return (self.high - self.low) * share * (1.0 - share)


REAL, POSITIVE, SHARE = Scale(), Scale(0.0), Scale(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Transforms:
    """The transforms of a family's free parameters, in their order, and the constants beside them."""

    scales: tuple[Scale, ...]
    index: IntArray  # the parameter in each place of a vector, -1: none, (places,)
    constants: FloatArray  # the numbers in the other places, (places,)

    def natural(self, z: FloatArray) -> FloatArray:
        """Parameters from unconstrained numbers, (n, parameters)."""
        return np.stack([scale.natural(z[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def unconstrained(self, parameters: FloatArray) -> FloatArray:
        """Unconstrained numbers: the inverse of `natural`."""
        return np.stack([scale.unconstrained(parameters[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def gradient(self, z: FloatArray) -> FloatArray:
        """The derivative of each parameter in its unconstrained number, (n, parameters)."""
        return np.stack([scale.gradient(z[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def vectors(self, parameters: FloatArray) -> FloatArray:
        """Parameter vectors as compiled code reads them, (n, places)."""
        full = np.tile(self.constants, (parameters.shape[0], 1))
        used = self.index >= 0
        full[:, used] = parameters[:, self.index[used]]
        return full

    def gathered(self, gradients: FloatArray) -> FloatArray:
        """Gradients in the free parameters, from those in all places: places that share a parameter add up."""
        total = np.zeros((gradients.shape[0], len(self.scales)))
        for place, index in enumerate(self.index):
            if index >= 0:
                total[:, index] += gradients[:, place]
        return total


T = TypeVar("T")

# Below it Tversky and Kahneman's weight decreases somewhere, and a better lottery may have a lower value.
MONOTONE_FROM = 0.2793


@dataclass(frozen=True)
class Free:
    """A parameter that is fitted, with its prior: normal on the parameter's unconstrained scale.

    The scale is the logarithm of a positive number, the log odds of a share, and any other number itself.

    Args:
        median: The median of the prior; None for the usual one of this parameter.
        spread: One standard deviation, unconstrained; None for the usual one.
    """

    median: float | None = None
    spread: float | None = None


def free(median: float | None = None, spread: float | None = None) -> Free:
    """Fit a parameter of a `Family`.

    Args:
        median: The median of its prior; None for the usual one.
        spread: One standard deviation of its prior, unconstrained; None for the usual one.

    >>> from allais.people import Family
    >>> family = Family(loss_aversion=free(median=2.0, spread=0.3), utility_alpha=0.88)
    >>> print(family)
    Family: gains and losses by TverskyKahneman, PowerUtility, Logit on values
      weight_eta      median 0.65, 90 % from 0.4 to 0.89
      loss_aversion   median 2, 90 % from 1.2 to 3.3
      temperature     median 0.76, 90 % from 0.064 to 8.9
      utility_alpha   0.88, fixed
      lapse           0, fixed
    """
    return Free(
        None if median is None else real("median", median), None if spread is None else positive("spread", spread)
    )


class ByName(dict[str, T]):
    """A value for each parameter; the end of a name is enough if only one name ends with it.

    >>> ByName(weight_eta=0.61, utility_alpha=0.88)["eta"]
    0.61
    """

    def __missing__(self, name: str) -> T:
        found = [full for full in self if full.endswith(f"_{name}")]
        if len(found) != 1:
            raise KeyError(f"{name!r} is not one of {', '.join(self)}, nor the end of exactly one")
        return self[found[0]]


@dataclass(frozen=True)
class Parameter:
    """One number of a family: its name, its scale and its usual prior."""

    name: str
    scale: Scale
    median: float
    spread: float  # one standard deviation, unconstrained
    optional: float | None = None  # fixed at this number unless it is freed

    def asked(self, wish: Free) -> Parameter:
        """The same parameter with another prior."""
        median = self.median if wish.median is None else wish.median
        if not self.scale.low < median < self.scale.high:
            raise ValueError(
                f"{self.name} must lie between {self.scale.low:g} and {self.scale.high:g}; "
                f"got a median of {median:g}. Give another one."
            )
        return replace(self, median=median, spread=self.spread if wish.spread is None else wish.spread, optional=None)


# The kinds of weight that compiled code knows, in its own numbers, with their parameters.
WEIGHTS: dict[type, tuple[int, tuple[Parameter, ...]]] = {
    Identity: (0, ()),
    TverskyKahneman: (1, (Parameter("eta", Scale(MONOTONE_FROM, 1.0), 0.65, 1.0),)),
    Prelec: (2, (Parameter("alpha", POSITIVE, 0.7, 0.4), Parameter("beta", POSITIVE, 1.0, 0.4))),
    GonzalezWu: (3, (Parameter("gamma", POSITIVE, 0.6, 0.5), Parameter("delta", POSITIVE, 0.8, 0.5))),
    Power: (4, (Parameter("alpha", POSITIVE, 1.0, 0.5),)),
    SteepMiddle: (5, (Parameter("alpha", SHARE, 0.6, 1.0),)),
    TailAverage: (6, (Parameter("level", SHARE, 0.5, 1.0),)),
    Wang: (7, (Parameter("shift", REAL, 0.0, 0.5),)),
}
FIXED_CURVE = 8  # any other weight, without free parameters: its values are passed

UTILITY = (Parameter("alpha", POSITIVE, 0.88, 0.35), Parameter("loss_aversion", POSITIVE, 1.5, 0.6))
OF_ONE_PART = ("loss_aversion", "temperature", "lapse", "noise")  # names that no other part of a family can have
LAPSE_RATE = Parameter("lapse", SHARE, 0.03, 1.2, optional=0.0)
NOISE_OF_AMOUNTS = Parameter("noise", POSITIVE, 0.1, 1.0, optional=0.1)
USUAL_NOISE = 0.1  # a usual temperature, as a share of the value of a typical stake
TEMPERATURE_SPREAD = 1.5


def temperature(stake: float, on_values: bool) -> Parameter:
    """The temperature of a choice rule, for stakes of some size."""
    value = stake**0.88 if on_values else stake
    return Parameter("temperature", POSITIVE, USUAL_NOISE * value, TEMPERATURE_SPREAD)


def fixed_at(parameter: Parameter, value: Any) -> float:
    """The number at which a parameter is held, checked."""
    number = real(parameter.name, value, "Give a number, or free().")
    low, high = parameter.scale.low, parameter.scale.high
    if not low <= number <= high or (number == low and parameter.optional != low):
        raise ValueError(
            f"{parameter.name} must lie between {low:g} and {high:g}; got {number:g}. Give another number, or free()."
        )
    return number


@dataclass(frozen=True, eq=False)
class Prior:
    """A joint normal distribution of unconstrained parameters (logarithms, log odds, or the numbers themselves).

    `family.prior` is the one that a family states; a population that was fitted is one, too.

    Args:
        mean: The means, unconstrained, (parameters,).
        covariance: The covariances, (parameters, parameters).

    >>> prior = Prior(np.zeros(2), np.eye(2))
    >>> prior.draw(3, seed=1).shape, round(float(prior.log_density(np.zeros((1, 2)))[0]), 4)
    ((3, 2), -1.8379)
    """

    mean: FloatArray
    covariance: FloatArray

    def __post_init__(self) -> None:
        mean, covariance = np.array(self.mean, np.float64), np.array(self.covariance, np.float64)
        if mean.ndim != 1 or covariance.shape != (mean.size, mean.size):
            raise ValueError(
                f"a prior has a mean for each parameter and a covariance for each pair; got shapes {mean.shape} and "
                f"{covariance.shape}. Give d numbers and d x d numbers."
            )
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all() and np.allclose(covariance, covariance.T)):
            raise ValueError("a prior's mean and covariance are finite, and the latter symmetric. Repair them.")
        if mean.size and np.linalg.eigvalsh(covariance)[0] <= 0.0:
            raise ValueError("a prior's covariance must be positive definite; got one that is not. Widen it.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)

    @cached_property
    def root(self) -> FloatArray:
        """The lower triangle whose square is the covariance."""
        return np.asarray(np.linalg.cholesky(self.covariance), np.float64)

    @property
    def spread(self) -> FloatArray:
        """The standard deviation of each parameter, unconstrained."""
        return np.sqrt(np.diagonal(self.covariance))

    @cached_property
    def _inverse_root(self) -> FloatArray:
        return np.asarray(np.linalg.inv(self.root), np.float64)

    def log_density(self, z: FloatArray) -> FloatArray:
        """The log density of unconstrained parameters, (n, parameters) -> (n,).

        Args:
            z: Unconstrained parameters, (n, parameters).
        """
        standard = (z - self.mean) @ self._inverse_root.T
        constant = np.log(np.diagonal(self.root)).sum() + 0.5 * self.mean.size * np.log(2.0 * np.pi)
        return -0.5 * np.square(standard).sum(axis=1) - constant

    def log_density_gradient(self, z: FloatArray) -> FloatArray:
        """The gradient of the log density, (n, parameters).

        Args:
            z: Unconstrained parameters, (n, parameters).
        """
        return -((z - self.mean) @ self._inverse_root.T) @ self._inverse_root

    def draw(self, n: int, seed: Seed) -> FloatArray:
        """Unconstrained parameters, (n, parameters).

        Args:
            n: How many.
            seed: The seed.
        """
        return self.mean + generator(seed).standard_normal((n, self.mean.size)) @ self.root.T

    def as_setting(self) -> dict[str, Any]:
        """The prior as a setting in a file."""
        return {"type": "Prior", "mean": self.mean.tolist(), "covariance": self.covariance.tolist()}

    @staticmethod
    def from_setting(trust: tuple[str, ...], *, mean: Any, covariance: Any) -> Prior:
        """The prior that a file describes."""
        return Prior(np.array(mean, np.float64), np.array(covariance, np.float64))


SCALES = ("values", "certainty equivalents")


@dataclass(frozen=True)
class _Rule:
    on: str = "values"

    def __post_init__(self) -> None:
        if self.on not in SCALES:
            raise ValueError(
                f"a choice rule compares values or certainty equivalents; got {self.on!r}. "
                'Write on="values" or on="certainty equivalents".'
            )


@dataclass(frozen=True)
class Logit(_Rule):
    """The probability of an option is proportional to exp(value / `temperature`); any number of options.

    On `"values"`, as in most of the literature, the temperature is in units of utility, so it trades off with the power
    of the utility. On `"certainty equivalents"` it is in units of outcomes, whatever the utility: use these to compare
    people or families, or for stakes of many sizes.

    Args:
        on: `"values"` or `"certainty equivalents"`.

    >>> Logit(on="certainty equivalents")
    Logit(on='certainty equivalents')
    """


@dataclass(frozen=True)
class Probit(_Rule):
    """The better of two options is taken with probability Phi(difference of values / `temperature`).

    Args:
        on: `"values"` or `"certainty equivalents"`.

    >>> Probit()
    Probit(on='values')
    """
