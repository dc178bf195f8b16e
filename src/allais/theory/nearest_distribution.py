"""K_inf: how far a finite lottery is from the nearest one on the same values that is worth more, or less."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, real
from allais.lotteries import Lottery
from allais.lotteries.base import came
from allais.numerics.k_inf import PRECISE, DistributionOfThree, k_inf_of_three
from allais.numerics.table import table_of
from allais.preferences import Preference
from allais.weights import Weight

HALVINGS = 60  # of a probability: to the last digit


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

    def value(self, shares: FloatArray) -> float:
        """The value of a distribution on the same outcomes."""
        tails = np.cumsum(shares[::-1])[::-1][1:]
        base = max(self.utility[0], 0.0) + min(self.utility[-1], 0.0)
        return float(base + self.part(slice(None), tails).sum())


def finite_distribution(preference: Preference, lottery: Lottery, support: ArrayLike | None) -> FiniteDistribution:
    """A finite lottery in utilities; `support` adds values that it might take."""
    finite = lottery.as_finite() if isinstance(lottery, Lottery) else None
    if finite is None:
        raise ValueError(
            f"a divergence is between finite lotteries; got {came(lottery)}. Give Discrete(...), or Empirical(samples)."
        )
    for weight in (preference.gains, preference.losses):
        if not weight.is_monotone:
            raise ValueError(f"a least divergence needs monotone weights; {weight!r} is not. Use another weight.")
    outcomes = np.asarray(finite.outcomes, dtype=np.float64)
    shares = finite.at_least - np.append(finite.at_least[1:], 0.0)
    more = np.zeros(0) if support is None else finite_array("support", support)
    utility = preference.utilities(np.append(outcomes, more))
    distinct, where = np.unique(utility, return_inverse=True)
    mass: FloatArray = np.bincount(
        where, weights=np.append(shares, np.zeros(more.size)), minlength=distinct.size
    ).astype(np.float64)
    return FiniteDistribution(distinct, mass, preference.gains, preference.losses)


def k_inf(
    preference: Preference,
    lottery: Lottery,
    value: float,
    *,
    at_most: bool = False,
    support: ArrayLike | None = None,
) -> float:
    """K_inf: the least KL divergence from a finite lottery to one on the same values worth at least `value`.

    It is exact for two and three values; for more, the best of local searches.

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
    return least_divergence(distribution, target)


def least_divergence(distribution: FiniteDistribution, target: float) -> float:
    """The least KL divergence to a distribution on the same values that is worth at least the target."""
    if distribution.value(distribution.shares) >= target - 1e-13 * abs(target):
        return 0.0
    if distribution.utility[-1] < target:
        return math.inf
    if distribution.utility[-1] == target:
        return _to_the_top(distribution)
    return _of_few(distribution, target) if distribution.utility.size <= 3 else _of_many(distribution, target)


def _to_the_top(distribution: FiniteDistribution) -> float:
    """The least divergence to a distribution worth its best value: infinite, unless a weight is flat at its end."""
    tail = max((_full_from(distribution, j) for j in range(distribution.utility.size - 1)), default=0.0)
    best = float(distribution.shares[-1])
    if tail > 1.0 - 1e-9:  # no flat end: only the sure thing is worth as much
        return math.inf
    return _divergence(np.array([1.0 - best, best]), np.array([1.0 - tail, tail]))


def _full_from(distribution: FiniteDistribution, j: int) -> float:
    """The least tail for which the stretch from v_j is worth as much as for a tail of 1."""
    below, enough, whole = np.zeros(1), np.ones(1), distribution.part(j, np.ones(1))
    for _ in range(HALVINGS):
        middle = 0.5 * (below + enough)
        below, enough = (below, middle) if distribution.part(j, middle)[0] >= whole[0] else (middle, enough)
    return float(enough[0])


def _divergence(p: FloatArray, q: FloatArray) -> float:
    """KL(p, q)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0.0, p * (np.log(p) - np.log(np.maximum(q, 0.0))), 0.0)
    return float(terms.sum())


def _of_few(distribution: FiniteDistribution, target: float) -> float:
    """Two or three values, by the search that policies use."""
    missing = 3 - distribution.utility.size
    values, shares = np.pad(distribution.utility, (0, missing), mode="edge"), np.pad(distribution.shares, (0, missing))
    three = DistributionOfThree(
        table_of(distribution.gains), table_of(distribution.losses), *values.tolist(), *shares.tolist()
    )
    return float(k_inf_of_three(three, target, PRECISE))


def _of_many(distribution: FiniteDistribution, target: float) -> float:
    """Local searches, from p mixed with the best value and from p tilted as for a mean."""
    best_only = np.eye(distribution.utility.size)[-1]

    def on_the_way(path: Callable[[float], FloatArray]) -> FloatArray:
        """The first distribution on a path from p to the best value that is worth the target."""
        share = scipy.optimize.brentq(lambda t: distribution.value(path(t)) - target, 0.0, 1.0)
        return path(min(share + 1e-9, 1.0))

    def tilted(t: float) -> FloatArray:
        raw = distribution.shares / np.maximum(
            1.0
            - t
            * (distribution.utility - distribution.utility[0])
            / (distribution.utility[-1] - distribution.utility[0]),
            1e-9,
        )
        return (1.0 - t**8) * raw / raw.sum() + t**8 * best_only

    starts = [on_the_way(lambda t: (1.0 - t) * distribution.shares + t * best_only), on_the_way(tilted)]
    found = [_divergence(distribution.shares, start) for start in starts]
    for start in starts:
        result = scipy.optimize.minimize(
            lambda q: _divergence(distribution.shares, np.maximum(q, 1e-12)),
            start,
            method="SLSQP",
            bounds=[(1e-12, 1.0)] * distribution.utility.size,
            constraints=[
                {"type": "eq", "fun": lambda q: q.sum() - 1.0},
                {"type": "ineq", "fun": lambda q: distribution.value(np.maximum(q, 0.0) / q.sum()) - target},
            ],
            options={"maxiter": 500, "ftol": 1e-12},
        )
        reached = distribution.value(np.maximum(result.x, 0.0) / result.x.sum())
        if reached >= target - 1e-7 * max(abs(target), 1.0):
            found.append(_divergence(distribution.shares, result.x / result.x.sum()))
    return min(found)
