"""W-G: G-allocation until one arm is the best for every theta in the ellipsoid (Algorithm 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import kernel
from allais.linear.lingape import beats
from allais.linear.noise import Noise
from allais.linear.policy import LinearPolicy
from allais.linear.regression import World, linear_rule, location, radius, worth
from allais.policies.core.base import Promise, no_worse, setting
from allais.policies.core.steps import issue, pick
from allais.policies.core.verbs import SETTLED, choose
from allais.preferences import Preference, expected_value


@dataclass(frozen=True)
class WG(LinearPolicy):
    """W-G, the best arm with features at a given confidence (Algorithm 6, corrected: docs/paper/errata.md, 5 to 7).

    It plays the arm that most reduces the largest uncertainty, and stops when one arm is best for every theta in the
    ellipsoid.

    Args:
        preference: What is maximised.
        noise: What is added to x.theta.
        name: What tables and legends call it.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression, above 0.
        features: One row of numbers per arm; None if they come with the problem or with `start`.
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.
        stopping: `"exact"` looks at every pair of arms, `"paper"` at the printed sufficient condition with its factor
            kappa.

    >>> from allais import best_arm
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[2.0, 0.0], noise=ParameterNoise())
    >>> policy = WG(Preference(TverskyKahneman(0.61)), ParameterNoise(), delta=0.05, beta=2.0)
    >>> best_arm(policy, problem, seed=1).arm
    0
    """

    tolerance: float = setting(0.0, no_worse)
    stopping: str = setting("exact")

    called: ClassVar[str] = "W-G"
    goal: ClassVar[str] = "confidence"
    promises: ClassVar[Promise] = "proven"
    with_cross: ClassVar[bool] = True

    @classmethod
    def as_printed(cls, preference: Preference, noise: Noise, **settings: Any) -> WG:
        """The paper's algorithm, with its sufficient condition for stopping.

        Args:
            preference: What is maximised.
            noise: What is added to x.theta.
            **settings: Other settings, such as `delta` and `beta`.

        >>> WG.as_printed(expected_value(), ParameterNoise(), delta=0.05, beta=2.0).stopping
        'paper'
        """
        return cls(preference, noise, stopping="paper", **settings)

    def check(self) -> None:
        """Refuse a stopping rule that does not hold."""
        if self.stopping not in ("exact", "paper"):
            raise ValueError(f'stopping must be "exact" or "paper"; got {self.stopping!r}. Choose one.')
        if self.stopping == "paper" and getattr(self.preference, "utility", None) is not None:
            raise ValueError(
                "the paper's stopping rule holds for a linear utility; got a preference with a utility. "
                'Use stopping="exact".'
            )
        super().check()

    def rule_for(self, rows: FloatArray) -> WGRule:
        kappa = self.preference.kappa if self.stopping == "paper" else 0.0
        return WGRule(self.world(rows), self.tolerance, kappa)


@linear_rule
class WGRule(NamedTuple):
    """W-G's settings."""

    world: World
    tolerance: float
    kappa: float  # of the paper's stopping rule; 0 for the exact one


@kernel
def is_certain(rule, state):
    """Whether an arm is certainly the best, within the tolerance."""
    world = rule.world
    for arm in range(state.asked.size):
        state.scores[arm] = worth(world, state, arm, location(world, state, arm))
        state.eligible[arm] = state.active[arm]
    leader = pick(state.scores, state.eligible, state.asked, 0.0)
    reach = radius(world, state)
    if rule.kappa > 0.0:  # a lead of 2 kappa max |x|_{A^-1} D over every other arm (docs/paper/errata.md, 6, 7)
        widest = 0.0
        second = -np.inf
        for arm in range(state.asked.size):
            widest = max(widest, state.norms[arm])
            if arm != leader:
                second = max(second, state.scores[arm])
        return state.scores[leader] - second >= 2.0 * rule.kappa * np.sqrt(widest) * reach - rule.tolerance
    rival = state.rival[0]  # the arm that prevented a stop last time mostly does so again
    if rival >= 0 and rival != leader and not beats(world, state, reach, leader, rival, rule.tolerance):
        return False
    for arm in range(state.asked.size):
        if arm not in (leader, rival) and not beats(world, state, reach, leader, arm, rule.tolerance):
            state.rival[0] = arm
            return False
    return True


@choose.of(WGRule)
def _(rule, state, u):
    if is_certain(rule, state):
        return SETTLED
    world = rule.world
    n_arms = state.asked.size
    for arm in range(n_arms):  # the largest |x|_{A^-1} after one more play of an arm (docs/paper/errata.md, 5)
        variance = world.scale[arm] * world.scale[arm] + state.cross[arm, arm]
        worst = 0.0
        for other in range(n_arms):
            worst = max(worst, state.norms[other] - state.cross[other, arm] * state.cross[other, arm] / variance)
        state.scores[arm] = -worst
        state.eligible[arm] = True
    arm = pick(state.scores, state.eligible, state.asked, u)  # ties go to the fewest asks
    return issue(state, arm)


class GAllocation(WG, made_from=WG):
    """G-allocation (Soare et al. 2014): W-G for the mean, with the same choices of arms.

    Args:
        noise: What is added to x.theta.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression, above 0.
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.
        stopping: `"exact"` or `"paper"`, as in `WG`.
        features: One row of numbers per arm; None if they come with the problem or with `start`.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.

    >>> from allais import best_arm
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[2.0, 0.0])
    >>> best_arm(GAllocation(ParameterNoise(), delta=0.05, beta=2.0), problem, seed=1).arm
    0
    """

    def __init__(
        self,
        noise: Noise,
        *,
        delta: float,
        beta: float,
        regularisation: float = 1.0,
        tolerance: float = 0.0,
        stopping: str = "exact",
        features: Any = None,
        reference: float = 0.0,
        costs: bool = False,
    ) -> None:
        preference = expected_value(reference=reference, costs=costs)
        shared: dict[str, Any] = {"delta": delta, "beta": beta, "regularisation": regularisation, "features": features}
        super().__init__(preference, noise, tolerance=tolerance, stopping=stopping, name="G-allocation", **shared)
