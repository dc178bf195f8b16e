"""What no policy can beat: the limits of regret and of samples that follow from K_inf, and the best lottery over arms.

Lotteries are finite here, and their values are known: these say which distributions a policy must tell apart. That a
mixture of arms can be worth more than the best of them is the observation of Tatli, Mukherjee, Prashanth, Shanmugam and
Tajer (2025), "Risk-sensitive bandits: arm mixture optimality and regret-efficient algorithms" (AISTATS, PMLR 258).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, positive
from allais.lotteries import Lottery
from allais.preferences import Preference
from allais.theory.arguments import Drawn, finite_of, lotteries_of
from allais.theory.divergence import (
    FiniteDistribution,
    InterpolatedDivergence,
    finite_distribution,
    k_inf,
    least_divergences,
    percentile_costs,
)
from allais.weights import Step

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
    preference: Preference,
    lotteries: Sequence[Lottery] | Drawn,
    support: ArrayLike | None = None,
    *,
    tolerance: float = 0.0,
    nodes: int = 81,
) -> CharacteristicTime:
    """The time T*: a policy that is wrong with probability at most delta needs T* log(1/2.4 delta) samples on average.

    This is the limit of Garivier and Kaufmann (2016) for distorted values. With the leader i, the best shares s of the
    samples, the rival j that is hardest to tell from it, and the value c where the two meet most cheaply,

        1 / T = max_s min_j min_c (s_i K_low(F_i, c) + s_j K_high(F_j, c + tolerance))

    Where the leader's lowest value m lies above a rival's, K_low(F_i, c) is infinite for c <= m: the two can meet above
    m only. The leader's share may then be arbitrarily small, and without any, T* is the sum over j of 1/K_high(F_j, m).
    That limit is T* for a leader that always pays the same; for any other, a small share makes T* a little smaller. A
    rival whose best value is m or less can never be the best arm and needs no samples; if there is no other, T* is 0.

    Args:
        preference: What is maximised.
        lotteries: Finite lotteries, in a list or a `Bandit`.
        support: The values that outcomes are known to be among; by default each arm's own values.
        tolerance: How much less than the best an answer may be worth, as a utility.
        nodes: Values c at which divergences are computed; between them their roots are interpolated.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> setup = [Discrete({1: 0.1, 0.2: 0.1, 0: 0.8}), Discrete({1: 0.001, 0.2: 0.8, 0: 0.199})]
    >>> round(characteristic_time(people, setup).time * np.log(1 / (2.4 * 0.05)))
    273
    """
    lotteries = lotteries_of(lotteries)
    values = np.array([preference.value(lottery) for lottery in lotteries])
    leader = int(np.argmax(values))
    rivals = [k for k in range(values.size) if k != leader]
    if not rivals or (values[rivals] >= values[leader] + tolerance).any():
        raise ValueError("the characteristic time needs one best arm among two or more; got none. Drop an arm.")
    return time_of([finite_distribution(preference, one, support) for one in lotteries], values, tolerance, nodes)


def time_of(
    distributions: Sequence[FiniteDistribution], values: FloatArray, tolerance: float, nodes: int
) -> CharacteristicTime:
    """The characteristic time of distributions that have these values, one of which is the best."""
    leader = int(np.argmax(values))
    rivals = [k for k in range(values.size) if k != leader]
    most, least = float(values[leader]), float(values[rivals].min()) - tolerance
    down = InterpolatedDivergence(distributions[leader].mirrored(), most, least, 2 * nodes)
    costs = [_costs(down, distributions[k], most, float(values[k]), tolerance, nodes) for k in rivals]
    # rivals that no distribution on their own values makes as good as the leader at its worst need no samples
    beatable = [bool(np.isfinite(down + up).any()) for down, up in costs]
    if not any(beatable):
        return CharacteristicTime(0.0, tuple(np.full(values.size, 1.0 / values.size).tolist()))
    reachable = min(float(down[up <= 0.0].min(initial=down[0])) for down, up in costs)  # all samples on the rivals

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
    down: InterpolatedDivergence, up: FiniteDistribution, most: float, least: float, tolerance: float, nodes: int
) -> tuple[FloatArray, FloatArray]:
    """K- of the leader at values c and K+ of the rival at c + tolerance, from the lowest c that both can have.

    That lowest is the rival's own value, or the leader's lowest value m if m is higher. There K- is infinite and grows
    like -log(c - m), so that c moves by equal steps of this logarithm.
    """
    if isinstance(up.gains, Step):
        return percentile_costs(down.mirrored, up, most, least - tolerance, tolerance)
    steps, fine = (np.linspace(0.0, 1.0, count) for count in (nodes, 25 * nodes))
    lowest, least = down.lowest, least - tolerance
    meets = math.isfinite(down(np.array([least]))[0])
    if not meets:
        at_lowest = np.array([math.inf]), least_divergences(up, np.array([lowest + tolerance]))
        if lowest >= most:  # the leader cannot be worth less than it is
            return np.append(at_lowest[0], 0.0), np.append(at_lowest[1], at_lowest[1])
    values = least + (most - least) * steps if meets else lowest + (most - lowest) * np.exp(DEPTH * (steps - 1.0))
    values[-1] = most
    tables = []
    for divergences in (down(values), least_divergences(up, values + tolerance)):
        known = np.isfinite(divergences)
        root = np.full(fine.size, np.inf)
        if known.sum() > 1:
            inside = (fine >= steps[known][0]) & (fine <= steps[known][-1])
            root[inside] = scipy.interpolate.PchipInterpolator(steps[known], np.sqrt(divergences[known]))(fine[inside])
        elif known.any():
            root[fine == steps[known][0]] = math.sqrt(divergences[known][0])
        tables.append(root**2)
    if meets:
        return tables[0], tables[1]
    return np.append(at_lowest[0], tables[0]), np.append(at_lowest[1], tables[1])


def _share_for(down: FloatArray, up: FloatArray, y: float) -> float:
    """The least x with min over c of K-(c) + x K+(c) >= y."""
    below = down < y  # where the leader alone is not enough
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(below, (y - down) / up, 0.0)
    return float(np.nanmax(needed))


MOST_SIMPLICES = 1 << 16  # that are open at once: a second with three arms of few outcomes
ROUNDING = 1e-12  # of a value, relative to the range of utilities: less than this is no gain


class BestMixture(NamedTuple):
    """A lottery over arms, beside the best arm alone.

    Attributes:
        shares: The probability with which each arm is played.
        value: What that mixture is worth, as a utility.
        best_arm: The best arm.
        best_value: What the best arm alone is worth.
        at_most: No mixture is worth more than this.
    """

    shares: tuple[float, ...]
    value: float
    best_arm: int
    best_value: float
    at_most: float


class _Tails(NamedTuple):
    """The arms between neighbouring utilities: the value of a mixture is a sum over these cells."""

    preference: Preference
    base: float
    gain: FloatArray  # width of each cell above 0, (n_cells,)
    loss: FloatArray  # and below
    above: FloatArray  # P(X beyond the cell) of each arm, from the top, (n_arms, n_cells)
    below: FloatArray  # the rest, from the bottom: each to its own last digit

    def value(self, shares: FloatArray) -> FloatArray:
        """What mixtures are worth, one per row of shares."""
        above, below = (np.minimum(shares @ tail, 1.0) for tail in (self.above, self.below))
        gains, losses = (weight.of_tails for weight in (self.preference.gains, self.preference.losses))
        return np.asarray(self.base + gains(above, below) @ self.gain - losses(below, above) @ self.loss)

    def worth(self, shares: FloatArray) -> float:
        """What one mixture is worth."""
        return float(self.value(shares[None])[0])

    def at_most(self, corners: FloatArray) -> FloatArray:
        """No mixture in a simplex of shares is worth more: each cell's tail has its best value there by itself."""
        above, below = (np.minimum(corners @ tail, 1.0) for tail in (self.above, self.below))
        _, most = self.preference.gains.range_over(above.min(axis=1), above.max(axis=1))
        least, _ = self.preference.losses.range_over(below.min(axis=1), below.max(axis=1))
        return np.asarray(self.base + most @ self.gain - least @ self.loss)

    def undominated(self) -> list[int]:
        """Arms that no other arm equals or beats at every outcome; the others have no share in a best mixture."""
        if not (self.preference.gains.is_monotone and self.preference.losses.is_monotone):
            return list(range(len(self.above)))
        kept: list[int] = []
        for k in sorted(range(len(self.above)), key=lambda arm: (-self.above[arm].sum(), arm)):
            if not any((self.above[other] >= self.above[k]).all() for other in kept):
                kept.append(k)
        return sorted(kept)


def best_mixture(
    preference: Preference, lotteries: Sequence[Lottery] | Drawn, *, tolerance: float = 1e-6
) -> BestMixture:
    """The lottery over arms that is worth most to somebody who lives through it once.

    A branch and bound over simplices of shares: in each, no mixture is worth more than if every outcome's
    probability were the best that the simplex has. With two arms it ends at the tolerance. With more it may be
    broken off after some seconds, and `at_most` says what is left: between `value` and `at_most` nothing is known.
    Where weights are convex in the probability of more (CVaR, and all preferences that are pessimistic throughout) the
    best arm alone is best, and for the mean it is one of the best.

    Args:
        preference: What is maximised.
        lotteries: Finite lotteries, in a list or a `Bandit`.
        tolerance: How near to the best value it must come, as a share of the range between the worst outcome and
            the best one, in utilities.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> found = best_mixture(people, [Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> print(f"{found.shares[0]:.1%} of the first: {found.value:.3f}, which alone is worth {found.best_value:.3f}")
    90.7% of the first: 9.387, which alone is worth 9.315
    """
    near = positive("tolerance", tolerance)
    arms = list(lotteries_of(lotteries))
    tails = _tails_of(preference, arms)
    alone = np.array([preference.value(arm) for arm in arms])
    best_arm = int(np.argmax(alone))
    best_value, span = float(alone[best_arm]), float(tails.gain.sum() + tails.loss.sum())
    kept = tails.undominated()
    inner = tails._replace(above=tails.above[kept], below=tails.below[kept])
    found, at_most = _searched(inner, _climbed(inner, span), near * span)
    value = inner.worth(found)
    shares = np.zeros(len(arms))
    if value <= best_value + ROUNDING * span:
        value, shares[best_arm] = best_value, 1.0
    else:
        shares[kept] = found
    return BestMixture(tuple(shares.tolist()), value, best_arm, best_value, max(at_most, value))


def _tails_of(preference: Preference, arms: list[Lottery]) -> _Tails:
    finite = [finite_of(arm, "a mixture is of finite lotteries") for arm in arms]
    if not arms:
        raise ValueError("a mixture needs one arm or more; got none. Give lotteries.")
    felt = [preference.utilities(one.outcomes) for one in finite]
    utility, where = np.unique(np.concatenate(felt), return_inverse=True)
    mass = np.zeros((len(arms), utility.size))
    rows = np.repeat(np.arange(len(arms)), [one.size for one in felt])
    np.add.at(mass, (rows, where), np.concatenate([one.probabilities for one in finite]))
    return _Tails(
        preference,
        float(max(utility[0], 0.0) + min(utility[-1], 0.0)),
        np.diff(np.maximum(utility, 0.0)),
        np.diff(np.minimum(utility, 0.0)),
        np.cumsum(mass[:, ::-1], axis=1)[:, ::-1][:, 1:],
        np.cumsum(mass, axis=1)[:, :-1],
    )


def _climbed(tails: _Tails, span: float) -> FloatArray:
    """The best of local searches, from pairs of arms and from all arms alike."""
    n_arms = len(tails.above)
    corners = np.eye(n_arms)
    best = corners[int(np.argmax(tails.value(corners)))]
    if n_arms == 1 or span == 0.0:
        return best
    part = np.linspace(0.0, 1.0, 129)[:, None]
    pairs = [
        max(part * corners[i] + (1.0 - part) * corners[j], key=tails.worth) for i in range(n_arms) for j in range(i)
    ]
    pairs.sort(key=tails.worth, reverse=True)

    def proper(shares: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum())

    for start in (*pairs[:n_arms], np.full(n_arms, 1.0 / n_arms)):
        result = scipy.optimize.minimize(
            lambda q: -tails.worth(proper(q)) / span,
            start,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * n_arms,
            constraints=[{"type": "eq", "fun": lambda q: q.sum() - 1.0}],
            options={"maxiter": 200, "ftol": 1e-15},
        )
        best = max(best, start, proper(result.x), key=tails.worth)
    return best


def _searched(tails: _Tails, best: FloatArray, tolerance: float) -> tuple[FloatArray, float]:
    """The best mixture of a branch and bound that begins with a good one, and what no mixture is worth more than."""
    value = tails.worth(best)
    corners = np.eye(len(tails.above))[None]
    ceiling = tails.at_most(corners)
    while 0 < ceiling.size < MOST_SIMPLICES:
        first = ceiling >= np.median(ceiling)  # where more may be; of the others, many will be dropped unsplit
        halves, middles = _halved(corners[first])
        at_middles = tails.value(middles)
        if at_middles.max() > value:
            best, value = middles[int(np.argmax(at_middles))], float(at_middles.max())
        ceiling = np.concatenate([ceiling[~first], tails.at_most(halves)])
        corners = np.concatenate([corners[~first], halves])
        open_ones = ceiling > value + tolerance
        corners, ceiling = corners[open_ones], ceiling[open_ones]
    return best, float(ceiling.max()) if ceiling.size else value + tolerance


def _halved(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each simplex in two halves, across its longest edge; and the middles of these edges."""
    lengths = np.square(corners[:, :, None, :] - corners[:, None, :, :]).sum(axis=3)
    n_arms = corners.shape[1]
    first, second = np.divmod(lengths.reshape(len(corners), -1).argmax(axis=1), n_arms)
    each = np.arange(len(corners))
    middles = 0.5 * (corners[each, first] + corners[each, second])
    one, other = corners.copy(), corners.copy()
    one[each, first], other[each, second] = middles, middles
    return np.concatenate([one, other]), middles
