"""A linear bandit: arms are feature vectors, rewards x.theta plus noise (Section IV)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array
from allais.linear.features import checked_features
from allais.linear.location_tables import locations_of, value_at
from allais.linear.noise import Noise, ParameterNoise
from allais.linear.noise_laws import check_noise
from allais.preferences import Preference
from allais.problems.bandit import LotteryArms


class LinearBandit(LotteryArms):
    """Arms with features and a hidden theta; `noise` is by default the kind of the paper's model.

    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[0.5, 0.2], noise=ParameterNoise())
    >>> problem.true_values(Preference(TverskyKahneman(0.61))).round(4)
    array([0.4223, 0.1684])
    """

    def __init__(
        self,
        features: ArrayLike,
        theta: ArrayLike,
        noise: Noise | None = None,
        arms: Sequence[Hashable] | None = None,
    ) -> None:
        self.features: FloatArray = checked_features(features)
        self.theta = finite_array("theta", theta)
        if self.theta.size != self.features.shape[1]:
            raise ValueError(
                f"theta must have one number per feature; got {self.theta.size} for {self.features.shape[1]} features. "
                "Give as many of each."
            )
        self.noise: Noise = ParameterNoise() if noise is None else noise
        if not hasattr(self.noise, "of"):
            raise TypeError(f"noise must be a kind of noise; got {noise!r}. Write ParameterNoise().")
        self.noise_of_arms = self.noise.of(self.features)
        check_noise(self.noise_of_arms, len(self.features))
        places = (self.features @ self.theta).tolist()
        super().__init__([self.noise_of_arms.lottery(k, place) for k, place in enumerate(places)], arms)

    def __repr__(self) -> str:
        n_arms, d = self.features.shape
        return f"LinearBandit({n_arms} arms, {d} features, noise={self.noise!r})"

    def true_values(self, preference: Preference) -> FloatArray:
        tables = locations_of(preference, self.noise_of_arms)  # to 1e-9, with one quadrature per shape only
        means = self.features @ self.theta + self.noise_of_arms.mean
        gains = preference.reference - means if preference.costs else means - preference.reference
        return np.array([value_at(tables, arm, gain) for arm, gain in enumerate(gains.tolist())])
