"""W-OFUL: play the arm whose value could be the highest for some theta in the ellipsoid (Algorithm 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais import theory
from allais._checks import FloatArray, IntArray
from allais.linear.noise import Noise
from allais.linear.policy import LinearPolicy
from allais.linear.regression import World, linear_rule, location, pick_by_worth, radius
from allais.policies.core.base import Propensity, setting
from allais.policies.core.knowledge import Fading, fading, least_probability
from allais.policies.core.steps import issue_with_floor
from allais.policies.core.verbs import choose
from allais.preferences import expected_value


@dataclass(frozen=True)
class WOFUL(LinearPolicy):
    """W-OFUL, low regret over arms with features (Algorithm 5, corrected: docs/paper/errata.md, 1 to 4).

    Regret stays below `theory.woful_regret` with probability 1 - delta. Its learner also takes arms that differ from
    round to round: `ask(features=X)`.

    Args:
        preference: What is maximised.
        noise: What is added to x.theta.
        name: What tables and legends call it.
        delta: The probability that the ellipsoid ever misses theta, in (0, 1).
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression, above 0.
        features: One row of numbers per arm; None if they come with the problem or with `start`.
        memory: `Fading(half_life)` gives an outcome the weight 2^(-age / half_life); None for equal weights.
        floor: The least probability of every arm in play, for logs from which other policies are evaluated.

    >>> from allais import simulate
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1], [0.6, 0.6]], theta=[0.5, 0.2], noise=ParameterNoise())
    >>> policy = WOFUL(Preference(TverskyKahneman(0.61)), ParameterNoise(), delta=0.05, beta=1.0)
    >>> simulate(policy, problem, n_rounds=2_000, n_runs=2, seed=1).pulls[:, -1].sum(axis=1)
    array([2000, 2000])
    """

    memory: Fading | None = setting(None, fading)
    floor: float = setting(0.0, least_probability)

    called: ClassVar[str] = "W-OFUL"
    goal: ClassVar[str] = "regret"
    propensity: ClassVar[Propensity] = "ticket"
    open_to_contexts: ClassVar[bool] = True

    def regret_bound(self, values: FloatArray, rounds: IntArray) -> FloatArray | None:
        """Theorem 10, corrected; it holds with probability 1 - delta, for a linear utility.

        Args:
            values: The true value of each arm.
            rounds: Numbers of rounds.
        """
        if self.preference.utility is not None or self.beta is None or self.estimates:
            return None
        if self.memory is not None or self.floor > 0.0:
            return None
        noise = self.noise.of(self._rows(values.size))
        lengths = np.linalg.norm(np.array(self.features), axis=1) / noise.scale
        d = len(self.features[0])
        return np.array(
            [
                theory.woful_regret(
                    self.preference, dimension=d, n_rounds=int(n), delta=self.delta, beta=self.beta,
                    regularisation=self.regularisation, scale=float(noise.scale.max()), length=float(lengths.max()),
                )
                for n in rounds
            ]
        )  # fmt: skip

    def rule_for(self, rows: FloatArray) -> WOFULRule:
        return WOFULRule(self.world(rows), np.array([self.floor]))


@linear_rule
class WOFULRule(NamedTuple):
    """W-OFUL's settings."""

    world: World
    floor: FloatArray  # the least probability of every arm in play, (1,)


@choose.of(WOFULRule)
def _(rule, state, u):
    world = rule.world
    reach = radius(world, state)
    # optimism over the ellipsoid is exact, since a value rises with its location: theta-bar is the centre plus
    # D A^-1 x / |x|_{A^-1} (docs/paper/errata.md, 3)
    for arm in range(state.asked.size):
        state.along[arm] = location(world, state, arm) + reach * np.sqrt(max(state.norms[arm], 0.0))
    return issue_with_floor(state, pick_by_worth(world, state, u), rule.floor, state.scores, u)


class OFUL(WOFUL, made_from=WOFUL):
    """OFUL (Abbasi-Yadkori et al. 2011): W-OFUL for the mean, with the same ellipsoid.

    Args:
        noise: What is added to x.theta.
        delta: The probability that the ellipsoid ever misses theta, in (0, 1).
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression, above 0.
        features: One row of numbers per arm; None if they come with the problem or with `start`.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.

    >>> from allais import simulate
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[2.0, 0.0])
    >>> policy = OFUL(ParameterNoise(), delta=0.05, beta=2.0)
    >>> bool(simulate(policy, problem, n_rounds=500, seed=1).pulls[0, -1, 0] > 450)
    True
    """

    def __init__(
        self,
        noise: Noise,
        *,
        delta: float,
        beta: float,
        regularisation: float = 1.0,
        features: Any = None,
        reference: float = 0.0,
        costs: bool = False,
    ) -> None:
        preference = expected_value(reference=reference, costs=costs)
        shared: dict[str, Any] = {"delta": delta, "beta": beta, "regularisation": regularisation, "features": features}
        super().__init__(preference, noise, name="OFUL", **shared)
