"""Parameters: what a family may leave free, on which scale, and what is believed before any data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from allais._checks import positive, real
from allais.people.scales import POSITIVE, REAL, SHARE, Scale
from allais.weights import GonzalezWu, Identity, Power, Prelec, SteepMiddle, TailAverage, TverskyKahneman, Wang

T = TypeVar("T")

# Below it Tversky and Kahneman's weight falls somewhere, and better lotteries may be worth less.
MONOTONE_FROM = 0.2793


@dataclass(frozen=True)
class Free:
    """A parameter that data decide about, with its prior: normal on the parameter's own scale.

    The scale is the logarithm of a positive number, the log odds of a share, and any other number itself.
    """

    median: float | None = None  # None: the usual one of this parameter
    spread: float | None = None  # one standard deviation, on the scale


def free(median: float | None = None, spread: float | None = None) -> Free:
    """Leave a parameter of a `Family` to the data; its prior has this median and this spread.

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
    """Something for each parameter; a short name will do where only one parameter ends so.

    >>> ByName(weight_eta=0.61, utility_alpha=0.88)["eta"]
    0.61
    """

    def __missing__(self, name: str) -> T:
        found = [full for full in self if full.endswith(f"_{name}")]
        if len(found) != 1:
            raise KeyError(f"{name!r} is none of {', '.join(self)}, nor the end of one only")
        return self[found[0]]


@dataclass(frozen=True)
class Parameter:
    """One number of a family: its name, its scale and its usual prior."""

    name: str
    scale: Scale
    median: float
    spread: float  # one standard deviation on the line
    optional: float | None = None  # fixed at this number unless it is asked for

    def asked(self, wish: Free) -> Parameter:
        """The same parameter with the prior that somebody wants."""
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
KNOWN_CURVE = 8  # any other weight, without free parameters: its values are handed over

UTILITY = (Parameter("alpha", POSITIVE, 0.88, 0.35), Parameter("loss_aversion", POSITIVE, 1.5, 0.6))
OF_ONE_PART = ("loss_aversion", "temperature", "lapse", "noise")  # names that no other part of a family can have
LAPSE_RATE = Parameter("lapse", SHARE, 0.03, 1.2, optional=0.0)
NOISE_OF_AMOUNTS = Parameter("noise", POSITIVE, 0.1, 1.0, optional=0.1)
SHAKY = 0.1  # a usual temperature, as a share of what a typical stake is worth
TEMPERATURE_SPREAD = 1.5


def temperature(stake: float, on_values: bool) -> Parameter:
    """The temperature of a choice rule, for stakes of some size."""
    worth = stake**0.88 if on_values else stake
    return Parameter("temperature", POSITIVE, SHAKY * worth, TEMPERATURE_SPREAD)


def fixed_at(parameter: Parameter, value: Any) -> float:
    """The number at which a parameter is held, checked."""
    number = real(parameter.name, value, "Give a number, or free().")
    low, high = parameter.scale.low, parameter.scale.high
    if not low <= number <= high or (number == low and parameter.optional != low):
        raise ValueError(
            f"{parameter.name} must lie between {low:g} and {high:g}; got {number:g}. Give another number, or free()."
        )
    return number
