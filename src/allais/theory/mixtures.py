"""Lotteries over arms: for distorted values a mixture of arms can be worth more than the best of them.

Tatli, Mukherjee, Prashanth, Shanmugam and Tajer (2025), "Risk-sensitive bandits: arm mixture optimality and
regret-efficient algorithms" (AISTATS, PMLR 258), call these mixtures the optimal policies of such bandits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, positive
from allais.lotteries import Lottery
from allais.lotteries.base import came
from allais.preferences import Preference
from allais.theory.arguments import Drawn, lotteries_of

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

    def at_most(self, corners: FloatArray) -> FloatArray:
        """No mixture in a simplex of shares is worth more: each cell's tail has its best value there by itself."""
        above, below = (np.minimum(corners @ tail, 1.0) for tail in (self.above, self.below))
        _, most = self.preference.gains.range_over(above.min(axis=1), above.max(axis=1))
        least, _ = self.preference.losses.range_over(below.min(axis=1), below.max(axis=1))
        return np.asarray(self.base + most @ self.gain - least @ self.loss)

    def undominated(self) -> list[int]:
        """Arms of which no other one is at least as good at every outcome; others have no share in a best mixture."""
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
    Where weights are convex in the probability of more (CVaR, and whoever is pessimistic throughout) the best arm
    alone is best, and for the mean it is one of the best.

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
    value = float(inner.value(found[None])[0])
    shares = np.zeros(len(arms))
    if value <= best_value + ROUNDING * span:
        value, shares[best_arm] = best_value, 1.0
    else:
        shares[kept] = found
    return BestMixture(tuple(shares.tolist()), value, best_arm, best_value, max(at_most, value))


def _tails_of(preference: Preference, arms: list[Lottery]) -> _Tails:
    finite = [arm.as_finite() if isinstance(arm, Lottery) else None for arm in arms]
    for arm, as_finite in zip(arms, finite, strict=True):
        if as_finite is None:
            raise ValueError(
                f"a mixture is of finite lotteries; got {came(arm)}. Give Discrete(...), or Empirical(samples)."
            )
    if not arms:
        raise ValueError("a mixture needs one arm or more; got none. Give lotteries.")
    felt = [preference.utilities(one.outcomes) for one in finite if one is not None]
    utility, where = np.unique(np.concatenate(felt), return_inverse=True)
    mass = np.zeros((len(arms), utility.size))
    rows = np.repeat(np.arange(len(arms)), [one.size for one in felt])
    np.add.at(mass, (rows, where), np.concatenate([one.probabilities for one in finite if one is not None]))
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
        max((part * corners[i] + (1.0 - part) * corners[j]), key=lambda q: float(tails.value(q[None])[0]))
        for i in range(n_arms)
        for j in range(i)
    ]
    pairs.sort(key=lambda q: -float(tails.value(q[None])[0]))
    for start in (*pairs[:n_arms], np.full(n_arms, 1.0 / n_arms)):
        result = scipy.optimize.minimize(
            lambda q: -float(tails.value(np.maximum(q, 0.0)[None] / np.maximum(q, 0.0).sum())[0]) / span,
            start,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * n_arms,
            constraints=[{"type": "eq", "fun": lambda q: q.sum() - 1.0}],
            options={"maxiter": 200, "ftol": 1e-15},
        )
        climbed = np.maximum(result.x, 0.0) / np.maximum(result.x, 0.0).sum()
        best = max(best, start, climbed, key=lambda q: float(tails.value(q[None])[0]))
    return best


def _searched(tails: _Tails, best: FloatArray, tolerance: float) -> tuple[FloatArray, float]:
    """The best mixture of a branch and bound that begins with a good one, and what no mixture is worth more than."""
    value = float(tails.value(best[None])[0])
    corners = np.eye(len(tails.above))[None]
    ceiling = tails.at_most(corners)
    while 0 < ceiling.size < MOST_SIMPLICES:
        first = ceiling >= np.median(ceiling)  # where more may be; of the others, many will be dropped unsplit
        halves, middles = _halved(corners[first])
        at_middles = tails.value(middles)
        if at_middles.max() > value:
            best, value = middles[int(np.argmax(at_middles))], float(at_middles.max())
        corners, ceiling = (
            np.concatenate([corners[~first], halves]),
            np.concatenate([ceiling[~first], tails.at_most(halves)]),
        )
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
