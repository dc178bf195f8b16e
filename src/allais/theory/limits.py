"""What no policy can beat: the limits of regret and of samples that follow from K_inf.

Lotteries are finite here, and their values are known: these say which distributions a policy must tell apart.
`k_inf` says how far a lottery is from the nearest one on the same values that is worth more, or less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from allais.theory.arguments import Drawn, lotteries_of
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


NODES = 81  # values at which a divergence is computed exactly; between them its root is interpolated
DEPTH = 20.0  # how near to its lowest value a leader is looked at: e^-20 of the way, beyond which digits are lost


def regret_slope(
    preference: Preference, lotteries: Sequence[Lottery] | Drawn, support: ArrayLike | None = None
) -> float:
    """The regret per log n that no consistent policy beats in the long run (Lai and Robbins 1985).

        sum_k Delta_k / K_inf(F_k, mu_max)

    Args:
        preference: What is maximised.
        lotteries: Finite lotteries, in a list or a `Bandit`.
        support: The values that outcomes are known to be among; by default each arm's own values.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> round(regret_slope(people, [Discrete({1: .1, .2: .1, 0: .8}), Discrete({1: .001, .2: .8, 0: .199})]), 3)
    2.875
    """
    lotteries = lotteries_of(lotteries)
    values = [preference.value(lottery) for lottery in lotteries]
    best = max(values)
    return float(
        sum(
            (best - value) / k_inf(preference, lottery, best, support=support)
            for lottery, value in zip(lotteries, values, strict=True)
            if value < best
        )
    )


class CharacteristicTime(NamedTuple):
    """T*, and the shares of samples that reach it.

    Attributes:
        time: T*.
        shares: The share of samples that each arm gets.
    """

    time: float
    shares: tuple[float, ...]


def characteristic_time(
    preference: Preference, lotteries: Sequence[Lottery] | Drawn, support: ArrayLike | None = None
) -> CharacteristicTime:
    """The time T*: a policy that is wrong with probability at most delta needs T* log(1/2.4 delta) samples on average.

    This is the limit of Garivier and Kaufmann (2016) for distorted values. With the leader i, the best shares s of the
    samples, the rival j that is hardest to tell from it, and the value c where the two meet most cheaply,

        1 / T = max_s min_j min_c (s_i K_low(F_i, c) + s_j K_high(F_j, c))

    Where the leader's lowest value m lies above a rival's, K_low(F_i, c) is infinite for c <= m: the two can meet above
    m only. The leader's share may then be arbitrarily small, and without any, T* is the sum over j of 1/K_high(F_j, m).
    That limit is T* for a leader that always pays the same; for any other, a small share makes T* a little smaller. A
    rival whose best value is m or less can never be the best arm and needs no samples; if there is no other, T* is 0.

    Args:
        preference: What is maximised.
        lotteries: Finite lotteries, in a list or a `Bandit`.
        support: The values that outcomes are known to be among; by default each arm's own values.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> setup = [Discrete({1: 0.1, 0.2: 0.1, 0: 0.8}), Discrete({1: 0.001, 0.2: 0.8, 0: 0.199})]
    >>> round(characteristic_time(people, setup).time * np.log(1 / (2.4 * 0.05)))
    273
    """
    lotteries = lotteries_of(lotteries)
    values = np.array([preference.value(lottery) for lottery in lotteries])
    leader = int(np.argmax(values))
    rivals = [k for k in range(values.size) if k != leader]
    if not rivals or (values[rivals] >= values[leader]).any():
        raise ValueError("the characteristic time needs one best arm among two or more; got none. Drop an arm.")
    distributions = [finite_distribution(preference, lottery, support) for lottery in lotteries]
    costs = [_costs(distributions[leader].mirrored(), distributions[k], values[leader], values[k]) for k in rivals]
    # rivals that no distribution on their own values makes as good as the leader at its worst need no samples
    beatable = [bool(np.isfinite(down + up).any()) for down, up in costs]
    if not any(beatable):
        return CharacteristicTime(0.0, tuple(np.full(values.size, 1.0 / values.size).tolist()))
    reachable = min(float(down[0]) for down, _ in costs)  # with all samples on the rivals

    def samples(y: float) -> FloatArray:
        """Samples of each rival, per sample of the leader, that make each cost y."""
        return np.array([_share_for(down, up, y) for down, up in costs])

    def rate(y: float) -> float:
        return float(y / (1.0 + samples(y).sum()))

    if math.isfinite(reachable):
        found = scipy.optimize.minimize_scalar(
            lambda s: -rate(s * reachable), bounds=(1e-6, 1.0 - 1e-9), method="bounded"
        )
        most, ratios = -float(found.fun), samples(float(found.x) * reachable)
        shares = np.insert(ratios, leader, 1.0) / (1.0 + ratios.sum())
    else:
        most, shares = _without_end(rate, samples, np.array([float(up[0]) for _, up in costs]), leader)
    return CharacteristicTime(1.0 / most, tuple(shares.tolist()))


def _without_end(
    rate: Callable[[float], float], samples: Callable[[float], FloatArray], at_worst: FloatArray, leader: int
) -> tuple[float, FloatArray]:
    """The greatest rate where the leader's share may fall to zero, and the shares that reach it.

    `at_worst` are K+(F_j, m). As y grows, x_j(y) is y / K+(F_j, m) less a part that grows like log y for a leader of
    several values, so the rate rises above its limit before it falls to it; how far above is lost to rounding where
    y is huge, and then the limit itself is the answer.
    """
    exponents = np.linspace(-14.0, DEPTH, 681)
    rates = np.array([rate(math.exp(u)) for u in exponents.tolist()])
    at = int(np.argmax(rates))
    around = float(exponents[max(at - 1, 0)]), float(exponents[min(at + 1, exponents.size - 1)])
    found = scipy.optimize.minimize_scalar(lambda u: -rate(math.exp(u)), bounds=around, method="bounded")
    with np.errstate(divide="ignore"):
        alone = 1.0 / at_worst  # samples of each rival, with none of the leader
    limit = float(1.0 / alone.sum())
    if -float(found.fun) <= limit * (1.0 + 1e-9):
        return limit, np.insert(alone, leader, 0.0) * limit
    ratios = samples(math.exp(float(found.x)))
    return -float(found.fun), np.insert(ratios, leader, 1.0) / (1.0 + ratios.sum())


def _costs(
    down: FiniteDistribution, up: FiniteDistribution, most: float, least: float
) -> tuple[FloatArray, FloatArray]:
    """K- of the (mirrored) leader and K+ of the rival at values c between theirs, from the lowest that both can have.

    That lowest is the rival's own value, or the leader's lowest value m if m is higher. There K- is infinite and grows
    like -log(c - m), so that c moves by equal steps of this logarithm.
    """
    steps, fine = (np.linspace(0.0, 1.0, count) for count in (NODES, 25 * NODES))
    lowest = -float(down.utility[-1])
    if math.isfinite(least_divergence(down, -least)):
        values = least + (most - least) * steps
    else:
        at_lowest = np.array([math.inf]), np.array([least_divergence(up, lowest)])
        if lowest >= most:  # the leader cannot be worth less than it is
            return np.append(at_lowest[0], 0.0), np.append(at_lowest[1], at_lowest[1])
        values = lowest + (most - lowest) * np.exp(DEPTH * (steps - 1.0))
    values[-1] = most
    tables = []
    for divergences in (
        np.array([least_divergence(down, -c) for c in values.tolist()]),
        np.array([least_divergence(up, c) for c in values.tolist()]),
    ):
        known = np.isfinite(divergences)
        root = np.full(fine.size, np.inf)
        if known.sum() > 1:
            inside = (fine >= steps[known][0]) & (fine <= steps[known][-1])
            root[inside] = scipy.interpolate.PchipInterpolator(steps[known], np.sqrt(divergences[known]))(fine[inside])
        elif known.any():
            root[fine == steps[known][0]] = math.sqrt(divergences[known][0])
        tables.append(root**2)
    if values[0] == least:
        return tables[0], tables[1]
    return np.append(at_lowest[0], tables[0]), np.append(at_lowest[1], tables[1])


def _share_for(down: FloatArray, up: FloatArray, y: float) -> float:
    """The least x with min over c of K-(c) + x K+(c) >= y."""
    below = down < y  # where the leader alone is not enough
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(below, (y - down) / up, 0.0)
    return float(np.nanmax(needed))
