"""The best arm with features at a given confidence: sample until every other arm is beaten for all likely theta.

LinGapE (Xu et al. 2018) samples what best tells the leader from its strongest rival; W-G (Algorithm 6), and for the
mean G-allocation (Soare et al. 2014), what most reduces the largest uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import kernel, routine
from allais.linear.ellipsoid import World, bracket_linear, learn_linear, location, radius, recommend_linear, worth
from allais.linear.noise import Noise
from allais.linear.policy import LinearPolicy
from allais.linear.regression import dot
from allais.policies.core.base import Promise, no_worse, setting
from allais.policies.core.steps import issue, pick
from allais.policies.core.verbs import SETTLED, bracket, choose, learn, recommend
from allais.preferences import Preference, expected_value

FIRST_ARCS = 16
DEPTH = 24  # halvings of an arc before the answer is "not certain"


@routine
def beats(world, state, reach, arm, other, tolerance):
    """Whether mu_arm - mu_other >= -tolerance is certain for all theta within `reach` in the norm of A."""
    # (u, v) = centre + reach C (cos phi, sin phi), with C C' = [x y]' A^-1 [x y]; C lower triangular
    u0, v0 = location(world, state, arm), location(world, state, other)
    a = np.sqrt(max(state.norms[arm], 0.0))
    shared = _product(world, state, arm, other)
    c = shared / a if a > 0.0 else 0.0
    s = np.sqrt(max(state.norms[other] - c * c, 0.0))
    width, height = reach * a, reach * np.sqrt(c * c + s * s)
    turn = np.arctan2(s, c)  # v = v0 + height cos(phi - turn)
    if not _holds_at_worst(world, state, arm, other, u0, v0, width, height, turn, tolerance):
        return False
    step = 2.0 * np.pi / FIRST_ARCS
    for first in range(FIRST_ARCS):
        # arcs in order, halved on demand: `depth` halvings deep, the `index`-th of them
        index, depth = 0, 0
        while index < (1 << depth):
            length = step / (1 << depth)
            start = first * step + index * length
            low = worth(world, state, arm, u0 + width * _least(start, start + length))
            high = worth(world, state, other, v0 + height * _greatest(start - turn, start - turn + length))
            if low - high >= -tolerance:
                index += 1
                while depth > 0 and index % 2 == 0:
                    index //= 2
                    depth -= 1
                continue
            middle = start + 0.5 * length
            here = worth(world, state, arm, u0 + width * np.cos(middle))
            there = worth(world, state, other, v0 + height * np.cos(middle - turn))
            if here - there < -tolerance or depth == DEPTH:
                return False
            index *= 2
            depth += 1
    return True


@kernel
def _product(world, state, arm, other):
    """x' A^-1 y."""
    if state.cross.size > 0:
        return state.cross[arm, other]
    total = 0.0
    for i in range(state.theta.size):
        row = 0.0
        for j in range(state.theta.size):
            row += state.inverse[i, j] * world.features[other, j]
        total += world.features[arm, i] * row
    return total


@kernel
def _holds_at_worst(world, state, arm, other, u0, v0, width, height, turn, tolerance):
    """A quick look where values of derivative 1 would be nearest: most rounds end here."""
    phi = np.arctan2(height * np.sin(turn), height * np.cos(turn) - width)  # where v - u is largest
    here = worth(world, state, arm, u0 + width * np.cos(phi))
    there = worth(world, state, other, v0 + height * np.cos(phi - turn))
    return here - there >= -tolerance


@kernel
def _greatest(start, end):
    """The largest cosine on an arc."""
    turns = np.ceil(start / (2.0 * np.pi))
    return 1.0 if turns * 2.0 * np.pi <= end else max(np.cos(start), np.cos(end))


@kernel
def _least(start, end):
    """The smallest cosine on an arc."""
    return -_greatest(start - np.pi, end - np.pi)


DIFFERENCE = 1e-4  # of a difference quotient, in spreads; a wrong derivative costs samples, never the guarantee


@dataclass(frozen=True)
class LinGapE(LinearPolicy):
    """LinGapE, the best arm with features at a given confidence, from few samples: the default for that goal.

    The leader is the best arm at the estimate, its rival the one that could be ahead by most, among those that are not
    beaten for certain; the arm played is the one that most reduces the uncertainty of their difference. It stops as
    `WG` does, when every other arm is beaten.

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

    >>> from allais import best_arm
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1], [0.9, 0.3]], theta=[2.0, 0.0], noise=ParameterNoise())
    >>> policy = LinGapE(Preference(TverskyKahneman(0.61)), ParameterNoise(), delta=0.05, beta=2.0)
    >>> best_arm(policy, problem, seed=1).arm
    0
    """

    tolerance: float = setting(0.0, no_worse)

    called: ClassVar[str] = "LinGapE"
    goal: ClassVar[str] = "confidence"
    promises: ClassVar[Promise] = "proven"

    def rule_for(self, rows: FloatArray) -> LinGapERule:
        """The settings for given arms."""
        return LinGapERule(self.world(rows), self.tolerance)


class LinGapERule(NamedTuple):
    """LinGapE's settings."""

    world: World
    tolerance: float


@kernel
def _derivative(world, state, arm, place):
    """How fast an arm's value moves with its location."""
    half = DIFFERENCE / world.locations.per_spread[arm]
    rise = worth(world, state, arm, place + half) - worth(world, state, arm, place - half)
    return rise / (2.0 * half)


@choose.of(LinGapERule)
def _(rule, state, u):
    world = rule.world
    d, n_arms = state.theta.size, state.asked.size
    reach = radius(world, state)
    for arm in range(n_arms):
        state.scores[arm] = worth(world, state, arm, location(world, state, arm))
        state.eligible[arm] = state.active[arm]
    leader = pick(state.scores, state.eligible, state.asked, u)
    leading = state.scores[leader]
    derivative = _derivative(world, state, leader, location(world, state, leader))
    # step = A^-1 (derivative x_leader), from which |y|^2_{A^-1} of y = derivative x_leader - derivative' x_rival
    # follows arm by arm
    for i in range(d):
        state.step[i] = derivative * dot(state.inverse[i], world.features[leader])
    own = derivative * derivative * state.norms[leader]
    for arm in range(n_arms):
        other = _derivative(world, state, arm, location(world, state, arm))
        spread = own - 2.0 * other * dot(world.features[arm], state.step) + other * other * state.norms[arm]
        state.along[arm] = state.scores[arm] - leading + reach * np.sqrt(max(spread, 0.0))
    state.eligible[leader] = False
    rival = pick(state.along, state.eligible, state.asked, u)
    # The lead above is linear in theta, the certainty is not: an arm that is beaten for every theta may still seem
    # the strongest rival, and sampling for its sake would never part the others.
    while rival >= 0 and beats(world, state, reach, leader, rival, rule.tolerance):
        state.eligible[rival] = False
        rival = pick(state.along, state.eligible, state.asked, u)
    if rival < 0:
        return SETTLED
    # y = derivative x_leader - derivative' x_rival, and the arm whose play most reduces |y|_{A^-1}
    other = _derivative(world, state, rival, location(world, state, rival))
    for i in range(d):
        state.step[i] -= other * dot(state.inverse[i], world.features[rival])
    for arm in range(n_arms):
        along = dot(world.features[arm], state.step)
        variance = world.scale[arm] * world.scale[arm] + state.norms[arm]
        state.scores[arm] = along * along / variance
        state.eligible[arm] = state.active[arm]
    arm = pick(state.scores, state.eligible, state.asked, u)
    return issue(state, arm)


learn.of(LinGapERule)(learn_linear)
recommend.of(LinGapERule)(recommend_linear)
bracket.of(LinGapERule)(bracket_linear)


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
        """The settings for given arms."""
        kappa = self.preference.kappa if self.stopping == "paper" else 0.0
        return WGRule(self.world(rows), self.tolerance, kappa)


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


learn.of(WGRule)(learn_linear)
recommend.of(WGRule)(recommend_linear)
bracket.of(WGRule)(bracket_linear)


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
