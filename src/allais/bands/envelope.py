"""The envelope band: KL bounds, clipped by what a sub-Gaussian tail can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from allais.bands._distribution_bounds import TailRule, interval_of, tail_rule
from allais.bands.base import Interval
from allais.bands.kl import kl_shape
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian


@dataclass(frozen=True)
class Envelope:
    """P(X > z) is at most min(KL bound, exp(-(z - m)^2 / 2 sigma^2)) for z beyond m, an upper bound on the mean.

    The lower tail is bounded likewise. It is for `SubGaussian` rewards; a bounded arm beside them has its KL band.
    Half of the probability to fail is spent on the bounds on the mean.

    >>> people = Preference(TverskyKahneman(0.61))
    >>> samples = np.random.default_rng(1).normal(size=1000)
    >>> low, _, high = Envelope().interval(people, SubGaussian(1.0, 5.0), samples)
    >>> wide = Holder().interval(people, SubGaussian(1.0, 5.0), samples)
    >>> round((high - low) / (wide.high - wide.low), 2)
    0.08
    """

    def rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for one look at the data."""
        return self._rule(preference, rewards, always=False)

    def anytime_rule(self, preference: Preference, rewards: Sequence[Rewards]) -> TailRule:
        """What the kernels read, for an interval that holds in all rounds at once."""
        return self._rule(preference, rewards, always=True)

    def _rule(self, preference: Preference, rewards: Sequence[Rewards], *, always: bool) -> TailRule:
        for known in rewards:
            if isinstance(known, SubGaussian):
                preference.truncation(known, 1)  # refuses a utility
        return tail_rule(kl_shape(preference, rewards, always=always), preference, rewards, always=always)

    def interval(
        self, preference: Preference, rewards: Rewards, samples: ArrayLike, confidence: float = 0.95
    ) -> Interval:
        """The value of samples, with an interval that contains the true value with the given confidence.

        Args:
            preference: What is maximised.
            rewards: What is known about the outcomes.
            samples: Outcomes that were seen, in any order.
            confidence: The probability that the interval holds the true value, in (0, 1).
        """
        return interval_of(self, preference, rewards, samples, confidence)
