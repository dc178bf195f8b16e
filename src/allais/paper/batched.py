"""W-LUCB's rule evaluated in batches: hundreds of millions of samples in a second.

With the paper's widths a run takes some 10^8 rounds, in which the two arms that are sampled hardly ever
change. So each decision of Algorithm 3 is held for a small share of the samples that its arms already
have, and the outcomes of a batch are drawn at once, as counts. Widths hold in all rounds at once, so a
rule that looks at some rounds only is still right with probability 1 - delta, and it stops at most that
share later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.policies.wlucb import PAPER_UNION
from allais.preferences import Preference
from allais.problems import Bandit
from allais.rewards import Bounded

SHARE = 0.01  # of an arm's samples, for which a decision is held


@dataclass(frozen=True)
class Stops:
    """When each run stopped, and on which arm."""

    samples: IntArray
    arm: IntArray


def stops(
    problem: Bandit,
    preference: Preference,
    rewards: Bounded,
    delta: float,
    runs: int,
    rng: np.random.Generator,
    *,
    undistorted_widths: bool = False,
    union: float = PAPER_UNION,
    share: float = SHARE,
) -> Stops:
    """Algorithm 3 on lotteries of finitely many rewards, none below 0; `undistorted_widths` are those of LUCB."""
    if rewards.low < 0.0 or preference.costs or preference.utility is not None:
        raise ValueError("batches are for rewards of 0 or more as they are; got losses or a utility. Use simulate.")
    steps, chances = _ladder(problem)
    n_arms, weight = problem.n_arms, preference.gains
    pair = weight.holder
    if pair is None:
        raise ValueError(f"the paper's widths need a Hölder weight; {weight!r} has no pair. Use another weight.")
    constant, alpha = (1.0, 1.0) if undistorted_widths else pair
    reach = constant * (rewards.high - rewards.low)
    counts = np.stack([rng.multinomial(np.ones(runs, dtype=np.int64), row) for row in chances], axis=1)
    pulls = counts.sum(axis=2)
    rounds = np.zeros(runs, dtype=np.int64)
    found = np.full(runs, -1, dtype=np.int64)
    going = np.arange(runs)
    while going.size:
        seen, times = counts[going], pulls[going]
        tails = np.cumsum(seen, axis=2) / times[:, :, None]  # shares at or above each reward, highest first
        value = (weight(np.minimum(tails, 1.0)) * steps).sum(axis=2)
        # m of gamma', the round; an arm may have more samples than there were rounds, so that m moves up, as in WLUCB
        exponent = 4.0 * np.log(np.maximum(rounds[going] + 1, times.max(axis=1))) + math.log(n_arms * union / delta)
        radius = reach * (exponent[:, None] / (2.0 * times)) ** (alpha / 2.0)
        index = np.arange(going.size)
        leader = value.argmax(axis=1)
        upper = value + radius
        upper[index, leader] = -np.inf
        rival = upper.argmax(axis=1)
        parted = upper[index, rival] < value[index, leader] - radius[index, leader]
        found[going[parted]] = leader[parted]
        index, going = index[~parted], going[~parted]
        leader, rival = leader[~parted], rival[~parted]
        fewest = np.minimum(times[index, leader], times[index, rival])
        batch = np.maximum(1, (share * fewest).astype(np.int64))
        rounds[going] += batch
        for arms in (leader, rival):
            counts[going, arms] += rng.multinomial(batch, chances[arms])
            pulls[going, arms] += batch
    return Stops(pulls.sum(axis=1), found)


def _ladder(problem: Bandit) -> tuple[FloatArray, FloatArray]:
    """For each arm, the steps between its rewards from the highest down to 0, and their chances."""
    distributions = [lottery.as_finite() for lottery in problem.lotteries]
    widest = max(distribution.outcomes.size for distribution in distributions if distribution is not None)
    steps, chances = np.zeros((len(distributions), widest)), np.zeros((len(distributions), widest))
    for k, distribution in enumerate(distributions):
        assert distribution is not None  # the problems of the paper are finite
        size = distribution.outcomes.size
        falling = distribution.outcomes[::-1]
        steps[k, :size] = falling - np.append(falling[1:], 0.0)
        chances[k, :size] = distribution.probabilities[::-1]
    return steps, chances
