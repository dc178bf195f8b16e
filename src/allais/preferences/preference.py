"""Preferences: what is maximised, and what a lottery is worth under it."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, real
from allais.errors import AccuracyWarning, DominanceWarning
from allais.lotteries import Lottery
from allais.lotteries.base import require_lottery
from allais.numerics import Parts, sample_parts
from allais.preferences import showing, utilities, valuation
from allais.preferences.explain import Explanation, explain
from allais.preferences.utilities import PowerUtility, Utility
from allais.rewards import SubGaussian
from allais.settings import read_preference, write_preference
from allais.weights import TverskyKahneman, Weight

PROMISED = 1e-9  # the relative error of a value, beyond which a warning says what it is


@dataclass(frozen=True)
class Preference:
    """What is maximised: the distorted value of gains and losses from a reference point.

    Args:
        gains: The weight of gains.
        losses: The weight of losses; by default the same.
        utility: How much a gain or a loss counts; None is linear, without loss aversion.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better: an outcome y is then the gain reference - y.

    >>> from allais import Discrete
    >>> people = Preference(TverskyKahneman(0.61))
    >>> people.value(Discrete({50: 0.1, 0: 0.9}))
    9.31512831885...
    >>> delays = Preference(TverskyKahneman(0.61), reference=80, costs=True)
    >>> delays.value(Discrete({71: 1.0}))
    9.0
    """

    gains: Weight
    losses: Weight = None  # type: ignore[assignment]
    utility: Utility | None = None
    reference: float = 0.0
    costs: bool = False

    rows, headline, _repr_html_ = showing.weight_rows, property(showing.in_a_sentence), showing.as_html
    to_frame, plot = showing.as_frame, showing.weights_drawn

    def __post_init__(self) -> None:
        if self.losses is None:
            object.__setattr__(self, "losses", self.gains)
        sides = [("gains", self.gains), ("losses", self.losses)]
        for name, weight in sides[: 1 if self.losses is self.gains else 2]:
            if not isinstance(weight, Weight):
                raise TypeError(
                    f"{name} must be a weight; got {weight!r}. "
                    "Use TverskyKahneman(), or Weight.from_function(f) for your own curve."
                )
            if not weight.is_monotone:
                warnings.warn(
                    f"{weight!r} is not monotone: a lottery that is better in every outcome may be valued "
                    "lower (first-order dominance can fail). Use a monotone weight unless you study this.",
                    DominanceWarning,
                    stacklevel=3,
                )
        advice = "Give the outcome that counts as neither gain nor loss."
        object.__setattr__(self, "reference", real("reference", self.reference, advice))
        if not isinstance(self.costs, bool):
            raise TypeError(f"costs must be True or False; got {self.costs!r}. True if a smaller outcome is better.")
        if self.utility is not None:
            utilities.check_utility(self.utility)

    @classmethod
    def tversky_kahneman(cls, *, reference: float = 0.0, costs: bool = False) -> Preference:
        """Cumulative prospect theory with the medians of Tversky & Kahneman (1992).

        Args:
            reference: The outcome that is neither a gain nor a loss.
            costs: Whether less is better.

        >>> Preference.tversky_kahneman().utility
        PowerUtility(alpha=0.88, loss_aversion=2.25)
        """
        gains, losses = TverskyKahneman(0.61), TverskyKahneman(0.69)
        return cls(gains, losses, PowerUtility(0.88, 2.25), reference, costs)

    @classmethod
    def rank_dependent(
        cls, weight: Weight, *, utility: Utility | None = None, reference: float = 0.0, costs: bool = False
    ) -> Preference:
        """Rank-dependent utility (Quiggin 1982): losses are weighted by the dual.

        It makes no difference which outcomes are gains: without a utility, a shift of all outcomes shifts the value by
        as much.

        Args:
            weight: The weight of gains, from the best outcome down.
            utility: How much a gain or a loss counts; None is linear.
            reference: The outcome whose utility is 0.
            costs: Whether less is better.

        >>> from allais import Discrete, Power
        >>> Preference.rank_dependent(Power(2)).value(Discrete({10: 0.5, -10: 0.5}))
        -5.0
        """
        return cls(weight, weight.dual(), utility, reference, costs)

    @classmethod
    def load(cls, path: str | Path, trust: Sequence[str] = ()) -> Preference:
        """Read a preference from a file that `save` wrote, that was fitted to choices, or that an interview wrote.

        Args:
            path: The file.
            trust: Modules outside of this library whose types and functions the file may name.

        >>> Preference(TverskyKahneman(0.61)).save("alice.json")
        >>> Preference.load("alice.json").gains
        TverskyKahneman(eta=0.61)
        """
        return read_preference(cls, Path(path), trust)

    def save(self, path: str | Path) -> None:
        """Write the preference to a file: readable JSON with a checksum.

        Args:
            path: The file; a crash while saving leaves the old one.
        """
        write_preference(Path(path), self, {})

    def in_frame_of(self, other: Preference, *, same_unit: bool = True) -> Preference:
        """The same person's preference, with the direction and the reference point of another preference.

        Direction and reference belong to what is decided about; weights and utility belong to the person and stay. A
        utility that depends on the unit (`is_scale_free` is False) means nothing in another unit.

        Args:
            other: The preference whose `costs` and `reference` are taken.
            same_unit: Whether outcomes are in the unit of this preference's utility; if not, and the utility depends on
                the unit, only its loss aversion is kept, as the ratio of a loss to a gain of 1.

        >>> minutes = expected_value(reference=60, costs=True)
        >>> alice = Preference.tversky_kahneman().in_frame_of(minutes)
        >>> alice.utility, alice.reference, alice.costs
        (PowerUtility(alpha=0.88, loss_aversion=2.25), 60.0, True)
        """
        utility = self.utility
        if not (same_unit or self.is_scale_free):
            loss, gain = np.asarray(utility(np.array([-1.0, 1.0])))  # type: ignore[misc]
            utility = PowerUtility(1.0, float(-loss / gain))
        if (self.reference, self.costs, self.utility) == (other.reference, other.costs, utility):
            return self
        moved = copy.copy(self)  # all that it is made of was checked when it was made
        for name, value in (("utility", utility), ("reference", other.reference), ("costs", other.costs)):
            object.__setattr__(moved, name, value)
        return moved

    @property
    def is_scale_free(self) -> bool:
        """Whether it prefers the same lotteries in every unit: with a linear or a power utility.

        >>> Preference.tversky_kahneman().is_scale_free, Preference(Identity(), utility=np.arctan).is_scale_free
        (True, False)
        """
        return self.utility is None or utilities.is_scale_free(self.utility)

    @cached_property
    def kappa(self) -> float:
        """sup over p of w+(p) + w-(1 - p), to 1e-9: how fast the value moves with a shift of outcomes.

        >>> round(Preference(TverskyKahneman(0.61), TverskyKahneman(0.69)).kappa, 4)
        1.0028
        """
        return valuation.kappa(self.gains, self.losses)

    # -- outcomes and their utilities -----------------------------------------------------------

    def utilities(self, outcomes: ArrayLike) -> FloatArray:
        """The utility of outcomes, as gains (positive) and losses (negative) from the reference.

        Args:
            outcomes: Outcomes in the user's unit.

        >>> Preference(Identity(), reference=80, costs=True).utilities([71.0, 100.0])
        array([  9., -20.])
        """
        outcome = np.asarray(outcomes, dtype=np.float64)
        if self.utility is None and not self.reference:  # nothing can overflow
            return 0.0 - outcome if self.costs else outcome - 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            gain = self.reference - outcome if self.costs else outcome - self.reference
            return gain if self.utility is None else np.asarray(self.utility(gain), dtype=np.float64)

    def finite_utilities(self, name: str, outcomes: FloatArray) -> FloatArray:
        """The utility of outcomes; refused if it overflows, because sums would be NaN."""
        utilities = self.utilities(outcomes)
        beyond = np.flatnonzero(~np.isfinite(utilities))
        if beyond.size:
            raise ValueError(
                f"the utility of {name} must be finite; that of {outcomes[beyond[0]]:g} is not. Rescale the {name}."
            )
        return utilities

    def outcomes_of(self, values: ArrayLike) -> FloatArray:
        """The outcomes that have the given utilities: the inverse of `utilities`.

        Args:
            values: Utilities, as `utilities` returns them.

        >>> Preference(Identity(), reference=80, costs=True).outcomes_of([9.0, -20.0])
        array([ 71., 100.])
        """
        gain = utilities.inverse(self.utility, np.asarray(values, dtype=np.float64))
        return self.reference - gain if self.costs else self.reference + gain

    def felt(self, outcomes: ArrayLike) -> FloatArray:
        """The former name of `utilities`."""
        warnings.warn("`felt` is now `utilities`. The old name goes in 0.4.0.", DeprecationWarning, stacklevel=2)
        return self.utilities(outcomes)

    def unfelt(self, values: ArrayLike) -> FloatArray:
        """The former name of `outcomes_of`."""
        warnings.warn("`unfelt` is now `outcomes_of`. The old name goes in 0.4.0.", DeprecationWarning, stacklevel=2)
        return self.outcomes_of(values)

    # -- values -----------------------------------------------------------------------------------

    def value(self, lottery: Lottery) -> float:
        """The distorted value mu of a lottery (equation 1, with two weights).

        It is exact for finite lotteries. For others it is accurate to 1e-9 of the gain plus the loss part, or comes
        with an `AccuracyWarning` that gives the bound. It is infinite where it diverges.

        Args:
            lottery: What is valued.

        Raises:
            UndefinedValueError: If the gain and the loss part are both infinite.

        >>> from allais import Normal
        >>> Preference(TverskyKahneman(0.61)).value(Normal(9, 1))
        8.73581631298...
        """
        parts = self.parts(lottery)
        size = parts.gain + parts.loss
        if parts.error > PROMISED * size or math.isinf(parts.error):
            warnings.warn(
                f"the value of {lottery!r} is {parts.value:.10g} to within {parts.error:.2g} only: its distorted "
                "tail is near divergence, or not resolved. Use parts(lottery).error, or a lighter tail.",
                AccuracyWarning,
                stacklevel=2,
            )
        return parts.value

    def parts(self, lottery: Lottery) -> Parts:
        """The gain part, the loss part (not negative) and a bound on the error of their difference.

        Args:
            lottery: What is valued.

        >>> from allais import Discrete
        >>> Preference(Identity()).parts(Discrete({10: 0.5, -4: 0.5}))
        Parts(gain=5.0, loss=2.0, error=0.0)
        """
        advice = "Wrap it, e.g. Discrete({50: 0.1, 0: 0.9}), or call estimate(samples)."
        require_lottery(lottery, "a value is that of a lottery", advice)
        return valuation.parts(self, lottery)

    def values(self, outcomes: ArrayLike, shares: ArrayLike) -> FloatArray:
        """The values of many finite lotteries over the same outcomes, at once.

        Args:
            outcomes: What the lotteries pay, in any order; equal ones are added up.
            shares: One row per lottery, with one entry per outcome: probabilities, or counts. A row is divided by its
                sum.

        Returns:
            One value per row: `value(Discrete(...))` of that row, to about 1e-12 of it.

        >>> people = Preference(TverskyKahneman(0.61))
        >>> people.values([0.0, 50.0], [[0.9, 0.1], [0.5, 0.5], [1, 3]]).round(4)
        array([ 9.3151, 21.032 , 28.4134])
        """
        return valuation.values(self, outcomes, shares)

    def certainty_equivalent(self, lottery: Lottery) -> float:
        """The sure outcome with the same value as the lottery, in the outcome's own unit.

        Args:
            lottery: What is valued.

        >>> from allais import Discrete
        >>> Preference(TverskyKahneman(0.61), reference=80, costs=True).certainty_equivalent(
        ...     Discrete({68: 0.99, 168: 0.01}))
        73.924415...
        """
        worth = self.value(lottery)
        if math.isinf(worth):
            return -worth if self.costs else worth
        sure = float(self.outcomes_of(np.float64(worth)))
        if not abs(sure) < 1e308:
            raise ValueError(
                f"a certainty equivalent needs a utility that reaches the value; got {worth:g} for {lottery!r}, "
                "which no sure outcome reaches. Use an unbounded utility."
            )
        return sure

    def estimate(self, samples: ArrayLike) -> float:
        """The distorted value of the empirical distribution of samples (Algorithm 1).

        Args:
            samples: Outcomes that were seen, in any order.

        >>> Preference(Power(0.5)).estimate([0.0, 0.0, 0.0, 8.0])
        4.0
        """
        return self.estimate_parts(samples).value

    def estimate_parts(self, samples: ArrayLike) -> Parts:
        """The gain and the loss part of `estimate`.

        Args:
            samples: Outcomes that were seen, in any order.
        """
        utilities = self.finite_utilities("samples", finite_array("samples", samples))
        return sample_parts(np.sort(utilities), self.gains, self.losses)

    def estimate_truncated(self, samples: ArrayLike, rewards: SubGaussian) -> float:
        """The truncated estimator for unbounded rewards (Proposition 1, corrected for the mean).

        Both integrals stop at M_n = m + sigma sqrt(log n), where m bounds how far the mean is from the reference.

        Args:
            samples: Outcomes that were seen, in any order.
            rewards: What is known about them.
        """
        if not isinstance(rewards, SubGaussian):
            raise TypeError(f"truncation needs SubGaussian rewards; got {rewards!r}. Use estimate(samples).")
        gain = self.utilities(rewards.check(samples))
        edge = self.truncation(rewards, gain.size)
        # integrals that stop at M_n are those of the clipped samples
        return sample_parts(np.sort(np.clip(gain, -edge, edge)), self.gains, self.losses).value

    def truncation(self, rewards: SubGaussian, n: int) -> float:
        """Where the truncated estimator stops: M_n = m + sigma sqrt(log n), with m = mean_bound + |reference|."""
        if self.utility is not None:
            raise ValueError(
                "the truncated estimator holds for outcomes themselves; got a preference with a utility. "
                "Bound the rewards (Bounded), or leave the utility out."
            )
        # docs/paper/errata.md, 11: the paper prints M_n without the mean
        return rewards.mean_bound + abs(self.reference) + rewards.scale * math.sqrt(math.log(n))

    def value_of_normal(self, mean: ArrayLike, sd: ArrayLike) -> FloatArray:
        """The values of normal distributions, from one table per weight.

        They are exact to 1e-10 of the standard deviation, and take under a microsecond each. The utility must be
        linear.

        Args:
            mean: The means, one number or an array.
            sd: The standard deviations, one number or an array, above 0.

        >>> Preference(TverskyKahneman(0.69)).value_of_normal([9.0, 10.0], 1.0).round(9)
        array([8.85693954, 9.85693954])
        """
        return valuation.of_normal(self, mean, sd)

    def explain(self, lottery: Lottery) -> Explanation:
        """Why a lottery is worth what it is: each outcome's probability and decision weight.

        Args:
            lottery: What is valued.

        >>> from allais import Discrete
        >>> print(Preference(TverskyKahneman(0.61)).explain(Discrete({50: 0.1, 0: 0.9})))
        outcome   probability   decision weight   contribution
              0        0.9000            0.8137         0.0000
             50        0.1000            0.1863         9.3151
          total        1.0000            1.0000         9.3151
        feels like 9.31513 for sure
        """
        return explain(self, lottery)
