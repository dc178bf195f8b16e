"""LinTS: play the arm that is best for a theta drawn around the estimate (Thompson sampling)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, positive, share
from allais._kernels import kernel
from allais.linear.policy import LinearPolicy, length
from allais.linear.regression import LinearState, World, dot, linear_rule, pick_by_worth
from allais.policies.core.base import Propensity, setting
from allais.policies.core.knowledge import Fading, fading, least_probability
from allais.policies.core.steps import has_floor, issue, issue_drawn
from allais.policies.core.verbs import choose
from allais.policies.npts import draws_of_shares
from allais.samples.draws import normal, second_stream, stream_of, uniform


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
        draws: How many draws of theta give the probability of a choice, as for `NPTS`.
        floor: The least probability of every arm in play, for logs from which other policies are evaluated.

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
    draws: int = setting(1, draws_of_shares)
    floor: float = setting(0.0, least_probability)

    called: ClassVar[str] = "LinTS"
    propensity: ClassVar[Propensity] = "ticket"
    goal: ClassVar[str] = "regret"
    open_to_people: ClassVar[bool] = True
    with_factor: ClassVar[bool] = True
    open_to_contexts: ClassVar[bool] = True

    def rule_for(self, rows: FloatArray) -> LinTSRule:
        return LinTSRule(self.world(rows), self.inflation, self.draws, np.array([self.floor]))

    def drawn_thetas(self, rule: LinTSRule, state: LinearState, u: float) -> tuple[list[FloatArray], float]:
        """Draws of theta, for sets of arms that are not listed; and a uniform draw that chooses between them.

        Args:
            rule: The rule of the policy.
            state: What was learned.
            u: A uniform draw.
        """
        if self.floor > 0.0:
            raise ValueError("a floor needs arms that are listed, each of which has it; got a set. Leave it out.")
        *more, choosing = np.random.default_rng(int(u * 2.0**53)).random(self.draws).tolist()
        found = []
        for one in (u, *more):
            draw_theta(state, rule.inflation, one)
            found.append(state.step.copy())
        return found, choosing


@linear_rule
class LinTSRule(NamedTuple):
    """LinTS's settings."""

    world: World
    inflation: float  # v
    draws: int
    floor: FloatArray  # the least probability of every arm in play, (1,)


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
    world, wins, stream = rule.world, state.shares, second_stream(u)
    logged = rule.draws > 1 or has_floor(rule.floor)
    for arm in range(wins.size):
        wins[arm] = 0.0
    for _ in range(rule.draws):
        draw_theta(state, rule.inflation, u)
        for arm in range(state.asked.size):
            mean = dot(world.features[arm], state.step) + world.mean[arm]
            state.along[arm] = world.sign * (mean - world.reference)
        arm = pick_by_worth(world, state, u)
        wins[arm] += 1.0
        u, stream = uniform(stream)
    if logged:
        return issue_drawn(state, wins, rule.floor, u)
    state.ticket[0] = 0.0  # of one draw, only the winner is known
    return issue(state, arm)
