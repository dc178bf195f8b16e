"""K_inf: how far a lottery is from the nearest one on the same values that is worth more, or less.

Lotteries are finite here. Policies of two and three values use the same search, compiled (`numerics/k_inf.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, real
from allais.lotteries import Lottery
from allais.numerics.k_inf import PRECISE, DistributionOfThree, k_inf_of_three
from allais.numerics.table import table_of
from allais.preferences import Preference
from allais.theory.arguments import finite_of
from allais.weights import Step, Weight

HALVINGS = 44  # of a probability: to the last digits
STEP = 1e-6  # of a probability, for the derivative of a weight
FLAT = 1e-9  # a slope that is added, so that no gradient is flat
BENDS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)  # quantiles from which, or up to which, a search looks at first
STARTS, TURNS, LEAST_TURNS = 3, 60, 4
ROUGH = 16  # halvings that tell which starts are good


class FiniteDistribution(NamedTuple):
    """A finite distribution of utilities: the value v_j has the probability `shares[j]`."""

    utility: FloatArray  # ascending
    shares: FloatArray
    gains: Weight
    losses: Weight

    def mirrored(self) -> FiniteDistribution:
        """The distribution of -X, which is worth minus as much with the weights swapped."""
        return FiniteDistribution(-self.utility[::-1], self.shares[::-1], self.losses, self.gains)

    def part(self, j: int | slice, tail: FloatArray) -> FloatArray:
        """What the stretch from v_j to v_{j+1}, or each of several, is worth if P(X >= v_{j+1}) is `tail`."""
        gain, loss = np.diff(np.maximum(self.utility, 0.0))[j], np.diff(np.minimum(self.utility, 0.0))[j]
        return np.asarray(
            gain * self.gains(np.clip(tail, 0.0, 1.0)) - loss * self.losses(np.clip(1.0 - tail, 0.0, 1.0))
        )

    def values(self, shares: FloatArray) -> FloatArray:
        """The values of distributions on the same outcomes, one in each row."""
        base = max(self.utility[0], 0.0) + min(self.utility[-1], 0.0)
        return np.asarray(base + self.part(slice(None), _tails(shares)).sum(axis=-1))

    def gradients(self, shares: FloatArray) -> FloatArray:
        """What a little more of each outcome adds to the value of each row, from 0 for the worst to 1 for the best."""
        tails = _tails(shares)
        low, high = np.maximum(tails - STEP, 0.0), np.minimum(tails + STEP, 1.0)
        rates = (self.part(slice(None), high) - self.part(slice(None), low)) / (high - low)
        return _from_0_to_1(np.cumsum(rates + FLAT * np.diff(self.utility), axis=-1))


def finite_distribution(preference: Preference, lottery: Lottery, support: ArrayLike | None) -> FiniteDistribution:
    """A finite lottery in utilities; `support` adds values that it might take."""
    finite = finite_of(lottery, "a divergence is between finite lotteries")
    for weight in (preference.gains, preference.losses):
        if not weight.is_monotone:
            raise ValueError(f"a least divergence needs monotone weights; {weight!r} is not. Use another weight.")
    shares = finite.at_least - np.append(finite.at_least[1:], 0.0)
    more = np.zeros(0) if support is None else finite_array("support", support)
    distinct, where = np.unique(preference.utilities(np.append(finite.outcomes, more)), return_inverse=True)
    mass = np.bincount(where, weights=np.append(shares, np.zeros(more.size)), minlength=distinct.size)
    return FiniteDistribution(distinct, np.asarray(mass, dtype=np.float64), preference.gains, preference.losses)


def k_inf(
    preference: Preference,
    lottery: Lottery,
    value: float,
    *,
    at_most: bool = False,
    support: ArrayLike | None = None,
) -> float:
    """K_inf: the least KL divergence from a finite lottery to one on the same values worth at least `value`.

    It is exact for two and three values, and for percentiles; else the best of several local searches, and so never
    too small.

    Args:
        preference: What values the lotteries.
        lottery: The finite lottery to start from.
        value: The value to reach, as a utility.
        at_most: Whether to look for lotteries worth at most `value` instead.
        support: Values that may occur beside those of the lottery.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> round(k_inf(people, Discrete({50: 0.1, 0: 0.9}), 12.0), 6)
    0.019052
    """
    distribution, target = finite_distribution(preference, lottery, support), real("value", value)
    if at_most:
        distribution, target = distribution.mirrored(), -target
    return float(least_divergences(distribution, np.array([target]))[0])


def least_divergences(distribution: FiniteDistribution, targets: FloatArray) -> FloatArray:
    """The least KL divergences to distributions on the same values that are worth at least the targets."""
    there, best = float(distribution.values(distribution.shares)), distribution.utility[-1]
    found = np.where(targets > best, math.inf, np.zeros(targets.shape))
    missing = targets > there + 1e-13 * np.abs(targets)
    between = missing & (targets < best)
    if isinstance(distribution.gains, Step) and distribution.losses == distribution.gains.dual():
        found[missing & (targets <= best)] = _of_quantile(distribution, targets[missing & (targets <= best)])
        return found
    found[missing & (targets == best)] = _to_the_top(distribution) if (targets == best).any() else 0.0
    if between.any():
        few = distribution.utility.size <= 3
        found[between] = (_of_few if few else _of_many)(distribution, targets[between])
    return found


def _of_quantile(distribution: FiniteDistribution, targets: FloatArray) -> FloatArray:
    """A percentile is worth c or more where P(X >= c) reaches its level: the binomial divergence at one threshold."""
    assert isinstance(distribution.gains, Step)
    above = np.append(np.cumsum(distribution.shares[::-1])[::-1], 0.0)
    p = np.minimum(above[np.searchsorted(distribution.utility, targets)], 1.0)
    q = distribution.gains.at
    return np.where(p >= q, 0.0, scipy.special.xlogy(p, p / q) + scipy.special.xlogy(1.0 - p, (1.0 - p) / (1.0 - q)))


class InterpolatedDivergence:
    """K- of the (mirrored) leader, which all rivals share, at values between its own and a least one."""

    def __init__(self, mirrored: FiniteDistribution, most: float, least: float, nodes: int) -> None:
        self.lowest = -float(mirrored.utility[-1])
        self.mirrored, self._most = mirrored, most
        self._root: Callable[[FloatArray], FloatArray] | None = None
        if self.lowest < least:  # else it grows without end towards the lowest value
            depths = np.append(0.0, (most - least) * np.exp(np.linspace(-9.0, 0.0, nodes)))
            roots = np.sqrt(least_divergences(mirrored, depths - most))
            self._root = scipy.interpolate.PchipInterpolator(depths, roots)

    def __call__(self, values: FloatArray) -> FloatArray:
        if self._root is None:
            return least_divergences(self.mirrored, -values)
        return np.asarray(self._root(self._most - values)) ** 2


def percentile_costs(
    mirrored: FiniteDistribution, up: FiniteDistribution, most: float, least: float, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """K- of a (mirrored) leader and K+ of a rival, where two percentiles may meet: they jump at outcomes only."""
    jumps = np.concatenate([-mirrored.utility, up.utility - tolerance])
    values = np.unique(np.append(jumps[(least <= jumps) & (jumps <= most)], [least, most]))
    values = np.append(values, 0.5 * (values[1:] + values[:-1]))
    return least_divergences(mirrored, -values), least_divergences(up, values + tolerance)


def _to_the_top(distribution: FiniteDistribution) -> float:
    """The least divergence to a distribution worth its best value: infinite, unless a weight is flat at its end."""
    tail = max((_full_from(distribution, j) for j in range(distribution.utility.size - 1)), default=0.0)
    best = float(distribution.shares[-1])
    if tail > 1.0 - 1e-9:  # no flat end: only the sure thing is worth as much
        return math.inf
    return float(_divergences(np.array([1.0 - best, best]), np.array([1.0 - tail, tail])))


def _full_from(distribution: FiniteDistribution, j: int) -> float:
    """The least tail for which the stretch from v_j is worth as much as for a tail of 1."""
    below, enough, whole = np.zeros(1), np.ones(1), distribution.part(j, np.ones(1))
    for _ in range(HALVINGS):
        middle = 0.5 * (below + enough)
        below, enough = (below, middle) if distribution.part(j, middle)[0] >= whole[0] else (middle, enough)
    return float(enough[0])


def _divergences(p: FloatArray, q: FloatArray) -> FloatArray:
    """KL(p, q) for each row of q."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(p > 0.0, p * (np.log(p) - np.log(q)), 0.0).sum(axis=-1))


def _of_few(distribution: FiniteDistribution, targets: FloatArray) -> list[float]:
    """Two or three values, by the search that policies use."""
    missing = 3 - distribution.utility.size
    values, shares = np.pad(distribution.utility, (0, missing), mode="edge"), np.pad(distribution.shares, (0, missing))
    three = DistributionOfThree(
        table_of(distribution.gains), table_of(distribution.losses), *values.tolist(), *shares.tolist()
    )
    return [float(k_inf_of_three(three, target, PRECISE)) for target in targets.tolist()]


def _of_many(distribution: FiniteDistribution, targets: FloatArray) -> FloatArray:
    """Fixed points of q_k = p_k / (b - s A_k), where A is the gradient of the value at q: Lagrange's conditions.

    For a mean, A is the outcome itself, and this is the solution of Honda and Takemura (2010). In general there are
    several: the search begins with gains from, or up to, various outcomes, and goes on from the best of these.
    """
    p, outcomes = distribution.shares, _from_0_to_1(np.diff(distribution.utility).cumsum())
    bends = outcomes[np.minimum(np.searchsorted(p.cumsum(), BENDS), p.size - 1)]
    bends = np.unique(bends[(bends > 0.0) & (bends < 1.0)])[:, None]
    gains = np.vstack([outcomes, np.maximum(outcomes - bends, 0.0), np.minimum(outcomes, bends)]) + FLAT * outcomes
    gains = np.vstack([gains / gains[:, -1:], distribution.gradients(np.vstack([p, 0.5 * p + 0.5 * _top(p)]))])
    at = np.repeat(targets, len(gains))
    q = _first_worth(distribution, np.tile(gains, (targets.size, 1)), at, ROUGH)
    divergences = _divergences(p, q).reshape(targets.size, -1)
    best = np.full(targets.size, math.inf)
    chosen = np.argsort(divergences, axis=1)[:, :STARTS] + len(gains) * np.arange(targets.size)[:, None]
    q, at = q[chosen.ravel()], targets.repeat(chosen.shape[1])
    gradient = distribution.gradients(q)
    for turn in range(TURNS):
        q = _first_worth(distribution, gradient, at, HALVINGS)
        before, best = best, np.minimum(best, _divergences(p, q).reshape(targets.size, -1).min(axis=1))
        if turn >= LEAST_TURNS and (best >= before * (1.0 - 1e-7)).all():
            break
        weight = min(1.0, 4.0 / (turn + 1.0))  # averages settle where a weight has a kink
        gradient = (1.0 - weight) * gradient + weight * distribution.gradients(q)
    return best


def _first_worth(
    distribution: FiniteDistribution, gradients: FloatArray, targets: FloatArray, halvings: int
) -> FloatArray:
    """In each row, the first q on the way p_k / (1 - s A_k), and then to the best outcome, that is worth the target."""
    p = distribution.shares

    def on_the_way(s: FloatArray) -> FloatArray:
        raw = p / np.maximum(1.0 - np.minimum(s, 1.0)[:, None] * gradients, 1e-15)
        further = np.maximum(s - 1.0, 0.0)[:, None]
        return np.asarray((1.0 - further) * raw / raw.sum(axis=1, keepdims=True) + further * _top(p))

    below, enough = np.zeros(targets.size), np.full(targets.size, 2.0)
    for _ in range(halvings):
        middle = 0.5 * (below + enough)
        reached = distribution.values(on_the_way(middle)) >= targets
        below, enough = np.where(reached, below, middle), np.where(reached, middle, enough)
    return on_the_way(enough)


def _tails(shares: FloatArray) -> FloatArray:
    """The probability of each value but the lowest, or more."""
    return np.cumsum(shares[..., ::-1], axis=-1)[..., ::-1][..., 1:]


def _top(p: FloatArray) -> FloatArray:
    return np.eye(1, p.size, p.size - 1)[0]


def _from_0_to_1(sums: FloatArray) -> FloatArray:
    sums = sums / sums[..., -1:]
    return np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
