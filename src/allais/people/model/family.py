"""Families: models of how people choose, with some parameters free and others fixed; by name, and in words."""

from __future__ import annotations

import copy
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, positive, real
from allais.people.data.choices import Choices
from allais.people.data.design import ALPHA, AVERSION, GAINS, LAPSE, LOSSES, NOISE, PLACES, TEMPERATURE, Design, Model
from allais.people.model.parameters import (
    FIXED_CURVE,
    LAPSE_RATE,
    NOISE_OF_AMOUNTS,
    OF_ONE_PART,
    UTILITY,
    WEIGHTS,
    Free,
    Logit,
    Parameter,
    Prior,
    Probit,
    Transforms,
    fixed_at,
    temperature,
)
from allais.preferences import PowerUtility, Preference
from allais.settings import kind_named, to_spec
from allais.weights import Identity, Prelec, TverskyKahneman, Weight


class _Place(NamedTuple):
    """One parameter of a family: its role, where compiled code finds it, and its value if that is fixed."""

    role: str
    parameter: Parameter
    places: tuple[int, ...]
    fixed: float | None

    @property
    def name(self) -> str:
        """The same in every family; prefixed by its role if other parts may have a parameter of that name."""
        own = self.parameter.name
        return own if own in OF_ONE_PART else f"{self.role}_{own}"


class Family:
    """A model of choices: weights of probabilities, the utility of outcomes, and how often the better option is taken.

    Parameters are named independently of the rest of the family: `weight_` (or `gains_` and `losses_`) with the
    weight's own name, `utility_alpha`, `loss_aversion`, `temperature`, `lapse`, `noise`. To set one, `eta` is
    enough if only one name ends with it. `lapse` is 0, and certainty equivalents have no `noise`, unless you free them.

    Args:
        gains: The weight of gains: a type, whose parameters are free, or a weight, which is fixed.
        losses: The weight of losses; by default both sides share one weight and its parameters; `"dual"` takes its
            dual, as in rank-dependent utility.
        utility: `PowerUtility`, one with numbers, or None: linear, without loss aversion.
        choice: `Logit` or `Probit`.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.
        stake: The size of a typical outcome, which sets the prior of the temperature.
        **parameters: A number fixes a parameter, `free(median, spread)` gives it another prior.

    >>> family = Family(loss_aversion=1.0, lapse=0.01)
    >>> family.names
    ('weight_eta', 'utility_alpha', 'temperature')
    >>> choices = Choices.lottery_or_sure({"person": ["a", "a"], "win": [10, 10], "probability": [0.2, 0.6],
    ...                                    "sure": [4, 4], "took_lottery": [0, 1]})
    >>> family.log_likelihood([[0.61, 0.88, 1.0]], choices).round(4)
    array([-0.8181])
    """

    def __init__(
        self,
        gains: type[Weight] | Weight = TverskyKahneman,
        losses: type[Weight] | Weight | str | None = None,
        utility: type[PowerUtility] | PowerUtility | None = PowerUtility,
        choice: type[Logit | Probit] | Logit | Probit = Logit,
        *,
        reference: float = 0.0,
        costs: bool = False,
        stake: float = 10.0,
        **parameters: float | Free,
    ) -> None:
        self.gains, self.losses, self.utility = gains, losses, utility
        self.choice: Logit | Probit = choice() if isinstance(choice, type) else choice
        if not isinstance(self.choice, Logit | Probit):
            raise TypeError(f"a choice rule is Logit or Probit; got {choice!r}. Use one of allais.people's.")
        if not (utility is None or utility is PowerUtility or isinstance(utility, PowerUtility)):
            raise TypeError(f"the utility of a family is PowerUtility or None; got {utility!r}. Use one of them.")
        self.reference, self.costs, self.stake = real("reference", reference), bool(costs), positive("stake", stake)
        self.given = parameters
        self.joint_prior: Prior | None = None  # in place of the parameters' own
        self._assign(self._all_parameters(), dict(parameters))

    def _all_parameters(self) -> list[_Place]:
        shared = self.losses is None or self.losses == "dual"
        both = (GAINS, LOSSES) if shared else (GAINS,)
        found = _of_weight("weight" if shared else "gains", self.gains, both)
        if not shared:
            if isinstance(self.losses, str):
                raise ValueError(f'losses must be a weight or "dual"; got {self.losses!r}. Use one of them.')
            found += _of_weight("losses", self.losses, (LOSSES,))
        utility = self.utility
        if utility is not None:
            for parameter, place in zip(UTILITY, (ALPHA, AVERSION), strict=True):
                fixed = getattr(utility, parameter.name) if isinstance(utility, PowerUtility) else None
                found.append(_Place("utility", parameter, (place,), fixed))
        heat = temperature(self.stake, self.choice.on == "values" and utility is not None)
        found.append(_Place("choice", heat, (TEMPERATURE,), None))
        found.append(_Place("choice", LAPSE_RATE, (LAPSE,), LAPSE_RATE.optional))
        if "noise" in self.given:
            found.append(_Place("choice", NOISE_OF_AMOUNTS, (NOISE,), None))
        return found

    def _assign(self, listed: list[_Place], wishes: dict[str, Any]) -> None:
        """Name every parameter, and set which are free."""
        short = [one.parameter.name for one in listed]
        self._free: dict[str, _Place] = {}
        self.fixed: dict[str, float] = {}
        constants = np.ones(PLACES)  # a parameter that a family lacks is 1, and the lapse rate 0
        index = np.full(PLACES, -1)
        self.given = {}
        for one in listed:
            name, own = one.name, one.parameter.name
            former = f"{one.role}_{own}", *([own] if short.count(own) == 1 else [])  # older files have these
            wish = next((wishes.pop(key) for key in (name, *former) if key in wishes), None)
            if wish is not None:
                self.given[name] = wish
            if isinstance(wish, Free):
                one = one._replace(parameter=one.parameter.asked(wish), fixed=None)
            elif wish is not None:
                one = one._replace(fixed=fixed_at(one.parameter, wish))
            places = list(one.places)
            if one.fixed is None:
                index[places] = len(self._free)
                self._free[name] = one
            else:
                constants[places] = self.fixed[name] = one.fixed
        if wishes:
            raise ValueError(
                f"this family has the parameters {', '.join(one.name for one in listed)}; got {next(iter(wishes))!r}. "
                "Use one of these names."
            )
        self.transforms = Transforms(tuple(one.parameter.scale for one in self._free.values()), index, constants)

    # -- parameters -------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters, in the order of every array of them."""
        return tuple(self._free)

    @property
    def prior(self) -> Prior:
        """The prior: normal on the unconstrained scale of each parameter."""
        if self.joint_prior is not None:
            return self.joint_prior
        listed = [one.parameter for one in self._free.values()]
        means = [float(one.scale.unconstrained(np.array(one.median))) for one in listed]
        return Prior(np.array(means), np.diag([one.spread**2 for one in listed]))

    def with_prior(self, prior: Prior) -> Family:
        """The same family with another prior, such as a population that was fitted.

        Args:
            prior: The prior, such as a population that was fitted.
        """
        if prior.mean.size != len(self._free):
            raise ValueError(
                f"a prior needs a distribution for each of the {len(self._free)} free parameters; got one for "
                f"{prior.mean.size}. Give one in the order of names."
            )
        family = copy.copy(self)
        family.joint_prior = prior
        return family

    def natural(self, z: FloatArray) -> FloatArray:
        """Parameters from unconstrained numbers, (n, parameters).

        Args:
            z: Unconstrained numbers.
        """
        return self.transforms.natural(np.asarray(z, dtype=np.float64))

    def unconstrained(self, parameters: ArrayLike) -> FloatArray:
        """Unconstrained numbers, (n, parameters): logarithms, log odds; the inverse of `natural`.

        Args:
            parameters: Parameters, (n, parameters).
        """
        return self.transforms.unconstrained(self._checked(parameters))

    def on_line(self, parameters: ArrayLike) -> FloatArray:
        """The former name of `unconstrained`."""
        warnings.warn("`on_line` is now `unconstrained`. The old name goes in 0.4.0.", DeprecationWarning, stacklevel=2)
        return self.unconstrained(parameters)

    def _checked(self, parameters: ArrayLike) -> FloatArray:
        given = np.atleast_2d(np.asarray(parameters, dtype=np.float64))
        if given.ndim != 2 or given.shape[1] != len(self._free):
            raise ValueError(
                f"parameters are numbers for {', '.join(self.names)}; got an array of shape {np.shape(parameters)}. "
                f"Give one row of {len(self._free)} numbers per person."
            )
        for i, (name, scale) in enumerate(zip(self.names, self.transforms.scales, strict=True)):
            wrong = ~((given[:, i] >= scale.low) & (given[:, i] <= scale.high))
            if wrong.any():
                raise ValueError(
                    f"{name} must lie between {scale.low:g} and {scale.high:g}; got {given[wrong, i][0]:g}. Repair it."
                )
        return given

    # -- what it says -----------------------------------------------------------------------------

    def preference(self, parameters: ArrayLike) -> Preference:
        """The preference of one parameter vector.

        Args:
            parameters: The parameters, in the order of `names`.

        >>> Family(alpha=0.88, loss_aversion=2.25).preference([0.61, 1.0]).gains
        TverskyKahneman(eta=0.61)
        """
        given = self._checked(parameters)
        if given.shape[0] != 1:
            raise ValueError(f"a preference is that of one parameter vector; got {given.shape[0]}. Give one.")
        theta = self.transforms.vectors(given)[0].tolist()
        gains = _weight(self.gains, theta[GAINS : GAINS + 2])
        if self.losses == "dual":
            losses = gains.dual()
        else:
            losses = gains if self.losses is None else _weight(self.losses, theta[LOSSES : LOSSES + 2])
        utility = None if self.utility is None else PowerUtility(theta[ALPHA], theta[AVERSION])
        return Preference(gains, losses, utility, self.reference, self.costs)

    def log_likelihood(self, parameters: ArrayLike, choices: Choices) -> FloatArray:
        """The log likelihood of all choices under each parameter vector, (n, parameters) -> (n,).

        Args:
            parameters: Vectors of parameters, (n, parameters).
            choices: The choices.
        """
        from allais.people.model.likelihood import Likelihood

        return Likelihood(self, choices)(self._checked(parameters))

    def log_chances(self, parameters: ArrayLike, choices: Choices) -> FloatArray:
        """The log probability of each answer under each parameter vector, (n, parameters) -> (n, answers).

        Args:
            parameters: Vectors of parameters, (n, parameters).
            choices: The choices.
        """
        from allais.people.model.likelihood import Likelihood

        return Likelihood(self, choices).each(self._checked(parameters))

    def model(self, design: Design) -> Model:
        """The family as compiled code reads it, for one design."""
        gains, gains_curve = _kind(self.gains, design)
        if self.losses is None or (self.losses == "dual" and gains != FIXED_CURVE):
            losses, losses_curve = gains, gains_curve
        else:
            curve = self.gains.dual() if self.losses == "dual" else self.losses  # type: ignore[call-arg]
            losses, losses_curve = _kind(curve, design)
        probit, equivalents = isinstance(self.choice, Probit), self.choice.on != "values"
        return Model(
            gains, losses, int(self.losses == "dual"), gains_curve, losses_curve, int(probit), int(equivalents)
        )

    def __str__(self) -> str:
        return describe(self)

    def __repr__(self) -> str:
        return f"<Family with {', '.join(self.names) or 'nothing'} free>"

    def as_setting(self) -> dict[str, Any]:
        """The family as a setting in a file."""
        given = [[name, to_spec(wish)] for name, wish in self.given.items()]
        return {
            "type": "Family", "gains": _setting(self.gains), "losses": _setting(self.losses),
            "utility": _setting(self.utility), "choice": to_spec(self.choice), "reference": self.reference,
            "costs": self.costs, "stake": self.stake, "parameters": given, "prior": to_spec(self.joint_prior),
        }  # fmt: skip

    @staticmethod
    def from_setting(
        trust: tuple[str, ...], *, gains: Any, losses: Any, utility: Any, choice: Any, parameters: Any, prior: Any,
        **more: Any,
    ) -> Family:  # fmt: skip
        """The family that a file describes."""
        family = Family(_found(gains), _found(losses), _found(utility), choice, **more, **dict(parameters))
        return family if prior is None else family.with_prior(prior)


def _of_weight(role: str, weight: Any, starts: tuple[int, ...]) -> list[_Place]:
    """The free parameters of a weight: those of a type, and none of a weight that is given with its numbers."""
    if isinstance(weight, Weight):
        return []
    if not isinstance(weight, type) or weight not in WEIGHTS:
        known = ", ".join(kind.__name__ for kind in WEIGHTS)
        raise TypeError(f"gains and losses must be one of {known}, or a weight; got {weight!r}. Give one.")
    parameters = enumerate(WEIGHTS[weight][1])
    return [_Place(role, one, tuple(start + k for start in starts), None) for k, one in parameters]


def _weight(weight: Any, numbers: list[float]) -> Weight:
    return weight if isinstance(weight, Weight) else weight(*numbers[: len(WEIGHTS[weight][1])])


def _kind(weight: Any, design: Design) -> tuple[int, FloatArray]:
    """The number of a kind of weight, or the curve of a weight without free parameters."""
    if isinstance(weight, type):
        return WEIGHTS[weight][0], np.zeros(0)
    with np.errstate(divide="ignore"):
        return FIXED_CURVE, np.ascontiguousarray(weight.of_logs(design.log_p, design.log_q))


def _setting(thing: Any) -> Any:
    """A type by its name, which only a family's parts have; anything else as a setting."""
    return thing.__name__ if isinstance(thing, type) else to_spec(thing)


def _found(name: Any) -> Any:
    if not isinstance(name, str) or name == "dual":
        return name
    kind = kind_named(name)
    if kind is not PowerUtility and kind not in WEIGHTS:
        raise ValueError(f"unknown weight or utility {name!r} in a family. Update allais.")
    return kind


FAMILIES = {  # and what is free in them
    "cpt": "one weight for gains and losses (Tversky and Kahneman's), power utility, loss aversion",
    "cpt-two-weights": "the same with a weight of its own for losses",
    "prelec": "Prelec's weight, power utility, loss aversion",
    "utility": "no weights: power utility and loss aversion only",
}


def family_named(name: str, stakes: tuple[float, float], *, reference: float = 0.0, costs: bool = False) -> Family:
    """A family by its short name, for outcomes between two stakes.

    >>> family_named("prelec", (-50.0, 200.0)).names
    ('weight_alpha', 'utility_alpha', 'loss_aversion', 'temperature')
    """
    point: Any = {"stake": max(abs(end - reference) for end in stakes) / 2.0, "reference": reference, "costs": costs}
    if name == "cpt-two-weights":
        return Family(TverskyKahneman, TverskyKahneman, **point)
    if name == "prelec":
        return Family(Prelec, beta=1.0, **point)
    return Family(Identity() if name == "utility" else TverskyKahneman, **point)


NINETY = 1.6449  # standard deviations to either side: 90 % of a normal distribution


def describe(family: Family) -> str:
    """The weights, the utility and the choice rule, and each parameter with its prior."""
    if family.losses is None or family.losses == "dual":
        weights = f"gains and losses by {_named(family.gains)}" + (" and its dual" if family.losses else "")
    else:
        weights = f"gains by {_named(family.gains)}, losses by {_named(family.losses)}"
    utility = "a linear utility" if family.utility is None else PowerUtility.__name__
    lines = [f"Family: {weights}, {utility}, {type(family.choice).__name__} on {family.choice.on}"]
    prior = family.prior
    width = max(map(len, (*family.names, *family.fixed)), default=0)
    if family.names:
        ends = np.stack([prior.mean, prior.mean - NINETY * prior.spread, prior.mean + NINETY * prior.spread])
        for name, (median, low, high) in zip(family.names, family.natural(ends).T, strict=True):
            lines.append(f"  {name:<{width}}   median {median:.2g}, 90 % from {low:.2g} to {high:.2g}")
    lines += [f"  {name:<{width}}   {value:g}, fixed" for name, value in family.fixed.items()]
    return "\n".join(lines)


def short_name(family: Family) -> str:
    """A family by its weights and what is free.

    >>> from allais.people import Family
    >>> short_name(Family(alpha=0.88))
    'TverskyKahneman: weight_eta, loss_aversion, temperature'
    """
    weights = [_named(one) for one in (family.gains, family.losses) if one is not None]
    return f"{' and '.join(weights)}: {', '.join(family.names) or 'nothing free'}"


def _named(weight: Any) -> str:
    return weight.__name__ if isinstance(weight, type) else repr(weight)
