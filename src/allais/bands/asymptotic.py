"""The asymptotic band: the central limit theorem for distorted values, for rewards without bounds.

Nothing here is proven for a finite number of samples: docs/theory/asymptotic.md has the argument, and where it fails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, share
from allais._kernels import by_reference, kernel, routine
from allais.bands._distribution_bounds import memory_of_counts
from allais.bands._order_statistics import QuantileRule, quantile_rule
from allais.bands.base import Interval, bounds_of, refresh, widen
from allais.bands.holder import variation
from allais.numerics.table import distortion_of
from allais.preferences import Preference
from allais.preferences.named import level_of
from allais.rewards import Rewards, SubGaussian
from allais.samples.censored import Places, Sweep
from allais.samples.cuts import CensoredSample
from allais.samples.influence import SUMS, influence
from allais.samples.memory import VALUE_SLACK, Worth
from allais.weights import Identity

LEAST = 10  # samples of an arm before its variance is believed, however common its rarest event
FAR = 45.0  # no multiple of a standard error is larger: its chance is below e^-1000
SERIES = 6.0  # from here on the normal tail is its asymptotic series, to 1e-4
HALVINGS = 50  # of [0, FAR], to 4e-14
DOUBLINGS = 100  # of a ratio's standard error, until the ratio is refuted
AMOUNT, VARIANCE, THIRD, UNITS = 0, 1, 2, 3  # of an estimate


@dataclass(frozen=True)
class Asymptotic:
    """value +- m standard errors, from the influence function of what was seen: no bounds are needed, none is proven.

    No arm is judged before it had log(1/delta') / rarest samples: the probability that an event of probability `rarest`
    was not seen is then at most delta'. An interval reaches further toward the side on which outcomes are skewed, where
    the normal approximation comes late. An interval of a percentile (`quantile`) goes from one order statistic to
    another and holds for every distribution, however few samples there are.

    Args:
        rarest: The probability of the rarest event that matters; rarer ones may be missed. Of no matter to percentiles.

    >>> gains = [50] * 40 + [0] * 360
    >>> Asymptotic(rarest=0.05).interval(Preference(TverskyKahneman(0.61)), None, gains)
    Interval(low=7.7599..., value=9.3151..., high=11.0394...)
    >>> Asymptotic(rarest=0.001).interval(Preference(TverskyKahneman(0.61)), None, gains)  # too few to judge
    Interval(low=-inf, value=9.3151..., high=inf)
    """

    rarest: float

    promise: ClassVar[str] = "asymptotic"
    needs_rewards: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rarest", rarest_event("rarest", self.rarest))

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> AsymptoticRule | QuantileRule:
        """What the kernels read, for one look at the data."""
        return asymptotic_rule(self.rarest, preference, rewards, always=False)

    def anytime_rule(self, preference: Preference, rewards: Sequence[Rewards]) -> AsymptoticRule | QuantileRule:
        """What the kernels read, for an interval that may be looked at after every sample."""
        return asymptotic_rule(self.rarest, preference, rewards, always=True)

    def interval(
        self,
        preference: Preference,
        rewards: Rewards | None,
        samples: ArrayLike | CensoredSample,
        confidence: float = 0.95,
    ) -> Interval:
        """The value of samples, with an interval that holds the true one about as often as the confidence says.

        It is infinite for fewer samples than `rarest` asks for. That of a `CensoredSample` also rests on the assumption
        that cuts have nothing to do with outcomes, and has Greenwood's variance. It is open where what was cut off
        leaves too few outcomes to know: what lies beyond may be anything up to the bound of the rewards, so without
        bounds a mean has an infinite end there. Percentiles below stay finite.

        Args:
            preference: What is maximised.
            rewards: What is known about the outcomes; None if nothing is.
            samples: Outcomes that were seen, in any order.
            confidence: The probability that the interval holds the true value, in (0, 1).
        """
        exponent = math.log(2.0 / (1.0 - share("confidence", confidence, advice="Give a share of 1, such as 0.95.")))
        if isinstance(samples, CensoredSample):
            if rewards is not None:
                samples.completed(rewards)  # refuses what cannot occur
            at, counts = np.unique(samples.exact, return_counts=True)
            value, places = samples.value(preference), samples.places()
            return counted_interval(self, preference, rewards, at, counts, places, value, exponent)
        seen = finite_array("rewards", samples) if rewards is None else rewards.check(samples)
        at, counts = np.unique(seen, return_counts=True)
        value = preference.estimate(seen)
        return counted_interval(self, preference, rewards, at, counts, None, value, exponent)


def counted_interval(
    band: Asymptotic, preference: Preference, rewards: Rewards | None, at: FloatArray, counts: ArrayLike,
    places: Places | None, value: float, exponent: float,
) -> Interval:  # fmt: skip
    """The interval of outcomes that were counted; `places` also have those that are not finished."""
    known, finished = [] if rewards is None else [rewards], np.asarray(counts)
    low, high, start = -math.inf, math.inf, max(math.ceil(exponent / -math.log1p(-band.rarest)), LEAST)
    if places is None:
        memory, ends = memory_of_counts(preference, [(at, finished.astype(np.int64))]), np.zeros((2, 1))
        memory.value[0] = value
        rule = band.rule(preference, known)
        widen(rule, rule.kept(1), memory, exponent, ends[0], ends[1])
        low, high = ends[:, 0].tolist()
    elif finished.sum() >= (LEAST if level_of(preference) is not None else start):
        bounds = (-math.inf, math.inf) if rewards is None else rewards.support
        times = float(multiple(exponent, False))
        low, high = greenwood_ends(preference, places, times, exponent, band.rarest, bounds)
    found = Interval(low, value, high)
    return found if rewards is None else found.within(bounds_of(preference, rewards))


def rarest_event(name: str, given: float) -> float:
    """The probability of an event, or an error that says what it is for."""
    return share(name, given, advice="Give the probability of the rarest event that matters, such as 0.01.")


def require_unbroken(preference: Preference) -> None:
    """Refuse weights for which the influence of an outcome has no bound: a jump, or an infinite derivative inside.

    A percentile alone has an interval of its own; a jump beside other weights has none without an estimated density.

    >>> require_unbroken(Preference(Weight.from_function(lambda p: (p >= 0.05) * 1.0, name="percentile")))
    Traceback (most recent call last):
        ...
    ValueError: an asymptotic answer needs weights without jumps, and without an infinite derivative inside (0, 1); \
    Weight.from_function(percentile) has one at 0.05. Use quantile(...) alone, or declare bounds, and use WLUCB or NPTS.
    """
    for weight in (preference.gains, preference.losses):
        if weight.breaks:
            raise ValueError(
                "an asymptotic answer needs weights without jumps, and without an infinite derivative inside (0, 1); "
                f"{weight!r} has one at {weight.breaks[0]:g}. Use quantile(...) alone, or declare bounds, and "
                "use WLUCB or NPTS."
            )


class AsymptoticRule(NamedTuple):
    """The asymptotic band: how values are computed, and how rare an event may be missed."""

    worth: Worth  # the weights; no arm is truncated
    rarest: float
    variation: float  # of the weights: what cells of outcomes hide is their reach times this, at most
    always: bool  # whether an interval must hold in all rounds at once

    def kept(self, n_arms: int) -> AsymptoticKept:
        """Nothing is known about the arms yet."""
        return AsymptoticKept(
            np.full(n_arms, np.nan), np.zeros(n_arms), np.zeros((n_arms, SUMS)), np.zeros((n_arms, 2, 0))
        )

    def least(self, exponent: float) -> int:
        """How many samples an arm needs before it has an interval."""
        return int(least_samples(self, exponent))


@by_reference
class AsymptoticKept(NamedTuple):
    """What is known of each arm's influence function."""

    variance: FloatArray  # NaN after the memory changed, (n_arms,)
    third: FloatArray  # the third central moment
    sums: FloatArray  # scratch, (n_arms, SUMS)
    ladder: FloatArray  # no room for one, since no outcome is looked at by itself; (n_arms, 2, 0)


def asymptotic_rule(
    rarest: float, preference: Preference, rewards: Sequence[Rewards], *, always: bool
) -> AsymptoticRule | QuantileRule:
    """What the kernels read: of a percentile order statistics, else the influence function."""
    if any(isinstance(known, SubGaussian) for known in rewards):
        raise ValueError(
            "the asymptotic band takes values as they are, and SubGaussian truncates them; got SubGaussian. "
            "Leave rewards out."
        )
    percentile = quantile_rule(preference, rewards, always=always)
    if percentile is not None:
        return percentile
    require_unbroken(preference)
    gains, losses = preference.gains, preference.losses
    undistorted = isinstance(gains, Identity) and isinstance(losses, Identity)
    worth = Worth(distortion_of(gains), distortion_of(losses), np.zeros(0), np.zeros(0), False, undistorted)
    return AsymptoticRule(worth, rarest, max(variation(gains), variation(losses)), always)


def _log_crossing(a, always):
    """The log of the chance that a normal variable, or a Brownian motion from a late start on, leaves +- a."""
    if a > SERIES:
        log_density = -0.5 * a * a - 0.5 * math.log(2.0 * math.pi)
        tail = (1.0 - (1.0 - 3.0 / (a * a)) / (a * a)) / a
        return math.log(2.0) + log_density + math.log(tail + (a if always else 0.0))
    density = math.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi)
    return math.log(math.erfc(a / math.sqrt(2.0)) + (2.0 * a * density if always else 0.0))


log_crossing = kernel(_log_crossing)


@kernel
def multiple(exponent, always):
    """a: the chance of leaving +- a is e^-exponent, at one time or, with `always`, at any time from the start on.

    In all rounds from the start m on, the multiple is sqrt(a^2 + log(n / m)) (Robbins and Siegmund 1970).
    """
    low, high = 0.0, FAR
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if log_crossing(middle, always) > -exponent:
            low = middle
        else:
            high = middle
    return high


@kernel
def clt_exponent(band, exponent):
    """Half of the failures are left to the central limit theorem, and half to events that were not seen.

    At one time intervals may fail with probability 2 e^-exponent, in all rounds with e^-exponent.
    """
    return exponent + (math.log(2.0) if band.always else 0.0)


@kernel
def least_samples(band, exponent):
    """n_0 with (1 - rarest)^n_0 <= delta': after so many samples an event of that probability was seen."""
    return max(math.ceil(clt_exponent(band, exponent) / -math.log1p(-band.rarest)), LEAST)


def half_widths(squared, variance, third, freedom):
    """How far below and above an estimate its value may lie, by the variance and third cumulant of the estimate.

    `squared` is the square of the multiple of a normal distribution. Student's correction is that of Cornish and
    Fisher, to first order; the skew's is Johnson's (1978), and only ever widens.
    """
    if variance <= 0.0:
        return 0.0, 0.0
    half = math.sqrt(squared * variance) * (1.0 + (squared + 1.0) / (4.0 * freedom))
    shift = third * (1.0 + 2.0 * squared) / (6.0 * variance)
    return half + max(-shift, 0.0), half + max(shift, 0.0)


allowance = kernel(half_widths)


@kernel
def _shifted(pair, ratio, squared):
    """The ends of the second amount less `ratio` times the first (Welch's degrees of freedom)."""
    first, second = ratio * ratio * pair[0, VARIANCE], pair[1, VARIANCE]
    spread = first * first / (pair[0, UNITS] - 1.0) + second * second / (pair[1, UNITS] - 1.0)
    freedom = max((first + second) ** 2 / max(spread, 1e-300), 1.0)
    down, up = allowance(squared, first + second, pair[1, THIRD] - ratio**3 * pair[0, THIRD], freedom)
    value = pair[1, AMOUNT] - ratio * pair[0, AMOUNT]
    return value - down, value + up


@routine
def difference_ends(pair, squared):
    """The ends of the second amount less the first.

    Args:
        pair: Amount, variance and third cumulant of two estimates, and their units, (2, 4).
        squared: The square of the multiple of a normal distribution.
    """
    return _shifted(pair, 1.0, squared)


@routine
def ratio_ends(pair, squared):
    """The ends of the second amount as a multiple of the first, which is positive for sure (Fieller 1954)."""
    ratio = pair[1, AMOUNT] / pair[0, AMOUNT]
    error = np.sqrt(squared * (pair[1, VARIANCE] + ratio * ratio * pair[0, VARIANCE])) / pair[0, AMOUNT]
    low, high = ratio, ratio
    for side in range(2):
        inside, outside = 0.0, error
        for _ in range(DOUBLINGS):  # outward until a ratio is refuted
            at = ratio + (2 * side - 1) * outside
            ends = _shifted(pair, at, squared)
            if (side == 0 and ends[0] > 0.0) or (side == 1 and ends[1] < 0.0):
                break
            inside, outside = outside, 2.0 * outside
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + outside)
            ends = _shifted(pair, ratio + (2 * side - 1) * middle, squared)
            if (side == 0 and ends[0] > 0.0) or (side == 1 and ends[1] < 0.0):
                outside = middle
            else:
                inside = middle
        if side == 0:
            low = ratio - outside
        else:
            high = ratio + outside
    return low, high


@routine
def log_chance(pair, clock):
    """log of the chance of as much at any time, if the two amounts were equal: where 0 is at an end."""
    low, high = 0.0, FAR
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        ends = _shifted(pair, 1.0, middle * middle + clock)
        if ends[0] <= 0.0 <= ends[1]:
            high = middle
        else:
            low = middle
    return min(np.log(2.0) + log_crossing(high, True), 0.0)


@refresh.of(AsymptoticRule)
def _(band, kept, memory, arm):
    kept.variance[arm] = np.nan


@widen.of(AsymptoticRule)
def _(band, kept, memory, exponent, low, high):
    start = least_samples(band, exponent)
    a = multiple(clt_exponent(band, exponent), band.always)
    for arm in range(low.size):
        pulls = memory.pulls[arm]
        if pulls < start:
            low[arm], high[arm] = -np.inf, np.inf
            continue
        if np.isnan(kept.variance[arm]):
            found = influence(band.worth, memory, arm, kept.sums[arm], kept.ladder[arm])
            kept.variance[arm], kept.third[arm] = found
        squared = a * a + (math.log(pulls / start) if band.always else 0.0)
        variance, third = kept.variance[arm] / pulls, kept.third[arm] / (pulls * pulls)
        down, up = allowance(squared, variance, third, pulls - 1.0)
        hidden = band.variation * memory.slack[arm, VALUE_SLACK]
        low[arm], high[arm] = memory.value[arm] - down - hidden, memory.value[arm] + up + hidden


def greenwood_ends(
    preference: Preference, places: Places, multiple: float, exponent: float, rarest: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """The value of a product-limit estimate with its standard error, and open where nothing is known.

    What is estimated ends where too few outcomes could have been seen: after the last cut, if no outcome was seen
    there, or where so many were cut off before that an event of probability `rarest` may not have been seen, unless
    less than that lies beyond. What lies beyond may be anything up to the bound on that side.

    Args:
        preference: What is maximised.
        places: Outcomes and cuts, which must lie on one side.
        multiple: How many standard errors the interval reaches.
        exponent: An event of probability `rarest` was not seen with a chance of e^-exponent at most.
        rarest: The probability of the rarest event that matters.
        bounds: The least and the greatest outcome that can occur; infinite if unknown.
    """
    found = Sweep.of(preference, places)
    if found is None:
        raise ValueError(
            "an asymptotic interval needs cuts on one side, all at_least or all at_most; got both. Use DKW() or KL()."
        )
    level = level_of(preference)
    if level is not None:  # a percentile needs outcomes beyond it, however rare they are
        rarest = 1.0 - level if found.upward else level
    start = max(math.ceil(exponent / -math.log1p(-rarest)), LEAST)
    known = found.known(start, rarest)
    low, high = _product_limit_ends(found, multiple)
    if known < found.at.size:
        least, most = _product_limit_ends(found.open_from(known, bounds[1] if found.upward else bounds[0]), multiple)
        low, high = (low, max(most, high)) if found.rises else (min(least, low), high)
    return float(low), float(high)


def _product_limit_ends(sweep: Sweep, multiple: float) -> tuple[float, float]:
    """The ends by the skew of the estimate, or for a weight that jumps by those of Brookmeyer and Crowley (1982)."""
    if sweep.preference.gains.breaks or sweep.preference.losses.breaks:
        return sweep.moved(multiple)
    value = sweep.value(sweep.masses)
    if math.isinf(value):
        return value, value
    down, up = half_widths(multiple**2, *sweep.cumulants(), max(float(sweep.seen.sum()) - 1.0, 1.0))
    return value - down, value + up
