"""The paper's bounds for linear bandits, corrected, as functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import positive, share
from allais.preferences import Preference
from allais.theory.arguments import Bound, Valued, formerly, regret_bound, true_values_of
from allais.theory.bounds import gaps


@formerly("n_rounds", "dimension", "delta", "beta", "regularisation", "length")
def ellipsoid_radius(
    *, dimension: int, n_rounds: int, delta: float, beta: float, regularisation: float, length: float = 1.0
) -> float:
    """A bound on the radius D_n of the ellipsoid after n rounds (Lemma 7, corrected: docs/paper/errata.md, 1).

    Args:
        dimension: The number of features d.
        n_rounds: The number of rounds n.
        delta: The probability that the ellipsoid ever misses theta.
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression.
        length: A bound on |x| / sigma_x, which is 1 in the paper's model.

    >>> round(ellipsoid_radius(dimension=12, n_rounds=1000, delta=0.05, beta=1.0, regularisation=1.0), 3)
    8.695
    """
    lam = positive("regularisation", regularisation)
    spread = dimension * math.log1p(n_rounds * length**2 / (lam * dimension))
    return math.sqrt(2.0 * math.log(1.0 / share("delta", delta)) + spread) + beta * math.sqrt(lam)


@formerly("preference", "n_rounds", "dimension", "delta", "beta", "regularisation", "scale", "length")
def woful_regret(
    preference: Preference,
    *,
    dimension: int,
    n_rounds: int,
    delta: float,
    beta: float,
    regularisation: float = 1.0,
    scale: float = 1.0,
    length: float = 1.0,
) -> Bound:
    """A bound on W-OFUL's regret after n rounds, with probability 1 - delta (Theorem 10; docs/paper/errata.md, 19).

    Args:
        preference: What is maximised.
        dimension: The number of features d.
        n_rounds: The number of rounds n.
        delta: The probability that the bound fails.
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression.
        scale: The largest sigma_x, which is |x| in the paper's model.
        length: The largest |x| / sigma_x, which is 1 in the paper's model.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> round(woful_regret(people, dimension=3, n_rounds=10_000, delta=0.05, beta=1.0))
    9079
    """
    _require_linear_utility(preference)
    lam = positive("regularisation", regularisation)
    # a round's regret is at most 2 kappa sigma_x D |u|_{A^-1} with u = x / sigma_x, and the squares of these
    # norms sum to at most 2 d max(1, U^2 / lambda) log(1 + n U^2 / (lambda d))
    squares = 2.0 * dimension * max(1.0, length**2 / lam) * math.log1p(n_rounds * length**2 / (lam * dimension))
    reach = ellipsoid_radius(
        dimension=dimension, n_rounds=n_rounds, delta=delta, beta=beta, regularisation=lam, length=length
    )
    lost = 2.0 * preference.kappa * scale * reach * math.sqrt(n_rounds * squares)
    # two arms differ by kappa |x - y| |theta| at most
    return regret_bound(lost, n_rounds * 2.0 * preference.kappa * scale * length * beta, n_rounds)


@formerly("preference", "values", "dimension", "delta", "beta", "regularisation", "scale", "length", "excess")
def wg_samples(
    preference: Preference,
    values: ArrayLike | Valued,
    *,
    dimension: int,
    delta: float,
    beta: float,
    regularisation: float = 1.0,
    scale: float = 1.0,
    length: float = 1.0,
    excess: float = 1.0,
) -> float:
    """How many samples W-G takes at most, with probability 1 - delta (Theorem 11; docs/paper/errata.md, 20).

    It is the smallest n with

        n >= (16 kappa^2 D_n^2 rho) / Delta_min^2

    where rho is (1 + excess) d times the greatest sigma_x^2.

    Args:
        preference: What is maximised.
        values: The true value of each arm, or a `Bandit`.
        dimension: The number of features d.
        delta: The probability of a wrong answer.
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression.
        scale: The largest sigma_x, which is |x| in the paper's model.
        length: The largest |x| / sigma_x, which is 1 in the paper's model.
        excess: By which share a greedy design may miss the best one.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> round(wg_samples(people, [1.0, 0.5], dimension=2, delta=0.05, beta=1.0))
    8508
    """
    _require_linear_utility(preference)
    worth = true_values_of(preference, values)
    least = float(np.sort(gaps(worth))[1]) if worth.size > 1 else math.inf
    factor = 16.0 * preference.kappa**2 * (1.0 + excess) * dimension * scale**2 / least**2
    samples = 1.0
    while True:  # D_n grows like log n, so the fixed point is reached from below
        settings = {"delta": delta, "beta": beta, "regularisation": regularisation, "length": length}
        needed = factor * ellipsoid_radius(dimension=dimension, n_rounds=math.ceil(samples), **settings) ** 2
        if needed <= samples * (1.0 + 1e-9):
            return needed
        samples = needed


def _require_linear_utility(preference: Preference) -> None:
    if preference.utility is not None:
        raise ValueError("the bound holds for a linear utility; got a preference with a utility. Leave it out.")
