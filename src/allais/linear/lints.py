"""LinTS: play the arm that is best for a theta drawn around the estimate (Thompson sampling)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from allais._checks import FloatArray, positive, share
from allais._kernels import kernel
from allais.linear.ellipsoid import LinearState, World, bracket_linear, learn_linear, pick_by_worth, recommend_linear
from allais.linear.policy import LinearPolicy, fading, length
from allais.linear.regression import dot
from allais.policies.core.base import setting
from allais.policies.core.forgetting import Fading
from allais.policies.core.steps import issue
from allais.policies.core.verbs import bracket, choose, learn, recommend
from allais.samples.draws import normal, stream_of


@dataclass(frozen=True)
class LinTS(LinearPolicy):
    """LinTS, low regret over arms with features: play the best arm for a theta ~ N(theta_hat, v^2 A^-1).

    It is the default for low regret. Before it learns, theta ~ N(0, v^2 / regularisation): make that as wide as theta
    may be, else arms go untried.

    Args:
        preference: What is maximised.
        noise: What is added to x.theta.
        name: What tables and legends call it.
        delta: The probability that the ellipsoid ever misses theta; for intervals only.
        beta: A bound on the length of theta, for intervals only; without it there are none.
        regularisation: The lambda of the ridge regression, above 0.
        features: One row of numbers per arm; None if they come with the problem or with `start`.
        memory: `Fading(half_life)` gives an outcome the weight 2^(-age / half_life); None for equal weights.
        inflation: The v above; 1 is usual, without a proof (Agrawal and Goyal 2013 need a larger one).

    >>> from allais import simulate
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1], [0.6, 0.6]], theta=[0.5, 0.2], noise=ParameterNoise())
    >>> policy = LinTS(Preference(TverskyKahneman(0.61)), ParameterNoise())
    >>> simulate(policy, problem, n_rounds=2_000, n_runs=2, seed=1).pulls[:, -1].sum(axis=1)
    array([2000, 2000])
    """

    delta: float = setting(0.05, share)
    beta: float | None = setting(None, length)
    memory: Fading | None = setting(None, fading)
    inflation: float = setting(1.0, positive)

    called: ClassVar[str] = "LinTS"
    goal: ClassVar[str] = "regret"
    open_to_people: ClassVar[bool] = True
    with_factor: ClassVar[bool] = True
    open_to_contexts: ClassVar[bool] = True

    def rule_for(self, rows: FloatArray) -> LinTSRule:
        """The settings for given arms."""
        return LinTSRule(self.world(rows), self.inflation)

    def drawn_theta(self, rule: LinTSRule, state: LinearState, u: float) -> FloatArray:
        """The theta of one draw, for sets of arms that are not listed."""
        draw_theta(state, rule.inflation, u)
        return state.step.copy()


class LinTSRule(NamedTuple):
    """LinTS's settings."""

    world: World
    inflation: float  # v


@kernel
def draw_theta(state, inflation, u):
    """Write theta ~ N(theta_hat, v^2 A^-1) to `step`: theta_hat + v y, where U y = z and A = U' U."""
    d = state.theta.size
    stream = stream_of(u)
    for i in range(d):
        state.step[i] = 0.0
    for i in range(d - 1, -1, -1):  # from the last row up
        z, stream = normal(stream)
        state.step[i] = (z - dot(state.factor[i], state.step)) / state.factor[i, i]
    for i in range(d):
        state.step[i] = state.theta[i] + inflation * state.step[i]


@choose.of(LinTSRule)
def _(rule, state, u):
    world = rule.world
    draw_theta(state, rule.inflation, u)
    for arm in range(state.asked.size):
        mean = dot(world.features[arm], state.step) + world.mean[arm]
        state.along[arm] = world.sign * (mean - world.reference)
    return issue(state, pick_by_worth(world, state, u))


learn.of(LinTSRule)(learn_linear)
recommend.of(LinTSRule)(recommend_linear)
bracket.of(LinTSRule)(bracket_linear)
