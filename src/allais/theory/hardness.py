"""How hard a problem is: gaps between values, and the sums over arms that the paper's bounds are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, positive
from allais.theory.arguments import formerly, values_alone
from allais.weights import HolderPair, Weight


def gaps(values: ArrayLike) -> FloatArray:
    """Delta_k, in the order given: how far each value is below the best, and the best above the second best.

    Args:
        values: The value of each arm.

    >>> gaps([9.0, 7.5, 7.0])
    array([1.5, 1.5, 2. ])
    """
    worth = values_alone(values)
    if worth.size < 2:
        raise ValueError(f"a gap needs two arms; got {worth.size}. Give the value of every arm.")
    best = int(np.argmax(worth))
    below = worth[best] - worth
    below[best] = np.delete(below, best).min()
    if (below <= 0.0).any():
        raise ValueError(
            "the hardness of a problem needs one best arm; got two with the same value. "
            "Ask for a tolerance instead of the best arm."
        )
    return below


@formerly("values", "holder", "span")
def h_alpha(holder: HolderPair, values: ArrayLike, *, span: float = 1.0) -> float:
    """The hardness of a problem at fixed confidence (Theorem 5): a sum over all arms.

        H_alpha = sum_k ((2 L M) / Delta_k)^(2/alpha)

    Args:
        holder: The Hölder pair (L, alpha) of the weight.
        values: The true value of each arm.
        span: The length M of the interval that holds all rewards.

    >>> round(h_alpha(HolderPair(1.0, 1.0), [0.5, 0.3]), 6)
    200.0
    """
    constant, alpha = holder
    return float(np.sum((2.0 * constant * positive("span", span) / gaps(values)) ** (2.0 / alpha)))


@formerly("values", "holder")
def h1_alpha(holder: HolderPair, values: ArrayLike) -> float:
    """The hardness of a problem at fixed budget: a sum over the suboptimal arms.

        H_{1, alpha} = sum_k (L / Delta_k)^(2/alpha)

    Args:
        holder: The Hölder pair (L, alpha) of the weight.
        values: The true value of each arm.

    >>> round(h1_alpha(HolderPair(1.0, 1.0), [0.5, 0.3]), 6)
    25.0
    """
    return float(np.sum(_suboptimal(holder, values)))


@formerly("values", "holder")
def h2_alpha(holder: HolderPair, values: ArrayLike) -> float:
    """The hardness that the error of W-SR depends on (Theorem 7): the greatest over ranks i from 2 on.

        H_{2, alpha} = max_i i (L / Delta_i)^(2/alpha)

    It brackets the hardness H_1:

        H_2 / 2 <= H_1 <= log(K) H_2

    The paper prints H_2 <= H_1, which is false: two arms have H_2 = 2 H_1.

    Args:
        holder: The Hölder pair (L, alpha) of the weight.
        values: The true value of each arm.

    >>> h2_alpha(HolderPair(1.0, 1.0), [0.5, 0.3]) / h1_alpha(HolderPair(1.0, 1.0), [0.5, 0.3])
    2.0
    """
    hardness = _suboptimal(holder, values)
    return float(np.max(np.arange(2, hardness.size + 2) * hardness))


def _suboptimal(holder: HolderPair, values: ArrayLike) -> FloatArray:
    """(L / Delta_i)^(2/alpha) for the suboptimal arms, nearest first."""
    worth = values_alone(values)
    below = np.sort(np.delete(gaps(worth), int(np.argmax(worth))))
    return (holder.constant / below) ** (2.0 / holder.exponent)


def h1_alpha_of_transformations(weight: Weight, probabilities: ArrayLike) -> float:
    """max over i of H(i, alpha): the hardest of the Bernoulli problems MAB_i of the lower bounds.

    In MAB_i arm i's probability p_i becomes 1 - p_i. Gaps are between weights w(p); the paper
    writes p (docs/paper/errata.md, 18).

    Args:
        weight: The weight w.
        probabilities: The success probability of each Bernoulli arm.

    >>> from allais.weights import SteepMiddle
    >>> round(h1_alpha_of_transformations(SteepMiddle(0.5), [0.5, 0.4, 0.3]), 3)
    500.0
    """
    p = finite_array("probabilities", probabilities)
    if p.size < 2 or p[0] != 0.5 or ((p[1:] < 0.25) | (p[1:] >= 0.5)).any():
        raise ValueError(
            f"the lower bounds take p_1 = 1/2 and the others in [1/4, 1/2); got {p.tolist()}. Rescale the problem."
        )
    if not weight.is_monotone:
        raise ValueError(f"the lower bounds need a monotone weight; {weight!r} is not. Use another weight.")
    if weight.holder is None:
        raise ValueError(f"the lower bounds need a Hölder weight; {weight!r} has no pair. Use another weight.")
    hardness = []
    for i in range(p.size):
        flipped = p.copy()
        flipped[i] = 1.0 - p[i]
        worth = weight(flipped)
        others = np.delete(worth[i] - worth, i)
        hardness.append(float(np.sum((weight.holder.constant / others) ** (2.0 / weight.holder.exponent))))
    return max(hardness)
