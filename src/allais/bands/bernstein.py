"""The empirical Bernstein band, which UCB-V uses; it holds for means only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.bands.base import bounds_of, refresh, widen
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian
from allais.samples.memory import moments
from allais.weights import Identity


@dataclass(frozen=True)
class EmpiricalBernstein:
    """mean +- sqrt(2 V x / l) + 3 (b - a) x / l, with the empirical variance V (Audibert et al. 2009).

    It is a band for means: only for a preference without distortion.

    >>> from allais import Bandit, WUCB, simulate
    >>> policy = WUCB(expected_value(), Bounded(0, 1), band=EmpiricalBernstein(), exploration=1.2)
    >>> simulate(policy, Bandit([Bernoulli(0.4), Bernoulli(0.6)]), n_rounds=1_000, seed=1).pulls[0, -1]
    array([169, 831])
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> BernsteinRule:
        """What the kernels read, for the rewards of each arm."""
        if not (isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity)):
            raise ValueError(
                f"the empirical Bernstein band holds for means; got a preference with {preference.gains!r}. "
                "Use Holder(), or expected_value()."
            )
        if any(isinstance(known, SubGaussian) for known in rewards):
            raise ValueError(
                "the empirical Bernstein band needs bounded rewards; got SubGaussian. Declare Bounded(low, high)."
            )
        spans = [np.ptp(bounds_of(preference, known)) for known in rewards]
        return BernsteinRule(np.array(spans))


class BernsteinRule(NamedTuple):
    """The range of each arm's rewards."""

    span: FloatArray  # b - a, (n_arms,)

    def kept(self, n_arms: int) -> FloatArray:
        """V of each arm."""
        return np.zeros(n_arms)


@refresh.of(BernsteinRule)
def _(band, kept, memory, arm):
    kept[arm] = moments(memory, arm)[1] / memory.pulls[arm] if memory.pulls[arm] > 0 else 0.0


@widen.of(BernsteinRule)
def _(band, kept, memory, exponent, low, high):
    for arm in range(low.size):
        pulls = memory.pulls[arm]
        if pulls == 0:
            low[arm], high[arm] = -np.inf, np.inf
            continue
        share = exponent / pulls
        radius = np.sqrt(2.0 * kept[arm] * share) + 3.0 * band.span[arm] * share
        low[arm], high[arm] = memory.value[arm] - radius, memory.value[arm] + radius
