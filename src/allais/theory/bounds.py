"""How hard a problem is, and the paper's bounds for K-armed bandits, corrected, as functions.

Each says where it comes from; `docs/paper/errata.md` lists what was corrected and why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array, positive, share
from allais.bands import Holder
from allais.preferences import Preference
from allais.rewards import Rewards
from allais.theory.arguments import Bound, Valued, formerly, regret_bound, true_values_of, values_alone
from allais.weights import HolderPair, Power, Weight


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


MOST_SAMPLES = 10**18
CONSTANT_PULLS = 1.0 + 2.0 * math.pi**2 / 3.0  # of Theorem 2: pulls that no gap explains


def samples_to_estimate(preference: Preference, rewards: Rewards, eps: float, delta: float) -> int:
    """How many samples put the estimate within eps of the value with probability 1 - delta (Theorem 1).

    For one weight and rewards in [0, M] this is

        n = 1 / 2 (L M/eps)^(2/alpha) log(2/delta)

    Args:
        preference: What values the rewards.
        rewards: What is known about them.
        eps: The accuracy, as a utility, above 0.
        delta: The probability of a larger error, in (0, 1).

    >>> from allais import Bounded, TverskyKahneman
    >>> samples_to_estimate(Preference(TverskyKahneman(0.61)), Bounded(0, 1), eps=0.1, delta=0.05)
    17717
    """
    target, exponent = positive("eps", eps), math.log(2.0 / share("delta", delta))
    samples = _samples_for_radius(preference, rewards, target, exponent)
    if samples > MOST_SAMPLES:
        raise ValueError(
            f"eps must be reachable; got {target:g}, which takes more than 1e18 samples. Ask for less accuracy."
        )
    return samples


def _samples_for_radius(preference: Preference, rewards: Rewards, radius: float, exponent: float) -> int:
    """The fewest samples whose Hölder radius is at most `radius`; beyond 1e18, a larger number."""
    band = Holder()

    def enough(samples: int) -> bool:
        return band.radius(preference, rewards, samples, exponent) <= radius

    most = 1
    while not enough(most):
        most *= 2
        if most > MOST_SAMPLES:
            return most
    least = most // 2  # known to be too few
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


def wucb_regret(
    preference: Preference,
    rewards: Rewards | Sequence[Rewards],
    values: ArrayLike | Valued,
    n_rounds: float,
    exploration: float = 3.0,
) -> Bound:
    """An upper bound on W-UCB's expected regret after n rounds (Theorem 2, any support and two weights).

    Each arm is pulled at most until twice the width of its interval falls below its gap, and then 7.6 times more on
    average. A bound above the largest gap times n says nothing, and says so when it is printed.

    Args:
        preference: What is maximised.
        rewards: What is known about rewards, for all arms or a list with one entry per arm.
        values: The true value of each arm, or a `Bandit`.
        n_rounds: The number of rounds n.
        exploration: The factor of log m in the policy's exponent; 3 in the paper.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> round(wucb_regret(people, Bounded(0, 1), [0.201195, 0.133220], 10_000_000))
    543173
    >>> wucb_regret(people, Bounded(0, 1), [0.201195, 0.133220], 10_000)
    310384.6... (says nothing: no policy can lose more than 679.8 in 10,000 rounds)
    """
    worth = true_values_of(preference, values)
    each = list(rewards) if isinstance(rewards, Sequence) else [rewards] * worth.size
    exponent = positive("exploration", exploration) * math.log(n_rounds)
    lost = sum(
        gap * (_samples_for_radius(preference, known, gap / 2.0, exponent) + CONSTANT_PULLS)
        for gap, known in zip((worth.max() - worth).tolist(), each, strict=True)
        if gap > 0.0
    )
    return regret_bound(lost, n_rounds * float(np.ptp(worth)), n_rounds) if lost else Bound(0.0)


def wucb_regret_any_gap(holder: HolderPair, span: float, n_arms: int, n_rounds: int) -> Bound:
    """A bound on W-UCB's regret for any gaps: the corollary to Theorem 2, with its constant made explicit.

        R_n <= M K^(alpha/2) (3 / 2 (2 L)^(2/alpha) log n + 1 + 2 pi^2/3)^(alpha/2) n^(1 - alpha/2)

    Args:
        holder: The Hölder pair of the weight.
        span: The length M of the interval that holds all rewards.
        n_arms: The number of arms K.
        n_rounds: The number of rounds n.

    >>> round(wucb_regret_any_gap(HolderPair(1.0, 1.0), span=1.0, n_arms=2, n_rounds=10_000))
    1121
    """
    constant, alpha = holder
    inner = 1.5 * (2.0 * constant) ** (2.0 / alpha) * math.log(n_rounds) + CONSTANT_PULLS
    lost = positive("span", span) * (n_arms * inner) ** (alpha / 2.0) * n_rounds ** (1.0 - alpha / 2.0)
    return regret_bound(lost, n_rounds * span, n_rounds)


@formerly("values", "holder", "span")
def regret_lower_slope(holder: HolderPair, values: ArrayLike, *, span: float = 1.0) -> float:
    """The least regret per log n of any consistent policy, for the hardest weight of a Hölder class (Theorem 3).

        sum_k (L M/2)^(2/alpha) / Delta_k^(2/alpha - 1)

    The paper's constant is wrong (docs/paper/errata.md, 13).

    Args:
        holder: The Hölder pair of the weight.
        values: The true value of each arm.
        span: The length M of the interval that holds all rewards.

    >>> round(regret_lower_slope(HolderPair(1.0, 1.0), [0.5, 0.3]), 6)
    1.25
    """
    worth = values_alone(values)
    below = np.delete(worth.max() - worth, int(np.argmax(worth)))
    if (below <= 0.0).any():
        raise ValueError("the lower bound needs one best arm; got two with the same value. Drop one of them.")
    power = 2.0 / holder.exponent
    return float(np.sum((holder.constant * span / 2.0) ** power / below ** (power - 1.0)))


def wlucb_samples(preference: Preference, rewards: Rewards, values: ArrayLike | Valued, delta: float) -> int:
    """How many samples W-LUCB with the Hölder band takes at most, with probability 1 - delta (Theorem 5).

    While all intervals hold, every round samples an arm whose radius exceeds a quarter of its gap. So the search ends
    as soon as the number of rounds m exceeds

        sum_k (1 + 1 / 2 ((4 L M) / Delta_k)^(2/alpha) log(m^4 K (pi^2/3 + 1)/delta))

    Args:
        preference: What is maximised.
        rewards: What is known about rewards.
        values: The true value of each arm, or a `Bandit`.
        delta: The probability of a wrong answer, in (0, 1).

    >>> people = Preference(TverskyKahneman(0.61))
    >>> wlucb_samples(people, Bounded(0, 50), [9.31512831885871, 7.822895485040594, 7.0], 0.05) > 10**8
    True
    """
    each = gaps(true_values_of(preference, values))
    failure = share("delta", delta)

    def rounds_needed(m: int) -> int:
        exponent = math.log(m**4 * each.size * (math.pi**2 / 3.0 + 1.0) / failure)
        return sum(_samples_for_radius(preference, rewards, gap / 4.0, exponent) + 1 for gap in each.tolist())

    m = each.size
    while (needed := rounds_needed(m)) > m:
        m = needed  # grows like log m, so a few steps suffice
    return int(each.size + 2 * m)


@formerly("values", "holder", "span", "budget")
def wsr_error(holder: HolderPair, values: ArrayLike, *, span: float, budget: int, monotone: bool = True) -> Bound:
    """An upper bound on the chance that W-SR recommends a wrong arm (Theorem 7, corrected; at most 1).

        K (K - 1) exp(-(2^(1 - 2/alpha) (n - K)) / (logbar(K) (b - a)^(2/alpha) H_2))

    It is twice that for a weight that is not monotone. The printed theorem is false (docs/paper/errata.md, 17).

    Args:
        holder: The Hölder pair of the weight.
        values: The true value of each arm.
        span: The length b - a of the interval that holds all rewards.
        budget: The number of samples n.
        monotone: Whether the weight is monotone.

    >>> wsr_error(HolderPair(1.0, 1.0), [0.9, 0.1], span=1.0, budget=1000) < 1e-50
    True
    >>> wsr_error(HolderPair(1.0, 1.0), [0.9, 0.1], span=1.0, budget=4)
    1.0 (says nothing: no chance is above 1, and 4 samples are too few for less)
    """
    n_arms = values_alone(values).size
    log_bar = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
    power = 2.0 / holder.exponent
    rate = 2.0 ** (1.0 - power) * (budget - n_arms) / (log_bar * positive("span", span) ** power)
    pairs = n_arms * (n_arms - 1) * (1 if monotone else 2)
    chance = pairs * math.exp(-rate / h2_alpha(holder, values))
    why = "" if chance < 1.0 else f"no chance is above 1, and {budget:,} samples are too few for less"
    return Bound(min(chance, 1.0), why)


class EDPMCounterexample(NamedTuple):
    """Both sides of the stability condition of Cassel et al. (2018), for one eps.

    Attributes:
        value_difference: |mu(F) - mu(G)|.
        cdf_difference: F - G on [0, 1); any norm of F - G is its size times a constant.
        ratio: Of the two sizes; it is unbounded as eps falls, so no constant b can exist.
    """

    value_difference: float
    cdf_difference: float
    ratio: float


def edpm_counterexample(eps: float) -> EDPMCounterexample:
    """Bernoulli(4 eps) against Bernoulli(eps) under w = sqrt: no norm makes the value stable.

    The paper prints F - G = eps; it is -3 eps (docs/paper/errata.md, 12). The conclusion stands.

    Args:
        eps: A probability in (0, 1/4].

    >>> [round(edpm_counterexample(eps).ratio, 6) for eps in (1e-2, 1e-4, 1e-6)]
    [3.333333, 33.333333, 333.333333]
    """
    small = share("eps", eps)
    if small > 0.25:
        raise ValueError(f"4 eps must be a probability; got eps = {small:g}. Take eps of at most 0.25.")
    root = Power(0.5)
    value_difference = root(4.0 * small) - root(small)  # sqrt(eps)
    return EDPMCounterexample(value_difference, -3.0 * small, value_difference / (3.0 * small))
