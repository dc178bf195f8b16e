"""How far a lottery is from being worth more: K_inf, and the limits of regret and of samples that follow from it.

Lotteries are finite here, with known values: the set of laws that a policy must tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate, optimize, special

from allais._checks import FloatArray, finite_array, real
from allais.lotteries import Lottery
from allais.preferences import Preference
from allais.weights import Weight

ZOOMS, POINTS = 5, 161  # of the search in one dimension: each narrows it eighty-fold
FARTHEST = 40.0  # where it begins and ends, in logits: e^-40 of the stretch
NODES = 81  # values at which a divergence is computed exactly; between them its root is interpolated
HALVINGS = 60  # of a probability: to the last digit
DEPTH = 20.0  # how near to its lowest value a leader is looked at: e^-20 of the way, beyond which digits are lost


class _Law(NamedTuple):
    """A finite law as felt: P(X >= v_{j+1}) is `tails[j]`."""

    felt: FloatArray  # ascending
    shares: FloatArray
    gains: Weight
    losses: Weight

    def mirrored(self) -> _Law:
        """The law of -X, which is worth minus as much with the weights swapped."""
        return _Law(-self.felt[::-1], self.shares[::-1], self.losses, self.gains)

    def part(self, j: int, tail: FloatArray) -> FloatArray:
        """What the stretch from v_j to v_{j+1} is worth when what lies beyond has probability `tail`."""
        low, high = self.felt[j], self.felt[j + 1]
        gain, loss = max(high, 0.0) - max(low, 0.0), min(high, 0.0) - min(low, 0.0)
        return gain * self.gains(np.clip(tail, 0.0, 1.0)) - loss * self.losses(np.clip(1.0 - tail, 0.0, 1.0))

    def value(self, shares: FloatArray) -> float:
        """The value of a law on the same outcomes."""
        tails = np.cumsum(shares[::-1])[::-1][1:]
        base = max(self.felt[0], 0.0) + min(self.felt[-1], 0.0)
        return float(base + sum(self.part(j, tails[j]) for j in range(tails.size)))


def _law(preference: Preference, lottery: Lottery, support: ArrayLike | None) -> _Law:
    finite = lottery.as_finite()
    if finite is None:
        raise ValueError(
            f"a divergence is between finite lotteries; got {lottery!r}. Give Discrete(...), or Empirical(samples)."
        )
    for weight in (preference.gains, preference.losses):
        if not weight.is_monotone:
            raise ValueError(f"a least divergence needs monotone weights; {weight!r} is not. Use another weight.")
    outcomes = np.asarray(finite.outcomes, dtype=np.float64)
    shares = finite.at_least - np.append(finite.at_least[1:], 0.0)
    more = np.zeros(0) if support is None else finite_array("support", support)
    felt = preference.felt(np.append(outcomes, more))
    distinct, where = np.unique(felt, return_inverse=True)
    mass: FloatArray = np.bincount(
        where, weights=np.append(shares, np.zeros(more.size)), minlength=distinct.size
    ).astype(np.float64)
    return _Law(distinct, mass, preference.gains, preference.losses)


def k_inf(
    preference: Preference,
    lottery: Lottery,
    value: float,
    *,
    at_most: bool = False,
    support: ArrayLike | None = None,
) -> float:
    """K_inf: the least KL divergence from a finite lottery to one on the same values worth at least `value`.

    With `at_most`, to one worth at most that. `support` adds values that the lottery itself does not
    take. Exact for two and three values; for more, the best of local searches.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> round(k_inf(people, Discrete({50: 0.1, 0: 0.9}), 12.0), 6)
    0.019052
    """
    law, target = _law(preference, lottery, support), real("value", value)
    if at_most:
        law, target = law.mirrored(), -target
    return _least_divergence(law, target)


def _least_divergence(law: _Law, target: float) -> float:
    if law.value(law.shares) >= target - 1e-13 * abs(target):
        return 0.0
    if law.felt[-1] < target:
        return math.inf
    if law.felt[-1] == target:
        return _to_the_top(law)
    if law.felt.size == 2:
        (tail,) = _needed(law, 0, np.array([target - max(law.felt[0], 0.0) - min(law.felt[-1], 0.0)]))
        return float(_divergence(law.shares, np.array([1.0 - tail, tail])))
    return _of_three(law, target) if law.felt.size == 3 else _of_many(law, target)


def _to_the_top(law: _Law) -> float:
    """The least divergence to a law that is worth its best value: infinite, unless a weight is flat at its end."""
    stretches = range(law.felt.size - 1)
    tail = max((float(_needed(law, j, law.part(j, np.ones(1)))[0]) for j in stretches), default=0.0)
    best = float(law.shares[-1])
    if tail > 1.0 - 1e-9:  # no flat end: only the sure thing is worth as much
        return math.inf
    return float(_divergence(np.array([1.0 - best, best]), np.array([1.0 - tail, tail])))


def _divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """KL(p, q) along the last axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0.0, p * (np.log(p) - np.log(np.maximum(q, 0.0))), 0.0)
    return np.asarray(terms.sum(axis=-1))


def _needed(law: _Law, j: int, amounts: FloatArray) -> FloatArray:
    """The least tails for which the stretch from v_j is worth the amounts; 2 where none is enough."""
    below, enough = np.zeros_like(amounts), np.ones_like(amounts)
    for _ in range(HALVINGS):
        middle = 0.5 * (below + enough)
        reached = law.part(j, middle) >= amounts
        below, enough = np.where(reached, below, middle), np.where(reached, middle, enough)
    enough = np.where(law.part(j, np.zeros_like(amounts)) >= amounts, 0.0, enough)
    return np.where(law.part(j, np.ones_like(amounts)) < amounts, 2.0, enough)


def _of_three(law: _Law, target: float) -> float:
    """For each chance of the best value, the middle one takes what the target needs or what is nearest."""
    p1, p2, p3 = law.shares
    base = max(law.felt[0], 0.0) + min(law.felt[-1], 0.0)

    def free(top: FloatArray) -> FloatArray:
        """P(X >= v_2) where the two lower values keep their proportion."""
        return 1.0 - p1 / (p1 + p2) * (1.0 - top) if p1 + p2 > 0.0 else np.ones_like(top)

    def distance(top: FloatArray) -> FloatArray:
        reach = np.maximum(_needed(law, 0, target - base - law.part(1, top)), top)
        tail = np.minimum(np.maximum(reach, free(top)), 1.0)
        found = _divergence(law.shares, np.stack([1.0 - tail, tail - top, top], axis=-1))
        return np.where(reach > 1.0, np.inf, found)

    # The chance of the best value is at least what it is, and what is needed when v_2 is sure beyond it; and at most
    # what is enough when the others keep their proportion. In between the search is logarithmic from both ends, since
    # a steep weight makes much of a small chance.
    (sure,) = _needed(law, 1, np.array([target - base - law.part(0, np.ones(1))[0]]))
    first = max(float(p3), float(sure))
    last = _smallest(lambda top: law.part(0, free(top)) + law.part(1, top) >= target - base, first)
    left, right, best = -FARTHEST, FARTHEST, math.inf
    for _ in range(ZOOMS):
        at = np.linspace(left, right, POINTS)
        places = np.append(first + (last - first) * special.expit(at), [first, last])
        found = distance(np.clip(places, first, last))
        nearest = int(np.argmin(found[:-2]))
        best = min(best, float(found.min()))
        left, right = float(at[max(nearest - 1, 0)]), float(at[min(nearest + 1, POINTS - 1)])
    return max(best, 0.0)  # a divergence of nothing is rounded


def _smallest(enough: Callable[[FloatArray], FloatArray], least: float) -> float:
    """The smallest probability from `least` on that is enough; 1 always is."""
    below, found = np.array([least]), np.ones(1)
    if enough(below)[0]:
        return least
    for _ in range(HALVINGS):
        middle = 0.5 * (below + found)
        below, found = (below, middle) if enough(middle)[0] else (middle, found)
    return float(found[0])


def _of_many(law: _Law, target: float) -> float:
    """Local searches, from p mixed with the best value and from p tilted as for a mean."""
    best_only = np.eye(law.felt.size)[-1]

    def on_the_way(path: Callable[[float], FloatArray]) -> FloatArray:
        """The first law on a path from p to the best value that is worth the target."""
        share = optimize.brentq(lambda t: law.value(path(t)) - target, 0.0, 1.0)
        return path(min(share + 1e-9, 1.0))

    def tilted(t: float) -> FloatArray:
        raw = law.shares / np.maximum(1.0 - t * (law.felt - law.felt[0]) / (law.felt[-1] - law.felt[0]), 1e-9)
        return (1.0 - t**8) * raw / raw.sum() + t**8 * best_only

    starts = [on_the_way(lambda t: (1.0 - t) * law.shares + t * best_only), on_the_way(tilted)]
    found = [float(_divergence(law.shares, start)) for start in starts]
    for start in starts:
        result = optimize.minimize(
            lambda q: float(_divergence(law.shares, np.maximum(q, 1e-12))),
            start,
            method="SLSQP",
            bounds=[(1e-12, 1.0)] * law.felt.size,
            constraints=[
                {"type": "eq", "fun": lambda q: q.sum() - 1.0},
                {"type": "ineq", "fun": lambda q: law.value(np.maximum(q, 0.0) / q.sum()) - target},
            ],
            options={"maxiter": 500, "ftol": 1e-12},
        )
        reached = law.value(np.maximum(result.x, 0.0) / result.x.sum())
        if reached >= target - 1e-7 * max(abs(target), 1.0):
            found.append(float(_divergence(law.shares, result.x / result.x.sum())))
    return min(found)


def regret_slope(preference: Preference, lotteries: Sequence[Lottery], support: ArrayLike | None = None) -> float:
    """The sum of Delta / K_inf: what a consistent policy's regret per log n approaches at best (Lai & Robbins 1985).

    For finite lotteries whose values are known arm by arm, or to be among those of `support`.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> round(regret_slope(people, [Discrete({1: .1, .2: .1, 0: .8}), Discrete({1: .001, .2: .8, 0: .199})]), 3)
    2.875
    """
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
    """T*, and the shares of samples that reach it."""

    time: float
    shares: tuple[float, ...]


def characteristic_time(
    preference: Preference, lotteries: Sequence[Lottery], support: ArrayLike | None = None
) -> CharacteristicTime:
    """T*: to be wrong with probability delta at most, T* log(1 / 2.4 delta) samples are needed on average.

    1 / T* is the greatest over shares of the least over rivals j of inf over c of
    share_i K-(F_i, c) + share_j K+(F_j, c) (Garivier & Kaufmann 2016, for distorted values), for finite
    lotteries whose values are known arm by arm, or to be among those of `support`.

    Where the leader's lowest value m lies above a rival's, K-(F_i, c) is infinite for c <= m: the two can meet above m
    only. The leader's share may then be as small as it likes, and with none 1 / T* is 1 / sum_j 1 / K+(F_j, m). That
    limit is T* for a leader that always pays the same; any other gives a little more for a small share. A rival whose
    best value is m or less can never be the best arm and is not asked; if there is no other, T* is 0.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> setup = [Discrete({1: 0.1, 0.2: 0.1, 0: 0.8}), Discrete({1: 0.001, 0.2: 0.8, 0: 0.199})]
    >>> round(characteristic_time(people, setup).time * np.log(1 / (2.4 * 0.05)))
    273
    """
    values = np.array([preference.value(lottery) for lottery in lotteries])
    leader = int(np.argmax(values))
    rivals = [k for k in range(values.size) if k != leader]
    if not rivals or (values[rivals] >= values[leader]).any():
        raise ValueError("the characteristic time needs one best arm among two or more; got none. Drop an arm.")
    laws = [_law(preference, lottery, support) for lottery in lotteries]
    costs = [_costs(laws[leader].mirrored(), laws[k], values[leader], values[k]) for k in rivals]
    # rivals that no law on their own values makes as good as the leader at its worst are told apart by nothing
    beatable = [bool(np.isfinite(down + up).any()) for down, up in costs]
    if not any(beatable):
        return CharacteristicTime(0.0, tuple(np.full(values.size, 1.0 / values.size).tolist()))
    reachable = min(float(down[0]) for down, _ in costs)  # with all samples on the rivals

    def samples(y: float) -> FloatArray:
        """Samples of each rival, to one of the leader, that make each cost y."""
        return np.array([_share_for(down, up, y) for down, up in costs])

    def rate(y: float) -> float:
        return float(y / (1.0 + samples(y).sum()))

    if math.isfinite(reachable):
        found = optimize.minimize_scalar(lambda s: -rate(s * reachable), bounds=(1e-6, 1.0 - 1e-9), method="bounded")
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
    found = optimize.minimize_scalar(lambda u: -rate(math.exp(u)), bounds=around, method="bounded")
    with np.errstate(divide="ignore"):
        alone = 1.0 / at_worst  # samples of each rival, with none of the leader
    limit = float(1.0 / alone.sum())
    if -float(found.fun) <= limit * (1.0 + 1e-9):
        return limit, np.insert(alone, leader, 0.0) * limit
    ratios = samples(math.exp(float(found.x)))
    return -float(found.fun), np.insert(ratios, leader, 1.0) / (1.0 + ratios.sum())


def _costs(down: _Law, up: _Law, most: float, least: float) -> tuple[FloatArray, FloatArray]:
    """K- of the (mirrored) leader and K+ of the rival at values c between theirs, from the lowest that both can have.

    That is the rival's own value, or the leader's lowest value m if m is higher. There K- is infinite and grows like
    -log(c - m), so that c moves by equal steps of this logarithm.
    """
    steps, fine = (np.linspace(0.0, 1.0, count) for count in (NODES, 25 * NODES))
    lowest = -float(down.felt[-1])
    if math.isfinite(_least_divergence(down, -least)):
        values = least + (most - least) * steps
    else:
        at_lowest = np.array([math.inf]), np.array([_least_divergence(up, lowest)])
        if lowest >= most:  # the leader cannot be worth less than it is
            return np.append(at_lowest[0], 0.0), np.append(at_lowest[1], at_lowest[1])
        values = lowest + (most - lowest) * np.exp(DEPTH * (steps - 1.0))
    values[-1] = most
    tables = []
    for divergences in (
        np.array([_least_divergence(down, -c) for c in values.tolist()]),
        np.array([_least_divergence(up, c) for c in values.tolist()]),
    ):
        known = np.isfinite(divergences)
        root = np.full(fine.size, np.inf)
        if known.sum() > 1:
            inside = (fine >= steps[known][0]) & (fine <= steps[known][-1])
            root[inside] = interpolate.PchipInterpolator(steps[known], np.sqrt(divergences[known]))(fine[inside])
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
